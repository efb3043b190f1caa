"""Storage: a block driver that locks attachment, and NFS, which locks nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podrules.cluster.demo.base import Obj, digest, instant, metadata, reference, uid
from podrules.cluster.demo.rows import Workload

__all__ = ["BLOCK_DRIVER", "storage_classes", "volumes_of"]

BLOCK_DRIVER: Final = "block.csi.example.com"
"""Attaches a volume to one node at a time."""

_NFS: Final = "shared-nfs"


def storage_classes() -> list[Obj]:
    """Storage classes and the CSI driver."""
    rows = (
        ("fast-block", BLOCK_DRIVER, "WaitForFirstConsumer", True),
        (_NFS, "example.com/nfs-provisioner", "Immediate", False),
    )
    classes: list[Obj] = []
    for name, provisioner, mode, grows in rows:
        one: Obj = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": metadata("StorageClass", name, age="400d"),
            "provisioner": provisioner,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": mode,
        }
        if grows:
            one["allowVolumeExpansion"] = True
            default = {"storageclass.kubernetes.io/is-default-class": "true"}
            one["metadata"]["annotations"] = default
        classes.append(one)
    driver: Obj = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": metadata("CSIDriver", BLOCK_DRIVER, age="400d"),
        "spec": {
            "attachRequired": True,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "podInfoOnMount": False,
            "requiresRepublish": False,
            "seLinuxMount": False,
            "storageCapacity": False,
            "volumeLifecycleModes": ["Persistent"],
        },
    }
    return [*classes, driver]


def volumes_of(workload: Workload, pods: Iterable[Obj]) -> tuple[list[Obj], list[Obj]]:
    """Claims and volumes of a StatefulSet, and the attachments of those that need one."""
    made: list[Obj] = []
    attachments: list[Obj] = []
    if not workload.claim:
        return made, attachments
    storage_class, size = workload.claim.split()
    for pod in pods:
        claim = f"data-{pod['metadata']['name']}"
        namespace = workload.namespace
        volume = f"pvc-{uid('PersistentVolumeClaim', namespace, claim)}"
        zone = pod["metadata"]["labels"]["topology.kubernetes.io/zone"]
        made.append(_claim(namespace, claim, volume, storage_class, size, workload))
        made.append(_volume(namespace, claim, volume, storage_class, size, zone))
        if storage_class != _NFS:
            attachments.append(_attachment(volume, pod["spec"]["nodeName"], workload.age))
    return made, attachments


def _claim(namespace: str, name: str, volume: str, storage_class: str, size: str, workload: Workload) -> Obj:
    meta = metadata("PersistentVolumeClaim", name, namespace, age=workload.age)
    meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    meta["finalizers"] = ["kubernetes.io/pvc-protection"]
    meta["labels"] = {"app": workload.name, "team": namespace}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class,
            "volumeMode": "Filesystem",
            "volumeName": volume,
        },
        "status": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "phase": "Bound"},
    }


def _volume(namespace: str, claim: str, name: str, storage_class: str, size: str, zone: str) -> Obj:
    meta = metadata("PersistentVolume", name, age="200d", finalizers=["kubernetes.io/pv-protection"])
    bound = reference("PersistentVolumeClaim", namespace, claim, controller=False)
    bound |= {"namespace": namespace, "resourceVersion": "4120933"}
    spec: Obj = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "claimRef": bound,
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": storage_class,
        "volumeMode": "Filesystem",
    }
    if storage_class == _NFS:
        meta["annotations"] = {"pv.kubernetes.io/provisioned-by": "example.com/nfs-provisioner"}
        spec["nfs"] = {"server": "nas.storage.example.com", "path": f"/exports/{namespace}/{claim}"}
    else:
        meta["annotations"] = {"pv.kubernetes.io/provisioned-by": BLOCK_DRIVER}
        handle = name.replace("pvc", "vol")
        spec["csi"] = {"driver": BLOCK_DRIVER, "fsType": "ext4", "volumeHandle": handle}
        term = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    status = {"phase": "Bound", "lastPhaseTransitionTime": instant("200d")}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec, "status": status}


def _attachment(volume: str, node: str, age: str) -> Obj:
    name = f"csi-{digest(volume + BLOCK_DRIVER + node)}"
    meta = metadata(
        "VolumeAttachment", name, age=age, finalizers=[f"external-attacher/{BLOCK_DRIVER.replace('.', '-')}"]
    )
    meta["annotations"] = {"csi.alpha.kubernetes.io/node-id": f"i-{uid('Node', '', node)[:8]}"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": meta,
        "spec": {"attacher": BLOCK_DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}},
        "status": {"attached": True},
    }
