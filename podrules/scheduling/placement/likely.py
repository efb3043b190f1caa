"""One pod's likely placement: the scheduling cycle, its numbers, what would change the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import numpy as np
from msgspec.structs import replace

from podrules.api.features import GATES, Features
from podrules.api.model.pod import Pod
from podrules.node.lost_node import UNREACHABLE
from podrules.node.reachability import NodeReach, Reach, node_reach
from podrules.pod.priority import is_critical_pod, is_static_pod
from podrules.pod.reading import NOT_ALL_IN_FILE, UnreadInput
from podrules.pod.resources import pod_requests
from podrules.pod.tolerations import NO_EXECUTE, tolerations_tolerate_taint
from podrules.scheduling.placement.claims import claim_problems, claims_never_bound, volume_places
from podrules.scheduling.placement.device_claims import missing_templates
from podrules.scheduling.placement.outcome import (
    CurrentNode,
    NamedFate,
    NamedNode,
    NodeScore,
    Placement,
    PlacementOutcome,
    RejectedGroup,
    RejectedNode,
    SchedulerMessage,
)
from podrules.scheduling.placement.preview import nominated_node, preview
from podrules.scheduling.placement.remedies import (
    SoftSpreads,
    by_nearness,
    cheapest_remedy,
    constraint_spreads,
    facts,
    normalized_scores,
    shared_keys,
    softened_spread,
)
from podrules.scheduling.placement.scheduler_condition import awaited_binding, compare_messages
from podrules.scheduling.placement.situation import CLAIMS, NODES, PODS, MissingKinds, Situation, known_part, missing_of
from podrules.scheduling.scheduler.cycle import (
    FilterResult,
    ScoreResult,
    filter_nodes,
    num_feasible_nodes_to_find,
    pre_enqueue,
    score_nodes,
)
from podrules.scheduling.scheduler.framework.answers import Code
from podrules.scheduling.scheduler.plugins.dynamic_resources import UNKNOWN
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import is_extended_resource
from podrules.scheduling.scheduler.plugins.node_affinity import NodeAffinityPlugin, pinned_nowhere
from podrules.scheduling.scheduler.plugins.node_ports import NodePorts
from podrules.scheduling.scheduler.plugins.node_resources.fit import NodeResourcesFit, offered_nowhere
from podrules.scheduling.scheduler.plugins.one_field import required_features
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import NAME as SPREAD
from podrules.scheduling.scheduler.plugins.taint_toleration import TAINT_NODE_UNSCHEDULABLE, TaintEffect
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import claim_reference
from podrules.scheduling.scheduler.queue import queue_position
from podrules.scheduling.scheduler.runtime import Framework
from podrules.upgrade.version_changes import AssumedGate, PodChangeKind

NO_NODES: Final = "no nodes available to schedule pods"
"""ErrNoNodesAvailable: the cycle does not begin."""
NO_NODES_READ: Final = "the nodes could not be read"
_SHOWN_SCORES: Final = 3
_SHOWN_NODES: Final = 1
_ANY_TIME: Final = datetime.fromtimestamp(0, UTC)
"""Without a Lease, the present time decides nothing about a node's condition."""


def likely_placement(situation: Situation, *, every_node: bool = False, ways_out: bool = True) -> Placement:
    """Where the scheduler would put a pod, why not elsewhere, and what would change that.

    Args:
        situation: The pod and the cluster. A bound pod is judged as if it were created again.
        every_node: Whether all nodes are named, with their numbers; else the best and the nearest to fit.
        ways_out: Whether changes and a preemption are tried where no node fits.
    """
    missing = missing_of(situation)
    placed = _placement(known_part(situation, missing), missing, every_node=every_node, ways_out=ways_out)
    return missing.of(placed, situation.pod)


