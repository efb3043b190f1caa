"""The last end of a pod, of all or of the container that ended last, and how each of its containers ended.

The containers of a stopped pod end before the stop, on SIGTERM, or by SIGKILL:

    the stop        began with the kubelet's event, with its DisruptionTarget, or with the deletion of the pod:
                    the first of these counts. The kubelet's last request sets both fields of a deletion again: they
                    then do not show the start
    SIGKILL         comes from the kubelet after the grace period. Earlier it comes from the kernel, from a second
                    delete, or from elsewhere

Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer) at v1.36.3.

The last end is that of

    the whole pod     it is gone, finished, or being deleted: what the kubelet or the API server did to it
    its containers    a finished pod without such evidence: the first container that failed, else the last that ended
    one container     of an existing pod: the one that ended last, or that could not be started at all

If a pod is stopped, its containers end with it. The exit code shows whether a container obeyed SIGTERM (143, or its own
code) or was killed at the end of its grace period (137).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.instant import instant, span
from podrules.api.model.pod import ContainerRef, Pod
from podrules.api.model.quantity import ZERO
from podrules.ending.deleted_pod import deleted_at, grace_of
from podrules.ending.died.cause import (
    NOTHING,
    Cause,
    Clue,
    EndVerdict,
    EvidenceSource,
    Family,
    Grade,
    causes_of,
    of_event,
    proven,
)
from podrules.ending.died.container_end import container_verdict, never_ran, stop_of_all
from podrules.ending.died.evidence import (
    Clocks,
    Evidence,
    MissingEvidence,
    container_of,
    ended_at,
    failed_at,
    first_of,
    stopped_at,
)
from podrules.ending.died.gone import LONG, cause_from_event, gone_verdict, node_evictor
from podrules.ending.died.memory import SIGKILL_CODE, MemoryLimits, memory_limits, pod_memory_limit, start_ran_out
from podrules.ending.died.messages import BY_KUBELET, EVICTED, EvictionNumbers, eviction_numbers
from podrules.ending.died.pod_end import Rejection, disruption, pod_verdict, rejection_of, was_reset
from podrules.node.eviction.thresholds import usable_thresholds
from podrules.pod.container_state import (
    OOM_KILLED,
    STATUS_UNKNOWN,
    ContainerKind,
    ObservedContainer,
    Termination,
    fails_init,
    observed_containers,
)
from podrules.pod.platform import pod_platform
from podrules.pod.resources import MEMORY
from podrules.pod.termination import eviction_stop
from podrules.workload.evictors import Evictor, Purpose, manager_of, pod_evictor

_ROUNDED: Final = timedelta(seconds=2)
"""Both times are in whole seconds."""
_NOT_STARTED: Final = 128
"""The exit code of a container that the runtime could not start."""
_UNABLE: Final = causes_of(Family.NEVER_RAN)
_LIMITED: Final = frozenset({OOM_KILLED, "StartError"})
"""Reasons of ends that a memory limit may explain."""
_BY_EVICTORS: Final = causes_of(Family.NODE) | {Cause.API_EVICTION}
_MEMORY: Final = causes_of(Family.MEMORY)


class Manner(Enum):
    """How a container of a pod that was stopped ended."""

    OBEYED = "Obeyed"
    """By SIGTERM, or by its own exit within its grace period."""
    KILLED = "Killed"
    """By SIGKILL: it still ran at the end of its grace period."""
    CUT_SHORT = "CutShort"
    """By SIGKILL within its grace period: from the kernel for memory, from a second delete, or from elsewhere."""
    SIGKILL = "Sigkill"
    """By SIGKILL; whether its grace period was over is not known."""
    BEFORE = "Before"
    """It had ended before the stop."""


class PodStop(Struct, frozen=True):
    """The stop of a whole pod."""

    began: datetime | None = None
    """By the API server's clock; None: not known."""
    grace: timedelta | None = None
    """The grace period of its containers; None: the kubelet decided it."""


def stop_of(evidence: Evidence, pod: Pod) -> PodStop:
    """The stop of a pod that ended as a whole."""
    condition, clocks, deleted = disruption(pod), evidence.clocks, deleted_at(pod)
    by_kubelet = condition is not None and condition.reason == BY_KUBELET
    stops = evidence.known_events.stops()
    own = [instant(stops[-1].last)] if stops else []
    if condition is not None and by_kubelet:
        own.append(instant(condition.last_transition_time))
    times = [clocks.server_time(when) for when in own if when is not None]
    if deleted is not None and not was_reset(pod):
        times.append(deleted)
    known = deleted is not None and not by_kubelet
    return PodStop(min(times, default=None), span(grace_of(pod).longest) if known else None)


