"""What would take a plugin's rejection of one node away: candidates, cheapest first, each applied to a copy.

Nothing here is taken for a remedy before the cycle has been run again with it (`remedies`).

    NodeUnschedulable   uncordon the node
    TaintToleration     a toleration; a taint that tells of a node's trouble has to go by itself
    NodeResourcesFit    so much freed on the node; a larger one where the pods that can go from there request less
    NodeAffinity        labels for the node; the requirement dropped
    NodePorts           the pods that have the ports removed
    PodTopologySpread   one constraint relaxed: nodeTaintsPolicy, nodeAffinityPolicy, maxSkew, whenUnsatisfiable,
                        topologyKey
    InterPodAffinity    the pods in the way removed, while they are few; the rule dropped
    VolumeRestrictions  the pods that hold the disk or the claim removed

Volumes that are bound elsewhere, volume limits, devices and missing features have no change that is cheap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.features import Features
from podrules.model.affinity import Affinity, NodeAffinity, PodAffinity, Toleration
from podrules.model.base import ResourceList
from podrules.model.node import Node, Taint
from podrules.model.pod import Pod
from podrules.model.pod_reference import on_its_node
from podrules.model.quantity import Quantity
from podrules.model.snapshot import ClusterSnapshot
from podrules.placement.facts import facts
from podrules.placement.outcome import CandidateChange, ChangeKind
from podrules.placement.replicas import is_planned
from podrules.platform import OS_LABELS
from podrules.resources import CPU
from podrules.safety import OF_ONE_NODE, owner_guarantee
from podrules.scheduler.cycle import Filtered, filter_nodes
from podrules.scheduler.framework.interface import CycleContext
from podrules.scheduler.framework.node_table import NodeTable
from podrules.scheduler.plugins.inter_pod_affinity.plugin import PodAffinityConflict
from podrules.scheduler.plugins.inter_pod_affinity.terms import parse_terms
from podrules.scheduler.plugins.node_affinity import LabelMismatch
from podrules.scheduler.plugins.node_ports import NodePorts
from podrules.scheduler.plugins.node_resources.fit import InsufficientResource, NodeResourcesFit
from podrules.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from podrules.scheduler.plugins.taint_toleration import TaintEffect
from podrules.scheduler.plugins.volume_restrictions import VolumeRestrictions, pods_using_claims
from podrules.scheduler.runtime import Framework

__all__ = ["Applied", "Situation", "candidates", "has_candidates"]

_UNSCHEDULABLE_TAINT: Final = "node.kubernetes.io/unschedulable"
_TELLS_OF_TROUBLE: Final = re.compile(
    r"node\.kubernetes\.io/(not-ready|unreachable|network-unavailable|out-of-service|(memory|disk|pid)-pressure)"
    r"|node\.cloudprovider\.kubernetes\.io/(uninitialized|shutdown)"
)
"""Taints that Kubernetes itself sets and takes away; to tolerate them mends nothing."""
_GIVEN_BY_THE_MACHINE: Final = re.compile(r"([a-z0-9.-]*\.)?(kubernetes|k8s)\.io/.*")
"""Labels that tell what a node is and where: nobody writes another value into them."""
_FEW: Final = 3
"""Pods that may be named as being in the way."""


class Situation(Struct, frozen=True):
    """A pod before a cluster, as both are or would be."""

    pod: Pod
    table: NodeTable
    snapshot: ClusterSnapshot
    features: Features
    framework: Framework
    now: datetime | None

    def filtered(self) -> Filtered:
        """Judge every node."""
        return filter_nodes(
            self.pod, self.table, self.snapshot, features=self.features, framework=self.framework, now=self.now
        )

    def with_node(self, name: str, change: Callable[[Node], Node]) -> Situation:
        """The same with one node changed."""
        node = self.table.nodes[self.table.index[name]]
        return replace(self, table=self.table.with_nodes({name: change(node)}))

    def without_pods(self, pods: Iterable[Pod]) -> Situation:
        """The same with some pods gone."""
        return replace(self, table=self.table.without_pods(frozenset(pod.metadata.uid for pod in pods)))

    def with_spec(self, **fields: Any) -> Situation:
        """The same with fields of the pod's spec replaced."""
        return replace(self, pod=replace(self.pod, spec=replace(self.pod.spec, **fields)))


