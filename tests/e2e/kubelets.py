"""What a node's kubelet and its CSI driver do at the API, while it answers: heartbeats, pod statuses, volumes.

There are no machines here. A kubelet that falls silent leaves everything in the API as it was, as in a partition.

The node lifecycle controller's waiting time does not depend on the clock of a machine that may stand still: its grace
period is a day, and `give_up` writes what the controller writes at the end of one. The controller does the rest.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from tests.controlplane.client import ApiClient, ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.rounds import Rounds
from tests.e2e.storage import raw_claim
from tests.objects import raw_node, raw_object
from tests.waiting import wait_for

DRIVER = "block.csi.example.com"
UNREACHABLE = "node.kubernetes.io/unreachable"
_PERIOD_SECONDS = 0.2
_GRACE_PERIOD = timedelta(seconds=50)
_LEASES = "kube-node-lease"
_PORTAL, _TARGETS = "192.0.2.7:3260", "iqn.2026-11.com.example"


class Kubelet(Rounds):
    """One node and its agents, for the duration of the block."""

    def __init__(self, control_plane: ControlPlane, name: str, *, zone: str = "", cordoned: bool = False) -> None:
        """Describe it.

        Args:
            control_plane: The cluster.
            name: The node's.
            zone: The node's; none when it is empty.
            cordoned: Whether the scheduler ignores it, so that it gets no pods of other tests.
        """
        super().__init__(control_plane.api, _PERIOD_SECONDS)
        self._api: ApiClient = control_plane.api
        self._plane = control_plane
        self.name = name
        self._zone = zone
        self._cordoned = cordoned
        self._holds = threading.Event()
        self._mounted: list[str] = []
        self._silent = threading.Event()
        self._round = threading.Lock()

    def __enter__(self) -> Self:
        labels = {"topology.kubernetes.io/zone": self._zone} if self._zone else {}
        node = self._plane.create_node(self.name, labels=labels, unschedulable=self._cordoned)
        # Its volumes are attached by the attach/detach controller, as the kubelet's default has it.
        managed = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
        self._api.patch(node, {"metadata": {"annotations": managed}})
        self._renew()
        return super().__enter__()

    def hold(self) -> None:
        """Do not stop deleted pods, as if their processes took long."""
        self._holds.set()

    def let_go(self) -> None:
        """Stop them."""
        self._holds.clear()

    @property
    def is_silent(self) -> bool:
        """Whether it sends no heartbeats."""
        return self._silent.is_set()

    def fall_silent(self) -> None:
        """Send no more heartbeats."""
        self._silent.set()
        with self._round:  # The round under way is the last.
            # As old as at the end of a grace period, without waiting for it.
            self._renew(before=_GRACE_PERIOD)

    def recover(self) -> None:
        """Send heartbeats again."""
        self._renew()
        self._report({"conditions": [_ready()]})
        self._silent.clear()

    def do_a_round(self) -> None:
        """Do nothing if it is silent."""
        with self._round:
            if not self._silent.is_set():
                # The API server may be unreachable for a while, or an object may change meanwhile.
                with contextlib.suppress(ApiError, OSError):
                    self._tend()

    def _tend(self) -> None:
        self._renew()
        node = self._api.get("v1", "Node", self.name)
        if not _is_ready(node):
            # The controller considered it lost, as when the API server was unreachable for a while.
            self._report({"conditions": [_ready()]})
        in_status = {entry["name"] for entry in node["status"].get("volumesAttached", ())}
        attached = self._attach()
        mounted: list[str] = []
        for pod in self._api.list_items("v1", "Pod", fieldSelector=f"spec.nodeName={self.name}"):
            volumes = _volumes(pod)
            for volume in volumes:
                names = {in_tree_name(volume, source) for source in ("iscsi", "fc")} & in_status
                attached |= {volume} if names else set()
                mounted += names or {f"kubernetes.io/csi/{DRIVER}^{volume}"}
            if "deletionTimestamp" in pod["metadata"]:
                if not self._holds.is_set():
                    self._confirm_end(pod)
            elif pod["status"]["phase"] == "Pending" and attached.issuperset(volumes):
                self._api.patch(pod, {"status": _running(pod)}, subresource="status")
        if mounted != self._mounted:
            self._report({"volumesInUse": mounted})
            self._mounted = mounted

    def _renew(self, before: timedelta = timedelta()) -> None:
        renewed = (datetime.now(UTC) - before).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": renewed}
        self._api.apply([raw_object("Lease", self.name, _LEASES, spec=spec)])

    def _report(self, status: Mapping[str, Any]) -> None:
        self._api.patch(raw_node(self.name), {"status": dict(status)}, subresource="status")

    def _confirm_end(self, pod: Object) -> None:
        ended = {"exitCode": 0, "reason": "Completed", "finishedAt": _now(), "startedAt": _now()}
        statuses = [_container(entry["name"], {"terminated": ended}) for entry in pod["spec"]["containers"]]
        self._api.patch(pod, {"status": {"phase": "Succeeded", "containerStatuses": statuses}}, subresource="status")
        self._api.delete(pod, grace_period_seconds=0)

    def _attach(self) -> set[str]:
        """What the driver's external-attacher writes; the volumes that are attached here."""
        attached = set()
        for entry in self._api.list_items("storage.k8s.io/v1", "VolumeAttachment"):
            if entry["spec"]["nodeName"] == self.name:
                if not entry.get("status", {}).get("attached"):
                    self._api.patch(entry, {"status": {"attached": True}}, subresource="status")
                attached.add(entry["spec"]["source"]["persistentVolumeName"])
        return attached


