"""The workloads of a cluster: how many of their pods run, counted as in `kubectl qos explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from kubectl_plugin.reports.verdict import Severity, VerdictCode
from kubectl_plugin.reports.workload import PodCounts, WorkloadPod, job_progress, pod_counts, pods_wanted, workload_code
from podrules.api.model.pod import Pod
from podrules.api.model.workload import Workload
from podrules.api.refusals import pods_short, said_by_server
from podrules.ending.pod_state import PodState
from podrules.ending.volumes import SecondWriters
from podrules.workload.safety import owner_guarantee

WorkloadKey = tuple[str, str, str]
"""Namespace, kind and name."""
_FINE = frozenset({PodState.READY, PodState.SUCCEEDED, PodState.FAILED})
_PASSED = _FINE | {PodState.TERMINATING}
"""Pods that a workload has replaced or does not need: counted in addition to the wanted pods."""


class WorkloadEntry(Struct, frozen=True, rename="camel"):
    """One workload."""

    namespace: str
    kind: str
    name: str
    counts: PodCounts
    restarts: int
    severity: Severity
    """The severity, as in the explanation of its pods."""
    code: VerdictCode
    in_trouble: int
    """Wanted pods that are not in order, and missing pods."""
    worst: PodState | None
    """The worst state of its pods; None: it has none, or all are fine."""
    worst_pod: str
    worst_status: str
    """STATUS of that pod, as kubectl prints it."""
    short: int = 0
    """How many wanted pods do not exist, by its own status."""
    refused: str = ""
    """Why its controller cannot create them, in its words; empty: it does not say."""
    second_writers: SecondWriters | None = None
    """When two of its pods write to one unguarded volume; None: never, or its volumes were not read."""


def workload_entries(
    pods: Iterable[Pod],
    written: Mapping[WorkloadKey, Workload],
    owner: Callable[[str, str, str], tuple[str, str]],
    in_short: Callable[[Sequence[Pod]], tuple[WorkloadPod, ...]],
    refusals: Mapping[WorkloadKey, str],
) -> tuple[WorkloadEntry, ...]:
    """Every workload that has or wants pods, the worst first.

    Args:
        pods: The pods of all of them.
        written: The workloads that could be read.
        owner: Kind and name of a controller's owner.
        in_short: Summarises the pods of one workload.
        refusals: The newest event of each workload that could not create a pod.
    """
    own: dict[WorkloadKey, list[Pod]] = {key: [] for key in written}
    for pod in pods:
        controller = owner_guarantee(pod)
        if controller.name and controller.kind != "Node":
            namespace = pod.metadata.namespace
            kind, name = owner(namespace, controller.kind, controller.name)
            own.setdefault((namespace, kind, name), []).append(pod)
    entries = [_entry(key, in_short(found), written.get(key), refusals.get(key, "")) for key, found in own.items()]
    return tuple(sorted((one for one in entries if _is_shown(one)), key=_order))


def _entry(key: WorkloadKey, found: Sequence[WorkloadPod], workload: Workload | None, event: str) -> WorkloadEntry:
    wanted = pods_wanted(key[1], workload) if workload is not None else None
    job = job_progress(workload) if workload is not None and key[1] == "Job" else None
    counts = pod_counts([pod.state for pod in found], wanted, key[1])
    code, severity = workload_code(job, counts, found)
    short = pods_short(key[1], workload, wanted) if workload is not None else 0
    condition = workload.status.condition("ReplicaFailure", "True") if workload is not None else None
    # The condition keeps the message of the first failure.
    refused = (event or (condition.message if condition is not None else "")) if short else ""
    if refused:
        code, severity = VerdictCode.PODS_REFUSED, Severity.TROUBLE
    passed = _FINE if counts.terminating_awaited else _PASSED
    ill = [pod for pod in found if pod.state not in passed]
    problems = sorted((pod for pod in found if pod.state not in _FINE), key=lambda pod: pod.state.worse)
    worst = problems[0] if problems and severity is not Severity.FINE else None
    return WorkloadEntry(
        *key,
        counts=counts,
        restarts=sum(pod.restarts for pod in found),
        severity=severity,
        code=code,
        in_trouble=len(ill) + counts.missing,
        worst=worst.state if worst is not None else None,
        worst_pod=worst.name if worst is not None else "",
        worst_status=worst.status if worst is not None else "",
        short=short,
        refused=said_by_server(refused),
    )


def _is_shown(entry: WorkloadEntry) -> bool:
    """Whether a workload has or wants anything."""
    counts = entry.counts
    return bool(counts.wanted or counts.ready or counts.succeeded or entry.in_trouble)


def _order(entry: WorkloadEntry) -> tuple[int, int, int, str, str, str]:
    worst = len(PodState) if entry.worst is None else entry.worst.worse
    return -entry.severity.urgency, worst, -entry.in_trouble, entry.namespace, entry.kind, entry.name
