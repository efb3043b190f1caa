"""The risk of a pod: its worst problem, in one word; and the verdict on its health."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from kubectl_plugin.reports.pod.pod_status import pending_resize
from kubectl_plugin.reports.verdict import Severity, VerdictCode
from podrules.api.features import Features
from podrules.api.model.instant import instant, later
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.ending.deleted_pod import PATIENCE, Ending, pod_ending, stop_plan
from podrules.ending.stuck import unseen
from podrules.pod.container_state import ObservedContainer, StateKind
from podrules.pod.health import PASSES, Health, TroubleKind, health
from podrules.pod.qos import get_pod_qos
from podrules.scheduling.placement.outcome import PlacementOutcome


class PodRisk(Enum):
    """The problems of a pod, the worst first."""

    NODE_DOWN = "NodeDown"
    """Its node does not answer."""
    UNSCHEDULABLE = "Unschedulable"
    HELD_UP = "HeldUp"
    """A container waits or has ended, and does not recover with time alone."""
    OOM_KILLED = "OOMKilled"
    """The last end of a container was a kill for memory."""
    STUCK = "Stuck"
    """A warning has repeated for 5 min while it does not start, does not end or gets no volume."""
    TERMINATING_LATE = "TerminatingLate"
    """Its processes should have ended by now."""
    TAINTED = "Tainted"
    """A NoExecute taint of its node deletes it, now or at a later time."""
    UNBOUND_CLAIM = "UnboundClaim"
    """It waits for a claim that is not bound: it has a node, or the scheduler has chosen one for it."""
    VOLUME_HELD = "VolumeHeld"
    """It waits for a volume that is attached to a node that does not answer."""
    NEVER_STARTED = "NeverStarted"
    """It has had a node for more than 10 min, and its containers do not run yet."""
    NO_SCHEDULER = "NoScheduler"
    """It has waited for 5 min, and no scheduler has processed it."""
    DISRUPTED = "Disrupted"
    """It is to be evicted, preempted or deleted (DisruptionTarget)."""
    FAILED = "Failed"
    # From here on: notices, not trouble.
    NEAR_LIMIT = "NearLimit"
    """A container is near its own memory limit."""
    OVER_REQUEST = "OverRequest"
    """It uses more memory than it requests: first in the kubelet's order."""
    NOT_READY = "NotReady"
    RESTARTED = "Restarted"
    """It runs, and a container ended within the last hour."""
    NOT_STARTED = "NotStarted"
    """It has a node, and its containers do not run yet."""
    PHASE_UNKNOWN = "PhaseUnknown"
    """Its kubelet could not read its state."""
    NOT_MODELLED = "NotModelled"
    """It waits, and belongs to a group or to another scheduler: unknown whether it has a place."""
    AWAITING_PREEMPTION = "AwaitingPreemption"
    """It waits until the pods end that were preempted for it."""
    SCHEDULING_GATED = "SchedulingGated"
    NOT_BOUND = "NotBound"
    """It has no node yet, and there is no sign that none fits."""
    KEPT = "Kept"
    """Its processes have ended, and finalizers keep its object."""
    TERMINATING = "Terminating"
    """It is being deleted, and is not late."""
    RESIZE_PENDING = "ResizePending"
    NO_GRACE_PERIOD = "NoGracePeriod"
    """A plain delete is a force delete: its grace period is 0."""
    BEST_EFFORT = "BestEffort"
    """Nothing is reserved for it."""


_OF_HEALTH: Final = {
    VerdictCode.OOM_KILLED: PodRisk.OOM_KILLED,
    VerdictCode.CONTAINER_WAITING: PodRisk.HELD_UP,
    VerdictCode.CONTAINER_ENDED: PodRisk.HELD_UP,
    VerdictCode.INITIALIZING: PodRisk.NOT_STARTED,
    VerdictCode.PHASE_UNKNOWN: PodRisk.PHASE_UNKNOWN,
    VerdictCode.NOT_READY: PodRisk.NOT_READY,
    VerdictCode.RESTARTED: PodRisk.RESTARTED,
}


_MAY_FIT: Final = frozenset({PodRisk.NOT_BOUND, PodRisk.NOT_MODELLED})


