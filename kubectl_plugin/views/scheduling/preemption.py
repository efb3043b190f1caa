"""The sentences about preemption: the pods that would be, are being and were preempted for a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from kubectl_plugin.render.page import Section
from kubectl_plugin.views.pod.safety_words import reach_words
from kubectl_plugin.views.scheduling.changes import pods_on_nodes
from kubectl_plugin.views.words import bounded, clock, counted, cut, listed
from podrules.api.model.instant import instant
from podrules.api.model.pod import PodReference
from podrules.node.lost_node import collected_within
from podrules.scheduling.placement.preemption_victims import (
    NominatedNode,
    NoRoom,
    PreemptedFor,
    PreemptionPreview,
    PreemptionRecord,
    Preemptor,
    Preemptors,
)
from podrules.scheduling.scheduler.queue import QueuePosition

_SHOWN = 3
_DENIED = "kube-scheduler found no victims when it last tried"
_CRITERIA = {
    "fewestPDBViolations": "it violates the fewest PodDisruptionBudgets",
    "lowestTopPriority": "its most important victim has the lowest priority",
    "smallestPrioritySum": "its victims' priorities have the smallest sum",
    "fewestVictims": "it has the fewest victims",
    "latestStart": "its most important victims started last",
    "first": "several nodes are equal",
}
_NEVER = "not eligible due to preemptionPolicy=Never."


def disabled_words(field: str) -> str:
    """Why a scheduler preempts no pod, with the field of its profile."""
    return f"its scheduler's profile disables DefaultPreemption ({field})"


def room_words(preview: PreemptionPreview, *, denied: bool) -> str:
    """For a verdict: the pods that the scheduler preempts, or why preemption makes no room."""
    pods, node = counted(len(preview.victims), "pod"), preview.nodes[0]
    if any(victim.is_static for victim in preview.victims):
        return f"Preemption makes no room on {node}: it would delete the object of a static pod, which keeps running."
    if denied:
        return f"Preemption: {_DENIED}; by what was read, {pods} on {node} would be preempted."
    violated = list(dict.fromkeys(budget for victim in preview.victims for budget in victim.violates))
    against = f", against {_budgets(violated)}" if violated else ""
    names = _pods([victim.pod for victim in preview.victims])
    return f"The scheduler would preempt {names} on {node} for it, within {preview.grace_seconds} s{against}."


def preemption_words(preview: PreemptionPreview, *, wide: bool) -> Iterator[str]:
    """The pods that a pod would preempt, or why it preempts none."""
    if preview.not_eligible:
        reason = "preemptionPolicy Never" if preview.not_eligible == _NEVER else preview.not_eligible
        yield f"preempts no pod: {reason}"
    elif preview.nodes:
        yield from _victims(preview, wide=wide)
    elif preview.potential == 0:
        yield "preempts no pod: removing pods helps on no node"
    elif len(preview.no_room) == 1:
        yield f"preempts no pod: {_no_room(preview.no_room[0])}"
    else:
        yield f"preempts no pod: it would help on none of {counted(preview.potential, 'node')}"
        yield from map(_no_room, preview.no_room if wide else ())
    if preview.elsewhere is not None:
        elsewhere, own = preview.elsewhere.elsewhere, _pods(preview.elsewhere.on_node)
        node = preview.elsewhere.node
        also = f" and {own} on {node}" if own else ""
        yield (
            f"without {pods_on_nodes(elsewhere, _SHOWN)}{also} it would fit {node}; the scheduler never preempts "
            "across nodes: delete pods by hand"
        )


def defeated_words(preview: PreemptionPreview) -> Iterator[str]:
    """For a verdict: nodes where the pod's own affinity keeps preemption from making room."""
    for entry in preview.no_room if not preview.nodes else ():
        if entry.needs:
            needs = f"its pod affinity needs {_pods(entry.needs)}, which would be preempted"
            yield f"Preemption cannot make room on {entry.node}: {needs}."


def _no_room(entry: NoRoom) -> str:
    one = entry.nodes == 1
    nodes = entry.node if one else f"{entry.nodes} nodes, such as {entry.node},"
    if not entry.lower:
        return f"{nodes} {'has' if one else 'have'} no pod of lower priority"
    said = ": ".join(filter(None, (entry.plugin, ", ".join(entry.reasons))))
    if entry.needs:
        return f"{nodes} would lose {_pods(entry.needs)}, which its pod affinity needs: {said}"
    return f"{nodes} {'does' if one else 'do'} not take it even without pods of lower priority: {said}"


