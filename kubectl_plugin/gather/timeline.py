"""Timelines of pods: reads owner, heartbeat, kubelet, volumes and budgets, and applies the rules."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from cluster_io.errors import ClusterError
from cluster_io.force_delete_objects import read_renewed
from cluster_io.kinds import DAEMON_SETS, JOBS, NODES, PDBS, Kind
from kubectl_plugin.reports.pod.pod_report import as_if_running
from podrules.api.model.pod import Pod
from podrules.api.model.workload import CronJob, Workload, WorkloadSpec
from podrules.ending.timeline.aftermath import Ownership
from podrules.ending.timeline.events import PodTimeline
from podrules.ending.timeline.lost import tolerations_of
from podrules.ending.timeline.of_pod import TimelineFacts, pod_timeline
from podrules.ending.volumes import WriterGuard
from podrules.node.lost_node import MonitorGrace
from podrules.pod.reading import read_or_none
from podrules.workload.safety import Guarantee, owner_guarantee

if TYPE_CHECKING:
    from cluster_io.gather import Gatherer

_READ: Final[dict[Guarantee, Kind[Any]]] = {
    Guarantee.ONE_PER_NODE: DAEMON_SETS,
    Guarantee.RUNS_TO_COMPLETION: JOBS,
}
"""Controllers with fields that decide when another pod is created."""
_ALL: Final = "all"


class Timelines:
    """Makes timelines. The gatherer reads each object once."""

    def __init__(
        self, gatherer: Gatherer, way: str, *, grace_period: int | None = None, preemption_disabled: bool = False
    ) -> None:
        """Read nothing yet; ``way`` is the only requested one, or ``all``."""
        self._gatherer = gatherer
        self._way = way
        self._grace_period = grace_period
        self._preemption_disabled = preemption_disabled

    def of_stored(self, pod: Pod) -> PodTimeline:
        """The timeline of a pod of the cluster."""
        return self._chosen(self._stored(pod))

    def of_coming(self, pod: Pod, kind: Kind[Any], entry: Any) -> PodTimeline:
        """The timeline of a pod that does not exist yet, as if it ran, with its maker."""
        return self._chosen(self._coming(pod, kind, entry))

    def _chosen(self, facts: TimelineFacts) -> PodTimeline:
        whole = pod_timeline(facts)
        if self._way == _ALL:
            return whole
        ways = tuple(entry for entry in whole.ways if entry.way.value == self._way)
        return replace(whole, ways=ways, began=ways[0].began)

    def _stored(self, pod: Pod) -> TimelineFacts:
        name = pod.spec.node_name
        node = self._gatherer.noted(self._gatherer.get(NODES, name)) if name else None
        reach = self._gatherer.reach(name) if name else None
        answers = reach is None or not reach.reach.quiet
        return TimelineFacts(
            pod=pod,
            owner=self._owner(pod),
            tolerations=pod.spec.tolerations,
            node=node,
            reach=reach,
            renewed=None if answers else self._renewed(name),
            grace=MonitorGrace.of(self._gatherer.versions),
            # A kubelet on a silent node is not read: that would take the whole time-out.
            kubelet=read_or_none(self._gatherer.kubelet_config(name))
            if name and answers and not pod.finished
            else None,
            guards=self._guards(pod),
            budgets=self._gatherer.noted(self._gatherer.list(PDBS, pod.metadata.namespace)),
            asked_seconds=self._grace_period,
            at=self._gatherer.source.now,
            preemption_disabled=self._preemption_disabled,
        )

    def _coming(self, pod: Pod, kind: Kind[Any], entry: Any) -> TimelineFacts:
        spec = entry.spec.job_template.spec if isinstance(entry, CronJob) else getattr(entry, "spec", None)
        return TimelineFacts(
            pod=as_if_running(pod),
            owner=Ownership(owner_guarantee(pod), Workload(spec=spec) if isinstance(spec, WorkloadSpec) else None),
            tolerations=tolerations_of(pod, daemon=kind is DAEMON_SETS),
            grace=MonitorGrace.of(self._gatherer.versions),
            kubelet=self._gatherer.source.stated.kubelet,
            guards=self._guards(pod),
            budgets=self._gatherer.noted(self._gatherer.list(PDBS, pod.metadata.namespace)),
            asked_seconds=self._grace_period,
            preemption_disabled=self._preemption_disabled,
        )

    def _owner(self, pod: Pod) -> Ownership:
        own = owner_guarantee(pod)
        kind = _READ.get(own.guarantee)
        if kind is None:
            return Ownership(own)
        return Ownership(own, self._gatherer.noted(self._gatherer.get(kind, own.name, pod.metadata.namespace)))

    def _renewed(self, name: str) -> datetime | None:
        try:
            return read_renewed(name, self._gatherer.source)
        except ClusterError:
            return None

    def _guards(self, pod: Pod) -> tuple[WriterGuard, ...]:
        return self._gatherer.guards(pod)
