"""How pods end: the times of SIGTERM, the process's end and the object's deletion, compared with `stop_plan`.

The container prints a line on SIGTERM, and the runtime adds the time; /proc shows the process's end.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import StopPlan, stop_plan
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.real_node.deaths.pods import container
from tests.real_node.node import RealNode
from tests.real_node.static_facts import Compared, make_pod
from tests.waiting import wait_for

_SLACK: Final = 1.5
"""Seconds that requests, the runtime and a busy machine take."""
_OBJECT_SLACK: Final = 4.0
"""Seconds until the kubelet has reported an observed end to the API server."""
_STUBBORN: Final = "trap 'echo SIGTERM' TERM; echo UP; while :; do usleep 20000; done"
_OBEDIENT: Final = "trap 'echo SIGTERM; exit 0' TERM; echo UP; while :; do usleep 20000; done"
_LONGEST: Final = 45
_AT_ONCE: Final = 3


class Case(NamedTuple):
    """A pod and how it is deleted."""

    name: str
    grace: int = 30
    """spec.terminationGracePeriodSeconds."""
    hook: int | None = None
    """Seconds that an exec preStop hook takes."""
    sleep: int | None = None
    """Seconds of a sleep hook."""
    obeys: bool = False
    option: int | None = None
    """Of the first delete."""
    again: int | None = None
    """The option of a second delete, 3 s later."""

    def pod(self) -> Object:
        """The manifest."""
        main = container("main", _OBEDIENT if self.obeys else _STUBBORN)
        if self.hook is not None:
            main["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", str(self.hook)]}}}
        if self.sleep is not None:
            main["lifecycle"] = {"preStop": {"sleep": {"seconds": self.sleep}}}
        return make_pod(self.name, main, terminationGracePeriodSeconds=self.grace)


_SECOND_DELETE_SECONDS: Final = 3
CASES: Final = (
    # The longest first.
    Case("forced-later", again=0),
    Case("shortened-later", again=2),
    Case("grace-5", grace=5),
    Case("hook-of-3", grace=5, hook=3),
    Case("sleep-of-5", grace=5, sleep=5),
    Case("hook-of-20", grace=5, hook=20),
    Case("obeys-after-hook", grace=5, hook=3, obeys=True),
    Case("obeys", grace=5, obeys=True),
    Case("forced", option=0),
    Case("option-1", option=1),
    Case("own-period-0", grace=0),
)


class _Seen(NamedTuple):
    """Seconds after the first delete."""

    sigterm: float | None
    dead: float
    gone: float


def run_cases(control_plane: ControlPlane, node: RealNode, cases: Sequence[Case] = CASES) -> Iterator[Compared]:
    """A few cases in parallel: more would delay all of them on a small machine."""
    for case in cases:
        control_plane.api.create(case.pod())
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for case, (pod, seen) in zip(
            cases, threads.map(lambda case: _run(control_plane, node, case), cases), strict=True
        ):
            yield from _compared(case, stop_plan(pod, case.option), seen)


def _run(control_plane: ControlPlane, node: RealNode, case: Case) -> tuple[Pod, _Seen]:
    api = control_plane.api
    path = api.path("v1", "Pod", "default", case.name)
    log = wait_for(lambda: _log_of(node, case.name), f"{case.name} prints", timeout=60)
    wait_for(lambda: "UP" in log.read_text(), f"{case.name} runs", timeout=60)
    stored = wait_for(lambda: _running(api.request("GET", path)), f"{case.name} is Running", timeout=60)
    process = Path("/proc", str(node.task(node.containers(stored)["main"])))
    # Held open: the file goes with the pod.
    with log.open() as printed:
        dead, gone, clock = _delete_and_watch(control_plane, stored, case, process)
        return from_object(stored, Pod), _Seen(_sigterm(printed.read(), clock), dead, gone)


def _delete_and_watch(
    control_plane: ControlPlane, pod: Object, case: Case, process: Path
) -> tuple[float, float, float]:
    """Seconds until the process was dead and the object gone, and when the clock showed the deletion."""
    api = control_plane.api
    began, clock = time.monotonic(), time.time()
    api.delete(pod, grace_period_seconds=case.option)
    dead = gone = 0.0
    second_is_due = case.again is not None
    while not (dead and gone):
        now = time.monotonic() - began
        if now > _LONGEST:
            raise TimeoutError(f"{case.name}: after {_LONGEST} s dead {dead}, gone {gone}")
        if second_is_due and now >= _SECOND_DELETE_SECONDS:
            second_is_due = False
            api.delete(pod, grace_period_seconds=case.again)
        if not dead and not process.exists():
            dead = now
        if not gone and not api.list_items("v1", "Pod", "default", fieldSelector=f"metadata.name={case.name}"):
            gone = now
        time.sleep(0.02)
    return dead, gone, clock


def _compared(case: Case, plan: StopPlan, seen: _Seen) -> Iterator[Compared]:
    """Compare each time with its predicted range.

    A second delete changes the object and not the stop in flight.
    """
    [stop] = plan.containers
    seconds = max(plan.grace.seconds, 1)
    # The pod does not show the time of an exec hook; here it is known.
    earliest, latest = stop.sigterm_earliest, stop.sigterm_latest
    if case.hook is not None:
        earliest = latest = min(case.hook, seconds)
    yield _within(case, "SIGTERM", earliest, latest, seen.sigterm, _SLACK)
    if case.obeys:
        dead = (earliest, latest)
    else:
        dead = (max(seconds, earliest + 2), min(stop.sigkill_latest, max(seconds, latest + 2)))
    yield _within(case, "process dead", *dead, seen.dead, _SLACK)
    if plan.object_removed_at_once:
        gone: tuple[float, float] = (0, 0)
    elif case.again == 0:
        gone = (_SECOND_DELETE_SECONDS, _SECOND_DELETE_SECONDS)
    else:
        gone = dead
    yield _within(case, "object gone", *gone, seen.gone, _OBJECT_SLACK)


def _within(case: Case, what: str, earliest: float, latest: float, seen: float | None, slack: float) -> Compared:
    span = f"{earliest:g} s" if earliest == latest else f"{earliest:g} to {latest:g} s"
    if seen is not None and earliest - 0.1 <= seen <= latest + slack:
        return Compared(case.name, what, span, span, f"{seen:.2f} s")
    return Compared(case.name, what, span, f"{seen} s")


def _log_of(node: RealNode, name: str) -> Path | None:
    return next(iter((node.folder / "logs").glob(f"default_{name}_*/main/0.log")), None)


def _sigterm(printed: str, clock: float) -> float | None:
    """When the container printed that it got SIGTERM."""
    found = re.search(r"^(\S+) stdout \S SIGTERM$", printed, re.MULTILINE)
    return datetime.fromisoformat(found.group(1)[:26] + "+00:00").timestamp() - clock if found else None


def _running(pod: Object) -> Object | None:
    return pod if pod.get("status", {}).get("phase") == "Running" else None
