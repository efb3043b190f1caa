"""The code and severity of a workload, for its explanation and for the list of all workloads."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_plugin.reports.verdict import Severity, VerdictCode
from kubectl_plugin.reports.workload.workload_pods import JobProgress, PodCounts, WorkloadPod
from podrules.ending.pod_state import PodState


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
        or any(pod.stuck is not None and pod.stuck.long for pod in pods if _keeps_its_place(pod, counts)),
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


def _keeps_its_place(pod: WorkloadPod, counts: PodCounts) -> bool:
    """Whether no replacement is created before it is removed."""
    return counts.terminating_awaited or pod.state is not PodState.TERMINATING