def pod_risk(
    pod: Pod,
    *,
    near_limit: bool = False,
    over_request: bool = False,
    down: bool = False,
    provider: bool = False,
    tainted: bool = False,
    awaited: bool = False,
    held: bool = False,
    stuck: bool = False,
    outcome: PlacementOutcome | None = None,
    at: datetime | None,
    features: Features,
) -> PodRisk | None:
    """The worst problem of a pod; None: none.

    Args:
        pod: The pod as stored.
        near_limit: Whether a container is near its own memory limit.
        over_request: Whether it uses more memory than it requests.
        down: Whether its node does not answer.
        provider: Whether its node is a virtual kubelet: unknown when its pods end.
        tainted: Whether NoExecute taints of its node delete it.
        awaited: Whether preemption is making room for it.
        held: Whether it waits for a volume of a node that does not answer.
        stuck: Whether a warning has repeated about it for long (`podrules.ending.stuck`).
        outcome: For a pod that waits for a node: the current result of the scheduler's rules; None: not computed.
            NAMED, for a pod that has a node or a chosen one: it waits too long for a claim that is not bound.
        at: The time of the data; None: unknown.
        features: The rules of the API server's version, for a pod without a class.
    """
    ending = pod_ending(pod, quiet=down or provider)
    if _is_held_by_finalizers(ending, at):
        return PodRisk.KEPT
    if pod.metadata.deletion_timestamp:
        if stuck and not down:
            return PodRisk.STUCK
        if down and not pod.finished:
            return PodRisk.NODE_DOWN
        return PodRisk.TERMINATING_LATE if ending.is_late(at) else PodRisk.TERMINATING
    if pod.status.phase == "Failed":
        return PodRisk.FAILED
    disruption = pod.status.condition("DisruptionTarget")
    if disruption is not None and disruption.status == "True" and pod.status.phase != "Succeeded":
        return PodRisk.NODE_DOWN if down else PodRisk.DISRUPTED
    if pod.status.phase == "Succeeded":
        return None
    if not pod.spec.node_name:
        waits = _of_waiting(pod, outcome, awaited=awaited)
        if stuck and waits in _MAY_FIT:
            return PodRisk.STUCK
        lone = unseen(pod) if waits in _MAY_FIT else None
        return PodRisk.NO_SCHEDULER if lone is not None and lone.is_long(at) else waits
    if down:
        return PodRisk.NODE_DOWN
    if outcome is PlacementOutcome.NAMED:
        return PodRisk.UNBOUND_CLAIM
    if held:
        return PodRisk.VOLUME_HELD
    if stuck:
        return PodRisk.STUCK
    if tainted:
        return PodRisk.TAINTED
    found = _of_running(pod, near_limit=near_limit, over_request=over_request, at=at)
    if found is None and get_pod_qos(pod, features=features) is PodQOSClass.BEST_EFFORT:
        return PodRisk.BEST_EFFORT
    return found


def _of_waiting(pod: Pod, outcome: PlacementOutcome | None, *, awaited: bool) -> PodRisk:
    """The risk of a pod without a node."""
    if pod.spec.scheduling_gates:
        return PodRisk.SCHEDULING_GATED
    if awaited:
        return PodRisk.AWAITING_PREEMPTION
    if outcome is PlacementOutcome.NAMED:
        return PodRisk.UNBOUND_CLAIM
    if outcome is PlacementOutcome.NOT_MODELLED:
        return PodRisk.NOT_MODELLED
    # Without the rules' outcome, the scheduler's last try counts.
    scheduled = pod.status.condition("PodScheduled")
    found_none = outcome is None and scheduled is not None and scheduled.status == "False"
    if found_none or outcome is PlacementOutcome.UNSCHEDULABLE:
        return PodRisk.UNSCHEDULABLE
    return PodRisk.NOT_BOUND


