"""The table of causes in the documentation lists the ends of a real kubelet."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from podrules.ending.died.cause import Grade
from podrules.ending.died.of_pod import last_end
from tests.golden import check
from tests.podrules.ending.died.cases import recorded_ends
from tests.real_node.deaths.verdicts import EXPECTED, compare_verdict, expected
from tests.tree import ROOT

PAGE: Final = ROOT / "docs" / "died.md"
TABLE: Final = re.compile(r"(<!-- causes -->\n).*?(<!-- end of causes -->)", re.DOTALL)
WORDS: Final = {Grade.CERTAIN: "certain", Grade.LIKELY: "likely", Grade.SEVERAL: "A or B", Grade.NOTHING: "nothing"}
ENDS: Final = list(recorded_ends())


def _rows() -> list[str]:
    families: dict[str, list[str]] = {}
    for case in ENDS:
        families.setdefault(case.id.partition("/")[0], []).append(case.id)
    grades = {case.id: last_end(case.evidence).verdict.grade for case in ENDS}
    rows = ["| what was done | times | verdict | why |", "| --- | --- | --- | --- |"]
    for family, ids in sorted(families.items()):
        counts = Counter(grades[one] for one in ids)
        reached = ", ".join(f"{WORDS[grade]} {counts[grade]}" for grade in Grade if counts[grade])
        reasons = dict.fromkeys(expected(one)[1] for one in ids)
        why = " ".join(f"{reason[:1].upper()}{reason[1:]}." for reason in reasons)
        rows.append(f"| {family.replace('-', ' ')} | {len(ids)} | {reached} | {why} |")
    return rows


def test_table_matches_the_observations() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(_rows())

    check(PAGE, TABLE.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text))


def test_every_end_has_the_documented_verdict() -> None:
    assert [compared for case in ENDS if not (compared := compare_verdict(case)).equal] == []


def test_every_expectation_has_an_end() -> None:
    ids = {case.id for case in ENDS}
    families = {one.partition("/")[0] for one in ids}

    assert [name for name in EXPECTED if name not in ids | families] == []
