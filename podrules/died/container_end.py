"""What ended one container: by its exit code and reason, what the kubelet wrote, and what its pod's spec allows.

The kubelet's own word about this end decides. Without it, each cause that the spec allows and nothing excludes is a
suspect:

    liveness,       only with such a probe, and not sooner than it can fail: initialDelaySeconds, then
      startup       failureThreshold times, periodSeconds apart
    postStart       only with such a hook
    resize          only with resizePolicy RestartContainer, and if the pod's spec was changed (metadata.generation)
    definition      only if it was changed
    all restart     only with such a rule (restartPolicyRules)
    sandbox         not if it is the same since before: PodReadyToStartContainers did not change, or another
                    container of the pod runs on
    storage         only of a pod that succeeded, with such limits: an eviction for them leaves no other trace
    memory          OOMKilled, or exit code 137; not where all its processes die together and the code is another
    application     always, but where all its processes died together of memory

Where all events are there, what they do not say did not happen. What exit codes say alone: 128 + n of signal n, which
the process may also return by itself, and a shell returns for its child.

Source, at v1.36.3: pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions), pkg/kubelet/prober/worker.go
(doProbe), pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses), pkg/kubelet/status/generate.go
(GeneratePodReadyToStartContainersCondition).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from podrules.container_state import OOM_KILLED, Termination
from podrules.died.cause import Cause
from podrules.died.evidence import Evidence, PodEvents
from podrules.died.memory import SIGKILL_CODE, kills_whole_container, memory_weights, start_ran_out
from podrules.died.messages import NEVER_RAN, UNHEALTHY, cause_of_kill, is_plain_stop
from podrules.died.verdict import Clue, Source, Verdict, Weight, proven, weighed
from podrules.model.event import Event
from podrules.model.instant import instant
from podrules.model.pod import Container, ContainerRef, Pod, Probe
from podrules.processes import status_of

__all__ = ["container_verdict", "never_ran", "told_event", "was_stopped"]

_LOST: Final = "ContainerStatusUnknown"
_RESTART_ALL: Final = "RestartingAllContainers"
_RESTART_CONTAINER: Final = "RestartContainer"
_SANDBOX_CHANGED: Final = "SandboxChanged"
_SANDBOX_READY: Final = "PodReadyToStartContainers"
_TERM_CODE: Final = 143
_SUCCEEDED: Final = "Succeeded"
_ALWAYS: Final = frozenset({"", "Always"})
"""With which a pod succeeds only if the kubelet stopped all of it."""
_STORAGE: Final = "ephemeral-storage"
_STOP_CODES: Final = frozenset({0, SIGKILL_CODE, _TERM_CODE})
"""The exit codes of a process that stops because it was asked to."""
_AS_MADE: Final = 1
"""metadata.generation of a pod whose spec nobody has changed; 0: the API server is too old to count."""
_LATE: Final = timedelta(seconds=2)
"""How much sooner than counted a probe may fail, and later than its end an event may be told: times are in seconds."""
_PROBES: Final = ((Cause.LIVENESS_PROBE, "livenessProbe"), (Cause.STARTUP_PROBE, "startupProbe"))


def never_ran(reason: str) -> Cause | None:
    """Why a container waits that could not be started; None: it waits for something else."""
    return NEVER_RAN.get(reason)


def container_verdict(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Verdict:
    """What ended a container of a pod that is not itself at its end.

    Args:
        evidence: What is known of the pod.
        pod: The pod.
        ref: The container.
        end: How it ended.
    """
    if start_ran_out(end.message):
        return weighed(*memory_weights(evidence, pod, ref, end))
    said = _by_status(end)
    if said is not None:
        return proven(said, Clue(Source.POD, "reason", end.reason, end.finished_at))
    told = told_event(evidence.events, ref, end)
    if told is not None:
        cause, event = told
        return proven(cause, Clue(Source.EVENT, event.reason, event.message, event.last))
    weights: dict[Cause, Weight] = {}
    clues: dict[Cause, list[Clue]] = {}
    whole = kills_whole_container(evidence)
    if end.reason == OOM_KILLED or end.signal == signal.SIGKILL:
        weights, clues = memory_weights(evidence, pod, ref, end)
    if end.reason == OOM_KILLED and end.exit_code == SIGKILL_CODE and whole:
        return weighed(weights, clues)
    if end.exit_code == 0 or (whole and end.exit_code != SIGKILL_CODE):
        # A child of it may have been killed; the process itself ended in another way.
        weights, clues = {}, {}
    for cause, weight in _of_kubelet(evidence, pod, ref, end):
        weights[cause] = max(weight, weights.get(cause, weight))
    stored = list(_storage(pod)) if pod.status.phase == _SUCCEEDED and not _is_complete(evidence, end) else []
    weights |= dict.fromkeys(stored, Weight.MUCH if pod.spec.restart_policy in _ALWAYS else Weight.POSSIBLE)
    if not stored or pod.spec.restart_policy not in _ALWAYS:
        weights[Cause.APPLICATION] = _application(end, weights)
    clues[Cause.APPLICATION] = [Clue(Source.POD, "exitCode", str(end.exit_code), end.finished_at)]
    clues |= {cause: [Clue(Source.POD, f"{ref.field}.{field}", "")] for cause, field in _PROBES if cause in weights}
    return weighed(weights, clues)


def told_event(events: PodEvents | None, ref: ContainerRef, end: Termination) -> tuple[Cause, Event] | None:
    """What the kubelet wrote of this end, while the container ran: why it stopped the container; None: nothing."""
    if events is None:
        return None
    for event in reversed(events.kills(ref.container.name)):
        cause = cause_of_kill(event.message)
        if cause is not None and _within(event, end):
            return cause, event
    for event in reversed(events.named(_SANDBOX_CHANGED)):
        if _within(event, end, after=_LATE):
            return Cause.SANDBOX_CHANGED, event
    return None


def _by_status(end: Termination) -> Cause | None:
    if end.reason == _RESTART_ALL:
        return Cause.RESTART_ALL
    return Cause.CONTAINER_LOST if end.reason == _LOST else NEVER_RAN.get(end.reason)


def _within(event: Event, end: Termination, after: timedelta = timedelta()) -> bool:
    """Whether an event of the kubelet is about this run of a container: both times are its node's."""
    when, began, ended = instant(event.last), instant(end.started_at), instant(end.finished_at)
    return when is not None and began is not None and ended is not None and began <= when <= ended + after


