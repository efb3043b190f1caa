"""Pods that the kubelet stops by itself: their objects are not deleted, and the kubelet's grace period applies.

Eviction, hard      1 s for the pod, raised to 2 s by the containers' minimum
Eviction, soft      the smaller of evictionMaxPodGracePeriod and the pod's own; the former is 0 unless set, which makes
                    a soft eviction as short as a hard one. The kubelet waits 1.5 times as long for the kill, at least
                    10 s. The seconds count from its choice of the pod
Probe               liveness: failureThreshold probes in a row fail, one each periodSeconds, each for at most
                    timeoutSeconds; the seconds count from when the container hangs. Startup: the same from the
                    container's start, after initialDelaySeconds. The kubelet kills only the container, with the probe's
                    own grace period if set, and restarts it in the same pod by its restartPolicy, or the pod's. One
                    step kills and starts it, and checks only the previous end: so the first two restarts do not wait,
                    and later ones wait only if that end was less than the back-off ago
Node shutdown       pods with the lowest priority first, group by group, each with its own time, at most the pod's own;
                    a group without pods takes no time. Then the machine stops. It happens only if
                    shutdownGracePeriod or shutdownGracePeriodByPodPriority is set

Source: pkg/kubelet/eviction/eviction_manager.go, pkg/kubelet/pod_workers.go (killPodNow),
pkg/kubelet/prober/worker.go, pkg/kubelet/nodeshutdown/nodeshutdown_manager.go (killPods, migrateConfig,
groupByPriority), pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, doBackOff) at v1.36.3; KEP-2000,
KEP-2712, KEP-2238.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.instant import DurationError, parse_duration
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.pod import ContainerRef, Pod, Probe
from podrules.ending.deleted_pod import Grace
from podrules.ending.timeline.aftermath import (
    Ownership,
    after_kubelet_kill,
    free_volumes,
    idle_notes,
    stop_events,
    stop_of,
)
from podrules.ending.timeline.events import (
    NEVER,
    EventKind,
    Note,
    Reminder,
    Span,
    Standing,
    TimelineEvent,
    TimeRule,
    Way,
    WayTimeline,
)
from podrules.ending.volumes import WriterGuard
from podrules.node.eviction.thresholds import Signal, usable_thresholds
from podrules.pod.container_state import has_process
from podrules.pod.priority import SYSTEM_CRITICAL_PRIORITY
from podrules.pod.termination import (
    container_stop,
    effective_grace_period,
    eviction_stop,
    probe_stops,
)

_MAX_GRACE: Final = "evictionMaxPodGracePeriod"
_BACK_OFF_SECONDS: Final = 10
_NEVER_RESTARTED: Final = "Never"


class ShutdownGroup(Struct, frozen=True):
    """The shutdown time of the pods with at least this priority, up to that of the next group."""

    priority: int
    seconds: int
    field: str


def evict(
    way: Way, pod: Pod, owner: Ownership, guards: Sequence[WriterGuard], kubelet: KubeletConfiguration | None
) -> WayTimeline:
    """The kubelet evicts the running pod at a hard or soft threshold; without its configuration the defaults apply."""
    config = kubelet or KubeletConfiguration()
    soft = way is Way.EVICT_SOFT
    most = config.eviction_max_pod_grace_period if soft else None
    stop = eviction_stop(pod, max_pod_grace_period_seconds=most)
    if stop is None:
        return WayTimeline(way=way, standing=Standing.CRITICAL)
    spec = pod.spec.termination_grace_period_seconds
    own = most is not None and spec is not None and spec < most
    grace = Grace(
        stop.pod_seconds,
        "spec.terminationGracePeriodSeconds" if own else _MAX_GRACE if soft else "evictionHard",
        given=spec if own else most,
    )
    killed = stop_of(pod, grace)
    after = after_kubelet_kill(owner, killed.ended)
    notes = [*_kubelet_notes(kubelet if soft else config), *idle_notes(pod), *after.notes]
    if most == 0:
        notes.insert(0, Note(Reminder.NO_MAX_GRACE))
    if kubelet is not None:
        notes.insert(0, _thresholds(kubelet, soft=soft))
    gives_up = TimelineEvent.of(
        EventKind.KILL_TIMEOUT,
        Span(stop.kill_timeout, stop.kill_timeout),
        TimeRule.KILL_TIMEOUT,
        seconds=stop.kill_timeout,
    )
    events = (*killed.events, gives_up, *after.events, *free_volumes(guards, killed.ended))
    return WayTimeline(
        way=way, standing=Standing.APPLIES, grace_seconds=stop.pod_seconds, events=events, notes=tuple(notes)
    )


def _thresholds(config: KubeletConfiguration, *, soft: bool) -> Note:
    """The thresholds at which a kubelet evicts; invalid ones count as not set, as on the node's page."""
    found, _ = usable_thresholds(config)
    shown = [
        f"{one.signal.value} < {one.value}" + (f" for {one.grace_period.total_seconds():.12g} s" if soft else "")
        for one in sorted(found, key=lambda one: list(Signal).index(one.signal))
        if one.is_hard is not soft and one.signal is not Signal.ALLOCATABLE_MEMORY_AVAILABLE
    ]
    if not shown:
        return Note(Reminder.NO_THRESHOLD, subject="evictionSoft" if soft else "evictionHard")
    return Note(Reminder.THRESHOLDS, subject=", ".join(shown))


