"""The first sentences of a pod's explanation: what is the case now, and what that means."""

from __future__ import annotations

from datetime import datetime

from kubectl_plugin.render.page import Severity
from kubectl_plugin.reports.pod import PodReport, PodStatusReport
from kubectl_plugin.views.ending import ending_sentences, told_words
from kubectl_plugin.views.health_words import ended_words, health_words
from kubectl_plugin.views.moving import waiting_words
from kubectl_plugin.views.placement import why_no_node
from kubectl_plugin.views.platform_words import NOT_KNOWN
from kubectl_plugin.views.preemption import awaited_words, preempted_words, room_words
from kubectl_plugin.views.pressure_words import pressed_sentences
from kubectl_plugin.views.quiet import ended_sentences, quiet_node, running_sentences, stuck_sentences
from kubectl_plugin.views.taint_words import node_sentences
from kubectl_plugin.views.words import ago, counted, listed, quoted
from podrules.attachment import MoveStep
from podrules.model.pod import PodQOSClass
from podrules.oom import OOMRule
from podrules.placement.outcome import NamedFate, Outcome
from podrules.platform import Platform
from podrules.qos import QOSProblem

__all__ = ["verdict"]

Verdict = tuple[tuple[str, ...], Severity]


def verdict(report: PodReport, now: datetime | None) -> Verdict:
    """One or two sentences and their urgency."""
    status = report.status
    if report.priority.rejected:
        return (f"The API server will refuse this pod: {report.priority.rejected}",), Severity.TROUBLE
    if status is None:
        return _to_come(report)
    if status.deletion_timestamp:
        return _terminating(report, status, now)
    if status.phase == "Failed" or status.disruption:
        return _ended(report, status, now)
    if status.phase == "Succeeded":
        return ("Finished: every container ended well. It holds no resources.",), Severity.FINE
    if status.node is None:
        return _pending(report, status, now)
    if (quiet := quiet_node(report)) is not None:
        return running_sentences(report, quiet, now), Severity.TROUBLE
    waits = status.phase == "Pending" and report.moving
    told = (
        node_sentences(status, now),
        pressed_sentences(status.node, report.pressure),
        (_waiting_for_volumes if waits else _running)(report, status, now),
    )
    sentences = tuple(sentence for about, _ in told for sentence in about)
    return sentences, max((severity for _, severity in told), key=list(Severity).index)


def _to_come(report: PodReport) -> Verdict:
    """A pod that does not exist yet."""
    placement = report.placement
    if placement is not None and placement.outcome is Outcome.UNSCHEDULABLE:
        preview = placement.preemption
        room = (room_words(preview),) if preview is not None and preview.nodes else ()
        nowhere = " ".join(("No node fits now.", *why_no_node(placement), *room))
        # A claim that no node can use keeps the pod waiting whatever the cluster has room for.
        sentences = (nowhere, _standing(report)) if placement.claims else (_standing(report), nowhere)
        return sentences, Severity.NOTICE
    if placement is not None and placement.named is not None and placement.named.fate is not NamedFate.RUNS:
        return (*why_no_node(placement), _standing(report)), Severity.TROUBLE
    if placement is not None and placement.outcome is Outcome.HELD:
        return (*why_no_node(placement), _standing(report)), Severity.NOTICE
    if placement is not None and placement.outcome is Outcome.NOT_MODELLED:
        return (_standing(report), f"Its placement is not modelled: {placement.reason}."), Severity.NOTICE
    return (_standing(report),), Severity.FINE


