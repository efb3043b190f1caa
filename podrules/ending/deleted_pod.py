"""How a deleted pod ends: who stops its processes, by when, and what keeps its object afterwards.

    static pod     its object is the mirror of a manifest file on the node: a delete removes the mirror, and the kubelet
                   recreates it and stops nothing. Only removing the file stops the pod
    deleted        deletionTimestamp - deletionGracePeriodSeconds, which Go multiplied into a Duration (`go_seconds`).
                   If that is before the creation of the pod, the fields are inconsistent: deleted then, or later
    second delete  it can only shorten the period. The API server writes both fields as if the first delete had
                   requested less, and a past time becomes now, with 1 s (BeforeDelete): the computed time is too late.
                   The kubelet's pod worker accepts the shorter period and cancels its sync, which SyncTerminatingPod
                   ignores: the stop in progress keeps its initial period. The object no longer contains that period;
                   it is the pod's own, unless a client requested more
    ends by        the deletion, plus the longest period with which the stop may have begun, plus the time of hooks
    unknown        the kubelet does not respond: nothing on its node ends before it responds
    no process     nothing has to stop: a responding kubelet removes the object once it has cleaned up
    finalizers     keep the object after that, until their controllers have removed them

Source, at v1.36.3: k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete), pkg/kubelet/pod_workers.go (UpdatePod,
calculateEffectiveGracePeriod), pkg/kubelet/kubelet.go (SyncTerminatingPod), pkg/kubelet/pod/mirror_client.go,
pkg/kubelet/status/status_manager.go (canBeDeleted).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from podrules.api.model.base import OwnerReference
from podrules.api.model.instant import go_seconds, instant, later
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.node.lost_node import collected_by
from podrules.pod.container_state import with_process
from podrules.pod.termination import (
    ContainerStop,
    GraceSource,
    TerminationGrace,
    check_graceful_delete,
    container_stops,
)
from podrules.workload.safety import Guarantee, owner_guarantee

PATIENCE: Final = timedelta(minutes=1)
"""A pod that ends later than expected by this much is reported as late."""
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
_JOBS: Final = "batch/v1"
_SPEC: Final = "spec.terminationGracePeriodSeconds"
_OBJECT: Final = "metadata.deletionGracePeriodSeconds"


class Grace(Struct, frozen=True, rename="camel"):
    """A pod worker's grace period and the field that decided it."""

    seconds: int
    field: str
    given: int | None = None
    """The value of the field, if it differs."""
    first: int | None = None
    """The longer period with which the stop may have begun, if a second delete shortened the object's."""

    @property
    def longest(self) -> int:
        """The longest period with which the stop may have begun."""
        return max(self.seconds, self.first or 0)


class Ending(Struct, frozen=True, rename="camel"):
    """How one pod ends, or would end."""

    static: bool
    """Whether it is a static pod, which a delete does not stop."""
    processes: bool
    """Whether it may have processes."""
    grace: Grace
    """The grace period of the stop that is under way, or of one that begins now."""
    deleted_at: datetime | None
    """When it was marked for deletion; None: it was not."""
    deleted_earlier: bool = field(name="toldBefore")
    """Whether it may have been deleted earlier: a second delete came after the end of the first period."""
    deletion_time_unknown: bool = field(name="toldAfter")
    """Whether the time of the deletion is unknown, except that it is not before the creation of the pod."""
    ends_by: datetime | None
    """When its last process gets SIGKILL at the latest; None: no process ends, or the time is not known."""
    finalizers: tuple[str, ...]
    """The finalizers that keep the object after the end of its processes."""
    collected_by: datetime | None = None
    """When pod garbage collection should have removed its object at the latest; None: it does not, or unknown."""

    def is_late(self, at: datetime | None) -> bool:
        """Whether its processes should have ended a minute ago: until then the kubelet's report may be on its way."""
        return self.ends_by is not None and at is not None and at - self.ends_by > PATIENCE

    @property
    def holders(self) -> tuple[str, ...]:
        """The finalizers except the one that the Job controller removes once it has counted the pod."""
        return holders(self.finalizers)


class JobTracking(Struct, frozen=True, rename="camel"):
    """The Job that has to count a pod before its controller removes the pod's finalizer."""

    job: str
    """The name of the Job; empty: no controller owns the pod."""
    exists: bool | None
    """Whether the Job exists; also False for another Job with that name. None: not known."""


class StopPlan(Struct, frozen=True, rename="camel"):
    """The effect of a DELETE now; for a pod that is being deleted, the stop that is under way."""

    grace: TerminationGrace
    static: bool
    """Whether it stops nothing: a kubelet owns the pod, and recreates the object."""
    object_removed_at_once: bool
    """Whether the DELETE removes the API object: it has no finalizer, and no process that is waited for."""
    processes: bool
    """Whether processes may exist: the pod is bound to a node, has not finished, and has not stopped."""
    containers: tuple[ContainerStop, ...]
    """The containers in the order in which the kubelet stops them."""
    sigkill_latest: int
    """The seconds from the first DELETE until every container has received SIGKILL, if the kubelet responds."""


def holders(finalizers: Iterable[str]) -> tuple[str, ...]:
    """The finalizers that keep an object, except the Job controller's, which it removes once it has counted the pod."""
    return tuple(name for name in finalizers if name != JOB_TRACKING)


