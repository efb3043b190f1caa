"""The sentences about a workload: how many pods run, which one is the worst, and what its controller could not do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, joined_verdict
from kubectl_plugin.reports.workload import (
    JobProgress,
    PodCounts,
    ReportedReason,
    Rollout,
    Schedule,
    WorkloadPod,
    WorkloadReport,
    workload_code,
)
from kubectl_plugin.views.node.pressure import near_limit_words
from kubectl_plugin.views.pod.admission_words import creation_remedy, refusal_remedy
from kubectl_plugin.views.pod.ending import kept_words
from kubectl_plugin.views.pod.health_words import repeated_sentences, why_words
from kubectl_plugin.views.words import ago, bounded, clock, counted, cut, lasting, none_fit, when_words
from podrules.api.model.instant import instant
from podrules.api.refusals import RefusedFor, refuser
from podrules.ending.pod_state import PodState
from podrules.node.lost_node import collected_within
from podrules.node.reachability import NodeReach, Reach

_NODES: Final = {
    Reach.SILENT: "silent",
    Reach.MISSED_HEARTBEATS: "silent",
    Reach.OUT_OF_SERVICE: "out of service",
    Reach.GONE: "gone",
}
NODE_DOWN: Final = "NodeDown"
"""The word in a column of states for a silent node and for its pods."""
_STUCK: Final = {
    False: "stuck, and it is unknown whether its processes have ended",
    True: "pod garbage collection removes its object without confirmation that its processes have ended",
}
"""What happens to the object of a pod that is being deleted on a node that does not answer."""
_MAX_REASONS: Final = 2
_NONE_OF: Final = r"0/(\d{1,9}) nodes are available"
"""The beginning of the scheduler's message about a pod that fits nowhere; the page of the pod has the rest."""
_DECIDES: Final = {
    RefusedFor.QUOTA_EXCEEDED: "resourcequotas",
    RefusedFor.QUOTA_UNSPECIFIED: "resourcequotas",
    RefusedFor.LIMIT_RANGE: "limitranges",
    RefusedFor.PRIORITY_CLASS: "priorityclasses.scheduling.k8s.io",
}
"""The objects that decide whether the next pod is admitted, and are checked again."""
_OF_LIMIT_RANGES: Final = frozenset({RefusedFor.LIMIT_RANGE, RefusedFor.LIMIT_BELOW_REQUEST})


def standing(report: WorkloadReport, now: datetime | None) -> Verdict | None:
    """``5 of 6 run, 1 pending for 3 min: checkout-x2x7p: no node fits.``; None: its pods are unknown."""
    refused = refusal_of(report)
    remedy = _remedy(report, refused) if refused is not None else ""
    if report.pods is None or report.counts is None:
        if refused is not None and report.replicas != 0:
            words = (f"Its controller cannot make pods: {said_words(refused, now)}.", *filter(None, (remedy,)))
            return Verdict(VerdictCode.PODS_REFUSED, Severity.TROUBLE, words)
        return None if report.schedule is None else schedule_verdict(report.schedule, now)
    counts, pods = report.counts, by_trouble(report.pods)
    lead, *surplus = [_job_words(report.job, counts)] if report.job is not None else _run_words(counts)
    # Why a Job failed, or why missing pods cannot be created.
    said = report.rollout.refused if counts.missing and report.rollout is not None else None
    if report.job is not None:
        said = report.job.why
    why = _worst_words(counts, pods, now)
    explained = said is not None and not why
    if said is not None and explained:
        why = f": {said_words(said, now)}"
    parts = [lead, *surplus, *old_words(report.rollout)]
    if counts.missing:
        # ``2 not made yet``, ``db-1 not made yet``.
        one = report.missing is not None and counts.missing == 1
        parts.append(f"{report.missing.first if report.missing and one else counts.missing} not made yet")
    parts += _trouble_words(counts, pods, now)
    sentences = [f"{', '.join(parts)}{why}."]
    if said is not None and report.job is not None and not explained:
        sentences.append(f"{said_words(said, now)}.")
    if (worst := _worst(counts, pods)) is not None and worst.stuck is not None:
        sentences += list(repeated_sentences(worst.stuck, now))[1:]
    if report.job is not None and remedy:
        sentences.append(remedy)
    if report.missing is not None and report.missing.waits_for and counts.missing:
        sentences.append(f"{report.missing.first} waits for {report.missing.waits_for}, which is not Ready.")
    sentences += _left_words(report, counts, pods, now)
    if counts.wanted == 0 and not counts.ready and report.job is None and len(sentences) > 1:
        sentences[:2] = [f"{sentences[0].rstrip('.')}; {sentences[1]}"]
    code, severity = workload_code(report.job, counts, pods)
    first = sentences[0]
    if near := [pod.near_limit for pod in pods if pod.near_limit is not None]:
        fullest = max(near, key=lambda one: one.working_set / one.limit)
        container = f"{fullest.pod} {fullest.container}"
        says = near_limit_words(container, fullest.working_set, fullest.limit, pods=len(near))
        sentences.insert(0 if code is VerdictCode.NEAR_MEMORY_LIMIT else len(sentences), says)
    stands = Verdict(code, severity, tuple(sentences), lead=lead if report.job is None else "")
    return joined_verdict((stands, *rollout_verdicts(report.rollout, first, remedy, now, explained=explained)))


