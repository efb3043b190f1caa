"""What ended one container: by its exit code and reason, by the kubelet's events, and by what its pod's spec allows.

Why a kubelet may have stopped a container that ended: by its events, and by what the pod's spec allows.

    Killing         names the reason; for the whole pod, or its sandbox, it names none
    recurs          an event keeps its first and its last time: one in between may belong to this run of the container
    the same run    after it began, not in the same second, and not longer before its end than a stop takes
    liveness,       only with such a probe, and not sooner than it can fail: initialDelaySeconds, then
      startup       failureThreshold times, periodSeconds apart; failures of the previous run still count if that run
                    was not stopped for them
    probed dead     a probe also fails if the process has just died by itself: in the same second, an exit code that
                    is not one of a stop leaves both possible
    postStart       only with such a hook
    resize          only with resizePolicy RestartContainer, and if the pod's spec was changed (metadata.generation)
    definition      only if it was changed
    sandbox         not if it is still the same: PodReadyToStartContainers did not change, or another container of
                    the pod still runs
    sidecar         only once all app containers have ended
    storage         only if the pod succeeded and has such limits: an eviction for them leaves no other trace

If all events are present, what they do not report did not happen.

Source, at v1.36.3: pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions), pkg/kubelet/prober/worker.go
(doProbe), pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses), pkg/kubelet/status/generate.go
(GeneratePodReadyToStartContainersCondition).

Whether a restart of the node may have ended a container: its system stops all, and no pod's status shows it.

    Rebooted        the kubelet's event about its node, once it is up again and finds another boot id
    runs again      the restart came before that run, and the pod got a new sandbox, or the exit code is 255, which
                    runtimes report for containers that they find dead at their start, about when the kubelet starts

A restart without an event counts as a process that was ended outside Kubernetes.

Source: pkg/kubelet/nodestatus/setters.go (MachineInfo) at v1.36.3.

The kubelet's statement about this end decides. Without it, each cause that no evidence excludes is a suspect:

    the kubelet     for reasons that the spec allows, see above
    memory          OOMKilled, or exit code 137; not with another code if the kernel kills all its processes together
    the hook        waiting reason PostStartHookError: the kubelet keeps why the last start failed (reason_cache.go)
    application     always, unless the kernel killed all its processes for memory, or the kubelet stopped the whole pod

An exit code alone shows this: 128 + n means signal n. The process may also return it by itself, and a shell returns it
for its child.

Source: pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses) at v1.36.3.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later, span
from podrules.api.model.pod import Container, ContainerRef, Pod, Probe
from podrules.ending.died.cause import Cause, Clue, EndVerdict, EvidenceSource, Grade, Weight, of_event, proven, weighed
from podrules.ending.died.evidence import KUBELET, Evidence, PodEvents
from podrules.ending.died.memory import SIGKILL_CODE, kills_whole_container, memory_weights, start_ran_out
from podrules.ending.died.messages import NEVER_RAN, UNHEALTHY, cause_of_kill, is_plain_stop
from podrules.pod.container_state import OOM_KILLED, STATUS_UNKNOWN, Termination, fails_init, status_of

_RESTART_CONTAINER: Final = "RestartContainer"
_SANDBOX_CHANGED: Final = "SandboxChanged"
_SANDBOX_READY: Final = "PodReadyToStartContainers"
_CONTROL_C: Final = 0xC000013A
TERM_CODES: Final = frozenset({143, _CONTROL_C, _CONTROL_C - 2**32})
"""The exit codes of SIGTERM, and of a stopped Windows container, which an int32 may store as a negative number."""
STOP_CODES: Final = frozenset({0, 137, *TERM_CODES})
"""The exit codes of a process that stops on request."""
ALWAYS: Final = frozenset({"", "Always"})
"""With these policies a pod succeeds only if the kubelet stopped all of its containers."""
_SUCCEEDED: Final = "Succeeded"
_STORAGE: Final = "ephemeral-storage"
_AS_MADE: Final = 1
"""metadata.generation of a pod with an unchanged spec; 0: the API server is too old to count."""
_STOPPING: Final = timedelta(seconds=10)
"""The time that a stop may take beyond the grace period: SIGKILL, and the runtime."""
_LATE: Final = timedelta(seconds=2)
"""How much earlier than computed a probe may fail, and how long after an end its event may come: whole seconds."""
REBOOTED: Final = "Rebooted"
FOUND_DEAD: Final = 255
"""The exit code that runtimes report for a container that ended in a crash of the node."""
_STOP_TO_EVENT: Final = 900
"""The seconds that a restart of a machine may take, from the stop of its processes to the kubelet's event."""
_FOUND_TO_EVENT: Final = 300
"""The seconds between the start of a runtime and that event."""
_MINUTE: Final = 60
_LOST: Final = frozenset({STATUS_UNKNOWN, "Unknown"})
"""The kubelet's reason, and containerd's for a container with a task that was gone after a restart of containerd
(exit code 255)."""
_RESTART_ALL: Final = "RestartingAllContainers"


