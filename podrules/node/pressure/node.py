"""One node under pressure: the kernel's order for every cgroup that can run out, the kubelet's for every signal.

    the machine     memory and swap, all containers, the kubelet and the runtime; other processes of the host, usually
                    with oom_score_adj 0, are also candidates but are not measured
    kubepods        capacity less kubeReserved and systemReserved, if enforceNodeAllocatable contains "pods"
    a pod           its cgroup's limit: if every container has a limit, or the pod itself has one
    a container     its own limit, or the pod's if it has none; it is the only candidate

The kubelet does not report whether disks are shared: filesystems with the same capacity and inodes count as one.

Source: pkg/kubelet/cm/node_container_manager_linux.go (enforceNodeAllocatableCgroups), pkg/kubelet/kubelet.go
(singleProcessOOMKill) and pkg/kubelet/stats/cri_stats_provider.go at v1.36.3.

Pods have places in both orders, also a planned pod. The future usage of that is not known; two bounds are given: the
requests and the limits of its containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import Features
from podrules.api.model.kubelet import (
    ContainerStats,
    FsStats,
    KubeletConfiguration,
    KubeletFile,
    MemoryStats,
    NodeStats,
    PodStats,
    PSIStats,
    StatsPodReference,
    Summary,
    SwapStats,
)
from podrules.api.model.node import Node
from podrules.api.model.pod import ContainerRef, Pod
from podrules.api.model.quantity import ZERO, Quantity
from podrules.node.eviction.ranking import (
    Disks,
    EvictionPlace,
    StorageLimit,
    exceeded_storage_limit,
    rank,
    stats_by_uid,
)
from podrules.node.eviction.thresholds import (
    DEFAULT_EVICTION_HARD,
    PODS_CGROUP,
    Signal,
    Threshold,
    make_signal_observations,
    thresholds_met,
    usable_thresholds,
    with_container_fs,
)
from podrules.node.pressure.oom_order import OOMCandidate, OOMPlace, rank_oom
from podrules.node.pressure.usage import NodeUsage, UsageSource
from podrules.pod.cgroup import container_resource_config, pod_resource_config
from podrules.pod.container_state import has_process, status_of
from podrules.pod.oom import KUBELET_OOM_SCORE_ADJ, OOMScoreAdj, container_oom_score_adjs
from podrules.pod.platform import Platform, node_platform
from podrules.pod.priority import is_critical_pod
from podrules.pod.resources import MEMORY, allocated_pod

_KUBELET: Final = "kubelet"
_RUNTIME: Final = "runtime"
_PODS: Final = "pods"
_MEASURED_SIGNALS: Final = {
    UsageSource.NONE: frozenset[Signal](),
    UsageSource.METRICS: frozenset({Signal.MEMORY_AVAILABLE}),
    UsageSource.SUMMARY: frozenset(Signal) - {Signal.ALLOCATABLE_MEMORY_AVAILABLE},
}
"""The signals by which pods can be ranked; allocatableMemory.available ranks them as memory.available does."""


ScoresFunc = Callable[[Pod, int], Mapping[str, OOMScoreAdj]]
"""The oom_score_adj of a pod's containers, by field, on a node with that many bytes of memory."""


class OOMScope(Enum):
    """Where memory ran out."""

    GLOBAL = "Global"
    KUBEPODS = "Kubepods"
    POD = "Pod"
    CONTAINER = "Container"


class ThresholdSource(Enum):
    """The source of eviction thresholds."""

    KUBELET = "Kubelet"
    """The kubelet's own configuration."""
    FILE = "File"
    """The configuration in the user's file."""
    DEFAULTS = "Defaults"
    """The defaults of a kubelet: its configuration could not be read."""


class OOMOrder(Struct, frozen=True, rename="camel"):
    """Which container the kernel kills when one cgroup, or the machine, runs out of memory."""

    scope: OOMScope
    namespace: str
    """The pod's namespace, for scopes Pod and Container."""
    pod: str
    container: str
    """The container's name, for scope Container."""
    memory: int
    """Bytes: the machine's memory, or the cgroup's limit."""
    memory_assumed: bool
    """Whether the limit is an assumption."""
    swap: int
    """Bytes of swap that it may use in addition."""
    working_set: int | None
    """Bytes that it currently uses, less inactive file cache; None: not measured."""
    places: tuple[OOMPlace, ...]