def refusal_of(report: WorkloadReport) -> ReportedReason | None:
    """Why its controller cannot create pods; None: it can, or that is unknown."""
    if report.job is not None:
        return None if report.job.ended else report.job.why
    return report.rollout.refused if report.rollout is not None else None


def _remedy(report: WorkloadReport, refused: ReportedReason) -> str:
    """What makes the API server admit its pods; if the next pod would be admitted now, that it only has to wait."""
    found, template = refuser(refused.message), report.template
    let_in = template.refusal is None and not template.priority.rejected and not template.refused
    reads = _DECIDES.get(found.why) if found is not None else None
    if reads is not None and let_in and reads not in {one.resource for one in report.unread}:
        return "By what was read, the next pod is admitted: the controller tries again within 17 min."
    # A quota that was not exceeded at the refusal may be exceeded now. Within a quota, exceeded amounts come first.
    new = None if reads is None or found is None or found.why is RefusedFor.QUOTA_EXCEEDED else template.refusal
    own = template.refusal if found is not None and found.why in _OF_LIMIT_RANGES else None
    if own is not None and own.limit_range is not None:
        return " ".join(refusal_remedy(own, report.namespace))
    return creation_remedy(refused.message if new is None else new.message, report.namespace)


def new_pods_refused(report: WorkloadReport) -> str:
    """Why the API server refuses new pods of the workload; empty: it does not."""
    priority, refusal = report.template.priority, report.template.refusal
    if priority.rejected or refusal is None:
        meant = f"; did you mean {' or '.join(priority.near)}?" if priority.near else ""
        return f"The API server will refuse each new pod: {priority.rejected}{meant}" if priority.rejected else ""
    # A pod that ends releases what it used.
    more = "one more" if refusal.resources else "each new"
    return f"The API server will refuse {more} pod: {refusal.message.removesuffix('.')}."


def _left_words(
    report: WorkloadReport, counts: PodCounts, pods: Sequence[WorkloadPod], now: datetime | None
) -> Iterator[str]:
    """The pods that do not count but still exist: terminating, or ended permanently."""
    leaving = [pod for pod in pods if pod.state is PodState.TERMINATING]
    if leaving and not counts.terminating_awaited:
        more = " pod" if report.job is not None or counts.wanted is None else " more" if counts.wanted else ""
        verb = "is" if len(leaving) == 1 else "are"
        yield f"{len(leaving)}{more} {verb} {_terminating_words(leaving, now)}."
    failed = [pod for pod in pods if pod.state is PodState.FAILED]
    if failed and report.job is None:
        word = "evicted" if all(pod.status == "Evicted" for pod in failed) else "failed"
        yield f"{counted(len(failed), f'{word} pod')} {'is' if len(failed) == 1 else 'are'} left."


