"""The places of pods in both orders of their node, also for a planned pod.

The future usage of a planned pod is not known. Two bounds are given: the requests and the limits of its containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import Features
from podrules.api.model.kubelet import ContainerStats, MemoryStats, PodStats, StatsPodReference, Summary
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO
from podrules.node.eviction.ranking import EvictionPlace
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import NodePressure, OOMOrder
from podrules.node.pressure.oom_order import OOMPlace
from podrules.node.pressure.usage import NodeUsage, UsageSource
from podrules.pod.cgroup import container_resource_config
from podrules.pod.resources import MEMORY

P = TypeVar("P")


class OOMStanding(Struct, frozen=True):
    """A container's place."""

    order: OOMOrder
    rank: int
    """The rank from 1, which is killed first."""
    place: OOMPlace
    before: OOMPlace | None
    """The previous place, with the deciding reason; None: it is the first."""


class EvictionStanding(Struct, frozen=True):
    """A pod's place."""

    signal: Signal
    rank: int
    """The rank from 1, which is evicted first, among the pods that can be evicted."""
    of: int
    """The number of pods that can be evicted."""
    place: EvictionPlace
    before: EvictionPlace | None
    """The previous place, with the deciding reason; None: it is the first."""


class PodPlaces(Struct, frozen=True):
    """A pod's places."""

    ooms: tuple[OOMStanding, ...] = ()
    """The place of the pod's first container, for each of its cgroups that can run out of memory."""
    evictions: tuple[EvictionStanding, ...] = ()
    """By signal; empty for a critical pod, and without usage."""


def standings(pressure: NodePressure) -> dict[tuple[str, str], PodPlaces]:
    """The places of all pods of a node, by namespace and name; a pod without a place is left out."""
    ooms: dict[tuple[str, str], dict[int, OOMStanding]] = {}
    for number, oom in enumerate(pressure.ooms):
        for rank, (before, place) in enumerate(_with_before(oom.places), start=1):
            of = ooms.setdefault((place.candidate.namespace, place.candidate.pod), {})
            if number not in of:
                of[number] = OOMStanding(oom, rank, place, before)
    evictions: dict[tuple[str, str], list[EvictionStanding]] = {}
    for order in pressure.evictions:
        evictable = [place for place in order.places if not place.ranked.critical]
        for rank, (earlier, pod) in enumerate(_with_before(evictable), start=1):
            standing = EvictionStanding(order.signal, rank, len(evictable), pod, earlier)
            evictions.setdefault(pod.ranked.pod.metadata.place, []).append(standing)
    return {
        key: PodPlaces(tuple(ooms.get(key, {}).values()), tuple(evictions.get(key, ()))) for key in (*ooms, *evictions)
    }


def _with_before(places: Sequence[P]) -> Iterator[tuple[P | None, P]]:
    """Each place with the previous one."""
    before: P | None = None
    for place in places:
        yield before, place
        before = place


def requested_usage(pod: Pod) -> dict[str, int]:
    """The memory in bytes by container that will run, each using its request."""
    return {
        ref.container.name: ref.container.resources.requests.get(MEMORY, ZERO).value
        for ref in pod.containers()
        if not ref.is_init or ref.is_sidecar
    }


def limited_usage(pod: Pod, features: Features) -> dict[str, int] | None:
    """The same with each container using its limit; None: a container has no limit."""
    limits = {
        ref.container.name: container_resource_config(pod, ref, features=features).memory or 0
        for ref in pod.containers()
        if not ref.is_init or ref.is_sidecar
    }
    return limits if all(limits.values()) else None


def with_pod_using(usage: NodeUsage, pod: Pod, memory: dict[str, int]) -> NodeUsage:
    """Add a pod with its own UID to a node's usage; its memory, in bytes by container, counts as resident."""
    meta = pod.metadata
    own = PodStats(
        pod_ref=StatsPodReference(meta.name, meta.namespace, meta.uid),
        containers=tuple(
            ContainerStats(name, memory=MemoryStats(working_set_bytes=used, rss_bytes=used))
            for name, used in memory.items()
        ),
        memory=MemoryStats(working_set_bytes=sum(memory.values())),
    )
    if usage.source is UsageSource.NONE:
        return usage
    return replace(usage, summary=Summary(usage.summary.node, (*usage.summary.pods, own)))
