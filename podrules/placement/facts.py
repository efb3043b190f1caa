"""The numbers behind a node's rejection: each plugin's own explanation, as facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, cast, runtime_checkable

from podrules.model.pod import Pod
from podrules.placement.outcome import (
    ClaimMismatch,
    DevicePool,
    DiskInUse,
    Fact,
    InsufficientResource,
    LabelMismatch,
    MissingFeature,
    PodAffinityConflict,
    PortInUse,
    TaintEffect,
    TopologySkew,
    VolumeLimit,
)
from podrules.placement.preemption_victims import PodOnNode, PodReference
from podrules.scheduler.cycle import Filtered, nominated_rows
from podrules.scheduler.framework.interface import CycleContext
from podrules.scheduler.plugins.dynamic_resources import DynamicResourcesValues
from podrules.scheduler.plugins.inter_pod_affinity.filtering import InterPodAffinityValues, TopologyConflict
from podrules.scheduler.plugins.node_affinity import FailedTerm, NodeAffinityMismatch, Unmet
from podrules.scheduler.plugins.node_declared_features import MissingFeatures
from podrules.scheduler.plugins.node_ports import PortConflict
from podrules.scheduler.plugins.node_resources import fit
from podrules.scheduler.plugins.node_resources.columns import PODS
from podrules.scheduler.plugins.node_volume_limits import DriverVolumes
from podrules.scheduler.plugins.pod_topology_spread.filtering import Skew
from podrules.scheduler.plugins.taint_toleration import UntoleratedTaints
from podrules.scheduler.plugins.volume_binding import VolumeBindingValues
from podrules.scheduler.plugins.volume_restrictions import VolumeRestrictionsValues
from podrules.scheduler.plugins.volume_zone import VolumeTopology
from podrules.scheduler.registry import PLUGINS

__all__ = ["facts", "on_its_node", "pods_using_claims", "reference", "requested_there"]


@runtime_checkable
class _Explaining(Protocol):
    name: str

    def explain(self, context: CycleContext, state: Any, row: int) -> object: ...


def facts(filtered: Filtered, plugin: str, row: int) -> tuple[Fact, ...]:
    """What stands behind a plugin's rejection of a row; nothing for plugins whose reason says it all.

    Args:
        filtered: The cycle's verdicts.
        plugin: By name.
        row: Of the table.
    """
    context = filtered.judged(row).context
    explaining = _EXPLAINING.get(plugin)
    if explaining is None or plugin not in _FACTS or plugin not in context.states:
        return ()
    found = explaining.explain(context, context.states[plugin], row)
    return tuple(_FACTS[plugin](context, row, found))


def reference(pod: Pod) -> PodReference:
    """A pod's name."""
    return PodReference(pod.metadata.namespace, pod.metadata.name)


def on_its_node(pod: Pod) -> PodOnNode:
    """A bound pod's name and node."""
    return PodOnNode(pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)


def requested_there(context: CycleContext, row: int, pods: Sequence[Pod]) -> Mapping[str, int]:
    """What some pods of a row's node are accounted for, by resource: pods, and what the cycle's pod asks for.

    Args:
        context: A cycle whose NodeResourcesFit has run.
        row: Of the table.
        pods: Of those that the table has on it.
    """
    plugin = fit.NodeResourcesFit()
    state: fit.FitState = context.states[plugin.name]
    names = (PODS, *(name for name, _ in state.requests))
    return dict(zip(names, plugin.on_node(context, state, row, pods).used, strict=True))


def pods_using_claims(context: CycleContext, claims: Sequence[str]) -> tuple[Pod, ...]:
    """Bound pods of the pod's namespace that use one of these claims."""
    namespace, wanted = context.pod.metadata.namespace, frozenset(claims)
    return tuple(
        pod
        for pod in context.table.pods
        if pod.metadata.namespace == namespace
        and any(
            volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name in wanted
            for volume in pod.spec.volumes
        )
    )


_EXPLAINING: Final = {name: plugin for name, plugin in PLUGINS.items() if isinstance(plugin, _Explaining)}


def _resources(context: CycleContext, row: int, found: Sequence[fit.InsufficientResource]) -> Iterator[Fact]:
    nominated = _nominated_there(context, row)
    awaited = requested_there(context, row, nominated) if nominated else {}
    names = tuple(map(reference, nominated))
    for entry in found:
        kept = awaited.get(entry.resource_name, 0)
        yield InsufficientResource(
            entry.resource_name, entry.requested, entry.used, entry.capacity, kept, names if kept else ()
        )


def _nominated_there(context: CycleContext, row: int) -> tuple[Pod, ...]:
    """Pods that were nominated to a row's node and that the cycle has put there: they are on no node yet."""
    uids = {pod.metadata.uid for pod in nominated_rows(context).get(row, ())}
    return tuple(pod for pod in context.table.pods.on(row) if pod.metadata.uid in uids) if uids else ()