def _placement(situation: Situation, missing: MissingKinds, *, every_node: bool, ways_out: bool) -> Placement:
    """The placement by what is known."""
    pod, recreated = situation.pod, situation
    if pod.spec.node_name:
        # A bound pod is taken off its node, and created again.
        spec, status = replace(pod.spec, node_name=""), replace(pod.status, nominated_node_name="")
        recreated = replace(situation.without_pods((pod,)), pod=replace(pod, spec=spec, status=status))
    queued = pod.metadata.uid and PODS not in missing.resources
    base = Placement(
        outcome=PlacementOutcome.UNKNOWN,
        scheduler_name=pod.spec.scheduler_name,
        nodes=len(situation.table),
        nominated=None if pod.spec.node_name else nominated_node(situation),
        queue=queue_position(pod, situation.snapshot.pods) if queued else None,
        verified=situation.features.verified,
        unknown_plugins=situation.framework.unknown,
        extenders=tuple(one.url_prefix for one in situation.framework.extenders_of(pod)),
        preemption_disabled=situation.framework.preemption_disabled,
    )
    if not len(situation.table) and NODES in missing.resources:
        return replace(base, reason=NO_NODES_READ)
    if not len(situation.table):
        return replace(base, outcome=PlacementOutcome.UNSCHEDULABLE, message=NO_NODES)
    held = pre_enqueue(recreated.pod, recreated.snapshot, recreated.framework, features=recreated.features)
    if not held.ok:
        templates = missing_templates(recreated.pod, recreated.snapshot)
        reasons = (*held.reasons, *(f"ResourceClaimTemplate {name} is not there" for name in templates))
        return replace(base, outcome=PlacementOutcome.HELD, reason="; ".join(reasons))
    filtered = recreated.filtered()
    errors = (status for status in filtered.rejected.values() if status.code is Code.ERROR)
    reasons_of_errors = (reason for status in errors for reason in status.reasons)
    # What the rules cannot decide for some node.
    unknown = next((reason.partition(UNKNOWN)[2] for reason in reasons_of_errors if UNKNOWN in reason), "")
    if unknown:
        return replace(base, reason=unknown)
    nominated = base.nominated
    if not (pod.spec.node_name or (nominated is not None and nominated.victims)):
        # The scheduler may have chosen a node already, and wait for something else.
        binding = awaited_binding(replace(situation, unread=missing.unread), filtered)
        # Without its claims, the pod may wait for these.
        room = binding is None and CLAIMS not in missing.resources
        base = replace(base, binding=binding, nominated=nominated and replace(nominated, made_room=room))
    return _of_cycle(base, situation, recreated, filtered, every_node=every_node, ways_out=ways_out)


def _of_cycle(
    base: Placement,
    situation: Situation,
    recreated: Situation,
    filtered: FilterResult,
    *,
    every_node: bool,
    ways_out: bool,
) -> Placement:
    """The placement by the verdicts of a scheduling cycle, for the pod as it is and as it is created again."""
    pod = situation.pod
    # A pod that fits somewhere needs no way out, nor does one for which room is being made.
    coming = base.nominated is not None and base.nominated.under_way
    remedies = ways_out and not coming and not len(filtered.feasible)
    rejected = tuple(rejected_groups(recreated, filtered, every_node=every_node, remedies=remedies))
    found = replace(base, rejected=rejected, spread=constraint_spreads(filtered))
    if filtered.error:
        return replace(
            found, outcome=PlacementOutcome.UNSCHEDULABLE, message=filtered.error, claims=claim_problems(filtered)
        )
    feasible = filtered.feasible
    if not len(feasible):
        room = preview(filtered, recreated.snapshot.pod_disruption_budgets) if ways_out else None
        return replace(
            found,
            outcome=PlacementOutcome.UNSCHEDULABLE,
            message=filtered.message,
            nowhere=pinned_nowhere(pod, recreated.table.nodes),
            offered_nowhere=offered_nowhere(filtered.context),
            claims=claim_problems(filtered),
            volumes=volume_places(filtered),
            preemption=room,
            current=_current(pod, filtered, None),
            scheduler_message=_scheduler_message(pod, filtered.message, room=room is not None and bool(room.nodes)),
        )
    scored = score_nodes(filtered)
    if scored.fails:
        return replace(found, outcome=PlacementOutcome.UNSCHEDULABLE, message=scored.error)
    names, framework = filtered.context.table.names, situation.framework
    # A nominated node is taken alone when it fits, whatever the others score.
    nominated_row = recreated.table.index.get(recreated.pod.status.nominated_node_name)
    chosen = scored.best if nominated_row is None or not filtered.fits(nominated_row) else (nominated_row,)
    # The highest total comes first, then the order of the cluster.
    order, soft_spread = np.argsort(-scored.totals, kind="stable"), SoftSpreads(filtered, scored)
    scores = tuple(
        NodeScore(
            node=names[int(scored.feasible[place])],
            total=int(scored.totals[place]),
            plugins={plugin: int(values[place]) for plugin, values in scored.by_plugin.items()},
            soft_spread=soft_spread.at(place),
        )
        for place in order[: None if every_node else _SHOWN_SCORES].tolist()
    )
    # Where nothing scores, the first node that fits is taken.
    most = num_feasible_nodes_to_find(framework.percentage_of_nodes_to_score, len(names)) if framework.score else 1
    return replace(
        found,
        outcome=PlacementOutcome.FITS,
        feasible=len(feasible),
        sampled=most if most < len(feasible) else None,
        best=tuple(names[row] for row in chosen),
        scores=scores,
        normalized=tuple(normalized_scores(filtered, scored)) if every_node else (),
        current=_current(pod, filtered, scored),
        scheduler_message=_scheduler_message(pod, ""),
    )


