"""The report of a workload: its template as a future pod, its pods and their states, and its rollout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.node.node_report import NearLimit
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.verdict import Severity, VerdictCode
from podrules.api.features import Features
from podrules.api.model.base import Condition
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.ending.deleted_pod import Ending, pod_ending
from podrules.ending.pod_state import PodState, state_of
from podrules.ending.stuck import Stuck
from podrules.node.reachability import NodeReach
from podrules.pod.health import Health, health
from podrules.pod.qos import get_pod_qos
from podrules.pod.reading import UnreadInput
from podrules.scheduling.skew import WorkloadSpread
from podrules.workload.made_pod import next_pod

_WAITING: Final = frozenset({PodState.STARTING, PodState.TERMINATING})
"""States of pods for which events may show why they wait."""


class WorkloadReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="WorkloadExplanation"):
    """The report of one workload."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    workload_kind: str
    name: str
    namespace: str
    source: str
    rules_version: str
    server_version: str | None
    replicas: int | None
    template: PodReport
    """The next pod that it would create."""
    pods: tuple[WorkloadPod, ...] | None
    """None: they could not be read, or the workload does not exist yet."""
    counts: PodCounts | None
    """How many of the wanted pods run; None as for the pods."""
    job: JobProgress | None = None
    """The progress of a Job; None: not a Job."""
    rollout: Rollout | None = None
    """The controller's status of the newest spec; None: no controller, or no status."""
    schedule: Schedule | None = None
    """When it creates Jobs; None: not a CronJob."""
    missing: MissingPods | None = None
    """The pods that a StatefulSet has not created yet; None: all exist, or not a StatefulSet."""
    spread: tuple[WorkloadSpread, ...] = ()
    """The current spread of its pods, by their own topology spread constraints."""
    unread: tuple[UnreadInput, ...]

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline: its pods, their nodes, why some are missing, the next pod."""
        own = {"nodes"} if self.pods else {"pods"}
        refused = self.rollout is not None and self.rollout.refused is not None
        if self.counts is not None and self.counts.missing and not refused:
            own |= {"events", "replicasets.apps"}
        if any(pod.reach is None and pod.state in _WAITING for pod in self.pods or ()):
            own.add("events")
        mine = (one for one in self.unread if one.may_exist and one.resource in own)
        return tuple(dict.fromkeys((*mine, *self.template.lacks)))


_WAITS_FOR_THE_LAST: Final = frozenset({"StatefulSet", "DaemonSet"})
"""Their controllers create no replacement for a pod that is being deleted before it is removed."""

_SHOWN_BY_KUBELET: Final = frozenset({PodState.BROKEN, PodState.STARTING, PodState.NOT_READY})


class WorkloadPod(Struct, frozen=True, rename="camel"):
    """The summary of one pod of a workload."""

    name: str
    phase: str
    node: str
    qos_class: PodQOSClass
    priority: int | None
    terminating: bool
    status: str
    """STATUS as kubectl prints it; for a pod on a node that does not answer, the last reported one."""
    state: PodState
    restarts: int
    created: str | None
    reach: NodeReach | None = None
    """The reach of its node, if the node does not answer; else None."""
    health: Health | None = None
    """The problems of its containers, if it is broken, starting or not ready; else None."""
    ending: Ending | None = None
    """How it ends, if it is being deleted; else None."""
    waits_for: str = ""
    """Reason of its PodScheduled condition while this is False: Unschedulable or SchedulingGated."""
    unschedulable: str = ""
    """That condition's message: why no node fits."""
    nominated_node: str = ""
    """The node on which pods were preempted for it."""
    near_limit: NearLimit | None = None
    """The container of a ready pod that is nearest to its own memory limit, if it is near."""
    stuck: Stuck | None = None
    """The warning that shows why it does not start or end, if events were read."""


class PodCounts(Struct, frozen=True, rename="camel"):
    """The number of pods by state; each pod is in one state.

    wanted + surplus = ready + not ready + starting + pending + broken + unreachable + missing, and + terminating where
    the controller waits for such pods (``terminating_awaited``).
    """

    wanted: int | None
    """By the workload; None: not specified."""
    ready: int = 0
    """They run and are Ready, on a node that answers."""
    not_ready: int = 0
    starting: int = 0
    """They have a node, and their containers are starting."""
    pending: int = 0
    """They have no node."""
    broken: int = 0
    """A container waits or has ended, and does not recover by itself: CrashLoopBackOff, ImagePullBackOff …"""
    unreachable: int = 0
    """Their node does not answer: unknown whether they run."""
    terminating: int = 0
    terminating_awaited: bool = False
    """Whether no replacements are created before they are removed, as in a StatefulSet or DaemonSet."""
    failed: int = 0
    succeeded: int = 0
    missing: int = 0
    """Wanted, but not created yet."""
    surplus: int = 0
    """More than wanted, as during a rollout."""


