"""The containers that have a process, so that the kernel can kill them and a stop waits for them."""

from __future__ import annotations

from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import stop_plan
from podrules.pod.container_state import has_process, idle_containers
from tests.objects import raw_container, raw_pod
from tests.table import table

RUNNING = {"running": {"startedAt": "2026-10-01T00:00:00Z"}}
ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def pod_of(states: dict[str, dict[str, Any]] | None = None, phase: str = "Running") -> Pod:
    """A pod with an init container, a sidecar and two app containers; ``states`` by name, absent: not reported."""
    init = [raw_container("setup"), raw_container("mesh", restartPolicy="Always")]
    statuses = [{"name": name, "state": state} for name, state in (states or {}).items()]
    ours = {"setup", "mesh"}
    status = {
        "phase": phase,
        "initContainerStatuses": [entry for entry in statuses if entry["name"] in ours],
        "containerStatuses": [entry for entry in statuses if entry["name"] not in ours],
    }
    raw = raw_pod(
        containers=[raw_container("app"), raw_container("second")],
        initContainers=init,
        nodeName="node-1",
        terminationGracePeriodSeconds=30,
        status=status,
    )
    return from_object(raw, Pod)


@table(
    "pod, expected",
    {
        "nothing reported: as if it ran": (pod_of(), {"app", "second", "mesh"}),
        "one of them reported": (pod_of({"app": RUNNING}), {"app", "second", "mesh"}),
        "image": (pod_of({"app": waiting("ImagePullBackOff")}), {"second", "mesh"}),
        "crash loop": (pod_of({"app": waiting("CrashLoopBackOff")}), {"second", "mesh"}),
        "no state is set: it waits": (pod_of({"app": {}}), {"second", "mesh"}),
        "one ended": (pod_of({"app": ENDED, "second": RUNNING}), {"second", "mesh"}),
        "the init container runs": (
            pod_of(
                {
                    "setup": RUNNING,
                    "mesh": waiting("PodInitializing"),
                    "app": waiting("PodInitializing"),
                    "second": waiting("PodInitializing"),
                },
                "Pending",
            ),
            {"setup"},
        ),
        "finished": (pod_of({"app": RUNNING}, "Failed"), set()),
    },
)
def test_Q3_container_without_a_process_does_not_run(pod: Pod, expected: set[str]) -> None:
    assert {ref.container.name for ref in pod.containers() if has_process(pod, ref)} == expected


def test_T3_stop_signals_running_init_containers_too() -> None:
    idle = waiting("PodInitializing")
    pod = pod_of({"setup": RUNNING, "mesh": RUNNING, "app": idle, "second": idle}, "Pending")
    assert idle_containers(pod) == ("app", "second")
    plan = stop_plan(pod)
    assert [(step.name, step.sigterm_earliest, step.sigterm_latest) for step in plan.containers] == [
        ("setup", 0, 0),
        # No sidecar waits for an init container, and no other container is before it.
        ("mesh", 0, 0),
    ]


def test_T3_last_running_sidecar_stops_at_once() -> None:
    pod = pod_of({"app": ENDED, "second": ENDED, "mesh": RUNNING})
    [step] = stop_plan(pod).containers
    assert (step.name, step.is_sidecar, step.waits, step.sigterm_latest, step.sigkill_latest) == (
        "mesh",
        True,
        False,
        0,
        30,
    )
