"""The missing pods of a StatefulSet by ordinal, and the pod that it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kubectl_plugin.reports.workload.workload_pods import WorkloadPod
from podrules.api.model.workload import CronJob, ReplicationController, Workload
from podrules.ending.pod_state import PodState
from podrules.workload.ordinals import next_pod


class MissingPods(Struct, frozen=True, rename="camel"):
    """The pods that a StatefulSet has not created yet."""

    first: str
    """The next pod."""
    waits_for: str
    """The pod that must be Ready before; empty: none."""


def missing_pods(
    kind: str, entry: Workload | ReplicationController | CronJob, pods: Sequence[WorkloadPod]
) -> MissingPods | None:
    """The missing pods; None: not a StatefulSet, or all of its pods exist.

    Args:
        kind: ``StatefulSet``.
        entry: The workload.
        pods: Its existing pods.
    """
    if kind != "StatefulSet" or not isinstance(entry, Workload):
        return None
    replicas = 1 if entry.spec.replicas is None else entry.spec.replicas
    following = next_pod(entry, {pod.name: pod.state is PodState.READY for pod in pods})
    if following.ordinal >= entry.spec.ordinals.start + replicas:
        return None
    return MissingPods(following.name, following.waits_for)
