"""Claims, and the class of volumes that are made where a pod is placed."""

from __future__ import annotations

from typing import Any

from tests.controlplane.client import Object
from tests.objects import raw_object


def raw_claim(name: str, namespace: str | None, storage_class: str, *, size: str = "1Gi", **spec: Any) -> Object:
    """A PersistentVolumeClaim of one writer; ``spec`` has more of its spec."""
    asks = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
    own = {**asks, "resources": {"requests": {"storage": size}}, **spec}
    return raw_object("PersistentVolumeClaim", name, namespace, spec=own)


def late_class(name: str, provisioner: str) -> Object:
    """A StorageClass that waits for the node of the first pod."""
    return raw_object("StorageClass", name, provisioner=provisioner, volumeBindingMode="WaitForFirstConsumer")
