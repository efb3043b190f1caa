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

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.quantity import whole_number
from podrules.api.model.selectors import Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from podrules.api.model.workload import UpdateStrategy
from podrules.node.reachability import NodeReach
from podrules.pod.tolerations import NO_EXECUTE
from podrules.scheduling.placement.binding import Placed, devices_freed, make_room, with_pod
from podrules.scheduling.placement.claims import claim_problems
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

_NODE_RULES: Final = (NodeName(), NodeAffinityPlugin(), TaintToleration())
"""The controller asks of a node what these plugins of the scheduler ask in Filter, in this order."""


class Existing(Enum):
    """What becomes of the pods that a DaemonSet has on nodes that it chooses."""

    KEPT = auto()
    REPLACED = auto()
    BESIDE = auto()
    """Each goes once the new one is there (maxSurge)."""


Before = Callable[[int, Situation], Situation]
"""Gives a pod by its number, with its claims, before a cluster."""


class DaemonSet(Struct, frozen=True):
    """A DaemonSet and the pods that it needs."""

    own: tuple[Pod, ...]
    """The pods that it has and that have not finished."""
    existing: Existing
    """What becomes of them."""
    reach: NodeReach | None
    """Whether the node answers that the template names; None: not known, or it names none."""
    before: Before
    """Gives its pods."""


class DaemonSetVerdicts(Struct, frozen=True):
    """What a DaemonSet's controller says of each node."""

    runs: NDArray[np.bool_]
    """It makes a pod there."""
    stays: NDArray[np.bool_]
    """A pod that is there stays there."""
    filtered: FilterResult
    """Why it makes none elsewhere."""


def existing_pods(strategy: UpdateStrategy, *, more: bool) -> Existing:
    """What happens to the pods that a DaemonSet has, by its strategy.

    With `more` it is the cluster's own, which keeps its pods; a manifest may bring a new template.
    """
    if more:
        return Existing.KEPT
    rolling = strategy.rolling_update
    if strategy.type not in {"", "RollingUpdate"} or rolling is None or rolling.max_surge is None:
        return Existing.REPLACED
    # A new pod may come while the old one is there (AllowsSurge).
    number = str(rolling.max_surge).removesuffix("%")
    return Existing.BESIDE if number.isdecimal() and whole_number(number) > 0 else Existing.REPLACED


def chosen_nodes(situation: Situation) -> DaemonSetVerdicts:
    """The nodes that its controller chooses for a pod with the tolerations that the controller adds."""
    asking = replace(situation.framework, pre_filter=(), filter=_NODE_RULES, args={})
    cluster = replace(situation.snapshot, pods=())
    filtered = filter_nodes(
        situation.pod, situation.table, cluster, features=situation.features, framework=asking, now=situation.now
    )
    runs = filtered.codes == Code.SUCCESS
    driven_off = untolerated_taint_codes(situation.table.nodes, situation.pod.spec.tolerations, (NO_EXECUTE,)) != ABSENT
    kept = np.logical_or.reduce([filtered.rejects(plugin.name) for plugin in _NODE_RULES[:-1]])
    return DaemonSetVerdicts(runs, ~kept & ~driven_off, filtered)


def place_daemons(
    daemons: DaemonSet, situation: Situation, budgets: Sequence[PodDisruptionBudget], *, preemption: bool
) -> Placed:
    """Put a pod on each node that the controller of a DaemonSet chooses, as far as budgets and `preemption` allow.

    The situation has its next pod.
    """
    chosen, names = chosen_nodes(situation), situation.table.names
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
    filled = frozenset[int]() if daemons.existing is Existing.BESIDE else kept
    rows = [row for row in np.flatnonzero(chosen.runs).tolist() if row not in filled]
    nodes = DaemonNodes(
        eligible=int(chosen.runs.sum()),
        kept=tuple(names[row] for row in sorted(kept)),
        removed=tuple(names[row] for row in sorted(removed)),
        without=tuple(rejected_groups(situation, chosen.filtered, every_node=True, remedies=False)),
    )
    # The cluster without these pods, on their nodes and for other pods.
    uids = {pod.metadata.uid for pod in gone}
    others = replace(
        situation.snapshot, pods=tuple(pod for pod in situation.snapshot.pods if pod.metadata.uid not in uids)
    )
    left = replace(situation.without_pods(gone), snapshot=devices_freed(others, gone))
    placing, first = _Placing(daemons.before, left, budgets, preemption=preemption), daemons.before(0, left)
    if not pre_enqueue(first.pod, first.snapshot, first.framework, features=first.features).ok:
        pending = likely_placement(first) if rows else None
    elif situation.pod.spec.node_name:
        pending = placing.named(rows, daemons.reach)
    else:
        for number, row in enumerate(rows):
            placing.place(number, row)
        pending = placing.pending()
    return Placed(
        situation=placing.situation,
        budgets=placing.budgets,
        rows=(*placing.unaided, *placing.aided),
        unaided=len(placing.unaided),
        victims=tuple(placing.victims),
        stopped=pending,
        daemon=nodes,
        wanted=len(rows),
    )