def _victims(preview: PreemptionPreview, *, wide: bool) -> Iterator[str]:
    shown, names = preview.victims if wide else preview.victims[:_SHOWN], []
    for victim in shown:
        violates = f", violates {_budgets(victim.violates)}" if victim.violates else ""
        static = ", static: it keeps running" if victim.is_static else ""
        names.append(f"{_pod(victim.pod)} (priority {victim.priority}{static}{violates})")
    rest = len(preview.victims) - len(shown)
    names += [f"{rest} more"] if rest else []
    yield f"would preempt {listed(names)} on {preview.nodes[0]}, then wait up to {preview.grace_seconds} s"
    if preview.decided_by:
        of = f"of {preview.candidates} nodes" if preview.candidates > 1 else ""
        yield f"{preview.nodes[0]} is chosen {of}: {_CRITERIA.get(preview.decided_by, preview.decided_by)}"
    if preview.sampled is not None and wide:
        sampled = counted(preview.sampled, "candidate")
        yield f"kube-scheduler checks {sampled} only, from a random node on: it may choose another"
    for entry in preview.left_alone if wide else ():
        why = _CRITERIA.get(entry.why)
        reason = f"{preview.nodes[0]} is better: {why}" if why else entry.why
        pods = "1 pod" if entry.pods == 1 else f"{entry.pods} pods"
        yield (
            f"pods of lower priority stay: {pods} on {entry.nodes} {'node' if entry.nodes == 1 else 'nodes'}, such as "
            f"{_pod(entry.lowest)} ({entry.lowest_priority}): {reason}"
        )


def nominated_words(nominated: NominatedNode, now: datetime | None) -> Iterator[str]:
    """What a nomination means now."""
    if not nominated.exists:
        worth = "has no effect: there is no such Node, and the scheduler ignores it"
        yield f"its nomination to {bounded(nominated.node)} {worth}"
        return
    lead = "preemption made room on" if nominated.made_room else "status.nominatedNodeName is"
    yield f"{lead} {bounded(nominated.node)}: it is tried first; a reservation, not a guarantee"
    going = []
    for victim in nominated.going:
        due = None if nominated.silent else instant(victim.gone_by)
        going.append(f"{_pod(victim.pod)}{'' if due is None else f' (by {clock(due, now)})'}")
    if going:
        yield f"waits for {listed(going, most=_SHOWN)} to end"
    if nominated.silent:
        yield _nothing_ends(nominated, now)
    elif nominated.rejected:
        why = ", ".join(nominated.rejected)
        yield f"even without the pods that leave it {bounded(nominated.node)} does not fit: {why}"
    if nominated.rivals:
        yield f"{_pods(nominated.rivals)} of higher priority may take the place"


def awaited_words(nominated: NominatedNode, now: datetime | None) -> tuple[str, ...]:
    """For a verdict on a pod that waits for its victims: which pods, until when, and for which node."""
    last = nominated.going[-1]
    due = instant(last.gone_by) if all(entry.gone_by for entry in nominated.going) else None
    many = len(nominated.going)
    victims = last.pod.name if many == 1 else f"{many} pods"
    if nominated.silent:
        ends = "ends" if many == 1 else "end"
        return (
            f"no node fits before {victims} {ends} on {bounded(nominated.node)}.",
            f"{_nothing_ends(nominated, now)}.",
        )
    if nominated.rejected:
        why = ", ".join(nominated.rejected)
        node = bounded(nominated.node)
        return (f"no node fits, and {node} does not fit either once the pods that leave it are gone: {why}.",)
    by = ""
    if due is not None:
        last_due = instant(last.gone_by)
        overdue = now is not None and last_due is not None and now > last_due
        late = "overdue since" if overdue else "by"
        by = f", {late} {clock(due, now)}" if many == 1 else f", the last, {last.pod.name}, {late} {clock(due, now)}"
    preempted = _pods([victim.pod for victim in nominated.going if victim in nominated.victims])
    room = f"The scheduler preempted {preempted} to make room on {bounded(nominated.node)}, which it tries first"
    return f"waits for {victims} to end{by}.", f"{room}: no guarantee."


def _nothing_ends(nominated: NominatedNode, now: datetime | None) -> str:
    if nominated.reach is None:
        return ""
    state = reach_words(nominated.reach, None, now)
    within = collected_within(nominated.reach.reach, deleted=True)
    if within is not None:
        return f"{state}: pod garbage collection removes such objects within {within} s, and stops no process"
    return f"{state}: nothing there ends before it answers"


def queue_words(queue: QueuePosition) -> str:
    """The place of a pod in the scheduling queue."""
    before, higher = queue.position - 1, queue.higher_priority
    if queue.pending == 1:
        words = "no other pod waits"
    elif not before:
        words = "it may be the first" if queue.tied else f"it is the first of {counted(queue.pending, 'pod')}"
    else:
        by = f"{higher} by priority and {before - higher} by age"
        if not higher or higher >= before:
            by = f"by {'priority' if higher else 'age'}"
        words = f"{counted(before, 'pod')} {'goes' if before == 1 else 'go'} before it, {by}"
    if tied := queue.tied:
        has = "has" if tied == 1 else "have"
        words += f"; {counted(tied, 'other pod')} {has} the same priority and creation time"
    if gated := queue.gated:
        words += f"; {counted(gated, 'gated pod')} {'is' if gated == 1 else 'are'} not in it"
    return f"queue: {words}"


