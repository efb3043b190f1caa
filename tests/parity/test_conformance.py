"""Every recorded answer of upstream's own code, compared with ours; none may be unknown."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podrules.api.features import REFERENCE, VERIFIED, Features
from tests.parity.answer import SUITES
from tests.parity.grading import EQUAL, Grade, graded
from tests.recorded import FULL_MINOR, MINORS, recorded

ANSWER = Path(__file__).with_name("answer.py")
WITHOUT_VERSION = {"quantity"}


def _wrong(suite: str, minor: int, features: Features) -> Iterator[tuple[str, Grade]]:
    for case in recorded(suite, minor):
        given = {**case["input"], "expected": case["expected"]}
        grade = graded(suite, SUITES[suite](given, features), case["expected"])
        if grade != EQUAL:
            yield case["id"], grade


@pytest.mark.parametrize(
    ("suite", "minor"),
    [(suite, minor) for suite in SUITES for minor in MINORS if minor == FULL_MINOR or suite not in WITHOUT_VERSION],
)
def test_answers_equal_upstreams(suite: str, minor: int) -> None:
    assert dict(_wrong(suite, minor, Features.of_minor(minor))) == {}


def test_there_are_cases_of_each_version() -> None:
    assert {*MINORS} == {*VERIFIED}


@pytest.mark.parametrize(("of", "by"), list(itertools.permutations(MINORS, 2)))
def test_the_rules_of_one_version_are_not_those_of_another(of: int, by: int) -> None:
    # The recorded cases include the differences between the versions.
    assert any(_wrong("schedule_dra", of, Features.of_minor(by)))
    if {of, by} != {34, 35}:
        assert any(_wrong("schedule", of, Features.of_minor(by)))


@pytest.mark.parametrize("suite", SUITES)
def test_there_are_enough_cases(suite: str) -> None:
    least = {**dict.fromkeys(MINORS, 400 if suite.startswith("schedule") else 200), FULL_MINOR: 400}
    for minor in (FULL_MINOR,) if suite in WITHOUT_VERSION else MINORS:
        assert sum(1 for _ in recorded(suite, minor)) >= least[minor], minor


def test_answer_program_reads_cases_and_writes_answers() -> None:
    case = next(recorded("qos", REFERENCE.minor))
    line = json.dumps({"id": case["id"], "input": case["input"]})
    done = subprocess.run([sys.executable, ANSWER, "qos"], input=line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"id": case["id"], "answer": case["expected"]}


def test_answer_program_refuses_an_unknown_suite() -> None:
    done = subprocess.run([sys.executable, ANSWER, "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: answer.py" in done.stderr
    assert "{quantity,qos,oom" in done.stderr
    assert "invalid choice: 'nothing' (choose from" in done.stderr


def test_answer_program_answers_by_the_rules_of_a_version() -> None:
    lines = [json.dumps({"id": case["id"], "input": case["input"]}) for case in recorded("qos", 37)]

    def answered(*words: str) -> str:
        command = [sys.executable, str(ANSWER), "qos", *words]
        return subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True).stdout

    assert answered("--kubernetes-version", "1.36") == answered()
    assert answered("--kubernetes-version", "1.37") != answered()


def test_answer_program_rejects_invalid_versions() -> None:
    command = [sys.executable, str(ANSWER), "qos", "--kubernetes-version", "new"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("--kubernetes-version 'new': write it like 1.37\n")
