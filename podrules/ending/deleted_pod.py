"""How a pod ends once it is deleted: who stops its processes, by when, and what keeps its object then.

    static pod     its object mirrors what a kubelet reads from a file: a delete removes the mirror, the kubelet makes
                   it again and stops nothing. Only removing the file stops it
    told           deletionTimestamp - deletionGracePeriodSeconds, which Go multiplied into a Duration (`go_seconds`).
                   Where that is before the pod was made, the two do not go together: told then, or after
    told again     a second delete can only shorten. The API server writes both fields as if the first one had asked for
                   less, and a time that has passed becomes now, with 1 s (BeforeDelete): told then is later than true.
                   The kubelet's pod worker takes the shorter period and cancels its sync, to which SyncTerminatingPod
                   does not listen: the stop in flight lasts the period with which it began. The object does not hold
                   that one any more; it is the pod's own, unless somebody asked for more
    ends by        told, the longest period with which the stop may have begun, and what hooks add to it
    nobody knows   the kubelet does not answer: nothing there ends before it answers
    no process     nothing is left to stop: a kubelet that answers removes the object once it has cleaned up
    finalizers     keep the object after that, until their controllers have removed them

Source, at v1.36.3: k8s.io/apiserver/pkg/registry/rest/delete.go (BeforeDelete), pkg/kubelet/pod_workers.go (UpdatePod,
calculateEffectiveGracePeriod), pkg/kubelet/kubelet.go (SyncTerminatingPod), pkg/kubelet/pod/mirror_client.go,
pkg/kubelet/status/status_manager.go (canBeDeleted).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from podrules.api.model.base import OwnerReference
from podrules.api.model.instant import go_seconds, instant, later
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.node.pod_gc import collected_by
from podrules.pod.processes import with_process
from podrules.pod.termination import (
    ContainerStop,
    GraceSource,
    TerminationGrace,
    check_graceful_delete,
    container_stops,
)
from podrules.workload.safety import Guarantee, owner_guarantee

__all__ = [
    "JOB_TRACKING",
    "PATIENCE",
    "Ending",
    "Grace",
    "JobTracking",
    "StopPlan",
    "deleted_at",
    "grace_of",
    "holders",
    "pod_ending",
    "stop_plan",
    "tracking_job",
]

PATIENCE: Final = timedelta(minutes=1)
"""A pod that ends so much later than it should is reported as late."""
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
_JOBS: Final = "batch/v1"
_SPEC: Final = "spec.terminationGracePeriodSeconds"
_OBJECT: Final = "metadata.deletionGracePeriodSeconds"


class Grace(Struct, frozen=True, rename="camel"):
    """A pod worker's grace period and what decided it."""

    seconds: int
    field: str
    given: int | None = None
    """What the field holds, where that is another number."""
    first: int | None = None
    """The longer period with which the stop may have begun, where a second delete shortened the object's."""

    @property
    def longest(self) -> int:
        """The longest period with which the stop may have begun."""
        return max(self.seconds, self.first or 0)


class Ending(Struct, frozen=True, rename="camel"):
    """How one pod ends, or would."""

    static: bool
    """A delete stops nothing of it."""
    processes: bool
    """Whether it may have processes."""
    grace: Grace
    """The grace period of the stop that is under way, or of one that begins now."""
    deleted_at: datetime | None
    """When it was marked for deletion; None: it was not."""
    told_before: bool
    """Whether it may have been told before that: a second delete came when the first period was over."""
    told_after: bool
    """Whether nothing tells when, but that it was not before the pod was made."""
    ends_by: datetime | None
    """When its last process gets SIGKILL at the latest; None: nothing of it ends, or by no known time."""
    finalizers: tuple[str, ...]
    """What keeps the object after its processes."""
    collected_by: datetime | None = None
    """When pod garbage collection should have removed its object at the latest; None: it does not, or not known."""

    def is_late(self, at: datetime | None) -> bool:
        """Whether its processes should have ended a minute ago: until then a kubelet may still be telling of it."""
        return self.ends_by is not None and at is not None and at - self.ends_by > PATIENCE

    @property
    def holders(self) -> tuple[str, ...]:
        """Finalizers but that which the Job controller removes by itself as soon as it has counted the pod."""
        return holders(self.finalizers)


class JobTracking(Struct, frozen=True, rename="camel"):
    """The Job that has to count a pod before its controller removes the finalizer that keeps the pod."""

    job: str
    """Empty: no controller owns the pod."""
    exists: bool | None
    """Also False for another Job of that name. None: not known."""


class StopPlan(Struct, frozen=True, rename="camel"):
    """What a DELETE does now; of a pod that is being deleted, the stop that is under way."""

    grace: TerminationGrace
    static: bool
    """It stops nothing: a kubelet owns the pod, and makes the object again."""
    object_removed_at_once: bool
    """The API object is gone with the DELETE: there is no process or nobody waits for it, and no finalizer."""
    processes: bool
    """Whether there may be processes: the pod is bound to a node, has not finished, and has not stopped either."""
    containers: tuple[ContainerStop, ...]
    """In the order in which the kubelet stops them."""
    sigkill_latest: int
    """Seconds from the first DELETE by which every container has been sent SIGKILL, when the kubelet answers."""


