"""What befalls pods: each function returns a change that the kubelet, scheduler or a controller would have written.

Reasons and messages are upstream's own, at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from tests.demo_cluster.base import Obj, condition, digest, instant, metadata
from tests.demo_cluster.rows import State

NODE_UNKNOWN_SINCE: Final = "03:02:56"
"""Last heartbeat 03:02:04, node-monitor grace period 50 s, the node controller's next round."""

TAINT_EVICTION_AT: Final = "03:07:56"
"""The pods' 300 s of toleration after that."""


def _set_condition(pod: Obj, new: Obj) -> None:
    """Replace the condition of that type, or put it first, where the API shows the newest kinds."""
    new = {"lastProbeTime": None, "observedGeneration": pod["metadata"]["generation"], **new}
    conditions: list[Obj] = pod["status"]["conditions"]
    for index, old in enumerate(conditions):
        if old["type"] == new["type"]:
            conditions[index] = new
            return
    conditions.insert(0, new)


def _delete(pod: Obj, at: str, grace: int) -> None:
    """A graceful deletion: the time stamp is when the grace period ends; the generation grows."""
    meta = pod["metadata"]
    meta["deletionTimestamp"] = instant(at, grace)
    meta["deletionGracePeriodSeconds"] = grace
    meta["generation"] += 1
    meta["resourceVersion"] = metadata("", "", age=at)["resourceVersion"]


def _unready(pod: Obj, since: str, *, failed: bool = False) -> None:
    reason = "PodFailed" if failed else ""
    for kind in ("Ready", "ContainersReady"):
        _set_condition(pod, condition(kind, "False", instant(since), reason))
    if failed:
        _set_condition(pod, condition("PodReadyToStartContainers", "False", instant(since)))


def _terminate_containers(pod: Obj, at: str, exit_code: int, reason: str) -> None:
    for status in pod["status"].get("initContainerStatuses", []) + pod["status"]["containerStatuses"]:
        running = status["state"].pop("running", None)
        if running is None:
            continue
        status["state"]["terminated"] = {
            "containerID": status["containerID"],
            "exitCode": exit_code,
            "finishedAt": instant(at),
            "reason": reason,
            "startedAt": running["startedAt"],
        }
        status |= {"ready": False, "started": False}


def disrupted(pod: Obj, at: str, reason: str, message: str) -> None:
    """Mark a pod as about to be ended by something other than itself."""
    _set_condition(pod, condition("DisruptionTarget", "True", instant(at), reason, message))


def mark_not_ready(pod: Obj) -> None:
    """What the node controller does to every pod of a silent node (MarkPodsNotReady): Ready only, no reason."""
    _set_condition(pod, condition("Ready", "False", instant(NODE_UNKNOWN_SINCE)))