def tracking_job(pod: Pod) -> OwnerReference | None:
    """The Job that the Job controller's finalizer waits for; None: the pod has none, or may have processes.

    The controller also removes it from a pod without a Job, or with a Job that is gone or has ended
    (handleSingleOrphanPod in pkg/controller/job/job_controller.go at v1.36.3); not from pods of another controller.
    """
    meta = pod.metadata
    if meta.deletion_timestamp is None or JOB_TRACKING not in meta.finalizers or _may_have_processes(pod, quiet=False):
        return None
    owner = meta.controller or OwnerReference(api_version=_JOBS, kind="Job")
    return owner if (owner.api_version, owner.kind) == (_JOBS, "Job") else None


def deleted_at(pod: Pod) -> datetime | None:
    """When the pod was deleted, computed from its object: its deletionTimestamp is the end of its grace period."""
    deleted, made = _recorded_deletion(pod), instant(pod.metadata.creation_timestamp)
    return deleted if deleted is None or made is None else max(deleted, made)


def grace_of(pod: Pod) -> Grace:
    """The grace period that the kubelet uses for a deleted pod, or for one that is deleted now."""
    spec = pod.spec.termination_grace_period_seconds or 0
    asked = pod.metadata.deletion_grace_period_seconds
    if pod.metadata.deletion_timestamp is None or asked is None:
        return Grace(max(spec, 1), _SPEC, given=spec)
    return Grace(max(asked, 1), _OBJECT, given=asked, first=spec if asked < spec else None)


def pod_ending(pod: Pod, *, quiet: bool = False, node: Node | None = None) -> Ending:
    """How a pod ends.

    Args:
        pod: The stored pod.
        quiet: Whether its node does not respond: its container statuses are then old.
        node: Its node, which shows by when its object should be gone; None: not needed.
    """
    deleted, grace, static = deleted_at(pod), grace_of(pod), _is_static(pod)
    processes = _may_have_processes(pod, quiet=quiet)
    ends_by = None
    if deleted is not None and processes and not static and not quiet:
        steps = container_stops(pod, grace.longest)
        ends_by = later(deleted, max((step.sigkill_latest for step in steps), default=0))
    return Ending(
        static=static,
        processes=processes,
        grace=grace,
        deleted_at=deleted,
        deleted_earlier=deleted is not None
        and bool(pod.spec.node_name)
        and grace.first is not None
        and grace.seconds == 1,
        deletion_time_unknown=deleted is not None and deleted != _recorded_deletion(pod),
        ends_by=ends_by,
        finalizers=pod.metadata.finalizers,
        collected_by=None if pod.metadata.finalizers else collected_by(deleted, node),
    )


def stop_plan(pod: Pod, option_seconds: int | None = None, *, quiet: bool = False) -> StopPlan:
    """The effect of a DELETE now if the kubelet responds: when each container is signalled, and by when it is killed.

    Args:
        pod: The stored pod.
        option_seconds: The grace period that the DELETE requests.
        quiet: See `pod_ending`.
    """
    grace, static = _grace_of_delete(pod, option_seconds), _is_static(pod)
    processes = _may_have_processes(pod, quiet=quiet)
    longest = max(grace.seconds, 1) if pod.metadata.deletion_timestamp is None else grace_of(pod).longest
    steps = container_stops(pod, longest) if processes and not static else ()
    at_once = grace.seconds == 0
    if pod.metadata.deletion_timestamp is not None:
        # Only a first DELETE depends on running processes: a later one must request grace period 0 itself.
        at_once = not pod.metadata.deletion_grace_period_seconds or option_seconds == 0
    return StopPlan(
        grace=grace,
        static=static,
        object_removed_at_once=at_once and not pod.metadata.finalizers,
        processes=processes,
        containers=steps,
        sigkill_latest=max((step.sigkill_latest for step in steps), default=0),
    )


def _recorded_deletion(pod: Pod) -> datetime | None:
    """When the pod was deleted, only from its deletionTimestamp and grace period."""
    over = instant(pod.metadata.deletion_timestamp)
    return later(over, -go_seconds(pod.metadata.deletion_grace_period_seconds or 0)) if over is not None else None


def _grace_of_delete(pod: Pod, option_seconds: int | None) -> TerminationGrace:
    """The object's period after the DELETE; for a pod that is being deleted only a shorter one counts."""
    asked = check_graceful_delete(pod, option_seconds)
    if pod.metadata.deletion_timestamp is None or asked.source in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}:
        return asked
    current = pod.metadata.deletion_grace_period_seconds or 0
    if option_seconds is None or asked.seconds >= current:
        return TerminationGrace(current, GraceSource.DELETED_BEFORE)
    return asked


def _is_static(pod: Pod) -> bool:
    return owner_guarantee(pod).guarantee is Guarantee.KUBELET_OWNED


def _may_have_processes(pod: Pod, *, quiet: bool) -> bool:
    """Whether it may have processes: a waiting container can start at any time, unless the pod is being deleted."""
    if not pod.spec.node_name or pod.finished:
        return False
    if pod.metadata.deletion_timestamp is None or quiet or _is_static(pod):
        return True
    return any(True for _ in with_process(pod))