def _pending(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    age = ago(status.created, now)
    waiting = f"Pending for {age}" if age else "Pending"
    if status.gates:
        gates = listed([quoted(gate) for gate in status.gates])
        text = f"{waiting}: the scheduler does not look at it until scheduling gate {gates} is removed"
        return (f"{text} (spec.schedulingGates).",), Severity.NOTICE
    placement = report.placement
    if placement is not None and placement.outcome is Outcome.UNSCHEDULABLE:
        preview = placement.preemption
        room = (room_words(preview),) if preview is not None and preview.nodes else ()
        nominated = placement.nominated
        if nominated is None or not nominated.victims:
            return (f"{waiting}: no node fits.", *why_no_node(placement), *room), Severity.TROUBLE
        first, *more = awaited_words(nominated, now)
        if nominated.under_way:
            return (f"{waiting}: {first}", *more), Severity.NOTICE
        return (f"{waiting}: {first}", *more, *why_no_node(placement), *room), Severity.TROUBLE
    if placement is not None and placement.outcome is Outcome.NOT_MODELLED:
        said = (f"Its scheduler said: {status.unschedulable}",) if status.unschedulable else ()
        return (f"{waiting}: its placement is not modelled, because {placement.reason}.", *said), Severity.NOTICE
    if placement is not None and placement.outcome is Outcome.FITS:
        verb = "fits" if placement.feasible == 1 else "fit"
        fit = f"{placement.feasible} of {counted(placement.nodes, 'node')} {verb} now"
        return (f"{waiting}, not yet bound: {fit}.",), Severity.NOTICE
    if status.unschedulable:
        return (f"{waiting}: no node fits.", f"kube-scheduler: {status.unschedulable}"), Severity.TROUBLE
    return (f"{waiting}: not yet bound to a node.",), Severity.NOTICE


def _terminating(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    lead = f"Being deleted since {told_words(report.ending, now)}, grace {status.deletion_grace_period_seconds or 0} s"
    why = (f"Why: {status.disruption}",) if status.disruption else ()
    if report.preempted is not None:
        why = (preempted_words(report.preempted, now),)
    if (quiet := quiet_node(report)) is not None:
        told = stuck_sentences if report.ending.processes else ended_sentences
        return told(report, quiet, lead, now), Severity.TROUBLE
    if report.ending.processes and report.platform is Platform.VIRTUAL_KUBELET:
        return (f"{lead}: when it ends is {NOT_KNOWN}.", *why), Severity.NOTICE
    sentences, late = ending_sentences(report, lead, now)
    return (*sentences, *why), Severity.TROUBLE if late else Severity.NOTICE


def _waiting_for_volumes(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    """A pod that has a node, and not yet its volumes."""
    age = ago(status.created, now)
    first = min(report.moving, key=lambda entry: list(MoveStep).index(entry.step))
    waits = waiting_words(first, now)
    lead = f"Pending{f' for {age}' if age else ''}: it waits for volume {quoted(first.volume)}."
    # Attaching and mounting pass by themselves; what another node holds may not.
    passes = first.step in {MoveStep.ATTACH, MoveStep.START} and not first.error
    return (lead, f"{waits[:1].upper()}{waits[1:]}."), Severity.NOTICE if passes else Severity.TROUBLE


def _ended(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    reason = f" ({status.reason})" if status.reason else ""
    if report.preempted is not None:
        return (f"{status.phase}{reason}: {preempted_words(report.preempted, now)}",), Severity.TROUBLE
    text = status.disruption or status.message or ended_words(status.ends)
    return (f"{status.phase}{reason}: {text}",), Severity.TROUBLE


def _running(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    sentences, severity = [_standing(report)], Severity.FINE
    if report.qos.qos_class is PodQOSClass.BEST_EFFORT:
        severity = Severity.NOTICE
    if lead := health_words(status, now):
        sentence, severity = lead
        sentences.insert(0, sentence)
    killed = [end for end in status.ends if end.reason == "OOMKilled"]
    if killed:
        end = killed[0]
        sentences.insert(
            0,
            f"Container {quoted(end.container)} ran out of memory and was killed "
            f"(OOMKilled, exit code {end.exit_code}); restarts: {end.restarts}.",
        )
        if end.exit_code == 0:
            sentences.insert(1, "Only a child was killed: its main process lived on, and ended by itself with 0.")
        severity = Severity.TROUBLE
    if status.resize:
        sentences.append(f"An in-place resize is not done: {status.resize}.")
        severity = Severity.NOTICE if severity is Severity.FINE else severity
    if report.termination.processes and report.termination.grace.seconds == 0:
        sentences.append("A plain delete is a force delete here: its grace period is 0.")
        severity = Severity.NOTICE if severity is Severity.FINE else severity
    return tuple(sentences), severity


def _standing(report: PodReport) -> str:
    """What the QoS class means for this pod, and what keeps it from a better one."""
    qos = report.qos
    if any(score.rule is OOMRule.NODE_CRITICAL for entry in report.oom for score in entry.containers):
        return (
            f"Node-critical: among the last to be killed and never evicted, though its class is {qos.qos_class.value}."
        )
    kernel = report.platform is Platform.LINUX
    match qos.qos_class:
        case PodQOSClass.GUARANTEED if not kernel:
            return "Guaranteed: the node's room for its memory is reserved."
        case PodQOSClass.BEST_EFFORT if not kernel:
            return "BestEffort: nothing is reserved for it."
        case PodQOSClass.GUARANTEED:
            return "Guaranteed: its memory is reserved, and it is among the last that the kernel kills."
        case PodQOSClass.BEST_EFFORT:
            return "BestEffort: nothing is reserved for it, and its oom_score_adj is the highest there is."
    if qos.explanation.spoiled_by:
        names = listed([quoted(name) for name in qos.explanation.spoiled_by], most=3)
        verb = "keeps" if len(qos.explanation.spoiled_by) == 1 else "keep"
        return f"Burstable: only {names} {verb} it from Guaranteed."
    missing = [entry for entry in qos.explanation.blockers if entry.problem is QOSProblem.LIMIT_MISSING]
    if missing:
        count = len({entry.container for entry in missing})
        who = f"container {quoted(missing[0].container)}" if missing[0].container else "the pod"
        others = f" and {count - 1} more" if count > 1 else ""
        return f"Burstable: {who}{others} may use more than it requests, for it has no {missing[0].resource} limit."
    return "Burstable: requests and limits differ, so it may use more than is reserved for it."
