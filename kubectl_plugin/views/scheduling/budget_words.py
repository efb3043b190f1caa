"""The sentences about PodDisruptionBudgets: which evictions they allow, also of pods that do not exist yet."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.views.words import counted, listed
from podrules.api.model.pod import PodReference
from podrules.scheduling.placement.planned import Budgets, HeldPods, PlannedBudget, UnmovedPod
from podrules.workload.budget_risk import UNREADY_FIRST, BudgetRisk
from podrules.workload.disruption import budget_way, fails_drain

if TYPE_CHECKING:
    from kubectl_plugin.reports.related import BudgetReport

_REMEDIES: Final = {
    BudgetRisk.OVERLAPS: "two budgets select the same pods. Waiting does not help: let one of them select these pods",
    BudgetRisk.BLOCKS_ALWAYS: "every pod is needed.{waits} Way out: {way}",
    BudgetRisk.UNCOUNTED: "the pods cannot be counted. Waiting does not help: give minAvailable as a number",
    BudgetRisk.STALE: "{way}, and the disruption controller has not counted since: wait for it, and see that "
    "kube-controller-manager runs",
    BudgetRisk.UNHEALTHY: "pods that are not Ready are held too: unhealthyPodEvictionPolicy AlwaysAllow lets them be "
    "evicted, and also pods that are only starting",
    BudgetRisk.BLOCKS_NOW: "more pods have to be Ready first: check those that are not Ready or not made yet, and "
    "silent nodes",
    BudgetRisk.NOT_OBSERVED: "wait until the disruption controller has seen its newest spec",
}
"""The remedies for evictions that a budget blocks."""
_NEEDS: Final = re.compile(r"The disruption budget (\S+) needs (\d+) healthy pods and has (\d+) currently")
"""The API server's words for a budget without room."""
_PASSING: Final = frozenset({BudgetRisk.STALE, BudgetRisk.NOT_OBSERVED})
"""These end as soon as the disruption controller counts."""
_NAMED: Final = 3
_SENTENCES: Final = 3
_OTHERS_UNCOUNTED: Final = (
    "how many may be evicted is unknown: it counts by controllers, and those of the other pods are not read"
)
NO_SETTING: Final = "no setting"
_NODES_UNCOUNTED: Final = "how many may be evicted is unknown: a DaemonSet's number of pods depends on the nodes"


def remedy_words(risk: BudgetRisk, way: str = "") -> str:
    """The remedy for evictions that a budget blocks; ``way`` is the way out if it needs all pods."""
    waits = "" if way.startswith(UNREADY_FIRST) else " Waiting does not help."
    return _REMEDIES[risk].format(way=way, waits=waits)


def blocked_words(found: Budgets) -> Iterator[str]:
    """The pods that are never evicted, even if all are Ready; without DaemonSet pods, which a drain ignores."""
    sentences = [
        f"{_held_of(held)}.{f' A drain {_fails(held.name)}.' if held.name else ''}"
        for held in found.held
        if not held.name.startswith("daemonset/")
    ]
    names = _Names(found)
    for budget in found.budgets:
        specs, why = _drained(budget.specs), _blocked(budget, names.of(budget))
        if specs and why and budget.placed and budget.held < budget.pods:
            lead = _nothing_of(*specs, pods=budget.pods - budget.others, of=budget.pods_of_specs)
            # The remedy if waiting does not help.
            room, helps = budget.room, ""
            if room is not None and room.failure:
                helps = " Give minAvailable as a number: it counts the pods themselves."
            elif room is not None and not budget.may_grow:
                way = budget_way(budget.min_available, budget.max_unavailable, room.expected, budget.pods)
                helps = f" Way out: {way}."
            waits = f"A drain waits{_how_long(specs, budget)}.{helps}"
            sentences.append(f"{lead} be evicted: PodDisruptionBudget {why}. {waits}")
    yield from sentences[:_SENTENCES]
    if len(sentences) > _SENTENCES:
        yield f"The same is true for {len(sentences) - _SENTENCES} more (below)."