def _application(end: Termination, others: dict[Cause, Weight]) -> Weight:
    """How much speaks for the process itself."""
    if end.exit_code not in _STOP_CODES and end.reason != OOM_KILLED:
        return Weight.MUCH
    if end.exit_code == _TERM_CODE and others.keys() & {Cause.LIVENESS_PROBE, Cause.STARTUP_PROBE}:
        return Weight.SOME
    if end.reason == OOM_KILLED:
        return Weight.POSSIBLE if end.exit_code == SIGKILL_CODE else Weight.SOME
    return Weight.SOME if others else Weight.MUCH


def _of_kubelet(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Iterator[tuple[Cause, Weight]]:
    """Why the kubelet may have stopped the container, that would have said so in an event."""
    yield from dict.fromkeys(_perhaps_told(evidence.events, ref, end), Weight.MUCH).items()
    if was_stopped(evidence.events, ref, end):
        yield from _stoppers(evidence, pod, ref, end)
        return
    if _is_complete(evidence, end):
        return
    container = ref.container
    yield from _probes(container, end)
    if container.lifecycle is not None and container.lifecycle.post_start is not None:
        yield Cause.POST_START_HOOK, Weight.SOME if end.exit_code in _STOP_CODES else Weight.POSSIBLE
    if pod.metadata.generation != _AS_MADE:
        by_code = Weight.SOME if end.exit_code in _STOP_CODES else Weight.POSSIBLE
        if any(one.restart_policy == _RESTART_CONTAINER for one in container.resize_policy):
            yield Cause.RESIZE, by_code
        if pod.metadata.generation:
            yield Cause.DEFINITION_CHANGED, by_code
    if not _has_same_sandbox(pod, ref, end):
        yield Cause.SANDBOX_CHANGED, Weight.POSSIBLE


def _stoppers(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Iterator[tuple[Cause, Weight]]:
    """Why the kubelet may have stopped all of a pod that nobody deleted: events do not tell a reason then.

    So it does with the last container of a pod that is not to restart, whose probe has failed.
    """
    probes = dict(_probes(ref.container, end)) if pod.spec.restart_policy == "Never" else {}
    if not _has_same_sandbox(pod, ref, end):
        yield Cause.SANDBOX_CHANGED, Weight.SOME if probes else Weight.MUCH
    failed = evidence.events.named("Unhealthy") if evidence.events is not None else ()
    for cause in probes:
        told = any(UNHEALTHY[cause] in event.message and _within(event, end) for event in failed)
        yield cause, Weight.MUCH if told or not failed else Weight.SOME


def _probes(container: Container, end: Termination) -> Iterator[tuple[Cause, Weight]]:
    """The probes that may have failed, by how much the exit code speaks for each."""
    for cause, probe in (
        (Cause.LIVENESS_PROBE, container.liveness_probe),
        (Cause.STARTUP_PROBE, container.startup_probe),
    ):
        if probe is not None and _may_fail(probe, container, cause, end):
            yield cause, _by_code(end)


def _by_code(end: Termination) -> Weight:
    """How much an exit code speaks for a stop by a probe."""
    if end.exit_code == _TERM_CODE:
        return Weight.MUCH
    return Weight.SOME if end.exit_code in _STOP_CODES else Weight.POSSIBLE


def _may_fail(probe: Probe, container: Container, cause: Cause, end: Termination) -> bool:
    """Whether the container ran long enough for a probe to fail as often as it has to."""
    began, ended = instant(end.started_at), instant(end.finished_at)
    if began is None or ended is None:
        return True
    least = probe.initial_delay_seconds + (probe.failure_threshold - 1) * probe.period_seconds
    if cause is Cause.LIVENESS_PROBE and container.startup_probe is not None:
        least = max(least, container.startup_probe.initial_delay_seconds)
    return ended - began + _LATE >= timedelta(seconds=least)


def _is_complete(evidence: Evidence, end: Termination) -> bool:
    """Whether no event about this run of a container can be missing."""
    return evidence.has_all_events(end.started_at, end.finished_at)


def _storage(pod: Pod) -> Iterator[Cause]:
    """The limits of storage for which the kubelet may have evicted a pod whose status says that it succeeded.

    So it says of an evicted pod whose processes exit with 0: the reason and the message are lost then.
    """
    if any(_STORAGE in one.resources.limits for one in (*pod.spec.containers, *pod.spec.init_containers)):
        yield from (Cause.CONTAINER_STORAGE_LIMIT, Cause.POD_STORAGE_LIMIT)
    if any(one.empty_dir is not None and one.empty_dir.size_limit is not None for one in pod.spec.volumes):
        yield Cause.EMPTY_DIR_LIMIT


def _perhaps_told(events: PodEvents | None, ref: ContainerRef, end: Termination) -> Iterator[Cause]:
    """Why the kubelet stopped the container several times: an event that recurs keeps its first and its last time."""
    for event in events.kills(ref.container.name) if events is not None else ():
        cause = cause_of_kill(event.message)
        if cause is not None and _recurs_over(event, end):
            yield cause
    if events is not None and any(_recurs_over(event, end) for event in events.named(_SANDBOX_CHANGED)):
        yield Cause.SANDBOX_CHANGED


def _recurs_over(event: Event, end: Termination) -> bool:
    """Whether an event came before and after, so that it may have come in this run of a container, too."""
    first, last, began, ended = map(instant, (event.first, event.last, end.started_at, end.finished_at))
    if event.times == 1 or first is None or last is None or began is None or ended is None:
        return False
    return first <= ended and last >= began


def was_stopped(events: PodEvents | None, ref: ContainerRef, end: Termination) -> bool:
    """Whether the kubelet stopped it with its pod, or its sandbox: it wrote no reason."""
    kills = events.kills(ref.container.name) if events is not None else ()
    return any(is_plain_stop(one.message) and (_within(one, end) or _recurs_over(one, end)) for one in kills)


def _has_same_sandbox(pod: Pod, ref: ContainerRef, end: Termination) -> bool:
    """Whether the pod has the sandbox that it had at this end."""
    ended, condition = instant(end.finished_at), pod.status.condition(_SANDBOX_READY)
    since = instant(condition.last_transition_time) if condition is not None else None
    if ended is None:
        return False
    if condition is not None and since is not None and since != ended:
        # In the same second either may have come first.
        ready = condition.status == "True"
        if (since < ended) is ready:
            return True
    for other in pod.containers():
        status = status_of(pod, other.container.name)
        running = status.state.running if status is not None and other.container.name != ref.container.name else None
        began = instant(running.started_at) if running is not None else None
        if began is not None and began < ended:
            return True
    return False