def holders(finalizers: Iterable[str]) -> tuple[str, ...]:
    """Finalizers that keep an object: that of the Job controller goes as soon as it has counted the pod."""
    return tuple(name for name in finalizers if name != JOB_TRACKING)


def tracking_job(pod: Pod) -> OwnerReference | None:
    """The Job that the finalizer of the Job controller waits for; None: the pod has none, or may have processes.

    The controller also removes it from a pod of no Job, or of one that is gone, and of one that has ended
    (handleSingleOrphanPod in pkg/controller/job/job_controller.go at v1.36.3); not from pods of another controller.
    """
    meta = pod.metadata
    if meta.deletion_timestamp is None or JOB_TRACKING not in meta.finalizers or _may_have_processes(pod, quiet=False):
        return None
    owner = meta.controller or OwnerReference(api_version=_JOBS, kind="Job")
    return owner if (owner.api_version, owner.kind) == (_JOBS, "Job") else None


def deleted_at(pod: Pod) -> datetime | None:
    """When the pod was deleted, computed from its object: its deletionTimestamp is when its grace period is over."""
    told, made = _recorded_deletion(pod), instant(pod.metadata.creation_timestamp)
    return told if told is None or made is None else max(told, made)


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
        pod: As it is stored.
        quiet: Whether its node does not answer: what its containers' statuses say is then old.
        node: Its node, where that tells by when its object should be gone.
    """
    told, grace, static = deleted_at(pod), grace_of(pod), _is_static(pod)
    processes = _may_have_processes(pod, quiet=quiet)
    ends_by = None
    if told is not None and processes and not static and not quiet:
        steps = container_stops(pod, grace.longest)
        ends_by = later(told, max((step.sigkill_latest for step in steps), default=0))
    return Ending(
        static=static,
        processes=processes,
        grace=grace,
        deleted_at=told,
        told_before=told is not None and bool(pod.spec.node_name) and grace.first is not None and grace.seconds == 1,
        told_after=told is not None and told != _recorded_deletion(pod),
        ends_by=ends_by,
        finalizers=pod.metadata.finalizers,
        collected_by=None if pod.metadata.finalizers else collected_by(told, node),
    )


def stop_plan(pod: Pod, option_seconds: int | None = None, *, quiet: bool = False) -> StopPlan:
    """What a DELETE does now if the kubelet answers: when each container is signalled, and by when it is killed.

    Args:
        pod: As it is stored.
        option_seconds: The grace period that the DELETE asks for.
        quiet: See `pod_ending`.
    """
    grace, static = _grace_of_delete(pod, option_seconds), _is_static(pod)
    processes = _may_have_processes(pod, quiet=quiet)
    longest = max(grace.seconds, 1) if pod.metadata.deletion_timestamp is None else grace_of(pod).longest
    steps = container_stops(pod, longest) if processes and not static else ()
    return StopPlan(
        grace=grace,
        static=static,
        object_removed_at_once=_removed_at_once(pod, grace, option_seconds),
        processes=processes,
        containers=steps,
        sigkill_latest=max((step.sigkill_latest for step in steps), default=0),
    )


def _recorded_deletion(pod: Pod) -> datetime | None:
    """When the pod was deleted, from its deletionTimestamp and grace period alone."""
    over = instant(pod.metadata.deletion_timestamp)
    return later(over, -go_seconds(pod.metadata.deletion_grace_period_seconds or 0)) if over is not None else None


def _grace_of_delete(pod: Pod, option_seconds: int | None) -> TerminationGrace:
    """The period with which the object is left; of a pod that is being deleted only a shorter one counts."""
    asked = check_graceful_delete(pod, option_seconds)
    if pod.metadata.deletion_timestamp is None or asked.source in {GraceSource.NOT_SCHEDULED, GraceSource.FINISHED}:
        return asked
    current = pod.metadata.deletion_grace_period_seconds or 0
    if option_seconds is None or asked.seconds >= current:
        return TerminationGrace(current, GraceSource.DELETED_BEFORE)
    return asked


def _removed_at_once(pod: Pod, grace: TerminationGrace, option_seconds: int | None) -> bool:
    if pod.metadata.finalizers:
        return False
    if pod.metadata.deletion_timestamp is None:
        return grace.seconds == 0
    # Whether anything runs is asked of a first DELETE alone: another has to ask for no grace itself.
    return not pod.metadata.deletion_grace_period_seconds or option_seconds == 0


def _is_static(pod: Pod) -> bool:
    return owner_guarantee(pod).guarantee is Guarantee.KUBELET_OWNED


def _may_have_processes(pod: Pod, *, quiet: bool) -> bool:
    """Whether anything of it may run: a container that waits starts at any time, unless the pod is being deleted."""
    if not pod.spec.node_name or pod.finished:
        return False
    if pod.metadata.deletion_timestamp is None or quiet or _is_static(pod):
        return True
    return any(True for _ in with_process(pod))