def drain_leads(held: Sequence[UnmovedPod], drain: str, *, more: bool = False) -> Iterator[str]:
    """Says if a drain stops, waits or fails because budgets hold pods.

    ``drain``: the subject of the sentence, such as ``A drain``; ``more``: other nodes follow.
    """
    waits = [entry for entry in held if not fails_drain(entry.detail)]
    if waits:
        names = dict.fromkeys(needs[1] for entry in waits if (needs := _NEEDS.fullmatch(entry.detail)))
        which = f"budgets {listed([*names], most=_NAMED)}" if len(names) > 1 else "budgets"
        why = f"{which} hold {counted(len(waits), 'pod')}"
        if is_one_hold(waits):
            pods, detail = listed([_name_of(entry.pod) for entry in waits], most=2), waits[0].detail
            needs = _NEEDS.fullmatch(detail)
            why = f"{_needs_words(needs)} holds {pods}" if needs else f"{pods}: {detail.rstrip('.')}"
        yield f"{drain} {ends_words(waits)}: {why}."
    if fails := len(held) - len(waits):
        lead, rest = f"{drain} fails:", f"; it evicts the others{', then continues with the next node' if more else ''}"
        lead, rest = ("Besides,", ", and fails") if waits else (lead, rest)
        yield f"{lead} kubectl drain does not retry {counted(fails, 'pod')} that PodDisruptionBudgets hold{rest}."


def is_one_hold(held: Sequence[UnmovedPod]) -> bool:
    """Whether the sentence about a drain names the budget and the pods that it holds: there is only one."""
    return len({(entry.pod.namespace, entry.detail) for entry in held if not fails_drain(entry.detail)}) == 1


def ends_words(held: Iterable[UnmovedPod]) -> str:
    """Says if a drain that retries only has to wait for the disruption controller."""
    return "waits" if all(entry.hold in _PASSING for entry in held) else "stops"


def hold_words(unmoved: Sequence[UnmovedPod]) -> Iterator[str]:
    """The remedy for pods that budgets hold, after the sentences of `drain_leads`."""
    held: dict[str, list[str]] = {}
    for entry in unmoved:
        named = is_one_hold(unmoved) and not fails_drain(entry.detail)
        held.setdefault(held_by(entry, named=named), []).append(_name_of(entry.pod))
    for words, names in held.items():
        yield f"{words[:1].upper()}{words[1:]}." if len(held) == 1 else f"{listed(names, most=2)}: {words}."


def held_by(entry: UnmovedPod, *, named: bool, replaced: Container[PodReference] = ()) -> str:
    """The budget that holds a pod, and the remedy.

    ``named``: the verdict names the budget already; ``replaced``: the evicted pods.
    """
    remedy = remedy_words(entry.hold, entry.way) if entry.hold is not None else ""
    if entry.unready:
        remedy = f"{remedy} (not Ready: {listed([_name_of(one) for one in entry.unready], most=2)})"
    elif entry.unready is not None:
        remedy = "more pods have to be Ready first: all existing ones are, so check why others are not made"
    if (lacks := entry.lacks) is not None:
        evicted = lacks in replaced
        which = f"the replacement of {_name_of(lacks)}" if evicted else f"pod {_name_of(lacks)}"
        remedy = f"{which} has to be Ready first, and fits on no node"
    if named:
        return remedy
    needs = _NEEDS.fullmatch(entry.detail)
    why = f"held by {_needs_words(needs)}" if needs else entry.detail.rstrip(".")
    return f"{why}; {remedy}" if remedy else why


def _needs_words(needs: re.Match[str]) -> str:
    return f"budget {needs[1]} ({needs[3]} healthy, {needs[2]} needed)"


def _name_of(pod: PodReference) -> str:
    return f"{pod.namespace}/{pod.name}"


def budgets_table(found: Budgets, *, replaced: bool) -> Table:
    """A table with a row for each budget; ``replaced``: existing pods are assumed to be gone."""
    names, rows = _Names(found), []
    for one in found.budgets:
        room, count = one.room, "unknown"
        if room is not None:
            none = room.failure or (one.held and one.held >= one.pods)
            count = "none" if none else f"{room.allowed or 'none'} of {one.pods}"
        rows.append((names.of(one), count, "; ".join(_why(one, found))))
    older = ", and older ones are gone" if replaced else ""
    title = f"PodDisruptionBudgets, once all pods that have a place are Ready{older}"
    return Table(title, ("budget", "evicted at once", "why"), tuple(rows))


def budget_section(found: Budgets) -> Section:
    """The budgets of the pods that a manifest makes; no lines if there are none."""
    held = [f"{_held_of(one)}{f'; a drain {_fails(one.name)}' if _drained([one.name]) else ''}" for one in found.held]
    return Section("Budget", (*held, *map(_allows_words, found.budgets)))


class _Names:
    """Names of budgets, with namespaces if these differ."""

    def __init__(self, found: Budgets) -> None:
        self._several = len({one.namespace for one in found.budgets}) > 1

    def of(self, budget: PlannedBudget) -> str:
        return f"{budget.namespace}/{budget.name}" if self._several else budget.name


