"""Whether a pod can be deleted without grace, and what is safer: the same words in each answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.reports.pod.deletion import Stakes
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.node.node_words import PROVIDER
from kubectl_plugin.views.pod.safety_words import (
    bound_words,
    collected_too_early,
    finalizer_words,
    guarded,
    holder_words,
    overdue_words,
    owner_risk,
    reach_words,
    unfenced_from,
)
from kubectl_plugin.views.words import listed
from podrules.ending.deleted_pod import StopPlan
from podrules.ending.volumes import WriterGuard
from podrules.node.lost_node import collected_within
from podrules.node.reachability import Reach
from podrules.pod.termination import GraceSource
from podrules.silent_node.forcing import has_another, lets_second_writer
from podrules.workload.owner_risk import NEXT_START, REPLACED
from podrules.workload.safety import ForceSafety, Guarantee

FORCE_LEADS: Final = {
    ForceSafety.SAFE: "Safe",
    ForceSafety.STOPS_NOTHING: "It stops nothing",
    ForceSafety.NO_PROMISE_BROKEN: "No promise is broken",
    ForceSafety.UNKNOWN: "Not known to be safe",
    ForceSafety.NOT_SAFE: "Not safe",
    ForceSafety.NOT_SAFE_YET: "Not safe yet",
}
"""The beginning of each answer about a force deletion."""
FORCE_SEVERITIES: Final = {
    ForceSafety.SAFE: Severity.FINE,
    ForceSafety.STOPS_NOTHING: Severity.NOTICE,
    ForceSafety.NO_PROMISE_BROKEN: Severity.NOTICE,
    ForceSafety.UNKNOWN: Severity.TROUBLE,
    ForceSafety.NOT_SAFE: Severity.TROUBLE,
    ForceSafety.NOT_SAFE_YET: Severity.TROUBLE,
}


def no_process_words(plan: StopPlan) -> str:
    """Why a pod has no process."""
    return "it is on no node yet" if plan.grace.source is GraceSource.NOT_SCHEDULED else "its processes have ended"


def safe_or_not(name: str, stakes: Stakes, now: datetime | None, held: Sequence[str] = ()) -> str:
    """``Not safe yet: node-c3 is silent …, and StatefulSet db may start …``; ``held``: finalizers keep its object."""
    lead = FORCE_LEADS[stakes.safety]
    owner = owner_risk(stakes.owner, idle=stakes.safety is ForceSafety.SAFE)
    named = held and stakes.owner.guarantee is Guarantee.AT_MOST_ONE
    then = _next_copy(name, stakes, f" once {finalizer_words(held, 'is', 'are')} done" if named else "")
    match stakes.safety:
        case ForceSafety.SAFE:
            return f"{lead}: {owner}."
        case ForceSafety.STOPS_NOTHING:
            return f"{lead}: the pod is static, and the API has only its mirror."
        case ForceSafety.NOT_SAFE_YET:
            return f"{lead}: {reach_words(stakes.node, None, now)}, so its processes may still run{then}."
        case ForceSafety.UNKNOWN:
            why = PROVIDER if stakes.node.provider else reach_words(stakes.node, None, now)
            return f"{lead}: {why}, so its processes may run on{then}."
        case ForceSafety.NOT_SAFE:
            return f"{lead}: its processes may outlive its object{then}."
        case ForceSafety.NO_PROMISE_BROKEN:
            until = stakes.may_run_until
            late = until is not None and now is not None and now > until
            risk = "may run on unseen" if late else "get little time"
            return f"{lead}, but its processes {risk}: {owner}."


def safer(stakes: Stakes, now: datetime | None, held: Sequence[str] = (), *, forcible: bool = True) -> Iterator[str]:
    """What to do instead; ``held``: finalizers keep its object; ``forcible``: force is not refused."""
    name, reach = stakes.node.name, stakes.node.reach
    if stakes.deleted is not None and held:
        yield f"It removes nothing: {holder_words(held)}."
    if reach is Reach.GONE:
        yield "Safer: find out first whether its machine is off."
    elif (within := collected_within(reach, deleted=stakes.deleted is not None)) is not None:
        if late := overdue_words(stakes.collected_by, now):
            yield f"{late}."
        elif not (held and reach.quiet):
            wait = f"wait, because pod garbage collection removes its object within {within} s"
            yield f"Safer: {wait if reach.quiet else collected_too_early(stakes.node)}."
    elif reach is Reach.OUT_OF_SERVICE:
        yield "Safer: a deletion with grace, because pod garbage collection removes pods deleted there."
    elif reach.quiet:
        leaves = ", and then a deletion with grace: the pod tolerates the taint of the fence" if stakes.stays else ""
        yield f"Safer: fence {name} once its machine is off{leaves}."
        if (found := stakes.members) is not None and found.may_remove and forcible:
            others = f"the other {len(found.live)} of {found.replicas} are a majority"
            where = f", where {others}" if found.votes else f" if a majority decides there: {others}"
            empty = "empty its volume, and " if stakes.volumes else ""
            yield f"Or remove it in the application{where}; {empty}add --confirm."
    elif stakes.deleted is None and stakes.safety not in {ForceSafety.SAFE, ForceSafety.STOPS_NOTHING}:
        back = reach is Reach.BACK_NOT_READY
        held_back = " (its budget would refuse an eviction)" if stakes.eviction_refused is not None else ""
        yield f"Safer: {collected_too_early(stakes.node) if back else f'a deletion with grace{held_back}'}."


def two_writers(guards: Sequence[WriterGuard], reach: Reach) -> str:
    """``both would write to volume data``; empty if no second writer is possible."""
    return _both_write([guard.volume for guard in guards if lets_second_writer(guard, reach)])


def _next_copy(name: str, stakes: Stakes, once: str) -> str:
    owner = f"{stakes.owner.kind} {stakes.owner.name}"
    another = has_another(stakes.owner.guarantee, stakes.node.reach, deleted=stakes.deleted is not None)
    if not (words := REPLACED if another else NEXT_START.get(stakes.owner.guarantee, "")):
        return _writers(stakes)
    if bound := bound_words(stakes.volumes, stakes.node, pending=True):
        return f", and {bound}"
    bound = bound_words(stakes.volumes, stakes.node)
    return f", and {words.format(owner=owner, pod=name)}{once}{_writers(stakes)}{bound and f'; {bound}'}"


def _writers(stakes: Stakes) -> str:
    """The volumes that two pods may write to; none if the pod is not replaced."""
    if stakes.owner.guarantee is Guarantee.NOT_REPLACED:
        return ""
    found = [(guard, unfenced_from(guard, stakes.node.reach)) for guard in stakes.volumes]
    named = [f"{guard.volume} ({': '.join(filter(None, (guarded(guard), words)))})" for guard, words in found if words]
    return f": {_both_write(named)}" if named else ""


def _both_write(volumes: Sequence[str]) -> str:
    return f"both would write to {'volume' if len(volumes) == 1 else 'volumes'} {listed(volumes)}" if volumes else ""
