"""The time that a pod has to stop: the API server's grace period, the kubelet's per container, and hooks.

API server, on DELETE (T1)
    the option, else spec.terminationGracePeriodSeconds (default 30); a pod that is not scheduled or has finished: 0;
    negative: 1. A second delete can only shorten the period.
Kubelet, per pod (T2, T4)
    the smaller of deletionGracePeriodSeconds and an eviction's override, with 0 as unset; else the spec; at least 1.
Kubelet, per container (T2, T3)
    the override if the kubelet sets one, else deletionGracePeriodSeconds, else the failed probe's own period, else the
    spec. preStop runs first, in all containers at once, and its time is subtracted; then a sidecar waits for its turn
    if a container that stops before it runs; never below 2 s.
A second, shorter delete changes the object but not the stop in progress: the process keeps its first period.

Source, at v1.36.3: pkg/registry/core/pod/strategy.go (CheckGracefulDelete); BeforeDelete in
k8s.io/apiserver/pkg/registry/rest/delete.go; pkg/kubelet/pod_workers.go (calculateEffectiveGracePeriod, killPodNow);
pkg/kubelet/eviction/eviction_manager.go; pkg/kubelet/kuberuntime/kuberuntime_container.go (setTerminationGracePeriod,
killContainer); pkg/kubelet/kuberuntime/kuberuntime_termination_order.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.pod import Container, ContainerRef, Pod, Probe
from podrules.pod.container_state import with_process
from podrules.pod.priority import is_critical_pod

MINIMUM_GRACE_PERIOD_SECONDS: Final = 2
"""The minimum time between SIGTERM and SIGKILL for every container (kuberuntime minimumGracePeriodInSeconds)."""
_MIN_KILL_TIMEOUT_SECONDS: Final = 10
_IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS: Final = 1
"""The grace period at a hard threshold (eviction_manager.go); 0 in older versions, with the same effect."""


class GraceSource(Enum):
    """The source of a pod's grace period on deletion."""

    OPTION = "DeleteOptions.gracePeriodSeconds"
    SPEC = "spec.terminationGracePeriodSeconds"
    NOT_SCHEDULED = "spec.nodeName is empty"
    FINISHED = "status.phase"
    NEGATIVE = "negative"
    DELETED_BEFORE = "metadata.deletionGracePeriodSeconds"
    """It is already being deleted, with at most the requested period."""


class ContainerKillReason(Enum):
    """Why the kubelet stops a container (kuberuntime containerKillReason)."""

    STARTUP_PROBE = "StartupProbe"
    LIVENESS_PROBE = "LivenessProbe"
    FAILED_POST_START_HOOK = "FailedPostStartHook"
    UNKNOWN = "Unknown"


class TerminationGrace(Struct, frozen=True, rename="camel"):
    """A grace period in seconds and its source."""

    seconds: int
    source: GraceSource


class ContainerStop(Struct, frozen=True, rename="camel"):
    """The stop of one container of a stopping pod; seconds count from the deletion."""

    name: str
    field: str
    is_sidecar: bool
    waits: bool
    """Whether it is a sidecar that waits for others to stop."""
    pre_stop: str | None
    """``exec``, ``httpGet`` or ``sleep``; None without a hook. Every hook starts at once, also a sidecar's."""
    pre_stop_earliest: int
    """The second at which the hook ends at the earliest; exact for a sleep. 0 without a hook."""
    pre_stop_latest: int
    sigterm_earliest: int
    """The second after a preStop sleep and, for a sidecar, after the sleeps of the containers before it; else 0."""
    sigterm_latest: int
    """The second at which hooks and earlier containers have used all the available time."""
    sigkill_latest: int
    stop_signal: str


class ProbeStop(Struct, frozen=True, rename="camel"):
    """The time that a container has to stop after one of its probes has failed."""

    container: str
    probe: str
    """``livenessProbe`` or ``startupProbe``."""
    seconds: int
    field: str
    """The field with the seconds: the probe's own, else the pod's."""
    sigkill_latest: int


