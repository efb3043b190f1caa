"""The nodes on which a DaemonSet runs: its controller chooses them, and the scheduler puts each pod on its own one.

    chooses      a node that spec.nodeName of the template names, if it names one, with the labels of its nodeSelector
                 and its required node affinity, and without a taint NoSchedule or NoExecute that its pods do not
                 tolerate. The controller adds tolerations (`podrules.pod.tolerations`)
    keeps a pod  also where an untolerated taint is NoSchedule; else it deletes the pod that it has there
    makes a pod  where it chooses a node and has no pod: with a required node affinity for the name of that node, in
                 place of the template's own, whatever room is there
    the rest     is kube-scheduler's: the pod goes to that node or stays Pending, or preempts others

A template that was changed is rolled out node by node: a pod goes before the next one comes, or with maxSurge after.
Pods that are being deleted are taken as gone.

Source: pkg/controller/daemon/daemon_controller.go (nodeShouldRunDaemonPod, podsShouldBeOnNode, syncNodes) and
pkg/controller/daemon/util/daemonset_util.go (ReplaceDaemonSetPodNodeNameNodeAffinity) at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.affinity import Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.quantity import whole_number
from podrules.api.model.workload import UpdateStrategy
from podrules.node.reachability import NodeReach
from podrules.pod.tolerations import NO_EXECUTE
from podrules.scheduling.placement.binding import devices_freed, make_room, with_pod
from podrules.scheduling.placement.claims import claim_problems
from podrules.scheduling.placement.controllers import daemon_pods
from podrules.scheduling.placement.likely import likely_placement, named_placement, rejected_groups
from podrules.scheduling.placement.outcome import Placement, PlacementOutcome, RejectedGroup, RejectedNode
from podrules.scheduling.placement.planned import DaemonNodes, PlannedVictim
from podrules.scheduling.placement.remedies import cheapest_remedy, facts, shared_keys
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes, pre_enqueue
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.framework.node_table import ABSENT
from podrules.scheduling.scheduler.plugins.node_affinity import NodeAffinityPlugin
from podrules.scheduling.scheduler.plugins.one_field import NodeName
from podrules.scheduling.scheduler.plugins.requirement import NAME_FIELD
from podrules.scheduling.scheduler.plugins.taint_toleration import TaintToleration, untolerated_taint_codes

_ASKED: Final = (NodeName(), NodeAffinityPlugin(), TaintToleration())
"""The controller asks of a node what these plugins of the scheduler ask in Filter, in this order."""


class Existing(Enum):
    """What becomes of the pods that a DaemonSet has on nodes that it chooses."""

    KEPT = auto()
    REPLACED = auto()
    BESIDE = auto()
    """Each goes once the new one is there (maxSurge)."""


class Daemons(Struct, frozen=True):
    """A DaemonSet and the pods that it needs."""

    own: tuple[Pod, ...] = ()
    """The pods that it has and that have not finished."""
    existing: Existing = Existing.KEPT


class DaemonSetVerdicts(Struct, frozen=True):
    """What a DaemonSet's controller says of each node."""

    runs: NDArray[np.bool_]
    """It makes a pod there."""
    stays: NDArray[np.bool_]
    """A pod that is there stays there."""
    filtered: FilterResult
    """Why it makes none elsewhere."""


class PlacedDaemons(Struct, frozen=True):
    """The pods of a DaemonSet on their nodes."""

    situation: Situation
    budgets: Sequence[PodDisruptionBudget]
    nodes: DaemonNodes
    wanted: int
    """How many pods are to come."""
    unaided: tuple[int, ...]
    """The rows of those that fit without preemption."""
    aided: tuple[int, ...]
    """The rows of those that fit with it."""
    victims: tuple[PlannedVictim, ...]
    pending: Placement | None
    """What the others meet, each on its own node; None: there are none."""


Before = Callable[[int, Situation], Situation]
"""Gives a pod by its number, with its claims, before a cluster."""


def daemons_of(pod: Pod, pods: Iterable[Pod], existing: Existing) -> Daemons:
    """A DaemonSet with the pods that it has.

    Args:
        pod: Its next pod, named as the DaemonSet.
        pods: Of the cluster.
        existing: What becomes of them.
    """
    return Daemons(daemon_pods(pod.metadata, pods), existing)


def existing_pods(strategy: UpdateStrategy, *, more: bool) -> Existing:
    """What happens to the pods that a DaemonSet has.

    Args:
        strategy: Its own.
        more: Whether it is the cluster's own, which keeps its pods; a manifest may bring a new template.
    """
    if more:
        return Existing.KEPT
    return Existing.BESIDE if _allows_surge(strategy) else Existing.REPLACED


