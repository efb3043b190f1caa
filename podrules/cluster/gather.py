"""What the rules need to know about one pod, read from a source; what cannot be read is noted, and the rest goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from podrules.cluster.errors import BadObject, ClusterError, Forbidden, NotFound
from podrules.cluster.kinds import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    JOBS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RUNTIME_CLASSES,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)
from podrules.cluster.source import Source, Unread
from podrules.features import REFERENCE, Features, minor_of
from podrules.model.base import KubeObject
from podrules.model.node import Node
from podrules.model.pod import Pod
from podrules.model.policy import LimitRange, PriorityClass, RuntimeClass
from podrules.model.selectors import Selector

if TYPE_CHECKING:
    from podrules.model.snapshot import ClusterSnapshot

__all__ = ["Gatherer", "Owner"]

T = TypeVar("T")
Listed = TypeVar("Listed", bound=KubeObject)
_OWNED: Final[tuple[Kind[Any], ...]] = (REPLICA_SETS, JOBS)
"""Controllers of pods that usually have one of their own."""
_MAX_OWNERS: Final = 4


class Owner(Struct, frozen=True, rename="camel"):
    """One step up the chain of controllers."""

    kind: str
    name: str


class Gatherer:
    """Reads what belongs to a pod. Each thing is read at most once, and each refusal is noted once."""

    def __init__(self, source: Source) -> None:
        """Read from a source."""
        self._source = source
        self._unread: dict[tuple[str, str, str | None], Unread] = {}
        self._known: dict[tuple[Any, ...], Any] = {}

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What could not be read so far."""
        return tuple(self._unread.values())

    @property
    def features(self) -> Features:
        """The gates of the cluster's version, or of the reference where it is not known."""
        version = self._source.git_version
        minor = minor_of(version) if version else None
        return REFERENCE if minor is None else Features.of_minor(minor)

    def existing(self, pod: Pod) -> Pod | None:
        """The pod that already has this one's name; None when there is none or it cannot be read."""
        if not pod.metadata.name:
            return None
        name, namespace = pod.metadata.name, pod.metadata.namespace
        found = self._outcome(lambda: self._source.get(PODS, name, namespace), "get", PODS, namespace, name)
        return None if isinstance(found, ClusterError) else found

    def node(self, name: str) -> Node | None:
        """A node, None when it cannot be read."""
        return self._try(lambda: self._source.get(NODES, name), "get", NODES, None, name)

    def nodes(self) -> Sequence[Node] | None:
        """All nodes, None when they cannot be read."""
        return self._try(lambda: self._source.list(NODES), "list", NODES, None)

    def pods_on(self, node: str) -> Sequence[Pod] | None:
        """The pods bound to a node, None when they cannot be read."""
        selector = f"spec.nodeName={node}"
        return self._try(lambda: self._source.list(PODS, field_selector=selector), "list", PODS, None, node)

    def pods_of(self, namespace: str, selector: Selector) -> Sequence[Pod] | None:
        """The pods of a namespace that a selector matches, None when they cannot be read."""
        return self._try(
            lambda: self._source.list(PODS, namespace, selector=selector), "list", PODS, namespace, str(selector)
        )

    def snapshot(self) -> ClusterSnapshot | None:
        """The whole cluster as scheduling reads it; None when its nodes or pods cannot be read.

        Other lists that cannot be read are empty, and noted.
        """
        # Loaded when a whole cluster is asked for: its many models take time that a single pod's answer does not have.
        from podrules.model.snapshot import ClusterSnapshot

        nodes, pods = self.nodes(), self._try(lambda: self._source.list(PODS), "list", PODS, None)
        if nodes is None or pods is None:
            return None
        return ClusterSnapshot(
            nodes=tuple(nodes),
            pods=tuple(pod for pod in pods if not pod.finished),
            namespaces=self._all(NAMESPACES),
            services=self._all(SERVICES),
            replication_controllers=self._all(REPLICATION_CONTROLLERS),
            replica_sets=self._all(REPLICA_SETS),
            stateful_sets=self._all(STATEFUL_SETS),
            persistent_volume_claims=self._all(PERSISTENT_VOLUME_CLAIMS),
            persistent_volumes=self._all(PERSISTENT_VOLUMES),
            storage_classes=self._all(STORAGE_CLASSES),
            csi_nodes=self._all(CSI_NODES),
            csi_drivers=self._all(CSI_DRIVERS),
            csi_storage_capacities=self._all(CSI_STORAGE_CAPACITIES),
            volume_attachments=self._all(VOLUME_ATTACHMENTS),
        )

    def _all(self, kind: Kind[Listed]) -> tuple[Listed, ...]:
        return tuple(self._try(lambda: self._source.list(kind), "list", kind, None) or ())

    def limit_ranges(self, namespace: str) -> Sequence[LimitRange] | None:
        """The LimitRanges of a namespace, None when they cannot be read."""
        return self._try(lambda: self._source.list(LIMIT_RANGES, namespace), "list", LIMIT_RANGES, namespace)

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """A RuntimeClass, None when none is named or it cannot be read."""
        if not name:
            return None
        return self._try(lambda: self._source.get(RUNTIME_CLASSES, name), "get", RUNTIME_CLASSES, None, name)

    def classes(self) -> dict[str, PriorityClass] | None:
        """All PriorityClasses by name, None when they cannot be read."""
        found = self._try(lambda: self._source.list(PRIORITY_CLASSES), "list", PRIORITY_CLASSES, None)
        return None if found is None else {entry.metadata.name: entry for entry in found}

    def class_named(self, name: str) -> dict[str, PriorityClass] | None:
        """One PriorityClass by name: empty when it does not exist, None when it cannot be read."""
        if not name:
            return {}
        found = self._outcome(lambda: self._source.get(PRIORITY_CLASSES, name), "get", PRIORITY_CLASSES, None, name)
        if isinstance(found, NotFound):
            return {}
        if isinstance(found, ClusterError):
            self._note(found, "get", PRIORITY_CLASSES, None)
            return None
        return {name: found}

    def owners(self, pod: Pod) -> tuple[Owner, ...]:
        """The chain of controllers, nearest first, as far as it can be read."""
        chain: list[Owner] = []
        current: KubeObject | None = pod
        namespace = pod.metadata.namespace
        while current is not None and len(chain) < _MAX_OWNERS and (owner := current.metadata.controller):
            chain.append(Owner(owner.kind, owner.name))
            kind = next((entry for entry in _OWNED if (entry.group, entry.kind) == (owner.group, owner.kind)), None)
            current = None if kind is None else self._owner(kind, owner.name, namespace)
        return tuple(chain)

    def _owner(self, kind: Kind[Any], name: str, namespace: str) -> KubeObject | None:
        return self._try(lambda: self._source.get(kind, name, namespace), "get", kind, namespace, name)

    def _try(
        self, read: Callable[[], T], verb: str, kind: Kind[Any], namespace: str | None, name: str = ""
    ) -> T | None:
        """What was read; None, and a note, when it cannot be."""
        found = self._outcome(read, verb, kind, namespace, name)
        if isinstance(found, ClusterError):
            self._note(found, verb, kind, namespace)
            return None
        return found

    def _outcome(
        self, read: Callable[[], T], verb: str, kind: Kind[Any], namespace: str | None, name: str
    ) -> T | ClusterError:
        """What was read or why it cannot be, asked for once."""
        key = (verb, kind.kind, namespace, name)
        if key not in self._known:
            try:
                self._known[key] = read()
            except (Forbidden, NotFound, BadObject) as error:
                self._known[key] = error
        outcome: T | ClusterError = self._known[key]
        return outcome

    def _note(self, error: Exception, verb: str, kind: Kind[Any], namespace: str | None) -> None:
        reason = {Forbidden: "forbidden", NotFound: "not found"}.get(type(error), str(error))
        key = (verb, kind.rbac_name, namespace)
        self._unread.setdefault(key, Unread(verb, kind.rbac_name, namespace if kind.namespaced else None, reason))
