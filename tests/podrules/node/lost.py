"""A cluster that has lost a node: builders for tests of partitions, fencing and moving volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.storage import PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from podrules.api.model.workload import Workload
from tests.objects import make_pod, raw_condition, raw_node

NOW: Final = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
HEARTBEAT: Final = NOW - timedelta(minutes=9)
UNKNOWN: Final = NOW - timedelta(minutes=8)
UNREACHABLE: Final = {
    "key": "node.kubernetes.io/unreachable",
    "effect": "NoExecute",
    "timeAdded": "2026-11-21T03:03:00Z",
}
OUT_OF_SERVICE: Final = {
    "key": "node.kubernetes.io/out-of-service",
    "value": "nodeshutdown",
    "effect": "NoExecute",
    "timeAdded": "2026-11-21T03:09:00Z",
}


def tolerating(key: str, seconds: int | None = None) -> Mapping[str, Any]:
    """A toleration of a NoExecute taint."""
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


TOLERATES: Final = (tolerating("node.kubernetes.io/unreachable", 300), tolerating("node.kubernetes.io/not-ready", 300))
"""The tolerations that the API server adds to every pod."""


def make_zone_node(
    name: str,
    *,
    ready: str = "True",
    zone: str = "",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, Any]] = (),
    attached: Sequence[str] = (),
    in_use: Sequence[str] = (),
) -> Node:
    """A node; if not Ready, it has been so since `UNKNOWN`; its status names attached volumes and those in use."""
    own = {"topology.kubernetes.io/zone": zone} if zone else {}
    condition = raw_condition("Ready", ready, lastTransitionTime=UNKNOWN.isoformat())
    node = raw_node(
        name, {**own, **(labels or {})}, metadata={"uid": f"uid-{name}"}, conditions=[condition], taints=taints
    )
    node["status"] |= {"volumesAttached": [{"name": volume} for volume in attached], "volumesInUse": list(in_use)}
    return from_object(node, Node)


def make_lost_pod(
    name: str = "db-0",
    node: str = "lost",
    *,
    owner: str = "StatefulSet/db",
    namespace: str = "shop",
    claims: Sequence[str] = (),
    deleted: str | None = None,
    ready: bool = True,
    running: bool = True,
    priority: int = 0,
    phase: str = "Running",
    tolerations: Sequence[Mapping[str, Any]] = TOLERATES,
) -> Pod:
    """A pod with one container; ``deleted`` is its deletionTimestamp, after a grace period of 30 s."""
    kind, _, owner_name = owner.partition("/")
    group = "batch/v1" if kind == "Job" else "apps/v1"
    controller = {"apiVersion": group, "kind": kind, "name": owner_name, "uid": owner, "controller": True}
    state = {"running": {"startedAt": "2026-11-20T00:00:00Z"}} if running else {}
    return make_pod(
        name,
        namespace,
        uid=f"uid-{name}-{node}",
        metadata={
            "ownerReferences": [controller] if owner else None,
            "deletionTimestamp": deleted,
            "deletionGracePeriodSeconds": 30 if deleted else None,
        },
        nodeName=node,
        priority=priority,
        terminationGracePeriodSeconds=30,
        tolerations=tolerations,
        volumes=[{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims],
        status={
            "phase": phase,
            "conditions": [raw_condition("Ready", "True" if ready else "False")],
            "containerStatuses": [{"name": "app", "state": state}],
        },
    )


def make_claim(
    name: str, namespace: str = "shop", *, modes: Sequence[str] = ("ReadWriteOnce",)
) -> PersistentVolumeClaim:
    """A claim bound to the volume ``pv-NAME``."""
    metadata = {"name": name, "namespace": namespace}
    return from_object(
        {"metadata": metadata, "spec": {"accessModes": list(modes), "volumeName": f"pv-{name}"}}, PersistentVolumeClaim
    )


def make_volume(name: str, source: str = "csi", *, modes: Sequence[str] = ("ReadWriteOnce",)) -> PersistentVolume:
    """The volume ``pv-NAME`` of the claim NAME, of CSI or in-tree."""
    about = {
        "csi": {"driver": "block.csi.example.com", "volumeHandle": name},
        "iscsi": {"targetPortal": "192.0.2.9:3260", "iqn": f"iqn.2026-11.com.example:{name}", "lun": 3},
        "fc": {"targetWWNs": ["50060e801049cfd1", name], "lun": 2},
    }
    claim = {"namespace": "shop", "name": name}
    spec = {"accessModes": list(modes), "claimRef": claim, source: about.get(source, {})}
    return from_object({"metadata": {"name": f"pv-{name}"}, "spec": spec}, PersistentVolume)


def make_attachment(
    name: str, node: str, *, attached: bool = True, created: str = "", deleted: str | None = None, error: str = ""
) -> VolumeAttachment:
    """The attachment of volume ``pv-NAME``; an error is a detach error if it is being deleted, else an attach error."""
    status: dict[str, Any] = {"attached": attached}
    if error:
        status["detachError" if deleted else "attachError"] = {"message": error}
    metadata = {"name": f"csi-{name}-{node}", "creationTimestamp": created or None, "deletionTimestamp": deleted}
    spec = {"attacher": "block.csi.example.com", "nodeName": node, "source": {"persistentVolumeName": f"pv-{name}"}}
    return from_object({"metadata": metadata, "spec": spec, "status": status}, VolumeAttachment)


def stateful_set(name: str = "db", *, replicas: int = 3, policy: str = "OrderedReady") -> Workload:
    """A StatefulSet of namespace shop."""
    spec = {"replicas": replicas, "podManagementPolicy": policy}
    return from_object({"metadata": {"name": name, "namespace": "shop"}, "spec": spec}, Workload)