def _allows_surge(strategy: UpdateStrategy) -> bool:
    """Whether a new pod may come while the old one is there (AllowsSurge)."""
    rolling = strategy.rolling_update
    if strategy.type not in {"", "RollingUpdate"} or rolling is None or rolling.max_surge is None:
        return False
    number = str(rolling.max_surge).removesuffix("%")
    return number.isdecimal() and whole_number(number) > 0


def chosen_nodes(situation: Situation) -> DaemonSetVerdicts:
    """The nodes that its controller chooses.

    Args:
        situation: A pod of the template, with the tolerations that the controller adds, and the cluster.
    """
    asking = replace(situation.framework, pre_filter=(), filter=_ASKED, args={})
    cluster = replace(situation.snapshot, pods=())
    filtered = filter_nodes(
        situation.pod, situation.table, cluster, features=situation.features, framework=asking, now=situation.now
    )
    runs = filtered.codes == Code.SUCCESS
    driven_off = untolerated_taint_codes(situation.table.nodes, situation.pod.spec.tolerations, (NO_EXECUTE,)) != ABSENT
    kept = np.logical_or.reduce([filtered.rejects(plugin.name) for plugin in _ASKED[:-1]])
    return DaemonSetVerdicts(runs, ~kept & ~driven_off, filtered)


def place_daemons(
    daemons: Daemons,
    before: Before,
    situation: Situation,
    budgets: Sequence[PodDisruptionBudget],
    *,
    preemption: bool,
    reach: NodeReach | None = None,
) -> PlacedDaemons:
    """Put a pod on each node that its controller chooses.

    Args:
        daemons: The DaemonSet.
        before: Gives its pods.
        situation: Its next pod, and the cluster.
        budgets: What they allow.
        preemption: Whether pods of lower priority may have to go.
        reach: Whether the node answers that the template names; None: not known, or it names none.
    """
    chosen = chosen_nodes(situation)
    kept, removed, gone = _existing(daemons, chosen, situation)
    held = frozenset() if daemons.existing is Existing.BESIDE else kept
    rows = [row for row in np.flatnonzero(chosen.runs).tolist() if row not in held]
    names = situation.table.names
    nodes = DaemonNodes(
        eligible=int(chosen.runs.sum()),
        kept=tuple(names[row] for row in sorted(kept)),
        removed=tuple(names[row] for row in removed),
        without=tuple(rejected_groups(situation, chosen.filtered, every_node=True, remedies=False)),
    )
    left = _without(situation, gone)
    placing = _Placing(before, left, budgets, preemption=preemption)
    first = before(0, left)
    if not pre_enqueue(first.pod, first.snapshot, first.framework, features=first.features).ok:
        return placing.ended(nodes, len(rows), likely_placement(first) if rows else None)
    if situation.pod.spec.node_name:
        return placing.named(nodes, rows, reach)
    for number, row in enumerate(rows):
        placing.place(number, row)
    return placing.ended(nodes, len(rows), placing.pending())


def _without(situation: Situation, gone: Sequence[Pod]) -> Situation:
    """The cluster without some pods, on their nodes and for other pods."""
    uids = {pod.metadata.uid for pod in gone}
    others = tuple(pod for pod in situation.snapshot.pods if pod.metadata.uid not in uids)
    return replace(situation.without_pods(gone), snapshot=devices_freed(replace(situation.snapshot, pods=others), gone))


def _existing(
    daemons: Daemons, chosen: DaemonSetVerdicts, situation: Situation
) -> tuple[frozenset[int], list[int], list[Pod]]:
    """The rows that keep a pod, the rows with a deleted pod, and the pods that are gone."""
    kept: set[int] = set()
    removed: set[int] = set()
    gone: list[Pod] = []
    for pod in daemons.own:
        row = situation.table.index.get(pod.spec.node_name)
        if row is None or pod.metadata.deletion_timestamp is not None:
            gone.append(pod)
        elif not chosen.stays[row]:
            removed.add(row)
            gone.append(pod)
        elif daemons.existing is Existing.REPLACED and chosen.runs[row]:
            gone.append(pod)
        else:
            kept.add(row)
    return frozenset(kept), sorted(removed), gone


