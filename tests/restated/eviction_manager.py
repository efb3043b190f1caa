"""One pass of the kubelet's eviction loop, every 10 s: what it would do now.

    1  thresholds that are met, and those met before until evictionMinimumReclaim more is left
    2  the node's conditions: of those thresholds, and for evictionPressureTransitionPeriod after
    3  pods over a storage limit of their own go; if one did, the pass ends
    4  of the thresholds met for their grace period and with a new measurement of the signal: memory before all others
    5  unused containers and images are removed for a disk; if that is enough, the pass ends (not known here)
    6  pods are ranked for that signal, and the first that is not critical goes, one a pass

A hard threshold gives the pod 1 s, a soft one the smaller of evictionMaxPodGracePeriod and the pod's own period. Under
any condition the kubelet refuses new pods, but critical ones; under memory pressure alone it refuses only BestEffort
pods that do not tolerate node.kubernetes.io/memory-pressure.

On a kubelet's first pass containerfs has no threshold yet, unless one was configured.

Source: pkg/kubelet/eviction/eviction_manager.go (synchronize, Admit) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from podrules.api.features import REFERENCE, Features
from podrules.api.model.instant import instant
from podrules.api.model.kubelet import Summary
from podrules.api.model.node import Taint
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.node.eviction.ranking import Disks, EvictionPlace, StatsFunc, exceeded_storage_limit, rank, stats_by_uid
from podrules.node.eviction.thresholds import (
    NodeCondition,
    Observations,
    Threshold,
    make_signal_observations,
    thresholds_met,
    with_container_fs,
)
from podrules.pod.priority import is_critical_pod
from podrules.pod.qos import get_pod_qos
from podrules.pod.tolerations import tolerations_tolerate_taint
from tests.restated.eviction_messages import admission_message, eviction_message

_IMMEDIATE_SECONDS: Final = 1
"""Grace of a hard eviction (immediateEvictionGracePeriodSeconds)."""
_MEMORY_PRESSURE_TAINT: Final = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")


class ManagerConfig(Struct, frozen=True):
    """The kubelet's configuration, and the layout of its disks."""

    thresholds: tuple[Threshold, ...]
    """As configured."""
    max_pod_grace_period_seconds: int = 0
    pressure_transition_period: timedelta = timedelta(minutes=5)
    disks: Disks = Disks()
    local_storage_capacity_isolation: bool = True


class ManagerState(Struct, frozen=True):
    """What it remembers from pass to pass."""

    started: bool = False
    """Whether there was one."""
    met: tuple[Threshold, ...] = ()
    """Met for their grace periods, and not resolved yet."""
    first_observed_at: Mapping[Threshold, datetime] = {}
    conditions_observed_at: Mapping[NodeCondition, datetime] = {}
    conditions: tuple[NodeCondition, ...] = ()
    """What the node reports."""
    observations: Observations = {}


class Evicted(Struct, frozen=True):
    """A pod that goes, as its status will say."""

    pod: Pod
    grace_period_seconds: int
    message: str
    by_pressure: bool
    """The node's; else it is over a limit of its own, and gets no DisruptionTarget condition."""


class Pass(Struct, frozen=True):
    """What one pass did."""

    reclaim: str = ""
    """The starved resource; empty: none."""
    ranked: tuple[EvictionPlace, ...] = ()
    evicted: tuple[Evicted, ...] = ()