def named_placement(situation: Situation, reach: NodeReach | None) -> Placement:
    """What becomes of a pod to come that names its node itself; `reach`: whether the node answers, None: not known."""
    named = named_node(situation, reach)
    if named.fate is NamedFate.NO_NODE and situation.may_lack_nodes:
        return Placement(
            outcome=PlacementOutcome.UNKNOWN,
            scheduler_name=situation.pod.spec.scheduler_name,
            reason=f"spec.nodeName is {named.node}, and that node could not be read",
            assumed=(UnreadInput("get", NODES, None, NOT_ALL_IN_FILE),) if situation.is_list else situation.unread,
            proven=False,
        )
    pod, unread = situation.pod, missing_of(situation).unread
    claims, lacks = claims_never_bound(pod, situation.snapshot, unread) if named.fate is NamedFate.RUNS else ((), ())
    if claims:
        named = replace(named, fate=NamedFate.WAITS)
    return Placement(
        outcome=PlacementOutcome.NAMED,
        scheduler_name=situation.pod.spec.scheduler_name,
        nodes=len(situation.table),
        best=(named.node,) if named.fate is NamedFate.RUNS else (),
        named=named,
        claims=claims,
        verified=situation.features.verified,
        assumed=lacks,
        proven=not lacks,
    )


def _scheduler_message(pod: Pod, message: str, *, room: bool = False) -> SchedulerMessage | None:
    condition = pod.status.condition("PodScheduled")
    if condition is None or condition.status != "False" or condition.reason != "Unschedulable":
        return None
    return compare_messages(condition.message, message, room=room)