class EvictionOrder(Struct, frozen=True):
    """The order in which the kubelet evicts pods for a signal."""

    signal: Signal
    places: tuple[EvictionPlace, ...]
    unmeasured: tuple[Pod, ...]
    """Pods that are missing from the metrics API but that the kubelet may measure: their place is not known."""


class Headroom(Struct, frozen=True):
    """The distance to a threshold."""

    threshold: Threshold
    quantity: Quantity
    """The threshold is met if less than this is left."""
    available: Quantity
    """The amount that is left."""
    capacity: Quantity
    met: bool

    @property
    def left(self) -> Quantity:
        """The amount that can still be used before the threshold is met; negative if it is met."""
        return self.available - self.quantity


class OverLimit(Struct, frozen=True):
    """A pod above its own storage limit: the kubelet's next pass evicts it."""

    pod: Pod
    limit: StorageLimit


class NodePressure(Struct, frozen=True):
    """Both orders of a node, and the distance to each threshold."""

    platform: Platform
    """The other fields are set only for Linux."""

    usage_source: UsageSource
    max_pod_grace_period_seconds: int
    """The maximum grace period at soft thresholds."""
    disks: Disks
    threshold_source: ThresholdSource = ThresholdSource.DEFAULTS
    threshold_problem: str = ""
    """Why the kubelet's own thresholds cannot be used; empty: they can be used, or could not be read."""
    oom_group: bool | None = None
    """Whether the kernel kills all processes of a container together; None: not known."""
    ooms: tuple[OOMOrder, ...] = ()
    """Global, kubepods, then pods and containers, by how full they are, the fullest first."""
    evictions: tuple[EvictionOrder, ...] = ()
    """One order for each measured signal; empty without usage."""
    headrooms: tuple[Headroom, ...] = ()
    """One for each threshold with a measured signal, memory first."""
    unmeasured: tuple[Signal, ...] = ()
    """The signals with a threshold but without a measurement."""
    over_limits: tuple[OverLimit, ...] = ()
    memory_psi: PSIStats | None = None
    """The memory pressure of the node; None: the kubelet does not serve it."""


def node_pressure(
    node: Node,
    pods: Iterable[Pod],
    usage: NodeUsage,
    config: KubeletConfiguration | None,
    *,
    features: Features,
) -> NodePressure:
    """Rank the pods of a node, without finished ones. Without ``config`` the defaults of a kubelet apply."""
    measured, settings = usage.summary.node, config or KubeletConfiguration()
    disks = _disks(measured)
    platform = node_platform(node)
    if platform is not Platform.LINUX:
        # Orders and thresholds are known only for a Linux kubelet.
        return NodePressure(platform, usage.source, settings.eviction_max_pod_grace_period, disks)
    active = [allocated_pod(pod, features=features) for pod in pods if not pod.finished]
    thresholds, problem = usable_thresholds(settings)
    unmeasured = {threshold.signal for threshold in thresholds} - make_signal_observations(measured).keys()
    thresholds = with_container_fs(thresholds, image_fs=disks.image_fs, container_fs=disks.container_fs)
    find = stats_by_uid(usage.summary.pods)
    stats = [(pod, find(pod)) for pod in active]
    source = ThresholdSource.FILE if isinstance(config, KubeletFile) else ThresholdSource.KUBELET
    if problem or config is None:
        source = ThresholdSource.DEFAULTS
    return NodePressure(
        platform=platform,
        usage_source=usage.source,
        threshold_source=source,
        threshold_problem=problem,
        max_pod_grace_period_seconds=settings.eviction_max_pod_grace_period,
        disks=disks,
        oom_group=_oom_group(config, features),
        ooms=tuple(_ooms(node, stats, measured, config, features)),
        evictions=tuple(_evictions(signal, active, usage, disks, features) for signal in _signals(usage.source, disks)),
        headrooms=tuple(_headrooms(thresholds, measured)),
        unmeasured=tuple(signal for signal in Signal if signal in unmeasured),
        over_limits=tuple(_over_limits(stats, settings, disks, features)),
        memory_psi=measured.memory.psi if measured.memory else None,
    )


