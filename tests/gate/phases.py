"""Runs pytest over one tier of the suite, and tests that failed once more, alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.gate.outcomes import Outcomes, read_outcomes
from tests.gate.tiers import TESTS, live_files, quick_files

__all__ = ["Suite"]

_AGAIN = 5
"""How often a test that failed has to pass alone, so that its failure counts as chance."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """How pytest is started."""

    jobs: int
    """Files of quick tests at a time. Of the others one more: they wait for other programs a third of their time."""
    options: Sequence[str] = ()
    """More arguments of pytest."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """More variables."""
    before_start: Callable[[], None] | None = None
    """Called in each process of pytest before it starts."""
    quick_wrapper: Sequence[str] = ()
    """A command that runs the quick tests' command."""
    root: Path = TESTS.parent
    """Where pytest runs; node ids begin here."""

    def quick(self) -> Outcomes:
        """The tests that start no server."""
        return self._all(quick_files(), self.jobs, self.quick_wrapper)

    def live(self) -> Outcomes:
        """The tests of real programs."""
        return self._all(live_files(), self.jobs + 1)

    def alone(self, test: str) -> Outcomes:
        """One test, several times, each in a process of its own, until it fails."""
        found = Outcomes()
        for _ in range(_AGAIN):
            found.include(self.run([test], ("-p", "no:xdist")))
            if found.failed:
                break
        return found

    def _all(self, files: Sequence[Path], jobs: int, wrapper: Sequence[str] = ()) -> Outcomes:
        names = [str(file.relative_to(TESTS.parent)) for file in files]
        # Files stay together, for their fixtures; the order is ours.
        spread = ("-n", str(jobs), "--dist", "loadfile", "--no-loadscope-reorder", *self.options)
        return self.run(names, spread, wrapper)

    def run(self, tests: Sequence[str], options: Sequence[str] = (), wrapper: Sequence[str] = ()) -> Outcomes:
        """Run pytest.

        Args:
            tests: Files or ids of tests.
            options: More arguments.
            wrapper: A command that runs pytest's.
        """
        with tempfile.TemporaryDirectory(prefix="qos-gate-") as folder:
            record = Path(folder) / "record"
            command = [*wrapper, sys.executable, "-m", "pytest", "-q", f"--record={record}", *options, *tests]
            done = subprocess.run(
                command,
                cwd=self.root,
                env={**_environment(), **self.environment},
                stdin=subprocess.DEVNULL,
                preexec_fn=self.before_start,  # it makes one system call
                check=False,
            )
            found = read_outcomes(record)
        # Such as no tests, an error in a plugin, an end by a signal.
        if done.returncode not in {0, 1} or (done.returncode == 1 and not found.failed):
            found.failed["pytest"] = f"pytest ended with {done.returncode}"
        return found


def _environment() -> Mapping[str, str]:
    """This process's own, with bytecode kept, for two workers load the same files; Go's servers use more memory."""
    own = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {"GOGC": "400", **own}