def rejected_groups(
    situation: Situation, filtered: FilterResult, *, every_node: bool, remedies: bool
) -> Iterator[RejectedGroup]:
    """Rejected nodes by plugin and reasons, the largest group first; without `every_node` each names the nearest."""
    if not filtered.pre_filter.status.ok:
        status = filtered.pre_filter.status
        yield RejectedGroup(
            plugin=status.plugin,
            reasons=status.reasons,
            count=len(situation.table),
            alone=len(situation.table),
            preemption_may_help=status.code is Code.UNSCHEDULABLE,
            nodes=(),
            remedy=None,
        )
        return
    table, names = filtered.context.table, filtered.context.table.names
    by_reason: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for name, status in filtered.rejected.items():
        by_reason.setdefault((status.plugin, status.reasons), []).append(situation.table.index[name])
    for (plugin, reasons), rows in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        nearest = by_nearness(filtered, plugin, rows)
        found = cheapest_remedy(situation, filtered, plugin, nearest) if remedies else None
        if found is not None:
            nearest.sort(key=lambda row: row != found[0])
        soft = softened_spread(situation, filtered, nearest) if remedies and plugin == SPREAD else None
        shown = nearest if every_node else nearest[:_SHOWN_NODES]
        # Nodes that do not answer, and with a taint that shows it.
        silent = {
            row
            for row in rows
            if plugin == "TaintToleration"
            and UNREACHABLE in _keys(filtered, row)
            and node_reach(names[row], table.nodes[row], renewed=None, now=_ANY_TIME).reach is Reach.SILENT
        }
        nodes: list[RejectedNode] = []
        for row in shown:
            cordoned = plugin == "NodeUnschedulable" and _keys(filtered, row) == {TAINT_NODE_UNSCHEDULABLE.key}
            passed = {plugin, "TaintToleration"} if cordoned else {plugin}
            also = tuple(other for other in filtered.rejecting(row) if other not in passed)
            nodes.append(RejectedNode(names[row], facts(filtered, plugin, row), also))
        yield RejectedGroup(
            plugin=plugin,
            reasons=reasons,
            count=len(rows),
            alone=sum(len(filtered.rejecting(row)) == 1 for row in rows),
            preemption_may_help=any(filtered.status(row).code is Code.UNSCHEDULABLE for row in rows),
            nodes=tuple(nodes),
            remedy=None if found is None else found[1],
            silent=tuple(names[row] for row in sorted(silent)),
            softened=None if found is not None and soft == found[1] else soft,
            keys=shared_keys(facts(filtered, plugin, row) for row in nearest if row not in silent),
        )
    left_out = len(situation.table) - int(filtered.considered.sum())
    if left_out:
        plugin, reasons = min(filtered.pre_filter.narrowed_by), (filtered.left_out,)
        yield RejectedGroup(plugin, reasons, left_out, left_out, preemption_may_help=False, nodes=(), remedy=None)


def _keys(filtered: FilterResult, row: int) -> set[str]:
    """The node's taints that the pod does not tolerate."""
    return {taint.key for taint in facts(filtered, "TaintToleration", row) if isinstance(taint, TaintEffect)}


def _current(pod: Pod, filtered: FilterResult, scored: ScoreResult | None) -> CurrentNode | None:
    """The bound pod's own node, if it is still there."""
    row = filtered.context.table.index.get(pod.spec.node_name)
    if row is None:
        return None
    name = pod.spec.node_name
    if scored is None or not filtered.fits(row):
        status = filtered.status(row) if filtered.pre_filter.status.ok else filtered.pre_filter.status
        return CurrentNode(name, fits=False, plugin=status.plugin, reasons=status.reasons, total=None, rank=None)
    total = int(scored.totals[np.flatnonzero(scored.feasible == row)[0]])
    rank = 1 + int(np.count_nonzero(scored.totals > total))
    return CurrentNode(name, fits=True, plugin="", reasons=(), total=total, rank=rank)


_RESOURCES: Final = NodeResourcesFit()
_OTHERS: Final = (NodeAffinityPlugin(), NodePorts())


def named_node(situation: Situation, reach: NodeReach | None) -> NamedNode:
    """What becomes of a pod on the node that it names: no scheduler handles it.

        no such Node       pod garbage collection deletes the pod
        node is silent     the pod stays Pending: only its kubelet starts it
        claim unbound      the pod stays Pending, where nothing binds its claim (`claim_problems`)
        kubelet refuses    the pod ends as Failed, by the first of: pods, cpu, memory and other resources; node selector
                           and affinity; host ports; a NoExecute taint that it does not tolerate
        else               it runs there, whatever NoSchedule taints, cordons, topology spread and pod affinity say

    For a critical pod the kubelet makes room.

    Source: pkg/scheduler/eventhandlers.go (assignedPod, AdmissionCheck), pkg/kubelet/lifecycle/predicate.go,
    pkg/controller/podgc/gc_controller.go at v1.36.3.

    Args:
        situation: The pod, before it is there, and the cluster.
        reach: Whether the node answers; None: that is not known.
    """
    name = situation.pod.spec.node_name
    row = situation.table.index.get(name)
    if row is None:
        return NamedNode(name, NamedFate.NO_NODE)
    if reach is not None and reach.reach.quiet:
        return NamedNode(name, NamedFate.SILENT)
    reason = _refused(situation, row)
    return NamedNode(name, NamedFate.REFUSED if reason else NamedFate.RUNS, reason)


