"""The pods of a StatefulSet by their ordinals: which is not made yet, and which it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kubectl_plugin.reports.workload_pods import WorkloadPod
from podrules.model.workload import CronJob, ReplicationController, Workload
from podrules.pod_state import PodState

__all__ = ["MissingPods", "missing_pods"]


class MissingPods(Struct, frozen=True, rename="camel"):
    """What a StatefulSet has not made yet."""

    first: str
    """The pod that comes next."""
    waits_for: str
    """The pod that has to be Ready before; empty: none."""


def missing_pods(
    kind: str, entry: Workload | ReplicationController | CronJob, pods: Sequence[WorkloadPod]
) -> MissingPods | None:
    """What is not made yet; None: it is no StatefulSet, or all of its pods are there.

    Source: processReplica in pkg/controller/statefulset/stateful_set_control.go at v1.36.3: with OrderedReady a pod is
    made once those of lower ordinals run and are Ready.

    Args:
        kind: ``StatefulSet``.
        entry: The workload.
        pods: Those that it has.
    """
    if kind != "StatefulSet" or not isinstance(entry, Workload):
        return None
    start, replicas = entry.spec.ordinals.start, 1 if entry.spec.replicas is None else entry.spec.replicas
    there, before = {pod.name: pod for pod in pods}, ""
    ordered = entry.spec.pod_management_policy != "Parallel"
    for ordinal in range(start, start + replicas):
        name = f"{entry.metadata.name}-{ordinal}"
        if name not in there:
            return MissingPods(name, before if ordered else "")
        if there[name].state is not PodState.READY:
            before = before or name
    return None
