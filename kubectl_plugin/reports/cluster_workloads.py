"""The workloads of a cluster: how many of the pods that each wants run, counted as for `kubectl qos explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from kubectl_plugin.reports.workload_pods import PodCounts, pod_counts, pods_wanted
from podrules.kubectl_status import kubectl_restarts, kubectl_status
from podrules.model.pod import Pod
from podrules.model.workload import Workload
from podrules.pod_state import PodState, pod_state
from podrules.reachability import NodeReach
from podrules.safety import owner_guarantee

__all__ = ["WorkloadEntry", "WorkloadKey", "workload_entries"]

WorkloadKey = tuple[str, str, str]
"""Namespace, kind and name."""
_FINE = frozenset({PodState.READY, PodState.SUCCEEDED})


class WorkloadEntry(Struct, frozen=True, rename="camel"):
    """One workload."""

    namespace: str
    kind: str
    name: str
    counts: PodCounts
    restarts: int
    in_trouble: int
    """Pods that are not as they should be, and those that are missing."""
    worst: PodState | None
    """Of its pods; None: it has none, or all are well."""
    worst_pod: str
    worst_status: str
    """STATUS of that pod, as kubectl prints it."""


def workload_entries(
    pods: Iterable[Pod],
    written: Mapping[WorkloadKey, Workload],
    owner: Callable[[str, str, str], tuple[str, str]],
    reach: Callable[[str], NodeReach | None],
) -> tuple[WorkloadEntry, ...]:
    """Every workload that has pods or wants some, the one in most trouble first.

    Args:
        pods: Of all of them.
        written: The workloads that could be read.
        owner: Kind and name of what a controller belongs to.
        reach: Whether a node answers, by its name.
    """
    own: dict[WorkloadKey, list[Pod]] = {key: [] for key in written}
    for pod in pods:
        controller = owner_guarantee(pod)
        if controller.name and controller.kind != "Node":
            namespace = pod.metadata.namespace
            kind, name = owner(namespace, controller.kind, controller.name)
            own.setdefault((namespace, kind, name), []).append(pod)
    entries = [_entry(key, found, written.get(key), reach) for key, found in own.items()]
    return tuple(sorted((one for one in entries if _is_shown(one)), key=_order))


def _entry(
    key: WorkloadKey, pods: Sequence[Pod], workload: Workload | None, reach: Callable[[str], NodeReach | None]
) -> WorkloadEntry:
    states = [(pod_state(pod, reach(pod.spec.node_name)), pod) for pod in pods]
    wanted = pods_wanted(key[1], workload) if workload is not None else None
    counts = pod_counts([state for state, _ in states], wanted, key[1])
    ill = sorted(((state, pod) for state, pod in states if state not in _FINE), key=lambda one: one[0].worse)
    worst, pod = ill[0] if ill else (None, None)
    return WorkloadEntry(
        *key,
        counts=counts,
        restarts=sum(map(kubectl_restarts, pods)),
        in_trouble=len(ill) + counts.missing,
        worst=worst,
        worst_pod=pod.metadata.name if pod is not None else "",
        worst_status=kubectl_status(pod) if pod is not None else "",
    )


def _is_shown(entry: WorkloadEntry) -> bool:
    """A workload that wants nothing and has nothing is none that anybody looks for."""
    counts = entry.counts
    return bool(counts.wanted or counts.ready or counts.succeeded or entry.in_trouble)


def _order(entry: WorkloadEntry) -> tuple[bool, int, int, str, str, str]:
    worst = len(PodState) if entry.worst is None else entry.worst.worse
    return not entry.in_trouble, worst, -entry.in_trouble, entry.namespace, entry.kind, entry.name