def evicted_by_taint_manager(pod: Obj) -> None:
    """Deleted when its toleration of the unreachable taint ran out; nobody on the node is there to finish it."""
    disrupted(pod, TAINT_EVICTION_AT, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
    _delete(pod, TAINT_EVICTION_AT, pod["spec"]["terminationGracePeriodSeconds"])


def pending(message: str, since: str, nominated: str = "") -> State:
    """The scheduler found no node; ``nominated`` when it makes room on one by preemption."""

    def change(pod: Obj) -> None:
        unscheduled = condition("PodScheduled", "False", instant(since), "Unschedulable", message)
        _set_condition(pod, unscheduled)
        if nominated:
            pod["status"]["nominatedNodeName"] = nominated

    return change


def gated(gate: str) -> State:
    """Held out of the scheduling queue."""

    def change(pod: Obj) -> None:
        pod["spec"]["schedulingGates"] = [{"name": gate}]
        message = "Scheduling is blocked due to non-empty scheduling gates"
        since = pod["metadata"]["creationTimestamp"]
        _set_condition(pod, condition("PodScheduled", "False", since, "SchedulingGated", message))
        # The API server writes this one at create, without a generation.
        del pod["status"]["conditions"][0]["observedGeneration"]

    return change


def _preempt(pod: Obj, at: str) -> None:
    message = "default-scheduler: preempting to accommodate a higher priority pod"
    disrupted(pod, at, "PreemptionByScheduler", message)
    _delete(pod, at, pod["spec"]["terminationGracePeriodSeconds"])


def preempted_and_terminating(at: str) -> State:
    """A victim that uses its grace period; the preemptor waits for it."""

    def change(pod: Obj) -> None:
        _preempt(pod, at)
        pod["status"]["observedGeneration"] = pod["metadata"]["generation"]

    return change


def preempted_and_failed(at: str, stopped: str, finalizer: str) -> State:
    """A victim that has stopped; a finalizer keeps the object."""

    def change(pod: Obj) -> None:
        _preempt(pod, at)
        pod["metadata"]["finalizers"] = [finalizer]
        pod["status"] |= {"phase": "Failed", "observedGeneration": pod["metadata"]["generation"]}
        _terminate_containers(pod, stopped, 143, "Error")
        _unready(pod, stopped, failed=True)

    return change


def evicted(at: str, message: str) -> State:
    """Evicted by the kubelet under node pressure (eviction manager, hard threshold)."""

    def change(pod: Obj) -> None:
        disrupted(pod, at, "TerminationByKubelet", message)
        pod["status"] |= {"phase": "Failed", "reason": "Evicted", "message": message}
        _terminate_containers(pod, at, 137, "Error")
        _unready(pod, at, failed=True)

    return change


def succeeded(at: str) -> State:
    """A Job's pod that ended well."""

    def change(pod: Obj) -> None:
        pod["metadata"].pop("finalizers", None)
        pod["status"]["phase"] = "Succeeded"
        _terminate_containers(pod, at, 0, "Completed")
        _set_condition(pod, condition("PodReadyToStartContainers", "False", instant(at)))
        for kind in ("Initialized", "Ready", "ContainersReady"):
            was = "True" if kind == "Initialized" else "False"
            since = pod["status"]["startTime"] if kind == "Initialized" else instant(at)
            _set_condition(pod, condition(kind, was, since, "PodCompleted"))

    return change


def oom_killed(at: str, restarts: int) -> State:
    """The first container was OOM-killed again and waits for its next start."""

    def change(pod: Obj) -> None:
        meta, status = pod["metadata"], pod["status"]["containerStatuses"][0]
        whole_name = f"{meta['name']}_{meta['namespace']}({meta['uid']})"
        killed = f"containerd://{digest(meta['uid'] + at)}"
        status["lastState"] = {
            "terminated": {
                "containerID": killed,
                "exitCode": 137,
                "finishedAt": instant(at),
                "reason": "OOMKilled",
                "startedAt": instant(at, -48),
            }
        }
        status["state"] = {
            "waiting": {
                "reason": "CrashLoopBackOff",
                "message": f"back-off 5m0s restarting failed container={status['name']} pod={whole_name}",
            }
        }
        status |= {"containerID": killed, "ready": False, "started": False, "restartCount": restarts}
        reason, message = "ContainersNotReady", f"containers with unready status: [{status['name']}]"
        for kind in ("Ready", "ContainersReady"):
            _set_condition(pod, condition(kind, "False", instant(at), reason, message))

    return change


def resize_deferred(at: str, memory: str, message: str) -> State:
    """The first container's spec asks for more memory than its node has left; the kubelet keeps the old allocation."""

    def change(pod: Obj) -> None:
        pod["metadata"]["generation"] += 1
        resources = pod["spec"]["containers"][0]["resources"]
        for amounts in resources.values():
            amounts["memory"] = memory
        _set_condition(pod, condition("PodResizePending", "True", instant(at), "Deferred", message))
        pod["status"]["observedGeneration"] = pod["metadata"]["generation"]

    return change
