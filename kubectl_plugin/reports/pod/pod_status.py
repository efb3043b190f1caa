"""The current status of a pod of the cluster, with an unfinished in-place resize."""

from __future__ import annotations

from msgspec import Struct

from kubectl_plugin.reports.node.node_report import NodeFacts, node_facts
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.node.reachability import NodeReach
from podrules.pod.health import Health, health


class LastTermination(Struct, frozen=True, rename="camel"):
    """How a container last ended."""

    container: str
    reason: str
    exit_code: int
    finished_at: str | None
    restarts: int


class PodStatusReport(Struct, frozen=True, rename="camel"):
    """The current status of a pod."""

    phase: str
    reason: str
    message: str
    node: NodeFacts | None
    created: str | None
    not_ready_since: str | None
    """When its Ready condition became False; None: it is not False."""
    unschedulable: str | None
    """kube-scheduler's own message from the PodScheduled condition."""
    gates: tuple[str, ...]
    deletion_timestamp: str | None
    """The time by which the pod should be removed; it was deleted `deletion_grace_period_seconds` before."""
    deletion_grace_period_seconds: int | None
    finalizers: tuple[str, ...]
    """What keeps the object after its processes ended."""
    disruption: str | None
    """Message of the DisruptionTarget condition."""
    resize: str | None
    """``Deferred``, ``Infeasible`` or ``InProgress`` while a resize is not finished."""
    resize_message: str
    """The kubelet's message about it, with ``Error`` if it tried and failed; empty: none."""
    ends: tuple[LastTermination, ...]
    health: Health
    """The problems of the containers."""


def pod_gates(pod: Pod) -> tuple[str, ...]:
    """The names of a pod's scheduling gates."""
    return tuple(gate.name for gate in pod.spec.scheduling_gates)


def pod_status(pod: Pod, node: Node | None, reach: NodeReach | None) -> PodStatusReport:
    """The status of a pod of the cluster, with its node and whether that answers."""
    scheduled = pod.status.condition("PodScheduled")
    disruption, ready = pod.status.condition("DisruptionTarget"), pod.status.condition("Ready")
    ends = [
        LastTermination(entry.name, end.reason, end.exit_code, end.finished_at, entry.restart_count)
        for entry in pod.status.of_containers
        if (end := entry.latest_end) is not None
    ]
    return PodStatusReport(
        phase=pod.status.phase,
        reason=pod.status.reason,
        message=pod.status.message,
        node=node_facts(pod, node, reach),
        created=pod.metadata.creation_timestamp,
        not_ready_since=ready.last_transition_time if ready is not None and ready.status == "False" else None,
        unschedulable=scheduled.message if scheduled is not None and scheduled.status == "False" else None,
        gates=pod_gates(pod),
        deletion_timestamp=pod.metadata.deletion_timestamp,
        deletion_grace_period_seconds=pod.metadata.deletion_grace_period_seconds,
        finalizers=pod.metadata.finalizers,
        disruption=disruption.message if disruption is not None and disruption.status == "True" else None,
        resize=pending_resize(pod),
        resize_message=resize_message(pod),
        ends=tuple(ends),
        health=health(pod, node),
    )


def pending_resize(pod: Pod) -> str | None:
    """The state of a resize: ``Deferred``, ``Infeasible`` or ``InProgress``; None: no resize."""
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.reason
    return "InProgress" if running is not None and running.status == "True" else None


def resize_message(pod: Pod) -> str:
    """The kubelet's message about an unfinished resize; empty: none.

    Source: pkg/kubelet/status/status_manager.go (SetPodResizePendingCondition, SetPodResizeInProgressCondition) at
    v1.36.3: for a resize in progress, the reason is empty or ``Error``.
    """
    pending, running = pod.status.condition("PodResizePending"), pod.status.condition("PodResizeInProgress")
    if pending is not None and pending.status == "True":
        return pending.message
    if running is None or running.status != "True":
        return ""
    return ": ".join(filter(None, (running.reason, running.message)))