def probe_failure(pod: Pod) -> WayTimeline:
    """The failure of a liveness or startup probe, for each container with one."""
    events = [
        event
        for ref in pod.containers()
        if (ref.is_sidecar or not ref.is_init) and has_process(pod, ref)
        for event in _probed(pod, ref)
    ]
    if not events:
        return WayTimeline(way=Way.PROBE, standing=Standing.NO_PROBE)
    stays = TimelineEvent.of(EventKind.OBJECT_REMOVED, NEVER, TimeRule.POD_STAYS)
    notes = (Note(Reminder.BACK_OFF, _BACK_OFF_SECONDS),)
    return WayTimeline(way=Way.PROBE, standing=Standing.APPLIES, events=(*events, stays), notes=notes)


def _probed(pod: Pod, ref: ContainerRef) -> Iterator[TimelineEvent]:
    container = ref.container
    for stop, probe in probe_stops(pod, ref):
        field = f"{ref.field}.{stop.probe}"
        failed = _failed(probe, from_start=probe is container.startup_probe)
        yield TimelineEvent.of(
            EventKind.PROBE_FAILED,
            failed,
            TimeRule.PROBE_PERIODS,
            subject=container.name,
            field=field,
            seconds=probe.period_seconds,
        )
        step = container_stop(ref, stop.seconds)
        for event in stop_events(step, step, Grace(stop.seconds, stop.field, given=stop.seconds)):
            late = _after(event, failed)
            yield late if event.field else replace(late, rule=TimeRule.PROBE_FOUND, field=field)
        ended = Span(step.sigterm_earliest, step.sigkill_latest).after(failed)
        again = NEVER if pod.restart_policy(container) == _NEVER_RESTARTED else ended
        where = f"{ref.field}.restartPolicy" if container.restart_policy else "spec.restartPolicy"
        yield TimelineEvent.of(EventKind.RESTARTED, again, TimeRule.RESTART_POLICY, subject=container.name, field=where)


def _failed(probe: Probe, *, from_start: bool) -> Span:
    """When enough probes in a row have failed: at the earliest each at once, at the latest each by its timeout."""
    more = probe.failure_threshold - 1
    wait = probe.initial_delay_seconds if from_start else 0
    slowest = probe.period_seconds + more * max(probe.period_seconds, probe.timeout_seconds) + probe.timeout_seconds
    return Span(wait + more * probe.period_seconds, wait + slowest)


