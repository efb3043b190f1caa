"""The progress of the controller of a workload: what it could not do, and how many pods are outdated."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from podrules.api.model.base import Condition
from podrules.api.model.workload import CronJob, ReplicationController, Workload

__all__ = ["Rollout", "Said", "Schedule", "rollout", "said", "schedule"]


class Said(Struct, frozen=True, rename="camel"):
    """What a condition or an event says."""

    reason: str
    message: str
    at: str | None = None
    """When the event came last; None: it is a condition, which keeps the words of the first failure."""


class Rollout(Struct, frozen=True, rename="camel", kw_only=True):
    """The progress of the newest spec."""

    generation: int
    """The generation of the spec: ``metadata.generation``."""
    observed: int
    """The generation that the controller has acted on; less than the other: not on the newest yet."""
    refused: Said | None = None
    """Why it could not make or delete a pod: its newest event FailedCreate, or the condition ReplicaFailure."""
    stalled: Said | None = None
    """Why the rollout does not go on: the condition Progressing, while it is False."""
    paused: bool = False
    """Changes of the template are not rolled out."""
    old: int = 0
    """Pods that are not of the newest template."""
    held_by: Literal["", "paused", "OnDelete", "partition"] = ""
    """Why the old ones stay; empty: nothing holds them."""
    partition: int = 0
    """StatefulSets only: pods of a lower ordinal keep the old template."""

    @property
    def behind(self) -> bool:
        """Whether the controller has not acted on the newest spec yet."""
        return self.observed < self.generation


class Schedule(Struct, frozen=True, rename="camel"):
    """When a CronJob makes Jobs."""

    schedule: str
    """In Cron's notation."""
    suspended: bool
    """It makes none."""
    last: str | None
    """When it last made one; None: never yet."""
    active: tuple[str, ...]
    """Its Jobs that run."""


def rollout(
    kind: str, entry: Workload | ReplicationController | CronJob, *, terminating: int = 0, refused: Said | None = None
) -> Rollout | None:
    """The progress of a rollout; None: the workload has none, or does not say.

    The API leaves a count of 0 out of a status (``omitempty``): in one that a controller has written, and tells so by
    its observedGeneration, a count that is not there is 0. Of one that nobody has written yet nothing is counted.

    Source: pkg/controller/deployment/{sync,progress}.go, pkg/controller/replicaset/replica_set_utils.go
    (calculateStatus), pkg/controller/statefulset/{stateful_set_control.go,stateful_set_utils.go} (computeReplicaStatus,
    completeRollingUpdate), pkg/controller/daemon/daemon_controller.go (updateDaemonSetStatus) at v1.36.3;
    k8s.io/api/apps/v1/types.go at v0.36.3.

    Args:
        kind: ``Deployment``.
        entry: The workload.
        terminating: How many of its pods are being deleted.
        refused: What its newest event says of a pod that it could not make.
    """
    if not isinstance(entry, Workload) or kind == "Job" or not entry.metadata.uid:
        return None
    status, observed = entry.status, entry.status.observed_generation
    # What a status says that nobody has written yet, or of an older spec, is not about this one.
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
    """When a CronJob makes Jobs; None: it is no CronJob."""
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
        # Its replicas count pods that are being deleted, whose template is going with them; updatedReplicas do not.
        return max(0, status.replicas - terminating - status.updated_replicas)
    return 0


def said(condition: Condition | None) -> Said | None:
    """What a condition says; None: there is no condition."""
    return None if condition is None else Said(condition.reason, condition.message)
