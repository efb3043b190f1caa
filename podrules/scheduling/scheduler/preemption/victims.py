"""The victims of preemption on each node, and the node that is chosen.

The dry run takes pods of a node away and puts them back, and asks whether the pod fits it then.

Only plugins that depend on the node's pods are asked again, and only about that node (`PodFilterPlugin.on_node`); the
verdicts of the others are those of the cycle. Plugins that skip Filter for this pod stay skipped.

Source, in pkg/scheduler/framework at v1.36.3: RunPreFilterExtensionAddPod, RunPreFilterExtensionRemovePod,
RunFilterPlugins and RunFilterPluginsWithNominatedPods in runtime/framework.go; SelectVictimsOnNode in
plugins/defaultpreemption/default_preemption.go; pickOneNodeForPreemption in preemption/preemption.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import OnNode, PodFilterPlugin, nominated_rows
from podrules.scheduling.scheduler.plugins.default_preemption import (
    Victim,
    by_importance,
    is_preemption_allowed,
    priority_of,
    start_of,
    with_violations,
)


class _Check:
    """A plugin on the node; its verdict is asked for once, as long as pods make no difference to it."""

    def __init__(self, plugin: str, on_node: OnNode | None, status: Status | None = None) -> None:
        """Take what the plugin makes of the node, or a rejection that no pod's going mends."""
        self._plugin = plugin
        self._on_node = on_node
        self._status = status

    def add_pod(self, pod: Pod) -> _Check:
        return self if self._on_node is None else self._with(self._on_node.add_pod(pod))

    def remove_pod(self, pod: Pod) -> _Check:
        return self if self._on_node is None else self._with(self._on_node.remove_pod(pod))

    def _with(self, on_node: OnNode) -> _Check:
        return self if on_node is self._on_node else _Check(self._plugin, on_node)

    @property
    def status(self) -> Status:
        if self._status is None:
            found = SUCCESS if self._on_node is None else self._on_node.status()
            if found.code is Code.ERROR:
                texts = tuple(f'running "{self._plugin}" filter plugin: {text}' for text in found.reasons)
                found = Status(Code.ERROR, texts)
            self._status = found if found.ok else replace(found, plugin=self._plugin)
        return self._status


class NodeTrial(Struct, frozen=True):
    """One node with some pods."""

    checks: tuple[_Check, ...]
    """The plugins in order."""
    nominated: Sequence[Pod]
    """Pods of the same or a higher priority that were nominated to the node."""

    def add_pod(self, pod: Pod) -> NodeTrial:
        """With one pod more."""
        return NodeTrial(tuple([check.add_pod(pod) for check in self.checks]), self.nominated)

    def remove_pod(self, pod: Pod) -> NodeTrial:
        """With one pod less."""
        return NodeTrial(tuple([check.remove_pod(pod) for check in self.checks]), self.nominated)

    def status(self) -> Status:
        """The verdict of the first plugin that rejects: with the nominated pods there, and then without them."""
        crowded = self
        for pod in self.nominated:
            crowded = crowded.add_pod(pod)
        statuses = (check.status for check in (*crowded.checks, *self.checks))
        return next((status for status in statuses if not status.ok), SUCCESS)


class Trials:
    """The nodes of a cycle after its Filter plugins have run."""

    def __init__(self, filtered: FilterResult) -> None:
        self._filtered = filtered
        self._nominated = nominated_rows(filtered.context)
        ran = (plugin for plugin in filtered.framework.filter if plugin.name not in filtered.pre_filter.skipped)
        self._plugins = [(plugin.name, plugin if isinstance(plugin, PodFilterPlugin) else None) for plugin in ran]

    def of(self, row: int, pods: Sequence[Pod]) -> NodeTrial:
        """A row's node as it is, with the pods that the table has on it."""
        context = self._filtered.context
        checks: list[_Check] = []
        for name, plugin in self._plugins:
            if plugin is not None:
                checks.append(_Check(name, plugin.on_node(context, context.states[name], row, pods)))
            elif not (status := self._filtered.verdict(name, row)).ok:
                checks.append(_Check(name, None, status))
        return NodeTrial(tuple(checks), self._nominated.get(row, ()))


# Which pods of a node would have to go (the dry run on one node).
#
#     1. all pods that the preemptor may preempt are taken away; it has to fit then. Affinity of the preemptor to one of
#        them is lost with them, and the node with it
#     2. they are put back one by one, and stay if the preemptor still fits: first those that would violate a budget,
#        then the others, each the most important first
#     3. the victims are those that could not be put back, the most important first; a violation is counted for each
#        victim that violates a budget
#
# Budgets are best effort: they decide which pods are put back first and which node is chosen, and protect no pod.

NO_VICTIMS: Final = "No preemption victims found for incoming pod"
_OFFSET: Final = 2**31
"""Makes priorities positive, so that more pods are a larger sum."""
_DEFAULT_GRACE_SECONDS: Final = 30