def synchronize(
    state: ManagerState,
    config: ManagerConfig,
    pods: Sequence[Pod],
    summary: Summary,
    now: datetime,
    *,
    features: Features = REFERENCE,
) -> tuple[ManagerState, Pass]:
    """One pass, which finds nothing to remove but pods.

    Args:
        state: What the pass before left; ``ManagerState()`` for the first.
        config: The kubelet's.
        pods: The node's active pods, with the resources that the kubelet allocated to them.
        summary: Its measurements.
        now: The kubelet's clock.
        features: Gates of the cluster's version.
    """
    thresholds = config.thresholds
    shared = with_container_fs(thresholds, image_fs=config.disks.image_fs, container_fs=config.disks.container_fs)
    if not (shared if state.started else thresholds) and not config.local_storage_capacity_isolation:
        return state, Pass()
    if not state.started:
        configured = {threshold.signal for threshold in thresholds}
        shared = tuple(threshold for threshold in shared if threshold.signal in configured)
    observations, stats = make_signal_observations(summary.node), stats_by_uid(summary.pods)
    after = _remembered(state, config, shared, observations, now)
    ready = [threshold for threshold in after.met if _is_new(threshold, observations, state.observations)]
    if config.local_storage_capacity_isolation and (over := _over_own_limits(pods, stats, config.disks, features)):
        return after, Pass(evicted=over)
    if not ready:
        return after, Pass()
    # Memory before all others; upstream's sort leaves open which of the others comes first.
    ready.sort(key=lambda threshold: not threshold.signal.is_memory)
    chosen = ready[0]
    ranked = rank(pods, stats, chosen.signal, config.disks, features=features)
    victim = next((place.ranked.pod for place in ranked if not place.ranked.critical), None)
    evicted: tuple[Evicted, ...] = ()
    if victim is not None:
        grace = eviction_grace_period(victim, chosen, config.max_pod_grace_period_seconds)
        resource = chosen.signal.resource
        message = eviction_message(resource, victim, stats(victim), ready, observations, features=features)
        evicted = (Evicted(victim, grace, message, by_pressure=True),)
    return after, Pass(chosen.signal.resource, ranked, evicted)


def eviction_grace_period(pod: Pod, threshold: Threshold, max_pod_grace_period_seconds: int) -> int:
    """The seconds that an eviction asks for the pod; what it then gets is `podrules.pod.termination`'s business."""
    if threshold.is_hard:
        return _IMMEDIATE_SECONDS
    own = pod.spec.termination_grace_period_seconds
    return max_pod_grace_period_seconds if own is None else min(max_pod_grace_period_seconds, own)


def admit(pod: Pod, conditions: Sequence[NodeCondition], *, features: Features = REFERENCE) -> str | None:
    """Upstream's words when the kubelet refuses a pod that comes to a node under pressure; None: it is admitted."""
    if not conditions or is_critical_pod(pod):
        return None
    if tuple(conditions) == (NodeCondition.MEMORY_PRESSURE,):
        best_effort = get_pod_qos(pod, features=features) is PodQOSClass.BEST_EFFORT
        if not best_effort or tolerations_tolerate_taint(pod.spec.tolerations, _MEMORY_PRESSURE_TAINT):
            return None
    return admission_message(conditions)


def _remembered(
    state: ManagerState,
    config: ManagerConfig,
    thresholds: Sequence[Threshold],
    observations: Observations,
    now: datetime,
) -> ManagerState:
    met = dict.fromkeys(thresholds_met(thresholds, observations))
    met |= dict.fromkeys(thresholds_met(state.met, observations, enforce_min_reclaim=True))
    first = {threshold: state.first_observed_at.get(threshold, now) for threshold in met}
    seen = {**state.conditions_observed_at, **{threshold.signal.condition: now for threshold in met}}
    return ManagerState(
        started=True,
        met=tuple(threshold for threshold, since in first.items() if now - since >= threshold.grace_period),
        first_observed_at=first,
        conditions_observed_at=seen,
        conditions=tuple(
            condition
            for condition in sorted(seen, key=lambda condition: condition.value)
            if now - seen[condition] < config.pressure_transition_period
        ),
        observations=observations,
    )


def _is_new(threshold: Threshold, observations: Observations, before: Observations) -> bool:
    """Whether its signal was measured since the last pass (thresholdsUpdatedStats)."""
    observed, last = observations.get(threshold.signal), before.get(threshold.signal)
    if observed is None:
        return False
    measured, measured_before = instant(observed.time), instant(last.time) if last is not None else None
    return measured is None or measured_before is None or measured > measured_before


def _over_own_limits(pods: Sequence[Pod], stats: StatsFunc, disks: Disks, features: Features) -> tuple[Evicted, ...]:
    found = []
    for pod in pods:
        measured = stats(pod)
        if measured is None:
            continue
        limit = exceeded_storage_limit(pod, measured, image_fs=disks.image_fs, features=features)
        if limit is not None and not is_critical_pod(pod):
            found.append(Evicted(pod, _IMMEDIATE_SECONDS, limit.message, by_pressure=False))
    return tuple(found)
