"""Runs pytest over one tier of the suite, and reruns failed tests alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.gate.outcomes import Outcomes, read_outcomes
from tests.gate.tiers import file_of, live_files, quick_files
from tests.marked import TESTS

_AGAIN = 5
"""How often a test that failed has to pass alone, so that its failure counts as chance."""
_IN_ORDER_SECONDS = 60
"""Seconds for the teardown of fixtures when the run is interrupted."""


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

    def again(self, test: str) -> Outcomes:
        """One test, several times alone, each in a process of its own, then with its file, until it fails.

        A test that always fails after the others of its file, or in a shared fixture, is not flaky.
        """
        found = Outcomes()
        for tests in (*([test],) * _AGAIN, [file_of(test)]):
            found.include(self.run(tests, ("-p", "no:xdist", *self.options)))
            if test in found.failed or "pytest" in found.failed:
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
            code = self._ended(command)
            found = read_outcomes(record)
        found.failed |= dict.fromkeys(found.missing, "it did not run")
        # For example no tests, an error in a plugin, or a signal.
        if code not in {0, 1} or (code == 1 and not found.failed):
            found.failed["pytest"] = f"pytest ended with {code}"
        return found

    def _ended(self, command: Sequence[str]) -> int:
        """Run a command of pytest to its end; its exit code.

        It has its own process group, so that a terminal interrupts only the gate. Pytest is interrupted once: a second
        time would break off the teardown of its fixtures.
        """
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env={**_environment(), **self.environment},
            stdin=subprocess.DEVNULL,
            preexec_fn=self.before_start,  # noqa: PLW1509  # it makes one system call
            process_group=0,
        )
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_IN_ORDER_SECONDS)
            process.kill()
            process.wait()


def _environment() -> Mapping[str, str]:
    """This process's own, with bytecode kept, because two workers load the same files.

    Go's servers collect garbage less often and use one core each: the workers keep all cores busy, and the API server
    takes a fifth less CPU time than with two.
    """
    own = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {"GOGC": "400", "GOMAXPROCS": "1", **own}