class Applied(Struct, frozen=True):
    """A change and what the situation is with it."""

    change: CandidateChange
    then: Situation
    dearer: int = 0
    """Than others of its kind; ten make a kind."""

    @property
    def cost(self) -> int:
        """Cheaper changes are tried first."""
        return _KIND_COSTS[self.change.kind] + self.dearer


_KIND_COSTS: Final = {kind: 10 * place for place, kind in enumerate(ChangeKind)}


def has_candidates(plugin: str) -> bool:
    """Whether there is anything to try against a plugin's rejections."""
    return plugin in _CANDIDATES


def candidates(situation: Situation, filtered: Filtered, plugin: str, row: int) -> list[Applied]:
    """Changes against a plugin's rejection of a row, cheapest first.

    Args:
        situation: As it is.
        filtered: Its verdicts.
        plugin: By name.
        row: Of the table.
    """
    found = _CANDIDATES[plugin](situation, filtered, row) if plugin in _CANDIDATES else ()
    return sorted(found, key=lambda applied: applied.cost)


def _uncordon(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    del filtered
    name = situation.table.names[row]

    def schedulable(node: Node) -> Node:
        taints = tuple(taint for taint in node.spec.taints if taint.key != _UNSCHEDULABLE_TAINT)
        return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))

    yield Applied(CandidateChange(ChangeKind.UNCORDON, node=name), situation.with_node(name, schedulable))


def _tolerate(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    name = situation.table.names[row]
    for taint in facts(filtered, "TaintToleration", row)[:1]:
        if not isinstance(taint, TaintEffect):
            continue
        text = f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"
        if taint.key == _UNSCHEDULABLE_TAINT:
            yield from _uncordon(situation, filtered, row)
        elif _TELLS_OF_TROUBLE.fullmatch(taint.key):
            gone = situation.with_node(name, lambda node, key=taint.key: _without_taint(node, key))  # type: ignore[misc]
            yield Applied(CandidateChange(ChangeKind.REMOVE_TAINT, node=name, value=text), gone)
        else:
            added = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
            tolerated = situation.with_spec(tolerations=(*situation.pod.spec.tolerations, added))
            # Nodes of the control plane are kept free on purpose.
            dearer = 100 if taint.key.startswith("node-role.kubernetes.io/") else 0
            yield Applied(CandidateChange(ChangeKind.TOLERATE, field="spec.tolerations", value=text), tolerated, dearer)


def _without_taint(node: Node, key: str) -> Node:
    taints: tuple[Taint, ...] = tuple(taint for taint in node.spec.taints if taint.key != key)
    return replace(node, spec=replace(node.spec, taints=taints))


def _free(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    name = situation.table.names[row]
    short = [fact for fact in facts(filtered, "NodeResourcesFit", row) if isinstance(fact, InsufficientResource)]
    amounts = {fact.resource: fact.short for fact in short}
    roomier = situation.with_node(name, lambda node: _with_room(node, amounts))
    # Nobody frees more than what those request that can go from there.
    plugin, context = NodeResourcesFit(), filtered.judged(row).context
    movable = plugin.requested_by(
        context, context.states[plugin.name], row, [pod for pod in situation.table.pods.on(row) if _can_go(pod)]
    )
    if any(fact.too_large or fact.short > movable[fact.resource] for fact in short):
        yield Applied(CandidateChange(ChangeKind.ENLARGE, node=name, amounts=amounts), roomier)
        return
    beyond = [fact for fact in short if fact.used > fact.allocatable]
    change = CandidateChange(
        ChangeKind.FREE,
        node=name,
        amounts=amounts,
        promised={fact.resource: fact.used for fact in beyond},
        nominated={fact.resource: fact.nominated for fact in beyond if fact.nominated},
        nominated_pods=next((fact.nominated_pods for fact in beyond if fact.nominated), ()),
    )
    yield Applied(change, roomier)


def _can_go(pod: Pod) -> bool:
    return owner_guarantee(pod).guarantee not in OF_ONE_NODE and not is_planned(pod)


def _with_room(node: Node, amounts: Mapping[str, int]) -> Node:
    allocatable: ResourceList = dict(node.status.allocatable)
    for resource, amount in amounts.items():
        more = Quantity.parse(f"{amount}m" if resource == CPU else str(amount))
        allocatable[resource] = allocatable[resource] + more if resource in allocatable else more
    return replace(node, status=replace(node.status, allocatable=allocatable))


def _match_labels(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    found = [fact for fact in facts(filtered, "NodeAffinity", row) if isinstance(fact, LabelMismatch)]
    name = situation.table.names[row]
    labels = _wanted_labels(found)
    if labels:
        node = situation.with_node(name, lambda node: _labelled(node, labels))
        text = ",".join(f"{key}={value}" for key, value in labels.items())
        yield Applied(CandidateChange(ChangeKind.LABEL_NODE, node=name, value=text), node)
    spec = situation.pod.spec
    # A pod of another operating system does not run there, whatever its selector says.
    if any(fact.key in OS_LABELS for fact in found):
        return
    keys = {fact.key for fact in found if fact.field == "spec.nodeSelector"}
    if keys:
        kept = {key: value for key, value in spec.node_selector.items() if key not in keys}
        dropped = ", ".join(f"{key}={spec.node_selector[key]}" for key in sorted(keys))
        change = CandidateChange(ChangeKind.DROP, field="spec.nodeSelector", value=dropped)
        yield Applied(change, situation.with_spec(node_selector=kept))
    affinity = spec.affinity
    if affinity is not None and affinity.node_affinity is not None and any(".nodeAffinity." in f.field for f in found):
        field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        preferred = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
        own = NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
        changed = situation.with_spec(affinity=replace(affinity, node_affinity=own))
        yield Applied(CandidateChange(ChangeKind.DROP, field=field), changed)


def _wanted_labels(found: Sequence[LabelMismatch]) -> dict[str, str]:
    """Labels that would meet the nodeSelector and the first required term; empty when no label can."""
    terms = [fact.field for fact in found if fact.field != "spec.nodeSelector"]
    needed = [fact for fact in found if fact.field in {"spec.nodeSelector", *terms[:1]}]
    if any(
        _GIVEN_BY_THE_MACHINE.fullmatch(fact.key)
        or fact.operator not in {"In", "Exists"}
        or fact.key == "metadata.name"
        for fact in needed
    ):
        return {}
    return {fact.key: fact.values[0] if fact.values else "" for fact in needed}


def _labelled(node: Node, labels: Mapping[str, str]) -> Node:
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, **labels}))


