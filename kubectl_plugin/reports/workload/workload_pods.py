"""The pods of a workload, summarised and counted by state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.reports.node.node_report import NearLimit
from kubectl_plugin.reports.workload.rollout import ReportedReason, said
from podrules.api.features import Features
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.ending.deleted_pod import Ending, pod_ending
from podrules.ending.pod_state import PodState, state_of
from podrules.ending.stuck import Stuck
from podrules.node.reachability import NodeReach
from podrules.pod.health import Health, health
from podrules.pod.qos import get_pod_qos

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

    Args:
        kind: ``DaemonSet``.
        entry: The workload.
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
    """The number of pods by state, and how many are missing or surplus.

    Args:
        states: The state of each pod.
        wanted: How many the workload wants; None: not specified.
        kind: The workload's kind: ``StatefulSet``.
    """
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
