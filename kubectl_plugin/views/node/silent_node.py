"""The sentences about a pod on a silent node: it is unknown when it ends, even after its object is removed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.reports.node.node_report import NodeFacts
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.pod.safety_words import (
    finalizer_words,
    forcing_words,
    holder_words,
    off_sentences,
    overdue_words,
)
from kubectl_plugin.views.words import clock
from podrules.api.model.instant import instant
from podrules.node.lost_node import collected_within
from podrules.node.reachability import Reach
from podrules.workload.safety import Guarantee

_STATES: Final = {
    Reach.SILENT: "is silent{since}",
    Reach.MISSED_HEARTBEATS: "sends no heartbeats{since}",
    Reach.OUT_OF_SERVICE: "is declared out of service",
    Reach.BACK_NOT_READY: "answers, but is declared out of service and not Ready",
    Reach.GONE: "has no Node object any more{since}",
}


def quiet_node(report: PodReport) -> NodeFacts | None:
    """The pod's node if it does not answer, else None."""
    node = report.status.node if report.status is not None else None
    return node if node is not None and _reach(node).quiet else None


def collecting_node(report: PodReport) -> NodeFacts | None:
    """The pod's node if it answers but pod garbage collection removes objects without waiting for it, else None."""
    node = report.status.node if report.status is not None else None
    return node if node is not None and _reach(node) is Reach.BACK_NOT_READY else None


def quiet_words(node: NodeFacts, now: datetime | None, *, since_when: bool = True) -> str:
    """``node-c3 is silent since 03:02:56 UTC``; without the time where the verdict has it."""
    when = node.reach.since if node.reach is not None and since_when else None
    lead = " (last heartbeat {})" if _reach(node) is Reach.GONE else " since {}"
    since = lead.format(clock(when, now)) if when is not None else ""
    return f"{node.name} {_STATES[_reach(node)].format(since=since)}"


def running_sentences(report: PodReport, node: NodeFacts, now: datetime | None) -> tuple[str, ...]:
    """The verdict on a pod that is not being deleted."""
    phase = report.status.phase if report.status else ""
    last = f"its last known phase is {phase}" if phase else "its last phase is unknown (no status.phase)"
    return (
        f"Its node {quiet_words(node, now)}: {last}.{_since_when(report, node, now)}",
        *(off_sentences(node.reach) or (_unconfirmed(report, node, now),)),
        *_replacement(report, node),
    )


def stuck_sentences(report: PodReport, node: NodeFacts, lead: str, now: datetime | None) -> tuple[str, ...]:
    """The verdict on a deleted pod on a node that is silent, or that nothing waits for. ``lead``: since when."""
    if collected_within(_reach(node), deleted=True) is not None:
        state = f"its node {quiet_words(node, now)}.{_since_when(report, node, now)}"
        return f"{lead}: {state}", _unconfirmed(report, node, now), *_replacement(report, node)
    stays = _stays("It stays Terminating", node)
    if report.owner.guarantee is Guarantee.AT_MOST_ONE:
        stays += f" {report.owner.kind} {report.owner.name} starts no replacement before that."
    return f"{lead}: stuck, because {quiet_words(node, now)}.", *off_sentences(node.reach), stays, *_then(report)


def ended_sentences(report: PodReport, node: NodeFacts, lead: str, now: datetime | None) -> tuple[str, ...]:
    """The verdict on a deleted pod that has ended: its kubelet cannot remove its object. ``lead``: since when."""
    state = f"{lead}: its processes have ended. Its node {quiet_words(node, now)}."
    if collected_within(_reach(node), deleted=True) is not None:
        return state, f"{_collected(report, node, now)}."
    return state, *off_sentences(node.reach), _stays("Its object stays", node), *_then(report)


def ended_line(report: PodReport, node: NodeFacts, now: datetime | None) -> str:
    """Who removes the object of a pod that has ended."""
    if collected_within(_reach(node), deleted=True) is not None:
        words = _collected(report, node, now)
        return f"{words[:1].lower()}{words[1:]}"
    return f"only its kubelet removes the object, and {quiet_words(node, now)}"


