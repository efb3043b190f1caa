"""Short forms of claims, volumes and classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.node import CSINode
from podrules.api.model.pod import Pod
from podrules.api.model.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from tests.objects import raw_pod
from tests.podrules.scheduling.building import mounted

NO_PROVISIONER = "kubernetes.io/no-provisioner"


def ephemeral(name: str) -> dict[str, Any]:
    """A pod's volume with its own claim."""
    return {"name": name, "ephemeral": {}}


def claiming_pod(
    *volumes: str | Mapping[str, Any], name: str = "pod", namespace: str = "default", uid: str = "", node: str = ""
) -> Pod:
    """A pod with volumes: claims by name, or as manifests write them."""
    mounts = [mounted(entry) if isinstance(entry, str) else dict(entry) for entry in volumes]
    return from_object(raw_pod(name, namespace, uid=uid, nodeName=node, volumes=mounts), Pod)


def claim(
    name: str,
    storage_class: str | None = None,
    *,
    volume_name: str = "",
    bound: bool | None = None,
    size: str = "",
    owner: str = "",
    phase: str = "",
    deleted: bool = False,
    selected_node: str = "",
    namespace: str = "default",
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim; one with a volume is bound unless the arguments differ, and ``owner`` is a pod's uid."""
    annotations = {"volume.kubernetes.io/selected-node": selected_node} if selected_node else {}
    if volume_name if bound is None else bound:
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "annotations": annotations,
        "deletionTimestamp": "2026-01-01T00:00:00Z" if deleted else None,
        "ownerReferences": [{"kind": "Pod", "uid": owner, "controller": True}] if owner else [],
    }
    requests = {"requests": {"storage": size}} if size else {}
    found = {"storageClassName": storage_class, "volumeName": volume_name, "resources": requests, **spec}
    return from_object({"metadata": metadata, "spec": found, "status": {"phase": phase}}, PersistentVolumeClaim)


def volume(
    name: str,
    storage_class: str = "",
    *,
    size: str = "",
    on: Mapping[str, Sequence[str]] | None = None,
    claim_ref: Mapping[str, str] | None = None,
    phase: str = "Available",
    labels: Mapping[str, str] | None = None,
    deleted: bool = False,
    **spec: Any,
) -> PersistentVolume:
    """A volume, free unless it names a claim; ``on`` has the node labels of its affinity."""
    expressions = [{"key": key, "operator": "In", "values": list(values)} for key, values in (on or {}).items()]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}} if expressions else None
    metadata = {
        "name": name,
        "labels": dict(labels or {}),
        "deletionTimestamp": "2026-01-01T00:00:00Z" if deleted else None,
    }
    found = {
        "storageClassName": storage_class,
        "capacity": {"storage": size} if size else {},
        "nodeAffinity": affinity,
        "claimRef": None if claim_ref is None else dict(claim_ref),
        **spec,
    }
    return from_object({"metadata": metadata, "spec": found, "status": {"phase": phase}}, PersistentVolume)


def storage_class(
    name: str,
    provisioner: str = NO_PROVISIONER,
    *,
    mode: str | None = "WaitForFirstConsumer",
    topologies: Sequence[Mapping[str, Sequence[str]]] = (),
) -> StorageClass:
    """A class; each of ``topologies`` is a term, label to values."""
    terms = [
        {"matchLabelExpressions": [{"key": key, "values": list(values)} for key, values in entry.items()]}
        for entry in topologies
    ]
    found = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        "allowedTopologies": terms,
    }
    return from_object(found, StorageClass)


def csi_node(name: str, limits: Mapping[str, int | None] | None = None, *, migrated: str = "") -> CSINode:
    """A CSINode: drivers with their limits, and migrated in-tree plugins."""
    drivers = [
        {"name": driver, "allocatable": {} if limit is None else {"count": limit}}
        for driver, limit in (limits or {}).items()
    ]
    metadata = {"name": name, "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": migrated}}
    return from_object({"metadata": metadata, "spec": {"drivers": drivers}}, CSINode)


def storage_capacity(
    storage_class_name: str, node: Mapping[str, Any] | None, capacity: str = "", maximum: str = ""
) -> CSIStorageCapacity:
    """The remaining capacity of a class within a node topology, which is a label selector."""
    found = {
        "storageClassName": storage_class_name,
        "nodeTopology": None if node is None else dict(node),
        "capacity": capacity or None,
        "maximumVolumeSize": maximum or None,
    }
    return from_object(found, CSIStorageCapacity)