def preemptor_name(preempted: PreemptionRecord, *, whole: bool = False) -> str:
    """``shop/web-0``, or without a name the uid, shortened unless ``whole``."""
    if preempted.by is not None:
        return f"{'the pod group ' if preempted.group else ''}{_pod(preempted.by)}"
    if not preempted.uid:
        return "a pod of higher priority"
    what = "pod group" if preempted.group else "pod"
    if whole or preempted.became is not PreemptedFor.GONE:
        return f"the {what} with uid {preempted.uid if whole else cut(preempted.uid)}"
    return f"a {what} that no longer exists (uid {cut(preempted.uid)})"


def preempted_words(preempted: PreemptionRecord, now: datetime | None) -> str:
    """The pod for which another was preempted, and whether that pod got the place."""
    when = instant(preempted.at)
    at = f" at {clock(when, now)}" if when is not None else ""
    if not preempted.uid and preempted.by is not None:
        waits = f"{_pod(preempted.by)}, the only pod nominated to {preempted.node}"
        return f"Preempted by the scheduler{at}, probably for {waits}: no remaining event names it."
    if not preempted.uid:
        return f"Preempted by the scheduler{at} for a pod of higher priority; no remaining event names it."
    by = f"Preempted{at} for {preemptor_name(preempted, whole=True)}"
    match preempted.became:
        case PreemptedFor.TOOK_THE_PLACE:
            return f"{by}, which runs on {preempted.node} now."
        case PreemptedFor.RUNS_ELSEWHERE:
            return f"{by}, without effect: that pod runs on {preempted.preemptor_node}."
        case PreemptedFor.STILL_WAITS:
            return f"{by}, which still waits for {preempted.node}."
        case PreemptedFor.WAITS_ELSEWHERE:
            place = f"for {preempted.preemptor_node}" if preempted.preemptor_node else "without a nominated node"
            return f"{by}, without effect so far: that pod waits {place}."
        case PreemptedFor.GONE:
            return f"{by}, which is also gone."
        case PreemptedFor.UNKNOWN:
            return f"{by}."


def preemptor_words(found: Sequence[Preemptor]) -> Iterator[str]:
    """For a verdict: the pending pods that would preempt a running one."""
    if found and all(one.denied for one in found):
        yield f"The pending pod {_preemptor(found[0])} might preempt it, but {_DENIED}."
    found = [one for one in found if not one.denied]
    would = "may" if any(one.nodes > 1 or one.twin or one.sampled for one in found) else "would"
    names = listed([_preemptor(one) for one in found], most=_SHOWN)
    if len(found) == 1:
        yield f"The pending pod {names} {would} preempt it now."
    elif found:
        yield f"Each of {len(found)} pending pods {would} preempt it now: {names}."


def preemptors_section(preemptors: Preemptors, *, wide: bool) -> Section:
    """The pending pods that would preempt a running one, and those that were not judged."""
    found, pods = preemptors.found, "pending pod"
    shown = found if wide else found[:_SHOWN]
    lines = [f"{_preemptor(one)} on {one.node}: {'; '.join(_consequences(one))}" for one in shown]
    if len(found) > len(shown):
        lines.append(f"{len(found) - len(shown)} more (-o wide)")
    if len(found) > 1:
        lines.append("each is judged alone, by the cluster as it is now: the first in the queue may take the room")
    if wide and preemptors.judged and not found:
        lines.append(f"would be preempted for none of {counted(preemptors.judged, pods)} of higher priority now")
    if preemptors.left_out:
        lines.append(f"not judged: {counted(preemptors.left_out, pods)} of higher priority, later in the queue")
    if preemptors.not_modelled and (wide or found):
        lines.append(f"not judged: {counted(preemptors.not_modelled, pods)} of other schedulers or of groups")
    return Section("Preemption", tuple(lines))


def _consequences(one: Preemptor) -> Iterator[str]:
    yield f"this pod{'' if one.victims == 1 else f' and {one.victims - 1} more'} would be preempted"
    if one.denied:
        yield f"but {_DENIED}"
    if one.violates:
        yield f"violates {_budgets(one.violates)}"
    if one.nodes > 1:
        yield f"{counted(one.nodes - 1, 'other node')} {'is' if one.nodes == 2 else 'are'} equally suitable"
    if one.twin is not None:
        yield f"or {_pod(one.twin)}, which is equally important"
    if one.sampled is not None:
        yield f"kube-scheduler checks {counted(one.sampled, 'candidate')} only: it may choose another node"
    if not one.seen:
        yield f"no scheduler has tried {one.pod.name} yet"


def _preemptor(one: Preemptor) -> str:
    return f"{_pod(one.pod)} (priority {one.priority})"


def _budgets(names: Sequence[str]) -> str:
    return f"PodDisruptionBudget{'' if len(names) == 1 else 's'} {listed(names, most=_SHOWN)}"


def _pods(pods: Sequence[PodReference]) -> str:
    return listed([_pod(pod) for pod in pods], most=_SHOWN)


def _pod(pod: PodReference) -> str:
    return f"{pod.namespace}/{pod.name}"
