"""Which pods of a node would have to go (the dry run on one node).

    1. all pods that the preemptor may preempt are taken away; it has to fit then. Affinity of the preemptor to one of
       them is lost with them, and the node with it
    2. they are put back one by one, and stay if the preemptor still fits: first those that would violate a budget,
       then the others, each the most important first
    3. the victims are those that could not be put back, the most important first; a violation is counted for each
       victim that violates a budget

Budgets are best effort: they decide which pods are put back first and which node is chosen, and protect no pod.

Source: SelectVictimsOnNode in pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.plugins.default_preemption import (
    Victim,
    by_importance,
    is_preemption_allowed,
    priority_of,
    start_of,
    with_violations,
)
from podrules.scheduling.scheduler.preemption.trial import NodeTrial

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
        """How long the victims may take to go; the pod does not fit before, and others may come first."""
        return max(_grace_seconds(victim.pod) for victim in self.victims)


def _grace_seconds(pod: Pod) -> int:
    """The period in force for a pod that is going already, else its own; the scheduler asks for no other."""
    begun, own = pod.metadata.deletion_grace_period_seconds, pod.spec.termination_grace_period_seconds
    return next((seconds for seconds in (begun, own) if seconds is not None), _DEFAULT_GRACE_SECONDS)


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