def shutdown_groups(config: KubeletConfiguration) -> tuple[ShutdownGroup, ...]:
    """The groups by ascending priority; empty: graceful shutdown is off (migrateConfig)."""
    listed = config.shutdown_grace_period_by_pod_priority
    if listed:
        groups = (
            ShutdownGroup(
                entry.priority, entry.shutdown_grace_period_seconds, f"shutdownGracePeriodByPodPriority[{index}]"
            )
            for index, entry in enumerate(listed)
        )
        return tuple(sorted(groups, key=lambda group: group.priority))
    try:
        whole = parse_duration(config.shutdown_grace_period)
        critical = parse_duration(config.shutdown_grace_period_critical_pods)
    except DurationError:
        return ()
    if not whole or whole < critical:
        return ()
    return (
        ShutdownGroup(0, int((whole - critical).total_seconds()), "shutdownGracePeriod"),
        ShutdownGroup(SYSTEM_CRITICAL_PRIORITY, int(critical.total_seconds()), "shutdownGracePeriodCriticalPods"),
    )


def shutdown(
    pod: Pod, owner: Ownership, guards: Sequence[WriterGuard], kubelet: KubeletConfiguration | None
) -> WayTimeline:
    """A graceful shutdown of the pod's machine; the arguments are those of `evict`."""
    groups = shutdown_groups(kubelet or KubeletConfiguration())
    if not groups:
        return _abrupt(pod, kubelet)
    index = max(bisect_right([group.priority for group in groups], pod.spec.priority or 0) - 1, 0)
    own, before = groups[index], sum(group.seconds for group in groups[:index])
    start = Span(0, before)
    spec = pod.spec.termination_grace_period_seconds
    shorter = spec is not None and spec <= own.seconds
    asked = spec if shorter and spec is not None else own.seconds
    seconds, _ = effective_grace_period(pod, override_seconds=asked)
    grace = Grace(seconds, "spec.terminationGracePeriodSeconds" if shorter else own.field, given=asked)
    stop = stop_of(pod, grace)
    ended = stop.ended.after(start)
    after = after_kubelet_kill(owner, ended)
    # The kubelet does not delay the shutdown any longer: later events happen only while the machine still runs.
    most = sum(group.seconds for group in groups)
    field = groups[0].field.partition("[")[0]
    off = TimelineEvent.of(EventKind.MACHINE_OFF, Span(0, most), TimeRule.SHUTDOWN_GROUPS, field=field, seconds=most)
    signals = tuple(_after(event, start) for event in stop.events)
    events = (*signals, off, *after.events, *free_volumes(guards, ended))
    held = tuple(one if (one.latest or 0) <= most else one.during(Span(one.earliest, None)) for one in events)
    lost = Note(Reminder.THEN_NODE_LOST, None if held == events else most)
    notes = (*_kubelet_notes(kubelet), *idle_notes(pod), *after.notes, lost)
    return WayTimeline(way=Way.SHUTDOWN, standing=Standing.APPLIES, grace_seconds=seconds, events=held, notes=notes)


def _abrupt(pod: Pod, kubelet: KubeletConfiguration | None) -> WayTimeline:
    """A shutdown without the kubelet's graceful shutdown: for Kubernetes, the node is lost."""
    return WayTimeline(
        way=Way.SHUTDOWN,
        standing=Standing.APPLIES,
        events=(
            TimelineEvent.of(EventKind.SIGTERM, NEVER, TimeRule.NOT_BY_KUBELET, field="shutdownGracePeriod", seconds=0),
            TimelineEvent.of(EventKind.OBJECT_REMOVED, NEVER, TimeRule.KUBELET_GOES_TOO),
        ),
        notes=(*_kubelet_notes(kubelet), *idle_notes(pod), Note(Reminder.THEN_NODE_LOST)),
    )


def _kubelet_notes(kubelet: KubeletConfiguration | None) -> tuple[Note, ...]:
    return () if kubelet is not None else (Note(Reminder.KUBELET_NOT_READ),)


def _after(event: TimelineEvent, start: Span) -> TimelineEvent:
    """The event relative to a later start."""
    return event.during(event.span.after(start))
