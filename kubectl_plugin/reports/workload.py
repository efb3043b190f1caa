"""What the rules say of a workload: its template as a pod to come, and the pods it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.pod import PodReport
from podrules.cluster.source import Unread
from podrules.features import REFERENCE_VERSION, Features
from podrules.model.pod import Pod, PodQOSClass
from podrules.qos import get_pod_qos
from podrules.skew import WorkloadSpread

__all__ = ["WorkloadPod", "WorkloadReport", "workload_pods"]


class WorkloadPod(Struct, frozen=True, rename="camel"):
    """One pod of a workload, in short."""

    name: str
    phase: str
    node: str
    qos_class: PodQOSClass
    priority: int | None
    terminating: bool


class WorkloadReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="WorkloadExplanation"):
    """Everything about one workload."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    workload_kind: str
    name: str
    namespace: str
    source: str
    rules_version: str = REFERENCE_VERSION
    server_version: str | None
    replicas: int | None
    template: PodReport
    """The next pod that it would make."""
    pods: tuple[WorkloadPod, ...] | None
    """None when they could not be read, or the workload does not exist yet."""
    spread: tuple[WorkloadSpread, ...] = ()
    """How its pods stand now, by what keeps them alike, where they have topology spread constraints of their own."""
    unread: tuple[Unread, ...]


def workload_pods(pods: Sequence[Pod], features: Features) -> tuple[WorkloadPod, ...]:
    """The pods in short, by name."""
    return tuple(
        WorkloadPod(
            name=pod.metadata.name,
            phase=pod.status.phase,
            node=pod.spec.node_name,
            qos_class=get_pod_qos(pod, features=features),
            priority=pod.spec.priority,
            terminating=pod.metadata.deletion_timestamp is not None,
        )
        for pod in sorted(pods, key=lambda pod: pod.metadata.name)
    )