class MemoryOrders(Struct, frozen=True):
    """Which containers and pods end first when one node runs out of memory."""

    oom: OOMOrder | None
    """The kernel's order for the machine; None: its memory is not known."""
    eviction: tuple[EvictionPlace, ...]
    """The kubelet's order; empty without usage."""


def memory_orders(
    node: Node, pods: Iterable[Pod], usage: NodeUsage, scores: ScoresFunc, *, features: Features
) -> MemoryOrders:
    """Only the two orders of `node_pressure` for the memory of the machine: for clusters with many nodes.

    ``scores`` returns oom_score_adj; it may compute it once for similar pods.
    """
    if node_platform(node) is not Platform.LINUX:
        return MemoryOrders(None, ())
    active = [allocated_pod(pod, features=features) for pod in pods if not pod.finished]
    find, measured = stats_by_uid(usage.summary.pods), usage.summary.node
    capacity = node.status.capacity.get(MEMORY, ZERO).value
    oom = None
    if capacity:
        own = [_Candidates(pod, find(pod), capacity, features, scores) for pod in active]
        everyone = [candidate for one in own for candidate, _, _ in one.containers]
        oom = _machine(node, capacity, measured, everyone, None)
    eviction: tuple[EvictionPlace, ...] = ()
    if Signal.MEMORY_AVAILABLE in _MEASURED_SIGNALS[usage.source]:
        eviction = _evictions(Signal.MEMORY_AVAILABLE, active, usage, _disks(measured), features).places
    return MemoryOrders(oom, eviction)


def _evictions(
    signal: Signal, active: Sequence[Pod], usage: NodeUsage, disks: Disks, features: Features
) -> EvictionOrder:
    find = stats_by_uid(usage.summary.pods)
    evictable = [pod for pod in active if not is_critical_pod(pod)]
    unsure = usage.source is UsageSource.METRICS and len(evictable) > 1
    gaps = {pod.metadata.uid: pod for pod in evictable if unsure and find(pod) is None}
    ranked = [pod for pod in active if pod.metadata.uid not in gaps]
    return EvictionOrder(signal, rank(ranked, find, signal, disks, features=features), tuple(gaps.values()))


def _signals(source: UsageSource, disks: Disks) -> Iterator[Signal]:
    """The signals that rank pods differently."""
    for signal in Signal:
        on_images = signal in {Signal.IMAGE_FS_AVAILABLE, Signal.IMAGE_FS_INODES_FREE}
        on_layers = signal in {Signal.CONTAINER_FS_AVAILABLE, Signal.CONTAINER_FS_INODES_FREE}
        shared = (on_images and not disks.image_fs) or on_layers
        if signal in _MEASURED_SIGNALS[source] and not shared:
            yield signal


def _headrooms(thresholds: Sequence[Threshold], measured: NodeStats) -> Iterator[Headroom]:
    observations = make_signal_observations(measured)
    met = thresholds_met(thresholds, observations)
    order = list(Signal)
    for threshold in sorted(thresholds, key=lambda one: (order.index(one.signal), not one.is_hard)):
        observed = observations.get(threshold.signal)
        if observed is not None:
            quantity = threshold.value.of(observed.capacity.value)
            yield Headroom(threshold, quantity, observed.available, observed.capacity, threshold in met)


def _over_limits(
    stats: Iterable[tuple[Pod, PodStats | None]], settings: KubeletConfiguration, disks: Disks, features: Features
) -> Iterator[OverLimit]:
    if not settings.local_storage_capacity_isolation:
        return
    for pod, own in stats:
        if own is None:
            continue
        limit = exceeded_storage_limit(pod, own, image_fs=disks.image_fs, features=features)
        if limit is not None:
            yield OverLimit(pod, limit)


def _disks(measured: NodeStats) -> Disks:
    runtime = measured.runtime
    if runtime is None or runtime.image_fs is None or measured.fs is None:
        return Disks()
    image_fs = not _same_disk(measured.fs, runtime.image_fs)
    layers = runtime.container_fs
    return Disks(image_fs, image_fs and layers is not None and not _same_disk(runtime.image_fs, layers))