class JobProgress(Struct, frozen=True, rename="camel"):
    """The progress of a Job, by its status."""

    completions: int | None
    """How many pods must succeed; None: any one of them."""
    succeeded: int
    failed: int
    suspended: bool
    ended: str
    """``Complete`` or ``Failed`` once it has ended; else empty."""
    why: ReportedReason | None = None
    """Why it failed, or could not create a pod; None: neither."""


def workload_pods(
    pods: Sequence[Pod],
    features: Features,
    reach: Callable[[str], NodeReach | None],
    node: Callable[[str], Node | None],
    near_limit: Callable[[Pod], NearLimit | None],
) -> tuple[WorkloadPod, ...]:
    """The summaries of the pods, sorted by name.

    Args:
        pods: The pods of the workload.
        features: The gates of the cluster.
        reach: Returns whether a node answers, by its name.
        node: Returns the node of a name, which determines what exit codes mean; None: unknown.
        near_limit: Returns the container of a pod that is nearest to its own memory limit; None: none is near, or usage
            is unknown.
    """
    found = (_in_short(pod, features, reach, node) for pod in sorted(pods, key=lambda pod: pod.metadata.name))
    near = {pod.metadata.name: near_limit(pod) for pod in pods}
    return tuple(replace(one, near_limit=near[one.name]) if one.state is PodState.READY else one for one in found)


def _in_short(
    pod: Pod, features: Features, reach: Callable[[str], NodeReach | None], node_of: Callable[[str], Node | None]
) -> WorkloadPod:
    node = pod.spec.node_name
    found, own = (reach(node), health(pod, node_of(node))) if node else (None, health(pod))
    deleted, scheduled = pod.metadata.deletion_timestamp is not None, pod.status.condition("PodScheduled")
    state = state_of(own, bound=bool(node), deleted=deleted, reach=found)
    return WorkloadPod(
        name=pod.metadata.name,
        phase=pod.status.phase,
        node=node,
        qos_class=get_pod_qos(pod, features=features),
        priority=pod.spec.priority,
        terminating=deleted,
        status=own.kubectl_status,
        state=state,
        restarts=own.restarts,
        created=pod.metadata.creation_timestamp,
        reach=found if found is not None and found.reach.quiet else None,
        health=own if state in _SHOWN_BY_KUBELET else None,
        ending=pod_ending(pod, quiet=found is not None and found.ends_unknown) if deleted else None,
        waits_for=scheduled.reason if scheduled is not None and scheduled.status == "False" else "",
        unschedulable=scheduled.message if scheduled is not None and scheduled.status == "False" else "",
        nominated_node=pod.status.nominated_node_name,
    )


def pods_wanted(kind: str, entry: Workload | ReplicationController | CronJob) -> int | None:
    """How many pods a workload of the cluster wants now; None: not specified.

    A Job wants as many as may run at a time, while enough have not succeeded (manageJob in
    pkg/controller/job/job_controller.go at v1.36.3).

    The kind is as in ``DaemonSet``.
    """
    if isinstance(entry, CronJob):
        return None
    if isinstance(entry, ReplicationController):
        return 1 if entry.spec.replicas is None else entry.spec.replicas
    if kind == "DaemonSet":
        # 0 also if no controller has counted yet.
        return entry.status.desired_number_scheduled or None
    if kind != "Job":
        return 1 if entry.spec.replicas is None else entry.spec.replicas
    spec, progress = entry.spec, job_progress(entry)
    if progress.ended or progress.suspended:
        return 0
    parallel = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        # One success ends it: no more pods are created, and running pods continue.
        return parallel if not progress.succeeded else None
    return max(0, min(parallel, spec.completions - progress.succeeded))


