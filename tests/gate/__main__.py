"""``make test``: lint in parallel, quick tests first, failures rerun, no process left behind.

A quick test that fails ends the run before the slow ones. A test that fails is run five times alone, then once with the
others of its file: if it passes each time, the run is green and says so under FAILED ONCE; `tests/FLAKY.md` then gets a
row with cause and fix.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.gate.arguments import at_least_one
from tests.gate.lint import Lint
from tests.gate.outcomes import Outcomes
from tests.gate.phases import Suite
from tests.gate.processes import end, left_over, under_a_reaper
from tests.gate.tiers import write_seconds

_MAX_RERUNS = 10
"""Tests. More than these do not fail by chance."""

_HANGS = "--timeout=300"
"""Seconds for a test that is not long: the gate has to name tests that hang."""


def main() -> int:
    """Run everything; 0 if all tests pass."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate", description=__doc__)
    parser.add_argument("--jobs", type=at_least_one, default=2, help="files of tests at a time")
    parser.add_argument("--long", action="store_true", help="also the tests marked long")
    parser.add_argument("--write-seconds", action="store_true", help="keep how long each file took, for the order")
    given = parser.parse_args()
    reaper = under_a_reaper()
    started = time.monotonic()
    suite = Suite(jobs=given.jobs, options=["--long"] if given.long else [_HANGS])
    with Lint() as lint:
        found, failed_once = _tests(suite, lint)
        lint_passed = not lint.has_failed() if found.failed else lint.finish()
        if not lint_passed:
            print(f"\n{lint.said()}", flush=True)
    left = left_over(reaper)
    end(left)
    if given.write_seconds:
        write_seconds(found.seconds)
    for test, first in failed_once.items():
        print(f"\nFAILED ONCE, then passed alone: {test}\n{first}")
    if failed_once:
        print("What failed once depends on chance: write a row to tests/FLAKY.md, and mend it.")
    for process in left:
        print(f"LEFT BEHIND by a test: process {process.pid}: {process.command}")
    for test, text in found.failed.items():
        # Tests have said why when they failed.
        print(f"FAILED {test}" + ("" if text.startswith("[") else f": {text}"))
    if not lint_passed:
        print("FAILED make lint")
    print(f"{time.monotonic() - started:.0f} s; the longest files: {_longest(found)}")
    print(
        f"{len(found.passed)} passed, {len(found.failed)} failed, {len(failed_once)} of the passed failed once, "
        f"{len(found.skipped)} skipped"
    )
    return 0 if lint_passed and not found.failed and not left else 1


def _tests(suite: Suite, lint: Lint) -> tuple[Outcomes, dict[str, str]]:
    """Run all tests, or stop at a failure; also return the tests that failed once, with the first traceback."""
    found = suite.quick()
    failed_once = rerun_failures(suite, found)
    if found.failed or lint.has_failed():
        print("\nThe tests of real programs do not run until this is fixed.", flush=True)
        return found, failed_once
    live = suite.live()
    failed_once |= rerun_failures(suite, live)
    found.include(live)
    return found, failed_once


def rerun_failures(suite: Suite, found: Outcomes) -> dict[str, str]:
    """Rerun failed tests alone; those that then always pass count as passed and are returned."""
    failed = [test for test in found.failed if "::" in test]
    if len(failed) > _MAX_RERUNS:
        print(f"\n{len(failed)} tests failed: too many to run each again.", flush=True)
        return {}
    failed_once = {}
    for test in failed:
        print(f"\nAgain, five times alone, then once with its file: {test}", flush=True)
        again = suite.again(test)
        if test in again.passed and not again.failed.keys() & {test, "pytest"}:
            failed_once[test] = found.failed.pop(test)
            found.passed.add(test)
    return failed_once


def _longest(found: Outcomes, count: int = 5) -> str:
    """The files that took longest."""
    longest = sorted(found.seconds.items(), key=lambda entry: -entry[1])[:count]
    return ", ".join(f"{file.removeprefix('tests/')} {taken:.0f} s" for file, taken in longest)


if __name__ == "__main__":
    sys.exit(main())