def _same_disk(first: FsStats, second: FsStats) -> bool:
    return (first.capacity_bytes, first.inodes) == (second.capacity_bytes, second.inodes)


def _oom_group(config: KubeletConfiguration | None, features: Features) -> bool | None:
    """Whether memory.oom.group is set: on cgroup v2, which the kubelet requires unless v1 is allowed, by default."""
    if config is None:
        return None
    if config.single_process_oom_kill is not None:
        return not config.single_process_oom_kill
    fails_on_v1 = features.fail_cgroup_v1 if config.fail_cgroup_v1 is None else config.fail_cgroup_v1
    return True if fails_on_v1 else None


def _ooms(
    node: Node,
    stats: Sequence[tuple[Pod, PodStats | None]],
    measured: NodeStats,
    config: KubeletConfiguration | None,
    features: Features,
) -> Iterator[OOMOrder]:
    capacity = node.status.capacity.get(MEMORY, ZERO).value
    if not capacity:
        return
    scores = partial(container_oom_score_adjs, features=features)
    candidates = [_Candidates(pod, own, capacity, features, scores) for pod, own in stats]
    everyone = [candidate for own in candidates for candidate, _, _ in own.containers]
    swap = _node_swap(node, measured)
    yield _machine(node, capacity, measured, everyone, config)
    if config is None or config.cgroups_per_qos:
        limit, assumed = _kubepods_limit(node, capacity, measured, config)
        pods = measured.system_container(PODS_CGROUP)
        yield _order(OOMScope.KUBEPODS, limit, swap, pods.memory if pods else None, everyone, assumed=assumed)
    own_limits = [order for own in candidates for order in own.orders()]
    yield from sorted(own_limits, key=lambda order: -(order.working_set or 0) / order.memory)


def _machine(
    node: Node,
    capacity: int,
    measured: NodeStats,
    everyone: Sequence[OOMCandidate],
    config: KubeletConfiguration | None,
) -> OOMOrder:
    candidates = [*everyone, *_system(measured, config)]
    return _order(OOMScope.GLOBAL, capacity, _node_swap(node, measured), measured.memory, candidates)


class _Candidates:
    """The running containers of a pod as candidates for the kernel."""

    def __init__(
        self, pod: Pod, stats: PodStats | None, capacity: int, features: Features, scores_of: ScoresFunc
    ) -> None:
        self._pod, self._stats, self._features = pod, stats, features
        scores = scores_of(pod, capacity)
        self.containers = [
            (self._candidate(ref, measured, scores.get(ref.field)), ref, measured)
            for ref, measured in _running(pod, stats)
        ]

    def _candidate(self, ref: ContainerRef, measured: ContainerStats | None, score: OOMScoreAdj | None) -> OOMCandidate:
        memory = measured.memory if measured is not None else None
        used = None
        if memory is not None:
            used = memory.rss_bytes if memory.rss_bytes is not None else memory.working_set_bytes
        return OOMCandidate(
            self._pod.metadata.namespace,
            self._pod.metadata.name,
            ref.container.name,
            0 if score is None else score.value,
            used,
            measured.swap.swap_usage_bytes or 0 if measured is not None and measured.swap else 0,
            None if score is None else score.own,
        )

    def orders(self) -> Iterator[OOMOrder]:
        """The orders for the pod's own limit, and for each container's."""
        pod, features = self._pod, self._features
        whole = pod_resource_config(pod, features=features).memory
        if whole:
            stats = self._stats
            swap, memory = _swap(stats.swap if stats else None), stats.memory if stats else None
            yield _order(OOMScope.POD, whole, swap, memory, [one for one, _, _ in self.containers], of=pod)
        for candidate, ref, measured in self.containers:
            limit = container_resource_config(pod, ref, features=features).memory
            if limit:
                swap, memory = _swap(measured.swap if measured else None), measured.memory if measured else None
                yield _order(
                    OOMScope.CONTAINER, limit, swap, memory, [candidate], of=pod, container=candidate.container
                )