def by_trouble(pods: Sequence[WorkloadPod]) -> list[WorkloadPod]:
    """Sort pods: the worst first, then by name."""
    return sorted(pods, key=lambda pod: (pod.state.worse, pod.reach is None, pod.stuck is None, pod.name))


def place_words(pod: WorkloadPod, now: datetime | None) -> str:
    """The state and node of a pod: ``Running on node-b2``, ``NodeDown on silent node-c3 since …``, ``Pending``."""
    if pod.reach is not None:
        ended = pod.state in {PodState.TERMINATING, PodState.SUCCEEDED, PodState.FAILED}
        where = f"on {_node_words(pod.reach, now)}"
        return f"{pod.status if ended else NODE_DOWN} {where}"
    return f"{pod.status} on {pod.node}" if pod.node else pod.status


def node_word(reach: NodeReach) -> str:
    """The state of a node that does not answer: ``silent``."""
    return _NODES.get(reach.reach, "silent")


def condition_word(condition: str) -> str:
    """The state of a node in a sentence: ``ready``, ``silent`` for NodeDown."""
    return {NODE_DOWN: "silent", "NotReady": "not ready"}.get(condition, condition.lower())


def count_words(states: Sequence[PodState], *, stuck: int = 0) -> str:
    """``35 run, 2 pending, 3 terminating (1 on a silent node)``, for pods of any owners.

    ``stuck``: the number of terminating pods on silent nodes.
    """
    found = Counter(states)
    where = "a silent node" if stuck == 1 else "silent nodes"
    words = {
        PodState.READY: "ready" if found[PodState.NOT_READY] else "run",
        PodState.BROKEN: "broken",
        PodState.PENDING: "pending",
        PodState.UNREACHABLE: "on silent nodes",
        PodState.TERMINATING: f"terminating ({stuck} on {where})" if stuck else "terminating",
        PodState.NOT_READY: "not ready",
        PodState.STARTING: "starting",
        PodState.FAILED: "failed",
        PodState.SUCCEEDED: "succeeded",
    }
    return ", ".join(f"{found[state]} {word}" for state, word in words.items() if found[state])


def _run_words(counts: PodCounts) -> list[str]:
    """How many pods run, and how many are wanted if that number is lower."""
    if counts.wanted is None:
        return [f"{counted(counts.ready, 'pod')} {'runs' if counts.ready == 1 else 'run'}"]
    if counts.wanted == 0 and not counts.ready:
        return ["No pod is wanted"]
    # If all running pods are ready, "run" is enough.
    word = "ready" if counts.not_ready else "runs" if counts.ready == 1 else "run"
    if counts.ready > counts.wanted:
        return [f"{counts.ready} {word}", f"{counts.wanted} wanted"]
    return [f"{counts.ready} of {counts.wanted} {word}"]


def _job_words(job: JobProgress, counts: PodCounts) -> str:
    wanted = f" of {job.completions}" if job.completions is not None else ""
    done = f"{job.succeeded}{wanted} succeeded"
    if job.ended == "Failed":
        return f"Failed: {done}, {job.failed} failed"
    if job.ended:
        return f"Complete: {done}"
    failed = f", {job.failed} failed" if job.failed else ""
    if job.suspended:
        return f"Suspended: {done}{failed}"
    runs = f", {counts.ready} {'runs' if counts.ready == 1 else 'run'}" if counts.ready else ""
    return f"{done}{failed}{runs}"


