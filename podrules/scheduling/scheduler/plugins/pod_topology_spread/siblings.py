"""The Services and controllers of a snapshot, as default constraints look them up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from podrules.api.model.base import KubeObject
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.workload import ReplicationController, Service, Workload

K = TypeVar("K", bound=KubeObject)


class SnapshotSiblings:
    """`Siblings` over a snapshot."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot

    def services(self, namespace: str) -> Iterable[Service]:
        """All Services of a namespace, in the order given."""
        return (service for service in self._snapshot.services if service.metadata.namespace == namespace)

    def replication_controller(self, namespace: str, name: str) -> ReplicationController | None:
        """One ReplicationController."""
        return _named(self._snapshot.replication_controllers, namespace, name)

    def replica_set(self, namespace: str, name: str) -> Workload | None:
        """One ReplicaSet."""
        return _named(self._snapshot.replica_sets, namespace, name)

    def stateful_set(self, namespace: str, name: str) -> Workload | None:
        """One StatefulSet."""
        return _named(self._snapshot.stateful_sets, namespace, name)


def _named(objects: Iterable[K], namespace: str, name: str) -> K | None:
    found = (entry for entry in objects if entry.metadata.name == name and entry.metadata.namespace == namespace)
    return next(found, None)
