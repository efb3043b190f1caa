"""The facts from which the report of a cluster is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from cluster_io.origin import UNKNOWN_ORIGIN, Origin
from kubectl_plugin.reports.cluster.cluster_entries import PodKey, WorkloadKey
from kubectl_plugin.reports.end_report import EndedPod
from kubectl_plugin.reports.node.node_report import PartitionsReport
from podrules.api.model.event import Event
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget, PriorityClass
from podrules.api.model.workload import Workload
from podrules.ending.died.memory import OomKill
from podrules.ending.stuck import Stuck
from podrules.ending.volumes import SecondWriters
from podrules.node.pressure.usage import ReadUsage
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import Versions
from podrules.scheduling.placement.outcome import ClaimProblem, PlacementOutcome


class ClusterFacts(Struct, frozen=True, kw_only=True):
    """The data that were read from a cluster."""

    source: str
    origin: Origin = UNKNOWN_ORIGIN
    scope: str = ""
    at: datetime | None
    at_is_newest: bool = False
    """See `ClusterReport.at_is_newest`."""
    nodes: Sequence[Node]
    """All of the cluster; empty if they could not be read."""
    pods: Sequence[Pod]
    """All that could be read."""
    listed_nodes: frozenset[str] | None = None
    """Names of the nodes in the report; None: all."""
    listed_pods: frozenset[PodKey] | None = None
    """The same for pods."""
    classes: Sequence[PriorityClass] | None
    budgets: Sequence[PodDisruptionBudget] | None
    owners: Mapping[tuple[str, str, str], tuple[str, str]] = {}
    """Kind and name of a controller's owner, by the controller's namespace, kind and name."""
    workloads: Mapping[WorkloadKey, Workload] | None = None
    """Workloads without a controller of their own; None: the report has no workloads."""
    refusals: Mapping[WorkloadKey, str] = {}
    """The newest event of each workload that could not create a pod."""
    writers: Mapping[WorkloadKey, SecondWriters] = {}
    """The Deployments with a rollout that starts a second writer."""
    usages: Mapping[str, ReadUsage] = {}
    awaited: frozenset[PodKey] = frozenset()
    """Pending pods for which preemption is making room."""
    stuck: Mapping[PodKey, Stuck] = {}
    """The warnings that have repeated for long about pods that do not start or end."""
    preemption_disabled: bool = False
    """Whether no profile of the scheduler preempts."""
    outcomes: Mapping[PodKey, PlacementOutcome] = {}
    """The scheduler's current result, by the rules, for pods that wait for a node; others count by its last message."""
    claims: Mapping[PodKey, ClaimProblem] = {}
    """The claim that a pod waits for, although it has a node or one is chosen for it."""
    partitions: PartitionsReport | None
    shortages: Mapping[str, OomKill] = {}
    """See `NodeEntry.shortage`, by the node's name."""
    ended: tuple[EndedPod, ...] | None = None
    """See `ClusterReport.ended`."""
    node_events: Mapping[str, Sequence[Event]] = {}
    """By the node's name; empty if they could not be read."""
    versions: Versions
    unread: tuple[UnreadInput, ...]

    def owner(self, namespace: str, kind: str, name: str) -> tuple[str, str]:
        """Kind and name of the owner to show for a controller: for a ReplicaSet its Deployment."""
        return self.owners.get((namespace, kind, name), (kind, name))


def pod_key(pod: Pod) -> PodKey:
    """Namespace and name."""
    return pod.metadata.namespace, pod.metadata.name
