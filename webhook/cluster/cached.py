"""The webhook's caches: each holds only the fields that the handlers read.

A cluster of 5,000 nodes has 20,000 ReplicaSets. The cache holds a name, a uid and a selector of each, and no template.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import field

from cluster_io.errors import ClusterError, ManifestError
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
from cluster_io.scheduler_config import config_map_document
from cluster_io.source import Source
from podrules.api.model.base import Condition, Model
from podrules.api.model.node import NodeSpec, ready_condition
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.api.model.policy import PriorityClass
from podrules.api.model.selectors import LabelSelector
from podrules.api.model.workload import ConfigMap
from podrules.qos_webhook.defaults import CONSTRAINTS_ANNOTATION, DEFAULT_PROFILES, Space, scheduler_defaults
from podrules.scheduling.scheduler.profile import ConfigurationError, Profile, read_profiles

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


# The current PriorityClasses, for the values that are written into pods.
#
# A silent failure of a watch is detected only after minutes. So the watched classes count as current for a quarter of a
# second. After that they are listed live, at most four times a second, so that many pods do not cause many lists. If
# the list fails, the known classes count for one more second, so that not every pod waits for an unresponsive API
# server.

_LOG: Final = logging.getLogger(__name__)
_SURE_SECONDS: Final = 0.25
_SILENT_SECONDS: Final = 1.0


class RecentClasses:
    """All PriorityClasses by name, at most a quarter of a second old."""

    def __init__(self, cache: Reflector[PriorityClass]) -> None:
        """Start with the classes in the cache.

        Args:
            cache: The cache of PriorityClasses; its owner fills it.
        """
        self._cache = cache
        self._listed: tuple[float, Mapping[str, PriorityClass]] = (float("-inf"), {})
        """When the last list began, by the monotonic clock, and its classes."""
        self._failed = float("-inf")

    def read(self, live: Callable[[], Source]) -> Mapping[str, PriorityClass]:
        """The current classes; the known ones if they cannot be listed.

        Args:
            live: Makes the source for lists.
        """
        began = time.monotonic()
        heard, known = self._known()
        if began < max(heard + _SURE_SECONDS, self._failed + _SILENT_SECONDS):
            return known
        try:
            found = {entry.metadata.name: entry for entry in live().list(PRIORITY_CLASSES)}
        except ClusterError as error:
            _LOG.warning("PriorityClasses cannot be read; the known ones are used: %s", error)
            self._failed = time.monotonic()
            return known
        self._listed = (began, found)
        return found

    def _known(self) -> tuple[float, Mapping[str, PriorityClass]]:
        """The newest classes, from the watch or a list, and their time."""
        heard = self._cache.heard_at
        if heard is None or heard < self._listed[0]:
            return self._listed
        return heard, self._cache.in_namespace()


# The cluster's default topology spread constraints, from its KubeSchedulerConfiguration in a ConfigMap.
#
# The configuration is read again whenever the ConfigMap changes. If kube-scheduler would refuse it, the log names the
# field, and the last valid one stays in force. A replica without a valid one is not ready: if an upgrade refuses a
# configuration that the previous version accepted, the old replicas stay.


class SpreadDefaults:
    """The default constraints that the webhook writes into pods, by scheduler."""

    def __init__(self, *, write_system_defaults: bool, note: Callable[[bool], None] = lambda _: None) -> None:
        """Start like kube-scheduler without a configuration: type System for default-scheduler.

        Args:
            write_system_defaults: Whether to write constraints of type System. The scheduler applies them by itself. If
                the pod itself has them, it scores nodes without a zone label differently.
            note: Called with whether a configuration is accepted.
        """
        self._write_system = write_system_defaults
        self._note = note
        self._had_good = False
        self.missing = False
        """Whether a configuration is named and none has been accepted yet."""
        self._profiles: Mapping[str, Profile] = DEFAULT_PROFILES

    def take(self, config_map: ConfigMap | None) -> None:
        """Use this ConfigMap from now on; None: it does not exist."""
        try:
            self._profiles = DEFAULT_PROFILES if config_map is None else read_profiles(config_map_document(config_map))
        except (ConfigurationError, ManifestError) as error:
            self.missing = not self._had_good
            self._note(False)
            place = "/".join(config_map.metadata.place) if config_map else ""
            then = "not ready until it is corrected" if self.missing else "the last valid one stays in force"
            _LOG.error("the scheduler configuration in ConfigMap %s is refused, %s: %s", place, then, error)
        else:
            self._had_good, self.missing = True, False
            self._note(True)

    def of(self, scheduler_name: str) -> Sequence[TopologySpreadConstraint] | None:
        """The default constraints of this scheduler's pods; None: the configuration does not name it."""
        return scheduler_defaults(self._profiles, scheduler_name, write_system=self._write_system)