def manner_of(clocks: Clocks, end: Termination, stop: PodStop) -> Manner:
    """How a container of a stopped pod ended.

    Args:
        clocks: The clocks of its node and the API server.
        end: Its end.
        stop: The stop of its pod.
    """
    ended = instant(end.finished_at)
    taken = None if ended is None or stop.began is None else clocks.server_time(ended) - stop.began
    if taken is not None and taken + clocks.margin < timedelta():
        return Manner.BEFORE
    if end.exit_code != SIGKILL_CODE:
        return Manner.OBEYED
    if stop.grace is None:
        return Manner.KILLED
    if taken is None or clocks.margin > _ROUNDED:
        return Manner.SIGKILL
    return Manner.CUT_SHORT if taken + clocks.margin + _ROUNDED < stop.grace else Manner.KILLED


class EndOf(Enum):
    """What ended."""

    POD = "Pod"
    CONTAINER = "Container"
    NEVER_RAN = "NeverRan"
    """A container could not be started."""
    NOTHING = "Nothing"
    """Nothing of the pod has ended."""


class ContainerEnd(Struct, frozen=True, rename="camel"):
    """How one container ended last, or why it does not start."""

    container: str
    kind: ContainerKind
    restarts: int
    runs: bool
    """Whether it runs now."""
    waits: str = ""
    """The kubelet's reason why it does not start again."""
    waits_message: str = ""
    end: Termination | None = None
    """None: it has never run."""
    at: str | None = None
    """When it ended, by the API server's clock if the difference is known."""
    verdict: EndVerdict | None = None
    """What ended it; None: it was stopped with its pod."""
    manner: Manner | None = None
    """How it ended, if it was stopped with its pod."""
    limits: MemoryLimits | None = None
    """Its memory limits, if memory may have ended it."""
    hook_failed_seconds: int | None = None
    """Seconds from the start of the stop to the failure of its preStop hook; None: no event shows a failure."""
    child_killed: bool = False
    """The kernel killed one of its processes for memory; that did not end the container."""

    @property
    def said(self) -> str:
        """The message of its last end, else that of the kubelet."""
        return self.end.message if self.end is not None and self.end.message else self.waits_message


class PodEnd(Struct, frozen=True, rename="camel"):
    """What ended a pod, or a container of it."""

    of: EndOf
    verdict: EndVerdict
    container: str = ""
    """The container that ended; empty: the pod as a whole."""
    at: str | None = None
    """When it ended, or was asked to."""
    ends: tuple[ContainerEnd, ...] = ()
    """The containers that ended or do not start, in the pod's order."""
    numbers: EvictionNumbers = EvictionNumbers()
    grace_seconds: int | None = None
    """How long its containers had to stop, if it was deleted."""
    running: tuple[str, ...] = ()
    """Containers that run although the pod was deleted."""
    stuck: Clue | None = None
    """The kubelet's last event that it could not stop them; None: no such event is known."""
    rejection: Rejection | None = None
    """Why the kubelet rejected it, if that is the cause."""
    lost: tuple[MissingEvidence, ...] = ()
    """The missing evidence that could have shown more."""
    stopped: str | None = None
    """When the kubelet began to stop a pod that no longer exists; None: no event shows that it did."""
    evictor: Evictor | None = None
    """The program that evicted it, or that removes or restarts its node; None: no evidence shows one."""

    @property
    def is_unknown(self) -> bool:
        """Whether no cause is known, and the events, which might show one, could not be read."""
        return self.verdict.grade is Grade.NOTHING and MissingEvidence.EVENTS_UNREAD in self.lost

    @property
    def never_began(self) -> bool:
        """Whether nothing ended: a container could not be started."""
        causes = self.verdict.causes
        if self.of is EndOf.NEVER_RAN:
            return Cause.POST_START_HOOK not in causes
        return self.of is EndOf.CONTAINER and bool(causes) and causes <= _UNABLE

    @property
    def container_end(self) -> ContainerEnd | None:
        """How the container ended that this is about; None: the pod as a whole."""
        return self.end_of(self.container)

    def end_of(self, container: str) -> ContainerEnd | None:
        """How one of its containers ended."""
        return next((one for one in self.ends if one.container == container), None)


