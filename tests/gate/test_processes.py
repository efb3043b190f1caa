"""Processes that a run leaves behind are found and ended, and can be frozen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.gate.freezing import open_freezer
from tests.marked import TESTS
from tests.required import without
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc, and frozen by cgroups")

# The shell ends at once, and leaves a program with a session of its own.
_LEAVES_ONE = """
import json, subprocess
from tests.gate.processes import end, left_over, under_a_reaper
reaper = under_a_reaper()
subprocess.run(["sh", "-c", "setsid sleep 471 & exit 0"], check=True)
while [one.command for one in left_over(reaper, patience=0)] != ["sleep 471"]: pass
left = left_over(reaper, patience=0.2)
end(left)
print(json.dumps([[one.command for one in left], left_over(reaper)]), flush=True)
"""
_LEAVES_NONE = """
import json, subprocess
from tests.gate.processes import left_over, under_a_reaper
reaper = under_a_reaper()
subprocess.run(["sh", "-c", "setsid sleep 0.3 & exit 0"], check=True)
print(json.dumps(left_over(reaper)), flush=True)
"""
_IS_ENDED = """
import os, signal, subprocess
from tests.gate.processes import under_a_reaper
under_a_reaper()
print(subprocess.Popen(["setsid", "sleep", "472"]).pid, flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""
_LOSES_THE_REAPER = """
import json, os, signal
from tests.gate.processes import left_over, under_a_reaper
reaper = under_a_reaper()
signal.signal(signal.SIGTERM, lambda *_: print(json.dumps(left_over(reaper, patience=0)), flush=True) or os._exit(0))
os.kill(reaper, signal.SIGKILL)
signal.pause()
"""
_ENDS = "from tests.gate.processes import under_a_reaper; under_a_reaper(); raise SystemExit(7)"
_COUNTS = "import time\nwhile True: print(flush=True) or time.sleep(0.01)"


def _printed(program: str, *, code: int = 0) -> object:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTS.parent, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_an_orphan_is_found_and_ended() -> None:
    assert _printed(_LEAVES_ONE) == [["sleep 471"], []]


def test_one_that_ends_soon_is_awaited() -> None:
    started = time.monotonic()
    assert _printed(_LEAVES_NONE) == []
    # It did not wait for its timeout.
    assert time.monotonic() - started < 55


def test_the_exit_code_is_that_of_the_work() -> None:
    assert subprocess.run([sys.executable, "-c", _ENDS], cwd=TESTS.parent, check=False).returncode == 7


def test_processes_end_with_the_work() -> None:
    started = _printed(_IS_ENDED, code=128 + signal.SIGTERM)
    wait_for(lambda: not Path(f"/proc/{started}").exists(), "it is ended")


def test_work_ends_with_its_reaper() -> None:
    # Otherwise it would find and end all children of init.
    assert _printed(_LOSES_THE_REAPER, code=-signal.SIGKILL) == []


def test_frozen_processes_stop_and_continue(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        without("root, for the cgroup freezer")
    output = tmp_path / "output"
    with output.open("wb") as stream:
        with open_freezer() as freezer:
            counting = subprocess.Popen([sys.executable, "-c", _COUNTS], stdout=stream, preexec_fn=freezer.enter)  # noqa: PLW1509
            wait_for(lambda: output.stat().st_size > 3, "it runs")
            with freezer.frozen():
                before = output.stat().st_size
                time.sleep(0.3)
                assert output.stat().st_size == before
            wait_for(lambda: output.stat().st_size > before, "it goes on")
        # No process remains in a removed cgroup.
        assert counting.wait() == -signal.SIGKILL
