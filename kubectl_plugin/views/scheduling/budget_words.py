"""What PodDisruptionBudgets let go of pods to come, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.views.words import counted, listed
from podrules.placement.planned import PlannedBudget

__all__ = ["blocked_words", "budget_section", "budgets_table"]

_NAMED: Final = 3
_UNCOUNTED: Final = "how many may go is not known: it counts by controllers, and those of the other pods are not asked"


def blocked_words(budgets: Sequence[PlannedBudget]) -> Iterator[str]:
    """Which pods are never evicted, even if all are Ready; a drain passes over those of DaemonSets."""
    drained = [budget for budget in budgets if _waits(budget)]
    yield from dict.fromkeys(
        f"No pod of {listed(_drained(budget), most=_NAMED)} can be evicted: PodDisruptionBudget"
        f"{'s' if budget.beside else ''} {why}. A drain of its node {_waits(budget)}."
        for budget in drained
        if (why := _blocked(budget))
    )


def budgets_table(budgets: Sequence[PlannedBudget]) -> Table:
    """A line for each budget."""
    rows = tuple((_count(one), one.name, "; ".join(_why(one))) for one in budgets)
    title = "PodDisruptionBudgets, once all pods that have a place are Ready"
    return Table(title, ("evicted at once", "budget", "why"), rows, right=frozenset({0}))


def budget_section(budgets: Sequence[PlannedBudget]) -> Section:
    """The budgets of the pods that a manifest makes; no lines where there are none."""
    return Section("Budget", tuple(dict.fromkeys(map(_told, budgets))))


def _told(budget: PlannedBudget) -> str:
    room, why = budget.room, _blocked(budget)
    if why:
        waits = f", and a drain {_waits(budget)}" if _waits(budget) else ""
        return f"{why}: none can be evicted{waits}"
    lead = f"{budget.name} ({_setting(budget)})"
    if room is None:
        return f"{lead}: {_UNCOUNTED}"
    return f"{lead} lets {room.allowed or 'none'} of {counted(room.expected, 'pod')} go at once, if all are Ready"


def _drained(budget: PlannedBudget) -> Sequence[str]:
    return [name for name in budget.specs if not name.startswith("daemonset/")]


def _waits(budget: PlannedBudget) -> str:
    """How long a drain waits for a pod that is not evicted; empty: it passes over all of them."""
    drained = _drained(budget)
    if not drained:
        return ""
    ends = all(name.partition("/")[0] in {"job", "cronjob"} for name in drained)
    return "waits until the pod ends" if ends else "waits for ever"


def _count(budget: PlannedBudget) -> str:
    room = budget.room
    if budget.beside or (room is not None and room.failure):
        return "none"
    if room is None:
        return "not known"
    return f"{room.allowed or 'none'} of {room.expected}"


def _why(budget: PlannedBudget) -> Iterator[str]:
    room = budget.room
    others = f" and {counted(budget.others, 'other pod')} of the cluster" if budget.others else ""
    yield f"{_setting(budget)} of {listed(budget.specs, most=_NAMED)}{others}"
    if budget.beside:
        also = "selects" if len(budget.beside) == 1 else "select"
        yield f"{listed(budget.beside, most=_NAMED)} {also} some of them, too"
    elif room is None:
        yield _UNCOUNTED
    elif room.failure:
        yield room.failure
    elif room.healthy < room.expected:
        yield f"{room.healthy} of {counted(room.expected, 'pod')} {'is' if room.healthy == 1 else 'are'} Ready then"


def _blocked(budget: PlannedBudget) -> str:
    """Why none of its pods is ever evicted; empty: some may be, or more pods that are Ready would help."""
    room, lead = budget.room, f"{budget.name} ({_setting(budget)})"
    if budget.beside:
        names = listed(sorted([budget.name, *budget.beside]), most=_NAMED)
        return f"{names} select the same pods, and the API server evicts no pod of two budgets"
    if room is None:
        return ""
    if room.failure:
        return f"{lead} cannot count them, for {room.failure}"
    if not room.allowed and room.desired_healthy >= room.expected:
        needs = "its only pod" if room.expected == 1 else f"{room.desired_healthy} healthy pods of {room.expected}"
        return f"{lead} needs {needs}"
    return ""


def _setting(budget: PlannedBudget) -> str:
    if budget.max_unavailable is not None:
        return f"maxUnavailable {budget.max_unavailable}"
    return "no minAvailable" if budget.min_available is None else f"minAvailable {budget.min_available}"
