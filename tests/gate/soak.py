"""``make soak``: the gate's tests again and again; lists all that ever failed.

Every run has another order of files and tests, another hash seed and another time zone. Quick tests also run on another
date where libfaketime is installed (Debian's ``faketime``); programs in Go cannot get another date. In every run
all processes stand still for 5 or 10 s now and then, which takes root.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.gate.arguments import at_least_one
from tests.gate.freezing import Freezer, freezes, open_freezer, why_no_freezer
from tests.gate.outcomes import Outcomes
from tests.gate.phases import Suite
from tests.gate.processes import end, left_over, under_a_reaper

_ZONES = ("UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Chatham", "Europe/Berlin", "America/Los_Angeles")
_DATES = (
    "2027-03-28 00:59:30",
    "2028-02-29 12:00:00",
    "2026-12-31 23:59:30",
    "2027-10-31 00:59:30",
    "2038-01-19 03:13:50",
)
"""Where clocks change in Europe, a leap day, a new year, and where 32 bits of seconds end."""


def main() -> int:
    """Run the suite ``--runs`` times; 0 when no test ever failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate.soak", description=__doc__)
    parser.add_argument("--runs", type=at_least_one, default=5)
    parser.add_argument("--jobs", type=at_least_one, default=2, help="files of tests at a time")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    parser.add_argument("--no-freezes", action="store_true", help="where processes cannot be frozen")
    given = parser.parse_args()
    if not given.no_freezes and (cannot := why_no_freezer()):
        parser.error(f"{cannot}; `python -m tests.gate.soak --no-freezes` runs the tests without freezes")
    reaper = under_a_reaper()
    failures: Counter[str] = Counter()
    first: dict[str, str] = {}
    for seed in range(given.seed, given.seed + given.runs):
        found = _run(seed, given.jobs, reaper, with_freezes=not given.no_freezes)
        failures.update(found.failed.keys())
        first = {**found.failed, **first}
        for test, text in found.failed.items():
            print(f"FAILED with seed {seed}: {test}\n{text}", flush=True)
    for test, count in failures.most_common():
        print(f"failed in {count} of {given.runs} runs: {test}")
    print(f"{given.runs} runs, {len(failures)} tests failed at least once")
    return 1 if failures else 0


def _run(seed: int, jobs: int, reaper: int, *, with_freezes: bool) -> Outcomes:
    chance = random.Random(seed)  # noqa: S311  # a world, no secret
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        freezer = stack.enter_context(open_freezer()) if with_freezes else None
        zone, date = chance.choice(_ZONES), chance.choice(_DATES)
        suite = Suite(
            jobs=jobs,
            options=(f"--shuffle={seed}",),
            environment={"PYTHONHASHSEED": str(seed), "TZ": zone},
            before_start=freezer.enter if freezer else None,
            quick_wrapper=_on_date(date),
        )
        frozen = stack.enter_context(_freezes(freezer, chance))
        found = suite.quick()
        found.include(suite.live())
        left = left_over(reaper)
        end(left)
    for process in left:
        found.failed[f"left behind: {process.command}"] = f"process {process.pid}"
    print(
        f"seed {seed}, {zone}, {date}: {len(found.passed)} passed, {len(found.failed)} failed, {len(found.skipped)} "
        f"skipped in {time.monotonic() - started:.0f} s, frozen {len(frozen)} times, {sum(frozen):.0f} s",
        flush=True,
    )
    return found


def _on_date(date: str) -> tuple[str, ...]:
    """What runs a command on a date."""
    if shutil.which("faketime") is None:
        return ()
    return ("faketime", date)


@contextlib.contextmanager
def _freezes(freezer: Freezer | None, chance: random.Random) -> Iterator[list[float]]:
    if freezer is None:
        yield []
        return
    with freezes(freezer, chance) as frozen:
        yield frozen


if __name__ == "__main__":
    sys.exit(main())