def _of_running(pod: Pod, *, near_limit: bool, over_request: bool, at: datetime | None) -> PodRisk | None:
    """The risk of a pod on a node that answers: first its health, then its fields."""
    code, severity = health_verdict(health(pod), at)
    if code is VerdictCode.STARTING:
        return PodRisk.NEVER_STARTED if severity is Severity.TROUBLE else PodRisk.NOT_STARTED
    found = _OF_HEALTH.get(code)
    if found in {PodRisk.OOM_KILLED, PodRisk.HELD_UP}:
        return found
    if near_limit:
        return PodRisk.NEAR_LIMIT
    if over_request:
        return PodRisk.OVER_REQUEST
    if found is not None:
        return found
    if pending_resize(pod):
        return PodRisk.RESIZE_PENDING
    plan = stop_plan(pod)
    return PodRisk.NO_GRACE_PERIOD if plan.processes and plan.grace.seconds == 0 else None


def may_have_no_place(pod: Pod) -> bool:
    """Whether the scheduler looks for a node; it skips gated pods and pods that are being deleted."""
    passed_over = pod.spec.scheduling_gates or pod.metadata.deletion_timestamp or pod.finished
    return not pod.spec.node_name and not passed_over


def _is_held_by_finalizers(ending: Ending, at: datetime | None) -> bool:
    """Whether only finalizers have kept its object for a minute."""
    deleted, held = ending.deleted_at, ending.finalizers and not ending.processes
    if deleted is None or at is None or not held:
        return False
    return at > later(deleted, ending.grace.longest + PATIENCE.total_seconds())


_LONG: Final = timedelta(minutes=10)
"""A pod that has not started within this time does not start by itself."""
_LATELY: Final = timedelta(hours=1)
"""An earlier restart is not news for a running pod."""


def health_verdict(health: Health, now: datetime | None) -> tuple[VerdictCode, Severity]:
    """The code and severity of the worst problem. TROUBLE: a container does not run, and will not by itself.

    Args:
        health: The health of a pod that has finished or is on a node that answers.
        now: The present; None: unknown, and no problem counts as old.
    """
    if health.phase in {"Failed", "Succeeded"}:
        failed = health.phase == "Failed"
        return (VerdictCode.FAILED, Severity.TROUBLE) if failed else (VerdictCode.SUCCEEDED, Severity.FINE)
    if health.oom_killed:
        return VerdictCode.OOM_KILLED, Severity.TROUBLE
    if health.of_kind(TroubleKind.HELD_UP):
        return VerdictCode.CONTAINER_WAITING, Severity.TROUBLE
    if health.of_kind(TroubleKind.ENDED):
        return VerdictCode.CONTAINER_ENDED, Severity.TROUBLE
    if health.phase == "Pending" and health.initializing:
        return VerdictCode.INITIALIZING, Severity.NOTICE
    if health.phase == "Pending":
        begun = instant(health.started)
        lasts = begun is not None and now is not None and now - begun > _LONG
        return VerdictCode.STARTING, Severity.TROUBLE if lasts else Severity.NOTICE
    if health.phase != "Running":
        return VerdictCode.PHASE_UNKNOWN, Severity.NOTICE
    if not health.ready:
        return VerdictCode.NOT_READY, Severity.NOTICE
    if lately_ended(health, now):
        return VerdictCode.RESTARTED, Severity.NOTICE
    return VerdictCode.RUNNING, Severity.FINE


def lately_ended(health: Health, now: datetime | None) -> list[ObservedContainer]:
    """Containers that ran out of memory or restarted recently."""
    found = list(health.oom_killed)
    for trouble in health.of_kind(TroubleKind.RESTARTED):
        one, ended = health.container(trouble.container), instant(trouble.ended_at)
        if one not in found and (now is None or ended is None or now - ended < _LATELY):
            found.append(one)
    return found


def ephemeral_trouble(health: Health, now: datetime | None) -> list[ObservedContainer]:
    """Ephemeral containers that cannot start, and those that recently ended with an error."""
    return [
        one
        for one in health.ephemeral
        if (one.state is StateKind.WAITING and one.reason not in PASSES) or _failed_lately(one, now)
    ]


def _failed_lately(one: ObservedContainer, now: datetime | None) -> bool:
    if one.end is None or not one.end.exit_code:
        return False
    ended = instant(one.end.finished_at)
    return now is None or ended is None or now - ended < _LATELY