def job_progress(entry: Workload, refused: ReportedReason | None = None) -> JobProgress:
    """The progress of a Job; ``refused``: its newest event about a pod that it could not create."""
    status = entry.status
    return JobProgress(
        completions=entry.spec.completions,
        succeeded=status.succeeded,
        failed=status.failed,
        suspended=entry.spec.suspend,
        ended=next((word for word in ("Complete", "Failed") if status.is_true(word)), ""),
        why=said(status.condition("Failed", "True")) or refused,
    )


def pod_counts(states: Sequence[PodState], wanted: int | None, kind: str) -> PodCounts:
    """The number of pods by state, and how many are missing or surplus, if the workload specifies how many it wants."""
    found = Counter(states)
    awaited = kind in _WAITS_FOR_THE_LAST
    gone = {PodState.SUCCEEDED, PodState.FAILED, *(() if awaited else (PodState.TERMINATING,))}
    there = sum(count for state, count in found.items() if state not in gone)
    lacking = 0 if wanted is None else wanted - there
    return PodCounts(
        wanted=wanted,
        ready=found[PodState.READY],
        not_ready=found[PodState.NOT_READY],
        starting=found[PodState.STARTING],
        pending=found[PodState.PENDING],
        broken=found[PodState.BROKEN],
        unreachable=found[PodState.UNREACHABLE],
        terminating=found[PodState.TERMINATING],
        terminating_awaited=awaited,
        failed=found[PodState.FAILED],
        succeeded=found[PodState.SUCCEEDED],
        missing=max(0, lacking),
        surplus=max(0, -lacking),
    )


def workload_code(
    job: JobProgress | None, counts: PodCounts, pods: Sequence[WorkloadPod]
) -> tuple[VerdictCode, Severity]:
    """The code and severity of its worst pod."""
    stuck = any(pod.reach is not None for pod in pods if pod.state is PodState.TERMINATING)
    unplaced = any(pod.waits_for == "Unschedulable" and not pod.nominated_node for pod in pods)
    trouble = {
        VerdictCode.JOB_FAILED: job is not None and job.ended == "Failed",
        VerdictCode.PODS_REFUSED: job is not None and not job.ended and job.why is not None,
        VerdictCode.PODS_BROKEN: counts.broken,
        VerdictCode.PODS_UNREACHABLE: counts.unreachable,
        VerdictCode.PODS_UNSCHEDULABLE: unplaced,
        VerdictCode.PODS_STUCK: (stuck and counts.terminating_awaited)
        or any(
            pod.stuck is not None and pod.stuck.long
            for pod in pods
            if counts.terminating_awaited or pod.state is not PodState.TERMINATING
        ),
    }
    notice = {
        VerdictCode.PODS_STUCK: stuck,
        VerdictCode.PODS_PENDING: counts.pending,
        VerdictCode.PODS_NOT_READY: counts.not_ready,
        VerdictCode.PODS_STARTING: counts.starting,
        VerdictCode.PODS_MISSING: counts.missing,
        VerdictCode.NEAR_MEMORY_LIMIT: any(pod.near_limit is not None for pod in pods),
    }
    for found, severity in ((trouble, Severity.TROUBLE), (notice, Severity.NOTICE)):
        for code, is_so in found.items():
            if is_so:
                return code, severity
    if job is None:
        return VerdictCode.ALL_READY, Severity.FINE
    if job.suspended and not job.ended:
        return VerdictCode.SUSPENDED, Severity.NOTICE
    return VerdictCode.JOB_COMPLETE if job.ended else VerdictCode.JOB_RUNNING, Severity.FINE


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

    ``terminating`` pods are being deleted. ``refused`` is its newest event about a pod that it could not create.
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


class MissingPods(Struct, frozen=True, rename="camel"):
    """The pods that a StatefulSet has not created yet."""

    first: str
    """The next pod."""
    waits_for: str
    """The pod that must be Ready before; empty: none."""


def missing_pods(
    kind: str, entry: Workload | ReplicationController | CronJob, pods: Sequence[WorkloadPod]
) -> MissingPods | None:
    """The pods that a StatefulSet lacks, besides the existing ones; None: not a StatefulSet, or all exist."""
    if kind != "StatefulSet" or not isinstance(entry, Workload):
        return None
    replicas = 1 if entry.spec.replicas is None else entry.spec.replicas
    following = next_pod(entry, {pod.name: pod.state is PodState.READY for pod in pods})
    if following.ordinal >= entry.spec.ordinals.start + replicas:
        return None
    return MissingPods(following.name, following.waits_for)
