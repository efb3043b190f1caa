"""What happens when a pod fits nowhere: the PostFilter plugins in order, DynamicResources and DefaultPreemption.

    DynamicResources    gives back or deletes a claim that is no use, or says that there is nothing to give back; it
                        never makes the pod schedulable at once. Error (``not found``) when PreFilter ended before it
    DefaultPreemption   preemption: <why not>, or Success with a node that is nominated:
        eligible        `default_preemption`
        potential       nodes with the verdict Unschedulable; those that are UnschedulableAndUnresolvable, or that
                        PreFilter left out, are not examined
        candidates      potential nodes with victims (`victims`); the best is nominated
        no candidate    the nomination that the pod has is taken back; the reasons are counted as for Filter
    merging             the first Success ends it and its reasons are all; so do UnschedulableAndUnresolvable and Error;
                        otherwise the reasons of all add up, and the first plugin is named
    message             FitError's sentence, then the reasons, joined by commas

kube-scheduler examines a sample of a large cluster's nodes (`num_candidates`); here all potential nodes are examined.
Extenders are not asked. PreFilter can also answer Unschedulable, which makes every node potential; none of
kube-scheduler's own plugins does.

Source, at v1.36.3: RunPostFilterPlugins in pkg/scheduler/framework/runtime/framework.go;
pkg/scheduler/framework/preemption/preemption.go (Preempt, findCandidates, DryRunPreemption);
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go; schedulingAlgorithm in
pkg/scheduler/schedule_one.go; FitError in pkg/scheduler/framework/types.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.scheduler.cycle import FilterResult, fit_error
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.plugins.default_preemption import (
    NAME,
    DefaultPreemptionArgs,
    is_preemption_allowed,
    is_terminating_by_preemption,
    never_preempts,
    num_candidates,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources
from podrules.scheduling.scheduler.plugins.dynamic_resources.plugin import NOT_AVAILABLE
from podrules.scheduling.scheduler.preemption.victims import (
    Candidate,
    NodeChoice,
    Trials,
    select_candidate,
    select_victims_on_node,
)

NOT_ELIGIBLE_NEVER: Final = "not eligible due to preemptionPolicy=Never."
NOT_ELIGIBLE_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"

_DYNAMIC_RESOURCES: Final = DynamicResources()
_NO_CHOICE: Final = NodeChoice((), None)


class Preemption(Struct, frozen=True):
    """What DefaultPreemption found."""

    not_eligible: str = ""
    """Why the pod may not preempt now, in upstream's words; empty: it may."""
    potential_nodes: tuple[str, ...] = ()
    """Nodes that were examined."""
    candidates: tuple[Candidate, ...] = ()
    no_candidate: Mapping[str, Status] = {}
    """Potential nodes that removing pods does not make fit, each with its verdict once they are removed."""
    choice: NodeChoice = _NO_CHOICE
    num_candidates: int = 0
    """The number of candidates after which kube-scheduler stops, once one of them violates no budget."""

    @property
    def error(self) -> str:
        """What went wrong on potential nodes, as upstream puts several errors together; empty: nothing."""
        statuses = (status for status in self.no_candidate.values() if status.code is Code.ERROR)
        texts = list(dict.fromkeys(" ".join(status.reasons) for status in statuses))
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""

    @property
    def samples(self) -> bool:
        """Whether kube-scheduler may choose among some of the candidates only, from a random node on."""
        return len(self.candidates) > self.num_candidates


class PostFilter(Struct, frozen=True):
    """What all PostFilter plugins came to."""

    status: Status
    """Success: pods go, and the pod is nominated. Its reasons stand at the end of the PodScheduled condition."""
    nominates: tuple[str, ...] | None
    """The pod's nominated node becomes one of these; empty: it is taken back; None: it stays as it is."""
    preemption: Preemption | None
    """None: DefaultPreemption did not run."""
    message: str
    """What the PodScheduled condition says (FitError.Error)."""

    @property
    def nominated_node_name(self) -> str | None:
        """The nominated node afterwards, empty for none; None where it stays, or is any of several."""
        if self.nominates is None or len(self.nominates) > 1:
            return None
        return self.nominates[0] if self.nominates else ""

    @property
    def best(self) -> tuple[Candidate, ...]:
        """The candidates from which one is chosen."""
        if self.preemption is None:
            return ()
        chosen = self.preemption.choice.best
        return tuple(candidate for candidate in self.preemption.candidates if candidate.node in chosen)