def _refused(situation: Situation, row: int) -> str:
    """The first reason of the kubelet not to admit a pod, as its status has it; empty: it is admitted."""
    pod, plugins = situation.pod, (_RESOURCES, *_OTHERS)
    filtered = filter_nodes(
        pod,
        situation.table,
        # The kubelet does not know pods that are to come.
        replace(situation.snapshot, pods=()),
        features=situation.features,
        framework=replace(situation.framework, pre_filter=plugins, filter=plugins, args={}),
    )
    lacks = (
        ()
        if is_critical_pod(pod)
        else _RESOURCES.explain(context := filtered.context, context.states[_RESOURCES.name], row)
    )
    for entry in lacks:
        # An extended resource that the node does not have at all is not asked for.
        if entry.allocatable or not is_extended_resource(entry.resource):
            return f"OutOf{entry.resource}"
    for plugin in _OTHERS:
        if not filtered.considered[row]:
            return NodeAffinityPlugin.name
        if plugin.name in filtered.plugins and not filtered.verdict(plugin.name, row).ok:
            return plugin.name
    taints = (taint for taint in situation.table.nodes[row].spec.taints if taint.effect == NO_EXECUTE)
    tolerated = is_static_pod(pod) or all(tolerations_tolerate_taint(pod.spec.tolerations, taint) for taint in taints)
    return "" if tolerated else "TaintToleration"


def gates_of_placement(
    situation: Situation, placed: Placement, named: Collection[str], framework: Callable[[Features], Framework]
) -> Iterator[AssumedGate]:
    """The gates that decide a pod's placement by their default and that the user did not set.

    Each gate that is settable in the scheduler's version and read by a plugin that applies to the pod is flipped, and
    the pod is placed again. Gates that change the requests of other pods are left out: all pods would have to be
    counted again.

    Args:
        situation: The pod and the cluster.
        placed: The placement with the gates' defaults.
        named: Fields of `Features` for the gates that the user set.
        framework: The plugins of the pod's profile by other rules.
    """
    own = situation.features
    for field, change in GATES.items():
        concerns = _CONCERNS.get(change.rule)
        if concerns is None or field in named or not change.can_be_set(own.gates_of) or not concerns(situation.pod):
            continue
        on: bool = getattr(own, field)
        other = replace(situation, framework=framework(replace(own, **{field: not on})))
        if _choice(likely_placement(other, ways_out=False)) != _choice(placed):
            yield AssumedGate(change.gate, on, (PodChangeKind.PLACEMENT,))


def every_gate(features: Features) -> Features:
    """The same with every gate on that can be set: what these read suffices for each of them."""
    on = {field: True for field, change in GATES.items() if change.can_be_set(features.gates_of)}
    return replace(features, **on)


def _choice(placement: Placement) -> tuple[object, ...]:
    """What the scheduler does and says."""
    return placement.outcome, placement.best, placement.message, placement.reason


def _has_claims(pod: Pod) -> bool:
    return any(claim_reference(pod, volume) is not None for volume in pod.spec.volumes)


_CONCERNS: Final[Mapping[str, Callable[[Pod], bool]]] = {
    "DynamicResources": lambda pod: bool(pod.spec.resource_claims) or any(map(is_extended_resource, pod_requests(pod))),
    "NodeDeclaredFeatures": lambda pod: bool(required_features(pod)),
    "NodeVolumeLimits": _has_claims,
    "VolumeBinding": _has_claims,
}
"""Whether a plugin has to do with a pod, by the plugin's name; the other gates are no plugin's."""
