"""The report of a workload: its template as a future pod, and its pods."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.workload.ordinals import MissingPods
from kubectl_plugin.reports.workload.rollout import Rollout, Schedule
from kubectl_plugin.reports.workload.workload_pods import JobProgress, PodCounts, WorkloadPod
from podrules.ending.pod_state import PodState
from podrules.pod.reading import UnreadInput
from podrules.scheduling.skew import WorkloadSpread

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
