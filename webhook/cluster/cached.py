"""The webhook's caches: each holds only the fields that the handlers read.

A cluster of 5,000 nodes has 20,000 ReplicaSets. The cache holds a name, a uid and a selector of each, and no template.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from msgspec import field

from cluster_io.kinds import (
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    STATEFUL_SETS,
)
from cluster_io.live.reflector import CachedMeta, CachedObject, Reflector, StreamTransport
from podrules.api.model.base import Condition, Model
from podrules.api.model.node import NodeSpec, ready_condition
from podrules.api.model.policy import PriorityClass
from podrules.api.model.selectors import LabelSelector
from podrules.qos_webhook.defaults import CONSTRAINTS_ANNOTATION, Space

_SELECTORS: Final = 12 << 20
"""Bytes for the selectors of one kind in one namespace: about 6,000 ReplicaSets. Tenants may create any number."""


class _LabelledMeta(CachedMeta, frozen=True):
    labels: dict[str, str] = {}


class _NamespaceAnnotations(Model, frozen=True):
    constraints: str = field(default="", name=CONSTRAINTS_ANNOTATION)


class NamespaceMeta(_LabelledMeta, frozen=True):
    """``metadata`` of a Namespace."""

    annotations: _NamespaceAnnotations = field(default_factory=_NamespaceAnnotations)


class CachedNamespace(Model, frozen=True):
    """A Namespace with its labels and the annotation of default constraints."""

    metadata: NamespaceMeta = field(default_factory=NamespaceMeta)

    @property
    def space(self) -> Space:
        """The namespace as the rules read it."""
        return Space(self.metadata.name, self.metadata.labels, self.metadata.annotations.constraints)


class _ServiceSpec(Model, frozen=True):
    selector: dict[str, str] | None = None


class CachedService(CachedObject, frozen=True):
    """A Service's selector."""

    spec: _ServiceSpec = field(default_factory=_ServiceSpec)


class _PlainSelectorSpec(Model, frozen=True):
    selector: dict[str, str] = {}


class CachedReplicationController(CachedObject, frozen=True):
    """A ReplicationController's selector."""

    spec: _PlainSelectorSpec = field(default_factory=_PlainSelectorSpec)


class _SelectorSpec(Model, frozen=True):
    selector: LabelSelector | None = None


class CachedController(CachedObject, frozen=True):
    """The selector of a ReplicaSet or StatefulSet."""

    spec: _SelectorSpec = field(default_factory=_SelectorSpec)


class _NodeStatus(Model, frozen=True):
    conditions: tuple[Condition, ...] = ()


class CachedNode(CachedObject, frozen=True):
    """A node's taints and conditions."""

    spec: NodeSpec = field(default_factory=NodeSpec)
    status: _NodeStatus = field(default_factory=_NodeStatus)

    @property
    def label_keys(self) -> Collection[str]:
        """The keys of the node's labels; none if the cache does not hold labels."""
        return ()

    @property
    def ready(self) -> Condition | None:
        """The Ready condition."""
        return ready_condition(self.status.conditions)


class _LabelledNode(CachedNode, frozen=True):
    metadata: _LabelledMeta = field(default_factory=_LabelledMeta)

    @property
    def label_keys(self) -> Collection[str]:
        return self.metadata.labels


class Caches(NamedTuple):
    """One Reflector per kind."""

    namespaces: Reflector[CachedNamespace]
    priority_classes: Reflector[PriorityClass]
    services: Reflector[CachedService]
    replication_controllers: Reflector[CachedReplicationController]
    replica_sets: Reflector[CachedController]
    stateful_sets: Reflector[CachedController]
    nodes: Reflector[CachedNode]

    def kept(self, *, default_constraints: bool) -> list[Reflector[Any]]:
        """The caches that must be filled before reviews.

        Args:
            default_constraints: Whether pods may get default constraints: only these need Services and controllers.
        """
        kept: list[Reflector[Any]] = [self.namespaces, self.priority_classes, self.nodes]
        if default_constraints:
            kept += [self.services, self.replication_controllers, self.replica_sets, self.stateful_sets]
        return kept

    @classmethod
    def over(cls, transport: StreamTransport, *, node_labels: bool = False) -> Caches:
        """Make the caches of a cluster; they read nothing yet.

        Args:
            transport: How requests get to the API server.
            node_labels: Whether to hold the labels of nodes.
        """
        return cls(
            namespaces=Reflector(transport, NAMESPACES, CachedNamespace),
            priority_classes=Reflector(transport, PRIORITY_CLASSES, PriorityClass),
            services=Reflector(transport, SERVICES, CachedService, most=_SELECTORS),
            replication_controllers=Reflector(
                transport, REPLICATION_CONTROLLERS, CachedReplicationController, most=_SELECTORS
            ),
            replica_sets=Reflector(transport, REPLICA_SETS, CachedController, most=_SELECTORS),
            stateful_sets=Reflector(transport, STATEFUL_SETS, CachedController, most=_SELECTORS),
            nodes=Reflector(transport, NODES, _LabelledNode if node_labels else CachedNode),
        )