def stop_event(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> tuple[Cause, Event] | None:
    """The kubelet's event about this very end, with the cause; None: no event certainly belongs to it."""
    events = evidence.known_events
    for event in reversed(events.kills(ref.container.name)):
        cause = cause_of_kill(event.message)
        if cause is None or (cause in UNHEALTHY and _may_have_died_before(event, end)):
            continue
        if _is_of(event, end, _least(pod, ref.container, cause), _longest(pod, ref.container, cause)):
            return cause, event
    for event in reversed(events.named(_SANDBOX_CHANGED)):
        if _is_of(event, end, timedelta(), _longest(pod, ref.container, Cause.SANDBOX_CHANGED), after=_LATE):
            return Cause.SANDBOX_CHANGED, event
    return None


def _is_of(
    event: Event, end: Termination, least: timedelta, longest: timedelta, after: timedelta = timedelta()
) -> bool:
    """Whether an event of the kubelet must be about this run of a container: both times are from its node's clock.

    The kubelet can stop a container and start the next one in the same second: an event of that second may belong to
    either. After the event of a stop, the container ends within its grace period.
    """
    when, began, ended = instant(event.last), instant(end.started_at), instant(end.finished_at)
    if when is None or began is None or ended is None:
        return False
    return began < when and least <= when - began + _LATE and -after <= ended - when <= longest


def _may_have_died_before(event: Event, end: Termination) -> bool:
    """Whether the process may have died by itself right before its probe failed: times are in whole seconds."""
    if end.exit_code in TERM_CODES or (end.exit_code == SIGKILL_CODE and end.reason != OOM_KILLED):
        return False
    return instant(event.last) == instant(end.finished_at)


def _within(event: Event, end: Termination) -> bool:
    """Whether an event of the kubelet may be about this run of a container."""
    when, began, ended = instant(event.last), instant(end.started_at), instant(end.finished_at)
    return when is not None and began is not None and ended is not None and began <= when <= ended


def _least(pod: Pod, container: Container, cause: Cause) -> timedelta:
    """The shortest time after which a probe can have failed often enough.

    A worker keeps counting the failures of the previous run, unless the container was stopped for them.
    """
    probe = _probe_of(container, cause)
    if probe is None:
        return timedelta()
    status = status_of(pod, container.name)
    first_run = status is not None and status.restart_count <= (status.state.running is not None)
    times = probe.failure_threshold if first_run else 1
    least = probe.initial_delay_seconds + (times - 1) * probe.period_seconds
    if cause is Cause.LIVENESS_PROBE and container.startup_probe is not None:
        least = max(least, container.startup_probe.initial_delay_seconds)
    return span(least)


def _probe_of(container: Container, cause: Cause) -> Probe | None:
    """The container's probe with failures that are this cause; None: the container has none, or it is another cause."""
    return {Cause.LIVENESS_PROBE: container.liveness_probe, Cause.STARTUP_PROBE: container.startup_probe}.get(cause)


def _longest(pod: Pod, container: Container, cause: Cause) -> timedelta:
    """How long a container may take to end once the kubelet stops it."""
    probe = _probe_of(container, cause)
    own = probe.termination_grace_period_seconds if probe is not None else None
    grace = own if own is not None else pod.spec.termination_grace_period_seconds or 0
    return span(grace) + _STOPPING


def stop_weights(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> dict[Cause, Weight]:
    """Why the kubelet may have stopped a container of a pod that has not ended as a whole."""
    weights: dict[Cause, Weight] = {}
    for cause, weight in _stops(evidence, pod, ref, end):
        weights[cause] = max(weight, weights.get(cause, weight))
    return weights


def _stops(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Iterator[tuple[Cause, Weight]]:
    yield from dict.fromkeys(_possible_reasons(evidence.known_events, pod, ref, end), Weight.MUCH).items()
    if new_sandbox(evidence, pod, ref, end) is not None:
        yield Cause.SANDBOX_CHANGED, Weight.MUCH if end.exit_code in STOP_CODES else Weight.SOME
    if was_stopped(evidence.known_events, ref, end):
        yield from _stoppers(evidence, pod, ref, end)
        return
    container = ref.container
    if evidence.has_all_events(container.name, end):
        ended = instant(end.finished_at)
        events = (event for event in evidence.known_events.events if event.component == KUBELET)
        times = [when for event in events if (when := instant(event.last)) is not None]
        if ended is None or not any(when >= ended for when in times):
            # The recorder may have dropped the last events before a silence.
            yield from dict.fromkeys(dict(_probes(pod, container, end)), Weight.POSSIBLE).items()
        return
    yield from _probes(pod, container, end)
    if _is_sidecar_of_ended(pod, ref, end):
        yield Cause.SIDECAR_STOPPED, _by_code(end)
    by_code = Weight.SOME if end.exit_code in STOP_CODES else Weight.POSSIBLE
    if container.lifecycle is not None and container.lifecycle.post_start is not None:
        yield Cause.POST_START_HOOK, by_code
    if pod.metadata.generation != _AS_MADE:
        if any(one.restart_policy == _RESTART_CONTAINER for one in container.resize_policy):
            yield Cause.RESIZE, by_code
        yield Cause.DEFINITION_CHANGED, by_code if pod.metadata.generation else Weight.POSSIBLE
    if not _has_same_sandbox(pod, ref, end):
        yield Cause.SANDBOX_CHANGED, Weight.POSSIBLE


def _stoppers(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Iterator[tuple[Cause, Weight]]:
    """Why the kubelet may have stopped all of a pod that was not deleted: its events then give no reason.

    It does so if the probe of the last container of a pod that must not restart has failed, and with sidecars.
    """
    if _is_sidecar_of_ended(pod, ref, end):
        # The kubelet stops containers of such a pod for no other reason.
        yield Cause.SIDECAR_STOPPED, Weight.MUCH
        return
    stays_down = pod.restart_policy(ref.container) == "Never"
    probes = dict(_probes(pod, ref.container, end)) if stays_down else {}
    if not _has_same_sandbox(pod, ref, end):
        yield Cause.SANDBOX_CHANGED, Weight.SOME if probes else Weight.MUCH
    failed = evidence.known_events.named("Unhealthy")
    for cause in probes:
        reported = any(UNHEALTHY[cause] in event.message and _within(event, end) for event in failed)
        yield cause, Weight.MUCH if reported or not failed else Weight.SOME


def _is_sidecar_of_ended(pod: Pod, ref: ContainerRef, end: Termination) -> bool:
    """Whether it is a sidecar that ended after all app containers: the kubelet then stops sidecars."""
    ended = instant(end.finished_at)
    if not ref.is_sidecar or ended is None:
        return False
    states = {one.name: one.state.terminated for one in pod.status.container_statuses}
    ends = [states.get(one.name) for one in pod.spec.containers]
    return all(one is not None and (when := instant(one.finished_at)) is not None and when <= ended for one in ends)


def _probes(pod: Pod, container: Container, end: Termination) -> Iterator[tuple[Cause, Weight]]:
    """The probes that may have failed, with the weight that the exit code gives each."""
    for cause in UNHEALTHY:
        if _probe_of(container, cause) is not None and _may_fail(pod, container, cause, end):
            yield cause, _by_code(end)


def _by_code(end: Termination) -> Weight:
    """The weight that an exit code gives to a stop by a probe."""
    if end.exit_code in TERM_CODES:
        return Weight.MUCH
    return Weight.SOME if end.exit_code in STOP_CODES else Weight.POSSIBLE


def _may_fail(pod: Pod, container: Container, cause: Cause, end: Termination) -> bool:
    """Whether the container ran long enough for a probe to fail often enough."""
    began, ended = instant(end.started_at), instant(end.finished_at)
    return began is None or ended is None or ended - began + _LATE >= _least(pod, container, cause)


def storage_causes(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> list[Cause]:
    """The storage limits for which the kubelet may have evicted a pod that its status reports as succeeded.

    An evicted pod with processes that exit with 0 has that status: the reason and the message are then lost.
    """
    if pod.status.phase != _SUCCEEDED or evidence.has_all_events(ref.container.name, end):
        return []
    found = []
    if any(_STORAGE in one.resources.limits for one in (*pod.spec.containers, *pod.spec.init_containers)):
        found += [Cause.CONTAINER_STORAGE_LIMIT, Cause.POD_STORAGE_LIMIT]
    if any(one.empty_dir is not None and one.empty_dir.size_limit is not None for one in pod.spec.volumes):
        found.append(Cause.EMPTY_DIR_LIMIT)
    return found


def _possible_reasons(events: PodEvents, pod: Pod, ref: ContainerRef, end: Termination) -> Iterator[Cause]:
    """Why the kubelet stopped the container in this run or in another: its events do not show which."""
    for event in events.kills(ref.container.name):
        cause = cause_of_kill(event.message)
        if cause is None or not (_recurs_over(event, end) or _within(event, end)):
            continue
        # A probe that cannot have failed in this run failed in the previous one.
        if _may_fail(pod, ref.container, cause, end):
            yield cause
    for event in events.named(_SANDBOX_CHANGED):
        if _recurs_over(event, end) or _within(event, end):
            yield Cause.SANDBOX_CHANGED


def _recurs_over(event: Event, end: Termination) -> bool:
    """Whether an event came both before and after, so that it may also have come in this run of a container."""
    first, last, began, ended = map(instant, (event.first, event.last, end.started_at, end.finished_at))
    if event.times == 1 or first is None or last is None or began is None or ended is None:
        return False
    return first <= ended and last >= began


def new_sandbox(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> Event | None:
    """The event that the sandbox was gone after this end and before the container ran again; None: none is known.

    The sandbox is gone after a restart of the node or of its runtime: that may have ended the container, or came later.
    """
    status, ended = status_of(pod, ref.container.name), instant(end.finished_at)
    again = (status.runs_since if status is not None else None) or evidence.now
    for event in evidence.known_events.named(_SANDBOX_CHANGED):
        when = instant(event.last)
        if ended is not None and when is not None and ended <= when and (again is None or when <= again):
            return event
    return None


def stop_of_all(events: PodEvents, ref: ContainerRef, end: Termination) -> Event | None:
    """The event that the kubelet stopped this very run with its pod or sandbox; None: no certain event."""
    for event in reversed(events.kills(ref.container.name)):
        if is_plain_stop(event.message) and event.times == 1 and _within(event, end):
            return None if _may_have_died_before(event, end) else event
    return None


def was_stopped(events: PodEvents, ref: ContainerRef, end: Termination) -> bool:
    """Whether the kubelet stopped it with its pod or its sandbox: the event gives no reason."""
    kills = events.kills(ref.container.name)
    return any(is_plain_stop(one.message) and (_within(one, end) or _recurs_over(one, end)) for one in kills)


def _has_same_sandbox(pod: Pod, ref: ContainerRef, end: Termination) -> bool:
    """Whether the pod still has the sandbox that it had at this end."""
    ended, condition = instant(end.finished_at), pod.status.condition(_SANDBOX_READY)
    since = instant(condition.last_transition_time) if condition is not None else None
    if ended is None:
        return False
    if condition is not None and since is not None and since != ended:
        # Within the same second either may have come first.
        ready = condition.status == "True"
        if (since < ended) is ready:
            return True
    others = (status.runs_since for status in pod.status.of_containers if status.name != ref.container.name)
    return any(began is not None and began < ended for began in others)


def reboot_clues(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> list[Clue]:
    """The evidence of a restart of the node that may have ended a container; empty: no event shows one."""
    status, ended = status_of(pod, ref.container.name), instant(end.finished_at)
    if ended is None or status is None:
        return []
    sandbox, found, again = new_sandbox(evidence, pod, ref, end), end.exit_code == FOUND_DEAD, status.runs_since
    if status.state.terminated is None and sandbox is None and not found:
        return []
    first = later(ended, -_MINUTE) if found else ended
    last = later(ended, _FOUND_TO_EVENT if found else _STOP_TO_EVENT)
    for event in evidence.known_node_events.named(REBOOTED):
        when = instant(event.last)
        if when is not None and first <= when <= last and (again is None or when <= later(again, _MINUTE)):
            restart = of_event(event, EvidenceSource.NODE_EVENT)
            return [restart] if sandbox is None else [restart, of_event(sandbox)]
    return []


def never_ran(reason: str) -> Cause | None:
    """Why a waiting container could not be started; None: it waits for another reason."""
    return NEVER_RAN.get(reason)


def container_verdict(evidence: Evidence, pod: Pod, ref: ContainerRef, end: Termination) -> EndVerdict:
    """What ended a container of a pod that has not ended as a whole."""
    despite_zero = ref.is_init and not ref.is_sidecar and end.exit_code == 0 and fails_init(pod, 0, end.reason)
    if start_ran_out(end.message) or despite_zero:
        return weighed(*memory_weights(evidence, pod, ref, end))
    reboot = reboot_clues(evidence, pod, ref, end)
    said = Cause.CONTAINER_LOST if end.reason in _LOST else NEVER_RAN.get(end.reason)
    if end.reason == _RESTART_ALL:
        said = Cause.RESTART_ALL
    if said is not None:
        also = reboot if said is Cause.CONTAINER_LOST else []
        return proven(said, Clue(EvidenceSource.POD, "reason", end.reason, end.finished_at), *also)
    stop = stop_event(evidence, pod, ref, end)
    if stop is not None:
        cause, event = stop
        return proven(cause, of_event(event), *(reboot[:1] if cause is Cause.SANDBOX_CHANGED else ()))
    whole = kills_whole_container(evidence)
    weights: dict[Cause, Weight] = {}
    clues: dict[Cause, list[Clue]] = {}
    killed = end.exit_code == SIGKILL_CODE or (not whole and end.exit_code != 0)
    if killed and (end.reason == OOM_KILLED or end.signal == signal.SIGKILL):
        # The kernel may also have killed only a child process.
        weights, clues = memory_weights(evidence, pod, ref, end)
    if whole and end.reason == OOM_KILLED and end.exit_code == SIGKILL_CODE:
        return weighed(weights, clues)
    stops, stopped = stop_weights(evidence, pod, ref, end), stop_of_all(evidence.known_events, ref, end)
    stored, always = storage_causes(evidence, pod, ref, end), pod.spec.restart_policy in ALWAYS
    if stopped is not None and Cause.SIDECAR_STOPPED in stops:
        return weighed(stops, {Cause.SIDECAR_STOPPED: [of_event(stopped)]})
    if stopped is not None and not stops and not stored:
        # It was stopped with its pod, and neither the pod's status nor another event says why.
        return EndVerdict(Grade.NOTHING, clues=(of_event(stopped),))
    status = status_of(pod, ref.container.name)
    waiting = status.state.waiting if status is not None else None
    hooked = waiting is not None and NEVER_RAN.get(waiting.reason) is Cause.POST_START_HOOK
    if waiting is not None and hooked:
        # The last start of the container failed for its hook.
        hook = Clue(EvidenceSource.POD, "state.waiting", f"{waiting.reason}: {waiting.message}")
        if end.exit_code in STOP_CODES and end.reason != OOM_KILLED:
            return proven(Cause.POST_START_HOOK, hook)
        stops[Cause.POST_START_HOOK] = Weight.MUCH
        clues[Cause.POST_START_HOOK] = [hook]
    weights |= stops | dict.fromkeys(stored, Weight.MUCH if always else Weight.POSSIBLE)
    if not (stored and always):
        other = hooked or (reboot and end.exit_code == FOUND_DEAD)
        weights[Cause.APPLICATION] = min(_application(end, weights), Weight.SOME if other else Weight.MUCH)
    if reboot:
        weights.pop(Cause.SANDBOX_CHANGED, None)
        weights[Cause.NODE_REBOOT] = Weight.MUCH if end.exit_code in {*STOP_CODES, FOUND_DEAD} else Weight.SOME
        clues[Cause.NODE_REBOOT] = reboot
    clues[Cause.APPLICATION] = [Clue(EvidenceSource.POD, "exitCode", str(end.exit_code), end.finished_at)]
    clues |= {cause: [Clue(EvidenceSource.POD, f"{ref.field}.{cause.rule.probe}Probe", "")] for cause in UNHEALTHY}
    return weighed(weights, clues)


def _application(end: Termination, others: Mapping[Cause, Weight]) -> Weight:
    """The weight of the cause that the process ended by itself."""
    if end.exit_code not in STOP_CODES and end.reason != OOM_KILLED:
        return Weight.MUCH
    if end.exit_code in TERM_CODES and others.keys() & UNHEALTHY.keys():
        return Weight.SOME
    if end.reason == OOM_KILLED:
        return Weight.POSSIBLE if end.exit_code == SIGKILL_CODE else Weight.SOME
    return Weight.SOME if others else Weight.MUCH