def quiet_stop_lines(report: PodReport, node: NodeFacts, now: datetime | None) -> Iterator[str]:
    """Why it is unknown when the processes end, and what is known."""
    status = report.status
    deleted_at = report.ending.deleted_at
    grace = report.termination.grace.seconds
    if status is not None and deleted_at is not None:
        grace = status.deletion_grace_period_seconds or 0
        after = " or after" if report.ending.deletion_time_unknown else ""
        shorter = "; a second delete may shorten that, never lengthen it" if grace else ""
        yield f"marked for deletion at {clock(deleted_at, now)}{after}, with {grace} s{shorter}"
    yield f"unknown when: only its kubelet stops processes, and {quiet_words(node, now, since_when=False)}"
    if deleted_at is None and grace == 0:
        yield "a delete removes the object at once, and stops no process"
    if report.owner.guarantee is Guarantee.KUBELET_OWNED:
        return
    if _reach(node) is Reach.GONE:
        yield f"once its object is gone, a kubelet that registers {node.name} again stops its remaining processes"
    else:
        asked = "" if deleted_at is not None else ", if it was deleted meanwhile"
        yield f"once {node.name} answers again its kubelet stops it{asked}: {grace} s from then"


def force_first(node: NodeFacts) -> str:
    """What to do before a force deletion."""
    return f"{quiet_words(node, None, since_when=False)}; make sure that the machine is off first"


def force_lines(report: PodReport, node: NodeFacts, now: datetime | None) -> Iterator[str]:
    """What to know before a force deletion."""
    status = report.status
    deleted = status is not None and status.deletion_timestamp is not None
    within = collected_within(_reach(node), deleted=deleted)
    late = overdue_words(report.ending.collected_by, now)
    if within is not None and not report.ending.holders and not late:
        yield f"pod garbage collection does the same by itself within {within} s{_from_unknown(node)}"
    if deleted:
        yield f"already being deleted: {forcing_words(report.ending.holders)}; it is unknown when its processes end"


def _since_when(report: PodReport, node: NodeFacts, now: datetime | None) -> str:
    """Since when a node has no Node object, if that is known."""
    if _reach(node) is not Reach.GONE or (node.reach is not None and node.reach.since is not None):
        return ""
    unready = instant(report.status.not_ready_since) if report.status is not None else None
    return (
        f" The pod is not Ready since {clock(unready, now)}."
        if unready is not None
        else " It is unknown since when it is gone."
    )


def _then(report: PodReport) -> Iterator[str]:
    """What keeps the object after that."""
    if report.ending.holders:
        yield f"Then {holder_words(report.ending.holders)}."


def _stays(what: str, node: NodeFacts) -> str:
    return f"{what} until {node.name} answers again, or its Node is deleted or declared out of service."


def _collected(report: PodReport, node: NodeFacts, now: datetime | None) -> str:
    """How soon pod garbage collection removes the object, or when it should have."""
    if late := overdue_words(report.ending.collected_by, now):
        return late
    within = collected_within(_reach(node), deleted=True)
    held = report.ending.finalizers
    kept = f" once {finalizer_words(held, 'is', 'are')} done" if held else ""
    return f"Pod garbage collection removes its object within {within} s{_from_unknown(node)}{kept}"


def _from_unknown(node: NodeFacts) -> str:
    """For a node out of service that misses heartbeats: garbage collection waits until it is not Ready."""
    return " after Ready became Unknown" if node.ready == "True" else ""


def _unconfirmed(report: PodReport, node: NodeFacts, now: datetime | None) -> str:
    """What is unknown about the processes, and what happens to the object."""
    status = report.status
    deleted = status is not None and status.deletion_timestamp is not None
    within = collected_within(_reach(node), deleted=deleted)
    if within is None and _reach(node) is Reach.OUT_OF_SERVICE:
        removes = "pod garbage collection removes its object without confirmation that its processes ended"
        return f"Once it is deleted, {removes}."
    if within is None:
        return "It is unknown whether its processes still run."
    collected, ends_by = _collected(report, node, now), report.ending.ends_by
    if ends_by is not None and now is not None and now < ends_by:
        return f"{collected}, while its processes may run until {clock(ends_by, now)}."
    return f"{collected}; it is not confirmed that its processes ended: they may still run."


def _replacement(report: PodReport, node: NodeFacts) -> Iterator[str]:
    owner = report.owner
    if collected_within(_reach(node), deleted=True) is not None and owner.guarantee is Guarantee.AT_MOST_ONE:
        yield f"{owner.kind} {owner.name} then starts a new {report.name}, while this one may still run."


def _reach(node: NodeFacts) -> Reach:
    return node.reach.reach if node.reach is not None else Reach.UNKNOWN