def has_ended(pod: Pod) -> bool:
    """Whether the pod, or a container of it, has ended."""
    if pod.finished or pod.metadata.deletion_timestamp is not None:
        return True
    init = {one.name for one in pod.spec.init_containers if not one.restarts_always}
    for status in pod.status.of_containers:
        end = status.latest_end
        # A completed init container stays completed; one that waits to run again has not completed.
        done = status.name in init and status.state.waiting is None
        if end is not None and (fails_init(pod, end.exit_code, end.reason) or not done):
            return True
    return False


def may_have_ended(pod: Pod, after: datetime | None) -> bool:
    """Whether the pod may have ended at or after a moment: a cheap filter for large clusters."""
    if after is None or never_started(pod):
        return True
    own = [one for one in pod.status.of_containers if one.latest_end is not None]
    ends = [end.finished_at for one in own if (end := one.latest_end) is not None]
    times = [*map(instant, (pod.metadata.deletion_timestamp, failed_at(pod), *ends)), *(one.runs_since for one in own)]
    known = [when for when in times if when is not None]
    return max(known) >= after if known else not pod.finished


def never_started(pod: Pod) -> bool:
    """Whether one of its containers could not be started."""
    waits = (one.state.waiting for one in pod.status.of_containers)
    return any(state is not None and never_ran(state.reason) is not None for state in waits)


def last_end(evidence: Evidence) -> PodEnd:
    """What ended a pod last."""
    pod = evidence.pod
    if pod is None:
        return _removed_pod_end(evidence)
    evidence = replace(evidence, pod_limit=pod_memory_limit(pod))
    whole = pod_verdict(evidence, pod)
    ends = tuple(_ends(evidence, pod, whole, None if whole is None else stop_of(evidence, pod)))
    if whole is not None:
        deleted, evictions = deleted_at(pod), evidence.known_events.named(EVICTED)
        message = evictions[-1].message if evictions else ""
        if pod.status.reason == EVICTED:
            message = pod.status.message
        last = max((one.at for one in ends if one.at is not None), default=None)
        return PodEnd(
            EndOf.POD,
            whole,
            at=last or _on_server(evidence, failed_at(pod)) if deleted is None else _text(deleted),
            ends=ends,
            numbers=_with_threshold(evidence, eviction_numbers(message)),
            grace_seconds=None if deleted is None else grace_of(pod).longest,
            running=() if deleted is None else tuple(one.name for one in pod.status.of_containers if one.runs_since),
            stuck=next(map(of_event, evidence.known_events.named("FailedKillPod")[-1:]), None),
            rejection=_rejection(evidence, whole),
            lost=_lost(evidence, whole),
            evictor=_evictor(evidence, whole),
        )
    chosen = _chosen(pod, ends, over=pod.finished or pod.metadata.deletion_timestamp is not None)
    if chosen is None:
        return PodEnd(
            EndOf.NOTHING, NOTHING, ends=ends, lost=(MissingEvidence.NODE_REMOVED,) if evidence.node_missing else ()
        )
    ran = chosen.end is not None
    return PodEnd(
        EndOf.CONTAINER if ran else EndOf.NEVER_RAN,
        chosen.verdict or NOTHING,
        container=chosen.container,
        at=chosen.at,
        ends=ends,
        lost=_lost(evidence, chosen.verdict or NOTHING, chosen),
        evictor=_evictor(evidence, chosen.verdict or NOTHING),
    )


def _on_server(evidence: Evidence, of_node: str | None) -> str | None:
    """A time of the node's clock, converted to the API server's if the clocks are known to differ."""
    when = instant(of_node)
    return of_node if when is None or not evidence.clocks.are_apart else _text(evidence.clocks.server_time(when))


def _text(when: datetime) -> str:
    return when.isoformat().replace("+00:00", "Z")


def _lost(evidence: Evidence, verdict: EndVerdict, one: ContainerEnd | None = None) -> tuple[MissingEvidence, ...]:
    """The missing evidence that could have shown more about a verdict that is not certain."""
    return () if verdict.grade is Grade.CERTAIN else tuple(_missing(evidence, verdict, one))


