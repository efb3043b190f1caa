"""Storage: a block driver that locks attachment, and NFS, which locks nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from podrules.api.model.storage import CSIVolumeSource
from podrules.ending.volumes import attachment_name
from tests.demo_cluster.base import Obj, instant, reference, uid, written
from tests.demo_cluster.rows import Workload

BLOCK_DRIVER: Final = "block.csi.example.com"
"""Attaches a volume to one node at a time."""

_NFS: Final = "shared-nfs"


def handle_of(volume: str) -> str:
    """What the driver calls a PersistentVolume."""
    return volume.replace("pvc", "vol")


def storage_classes() -> list[Obj]:
    """Storage classes and the CSI driver."""
    rows = (
        ("fast-block", BLOCK_DRIVER, "WaitForFirstConsumer", True),
        (_NFS, "example.com/nfs-provisioner", "Immediate", False),
    )
    classes: list[Obj] = []
    for name, provisioner, mode, grows in rows:
        one = written("storage.k8s.io/v1", "StorageClass", name, age="400d")
        one |= {"provisioner": provisioner, "reclaimPolicy": "Delete", "volumeBindingMode": mode}
        if grows:
            one["allowVolumeExpansion"] = True
            default = {"storageclass.kubernetes.io/is-default-class": "true"}
            one["metadata"]["annotations"] = default
        classes.append(one)
    driver = written("storage.k8s.io/v1", "CSIDriver", BLOCK_DRIVER, age="400d")
    driver["spec"] = {
        "attachRequired": True,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "storageCapacity": False,
        "volumeLifecycleModes": ["Persistent"],
    }
    return [*classes, driver]


class _Claimed(NamedTuple):
    """A claim and the volume bound to it."""

    namespace: str
    name: str
    volume: str
    storage_class: str
    size: str
    zone: str
    app: str
    age: str


def volumes_of(workload: Workload, pods: Iterable[Obj]) -> tuple[list[Obj], list[Obj]]:
    """Claims and volumes of a StatefulSet, and the attachments of those that need one."""
    made: list[Obj] = []
    attachments: list[Obj] = []
    if not workload.claim:
        return made, attachments
    storage_class, size = workload.claim.split()
    for pod in pods:
        namespace, name = workload.namespace, f"data-{pod['metadata']['name']}"
        volume = f"pvc-{uid('PersistentVolumeClaim', namespace, name)}"
        zone = pod["metadata"]["labels"]["topology.kubernetes.io/zone"]
        row = _Claimed(namespace, name, volume, storage_class, size, zone, workload.name, workload.age)
        made += [_claim(row), _volume(row)]
        if storage_class != _NFS:
            attachments.append(_attachment(volume, pod["spec"]["nodeName"], workload.age))
    return made, attachments


def _claim(row: _Claimed) -> Obj:
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    made = written("v1", "PersistentVolumeClaim", row.name, row.namespace, age=row.age)
    labels = {"app": row.app, "team": row.namespace}
    made["metadata"] |= {"annotations": bound, "finalizers": ["kubernetes.io/pvc-protection"], "labels": labels}
    return made | {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": row.size}},
            "storageClassName": row.storage_class,
            "volumeMode": "Filesystem",
            "volumeName": row.volume,
        },
        "status": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": row.size}, "phase": "Bound"},
    }


def _volume(row: _Claimed) -> Obj:
    made = written("v1", "PersistentVolume", row.volume, age=row.age, finalizers=["kubernetes.io/pv-protection"])
    bound = reference("PersistentVolumeClaim", row.namespace, row.name, controller=False)
    bound |= {"namespace": row.namespace, "resourceVersion": "4120933"}
    spec: Obj = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": row.size},
        "claimRef": bound,
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": row.storage_class,
        "volumeMode": "Filesystem",
    }
    if row.storage_class == _NFS:
        provisioner = "example.com/nfs-provisioner"
        spec["nfs"] = {"server": "nas.storage.example.com", "path": f"/exports/{row.namespace}/{row.name}"}
    else:
        provisioner = BLOCK_DRIVER
        spec["csi"] = {"driver": BLOCK_DRIVER, "fsType": "ext4", "volumeHandle": handle_of(row.volume)}
        term = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [row.zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": provisioner}
    return made | {"spec": spec, "status": {"phase": "Bound", "lastPhaseTransitionTime": instant(row.age)}}


def _attachment(volume: str, node: str, age: str) -> Obj:
    name = attachment_name(CSIVolumeSource(BLOCK_DRIVER, handle_of(volume)), node)
    finalizers = [f"external-attacher/{BLOCK_DRIVER.replace('.', '-')}"]
    made = written("storage.k8s.io/v1", "VolumeAttachment", name, age=age, finalizers=finalizers)
    made["metadata"]["annotations"] = {"csi.alpha.kubernetes.io/node-id": f"i-{uid('Node', '', node)[:8]}"}
    return made | {
        "spec": {"attacher": BLOCK_DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}},
        "status": {"attached": True},
    }