def _trouble_words(counts: PodCounts, pods: Sequence[WorkloadPod], now: datetime | None) -> Iterator[str]:
    """The wanted pods that do not run, by state; the worst last, because its name follows."""
    of = {state: [pod for pod in pods if pod.state is state] for state in PodState}
    if counts.starting:
        yield f"{counts.starting} starting"
    if counts.not_ready:
        verbs = "runs and is" if counts.not_ready == 1 else "run and are"
        yield f"{counts.not_ready} {verbs} not ready"
    if counts.terminating and counts.terminating_awaited:
        leaving = of[PodState.TERMINATING]
        yield f"{len(leaving)} {_terminating_words(leaving, now)}"
    if unreachable := of[PodState.UNREACHABLE]:
        yield f"{len(unreachable)} on {_nodes_words(unreachable, now)}"
    if pending := of[PodState.PENDING]:
        made = [when for pod in pending if (when := instant(pod.created)) is not None]
        lasts = f" for {'up to ' if len(pending) > 1 else ''}{lasting(now - min(made))}" if now and made else ""
        yield f"{len(pending)} pending{lasts}"
    if broken := of[PodState.BROKEN]:
        reasons = Counter(pod.status for pod in broken)
        few = len(reasons) <= _MAX_REASONS
        words = [f"{count} in {reason}" for reason, count in reversed(reasons.items())]
        yield ", ".join(words) if few else f"{len(broken)} broken"


def _terminating_words(pods: Sequence[WorkloadPod], now: datetime | None) -> str:
    """``terminating on silent node-c3 since 03:02:56 UTC``."""
    stuck = all(pod.reach is not None for pod in pods)
    return f"terminating{f' on {_nodes_words(pods, now)}' if stuck else ''}"


def _nodes_words(pods: Sequence[WorkloadPod], now: datetime | None) -> str:
    """``silent node-c3 since 03:02:56 UTC``, ``3 nodes that do not answer``."""
    reaches = {pod.reach.name: pod.reach for pod in pods if pod.reach is not None}
    if len(reaches) > 1:
        return f"{len(reaches)} silent nodes"
    return ", ".join(_node_words(reach, now) for reach in reaches.values())


def _node_words(reach: NodeReach, now: datetime | None) -> str:
    since = f" since {clock(reach.since, now)}" if reach.since is not None else ""
    if reach.reach is Reach.GONE:
        return f"{reach.name}, which has no Node object"
    if reach.reach is Reach.OUT_OF_SERVICE:
        return f"{reach.name}, which is {node_word(reach)}{since}"
    return f"{node_word(reach)} {reach.name}{since}"


def _worst_words(counts: PodCounts, pods: Sequence[WorkloadPod], now: datetime | None) -> str:
    """``: checkout-x2x7p: no node fits``; empty if no wanted pod is in trouble."""
    worst = _worst(counts, pods)
    if worst is None:
        return ""
    alike = sum(pod.state is worst.state for pod in pods)
    warning = next(repeated_sentences(worst.stuck, now)).removesuffix(".") if worst.stuck is not None else ""
    starts = warning and worst.state is PodState.STARTING
    why = "; ".join(filter(None, ("" if starts else _why(worst, now), warning)))
    return f"{', such as' if alike > 1 else ':'} {worst.name}{f': {why}' if why else ''}"


def _worst(counts: PodCounts, pods: Sequence[WorkloadPod]) -> WorkloadPod | None:
    """The worst of the wanted pods, if it is in trouble."""
    passed = {PodState.READY, PodState.SUCCEEDED, PodState.FAILED}
    if not counts.terminating_awaited:
        passed.add(PodState.TERMINATING)
    return next((pod for pod in pods if pod.state not in passed), None)


def _why(pod: WorkloadPod, now: datetime | None) -> str:
    match pod.state:
        case PodState.PENDING if pod.nominated_node:
            room = pod.waits_for == "Unschedulable"
            return (
                f"it waits for room on {bounded(pod.nominated_node)}"
                if room
                else f"{bounded(pod.nominated_node)} is chosen for it"
            )
        case PodState.PENDING:
            gate = "a scheduling gate holds it"
            count = re.match(_NONE_OF, pod.unschedulable)
            none = none_fit(int(count[1])) if count else "no node fits"
            return {"Unschedulable": none, "SchedulingGated": gate}.get(pod.waits_for, "it has no node yet")
        case PodState.UNREACHABLE:
            return "unknown whether it runs"
        case PodState.TERMINATING:
            if pod.reach is None:
                return kept_words(pod.ending, now) if pod.ending is not None else ""
            return _STUCK[collected_within(pod.reach.reach, deleted=True) is not None]
    return why_words(pod.health, now) if pod.health is not None else ""


