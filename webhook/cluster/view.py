"""The cluster as the webhook's handlers read it.

Caches answer most reads; an object that is not cached, or not yet, is read live. All live reads of a review share one
budget: a quarter of the time that the API server waits, from the review's arrival. After that they raise `Unreachable`,
and the handler says 'unknown' or changes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from cluster_io.errors import ClusterError, NotFound, TooLong, Unreachable
from cluster_io.kinds import NAMESPACES, NODES, PRIORITY_CLASSES, Kind
from cluster_io.live.live_source import LiveSource
from cluster_io.live.reflector import CachedObject, Reflector
from cluster_io.live.responses import Response
from cluster_io.source import Source
from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.api.model.policy import PriorityClass
from podrules.node.reachability import ReachableNode
from podrules.qos_webhook.rules import PodRules
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import Siblings
from webhook.cluster.cached import (
    CachedController,
    CachedNamespace,
    CachedReplicationController,
    CachedService,
    Caches,
    NamespaceMeta,
    RecentClasses,
    SpreadDefaults,
)
from webhook.settings import ForceDeletion

PATIENCE_SECONDS: Final = 2.0
"""Seconds that the API server is assumed to wait if the request does not say: the chart's timeoutSeconds."""
_LIVE_SHARE: Final = 0.25
"""The share of these seconds for all live reads of one review."""
_LIVE_EFFORT: Final = 1 << 20
"""For a deep object that is read: 0.04 s of CPU. A longer one counts as unreadable."""

_LOG: Final = logging.getLogger(__name__)
_DEFAULT_FORCE_DELETION: Final = ForceDeletion()
_DEFAULT_OPTIONS: Final = PodRules()
_CACHED_NAMESPACES: Final[Kind[Any]] = replace(NAMESPACES, model=CachedNamespace)

T = TypeVar("T", bound=CachedObject)


