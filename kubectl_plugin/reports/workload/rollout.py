"""The progress of a workload's controller: its failures, and the number of outdated pods."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from podrules.api.model.base import Condition
from podrules.api.model.workload import CronJob, ReplicationController, Workload


class ReportedReason(Struct, frozen=True, rename="camel"):
    """A condition or an event."""

    reason: str
    message: str
    at: str | None = None
    """The last time of the event; None: it is a condition, which keeps the message of the first failure."""


class Rollout(Struct, frozen=True, rename="camel", kw_only=True):
    """The progress of the newest spec."""

    generation: int
    """The generation of the spec: ``metadata.generation``."""
    observed: int
    """The generation that the controller has processed; if lower than the other, not the newest yet."""
    refused: ReportedReason | None = None
    """Why it could not create or delete a pod: its newest event FailedCreate, or the condition ReplicaFailure."""
    stalled: ReportedReason | None = None
    """Why the rollout does not progress: the condition Progressing, while it is False."""
    paused: bool = False
    """Changes of the template are not rolled out."""
    old: int = 0
    """Pods without the newest template."""
    held_by: Literal["", "paused", "OnDelete", "partition"] = ""
    """Why the old pods stay; empty: nothing keeps them."""
    partition: int = 0
    """StatefulSets only: pods of a lower ordinal keep the old template."""

    @property
    def behind(self) -> bool:
        """Whether the controller has not processed the newest spec yet."""
        return self.observed < self.generation


class Schedule(Struct, frozen=True, rename="camel"):
    """When a CronJob makes Jobs."""

    schedule: str
    """In Cron's notation."""
    suspended: bool
    """It creates no Jobs."""
    last: str | None
    """When it last created a Job; None: never."""
    active: tuple[str, ...]
    """Its running Jobs."""


def rollout(
    kind: str,
    entry: Workload | ReplicationController | CronJob,
    *,
    terminating: int = 0,
    refused: ReportedReason | None = None,
) -> Rollout | None:
    """The progress of a rollout; None: the workload has none, or does not report it.

    The API omits a count of 0 from a status (``omitempty``): if a controller has written the status, which its
    observedGeneration shows, a missing count is 0. In a status that is not written yet, nothing is counted.

    Source: pkg/controller/deployment/{sync,progress}.go, pkg/controller/replicaset/replica_set_utils.go
    (calculateStatus), pkg/controller/statefulset/{stateful_set_control.go,stateful_set_utils.go} (computeReplicaStatus,
    completeRollingUpdate), pkg/controller/daemon/daemon_controller.go (updateDaemonSetStatus) at v1.36.3;
    k8s.io/api/apps/v1/types.go at v0.36.3.

    Args:
        kind: ``Deployment``.
        entry: The workload.
        terminating: How many of its pods are being deleted.
        refused: Its newest event about a pod that it could not create.
    """
    if not isinstance(entry, Workload) or kind == "Job" or not entry.metadata.uid:
        return None
    status, observed = entry.status, entry.status.observed_generation
    # A status that is not written yet, or belongs to an older spec, is not about this spec.
    old = _old(kind, entry, terminating) if observed and observed >= entry.metadata.generation else 0
    rolling = entry.spec.update_strategy.rolling_update
    partition = rolling.partition if kind == "StatefulSet" and rolling is not None else 0
    held: Literal["", "paused", "OnDelete", "partition"] = "partition" if partition else ""
    if entry.spec.paused:
        held = "paused"
    elif entry.spec.update_strategy.type == "OnDelete":
        held = "OnDelete"
    return Rollout(
        generation=entry.metadata.generation,
        observed=observed,
        refused=refused or said(status.condition("ReplicaFailure", "True")),
        stalled=said(status.condition("Progressing", "False")),
        paused=entry.spec.paused,
        old=old,
        held_by=held if old else "",
        partition=partition,
    )


def schedule(entry: Workload | ReplicationController | CronJob) -> Schedule | None:
    """When a CronJob creates Jobs; None: not a CronJob."""
    if not isinstance(entry, CronJob):
        return None
    active = tuple(job.name for job in entry.status.active)
    return Schedule(entry.spec.schedule, entry.spec.suspend, entry.status.last_schedule_time, active)


def _old(kind: str, entry: Workload, terminating: int) -> int:
    status = entry.status
    if entry.spec.replicas == 0:
        return 0
    if kind == "Deployment":
        return max(0, status.replicas - status.updated_replicas)
    if kind == "DaemonSet":
        return max(0, status.current_number_scheduled - status.updated_number_scheduled)
    if kind == "StatefulSet" and status.current_revision != status.update_revision:
        # Its replicas count pods that are being deleted, with their old template; updatedReplicas do not.
        return max(0, status.replicas - terminating - status.updated_replicas)
    return 0


def said(condition: Condition | None) -> ReportedReason | None:
    """The content of a condition; None: no such condition."""
    return None if condition is None else ReportedReason(condition.reason, condition.message)
