"""Runs every scenario on the real node, records each as a case, and compares it with the plugin's verdict.

UPDATE_CASES=1 writes the cases into the repository. DEATHS=liveness,owner runs only those with such a prefix in
their id, and keeps the other existing cases.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Final

from tests.controlplane.client import ApiError
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_priority_class
from tests.podrules.ending.died.cases import REAL_NODE, recorded_clusters, recorded_end
from tests.real_node.deaths.of_containers import of_containers
from tests.real_node.deaths.of_nodes import make_plain, phases_of_nodes
from tests.real_node.deaths.of_pods import DONGLES, IMPORTANT, of_pods
from tests.real_node.deaths.record import Case, record, write_cases
from tests.real_node.deaths.scenario import Made, Phase, Scenario, World, await_test, remove_namespaces_pods
from tests.real_node.deaths.verdicts import compare_verdict
from tests.real_node.node import RealNode
from tests.real_node.static_facts import Compared

CONTROLLER_ARGUMENTS: Final = ("--node-monitor-grace-period=25s",)
"""For the controller manager: a silent node is noticed soon."""
_AT_ONCE: Final = 10
_READY_SECONDS: Final = 90.0
_BEFORE_ACT_SECONDS: Final = 2.0
_LEAST_SETTLE_SECONDS: Final = 11.0
"""An event of a kubelet counts as still on its way for 10 s."""


def chosen() -> tuple[str, ...]:
    """The beginnings of ids in ``DEATHS``; empty: all are made."""
    return tuple(filter(None, os.environ.get("DEATHS", "").split(",")))


def run_deaths(control_plane: ControlPlane, node: RealNode) -> Iterator[Compared]:
    """Run all scenarios; those that do not end as planned are reported and left out."""
    world = World(control_plane, node)
    _prepare(world)
    cases: list[Case] = []
    planned = 0
    for part in _phases():
        began = time.monotonic()
        planned += len(part.scenarios)
        found = _run_phase(world, part)
        cases += found
        print(f"{part.name}: {len(found)} of {len(part.scenarios)} in {time.monotonic() - began:.0f} s", flush=True)
    _keep(cases)
    print(f"{len(cases)} of {planned} deaths came out as planned: {_counted(cases)}")
    yield Compared("deaths", "made as planned", planned, len(cases))
    for case in cases:
        yield compare_verdict(recorded_end(case))


def _phases() -> Iterator[Phase]:
    every = [Phase("side by side", [*of_containers(), *of_pods()], at_once=_AT_ONCE), *phases_of_nodes()]
    for part in every:
        kept = [scenario for scenario in part.scenarios if _wanted(scenario.id)]
        if kept:
            yield part._replace(scenarios=kept)


def _wanted(identity: str) -> bool:
    wanted = chosen()
    return not wanted or identity.startswith(wanted)


def _prepare(world: World) -> None:
    remove_namespaces_pods(world, "default")
    world.plane.apply([raw_priority_class(IMPORTANT, 100000)])
    make_plain(world)
    node = world.plane.api.get("v1", "Node", world.node.name)
    amounts = dict.fromkeys(DONGLES, "1")
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    world.plane.api.patch({**node, "apiVersion": "v1", "kind": "Node"}, status, subresource="status")


def _run_phase(world: World, part: Phase) -> list[Case]:
    try:
        if part.before:
            part.before(world)
        return _in_threads(world, part)
    except Exception as error:  # noqa: BLE001  # one phase must not end the others
        _complain(part.name, error)
        return []
    finally:
        try:
            if part.after:
                part.after(world)
            elif not world.node.has_kubelet:
                make_plain(world)
        except Exception as error:  # noqa: BLE001  # as above
            _complain(f"after {part.name}", error)


def _in_threads(world: World, part: Phase) -> list[Case]:
    """Programs are started in this thread, for they end with the thread that started them."""
    go = threading.Event()
    prepared = threading.Semaphore(0)
    cases = []
    with ThreadPoolExecutor(part.at_once or len(part.scenarios)) as threads:
        futures: list[Future[Case]] = [
            threads.submit(_make, Made(world, scenario), part.seconds, prepared, None if part.at_once else go)
            for scenario in part.scenarios
        ]
        try:
            if not part.at_once:
                for _ in part.scenarios:
                    prepared.acquire()
                if part.trigger:
                    part.trigger(world)
        finally:
            go.set()
        for future in as_completed(futures):
            try:
                cases.append(future.result())
            except Exception as error:  # noqa: BLE001  # as above
                _complain(part.name, error)
    return cases


def _make(made: Made, seconds: float, prepared: threading.Semaphore, go: threading.Event | None) -> Case:
    scenario = made.scenario
    try:
        try:
            _create(made, scenario)
            if scenario.ready:
                await_test(made, scenario.ready, "ready", _READY_SECONDS)
        finally:
            prepared.release()
        if go:
            go.wait()
        if scenario.act:
            # Times in the API are in seconds: a start and an end in the same second are indistinguishable.
            time.sleep(_BEFORE_ACT_SECONDS)
            scenario.act(made)
        await_test(made, scenario.happened, "so", seconds)
        time.sleep(max(scenario.settle, _LEAST_SETTLE_SECONDS))
        return record(made)
    except Exception as error:
        error.add_note(f"{scenario.id}: {_state(made)}")
        raise
    finally:
        made.clean_up()


def _create(made: Made, scenario: Scenario) -> None:
    made.world.plane.create_namespace(scenario.namespace)
    for obj in scenario.objects:
        await_test(made, partial(_created, obj), f"created: {obj['kind']}")


def _created(obj: dict[str, object], made: Made) -> bool:
    try:
        made.create(obj)
    except ApiError as error:
        if error.code == 403 and "exceeded quota" not in error.message:
            return False
        raise
    return True


def _state(made: Made) -> str:
    status = made.last.get("status", {})
    said = [f"{event['reason']}: {event.get('message', '')}" for event in made.events()][-6:]
    ends = [entry.get("state") for entry in status.get("containerStatuses", ())]
    return f"{status.get('phase')} {status.get('reason', '')} {ends} {said}"


def _complain(where: str, error: Exception) -> None:
    notes = " ".join(getattr(error, "__notes__", ()))
    print(f"left out, {where}: {type(error).__name__}: {error} {notes}", file=sys.stderr, flush=True)


def _keep(cases: Sequence[Case]) -> None:
    if os.environ.get("UPDATE_CASES"):
        file = REAL_NODE
        # Cases that are not selected stay unchanged.
        others = [case for case in recorded_clusters(file) if not _wanted(case["id"])] if chosen() else []
    else:
        file, others = Path(tempfile.mkdtemp(prefix="deaths-")) / REAL_NODE.name, []
    write_cases(file, [*cases, *others])
    print(f"{len(cases)} cases, and {len(others)} of earlier, in {file}")


def _counted(cases: Sequence[Case]) -> str:
    return ", ".join(f"{cause} {count}" for cause, count in sorted(Counter(case["cause"] for case in cases).items()))