class Candidate(Struct, frozen=True):
    """A node that the preemptor would fit, and the pods that have to go."""

    node: str
    victims: tuple[Victim, ...]
    """The most important first; at least one."""

    @property
    def num_pdb_violations(self) -> int:
        """Victims that violate a budget."""
        return sum(bool(victim.violates) for victim in self.victims)

    @property
    def highest_priority(self) -> int:
        """The highest priority of the victims."""
        return priority_of(self.victims[0].pod)

    @property
    def sum_priorities(self) -> int:
        """The sum of the victims' priorities, each with 2^31 added."""
        return sum(priority_of(victim.pod) + _OFFSET for victim in self.victims)

    @property
    def earliest_start(self) -> datetime | None:
        """The earliest start of those with the highest priority; None: none has started (GetEarliestPodStartTime)."""
        top = (victim.pod for victim in self.victims if priority_of(victim.pod) == self.highest_priority)
        return min((start for pod in top if (start := start_of(pod)) is not None), default=None)

    @property
    def grace_seconds(self) -> int:
        """How long the victims may take to go; the pod does not fit before, and others may come first.

        It is the period in force of a pod that is going already, else its own; the scheduler asks for no other.
        """
        longest = 0
        for pod in (victim.pod for victim in self.victims):
            begun, own = pod.metadata.deletion_grace_period_seconds, pod.spec.termination_grace_period_seconds
            seconds = own if begun is None else begun
            longest = max(longest, _DEFAULT_GRACE_SECONDS if seconds is None else seconds)
        return longest


def select_victims_on_node(
    trial: NodeTrial, node: str, pods: Sequence[Pod], preemptor: Pod, budgets: Sequence[PodDisruptionBudget]
) -> Candidate | Status:
    """The victims among a node's pods, or why there is no candidate there."""
    potential = [pod for pod in pods if is_preemption_allowed(pod, preemptor)]
    if not potential:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (NO_VICTIMS,))
    for pod in potential:
        trial = trial.remove_pod(pod)
    status = trial.status()
    if not status.ok:
        return status
    judged = with_violations(by_importance(potential), budgets)
    # Sorting keeps the order among those that violate and among those that do not.
    gone: set[int] = set()
    for place in sorted(range(len(judged)), key=lambda place: not judged[place].violates):
        trial = trial.add_pod(judged[place].pod)
        if not trial.status().ok:
            trial = trial.remove_pod(judged[place].pod)
            gone.add(place)
    if not gone:
        return Status(Code.ERROR, (f'expected at least one victim pod on node "{node}"',))
    return Candidate(node, tuple(victim for place, victim in enumerate(judged) if place in gone))


# Which candidate is taken: criteria in order, each keeps the best of what the one before has left.
#
#     1. the fewest victims that violate a budget
#     2. the lowest priority of the most important victim
#     3. the smallest sum of priorities, 2^31 added to each
#     4. the fewest victims
#     5. the latest start of the most important victims: of each node the earliest among its victims with the highest
#        priority; a pod that has not started starts now
#     6. any of those that are left


class Criterion(StrEnum):
    """What decides between candidates."""

    FEWEST_PDB_VIOLATIONS = "fewestPDBViolations"
    LOWEST_TOP_PRIORITY = "lowestTopPriority"
    SMALLEST_PRIORITY_SUM = "smallestPrioritySum"
    FEWEST_VICTIMS = "fewestVictims"
    LATEST_START = "latestStart"
    FIRST = "first"
    """Nothing does: any of several may be taken."""


class NodeChoice(Struct, frozen=True):
    """What the criteria leave."""

    best: tuple[str, ...]
    """The nodes that tie at every criterion, in the order of the candidates; several: any of them may be taken."""
    decided_by: Criterion | None
    """The last criterion that was needed; None: there was at most one candidate."""


_NOW: Final = datetime.max.replace(tzinfo=UTC)
_COSTS: Final[Mapping[Criterion, Callable[[Candidate], Any]]] = {
    Criterion.FEWEST_PDB_VIOLATIONS: lambda candidate: candidate.num_pdb_violations,
    Criterion.LOWEST_TOP_PRIORITY: lambda candidate: candidate.highest_priority,
    Criterion.SMALLEST_PRIORITY_SUM: lambda candidate: candidate.sum_priorities,
    Criterion.FEWEST_VICTIMS: lambda candidate: len(candidate.victims),
    Criterion.LATEST_START: lambda candidate: _NOW - (candidate.earliest_start or _NOW),
}
"""In order; the least is the best."""


def select_candidate(candidates: Sequence[Candidate]) -> NodeChoice:
    """Apply the criteria until one candidate is left."""
    left = list(candidates)
    if len(left) <= 1:
        return NodeChoice(tuple(candidate.node for candidate in left), None)
    for criterion, cost in _COSTS.items():
        costs = [cost(candidate) for candidate in left]
        least = min(costs)
        left = [candidate for candidate, own in zip(left, costs, strict=True) if own == least]
        if len(left) == 1:
            return NodeChoice((left[0].node,), criterion)
    return NodeChoice(tuple(candidate.node for candidate in left), Criterion.FIRST)
