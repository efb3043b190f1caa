"""The first sentences of a pod's explanation: its state now, and what that means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.reports.node.node_report import QUIET_CODES
from kubectl_plugin.reports.pod.pod_report import PodReport, RefusedField
from kubectl_plugin.reports.pod.pod_status import PodStatusReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict, lacking
from kubectl_plugin.views.caveats import assumed_words
from kubectl_plugin.views.node.node_words import NOT_KNOWN, node_sentences, overdue_sentences
from kubectl_plugin.views.node.pressure import pressed_sentences
from kubectl_plugin.views.node.silent_node import (
    collecting_node,
    ended_sentences,
    quiet_node,
    running_sentences,
    stuck_sentences,
)
from kubectl_plugin.views.pod.admission_words import refusal_remedy
from kubectl_plugin.views.pod.ending import deletion_time, ending_sentences
from kubectl_plugin.views.pod.health_words import (
    autoscaler_words,
    ending_verdict,
    repeated_sentences,
    starting_verdict,
    state_verdict,
    unseen_words,
)
from kubectl_plugin.views.pod.safety_words import second_writers_sentence
from kubectl_plugin.views.pod.volume_words import (
    SEE_PROVISIONER,
    advice_words,
    binding_sentences,
    claim_sentences,
    waiting_words,
)
from kubectl_plugin.views.scheduling.budget_words import ends_words, remedy_words
from kubectl_plugin.views.scheduling.placement import why_no_node
from kubectl_plugin.views.scheduling.preemption import awaited_words, preempted_words, preemptor_words, room_words
from kubectl_plugin.views.words import counted, for_words, in_units, listed, none_fit, quoted, resource_amount
from podrules.api.model.instant import instant
from podrules.api.model.pod import PodQOSClass
from podrules.ending.attachment import MoveStep
from podrules.ending.stuck import PROVISIONING, PROVISIONING_FAILED
from podrules.node.reachability import Reach
from podrules.pod.oom import OOMRule
from podrules.pod.platform import Platform
from podrules.pod.priority import SYSTEM_PRIORITY_CLASSES, is_reserved_class_name
from podrules.pod.qos import QOSProblem
from podrules.scheduling.placement.outcome import ClaimProblem, NamedFate, Placement, PlacementOutcome
from podrules.workload.disruption import fails_drain

_REFUSED: Final = "Refused"
_PENDING: Final = "Pending"
_NAMED: Final = {
    NamedFate.REFUSED: VerdictCode.NODE_REFUSES,
    NamedFate.SILENT: VerdictCode.NODE_SILENT,
    NamedFate.WAITS: VerdictCode.WAITING_FOR_VOLUME,
    NamedFate.NO_NODE: VerdictCode.NODE_REMOVED,
}


def verdict(report: PodReport, now: datetime | None) -> Verdict:
    """The verdict on a pod: one or two sentences with severity and code, and what they lack."""
    node = report.status.node if report.status is not None else None
    lacking_words = [*assumed_words(one for one in report.lacks if node is None or one.resource != "nodes")]
    if node is not None and any(one.resource == "nodes" for one in report.lacks):
        away = (one.node for one in report.moving if one.reach is Reach.UNKNOWN and one.node != node.name)
        name = next(away, node.name)
        lacking_words.append(f"Not certain: whether {name} answers is unknown; the Node could not be read.")
    return lacking(_verdict(report, now), lacking_words)


def _verdict(report: PodReport, now: datetime | None) -> Verdict:
    status = report.status
    if report.refused:
        return _led(_REFUSED, _trouble(VerdictCode.ADMISSION_REFUSED, *_refused(report)))
    if status is None:
        # Add that two pods of a Deployment may write to one volume; in a rollout that is a notice.
        said = _to_come(report)
        if report.second_writers is None or not (sentence := second_writers_sentence(report.second_writers)):
            return said
        notice = report.second_writers.surges is not None and said.severity is Severity.FINE
        severity = Severity.NOTICE if notice else said.severity
        return replace(said, sentences=(*said.sentences, sentence), severity=severity)
    if status.deletion_timestamp:
        grace = status.deletion_grace_period_seconds or 0
        lead = f"Being deleted since {deletion_time(report.ending, now)}, grace {grace} s"
        return _led(lead, _terminating(report, status, lead, now))
    if status.phase == "Failed" or status.disruption:
        return _ended(report, status, now)
    if status.phase == "Succeeded":
        return state_verdict(status.health, now)
    if status.node is None:
        return _led(_PENDING, _waiting(report, status, now))
    if (quiet := quiet_node(report)) is not None and quiet.reach is not None:
        sentences = (*running_sentences(report, quiet, now), *overdue_sentences(quiet, now))
        return _trouble(QUIET_CODES[quiet.reach.reach], *sentences)
    waits = status.phase == "Pending" and report.moving
    if waits:
        state = _waiting_for_volumes(report, status, now)
    elif report.stuck is not None:
        state = starting_verdict(report.stuck, status.health, now)
    else:
        state = state_verdict(status.health, now)
        if report.hint is not None:
            (first, *more), (hint, *helps) = state.sentences, repeated_sentences(report.hint, now)
            # What is known of probes is about slow starts.
            helps = [] if report.hint.reason == "Unhealthy" else helps
            state = replace(state, sentences=(first, hint, *helps, *more))
    if report.placement is not None and report.placement.named is not None and report.placement.claims:
        state = _waiting_for_claims(report.placement.claims, status, now)
    node = (*node_sentences(status, now), *pressed_sentences(status.node, report.pressure))
    return joined_verdict(
        (
            state,
            *node,
            *_drain_verdicts(report),
            *(() if waits or report.stuck is not None else _running(report, status)),
        )
    )


def _drain_verdicts(report: PodReport) -> Iterator[Verdict]:
    """The pods that would preempt it, why a drain of its cordoned node does not end, and what helps."""
    yield from (_fine(VerdictCode.RUNNING, said) for said in preemptor_words(report.preemptors.found))
    held = report.held
    if held is not None and held.hold is not None:
        ends = "fails" if fails_drain(held.detail) else ends_words([held])
        said = f"A drain of its node {ends}: {held.detail.removesuffix('.')}; {remedy_words(held.hold, held.way)}."
        yield _fine(VerdictCode.RUNNING, said)


def _refused(report: PodReport) -> Iterator[str]:
    """Why the API server rejects it, with the remedy; other problems by their field names."""
    if report.dry_run is not None and report.dry_run.refusal:
        yield f"{_REFUSED}: {report.dry_run.refusal.removesuffix('.')}."
        return
    if report.refusal is not None:
        yield f"{_REFUSED}: {report.refusal.message.removesuffix('.')}."
        yield from refusal_remedy(report.refusal, report.namespace)
        yield from also_refused([entry.field for entry in report.refusals])
        return
    reasons = [(refused_words(entry), entry.remedy, entry.field) for entry in report.refusals]
    if report.priority.rejected:
        # A pod's priority is resolved before its fields are checked; a workload's fields, before it creates pods.
        if report.priority.class_exists is not False:
            class_remedy = "Remove the field: the class decides."
        elif is_reserved_class_name(report.priority.class_name):
            class_remedy = f"Name {', '.join(SYSTEM_PRIORITY_CLASSES)} or a class of your own."
        elif report.priority.near:
            class_remedy = f"Did you mean {' or '.join(report.priority.near)}? Else apply that PriorityClass first."
        else:
            class_remedy = "Apply that PriorityClass first, or name an existing one."
        rejected = report.priority.rejected, class_remedy, "spec.priorityClassName"
        reasons.insert(len(reasons) if report.owner.kind else 0, rejected)
    (problem, remedy, _), *more = reasons
    yield f"{_REFUSED}: {problem}."
    if remedy:
        yield remedy
    yield from also_refused([field for _, _, field in more])


def also_refused(fields: Sequence[str]) -> Iterator[str]:
    """The field names of other problems; nothing if there are none."""
    if fields:
        yield f"Refused as well: {listed([*dict.fromkeys(fields)], most=3)}."


def refused_words(entry: RefusedField) -> str:
    """``line 7: spec.replicas: Invalid value: -1: must be …``."""
    return str(entry) if entry.line is None else f"line {entry.line}: {entry}"


def _led(lead: str, said: Verdict) -> Verdict:
    return replace(said, lead=lead)


def _fine(code: VerdictCode, *sentences: str) -> Verdict:
    return Verdict(code, Severity.FINE, sentences)


def _notice(code: VerdictCode, *sentences: str) -> Verdict:
    return Verdict(code, Severity.NOTICE, sentences)


def _trouble(code: VerdictCode, *sentences: str) -> Verdict:
    return Verdict(code, Severity.TROUBLE, sentences)


def _to_come(report: PodReport) -> Verdict:
    """A pod that does not exist yet."""
    if report.gates:
        return _notice(VerdictCode.SCHEDULING_GATED, f"The {_gated(report.gates)}", _standing(report))
    placement = report.placement
    if report.daemon is not None:
        # Loaded on demand.
        from kubectl_plugin.views.scheduling.daemon_words import stuck_words

        if stuck := tuple(stuck_words(report.daemon)):
            return _notice(VerdictCode.UNSCHEDULABLE, *stuck, _standing(report))
    if placement is not None and placement.outcome is PlacementOutcome.UNSCHEDULABLE:
        nowhere = " ".join(("No node fits now.", *_why_and_room(placement)))
        return _notice(VerdictCode.UNSCHEDULABLE, nowhere, _standing(report))
    if placement is not None and placement.named is not None and placement.named.fate is not NamedFate.RUNS:
        return _trouble(_NAMED[placement.named.fate], *why_no_node(placement), _standing(report))
    if placement is not None and placement.outcome is PlacementOutcome.HELD:
        return _notice(VerdictCode.SCHEDULING_GATED, *why_no_node(placement), _standing(report))
    if placement is not None and placement.outcome is PlacementOutcome.NOT_MODELLED:
        reason = f"Its placement is not modelled: {placement.reason}."
        return _notice(VerdictCode.PLACEMENT_NOT_MODELLED, reason, _standing(report))
    return _fine(VerdictCode.PLANNED, _standing(report))


def _why_and_room(placement: Placement) -> tuple[str, ...]:
    """Why no node fits, together with the preemption that the scheduler does by itself."""
    preview, why = placement.preemption, why_no_node(placement)
    if preview is None or not preview.nodes:
        return why
    room = room_words(preview, denied=placement.is_denied)
    return (room, *why) if placement.preempts else (*why, room)


def _gated(gates: Sequence[str]) -> str:
    """Why the scheduler ignores a pod; the caller adds the article."""
    named = listed([quoted(gate) for gate in gates])
    gates_are = f"gate {named} is" if len(gates) == 1 else f"gates {named} are"
    return f"scheduler does not look at it until scheduling {gates_are} removed (spec.schedulingGates)."


def _waits(status: PodStatusReport, now: datetime | None) -> str:
    """``Pending for 3 min``."""
    return " ".join(filter(None, (_PENDING, for_words(status.created, now))))


def _pending(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    waiting = _waits(status, now)
    if status.gates:
        return _notice(VerdictCode.SCHEDULING_GATED, f"{waiting}: the {_gated(status.gates)}")
    placement = report.placement
    fits = placement is not None and placement.outcome is PlacementOutcome.FITS
    if placement is not None and (binding := placement.binding) is not None and (binding.claims or fits):
        asked = report.stuck.first if report.stuck is not None and binding.claims else None
        first, *more = binding_sentences(binding, instant(asked), now)
        severity = Severity.TROUBLE if binding.late else Severity.NOTICE
        code = VerdictCode.WAITING_FOR_VOLUME if binding.claims else VerdictCode.NOT_YET_BOUND
        return Verdict(code, severity, (f"{waiting}: {first}", *more))
    if placement is not None and placement.outcome is PlacementOutcome.UNSCHEDULABLE:
        nominated = placement.nominated
        if nominated is None or not nominated.victims:
            said = (
                f"{waiting}: {none_fit(placement.nodes)}.",
                *_why_and_room(placement),
                *autoscaler_words(report, now),
            )
            return _trouble(VerdictCode.UNSCHEDULABLE, *said)
        first, *more = awaited_words(nominated, now)
        if nominated.under_way:
            return _notice(VerdictCode.AWAITING_PREEMPTION, f"{waiting}: {first}", *more)
        said = (f"{waiting}: {first}", *more, *_why_and_room(placement))
        return _trouble(VerdictCode.AWAITING_PREEMPTION, *said)
    if placement is not None and placement.outcome is PlacementOutcome.NOT_MODELLED:
        said = (f"Its scheduler said: {status.unschedulable}",) if status.unschedulable else ()
        reason = f"{waiting}: its placement is not modelled, because {placement.reason}."
        return _notice(VerdictCode.PLACEMENT_NOT_MODELLED, reason, *said)
    # Pods of other namespaces use nodes too: if those are unknown, the scheduler knows better.
    known_better = placement is not None and any(one.read_in for one in placement.assumed) and status.unschedulable
    if placement is not None and placement.outcome is PlacementOutcome.FITS and not known_better:
        verb = "fits" if placement.feasible == 1 else "fit"
        nodes = f"{placement.feasible} of {counted(placement.nodes, 'node')}"
        if status.unschedulable and (not placement.proven or placement.rejected_elsewhere):
            scheduler = f"{waiting}: kube-scheduler says: {status.unschedulable.removesuffix('.')}."
            by = "By kube-scheduler's own plugins" if placement.proven else "By what was read"
            return _trouble(VerdictCode.UNSCHEDULABLE, scheduler, f"{by}, {nodes} would fit.")
        fit = f"{nodes} {verb} now" if placement.proven else f"{nodes} would fit"
        sentences = [f"{waiting}, not yet bound: {fit}."]
        if placement.silent:
            # The scheduler may choose them, but no container starts there.
            which, are = "which score highest", "are"
            if len(placement.silent) == 1:
                are, several = "is", len(placement.best) > 1
                which = "one of those that score highest" if several else "which scores highest"
            sentences.append(f"{listed(placement.silent, most=3)}, {which}, {are} silent: nothing starts there.")
        return _notice(VerdictCode.NOT_YET_BOUND, *sentences)
    if status.unschedulable:
        said = (f"{waiting}: no node fits.", f"kube-scheduler: {status.unschedulable}")
        return _trouble(VerdictCode.UNSCHEDULABLE, *said)
    return _notice(VerdictCode.NOT_YET_BOUND, f"{waiting}: not yet bound to a node.")


def _waiting(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    """The verdict on a pod without a node; a missing scheduler or provisioner comes first, unless no node fits."""
    said, unseen, stuck = _pending(report, status, now), report.unseen, report.stuck
    waiting = f"{_PENDING} {for_words(status.created, now)}".rstrip()
    fits = (
        [said.sentences[0].rpartition(": ")[2]] if said.code is VerdictCode.NOT_YET_BOUND and report.placement else []
    )
    held = said.code in {VerdictCode.UNSCHEDULABLE, VerdictCode.SCHEDULING_GATED, VerdictCode.AWAITING_PREEMPTION}
    held = held or said.code is VerdictCode.WAITING_FOR_VOLUME
    place = report.placement
    named = place is not None and bool(place.claims or place.binding)
    if stuck is not None and not (named and stuck.reason == PROVISIONING):
        first, *more = repeated_sentences(stuck, now)
        if named and stuck.reason == PROVISIONING_FAILED:
            what, *rest = (one for one in said.sentences if one != SEE_PROVISIONER)
            return replace(said, sentences=(what, first, *rest, *more))
        if held or not stuck.long:
            return replace(said, sentences=(*said.sentences, first, *more))
        return _trouble(VerdictCode.STUCK, f"{waiting}: {first}", *more, *fits)
    if unseen is not None and unseen.is_long(now) and not held:
        first, *more = unseen_words(unseen)
        return _trouble(VerdictCode.NO_SCHEDULER, f"{waiting}: {first}", *more, *fits)
    return said


def _terminating(report: PodReport, status: PodStatusReport, lead: str, now: datetime | None) -> Verdict:
    why = (f"Why: {in_units(status.disruption)}",) if status.disruption else ()
    if report.preempted is not None:
        why = (preempted_words(report.preempted, now),)
    if (quiet := quiet_node(report)) is not None:
        sentences_of = stuck_sentences if report.ending.processes else ended_sentences
        return _trouble(VerdictCode.TERMINATING_STUCK, *sentences_of(report, quiet, lead, now))
    if report.ending.processes and report.platform is Platform.VIRTUAL_KUBELET:
        return _notice(VerdictCode.TERMINATING, f"{lead}: when it ends is {NOT_KNOWN}.", *why)
    sentences, late = ending_sentences(report, lead, now)
    if report.ending.ends_by is not None and (collecting := collecting_node(report)) is not None:
        sentences = stuck_sentences(report, collecting, lead, now)
    elif report.stuck is not None and report.stuck.long:
        ending = ending_verdict(report.stuck, report, lead, now)
        return replace(ending, sentences=(*ending.sentences, *why))
    if late:
        return _trouble(VerdictCode.TERMINATING_LATE, *sentences, *why)
    return _notice(VerdictCode.TERMINATING, *sentences, *why)


def _waiting_for_volumes(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    """The verdict on a pod that has a node but not yet its volumes."""
    first = min(report.moving, key=lambda entry: list(MoveStep).index(entry.step))
    waits = waiting_words(first, now)
    waiting = f"{_waits(status, now)}: it waits for volume {quoted(first.volume)}."
    # Attaching and mounting end by themselves; a volume attached to another node may stay there.
    passes = first.step in {MoveStep.ATTACH, MoveStep.START} and not first.error
    severity = Severity.NOTICE if passes else Severity.TROUBLE
    details = tuple(filter(None, (f"{waits[:1].upper()}{waits[1:]}.", advice_words(first))))
    said = Verdict(VerdictCode.WAITING_FOR_VOLUME, severity, (waiting, *details))
    if report.stuck is not None:
        # The known sentences about attachments name the holder, which is known here.
        repeated, *more = repeated_sentences(report.stuck, now, helps=passes)
        urgent = Severity.TROUBLE if report.stuck.long else severity
        said = replace(said, sentences=(waiting, repeated, *details, *more), severity=urgent)
    return _led(_waits(status, now), said)


def _waiting_for_claims(claims: Sequence[ClaimProblem], status: PodStatusReport, now: datetime | None) -> Verdict:
    """The verdict on a pod with a node that waits for claims that no controller binds."""
    first, *more = claim_sentences(claims)
    waiting = f"{_waits(status, now)}: {first[:1].lower()}{first[1:]}"
    return _led(_PENDING, _trouble(VerdictCode.WAITING_FOR_VOLUME, waiting, *more))


def _ended(report: PodReport, status: PodStatusReport, now: datetime | None) -> Verdict:
    lead = f"{status.phase} ({status.reason})" if status.reason else status.phase
    if report.preempted is not None:
        return _led(lead, _trouble(VerdictCode.PREEMPTED, f"{lead}: {preempted_words(report.preempted, now)}"))
    if status.disruption:
        code = VerdictCode.FAILED if status.phase == "Failed" else VerdictCode.DISRUPTED
        return _led(lead, _trouble(code, f"{lead}: {in_units(status.disruption)}"))
    return state_verdict(status.health, now)


def _running(report: PodReport, status: PodStatusReport) -> Iterator[Verdict]:
    """What the rules mean for a pod on a node that answers, in the order of the sentences."""
    match report.qos.qos_class:
        case PodQOSClass.BEST_EFFORT:
            yield _notice(VerdictCode.RUNNING, _standing(report))
        case PodQOSClass.GUARANTEED:
            yield _fine(VerdictCode.RUNNING, _standing(report))
        case PodQOSClass.BURSTABLE if _is_node_critical(report):
            yield _fine(VerdictCode.RUNNING, _standing(report))
    if status.resize:
        message = in_units(status.resize_message).rstrip(". ")
        resize = f"An in-place resize is not done: {status.resize}{f': {message}' if message else ''}."
        waits, room = [], report.resize_room
        if room is not None and status.node is not None:
            # What a deferred resize waits for.
            lacks = listed([resource_amount(name, amount, enough=True) for name, amount in room.lacks.items()])
            names = [f"{pod.namespace}/{pod.name}" for pod in (*room.leaving, *room.pods)]
            free = f"enough is free without {listed(names, most=3)}"
            if room.leaving and not room.pods:
                verb, end = ("is", "has ended") if len(names) == 1 else ("are", "have ended")
                free = f"enough is free once {listed(names, most=3)}, which {verb} being deleted, {end}"
            none = "even without all other pods that were read and may be removed it is not enough"
            waits.append(f"{status.node.name} lacks {lacks} for it: {free if room.enough else none}.")
        yield _notice(VerdictCode.RESIZE_PENDING, resize, *waits)
    if report.termination.processes and report.termination.grace.seconds == 0:
        force = "A plain delete is a force delete here: its grace period is 0."
        yield _notice(VerdictCode.NO_GRACE_PERIOD, force)


def _is_node_critical(report: PodReport) -> bool:
    return any(score.rule is OOMRule.NODE_CRITICAL for entry in report.oom for score in entry.containers)


def _standing(report: PodReport) -> str:
    """What the QoS class means for this pod, and why it does not have a better one."""
    qos = report.qos
    if _is_node_critical(report):
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
    if qos.computed_class is not qos.qos_class:
        return "Burstable: its status has that class since it was created; its resources would give another one."
    if qos.explanation.spoiled_by:
        names = listed([quoted(name) for name in qos.explanation.spoiled_by], most=3)
        verb = "keeps" if len(qos.explanation.spoiled_by) == 1 else "keep"
        return f"Burstable: only {names} {verb} it from Guaranteed."
    missing = [entry for entry in qos.explanation.blockers if entry.problem is QOSProblem.LIMIT_MISSING]
    if missing:
        count = len({entry.container for entry in missing})
        who = f"container {quoted(missing[0].container)}" if missing[0].container else "the pod"
        others = f" and {count - 1} more" if count > 1 else ""
        asks, has = ("they request", "they have") if count > 1 else ("it requests", "it has")
        return f"Burstable: {who}{others} may use more than {asks}: {has} no {missing[0].resource} limit."
    more = listed(list(dict.fromkeys(entry.resource for entry in qos.explanation.blockers)))
    return f"Burstable: it may use more {more} than it requests, up to its limits."