def _missing(evidence: Evidence, verdict: EndVerdict, one: ContainerEnd | None) -> Iterator[MissingEvidence]:
    pod, events, end = evidence.pod, evidence.events, None if one is None else one.end
    if end is not None and end.finished_at is not None:
        settled = evidence.has_come(end)
    else:
        # All events must have arrived, also if the time of the end is not known.
        times = [time for text in _clue_times(verdict) if (time := instant(text)) is not None]
        when = ended_at(evidence) or max(times, default=None)
        settled = when is None or evidence.now is None or evidence.is_settled(when)
    if one is not None and end is not None:
        complete = evidence.has_all_events(one.container, end)
    else:
        made = None if pod is None else instant(pod.status.start_time or pod.metadata.creation_timestamp)
        known = evidence.known_events
        complete = known.complete_since(first_of(known.stops()) if pod is None else made)
    if pod is None:
        yield MissingEvidence.POD_UNREAD if evidence.pod_unread else MissingEvidence.POD_REMOVED
    if events is None:
        yield MissingEvidence.EVENTS_UNREAD
    elif not settled:
        yield MissingEvidence.EVENTS_COMING
    elif not complete:
        yield MissingEvidence.EVENTS_EXPIRED
    if verdict.causes & causes_of(Family.CONTROLLER) and evidence.owner_events is None:
        yield MissingEvidence.OWNER_EVENTS
    if evidence.node_missing:
        yield MissingEvidence.NODE_REMOVED
    elif evidence.node is None and (pod is None or pod.spec.node_name):
        yield MissingEvidence.NODE_UNREAD
    if verdict.causes & _MEMORY:
        if evidence.config is None:
            yield MissingEvidence.KUBELET_UNREAD
        if evidence.neighbours is None:
            yield MissingEvidence.NEIGHBOURS_UNREAD


def _clue_times(verdict: EndVerdict) -> list[str]:
    return [clue.at for one in verdict.suspects for clue in one.clues if clue.at]


def _removed_pod_end(evidence: Evidence) -> PodEnd:
    verdict, stopped = gone_verdict(evidence), stopped_at(evidence)
    events = evidence.known_events.events
    times = _clue_times(verdict)
    message = next((event.message for event in reversed(events) if event.reason == EVICTED), "")
    nothing = verdict.grade is Grade.NOTHING
    if nothing and events:
        verdict = replace(verdict, clues=(of_event(events[-1]),))
    when = max(times, default=None) if stopped is None else _text(stopped)
    return PodEnd(
        EndOf.POD,
        verdict,
        at=None if nothing else when,
        numbers=_with_threshold(evidence, eviction_numbers(message)),
        rejection=_rejection(evidence, verdict),
        lost=_lost(evidence, verdict),
        stopped=None if stopped is None else _text(stopped),
        evictor=_evictor(evidence, verdict),
    )


def _rejection(evidence: Evidence, verdict: EndVerdict) -> Rejection | None:
    """Why the kubelet rejected the pod: by its status, else by the event."""
    if verdict.cause is not Cause.REJECTED:
        return None
    status, named = evidence.pod.status if evidence.pod is not None else None, cause_from_event(evidence)
    if status is not None and status.reason:
        return rejection_of(evidence, status.reason, status.message)
    return None if named is None else rejection_of(evidence, named[1].reason, named[1].message)


def _evictor(evidence: Evidence, verdict: EndVerdict) -> Evictor | None:
    """The program behind a verdict: by its event about the pod, else by marks on the node, else by marks on the pod."""
    causes = {one.cause for one in verdict.suspects}
    named = next(filter(None, map(pod_evictor, reversed(evidence.known_events.events))), None)
    at, when = instant(named.at) if named is not None else None, ended_at(evidence)
    if at is not None and when is not None and when - at > LONG:
        named = None
    of_node = node_evictor(evidence) if causes & _BY_EVICTORS else None
    if of_node is not None and not of_node.evicts and Cause.NODE_REBOOT not in causes:
        of_node = None
    if named is not None and causes & {Cause.DELETED if named.deletes else Cause.API_EVICTION}:
        taken = of_node is not None and of_node.purpose is Purpose.INTERRUPTED and of_node.agent is named.agent
        return replace(named, purpose=Purpose.INTERRUPTED) if taken else named
    if of_node is not None or evidence.pod is None or Cause.API_EVICTION not in causes:
        return of_node
    return manager_of(evidence.pod)


def _with_threshold(evidence: Evidence, numbers: EvictionNumbers) -> EvictionNumbers:
    """Add the kind of the kubelet's threshold that matches the amount in the message.

    The amount of a percentage is known for memory only: no object has the capacity of disks as the kubelet sees it.
    """
    config, pod, node = evidence.config, evidence.pod, evidence.node
    if config is None or not numbers.threshold:
        return numbers
    capacity = 0 if node is None or numbers.resource != MEMORY else node.status.capacity.get(MEMORY, ZERO).value
    hard = {
        one.is_hard
        for one in usable_thresholds(config)[0]
        if one.signal.resource == numbers.resource and str(one.value.of(capacity)) == numbers.threshold
    }
    if len(hard) != 1:
        return numbers
    if True in hard:
        return replace(numbers, set_by="evictionHard")
    most = config.eviction_max_pod_grace_period
    stop = None if pod is None else eviction_stop(pod, max_pod_grace_period_seconds=most)
    return replace(numbers, set_by="evictionSoft", grace_seconds=most if stop is None else stop.pod_seconds)