class EvictionStop(Struct, frozen=True, rename="camel"):
    """The stop of a pod that the kubelet evicts."""

    pod_seconds: int
    """The pod worker's grace period."""
    container_seconds: int
    """Seconds between SIGTERM and SIGKILL without a preStop hook."""
    sigkill_latest: int
    """The seconds until every container has received SIGKILL, including the time of hooks and sidecars."""
    kill_timeout: int
    """The seconds after which the kubelet stops waiting and chooses another pod."""


def check_graceful_delete(pod: Pod, option_seconds: int | None) -> TerminationGrace:
    """The grace period of a first DELETE (podStrategy.CheckGracefulDelete)."""
    if not pod.spec.node_name:
        return TerminationGrace(0, GraceSource.NOT_SCHEDULED)
    if pod.finished:
        return TerminationGrace(0, GraceSource.FINISHED)
    if option_seconds is not None:
        seconds, source = option_seconds, GraceSource.OPTION
    else:
        seconds, source = pod.spec.termination_grace_period_seconds or 0, GraceSource.SPEC
    return TerminationGrace(1, GraceSource.NEGATIVE) if seconds < 0 else TerminationGrace(seconds, source)


def effective_grace_period(
    pod: Pod, *, known_seconds: int = 0, override_seconds: int | None = None
) -> tuple[int, bool]:
    """The pod worker's grace period, and whether it shortens a stop under way (calculateEffectiveGracePeriod).

    Args:
        pod: The pod that the kubelet last received from the API server.
        known_seconds: The result of an earlier call; 0 before the first.
        override_seconds: The period that an eviction or preemption by the kubelet requests.
    """
    seconds, overridden = known_seconds, False
    for asked in (pod.metadata.deletion_grace_period_seconds, override_seconds):
        if asked is not None and (seconds == 0 or asked < seconds):
            seconds, overridden = asked, True
    spec = pod.spec.termination_grace_period_seconds
    if not overridden and seconds == 0 and spec is not None:
        seconds = spec
    seconds = max(seconds, 1)
    return seconds, known_seconds not in {0, seconds}


def set_termination_grace_period(pod: Pod, container: Container, reason: ContainerKillReason) -> int:
    """A container's period before hooks, order and the minimum (setTerminationGracePeriod)."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    spec = pod.spec.termination_grace_period_seconds
    if spec is None:
        return MINIMUM_GRACE_PERIOD_SECONDS
    probe = None
    if reason is ContainerKillReason.STARTUP_PROBE:
        probe = container.startup_probe
    elif reason is ContainerKillReason.LIVENESS_PROBE:
        probe = container.liveness_probe
    if probe is not None and probe.termination_grace_period_seconds is not None:
        return probe.termination_grace_period_seconds
    return spec


def probe_stops(pod: Pod, ref: ContainerRef) -> Iterator[tuple[ProbeStop, Probe]]:
    """The periods of a container's liveness and startup probes, if it has them."""
    own, reasons = ref.container, ContainerKillReason
    for name, probe, reason in (
        ("livenessProbe", own.liveness_probe, reasons.LIVENESS_PROBE),
        ("startupProbe", own.startup_probe, reasons.STARTUP_PROBE),
    ):
        if probe is not None:
            seconds = set_termination_grace_period(pod, own, reason)
            place = "spec" if probe.termination_grace_period_seconds is None else f"{ref.field}.{name}"
            field, latest = f"{place}.terminationGracePeriodSeconds", container_stop(ref, seconds).sigkill_latest
            yield ProbeStop(own.name, name, seconds, field, latest), probe


def container_grace_period(seconds: int, *, pre_stop_seconds: int = 0, waited_seconds: int = 0) -> int:
    """The seconds between SIGTERM and SIGKILL, less the time of the hook and of the wait (killContainer)."""
    left = seconds
    if left > 0:
        left -= min(pre_stop_seconds, left)
    if left > 0:
        left -= min(waited_seconds, left)
    return max(left, MINIMUM_GRACE_PERIOD_SECONDS)