def _running(pod: Pod, stats: PodStats | None) -> Iterator[tuple[ContainerRef, ContainerStats | None]]:
    """The containers with a process: among the measured ones, or among all if there are no measurements."""
    refs = {
        ref.container.name: ref
        for ref in pod.containers()
        # A measured container without a status runs.
        if has_process(pod, ref) or status_of(pod, ref.container.name) is None
    }
    for index, container in enumerate(pod.spec.ephemeral_containers):
        refs.setdefault(container.name, ContainerRef(container, f"spec.ephemeralContainers[{index}]", is_init=False))
    if stats is not None and stats.containers:
        yield from ((refs[measured.name], measured) for measured in stats.containers if measured.name in refs)
        return
    yield from ((ref, None) for ref in pod.containers() if has_process(pod, ref))


def _order(
    scope: OOMScope,
    memory: int,
    swap: int,
    measured: MemoryStats | None,
    candidates: Sequence[OOMCandidate],
    *,
    of: Pod | None = None,
    container: str = "",
    assumed: bool = False,
) -> OOMOrder:
    return OOMOrder(
        scope=scope,
        namespace=of.metadata.namespace if of else "",
        pod=of.metadata.name if of else "",
        container=container,
        memory=memory,
        memory_assumed=assumed,
        swap=swap,
        working_set=measured.working_set_bytes if measured else None,
        places=rank_oom(candidates, memory + swap),
    )


def _system(measured: NodeStats, config: KubeletConfiguration | None) -> Iterator[OOMCandidate]:
    """The kubelet and the container runtime, if their cgroups are measured."""
    own = KUBELET_OOM_SCORE_ADJ if config is None else config.oom_score_adj
    for name, adj in ((_KUBELET, own), (_RUNTIME, KUBELET_OOM_SCORE_ADJ)):
        entry = measured.system_container(name)
        if entry is not None and entry.memory is not None:
            yield OOMCandidate("", "", name, adj, entry.memory.rss_bytes)


def _node_swap(node: Node, measured: NodeStats) -> int:
    reported = node.status.node_info.swap
    return reported.capacity or 0 if reported is not None else _swap(measured.swap)


def _swap(stats: SwapStats | None) -> int:
    """The swap that a cgroup may use, in bytes."""
    if stats is None:
        return 0
    return (stats.swap_available_bytes or 0) + (stats.swap_usage_bytes or 0)


def _kubepods_limit(
    node: Node, capacity: int, measured: NodeStats, config: KubeletConfiguration | None
) -> tuple[int, bool]:
    """The limit of the cgroup of all pods in bytes, and whether it is an assumption."""
    pods = measured.system_container(PODS_CGROUP)
    memory = pods.memory if pods else None
    if memory is not None and memory.available_bytes is not None and memory.working_set_bytes is not None:
        return memory.available_bytes + memory.working_set_bytes, False
    if config is not None:
        reserved = [config.kube_reserved, config.system_reserved] if _PODS in config.enforce_node_allocatable else []
        kept = sum(entry.get(MEMORY, ZERO).value for entry in reserved)
        return max(capacity - kept, 1), False
    threshold = Quantity.parse(DEFAULT_EVICTION_HARD[Signal.MEMORY_AVAILABLE.value]).value
    allocatable = node.status.allocatable.get(MEMORY, ZERO).value
    return min(allocatable + threshold, capacity), True


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
        # Each place with the previous one.
        for nth, (before, place) in enumerate(zip((None, *oom.places), oom.places, strict=False), start=1):
            of = ooms.setdefault((place.candidate.namespace, place.candidate.pod), {})
            if number not in of:
                of[number] = OOMStanding(oom, nth, place, before)
    evictions: dict[tuple[str, str], list[EvictionStanding]] = {}
    for order in pressure.evictions:
        evictable = [place for place in order.places if not place.ranked.critical]
        for nth, (earlier, pod) in enumerate(zip((None, *evictable), evictable, strict=False), start=1):
            standing = EvictionStanding(order.signal, nth, len(evictable), pod, earlier)
            evictions.setdefault(pod.ranked.pod.metadata.place, []).append(standing)
    return {
        key: PodPlaces(tuple(ooms.get(key, {}).values()), tuple(evictions.get(key, ()))) for key in (*ooms, *evictions)
    }


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