def _ends(evidence: Evidence, pod: Pod, whole: EndVerdict | None, stop: PodStop | None) -> Iterator[ContainerEnd]:
    observed = {one.name: one for one in observed_containers(pod, pod_platform(pod, evidence.node))}
    condition = disruption(pod)
    by_kubelet = condition is not None and condition.reason == BY_KUBELET
    for ref in pod.containers():
        one = observed.get(ref.container.name)
        if one is None or (one.latest is None and never_ran(one.reason) is None):
            continue
        end = one.end
        if one.kind is ContainerKind.INIT and end is not None and not fails_init(pod, end.exit_code, end.reason):
            # It has completed.
            continue
        with_pod = whole is not None and (whole.grade is not Grade.NOTHING or by_kubelet)
        if whole is not None and not with_pod and end is not None:
            # An unknown reason of the pod does not show that the container ended with it.
            with_pod = stop_of_all(evidence.known_events, ref, end) is not None
        yield _end(evidence, pod, ref, one, stop if with_pod else None)


def _end(evidence: Evidence, pod: Pod, ref: ContainerRef, one: ObservedContainer, stop: PodStop | None) -> ContainerEnd:
    end, unable = one.latest, never_ran(one.reason)
    manner = manner_of(evidence.clocks, one.end, stop) if stop is not None and one.end is not None else None
    stopped = manner is not None and manner is not Manner.BEFORE
    if end is not None and end.reason == STATUS_UNKNOWN:
        manner = None
    verdict = None
    if end is not None and not stopped:
        verdict = container_verdict(evidence, pod, ref, end)
    elif unable is not None and end is None and start_ran_out(one.message):
        verdict = container_verdict(evidence, pod, ref, Termination(_NOT_STARTED, one.reason, one.message))
    elif unable is not None and end is None:
        verdict = proven(unable, Clue(EvidenceSource.POD, "state.waiting", f"{one.reason}: {one.message}"))
    memory = (verdict is not None and bool(verdict.causes & _MEMORY)) or (end is not None and end.reason in _LIMITED)
    return ContainerEnd(
        container=one.name,
        kind=one.kind,
        restarts=one.restarts,
        runs=one.started_at is not None,
        waits=one.reason,
        waits_message=one.message,
        end=end,
        at=None if end is None else _on_server(evidence, end.finished_at),
        verdict=verdict,
        manner=manner,
        limits=memory_limits(pod, ref, evidence.pod_limit) if memory else None,
        hook_failed_seconds=_hook_failed(evidence, one.name) if stopped else None,
        child_killed=end is not None and end.reason == OOM_KILLED and (stopped or end.exit_code != SIGKILL_CODE),
    )


def _hook_failed(evidence: Evidence, container: str) -> int | None:
    events = evidence.known_events
    ends = [instant(one.last) for one in events.named("FailedPreStopHook") if container_of(one) == container]
    began = [instant(one.last) for one in events.kills(container)]
    if not ends or not began or ends[-1] is None or began[-1] is None or ends[-1] < began[-1]:
        return None
    return int((ends[-1] - began[-1]).total_seconds())


def _chosen(pod: Pod, ends: tuple[ContainerEnd, ...], *, over: bool) -> ContainerEnd | None:
    """The container that represents the end: the first that failed if the pod is over; else the last that ended."""
    ended = [one for one in ends if one.end is not None]
    if over:
        # Sidecars do not decide the phase of a pod: the kubelet stops them once the others have ended.
        ended = [one for one in ended if one.kind is not ContainerKind.SIDECAR] or ended
    order = {one.container: place for place, one in enumerate(ends)}

    def time(one: ContainerEnd) -> tuple[str, int]:
        return (one.end.finished_at or "" if one.end is not None else "", order[one.container])

    failed = [one for one in ended if one.end is not None and one.end.exit_code]
    if over and failed and pod.status.phase != "Succeeded":
        return min(failed, key=time)
    return max(ended, key=time) if ended else next(iter(ends), None)