def kill_timeout(seconds: int) -> int:
    """How long the kubelet's eviction waits for a kill before it stops waiting (killPodNow)."""
    return max(seconds + seconds // 2, _MIN_KILL_TIMEOUT_SECONDS)


def eviction_stop(pod: Pod, *, max_pod_grace_period_seconds: int | None = None) -> EvictionStop | None:
    """The stop of a pod under node pressure; None for a critical pod, which the kubelet does not evict.

    At a soft threshold ``evictionMaxPodGracePeriod`` applies; None means a hard one, with 1 s.
    """
    if is_critical_pod(pod):
        return None
    asked = _IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
    if max_pod_grace_period_seconds is not None:
        spec = pod.spec.termination_grace_period_seconds
        asked = max_pod_grace_period_seconds if spec is None else min(max_pod_grace_period_seconds, spec)
    seconds, _ = effective_grace_period(pod, override_seconds=asked)
    least = container_grace_period(seconds)
    latest = max((step.sigkill_latest for step in container_stops(pod, seconds)), default=least)
    return EvictionStop(seconds, least, latest, kill_timeout(asked))


def termination_order(pod: Pod) -> tuple[tuple[str, ...], ...]:
    """The names of containers in the order of their stop: all app containers together, then each sidecar.

    Sidecars stop in reverse order of their start, each after the app containers and the later sidecars have ended, or
    at the end of the grace period.
    """
    sidecars = [(entry.name,) for entry in reversed(pod.spec.init_containers) if entry.restarts_always]
    return (tuple(entry.name for entry in pod.spec.containers), *sidecars)


def container_stops(pod: Pod, seconds: int) -> tuple[ContainerStop, ...]:
    """The stop of each container when the kubelet stops the pod, in the order of the signals.

    A sidecar gets its signal once the containers before it ended, or at the end of the period. A container without a
    process gets none, and no container waits for it. ``seconds`` is the pod worker's grace period, at least 1.
    """
    refs = {ref.container.name: ref for ref in with_process(pod)}
    # The kubelet kills an init container at the same time as the others, and no sidecar waits for it.
    initialising = {name: ref for name, ref in refs.items() if ref.is_init and not ref.is_sidecar}
    mains, *sidecars = termination_order(pod)
    steps: list[ContainerStop] = []
    before: int | None = None
    for group in ((*mains, *initialising), *sidecars):
        stops = [_container_stop(refs[name], seconds, waits=before) for name in group if name in refs]
        steps += stops
        # A container without a hook ends on its signal if it obeys; a later one waits at least as long as earlier ones.
        before = max((step.sigterm_earliest for step in stops if step.name not in initialising), default=before)
    return tuple(steps)


def container_stop(ref: ContainerRef, seconds: int) -> ContainerStop:
    """The stop of one container in a pod that continues, as for a failed probe: it does not wait for others."""
    return _container_stop(ref, seconds, waits=None)


def _container_stop(ref: ContainerRef, seconds: int, *, waits: int | None) -> ContainerStop:
    """One container's stop; ``waits`` is the earliest second of its turn; None: it does not wait."""
    container = ref.container
    hook, hook_earliest, hook_latest = _pre_stop(container, seconds)
    earliest, latest = (hook_earliest, hook_latest) if waits is None else (max(hook_earliest, waits), seconds)
    return ContainerStop(
        name=container.name,
        field=ref.field,
        is_sidecar=ref.is_sidecar,
        waits=waits is not None,
        pre_stop=hook,
        pre_stop_earliest=hook_earliest,
        pre_stop_latest=hook_latest,
        sigterm_earliest=earliest,
        sigterm_latest=latest,
        sigkill_latest=max(seconds, latest + MINIMUM_GRACE_PERIOD_SECONDS),
        stop_signal=(container.lifecycle.stop_signal if container.lifecycle else "") or "SIGTERM",
    )


def _pre_stop(container: Container, seconds: int) -> tuple[str | None, int, int]:
    """The hook's kind and the earliest and latest second of its end."""
    handler = container.lifecycle.pre_stop if container.lifecycle else None
    if handler is None:
        return None, 0, 0
    if handler.sleep is not None:
        slept = min(handler.sleep.seconds, seconds)
        return "sleep", slept, slept
    return ("exec" if handler.exec is not None else "httpGet"), 0, seconds
