"""Every recorded answer of upstream's own code, held against ours; none may be unknown."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podrules.features import REFERENCE, Features, minor_of
from tests.parity.answer import SUITES
from tests.parity.grading import EQUAL, Grade, graded

CASES = Path(__file__).resolve().parents[1] / "testdata" / "conformance"
ANSWER = Path(__file__).with_name("answer.py")


OF_OTHER_VERSIONS = [
    pytest.param(file, id=f"{file.parent.name}-{file.name.partition('.')[0]}")
    for file in sorted(CASES.glob("1.*/*.jsonl.gz"))
]


def _cases(suite: str) -> Iterator[dict[str, Any]]:
    yield from _read(CASES / f"{suite}.jsonl.gz")


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


def _wrong(path: Path, features: Features) -> dict[str, Grade]:
    suite = path.name.partition(".")[0]
    grades = {}
    for case in _read(path):
        given = {**case["input"], "expected": case["expected"]}
        grades[case["id"]] = graded(suite, SUITES[suite](given, features), case["expected"])
    assert len(grades) >= 150
    return {case: grade for case, grade in grades.items() if grade != EQUAL}


@pytest.mark.parametrize("suite", SUITES)
def test_answers_equal_upstreams(suite: str) -> None:
    assert _wrong(CASES / f"{suite}.jsonl.gz", REFERENCE) == {}


@pytest.mark.parametrize("path", OF_OTHER_VERSIONS)
def test_answers_equal_those_of_other_versions(path: Path) -> None:
    minor = minor_of(path.parent.name)
    assert minor is not None
    assert _wrong(path, Features.of_minor(minor)) == {}


def test_there_are_cases_of_each_version() -> None:
    assert {path.name for path in CASES.glob("1.*")} == {"1.34", "1.35", "1.37"}


@pytest.mark.parametrize("version", ["1.34", "1.35", "1.37"])
def test_the_rules_of_the_reference_are_not_those_of_another_version(version: str) -> None:
    # What tells the versions apart is among the recorded cases.
    assert _wrong(CASES / version / "cgroup.jsonl.gz", REFERENCE) or _wrong(CASES / version / "qos.jsonl.gz", REFERENCE)
    assert _wrong(CASES / version / "schedule.jsonl.gz", REFERENCE)


@pytest.mark.parametrize("suite", SUITES)
def test_there_are_enough_cases(suite: str) -> None:
    assert sum(1 for _ in _cases(suite)) >= 400


def test_answer_program_reads_cases_and_writes_answers() -> None:
    case = next(_cases("qos"))
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
    lines = [json.dumps({"id": case["id"], "input": case["input"]}) for case in _read(CASES / "1.37" / "qos.jsonl.gz")]

    def answered(*words: str) -> str:
        command = [sys.executable, str(ANSWER), "qos", *words]
        return subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True).stdout

    assert answered("--kubernetes-version", "1.36") == answered()
    assert answered("--kubernetes-version", "1.37") != answered()


def test_answer_program_refuses_what_is_no_version() -> None:
    command = [sys.executable, str(ANSWER), "qos", "--kubernetes-version", "new"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("--kubernetes-version 'new': write it like 1.37\n")
