"""``kubectl qos why`` for texts in upstream's source, and for texts that are not in it.

``upstream.json`` has a row for each text: the file, Go's string literal, the entry that explains it, chosen by hand,
and where needed the surrounding text and the values. ``invented.json`` has texts of other programs, near misses, and
sentences with known words.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct, convert

from kubectl_plugin.glossary.catalogue import CATALOGUE
from kubectl_plugin.glossary.lookup import find, similar
from tests.kubectl_plugin.running import run
from tests.upstream import upstream_source

TESTDATA: Final = Path(__file__).resolve().parents[2] / "testdata" / "why"
_TOKEN: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|'(?:[^'\\\n]|\\.)*'|[^\s]", re.DOTALL)
_VERB: Final = re.compile(r"%(?:\[\d+\])?[-+# 0-9.]*([a-zA-Z%])")
_SAMPLES: Final = {"d": "3", "q": '"web"', "f": "1.500000", "t": "true", "T": "*v1.Pod", "%": "%"}


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A text that upstream writes, and the entry that explains it."""

    text: str
    entry: str
    values: tuple[str, ...] = ()
    """The values of its first verbs; others have a sample."""
    within: str = "{}"
    """The text that users see around it."""

    @property
    def shown(self) -> str:
        """The text as users paste it."""
        values = iter(self.values)

        def filled(verb: re.Match[str]) -> str:
            return "%" if verb[1] == "%" else next(values, _SAMPLES.get(verb[1], "web-0"))

        return self.within.replace("{}", _VERB.sub(filled, self.text)).strip()


def _rows() -> dict[str, list[Row]]:
    return convert(json.loads((TESTDATA / "upstream.json").read_text(encoding="utf-8")), dict[str, list[Row]])


def _literals(source: str) -> Iterator[str]:
    """The string literals of a Go file; literals joined with a plus are one."""
    joined, before = "", ""
    for token in _TOKEN.findall(source):
        if token.startswith(("//", "/*")):
            continue
        if token[0] in '"`':
            value = token[1:-1] if token[0] == "`" else str(ast.literal_eval(token))
            joined = joined + value if before == "+" else value
        elif token != "+" and joined:
            yield joined
            joined = ""
        before = token
    yield joined


ROWS: Final = _rows()
ALL: Final = [row for rows in ROWS.values() for row in rows]


@pytest.mark.parametrize("path", ROWS)
def test_upstream_writes_these_texts(path: str) -> None:
    module, _, file = path.rpartition(" ")
    source = (upstream_source(module or "k8s.io/kubernetes") / file).read_text(encoding="utf-8")
    written = set(_literals(source))
    assert [row.text for row in ROWS[path] if row.text not in written] == []


def test_each_text_gets_its_entry() -> None:
    wrong = {row.shown: (row.entry, _names(row.shown)) for row in ALL if _names(row.shown) != [row.entry]}
    assert not wrong
    assert len(ALL) == len({row.shown for row in ALL}) >= 300


@pytest.mark.parametrize(
    "line",
    [
        "Warning  Reported  3s (x5 over 61s)  some-component  {}",
        "default  61s  Normal  Reported  pod/web-0  {}",
        "3s (x5 over 61s)   Warning   Reported   Pod/web-0   {}",
        '"{}"',
        "  {}\n",
    ],
)
def test_text_gets_its_entry_in_a_line_and_in_quotes(line: str) -> None:
    pasted = {row.shown: _names(line.replace("{}", row.shown)) for row in ALL}
    assert {row.shown: pasted[row.shown] for row in ALL if pasted[row.shown] != [row.entry]} == {}


INVENTED: Final[dict[str, str]] = json.loads((TESTDATA / "invented.json").read_text(encoding="utf-8"))
"""Each with the nearest spelling that the answer names; empty: any, or none."""


def test_invented_text_gets_no_entry() -> None:
    assert len(INVENTED) >= 100
    assert {text: _names(text) for text in INVENTED if _names(text)} == {}


def test_known_term_inside_a_sentence_explains_nothing() -> None:
    spellings = [
        spelling for entries in CATALOGUE.values() for entry in entries for spelling in (entry.name, *entry.also)
    ]
    sentences = [f"In our logbook: {spelling} of the old mill" for spelling in spellings]
    assert [text for text in sentences if find(text)] == []


@pytest.mark.parametrize(("text", "near"), [(text, near) for text, near in INVENTED.items() if near])
def test_miss_names_the_nearest_entries(text: str, near: str) -> None:
    ran = run("why", text)
    assert (ran.code, ran.out) == (3, "")
    assert near in similar(text)
    assert ran.err.splitlines()[1].startswith("nearest terms: ")


def _names(text: str) -> list[str]:
    return [found.entry.name for found in find(text)]


@pytest.mark.parametrize(
    "line", ["2m  Warning  {}  widget/w1  the flux is gone", "Normal  {}  2m  my-operator  the flux is gone"]
)
def test_reason_of_another_program_explains_nothing(line: str) -> None:
    reasons = [name for entries in CATALOGUE.values() for entry in entries for name in (entry.name, *entry.also)]
    assert [reason for reason in reasons if re.fullmatch(r"[A-Z]\w+", reason) and find(line.format(reason))] == []