def _stop_port_holders(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    context = filtered.judged(row).context
    conflicts = NodePorts().explain(context, context.states["NodePorts"], row)
    yield from _removed(situation, row, {conflict.by.metadata.uid: conflict.by for conflict in conflicts}.values())


def _stop_disk_holders(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    context = filtered.judged(row).context
    values = VolumeRestrictions().explain(context, context.states["VolumeRestrictions"], row)
    names = {(disk.namespace, disk.pod) for disk in values.disks}
    holders = [pod for pod in context.table.pods if (pod.metadata.namespace, pod.metadata.name) in names]
    yield from _removed(situation, row, (*holders, *pods_using_claims(context, values.claims)))


def _removed(situation: Situation, row: int, pods: Iterable[Pod]) -> Iterator[Applied]:
    """Some pods gone, unless they are many or none, or one of them is none yet."""
    chosen = list(pods)
    if 0 < len(chosen) <= _FEW and all(pod.metadata.uid and not is_planned(pod) for pod in chosen):
        change = CandidateChange(
            ChangeKind.REMOVE_PODS, node=situation.table.names[row], pods=tuple(map(on_its_node, chosen))
        )
        yield Applied(change, situation.without_pods(chosen), len(chosen))


def _relax_spread(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    context = filtered.judged(row).context
    plugin = PodTopologySpread()
    name = situation.table.names[row]
    own = situation.pod.spec.topology_spread_constraints
    for relaxation in plugin.relaxations(context, context.states[plugin.name]):
        index = re.fullmatch(r"spec\.topologySpreadConstraints\[(\d+)\]\.(\w+)", relaxation.field)
        if index is None or name not in relaxation.nodes:
            continue  # A default of the scheduler's: no field of the pod.
        place, (part, dearer) = int(index[1]), _SPREAD_PARTS[index[2]]
        changed = replace(own[place], **{part: relaxation.value})
        then = situation.with_spec(topology_spread_constraints=(*own[:place], changed, *own[place + 1 :]))
        yield Applied(
            CandidateChange(ChangeKind.SPREAD, field=relaxation.field, value=str(relaxation.value)), then, dearer
        )


_SPREAD_PARTS: Final = {
    # The pods stay as even as they were to be, over the nodes that they can go to.
    "nodeTaintsPolicy": ("node_taints_policy", 0),
    "nodeAffinityPolicy": ("node_affinity_policy", 0),
    "maxSkew": ("max_skew", 1),
    "whenUnsatisfiable": ("when_unsatisfiable", 15),
    "topologyKey": ("topology_key", 35),
}
"""Parts of a constraint that may change: the pod's own field, and by how much that is dearer than others."""


def _part_from_pods(situation: Situation, filtered: Filtered, row: int) -> Iterator[Applied]:
    context = filtered.judged(row).context
    found = [fact for fact in facts(filtered, "InterPodAffinity", row) if isinstance(fact, PodAffinityConflict)]
    rules = {fact.rule for fact in found}
    affinity = situation.pod.spec.affinity or Affinity()
    if "affinity" in rules:
        near = _without_required(affinity.pod_affinity)
        yield _dropped(situation, "podAffinity", replace(affinity, pod_affinity=near))
        return
    if "antiAffinity" in rules:
        yield from _removed(situation, row, _kept_away_from(context, row))
        away = _without_required(affinity.pod_anti_affinity)
        yield _dropped(situation, "podAntiAffinity", replace(affinity, pod_anti_affinity=away))
    else:
        yield from _removed(situation, row, _keeping_away(context, row))


def _dropped(situation: Situation, name: str, affinity: Affinity) -> Applied:
    field = f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution"
    return Applied(CandidateChange(ChangeKind.DROP, field=field), situation.with_spec(affinity=affinity))


def _without_required(affinity: PodAffinity | None) -> PodAffinity | None:
    return None if affinity is None else replace(affinity, required_during_scheduling_ignored_during_execution=())


def _kept_away_from(context: CycleContext, row: int) -> list[Pod]:
    """Pods in the row's domains that the pod's own anti-affinity selects."""
    pod = context.pod
    labels = {space.metadata.name: space.metadata.labels for space in context.snapshot.namespaces}
    terms = parse_terms(pod.spec.affinity, pod.metadata.namespace).required_anti_affinity
    return [
        other
        for other, there in zip(context.table.pods, context.table.pod_rows, strict=True)
        if any(
            _same_domain(context.table, term.topology_key, row, int(there))
            and term.matches(other.metadata.namespace, other.metadata.labels, labels.get(other.metadata.namespace, {}))
            for term in terms
        )
    ]


def _keeping_away(context: CycleContext, row: int) -> list[Pod]:
    """Pods in the row's domains whose anti-affinity selects the pod."""
    meta = context.pod.metadata
    labels = {space.metadata.name: space.metadata.labels for space in context.snapshot.namespaces}
    found: list[Pod] = []
    for other, there in zip(context.table.pods, context.table.pod_rows, strict=True):
        if other.spec.affinity is None or other.spec.affinity.pod_anti_affinity is None:
            continue
        terms = parse_terms(other.spec.affinity, other.metadata.namespace).required_anti_affinity
        if any(
            _same_domain(context.table, term.topology_key, row, int(there))
            and term.matches(meta.namespace, meta.labels, labels.get(meta.namespace, {}))
            for term in terms
        ):
            found.append(other)
    return found


def _same_domain(table: NodeTable, key: str, row: int, other: int) -> bool:
    codes = table.label(key).codes
    return bool(codes[row] >= 0 and codes[row] == codes[other])


_CANDIDATES: Final[Mapping[str, Callable[[Situation, Filtered, int], Iterator[Applied]]]] = {
    "NodeUnschedulable": _uncordon,
    "TaintToleration": _tolerate,
    "NodeResourcesFit": _free,
    "NodeAffinity": _match_labels,
    "NodePorts": _stop_port_holders,
    "PodTopologySpread": _relax_spread,
    "InterPodAffinity": _part_from_pods,
    "VolumeRestrictions": _stop_disk_holders,
}
