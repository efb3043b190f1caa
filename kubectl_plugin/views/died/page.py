"""The page of one end: the verdict, its proof, other causes that fit, what helps, what to check, the state now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Row, Section
from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.caveats import unread_lines, versions_section
from kubectl_plugin.views.died.causes import (
    CAUSES,
    MOST_CHOICES,
    cause_sentence,
    end_log,
    end_remedies,
    further_evidence,
    leading_causes,
    may_run_on,
)
from kubectl_plugin.views.died.sentences import rejection_words
from kubectl_plugin.views.pod.container_words import decisive, end_words
from kubectl_plugin.views.scheduling.preemption import preemptor_name
from kubectl_plugin.views.words import clock, counted, cut, few, lasting, listed, when_words
from podrules.api.model.instant import instant, later
from podrules.ending.died.cause import Cause, Clue, EvidenceSource, Grade
from podrules.ending.died.evidence import MissingEvidence, Replacement
from podrules.ending.died.gone import evictor_clue
from podrules.ending.died.messages import CLEANED_UP
from podrules.ending.died.of_pod import ContainerEnd, EndOf, Manner, PodEnd
from podrules.pod.container_state import ContainerKind, ObservedContainer, StateKind, Termination
from podrules.scheduling.placement.preemption_victims import PREEMPTED
from podrules.workload.evictors import Agent

_FEW: Final = 4
_CODES: Final = {
    Grade.CERTAIN: VerdictCode.END_CERTAIN,
    Grade.LIKELY: VerdictCode.END_LIKELY,
    Grade.SEVERAL: VerdictCode.END_SEVERAL,
    Grade.NOTHING: VerdictCode.END_UNKNOWN,
}
_SOURCES: Final = {
    EvidenceSource.POD: "",
    EvidenceSource.EVENT: "event ",
    EvidenceSource.OWNER_EVENT: "event of its controller, ",
    EvidenceSource.OWNER: "controller, ",
    EvidenceSource.NODE: "node, ",
    EvidenceSource.NODE_EVENT: "event of its node, ",
    EvidenceSource.KUBELET: "kubelet, ",
    EvidenceSource.NEIGHBOUR: "another pod, ",
}
_AGENTS: Final = tuple(one.value for one in Agent)
_DELETED: Final = {Cause.DELETED, Cause.FORCE_DELETED}
_STOPPED: Final = "The kubelet stopped the pod; no remaining evidence shows why"
_FAILED: Final = "Its controller deleted the pod, which had ended; no remaining evidence shows why"
_ENDED: Final = "Container {} ended; no remaining evidence shows why"
_LOST: Final = {
    MissingEvidence.POD_REMOVED: "the pod's object is gone, so its exit codes are unknown",
    MissingEvidence.POD_UNREAD: "the pod is not in the file, so its exit codes are unknown",
    MissingEvidence.EVENTS_UNREAD: "events could not be read",
    MissingEvidence.EVENTS_EXPIRED: "some events: they are kept for about an hour, and some of many are dropped",
    MissingEvidence.EVENTS_COMING: "it ended just now, and more events may appear: ask again in a minute",
    MissingEvidence.OWNER_EVENTS: "events about its controller could not be read",
    MissingEvidence.NODE_REMOVED: "its Node object is gone",
    MissingEvidence.NODE_UNREAD: "its Node object is unknown",
    MissingEvidence.KUBELET_UNREAD: "the kubelet's configuration, which distinguishes cgroup v1 from v2",
    MissingEvidence.NEIGHBOURS_UNREAD: "the other pods of its node, which show which container the kernel kills first",
}
_KINDS: Final = {
    ContainerKind.APP: "",
    ContainerKind.INIT: " (init)",
    ContainerKind.SIDECAR: " (sidecar)",
    ContainerKind.EPHEMERAL: " (ephemeral)",
}


def end_verdict(report: EndReport, now: datetime | None) -> Verdict:
    """The headline of an end."""
    end = report.end
    if end.of is EndOf.NOTHING:
        if lost := _lost_node(report):
            unknown = f"{lost}: unknown whether its processes still run there."
            return Verdict(VerdictCode.NOTHING_ENDED, Severity.TROUBLE, (unknown, "Its object shows no end."))
        return Verdict(VerdictCode.NOTHING_ENDED, Severity.FINE, ("Neither the pod nor a container has ended.",))
    said = list(_sentences(report, now))
    if may_run_on(report):
        # No event shows that the kubelet stopped a pod without an object.
        where = f"{lost}, and no" if (lost := _lost_node(report)) else "No"
        warning = f"{where} event shows that its kubelet stopped it: its processes may still run on {report.node}."
        said.insert(2 if report.earlier and end.verdict.grade is not Grade.NOTHING else 1, warning)
    asked, grace = instant(end.at), end.grace_seconds or 0
    over = asked is not None and now is not None and now > later(asked, grace)
    if end.running and over and not report.silent:
        names = listed(end.running, _FEW)
        said.append(f"It has not ended: its grace period of {grace} s is over, and these containers run: {names}.")
    one = end.container_end
    fine = end.verdict.cause is Cause.APPLICATION and one is not None and one.end is not None and not one.end.exit_code
    return Verdict(_CODES[end.verdict.grade], Severity.FINE if fine else Severity.TROUBLE, tuple(said))


def _sentences(report: EndReport, now: datetime | None) -> Iterator[str]:
    end = report.end
    status = [clue.says.split(": ")[:2] for clue in end.verdict.clues if clue.where == "status"]
    if end.verdict.grade is Grade.NOTHING and any("Evicted" in words for words in status):
        yield f"The kubelet evicted the pod; the resource is unknown.{_when(end, now)}"
        return
    if end.is_unknown:
        yield "Unknown what ended it: events could not be read."
        return
    if end.verdict.grade is Grade.NOTHING:
        which = "the pod before this one" if report.earlier else "it"
        said = "The remaining evidence does not show" if end.verdict.clues else "No evidence is left that shows"
        yield f"{said} what ended {which}."
        return
    if report.earlier:
        yield "Another pod has this name now; this is about the one before it."
    when = _when(end, now)
    sentences = [cause_sentence(one.cause, report) for one in end.verdict.suspects]
    causes = {one.cause for one in end.verdict.suspects}
    if causes == _DELETED:
        yield f"A client deleted the pod; unknown whether with or without grace.{when}"
        return
    if len(sentences) > MOST_CHOICES:
        cleaned = any(clue.where in CLEANED_UP for one in end.verdict.suspects for clue in one.clues)
        stopped = _FAILED if cleaned else _STOPPED
        yield f"{stopped if end.of is EndOf.POD else _ENDED.format(end.container)}.{when}"
        yield f"All of these fit: {', '.join(CAUSES[one.cause].short for one in end.verdict.suspects)}."
        yield from _also(end, "Also possible")
        return
    if end.verdict.grade is Grade.SEVERAL:
        choice = f"one of these: {'; '.join(sentences)}"
        if len(sentences) == 2:
            choice = f"either {sentences[0]}, or {sentences[1]}"
        yield f"{_capital(choice)}.{when}"
        yield f"{'Both fit' if len(sentences) == 2 else f'All {len(sentences)} fit'} the remaining evidence."
        yield from _also(end, "Also possible")
        return
    yield f"{_capital(sentences[0])}.{when}"
    if rejections := rejection_words(report):
        yield _capital(rejections)
    if end.verdict.grade is Grade.LIKELY:
        yield from _also(end, "Likely, not certain: also possible")


def _also(end: PodEnd, lead: str) -> Iterator[str]:
    """The causes that also fit, with less evidence."""
    others = [CAUSES[one.cause].short for one in end.verdict.others]
    if others:
        yield f"{lead}: {few(others, _FEW)}."


def _lost_node(report: EndReport) -> str:
    """Why no kubelet reports the pod; empty if its node may answer."""
    if MissingEvidence.NODE_REMOVED in report.end.lost:
        return f"The Node object of {report.node} is gone"
    return f"{report.node} is silent" if report.silent else ""


def _capital(text: str) -> str:
    """The text as a sentence; names of programs stay as they are."""
    return text if text.startswith(_AGENTS) else text[:1].upper() + text[1:]


def _when(end: PodEnd, now: datetime | None) -> str:
    at = instant(end.at)
    if at is None:
        return ""
    ago = when_words(end.at, now)
    return f" At {clock(at, now)}{f' ({ago})' if ago and not ago.startswith('at ') else ''}."


def last_end_lines(report: EndReport, now: datetime | None) -> tuple[str, ...]:
    """The short form for other answers: only the verdict."""
    return tuple(_sentences(report, now))


def end_page(report: EndReport, now: datetime | None, *, wide: bool) -> Page:
    """The page of one pod."""
    verdict = end_verdict(report, now)
    place, fitting = f", on {report.node}" if report.node else "", report.end.verdict.others
    others = [cause_sentence(one.cause, report) for one in fitting[:_FEW]]
    if len(fitting) > _FEW:
        others.append(f"less likely: {', '.join(CAUSES[one.cause].short for one in fitting[_FEW:])}")
    sections = (
        Section("Perhaps", (report.hint,) if report.hint else ()),
        Section(
            "Evidence" if report.end.verdict.grade is Grade.NOTHING else "Proof",
            tuple(_proof(report, now, wide=wide)),
        ),
        Section("Also fits", tuple(others) if wide else ()),
        Section("What helps", end_remedies(report)),
        Section("Check", tuple(further_evidence(report))),
        Section("Containers", tuple(_containers(report, now))),
        Section("Now", tuple(_now(report, now))),
        Section("Missing", tuple(_LOST[one] for one in report.end.lost)),
        versions_section(report.version_notes),
        Section("Unknown", unread_lines(report.unread)),
    )
    return Page(
        title=f"pod/{report.name} in namespace {report.namespace}{place}",
        verdict=verdict.sentences,
        severity=verdict.severity,
        parts=sections,
        next_commands=tuple(_next(report)),
    )


def _proof(report: EndReport, now: datetime | None, *, wide: bool) -> Iterator[str | Row]:
    end, by_pod = report.end, report.preempted
    one = end.container_end
    for clue in end.verdict.clues:
        yield _clue_words(clue, now, wide=wide)
    if one is not None and one.end is not None:
        yield f"status of container {one.container}: {_end_words(one.end, one, now)}"
        if one.end.message:
            yield f"its message: {cut(one.end.message) if wide else decisive(one.end.message)}"
    seen: set[str] = set()
    for suspect in end.verdict.suspects:
        for clue in suspect.clues:
            if clue.where in {"reason", "exitCode"}:
                continue
            line = _clue_words(clue, now, wide=wide)
            if clue.where == PREEMPTED and by_pod is not None and by_pod.by is not None and by_pod.uid in clue.says:
                # The event names the pod by its uid.
                line = f"{line} ({preemptor_name(by_pod)})"
            if line not in seen:
                seen.add(line)
                yield line
    by = None if end.evictor is None else evictor_clue(end.evictor)
    shown = {(clue.where, clue.at) for suspect in end.verdict.suspects for clue in suspect.clues}
    if by is not None and (by.where, by.at) not in shown:
        yield _clue_words(by, now, wide=wide)
    if one is not None and one.child_killed:
        yield "OOMKilled here: a process of the container, or its cgroup, ran out of memory while it ran"
    if ahead := timedelta(seconds=report.node_clock_ahead_seconds):
        # A late event looks like one from a clock that is behind.
        side, late = ("ahead of", "") if ahead > timedelta() else ("behind", ", or its events came late")
        said = f"the clock of {report.node or 'its node'} is {lasting(abs(ahead))} {side} the API server's{late}"
        yield f"{said}: the times of the kubelet's events are the node's"


def _clue_words(clue: Clue, now: datetime | None, *, wide: bool) -> str:
    when = instant(clue.at)
    at = f" at {clock(when, now)}" if when is not None else ""
    said = clue.says.strip()
    said = said if wide else cut(said)
    return f"{_SOURCES[clue.source]}{clue.where}{at}{f': {said}' if said else ''}"


def _end_words(end: Termination, one: ContainerEnd, now: datetime | None) -> str:
    """How it ended, with its own memory limit if that may be the cause."""
    own = one.limits.own if one.limits is not None and one.limits.own_field else None
    limit = None if own is None else str(own)
    end = replace(end, finished_at=one.at)
    return end_words(end, ObservedContainer(one.container, one.kind, StateKind.TERMINATED, memory_limit=limit), now)


def _containers(report: EndReport, now: datetime | None) -> Iterator[Row]:
    """How the other containers ended, if the pod or several containers ended."""
    ends = report.end.ends
    if report.end.of is not EndOf.POD and len(ends) < 2:
        return
    for one in ends:
        if one.container == report.end.container:
            continue
        yield Row((f"{one.container}{_KINDS[one.kind]}", _container_words(one, report, now)))


def _container_words(one: ContainerEnd, report: EndReport, now: datetime | None) -> str:
    if one.end is None:
        return f"never ran: {one.waits}"
    said, grace, hook = _end_words(one.end, one, now), report.end.grace_seconds, one.hook_failed_seconds
    if hook is not None and grace is not None and one.manner is not Manner.CUT_SHORT:
        if hook >= grace:
            return f"{said}: its preStop hook took all of the grace period of {grace} s (FailedPreStopHook)"
        said = f"{said}: its preStop hook failed after {hook} s (FailedPreStopHook)"
    match one.manner:
        case Manner.KILLED:
            if grace is None:
                return f"{said}: it did not end by itself within its grace period"
            return f"{said}: it had not ended after its grace period of {grace} s"
        case Manner.CUT_SHORT:
            sooner = f"{said}: before its grace period of {grace} s was over"
            return f"{sooner}: out of memory, a second delete with less grace, or SIGKILL from elsewhere"
        case Manner.SIGKILL:
            return f"{said}: it was stopped with the pod; unknown whether its grace period was over"
        case Manner.OBEYED if one.child_killed:
            return f"{said}: it was stopped with the pod; OOMKilled is from a process that ran out of memory before"
        case Manner.OBEYED:
            return f"{said}: it was stopped with the pod, and ended in time"
        case Manner.BEFORE:
            return f"{said}: it had ended before"
    causes = [CAUSES[suspect.cause].short for suspect in one.verdict.suspects] if one.verdict is not None else []
    likely = "likely " if one.verdict is not None and one.verdict.grade is Grade.LIKELY else ""
    return f"{said}: {likely}{' or '.join(causes)}" if causes else said


def _now(report: EndReport, now: datetime | None) -> Iterator[str]:
    if report.end.verdict.grade is Grade.NOTHING and not report.end.verdict.clues:
        return
    one, found = report.end.container_end, report.replacement
    forced = not report.exists and Cause.FORCE_DELETED in leading_causes(report)
    stopped, where = instant(report.end.stopped), report.node or "its node"
    if report.silent and report.end.of is EndOf.POD and report.exists:
        yield f"{report.node} is silent: unknown whether its processes have ended; they may still run"
    elif forced and stopped is not None:
        yield f"the kubelet of {where} began to stop its containers at {clock(stopped, now)}"
    if report.is_surplus and report.owner is not None:
        yield f"not replaced: {report.owner.kind} {report.owner.name} wanted fewer pods"
    elif found is not None:
        yield f"replacement {_shown(found, now)}"
    elif report.younger is not None:
        known = f"unknown, because no event shows when this pod was {'first ' if forced else ''}deleted"
        yield f"perhaps replaced by {_shown(report.younger, now)}: {known}"
    elif report.end.of is EndOf.POD and report.owner is not None and not report.owner_missing:
        what = "no replacement was found" if report.replacement_sought else "unknown whether it made a replacement"
        yield f"{report.owner.kind} {report.owner.name}: {what}"
    elif report.end.of is EndOf.POD and report.exists and report.owner is None:
        yield "not replaced: it has no controller"
    if report.end.stuck is not None and report.end.running:
        yield _clue_words(report.end.stuck, now, wide=False)
    if one is None:
        return
    if one.runs:
        yield f"container {one.container} runs again, after {counted(one.restarts, 'restart')}"
    elif one.waits:
        yield f"container {one.container} waits: {one.waits}, after {counted(one.restarts, 'restart')}"


def _shown(pod: Replacement, now: datetime | None) -> str:
    state = "Ready" if pod.ready else f"{pod.status or pod.phase}, not Ready"
    return f"{pod.name}{f' on {pod.node}' if pod.node else ''}: {state}, created {when_words(pod.created, now)}"


def _next(report: EndReport) -> Iterator[Command]:
    end = report.end
    if (logs := end_log(report)) is not None:
        yield logs
    if report.replacement is not None and not report.replacement.ready:
        yield qos("explain pod/{}", report.replacement.name, namespace=report.namespace, comment="its replacement")
    if report.exists:
        yield qos("explain pod/{}", report.name, namespace=report.namespace)
    if report.silent:
        yield qos("partitions")
    if may_run_on(report) and MissingEvidence.NODE_REMOVED not in end.lost:
        yield qos("node {}", report.node)
    if end.verdict.causes & {Cause.NODE_OUT_OF_MEMORY, Cause.EVICTED_MEMORY, Cause.EVICTED_DISK} and report.node:
        yield qos("node {}", report.node)