class _Placing:
    """Places the pods, each seen by the next."""

    def __init__(
        self, before: Before, situation: Situation, budgets: Sequence[PodDisruptionBudget], *, preemption: bool
    ) -> None:
        self._before = before
        self._situation = situation
        self._budgets = budgets
        self._preemption = preemption
        self._unaided: list[int] = []
        self._aided: list[int] = []
        self._victims: list[PlannedVictim] = []
        self._stuck: dict[tuple[str, tuple[str, ...]], list[_Stuck]] = {}

    def place(self, number: int, row: int) -> None:
        """Place a pod on its node, if it fits or preemption makes room."""
        at = self._before(number, self._situation)
        at = replace(at, pod=_for_node(at.pod, at.table.names[row]))
        filtered = at.filtered()
        if filtered.fits(row) and not filtered.error:
            self._situation = with_pod(at, filtered, row)
            self._unaided.append(row)
            return
        room = make_room(at, filtered, self._budgets) if self._preemption else None
        if room is None:
            self._note(at, filtered, row)
            return
        self._situation, self._budgets = with_pod(room.situation, filtered, row), room.budgets
        self._aided.append(row)
        self._victims += room.victims

    def named(self, nodes: DaemonNodes, rows: Iterable[int], reach: NodeReach | None) -> PlacedDaemons:
        """The pod of a template that names its node itself: the kubelet admits it or not."""
        rows = list(rows)
        for row in rows:
            at = self._before(0, self._situation)
            found = named_placement(at, reach)
            if not found.best:
                return self.ended(nodes, len(rows), found)
            self._situation = replace(at, table=at.table.with_pods([(at.pod, at.table.names[row])]))
            self._unaided.append(row)
        return self.ended(nodes, len(rows), None)

    def ended(self, nodes: DaemonNodes, wanted: int, pending: Placement | None) -> PlacedDaemons:
        """The result."""
        return PlacedDaemons(
            situation=self._situation,
            budgets=self._budgets,
            nodes=nodes,
            wanted=wanted,
            unaided=tuple(self._unaided),
            aided=tuple(self._aided),
            victims=tuple(self._victims),
            pending=pending,
        )

    def pending(self) -> Placement | None:
        """Why pods stay Pending, by reason; None: all are placed."""
        if not self._stuck:
            return None
        groups = sorted(self._stuck.items(), key=lambda item: (-len(item[1]), item[0]))
        first = groups[0][1][0]
        framework = self._situation.framework
        return Placement(
            outcome=PlacementOutcome.UNSCHEDULABLE,
            scheduler_name=self._situation.pod.spec.scheduler_name,
            message=first.filtered.error or first.filtered.message,
            nodes=sum(len(group) for _, group in groups),
            rejected=tuple(_group(plugin, reasons, found) for (plugin, reasons), found in groups),
            claims=claim_problems(first.filtered),
            preemption_disabled=framework.preemption_disabled,
            verified=self._situation.features.verified,
            unknown_plugins=framework.unknown,
            extenders=tuple(one.url_prefix for one in framework.extenders_of(self._situation.pod)),
        )

    def _note(self, at: Situation, filtered: FilterResult, row: int) -> None:
        status = _status(filtered, row)
        found = self._stuck.setdefault((status.plugin, status.reasons), [])
        # The tables of one of each kind are enough.
        kept = at if not found else found[0].situation, filtered if not found else found[0].filtered
        found.append(_Stuck(*kept, row, status, _rejected(filtered, status.plugin, row)))


class _Stuck(Struct, frozen=True):
    """A pod that stays Pending."""

    situation: Situation
    """That of the first of its kind; so is the next."""
    filtered: FilterResult
    row: int
    status: Status
    node: RejectedNode


def _group(plugin: str, reasons: tuple[str, ...], found: Sequence[_Stuck]) -> RejectedGroup:
    first = found[0]
    judged = first.filtered.pre_filter.status.ok and bool(first.filtered.considered[first.row])
    remedy = cheapest_remedy(first.situation, first.filtered, plugin, [first.row]) if judged else None
    return RejectedGroup(
        plugin=plugin,
        reasons=reasons,
        count=len(found),
        alone=sum(not stuck.node.also for stuck in found),
        preemption_may_help=any(stuck.status.code is Code.UNSCHEDULABLE for stuck in found),
        nodes=tuple(stuck.node for stuck in found),
        remedy=None if remedy is None else remedy[1],
        keys=shared_keys(stuck.node.facts for stuck in found),
    )


def _status(filtered: FilterResult, row: int) -> Status:
    """Why its node does not take a pod."""
    if not filtered.pre_filter.status.ok:
        return filtered.pre_filter.status
    if not filtered.considered[row]:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (filtered.left_out,), min(filtered.pre_filter.narrowed_by))
    return filtered.status(row)


def _rejected(filtered: FilterResult, plugin: str, row: int) -> RejectedNode:
    name = filtered.context.table.names[row]
    if not filtered.pre_filter.status.ok or not filtered.considered[row]:
        return RejectedNode(name, (), ())
    others = tuple(other for other in filtered.rejecting(row) if other != plugin)
    return RejectedNode(name, facts(filtered, plugin, row), others)


def _for_node(pod: Pod, name: str) -> Pod:
    """The pod with a required node affinity for one node, in place of its own."""
    term = NodeSelectorTerm(match_fields=(NodeSelectorRequirement(NAME_FIELD, "In", (name,)),))
    affinity = pod.spec.affinity or Affinity()
    own = affinity.node_affinity or NodeAffinity()
    chosen = replace(own, required_during_scheduling_ignored_during_execution=NodeSelector((term,)))
    return replace(pod, spec=replace(pod.spec, affinity=replace(affinity, node_affinity=chosen)))
