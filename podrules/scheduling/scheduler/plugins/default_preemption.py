"""DefaultPreemption's rules about pods: which pods may preempt which, in which order, and which budgets that violates.

    may preempt     a pod with a preemptionPolicy other than Never may preempt pods of lower priority (none is 0); not
                    while one that it preempted is still terminating on the node that it was nominated to, unless that
                    node has become UnschedulableAndUnresolvable
    importance      the higher priority, then the earlier start; a pod that has not started starts now. Pods that are
                    equal in both keep the order given; upstream's order of them is that of its cache
    violation       pods are taken in the order of importance: each takes one from the disruptionsAllowed of every
                    budget of its namespace with a matching selector, unless it is among the disruptedPods; it violates
                    those that fall below 0. Empty and unreadable selectors match nothing, pods without labels are not
                    examined
    candidates      kube-scheduler begins at a random node and stops when it has found
                    max(nodes * minCandidateNodesPercentage / 100, minCandidateNodesAbsolute) of them, at most as many
                    as there are nodes, at least one of them without a violated budget

Arguments: ``minCandidateNodesPercentage`` (10), ``minCandidateNodesAbsolute`` (100).

Gates that are off by default and not restated: those of pod groups. Source:
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, pkg/scheduler/util/utils.go,
pkg/scheduler/apis/config/validation/validation_pluginargs.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from podrules.api.model.base import Model
from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.selectors import Selector, SelectorError

NAME: Final = "DefaultPreemption"
PREEMPT_NEVER: Final = "Never"
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"

_NOW: Final = datetime.max.replace(tzinfo=UTC)
"""Later than every start."""

_Int32 = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class DefaultPreemptionArgs(Model, frozen=True):
    """``pluginConfig[].args`` of DefaultPreemption."""

    min_candidate_nodes_percentage: _Int32 = 10
    """Percent of the nodes where removing pods may help."""
    min_candidate_nodes_absolute: _Int32 = 100


class DefaultPreemption:
    """The plugin; `podrules.scheduling.scheduler.preemption` is its PostFilter."""

    name = NAME
    args_type = DefaultPreemptionArgs


class Victim(NamedTuple):
    """A pod that is to be removed, and the budgets that this violates."""

    pod: Pod
    violates: tuple[PodDisruptionBudget, ...]


def num_candidates(args: DefaultPreemptionArgs, nodes: int) -> int:
    """How many candidates are enough (calculateNumCandidates); with 0 none is kept, and nothing is preempted.

    ``nodes`` is how many reject the pod in a way that removing pods may help.
    """
    return min(max(nodes * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute), nodes)


def priority_of(pod: Pod) -> int:
    """The priority in force (PodPriority)."""
    return pod.spec.priority or 0


def start_of(pod: Pod) -> datetime | None:
    """When the kubelet took the pod; None: it has not started, which counts as now (GetPodStartTime)."""
    return instant(pod.status.start_time)


def never_preempts(pod: Pod) -> bool:
    """Whether the pod waits for room and cannot preempt."""
    return pod.spec.preemption_policy == PREEMPT_NEVER


def is_preemption_allowed(victim: Pod, preemptor: Pod) -> bool:
    """Whether one pod may be preempted for the other (isPreemptionAllowed)."""
    return priority_of(victim) < priority_of(preemptor)


def is_terminating_by_preemption(pod: Pod) -> bool:
    """Whether it is terminating because the scheduler preempted it (podTerminatingByPreemption)."""
    condition = pod.status.condition(DISRUPTION_TARGET)
    if pod.metadata.deletion_timestamp is None or condition is None:
        return False
    return condition.status == "True" and condition.reason == PREEMPTION_BY_SCHEDULER


def by_importance(pods: Iterable[Pod]) -> list[Pod]:
    """The most important first (MoreImportantPod)."""
    return sorted(pods, key=lambda pod: (-priority_of(pod), start_of(pod) or _NOW))


def with_violations(pods: Iterable[Pod], budgets: Sequence[PodDisruptionBudget]) -> list[Victim]:
    """The budgets that each pod would violate if all were removed in this order (filterPodsWithPDBViolation)."""
    selectors: list[Selector | None] = []
    for budget in budgets:
        try:
            written = budget.spec.selector
            selector = None if written is None else Selector.from_label_selector(written)
        except SelectorError:
            selector = None
        selectors.append(None if selector is None or selector.empty else selector)
    allowed = [budget.status.disruptions_allowed for budget in budgets]
    found: list[Victim] = []
    for pod in pods:
        violated: list[PodDisruptionBudget] = []
        metadata = pod.metadata
        for index, (budget, selector) in enumerate(zip(budgets, selectors, strict=True)):
            if (
                selector is not None
                and metadata.labels
                and metadata.namespace == budget.metadata.namespace
                and selector.matches(metadata.labels)
                and metadata.name not in budget.status.disrupted_pods
            ):
                allowed[index] -= 1
                if allowed[index] < 0:
                    violated.append(budget)
        found.append(Victim(pod, tuple(violated)))
    return found
