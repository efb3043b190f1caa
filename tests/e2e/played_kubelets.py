"""Simulated kubelets: they start pods bound to their nodes, stop deleted pods, and report both in events."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.rounds import Rounds
from tests.objects import raw_object

STAYS: Final = "stays"
"""The label of a pod that does not stop."""
UNINITIALIZED: Final = "uninitialized"
"""The label of a pod with an init container that never starts."""
_PERIOD_SECONDS: Final = 0.1


class Kubelets(Rounds):
    """The kubelets of all nodes, for the pods of some namespaces."""

    def __init__(self, plane: ControlPlane, namespaces: Sequence[str]) -> None:
        """Nothing runs yet."""
        super().__init__(plane.api, _PERIOD_SECONDS)
        self._plane, self._namespaces = plane, namespaces
        self.silent: set[str] = set()
        """Nodes with kubelets that do nothing."""
        self._running: dict[str, Object] = {}
        self._stopping: set[str] = set()

    def do_a_round(self) -> None:
        """In all namespaces."""
        for namespace in self._namespaces:
            # An object may change or be deleted meanwhile: the next round sees its new state.
            with contextlib.suppress(ApiError):
                self._look_at(namespace)

    def _look_at(self, namespace: str) -> None:
        found = self._plane.api.list_items("v1", "Pod", namespace)
        here = {pod["metadata"]["uid"] for pod in found}
        for uid, pod in list(self._running.items()):
            node, own = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
            if uid not in here and own == namespace and node not in self.silent:
                # Deleted without grace: its kubelet stops it then.
                del self._running[uid]
                self._report_stop(pod)
        for pod in found:
            if pod["spec"].get("nodeName", "") not in {"", *self.silent}:
                with contextlib.suppress(ApiError):
                    self._care_for(pod)

    def _care_for(self, pod: Object) -> None:
        meta = pod["metadata"]
        if "deletionTimestamp" in meta:
            self._stop(pod)
        elif pod["status"]["phase"] == "Pending" and meta["uid"] not in self._running:
            self._start(pod)

    def _start(self, pod: Object) -> None:
        if UNINITIALIZED in pod["metadata"].get("labels", {}):
            if "initContainerStatuses" not in pod["status"]:
                self._plane.set_pod_status(pod, _never_started("Pending"))
                self.emit(pod, "Pulling", "Pulling image", container="init")
            return
        started = {"running": {"startedAt": now()}}
        conditions = [_condition("Ready"), _condition("ContainersReady")]
        state = {"phase": "Running", "conditions": conditions, "startTime": now()}
        self._plane.set_pod_status(pod, {**state, "containerStatuses": [_container(started, ready=True)]})
        self._running[pod["metadata"]["uid"]] = pod
        self.emit(pod, "Started", "Started container app")

    def _stop(self, pod: Object) -> None:
        meta = pod["metadata"]
        uid = meta["uid"]
        if uid in self._running:
            del self._running[uid]
            if pod["status"]["phase"] == "Running":
                self._report_stop(pod)
        elif STAYS not in meta.get("labels", {}) and uid not in self._stopping:
            if UNINITIALIZED in meta.get("labels", {}):
                self._plane.set_pod_status(pod, _never_started("Failed"))
            elif pod["status"]["phase"] in {"Running", "Pending"}:
                self._plane.set_pod_status(pod, ended(pod, 143))
            self._stopping.add(uid)
            self._plane.api.delete(pod, grace_period_seconds=0)

    def _report_stop(self, pod: Object) -> None:
        self.emit(pod, "Killing", "Stopping container app")

    def emit(self, pod: Object, reason: str, message: str, *, container: str = "app") -> None:
        """An event about a pod's container, as a kubelet writes it."""
        node = pod["spec"]["nodeName"]
        source = {"component": "kubelet", "host": node}
        made = event({"apiVersion": "v1", "kind": "Pod", **pod}, reason, message, source)
        made["involvedObject"]["fieldPath"] = f"spec.containers{{{container}}}"
        self._plane.api.create(made | {"reportingComponent": "kubelet", "reportingInstance": node})


def event(about: Object, reason: str, message: str, source: Mapping[str, str]) -> Object:
    """An event about an object that happens now."""
    meta = {key: about["metadata"][key] for key in ("name", "namespace", "uid")}
    return raw_object(
        "Event",
        None,
        meta["namespace"],
        metadata={"generateName": f"{meta['name']}."},
        involvedObject={"apiVersion": about["apiVersion"], "kind": about["kind"], **meta},
        reason=reason,
        message=message,
        type="Normal",
        count=1,
        firstTimestamp=now(),
        lastTimestamp=now(),
        source=source,
    )


def now() -> str:
    """As Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ended(pod: Object, code: int) -> Object:
    """The status of a pod after its process has ended, as its kubelet reports it."""
    began = next(iter(_started(pod)), now())
    state = {"exitCode": code, "reason": "Error", "startedAt": began, "finishedAt": now()}
    return {"phase": "Failed", "containerStatuses": [_container({"terminated": state}, ready=False)]}


def _started(pod: Object) -> Iterator[str]:
    for status in pod["status"].get("containerStatuses", ()):
        if "running" in status["state"]:
            yield status["state"]["running"]["startedAt"]


def _condition(kind: str) -> Object:
    return {"type": kind, "status": "True", "lastTransitionTime": now()}


def _container(state: Mapping[str, Any], *, ready: bool, name: str = "app") -> Object:
    more = {"image": "x", "imageID": "x", "restartCount": 0}
    return {"name": name, "ready": ready, "state": dict(state), **more}


def _never_started(phase: str) -> Object:
    waits = {"waiting": {"reason": "PodInitializing"}}
    init = waits if phase == "Pending" else {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}
    return {
        "phase": phase,
        "initContainerStatuses": [_container(init, ready=False, name="init")],
        "containerStatuses": [_container(waits, ready=False)],
    }