def _taints(context: CycleContext, row: int, found: UntoleratedTaints) -> Iterator[Fact]:
    del context, row
    for taint in found.rejecting:
        yield TaintEffect(taint.key, taint.value, taint.effect)


def _labels(context: CycleContext, row: int, found: NodeAffinityMismatch) -> Iterator[Fact]:
    del context, row
    for unmet in found.node_selector:
        yield _label("spec.nodeSelector", unmet)
    required = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    yield from _terms(required, found.required)
    yield from _terms("addedAffinity of the scheduler's configuration, term ", found.enforced)


def _terms(field: str, terms: Sequence[FailedTerm]) -> Iterator[Fact]:
    for term in terms:
        for unmet in term.unmet:
            yield _label(f"{field}[{term.index}]", unmet)


def _label(field: str, unmet: Unmet) -> Fact:
    return LabelMismatch(field, unmet.key, unmet.operator, unmet.values, unmet.actual)


def _skews(context: CycleContext, row: int, found: Sequence[Skew]) -> Iterator[Fact]:
    del context, row
    for entry in found:
        if entry.rejects:
            yield TopologySkew(
                field=entry.field,
                topology_key=entry.topology_key,
                domain=entry.domain,
                matching=entry.match_num,
                self_match=entry.self_match,
                minimum=entry.min_match_num,
                skew=entry.skew,
                max_skew=entry.max_skew,
                domains=entry.domains_num,
                min_domains=entry.min_domains,
            )


def _affinity(context: CycleContext, row: int, found: InterPodAffinityValues) -> Iterator[Fact]:
    del context, row
    for key in found.missing_keys:
        yield PodAffinityConflict("affinity", key, None, 0)
    if not found.first_of_series:
        yield from _conflicts("affinity", found.unmatched)
    yield from _conflicts("antiAffinity", found.anti_affinity)
    yield from _conflicts("existingAntiAffinity", found.existing_anti_affinity)


def _conflicts(rule: str, found: Sequence[TopologyConflict]) -> Iterator[Fact]:
    for entry in found:
        yield PodAffinityConflict(rule, entry.topology_key, entry.topology_value, entry.count)


def _ports(context: CycleContext, row: int, found: Sequence[PortConflict]) -> Iterator[Fact]:
    del context, row
    for entry in found:
        yield PortInUse(entry.wanted.protocol, entry.wanted.port, reference(entry.by))


def _disks(context: CycleContext, row: int, found: VolumeRestrictionsValues) -> Iterator[Fact]:
    del row
    for entry in found.disks:
        yield DiskInUse(f"{entry.kind} {entry.disk}", (PodReference(entry.namespace, entry.pod),))
    for claim in found.claims:
        yield DiskInUse(f"claim {claim}", tuple(map(reference, pods_using_claims(context, (claim,)))))


def _claims(context: CycleContext, row: int, found: VolumeBindingValues) -> Iterator[Fact]:
    del context, row
    for entry in found.problems:
        yield ClaimMismatch(entry.claim, entry.volume, entry.storage_class, {}, entry.reason)


def _zones(context: CycleContext, row: int, found: Sequence[VolumeTopology]) -> Iterator[Fact]:
    del context, row
    for entry in found:
        yield ClaimMismatch("", entry.volume, "", {entry.key: entry.values}, "")


def _limits(context: CycleContext, row: int, found: Sequence[DriverVolumes]) -> Iterator[Fact]:
    del context, row
    for entry in found:
        if entry.added and entry.attached + entry.added > entry.limit:
            yield VolumeLimit(entry.driver, entry.attached, entry.added, entry.limit)


def _features(context: CycleContext, row: int, found: MissingFeatures) -> Iterator[Fact]:
    del context, row
    for name in found.missing:
        yield MissingFeature(name)


def _devices(context: CycleContext, row: int, found: DynamicResourcesValues) -> Iterator[Fact]:
    del context, row
    for claim in found.unavailable:
        yield ClaimMismatch(claim, "", "", {}, "allocated devices cannot be used here")
    for pool in found.pools:
        yield DevicePool(pool.pool, pool.devices, pool.in_use)


_FACTS: Final = cast(
    "Mapping[str, Callable[[CycleContext, int, Any], Iterator[Fact]]]",
    {
        "NodeResourcesFit": _resources,
        "TaintToleration": _taints,
        "NodeAffinity": _labels,
        "PodTopologySpread": _skews,
        "InterPodAffinity": _affinity,
        "NodePorts": _ports,
        "VolumeRestrictions": _disks,
        "VolumeBinding": _claims,
        "VolumeZone": _zones,
        "NodeVolumeLimits": _limits,
        "NodeDeclaredFeatures": _features,
        "DynamicResources": _devices,
    },
)
