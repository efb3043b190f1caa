"""``make real-node``: a kubelet and a container runtime on this machine; compares our predictions with them.

FULL=1: also how pods end, another minute, and why, half an hour; DEATHS=liveness runs only such deaths.

Exit codes: 0 everything is as predicted; 1 something is not; 2 no node can run here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tests.controlplane.binaries import CONTROL_PLANE, Unavailable, build_binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.real_node.deaths.run import CONTROLLER_ARGUMENTS, chosen, run_deaths
from tests.real_node.node import RealNode, what_is_missing
from tests.real_node.static_facts import PODS, Compared, compare, compare_qos_level
from tests.real_node.terminations import run_cases
from tests.waiting import wait_for

_SECONDS: Final = 120


def main() -> int:
    """Run it."""
    if problem := what_is_missing():
        print(f"no node can run here: {problem}", file=sys.stderr)
        return 2
    binaries = build_binaries((*CONTROL_PLANE, "kubelet"))
    if isinstance(binaries, Unavailable):
        print(binaries.reason, file=sys.stderr)
        return 2
    full, deaths = bool(os.environ.get("FULL")), bool(chosen())
    arguments = CONTROLLER_ARGUMENTS if full or deaths else ()
    with (
        ControlPlane(binaries, controller_manager_args=arguments) as control_plane,
        RealNode(control_plane, binaries["kubelet"], own_disk=full or deaths) as node,
    ):
        compared: list[Compared] = []
        if not deaths:
            compared += _static_facts(control_plane, node)
        if full and not deaths:
            compared += run_cases(control_plane, node)
        if full or deaths:
            compared += run_deaths(control_plane, node)
    return _tell(compared)


def _static_facts(control_plane: ControlPlane, node: RealNode) -> Iterator[Compared]:
    for pod in PODS:
        control_plane.api.create(pod)
    stored = []
    for pod in PODS:
        name = pod["metadata"]["name"]
        running = wait_for(partial(_running, control_plane, name), name, timeout=_SECONDS)
        stored.append(running)
        yield from compare(node, running, _explained(control_plane, name))
    yield from compare_qos_level(stored)


def _running(control_plane: ControlPlane, name: str) -> Object | None:
    pod: Object = control_plane.api.request("GET", control_plane.api.path("v1", "Pod", "default", name))
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)
    return pod if ready else None


def _explained(control_plane: ControlPlane, name: str) -> Mapping[str, Any]:
    """The plugin's answer, as a user gets it."""
    done = subprocess.run(
        [sys.executable, "-m", "kubectl_plugin", "explain", f"pod/{name}", "-n", "default", "-o", "json"],
        env=control_plane.kubectl_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
    )
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


def _tell(compared: Sequence[Compared]) -> int:
    for entry in compared:
        mark = "equal  " if entry.equal else "UNEQUAL"
        print(
            f"{mark}  {entry.where:32} {entry.what:24} predicted {entry.predicted}, seen {entry.measured or entry.seen}"
        )
    unequal = sum(not entry.equal for entry in compared)
    print(f"{len(compared) - unequal} figures as predicted, {unequal} not")
    return 1 if unequal or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