class Cluster:
    """The cluster as handlers see it."""

    def __init__(
        self,
        caches: Caches,
        live: Callable[[float | None], Source],
        spread_defaults: SpreadDefaults,
        now: Callable[[], datetime],
        force_deletion: ForceDeletion = _DEFAULT_FORCE_DELETION,
        *,
        options: PodRules = _DEFAULT_OPTIONS,
        knows_clients: bool = False,
        deadline: float | None = None,
        recent_classes: RecentClasses | None = None,
    ) -> None:
        """Combine the caches with a source of live reads.

        Args:
            caches: The caches; their owner fills them.
            live: Makes a source of reads that end at a time of the monotonic clock; None: without a common end.
            spread_defaults: The default constraints of each scheduler.
            now: The time of day.
            force_deletion: The rules for force deletions.
            options: The rules for new pods and the workloads that create them.
            knows_clients: Whether all clients have shown a certificate: only then do answers contain what was read.
            deadline: When live reads end, by the monotonic clock; None, outside of a review: no common end.
            recent_classes: The PriorityClasses that all reviews share; its own when not given.
        """
        self._caches = caches
        self._make_live = live
        self._spread_defaults = spread_defaults
        self.now = now
        self.force_deletion = force_deletion
        self.options = options
        self.knows_clients = knows_clients
        self._deadline = deadline
        self._recent_classes = recent_classes or RecentClasses(caches.priority_classes)
        self._live: Source | None = None

    def for_review(self, arrived: float, patience: float = PATIENCE_SECONDS) -> Cluster:
        """The same cluster for one review, with one budget for its live reads.

        Args:
            arrived: When the review arrived, by the monotonic clock.
            patience: Seconds that the API server waits for the answer.
        """
        return Cluster(
            self._caches,
            self._make_live,
            self._spread_defaults,
            self.now,
            self.force_deletion,
            options=self.options,
            knows_clients=self.knows_clients,
            deadline=arrived + _LIVE_SHARE * patience,
            recent_classes=self._recent_classes,
        )

    def live(self) -> Source:
        """The source of live reads; each review has one."""
        if self._live is None:
            self._live = self._make_live(self._deadline)
        return self._live

    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """The cached PriorityClasses by name."""
        return self._caches.priority_classes.in_namespace()

    def recent_classes(self) -> Mapping[str, PriorityClass]:
        """The current PriorityClasses by name, as far as known: see `RecentClasses`."""
        return self._recent_classes.read(self.live)

    def priority_class(self, name: str, known: Mapping[str, PriorityClass]) -> PriorityClass | None:
        """A PriorityClass, read live when it is not known, because it may be new; None when it does not exist.

        Raises:
            ClusterError: it is not known and cannot be read.
        """
        found = known.get(name)
        if found is not None:
            return found
        try:
            return self.live().get(PRIORITY_CLASSES, name)
        except NotFound:
            return None

    def spread_defaults(self, scheduler_name: str) -> Sequence[TopologySpreadConstraint] | None:
        """The default constraints of a scheduler's pods; None: its configuration does not name it."""
        return self._spread_defaults.of(scheduler_name)

    def namespace(self, name: str) -> CachedNamespace:
        """A namespace, read live when it is not cached; a Namespace without labels when it cannot be read."""
        found = self._caches.namespaces.get(name)
        if found is not None:
            return found
        try:
            newer: CachedNamespace = self.live().get(_CACHED_NAMESPACES, name)
            return newer
        except NotFound:
            return _unlabelled(name)
        except ClusterError as error:
            _LOG.warning("Namespace %s cannot be read and is treated as unlabelled: %s", name, error)
            return _unlabelled(name)

    def node_label_keys(self) -> frozenset[str]:
        """The keys of all nodes' labels; none if the cache does not hold labels."""
        nodes = self._caches.nodes.in_namespace().values()
        return frozenset(key for node in nodes for key in node.label_keys)

    def present_namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace, read live when it is not cached; none when it does not exist.

        Raises:
            ClusterError: it is not cached and cannot be read.
        """
        found = self._caches.namespaces.get(name)
        try:
            return found.metadata.labels if found is not None else self.live().get(NAMESPACES, name).metadata.labels
        except NotFound:
            return {}

    def siblings(self, pod: Pod) -> Siblings:
        """The Services and controller that give a pod its default selector."""
        return _PodSiblings(self._caches, self.live, pod)

    def node(self, name: str) -> ReachableNode | None:
        """A node; None when it does not exist.

        Raises:
            ClusterError: it is not cached and cannot be read.
        """
        found = self._caches.nodes.get(name)
        if found is not None:
            return found
        try:
            return self.live().get(NODES, name)
        except NotFound:
            return None


def _unlabelled(name: str) -> CachedNamespace:
    return CachedNamespace(metadata=NamespaceMeta(name=name))


class _PodSiblings:
    """Cached Services, and the pod's controller: cached, or read live when it is newer than the cache."""

    def __init__(self, caches: Caches, live: Callable[[], Source], pod: Pod) -> None:
        owner = pod.metadata.controller
        self._caches = caches
        self._live = live
        self._owner_uid = owner.uid if owner is not None else ""

    def services(self, namespace: str) -> Iterable[CachedService]:
        return self._caches.services.in_namespace(namespace).values()

    def replication_controller(self, namespace: str, name: str) -> CachedReplicationController | None:
        return self._owner(self._caches.replication_controllers, namespace, name)

    def replica_set(self, namespace: str, name: str) -> CachedController | None:
        return self._owner(self._caches.replica_sets, namespace, name)

    def stateful_set(self, namespace: str, name: str) -> CachedController | None:
        return self._owner(self._caches.stateful_sets, namespace, name)

    def _owner(self, cache: Reflector[T], namespace: str, name: str) -> T | None:
        """The controller with this name and the owner's uid.

        Another one of the same name does not own the pod, and a client that forges a review must not learn about it.
        """
        found = cache.get(name, namespace)
        if found is None or found.metadata.uid != self._owner_uid:
            try:
                found = self._live().get(replace(cache.kind, model=cache.model), name, namespace)
            except NotFound:
                return None
        return found if found.metadata.uid == self._owner_uid else None


class _TimedTransport(Protocol):
    def get(self, path: str, accept: str = ..., *, timeout: float | None = None) -> Response: ...
    def close(self) -> None: ...


class _Budgeted:
    """A transport with one deadline for all requests, by the monotonic clock.

    An open connection may be dead by now. If half of the time passes without an answer, a second request follows.
    """

    def __init__(self, transport: _TimedTransport, deadline: float) -> None:
        self._transport = transport
        self._deadline = deadline

    def get(self, path: str, accept: str = "application/json") -> Response:
        try:
            return self._transport.get(path, accept, timeout=self._left() / 2)
        except TooLong:
            raise
        except Unreachable:
            return self._transport.get(path, accept, timeout=self._left())

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Unreachable("the time for live reads is over")
        return left

    def close(self) -> None:
        """The transport is shared and stays open."""


def live_sources(transport: _TimedTransport) -> Callable[[float | None], Source]:
    """Return a maker of sources that read live until a monotonic time; None: until the transport's timeout."""

    def made(deadline: float | None) -> Source:
        limited = transport if deadline is None else _Budgeted(transport, deadline)
        return LiveSource(limited, namespace="default", suggest=False, effort=_LIVE_EFFORT)

    return made
