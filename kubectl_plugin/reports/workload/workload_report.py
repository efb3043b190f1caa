"""The report of a workload: its template as a pod to come, and its pods."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.workload.ordinals import MissingPods
from kubectl_plugin.reports.workload.rollout import Rollout, Schedule
from kubectl_plugin.reports.workload.workload_pods import JobProgress, PodCounts, WorkloadPod
from podrules.ending.pod_state import PodState
from podrules.pod.reading import Unread
from podrules.scheduling.skew import WorkloadSpread

__all__ = ["WorkloadReport"]

_WAITING: Final = frozenset({PodState.STARTING, PodState.TERMINATING})
"""Events may say why such pods wait."""


class WorkloadReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="WorkloadExplanation"):
    """Everything about one workload."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    workload_kind: str
    name: str
    namespace: str
    source: str
    rules_version: str
    server_version: str | None
    replicas: int | None
    template: PodReport
    """The next pod that it would make."""
    pods: tuple[WorkloadPod, ...] | None
    """None when they could not be read, or the workload does not exist yet."""
    counts: PodCounts | None
    """How many of those that are wanted run; None as for the pods."""
    job: JobProgress | None = None
    """How far it is; None: it is no Job."""
    rollout: Rollout | None = None
    """What its controller says of the newest spec; None: it has none, or says nothing."""
    schedule: Schedule | None = None
    """When it makes Jobs; None: it is no CronJob."""
    missing: MissingPods | None = None
    """What a StatefulSet has not made yet; None: nothing, or it is none."""
    spread: tuple[WorkloadSpread, ...] = ()
    """How its pods stand now, by what keeps them alike, where they have topology spread constraints of their own."""
    unread: tuple[Unread, ...]

    @property
    def lacks(self) -> tuple[Unread, ...]:
        """What could not be read and may change the headline: its pods, their nodes, why some are missing, the next."""
        own = {"nodes"} if self.pods else {"pods"}
        refused = self.rollout is not None and self.rollout.refused is not None
        if self.counts is not None and self.counts.missing and not refused:
            own |= {"events", "replicasets.apps"}
        if any(pod.reach is None and pod.state in _WAITING for pod in self.pods or ()):
            own.add("events")
        mine = (one for one in self.unread if one.may_exist and one.resource in own)
        return tuple(dict.fromkeys((*mine, *self.template.lacks)))