class _Placing:
    """Places the pods, each seen by the next."""

    def __init__(
        self, before: Before, situation: Situation, budgets: Sequence[PodDisruptionBudget], *, preemption: bool
    ) -> None:
        self.situation, self.budgets = situation, budgets
        self.unaided: list[int] = []
        self.aided: list[int] = []
        self.victims: list[PlannedVictim] = []
        self._before, self._preemption = before, preemption
        self._stuck: dict[tuple[str, tuple[str, ...]], list[_Stuck]] = {}

    def place(self, number: int, row: int) -> None:
        """Place a pod on its node, if it fits or preemption makes room."""
        at = self._before(number, self.situation)
        at = replace(at, pod=_for_node(at.pod, at.table.names[row]))
        filtered = at.filtered()
        if filtered.fits(row) and not filtered.error:
            self.situation = with_pod(at, filtered, row)
            self.unaided.append(row)
            return
        room = make_room(at, filtered, self.budgets) if self._preemption else None
        if room is not None:
            self.situation, self.budgets = with_pod(room.situation, filtered, row), room.budgets
            self.aided.append(row)
            self.victims += room.victims
            return
        node, judged = RejectedNode(at.table.names[row], (), ()), filtered.pre_filter.status
        if not judged.ok:
            status = judged
        elif not filtered.considered[row]:
            narrowed = min(filtered.pre_filter.narrowed_by)
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (filtered.left_out,), narrowed)
        else:
            status = filtered.status(row)
            also = tuple(other for other in filtered.rejecting(row) if other != status.plugin)
            node = replace(node, facts=facts(filtered, status.plugin, row), also=also)
        found = self._stuck.setdefault((status.plugin, status.reasons), [])
        # The tables of one of each kind are enough.
        first = (found[0].situation, found[0].filtered) if found else (at, filtered)
        found.append(_Stuck(*first, row, status, node))

    def named(self, rows: Sequence[int], reach: NodeReach | None) -> Placement | None:
        """Place the pods of a template that names its node itself; returns why its kubelet does not admit them."""
        for row in rows:
            at = self._before(0, self.situation)
            found = named_placement(at, reach)
            if not found.best:
                return found
            self.situation = replace(at, table=at.table.with_pods([(at.pod, at.table.names[row])]))
            self.unaided.append(row)
        return None

    def pending(self) -> Placement | None:
        """Why pods stay Pending, by reason; None: all are placed."""
        if not self._stuck:
            return None
        groups = sorted(self._stuck.items(), key=lambda item: (-len(item[1]), item[0]))
        first, framework = groups[0][1][0], self.situation.framework
        rejected: list[RejectedGroup] = []
        for (plugin, reasons), found in groups:
            one = found[0]
            judged = one.filtered.pre_filter.status.ok and bool(one.filtered.considered[one.row])
            remedy = cheapest_remedy(one.situation, one.filtered, plugin, [one.row]) if judged else None
            rejected.append(
                RejectedGroup(
                    plugin=plugin,
                    reasons=reasons,
                    count=len(found),
                    alone=sum(not stuck.node.also for stuck in found),
                    preemption_may_help=any(stuck.status.code is Code.UNSCHEDULABLE for stuck in found),
                    nodes=tuple(stuck.node for stuck in found),
                    remedy=None if remedy is None else remedy[1],
                    keys=shared_keys(stuck.node.facts for stuck in found),
                )
            )
        return Placement(
            outcome=PlacementOutcome.UNSCHEDULABLE,
            scheduler_name=self.situation.pod.spec.scheduler_name,
            message=first.filtered.error or first.filtered.message,
            nodes=sum(len(group) for _, group in groups),
            rejected=tuple(rejected),
            claims=claim_problems(first.filtered),
            preemption_disabled=framework.preemption_disabled,
            verified=self.situation.features.verified,
            unknown_plugins=framework.unknown,
            extenders=tuple(one.url_prefix for one in framework.extenders_of(self.situation.pod)),
        )


class _Stuck(Struct, frozen=True):
    """A pod that stays Pending."""

    situation: Situation
    """That of the first of its kind; so is the next."""
    filtered: FilterResult
    row: int
    status: Status
    node: RejectedNode


def _for_node(pod: Pod, name: str) -> Pod:
    """The pod with a required node affinity for one node, in place of its own."""
    term = NodeSelectorTerm(match_fields=(NodeSelectorRequirement(NAME_FIELD, "In", (name,)),))
    affinity = pod.spec.affinity or Affinity()
    own = affinity.node_affinity or NodeAffinity()
    chosen = replace(own, required_during_scheduling_ignored_during_execution=NodeSelector((term,)))
    return replace(pod, spec=replace(pod.spec, affinity=replace(affinity, node_affinity=chosen)))