def _held_of(held: HeldPods) -> str:
    """``2 of 3 pods of statefulset/db cannot be evicted: …``."""
    names = listed(held.budgets, most=_NAMED)
    why = f"PodDisruptionBudgets {names} select the same pods, and the API server evicts no pod that several select"
    if not held.name:
        return f"{counted(held.pods, 'other pod')} of the cluster cannot be evicted: {why}"
    return f"{_nothing_of(held.name, pods=held.pods, of=held.of)} be evicted: {why}"


def _nothing_of(*names: str, pods: int, of: int) -> str:
    """``No pod of deployment/web can``, ``1 of 3 pods of statefulset/db cannot``."""
    if len(names) == 1 and names[0].startswith("pod/"):
        return f"{names[0]} cannot"
    if pods < of:
        return f"{pods} of {counted(of, 'pod')} of {listed(names, most=_NAMED)} cannot"
    return f"No pod of {listed(names, most=_NAMED).replace(' and ', ' or ')} can"


def _allows_words(budget: PlannedBudget) -> str:
    room, why = budget.room, _blocked(budget, budget.name)
    if why:
        counts = room is not None and not room.failure and setting_words(budget) != NO_SETTING
        among = " in these files" if counts else ""
        waits = f"; a drain waits{_how_long(budget.specs, budget)}" if _drained(budget.specs) else ""
        return f"{why}{among}, so none can be evicted{waits}"
    lead = f"{budget.name} ({setting_words(budget)})"
    if room is None:
        return f"{lead}: {_NODES_UNCOUNTED}"
    count = f"{room.allowed or 'none'} of {counted(budget.pods, 'pod')}"
    return f"{lead} lets {count} in these files be evicted at once, if all are Ready"


def _drained(specs: Sequence[str]) -> Sequence[str]:
    return [name for name in specs if not name.startswith("daemonset/")]


def _fails(name: str) -> str:
    """What a drain does with pods that several budgets select."""
    return f"fails{_how_long([name])}".removesuffix(" for ever")


def _how_long(specs: Sequence[str], budget: PlannedBudget | None = None) -> str:
    """How long a drain waits for pods that are not evicted; more pods may satisfy a budget."""
    if budget is not None and budget.may_grow and budget.room is not None and not budget.room.failure:
        return " until there are more pods"
    ends = all(name.partition("/")[0] in {"job", "cronjob"} for name in _drained(specs))
    return " until they end" if ends else " for ever"


def _why(budget: PlannedBudget, found: Budgets) -> Iterator[str]:
    room = budget.room
    others = f" and {counted(budget.others, 'other pod')} of the cluster" if budget.others else ""
    yield f"{setting_words(budget)} of {listed(budget.specs, most=_NAMED)}{others}"
    if budget.held:
        # Another budget that the API server names may have the same name here.
        names: set[str] = set()
        for held in found.held:
            if held.namespace == budget.namespace and budget.name in held.budgets:
                beside = list(held.budgets)
                beside.remove(budget.name)
                names.update(beside)
        rest, also = sorted(names), "selects" if len(names) == 1 else "select"
        yield f"{listed(rest, most=_NAMED)} {also} {budget.held} of them too: those are never evicted"
    if room is None:
        yield _OTHERS_UNCOUNTED if budget.others else _NODES_UNCOUNTED
    elif room.failure:
        yield room.failure
    elif room.healthy < budget.pods:
        are = "is" if 1 in {room.healthy, budget.pods} else "are"
        yield f"{room.healthy} of {counted(budget.pods, 'pod')} {are} Ready then"


def _blocked(budget: PlannedBudget, name: str) -> str:
    """Why none of its pods is ever evicted; empty if some may be, or if more Ready pods would help."""
    room, lead = budget.room, f"{name} ({setting_words(budget)})"
    if room is None:
        return ""
    if room.failure:
        return f"{lead} cannot count them: {room.failure}"
    if setting_words(budget) == NO_SETTING:
        return f"{name} sets neither minAvailable nor maxUnavailable"
    if room.allowed or room.desired_healthy < budget.pods:
        return ""
    if room.desired_healthy == budget.pods == 1:
        return f"{lead} needs its only pod"
    return f"{lead} needs {room.desired_healthy} healthy pods of {budget.pods}"


def setting_words(budget: PlannedBudget | BudgetReport) -> str:
    """``maxUnavailable 1``."""
    if budget.max_unavailable is not None:
        return f"maxUnavailable {budget.max_unavailable}"
    return NO_SETTING if budget.min_available is None else f"minAvailable {budget.min_available}"