# The sentences about a workload's controller: what it could not do, and which pods have an old template.

_MOST: Final = 400
"""The most characters of a message."""
_POD_SECURITY: Final = "violates PodSecurity"
_FIELDS: Final = re.compile(r" \([^()]{1,400}\)")
"""Matches the required value of each field of a violation; `lint` reports these for the template."""


def said_words(said: ReportedReason, now: datetime | None) -> str:
    """``FailedCreate 3 min ago: pods "web-1" is forbidden: exceeded quota``: the original words without full stop."""
    reason = " ".join(filter(None, (said.reason, when_words(said.at, now))))
    return ": ".join(filter(None, (reason, cut(without_fields(said.message), _MOST).rstrip("."))))


def without_fields(message: str) -> str:
    """A Pod Security violation without the required value of each field."""
    return _FIELDS.sub("", message) if _POD_SECURITY in message else message


def old_words(rollout: Rollout | None) -> Iterator[str]:
    """``1 of the old template (partition 2)``."""
    if rollout is None or not rollout.old:
        return
    held = {"": "", "paused": "", "OnDelete": " (OnDelete)", "partition": f" (partition {rollout.partition})"}
    yield f"{rollout.old} of the old template{held[rollout.held_by]}"


def rollout_verdicts(
    rollout: Rollout | None, lead: str, remedy: str, now: datetime | None, *, explained: bool
) -> Iterator[Verdict]:
    """A verdict for each thing that the controller reports, the worst first.

    Args:
        rollout: What the controller reports.
        lead: The sentence before, with the number of running pods and their template.
        remedy: What makes the API server admit pods; empty: unknown.
        now: The present.
        explained: True if ``lead`` already says why pods are refused.
    """
    if rollout is None:
        return
    trouble, notice = Severity.TROUBLE, Severity.NOTICE
    if rollout.refused is not None:
        sentence = f"The controller cannot make or delete pods: {said_words(rollout.refused, now)}."
        said = (lead if explained else sentence, *filter(None, (remedy,)))
        yield Verdict(VerdictCode.PODS_REFUSED, trouble, said)
    if rollout.stalled is not None:
        sentence = f"The rollout is stuck: {said_words(rollout.stalled, now)}."
        yield Verdict(VerdictCode.ROLLOUT_STUCK, trouble, (sentence,))
    if rollout.behind:
        seen = f"generation {rollout.observed} of {rollout.generation}" if rollout.observed else "no generation"
        sentence = f"The controller has not acted on the newest spec yet: it has seen {seen}."
        yield Verdict(VerdictCode.SPEC_NOT_OBSERVED, notice, (sentence,))
    if rollout.paused:
        sentence = "The rollout is paused: changes of the template are not rolled out."
        yield Verdict(VerdictCode.ROLLOUT_PAUSED, notice, (sentence,))
    elif rollout.old:
        yield Verdict(VerdictCode.ROLLOUT_PARTIAL, notice, (lead,))


def schedule_verdict(schedule: Schedule, now: datetime | None) -> Verdict:
    """``Scheduled */5 * * * *: the last Job was due 3 min ago, 1 Job runs.``."""
    last = "it has made no Job yet"
    if schedule.last is not None:
        when = ago(schedule.last, now)
        last = f"the last Job was due {when} ago" if when is not None else f"the last Job was due at {schedule.last}"
    active = len(schedule.active)
    runs = f"{counted(active, 'Job')} {'runs' if active == 1 else 'run'}" if active else "no Job runs"
    if schedule.suspended:
        return Verdict(VerdictCode.SUSPENDED, Severity.NOTICE, (f"Suspended: it makes no Jobs; {last}, {runs}.",))
    return Verdict(VerdictCode.SCHEDULED, Severity.FINE, (f"Scheduled {schedule.schedule}: {last}, {runs}.",))
