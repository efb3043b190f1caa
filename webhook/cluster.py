"""What handlers may ask of the cluster.

Answers come from caches. What is not cached, or not cached yet, is read live within one short budget a review; past it
`Unreachable` is raised, and the handler says 'unknown' or leaves things as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeVar

from msgspec.structs import replace

from podrules.cluster.errors import NotFound, Unreachable
from podrules.cluster.kinds import NODES
from podrules.cluster.live import LiveSource
from podrules.cluster.reflector import CachedObject, Reflector
from podrules.cluster.source import Source
from podrules.cluster.transport import Response
from podrules.model.pod import Pod, TopologySpreadConstraint
from podrules.model.policy import PriorityClass
from podrules.reachability import ReachableNode
from podrules.scheduler.plugins.pod_topology_spread.default_selector import Siblings
from webhook.cached import CachedController, CachedReplicationController, CachedService, Caches
from webhook.scheduler_config import SpreadDefaults

__all__ = ["LIVE_BUDGET", "Cluster", "live_sources"]

LIVE_BUDGET: Final = 0.5
"""Seconds for all live reads of one review; the API server waits for 2 s."""

T = TypeVar("T", bound=CachedObject)


class Cluster:
    """The cluster as handlers see it."""

    def __init__(
        self,
        caches: Caches,
        live: Callable[[], Source],
        spread_defaults: SpreadDefaults,
        now: Callable[[], datetime],
    ) -> None:
        """Put the parts together.

        Args:
            caches: Filled by somebody else.
            live: Makes a source for the live reads of one review.
            spread_defaults: The default constraints of each scheduler.
            now: The clock.
        """
        self._caches = caches
        self._live = live
        self._spread_defaults = spread_defaults
        self.now = now

    def live(self) -> Source:
        """Live reads for one review; its budget begins now."""
        return self._live()

    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """All PriorityClasses by name, as far as they have arrived."""
        return self._caches.priority_classes.in_namespace()

    def spread_defaults(self, scheduler_name: str) -> Sequence[TopologySpreadConstraint]:
        """The default constraints that pods of a scheduler are given."""
        return self._spread_defaults.of(scheduler_name)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace, none for one that has not arrived."""
        found = self._caches.namespaces.get(name)
        return found.metadata.labels if found is not None else {}

    def siblings(self, pod: Pod) -> Siblings:
        """What the default selector of a pod is built from."""
        return _PodSiblings(self._caches, self._live, pod)

    def node(self, name: str, live: Source) -> ReachableNode | None:
        """A node; None when there is none.

        Raises:
            ClusterError: it is not cached and cannot be read.
        """
        found = self._caches.nodes.get(name)
        if found is not None:
            return found
        try:
            return live.get(NODES, name)
        except NotFound:
            return None


class _PodSiblings:
    """Services from the cache; the pod's controller too, but for one that is newer than the cache."""

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
        """The controller of that name; an older one of the same name is not the pod's owner."""
        found = cache.get(name, namespace)
        if found is not None and self._owner_uid in {"", found.metadata.uid}:
            return found
        try:
            newer: T = self._live().get(replace(cache.kind, model=cache.model), name, namespace)
            return newer
        except NotFound:
            return None


class _TimedTransport(Protocol):
    def get(self, path: str, accept: str = ..., *, timeout: float | None = None) -> Response: ...


class _Budgeted:
    """A transport whose requests together take no longer than the budget."""

    def __init__(self, transport: _TimedTransport, seconds: float) -> None:
        self._transport = transport
        self._deadline = time.monotonic() + seconds

    def get(self, path: str, accept: str = "application/json") -> Response:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Unreachable("the time for live reads is over")
        return self._transport.get(path, accept, timeout=left)

    def close(self) -> None:
        """The transport is shared and stays open."""


def live_sources(transport: _TimedTransport, *, budget: float = LIVE_BUDGET) -> Callable[[], Source]:
    """Makes sources that read live; all reads of one take no longer than ``budget`` seconds together."""
    return lambda: LiveSource(_Budgeted(transport, budget), namespace="default", suggest=False)