def give_up(control_plane: ControlPlane, node: str) -> None:
    """Writes of a silent node what the node lifecycle controller writes at the end of its grace period.

    Returns when that controller has tainted it. That it writes the same by itself is held by
    test_T5_node_is_lost_on_time.
    """
    api = control_plane.api
    for pod in api.list_items("v1", "Pod", fieldSelector=f"spec.nodeName={node}"):
        conditions = pod["status"].get("conditions", [])
        unready = [{**entry, "status": "False"} if entry["type"] == "Ready" else entry for entry in conditions]
        api.patch(pod, {"status": {"conditions": unready}}, subresource="status")
    stored = api.get("v1", "Node", node)
    words = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    unknown = {**ready_condition(stored), **words, "status": "Unknown", "lastTransitionTime": _now()}
    api.patch(stored, {"status": {"conditions": [unknown]}}, subresource="status")

    def tainted() -> bool:
        taints = api.get("v1", "Node", node)["spec"].get("taints", ())
        return (UNREACHABLE, "NoExecute") in {(taint["key"], taint["effect"]) for taint in taints}

    wait_for(tainted, f"{node} is tainted")


def ready_condition(node: Object) -> Object:
    """The Ready condition of a node."""
    [found] = [entry for entry in node["status"]["conditions"] if entry["type"] == "Ready"]
    return dict(found)


def _volumes(pod: Object) -> list[str]:
    """The volumes that a pod claims; claims and volumes have the same names here."""
    sources = (entry.get("persistentVolumeClaim") for entry in pod["spec"].get("volumes", ()))
    return [source["claimName"] for source in sources if source]


def in_tree_name(volume: str, source: str) -> str:
    """How node statuses name the iSCSI or FC volume of `claimed_volume`."""
    name = f"{_PORTAL}:{_TARGETS}:{volume}:0" if source == "iscsi" else f"[{_TARGETS} {volume}]:5"
    return f"kubernetes.io/{source}/{name}"


def claimed_volume(
    name: str, namespace: str, access_mode: str = "ReadWriteOnce", *, source: str = "csi"
) -> list[Object]:
    """A claim and the volume that it is bound to: csi, iscsi or fc; volume and handle are named as the claim."""
    sources = {
        "csi": {"driver": DRIVER, "volumeHandle": name},
        "iscsi": {"targetPortal": _PORTAL, "iqn": f"{_TARGETS}:{name}", "lun": 0},
        "fc": {"targetWWNs": [_TARGETS, name], "lun": 5},
    }
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name, "namespace": namespace}
    modes = {"accessModes": [access_mode], "storageClassName": ""}
    volume = {**modes, "capacity": {"storage": "1Gi"}, source: sources[source], "claimRef": reference}
    claim = raw_claim(name, namespace, "", volumeName=name, accessModes=[access_mode])
    return [raw_object("PersistentVolume", name, spec=volume), claim]


def uid_of(control_plane: ControlPlane, namespace: str, pod: str) -> str:
    """The uid of the pod of that name; empty if it does not exist."""
    found = control_plane.api.list_items("v1", "Pod", namespace, fieldSelector=f"metadata.name={pod}")
    return found[0]["metadata"]["uid"] if found else ""


def is_deleted(control_plane: ControlPlane, namespace: str, pod: str) -> bool:
    """Whether no pod of that name exists."""
    return not uid_of(control_plane, namespace, pod)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_ready(node: Object) -> bool:
    return bool(ready_condition(node)["status"] == "True")


def _ready() -> Object:
    now = _now()
    return {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _container(name: str, state: Mapping[str, Any]) -> Object:
    running = "running" in state
    return {"name": name, "image": "x", "imageID": "x", "ready": running, "restartCount": 0, "state": dict(state)}


def _running(pod: Object) -> Object:
    statuses = [_container(entry["name"], {"running": {"startedAt": _now()}}) for entry in pod["spec"]["containers"]]
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": _now()} for kind in ("Ready", "ContainersReady")
    ]
    return {"phase": "Running", "containerStatuses": statuses, "conditions": conditions, "startTime": _now()}
