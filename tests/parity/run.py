"""``make parity``: runs upstream's own code on new random cases, and compares our answers with its answers.

The oracle (`oracle/`, Go) imports Kubernetes' packages and records what their functions return. It is built once for
each version into the cache folder (four minutes cold on two cores). ``N`` cases a suite, ``SEED`` for others,
``VERSION`` for those of another minor, ``SUITE`` for one suite alone.

An unknown answer is not an equal one: it is named and counted separately, and a suite with more than a few of them
fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from podrules.api.features import REFERENCE_VERSION, Features, minor_of
from tests.controlplane.binaries import Unavailable, cache_folder, find_go, go_environment
from tests.parity.answer import SUITES
from tests.parity.grading import graded

ORACLE: Final = Path(__file__).parent / "oracle"
VERSIONS: Final = ORACLE / "versions"
NOT_THERE: Final = frozenset({"quantity"})
"""Suites with recorded cases from another source."""
_ASKED: Final = [suite for suite in SUITES if suite not in NOT_THERE]
_VERSIONS: Final = sorted(path.stem for path in VERSIONS.glob("*.mod"))
SHOWN: Final = 5
_UNKNOWN_PERCENT: Final = 1
"""Of a suite's fresh cases at most so many may be unknown: searches that are too long. Of the recorded ones none is."""


def main() -> int:
    """Print a line a suite; 1 when an answer differs, or too many are unknown."""
    parser = argparse.ArgumentParser(prog="make parity", description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="cases a suite; 1000")
    parser.add_argument("--seed", type=int, default=20261121, help="of the random cases")
    parser.add_argument("--kubernetes-version", default=REFERENCE_VERSION, help=f"one of {', '.join(_VERSIONS)}")
    parser.add_argument("--suite", choices=_ASKED, help="this one alone")
    args = parser.parse_args()
    minor = minor_of(args.kubernetes_version)
    if minor is None or f"1.{minor}" not in _VERSIONS:
        parser.error(f"--kubernetes-version {args.kubernetes_version!r}: not one of {', '.join(_VERSIONS)}")
    oracle = _oracle(minor)
    if isinstance(oracle, Unavailable):
        print(oracle.reason, file=sys.stderr)
        return 1
    features = Features.of_minor(minor)
    asked = [args.suite] if args.suite else _ASKED
    held = [_run_suite(oracle, suite, args.seed, args.n, features) for suite in asked]
    return 0 if all(held) else 1


def _oracle(minor: int) -> Path | Unavailable:
    """The built oracle of a minor version, from the cache or built now."""
    requirements = VERSIONS / f"1.{minor}.mod"
    digest = hashlib.sha256(str(minor).encode())
    for file in (*sorted(ORACLE.glob("*.*")), requirements, requirements.with_suffix(".sum")):
        digest.update(file.read_bytes())
    path = cache_folder().parent / "oracle" / digest.hexdigest()[:16]
    if path.is_file():
        return path
    go = find_go()
    if isinstance(go, Unavailable):
        return go
    print(f"building the oracle of Kubernetes 1.{minor}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    command = [str(go), "build", "-trimpath", f"-modfile={requirements.relative_to(ORACLE)}", f"-tags=minor{minor}"]
    command += ["-o", str(unfinished), "."]
    subprocess.run(command, cwd=ORACLE, env=go_environment(), check=True)
    unfinished.replace(path)
    return path


def _run_suite(oracle: Path, suite: str, seed: int, count: int, features: Features) -> bool:
    """Whether a suite's answers hold; prints the first that differ, those that are unknown and a summary."""
    started = time.monotonic()
    equal = wrong = unknown = total = 0
    for case in _cases(oracle, suite, seed, count):
        total += 1
        answer = SUITES[suite]({**case["input"], "expected": case["expected"]}, features)
        grade = graded(suite, answer, case["expected"])
        equal += not (grade.differs or grade.unknown)
        wrong += bool(grade.differs)
        if grade.differs and wrong <= SHOWN:
            print(f"  {case['id']}: {', '.join(grade.differs)}")
        unknown += bool(grade.unknown)
        if grade.unknown:
            print(f"  {case['id']}: unknown: {grade.unknown}")
    seconds = time.monotonic() - started
    print(f"{suite}: {equal} of {total} equal, {wrong} differ, {unknown} unknown, {seconds:.0f} s", flush=True)
    return not wrong and 100 * unknown <= _UNKNOWN_PERCENT * total


def _cases(oracle: Path, suite: str, seed: int, count: int) -> Iterator[dict[str, Any]]:
    command = [str(oracle), "-suite", suite, "-seed", str(seed), "-n", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")


if __name__ == "__main__":
    sys.exit(main())
