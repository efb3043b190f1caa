"""The position of a pod when its node runs short, as data (Q3, Q6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from msgspec import Struct

from kubectl_plugin.reports.node.node_pressure import (
    Classes,
    EvictionPlaceReport,
    OOMPlaceReport,
    eviction_place,
    oom_place,
)
from kubectl_plugin.reports.node.node_report import NearLimit
from podrules.api.model.pod import Pod
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import OOMScope, PodPlaces
from podrules.node.pressure.oom_order import PAGE_SIZE
from podrules.node.pressure.usage import UsageSource, is_near_limit
from podrules.pod.container_state import idle_containers
from podrules.pod.priority import is_critical_pod


class Assumption(Enum):
    """The source of the pod's usage."""

    MEASURED = "Measured"
    REQUESTS = "Requests"
    """The pod is a future pod, assumed to use its requests."""
    LIMITS = "Limits"
    """The pod is a future pod, assumed to use its limits."""


class OOMStandingReport(Struct, frozen=True, rename="camel"):
    """The position of the pod's container that the kernel kills first."""

    scope: OOMScope
    memory: int
    """Bytes of the scope that runs out: the machine, or a cgroup's limit."""
    swap: int
    working_set: int | None
    """Bytes in use; None: not measured."""
    container: str
    """For scope Container: the container with the limit; else empty."""
    of: int
    """How many containers can be killed."""
    place: OOMPlaceReport
    before: OOMPlaceReport | None
    """The one just before it, and the reason; None: it is the first."""


class EvictionStandingReport(Struct, frozen=True, rename="camel"):
    """The position of the pod for one signal."""

    signal: Signal
    of: int
    """How many pods can be evicted."""
    place: EvictionPlaceReport
    """Its rank counts only pods that can be evicted."""
    before: EvictionPlaceReport | None


class PodPressureReport(Struct, frozen=True, rename="camel"):
    """The positions of a pod on one node, in the kernel's and the kubelet's orders."""

    node: str
    assumption: Assumption
    usage_source: UsageSource
    critical: bool
    """The kubelet never evicts it."""
    idle: tuple[str, ...]
    """Containers without a process now: the kernel cannot kill them."""
    oom: tuple[OOMStandingReport, ...]
    evictions: tuple[EvictionStandingReport, ...]
    """Empty without usage."""

    def oom_of(self, scope: OOMScope) -> OOMStandingReport | None:
        """The position in one scope."""
        return next((standing for standing in self.oom if standing.scope is scope), None)

    def eviction_of(self, signal: Signal) -> EvictionStandingReport | None:
        """The position for one signal."""
        return next((standing for standing in self.evictions if standing.signal is signal), None)


def pod_pressure_report(
    usage_source: UsageSource,
    standing: PodPlaces,
    pod: Pod,
    classes: Classes,
    assumption: Assumption,
) -> PodPressureReport:
    """The positions of one pod; ``classes`` are the classes of all pods on the node, including this one."""
    ooms, evictions = [], []
    for entry in standing.ooms:
        order, before = entry.order, entry.before
        pages = (order.memory + order.swap) // PAGE_SIZE if order.scope is OOMScope.GLOBAL else None
        ooms.append(
            OOMStandingReport(
                scope=order.scope,
                memory=order.memory,
                swap=order.swap,
                working_set=order.working_set,
                container=order.container,
                of=len(order.places),
                place=oom_place(entry.rank, entry.place, classes, pages),
                before=None if before is None else oom_place(entry.rank - 1, before, classes, pages),
            )
        )
    for one in standing.evictions:
        place, previous = eviction_place(one.rank, one.place, classes), one.before
        earlier = None if previous is None else eviction_place(one.rank - 1, previous, classes)
        evictions.append(EvictionStandingReport(one.signal, one.of, place, earlier))
    return PodPressureReport(
        node=pod.spec.node_name,
        assumption=assumption,
        usage_source=usage_source,
        critical=is_critical_pod(pod),
        idle=idle_containers(pod),
        oom=tuple(ooms),
        evictions=tuple(evictions),
    )


def near_limits(places: Sequence[PodPressureReport]) -> Iterator[NearLimit]:
    """Running containers near their own memory limit, the fullest first."""
    for place in places:
        for standing in place.oom if place.assumption is Assumption.MEASURED else ():
            used, limit = standing.working_set or 0, standing.memory
            if standing.scope is OOMScope.CONTAINER and is_near_limit(standing.working_set, limit):
                yield NearLimit(standing.place.namespace, standing.place.pod, standing.container, used, limit)
