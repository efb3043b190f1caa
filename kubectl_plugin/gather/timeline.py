"""Timelines of pods: reads owner, heartbeat, kubelet, volumes and budgets, and applies the rules."""

from __future__ import annotations

import contextlib
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
        gatherer, name, own = self._gatherer, pod.spec.node_name, owner_guarantee(pod)
        node = gatherer.noted(gatherer.get(NODES, name)) if name else None
        reach = gatherer.reach(name) if name else None
        answers, renewed = reach is None or not reach.reach.quiet, None
        kind, maker = _READ.get(own.guarantee), None
        if kind is not None:
            maker = gatherer.noted(gatherer.get(kind, own.name, pod.metadata.namespace))
        if not answers:
            with contextlib.suppress(ClusterError):
                renewed = read_renewed(name, gatherer.source)
        facts = TimelineFacts(
            pod=pod,
            owner=Ownership(own, maker),
            tolerations=pod.spec.tolerations,
            node=node,
            reach=reach,
            renewed=renewed,
            grace=MonitorGrace.of(gatherer.versions),
            # A kubelet on a silent node is not read: that would take the whole time-out.
            kubelet=read_or_none(gatherer.kubelet_config(name)) if name and answers and not pod.finished else None,
            guards=gatherer.guards(pod),
            budgets=gatherer.noted(gatherer.list(PDBS, pod.metadata.namespace)),
            asked_seconds=self._grace_period,
            at=gatherer.source.now,
            preemption_disabled=self._preemption_disabled,
        )
        return self._chosen(facts)

    def of_coming(self, pod: Pod, kind: Kind[Any], entry: Any) -> PodTimeline:
        """The timeline of a pod that does not exist yet, as if it ran, with its maker."""
        gatherer = self._gatherer
        spec = entry.spec.job_template.spec if isinstance(entry, CronJob) else getattr(entry, "spec", None)
        facts = TimelineFacts(
            pod=as_if_running(pod),
            owner=Ownership(owner_guarantee(pod), Workload(spec=spec) if isinstance(spec, WorkloadSpec) else None),
            tolerations=tolerations_of(pod, daemon=kind is DAEMON_SETS),
            grace=MonitorGrace.of(gatherer.versions),
            kubelet=gatherer.source.stated.kubelet,
            guards=gatherer.guards(pod),
            budgets=gatherer.noted(gatherer.list(PDBS, pod.metadata.namespace)),
            asked_seconds=self._grace_period,
            preemption_disabled=self._preemption_disabled,
        )
        return self._chosen(facts)

    def _chosen(self, facts: TimelineFacts) -> PodTimeline:
        """The whole timeline, or the requested way."""
        whole = pod_timeline(facts)
        if self._way == _ALL:
            return whole
        ways = tuple(entry for entry in whole.ways if entry.way.value == self._way)
        return replace(whole, ways=ways, began=ways[0].began)
