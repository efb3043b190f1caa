"""Whether a pod can be deleted without grace, in one sentence, and what is safer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.render.page import Severity
from kubectl_plugin.reports.deletion import DeletionReport, Stakes
from kubectl_plugin.views.platform_words import PROVIDER
from kubectl_plugin.views.safety_words import guarded, owner_risk, reach_words, unfenced_from
from kubectl_plugin.views.words import listed
from podrules.reachability import Reach
from podrules.safety import ForceSafety, Guarantee, force_safety

__all__ = ["force_severity", "is_idle", "safe_or_not", "safer"]

_SECOND: Final = {
    Guarantee.AT_MOST_ONE: "{owner} may start a second {name}",
    Guarantee.AVAILABILITY_FIRST: "{owner} may start a replacement",
    Guarantee.ONE_PER_NODE: "{owner} may start the next copy on this node",
    Guarantee.RUNS_TO_COMPLETION: "{owner} may start the work again",
    Guarantee.UNKNOWN: "{owner} may start a second copy",
}
_SEVERITIES: Final = {
    ForceSafety.SAFE: Severity.FINE,
    ForceSafety.STOPS_NOTHING: Severity.NOTICE,
    ForceSafety.NO_PROMISE_BROKEN: Severity.NOTICE,
    ForceSafety.UNKNOWN: Severity.TROUBLE,
    ForceSafety.NOT_SAFE: Severity.TROUBLE,
    ForceSafety.NOT_SAFE_YET: Severity.TROUBLE,
}


def safe_or_not(report: DeletionReport, stakes: Stakes, now: datetime | None) -> str:
    """``Not safe yet: node-c3 is silent …, so its processes may still run, and StatefulSet db may start …``."""
    owner = owner_risk(stakes.owner, report.name, idle=is_idle(report, stakes))
    then = f"{_second_copy(report, stakes)}{_writers(stakes)}"
    match _safety(report, stakes):
        case ForceSafety.SAFE:
            return f"Safe: {owner}."
        case ForceSafety.STOPS_NOTHING:
            return f"It stops nothing: {owner}."
        case ForceSafety.NOT_SAFE_YET:
            return f"Not safe yet: {reach_words(stakes.node, None, now)}, so its processes may still run{then}."
        case ForceSafety.UNKNOWN:
            why = PROVIDER if stakes.node.provider else reach_words(stakes.node, None, now)
            return f"Not known to be safe: {why}, so its processes may run on{then}."
        case ForceSafety.NOT_SAFE:
            return f"Not safe: its processes may outlive its object{then}."
        case ForceSafety.NO_PROMISE_BROKEN:
            return f"No promise is broken, but its processes get little time: {owner}."


def safer(stakes: Stakes, *, idle: bool) -> Iterator[str]:
    """What there is to do in place of it."""
    name, reach = stakes.node.name, stakes.node.reach
    if reach is Reach.GONE:
        yield "Safer: find out first whether its machine is off."
    elif reach is Reach.OUT_OF_SERVICE:
        yield "Safer: a deletion with grace, because pod garbage collection removes what is deleted there."
    elif reach.quiet:
        yield f"Safer: fence {name} once its machine is off."
    elif stakes.deleted is None and not idle and stakes.owner.guarantee is not Guarantee.KUBELET_OWNED:
        yield "Safer: a deletion with grace."


def force_severity(report: DeletionReport, stakes: Stakes) -> Severity:
    """Of the page and of the verdict."""
    return _SEVERITIES[_safety(report, stakes)]


def is_idle(report: DeletionReport, stakes: Stakes) -> bool:
    """Whether its kubelet tells that no container of it runs."""
    node = stakes.node
    told = not (node.ends_unknown or node.reach is Reach.UNKNOWN or report.plan.static)
    return told and not report.plan.containers


def _safety(report: DeletionReport, stakes: Stakes) -> ForceSafety:
    node = stakes.node
    known = node.reach.quiet or not (node.provider or node.reach is Reach.UNKNOWN)
    return force_safety(
        stakes.owner.guarantee,
        answers=not node.reach.quiet if known else None,
        idle=is_idle(report, stakes),
        unprotected=any(unfenced_from(guard, stakes.node.reach) for guard in stakes.volumes),
    )


def _second_copy(report: DeletionReport, stakes: Stakes) -> str:
    owner = f"{stakes.owner.kind} {stakes.owner.name}"
    words = _SECOND.get(stakes.owner.guarantee, "")
    return f", and {words.format(owner=owner, name=report.name)}" if words else ""


def _writers(stakes: Stakes) -> str:
    """The volumes to which two may write; nobody does beside a pod that is not replaced."""
    if stakes.owner.guarantee is Guarantee.NOT_REPLACED:
        return ""
    found = [(guard, unfenced_from(guard, stakes.node.reach)) for guard in stakes.volumes]
    named = [f"{guard.volume} ({': '.join(filter(None, (guarded(guard), words)))})" for guard, words in found if words]
    return f": both would write to {'volume' if len(named) == 1 else 'volumes'} {listed(named)}" if named else ""