def preempt(filtered: FilterResult, budgets: Sequence[PodDisruptionBudget]) -> PostFilter:
    """What a pod that fits nowhere comes to: in its cycle no node is feasible, and there is no error."""
    context = filtered.context
    reasons: list[str] = []
    first = ""
    nominates: tuple[str, ...] | None = None
    preemption: Preemption | None = None
    for name in filtered.framework.post_filter:
        if name == _DYNAMIC_RESOURCES.name:
            # Without its gate the plugin is none of the defaults.
            if not context.features.dynamic_resource_allocation:
                continue
            unavailable = (
                context.table.index[node]
                for node, verdict in filtered.rejected.items()
                if verdict.plugin == name and NOT_AVAILABLE in verdict.reasons
            )
            if name in context.states and name in {plugin.name for plugin in filtered.framework.pre_filter}:
                status = _DYNAMIC_RESOURCES.post_filter(context, context.states[name], tuple(unavailable))
            else:
                status = Status(Code.ERROR, ("not found",))
        else:
            preemption, status, nominates = _default_preemption(filtered, budgets)
        if status.ok:
            return _ended(filtered, status, nominates, preemption)
        if status.code is Code.ERROR:
            return _ended(filtered, replace(status, plugin=name), None, preemption)
        reasons += status.reasons
        first = first or name
    if not first:
        # No plugin ran; the nomination is taken back all the same.
        return _ended(filtered, Status(Code.UNSCHEDULABLE), (), None)
    return _ended(filtered, Status(Code.UNSCHEDULABLE, tuple(reasons), first), nominates, preemption)


def potential_rows(filtered: FilterResult) -> list[int]:
    """Rows that reject the pod in a way that removing pods may help (NodesForStatusCode)."""
    index = filtered.context.table.index
    judged = {**filtered.rejected, **filtered.nominated}
    return [index[name] for name, status in judged.items() if status.code is Code.UNSCHEDULABLE]


def _ended(
    filtered: FilterResult, status: Status, nominates: tuple[str, ...] | None, preemption: Preemption | None
) -> PostFilter:
    reasons = ", ".join(status.reasons)
    return PostFilter(status, nominates, preemption, f"{filtered.message} {reasons}" if reasons else filtered.message)


def _default_preemption(
    filtered: FilterResult, budgets: Sequence[PodDisruptionBudget]
) -> tuple[Preemption, Status, tuple[str, ...] | None]:
    """DefaultPreemption's part, with the nodes that it nominates (Preempt)."""
    names = filtered.context.table.names
    rows = potential_rows(filtered)
    potential = tuple(names[row] for row in rows)
    reason = _why_not_eligible(filtered)
    if reason:
        return Preemption(reason, potential), _unschedulable(reason), None
    found = _dry_run(filtered, rows, budgets)
    if found.candidates:
        # Of several nodes that are equally good, the first is named; upstream takes any.
        node, text = found.choice.best[0], tuple[str, ...]()
        if filtered.context.features.preemption_message:
            count = next(len(candidate.victims) for candidate in found.candidates if candidate.node == node)
            text = (f"preemption: found a potential placement for pod on node {node}, preempting {count} victims",)
        return found, Status(Code.SUCCESS, text), found.choice.best
    if found.error:
        return found, Status(Code.ERROR, (f"preemption: {found.error}",)), None
    counts = Counter(reason for status in found.no_candidate.values() for reason in status.reasons)
    absent = len(names) - len(found.no_candidate)
    if absent:
        counts[NOT_HELPFUL] += absent
    return found, _unschedulable(fit_error(len(names), counts)), ()


def _unschedulable(text: str) -> Status:
    return Status(Code.UNSCHEDULABLE, (f"preemption: {text}",))


def _why_not_eligible(filtered: FilterResult) -> str:
    """Empty when the pod may preempt (PodEligibleToPreemptOthers)."""
    context, pod = filtered.context, filtered.context.pod
    if never_preempts(pod):
        return NOT_ELIGIBLE_NEVER
    status = filtered.rejected.get(pod.status.nominated_node_name)
    if status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        # There is no nomination, or nothing of it holds any more: nodes that Filter did not look at are unresolvable.
        return ""
    on_node = context.table.pods.on(context.table.index[pod.status.nominated_node_name])
    waits = any(is_preemption_allowed(other, pod) and is_terminating_by_preemption(other) for other in on_node)
    return NOT_ELIGIBLE_TERMINATING if waits else ""


def _dry_run(filtered: FilterResult, rows: Sequence[int], budgets: Sequence[PodDisruptionBudget]) -> Preemption:
    """Look at every potential node (findCandidates)."""
    context = filtered.context
    trials = Trials(filtered)
    candidates: list[Candidate] = []
    no_candidate: dict[str, Status] = {}
    for row in rows:
        name, pods = context.table.names[row], context.table.pods.on(row)
        found = select_victims_on_node(trials.of(row, pods), name, pods, context.pod, budgets)
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            no_candidate[name] = found
    args = context.args.get(NAME) or DefaultPreemptionArgs()
    enough = num_candidates(args, len(rows))
    kept = tuple(candidates) if enough else ()
    return Preemption(
        potential_nodes=tuple(context.table.names[row] for row in rows),
        candidates=kept,
        no_candidate=no_candidate,
        choice=select_candidate(kept),
        num_candidates=enough,
    )
