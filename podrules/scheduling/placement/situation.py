"""A pod and a cluster, as they are or as they would be, with all that a scheduling cycle needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from podrules.api.features import Features
from podrules.api.model.event import Event
from podrules.pod.reading import UnreadInput
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes
from podrules.scheduling.scheduler.framework.interface import PodOnCluster
from podrules.scheduling.scheduler.runtime import Framework
from podrules.workload.evictors import Evictor, going


class Situation(PodOnCluster, frozen=True):
    """A pod, the cluster, and the profile that schedules the pod."""

    framework: Framework
    now: datetime | None
    unread: tuple[UnreadInput, ...] = ()
    """The kinds that a cycle of the pod reads and that could not be read. The snapshot has none of them."""
    is_list: bool = False
    """Whether the objects are of a plain List, which may lack single objects of the kinds that it has."""

    waiting: int = 1
    """How many pods like this one wait for a node, this one included."""
    is_extra: bool = False
    """Whether the pod is one more than its workload wants: what a rollout stops makes no room for it."""
    node_events: Mapping[str, Sequence[Event]] = {}
    """By node, where one is cordoned: a program may have announced that it removes the node."""

    @property
    def may_lack_nodes(self) -> bool:
        """Whether a node may exist that is not in the table."""
        return self.is_list or any(one.resource == "nodes" for one in self.unread)

    @property
    def features(self) -> Features:
        """The rules of the scheduler's version."""
        return self.framework.features

    def going(self, row: int) -> Evictor | None:
        """The program that is about to remove or restart the node of a row."""
        node = self.table.nodes[row]
        return going(node, self.node_events.get(node.metadata.name, ()), self.now)

    def filtered(self) -> FilterResult:
        """Judge every node."""
        return filter_nodes(
            self.pod, self.table, self.snapshot, features=self.features, framework=self.framework, now=self.now
        )
