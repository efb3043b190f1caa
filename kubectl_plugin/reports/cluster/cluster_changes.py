"""The changes between two reports of a cluster: pods and nodes that are new, removed or different, and counts.

Data of only one report, such as usage that was not measured for the other, are not a change of the cluster.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final, TypeVar

from msgspec import Struct

from kubectl_plugin.reports.pod.pod_risk import PodRisk
from podrules.node.pressure.usage import Nearness, headroom_nearness

K = TypeVar("K")
V = TypeVar("V")
_HEADROOM_STEP: Final = 5
"""Percentage points: smaller changes of usage are normal."""
_OF_SPEC: Final = frozenset({PodRisk.BEST_EFFORT, PodRisk.NO_GRACE_PERIOD})
"""Problems that a pod has from the start: earlier releases do not report them, and they are not news."""
OF_USAGE: Final = frozenset({PodRisk.NEAR_LIMIT, PodRisk.OVER_REQUEST})
"""Problems that only a report with the pod's usage can have."""
_RISKS: Final = tuple(PodRisk)


class PodStanding(Struct, frozen=True, rename="camel"):
    """A pod in one of the two reports."""

    node: str
    status: str
    restarts: int
    created: str | None
    risk: PodRisk | None
    """The worst problem of the pod; None also for a problem that this release does not know."""
    usage_known: bool
    """Whether it is known if the pod uses more than it requests; also true for a pod without a node."""


class PodChange(Struct, frozen=True, rename="camel"):
    """A pod that is new, removed, replaced or different."""

    namespace: str
    name: str
    before: PodStanding | None
    """None: it did not exist."""
    after: PodStanding | None
    """None: it no longer exists."""

    @property
    def recreated(self) -> bool:
        """Whether another pod now has its name."""
        return self.before is not None and self.after is not None and self.before.created != self.after.created

    @property
    def new_restarts(self) -> int:
        """How often its containers restarted since then; a new pod starts at 0."""
        if self.after is None:
            return 0
        earlier = 0 if self.before is None or self.recreated else self.before.restarts
        return max(0, self.after.restarts - earlier)

    @property
    def risks(self) -> tuple[PodRisk | None, PodRisk | None]:
        """Its earlier and current problem, as far as both reports know; without risks of its spec.

        A pod near its limit, or over its request, hides less urgent problems, and only a report with its usage has
        this. If only one report has the usage, and the STATUS is the same, the two are taken to agree.
        """
        before, after = (None if one is None or one.risk in _OF_SPEC else one.risk for one in (self.before, self.after))
        if self.before is None or self.after is None or self.before.status != self.after.status:
            return before, after
        if self.before.usage_known == self.after.usage_known:
            return before, after
        of_usage, other = (before, after) if self.before.usage_known else (after, before)
        if of_usage in OF_USAGE and (other is None or _RISKS.index(other) > _RISKS.index(of_usage)):
            return other, other
        return before, after

    @property
    def differs(self) -> bool:
        """Whether the cluster changed, and not only the data about it."""
        if self.before is None or self.after is None:
            return True
        before, after = self.risks
        return (
            self.recreated
            or self.new_restarts > 0
            or (self.before.node, self.before.status, before) != (self.after.node, self.after.status, after)
        )


class NodeStanding(Struct, frozen=True, rename="camel"):
    """A node in one of the two reports."""

    ready: str | None
    down: bool
    unschedulable: bool
    cpu_requested: int
    """Percent of allocatable, rounded down."""
    memory_requested: int
    headroom: int | None
    """Percent of the capacity until the nearest eviction threshold; None: not measured."""
    usage_known: bool
    pressures: tuple[str, ...] = ()
    """Conditions such as MemoryPressure that are True."""

    @property
    def is_ready(self) -> bool:
        """Whether it answers and is Ready."""
        return self.ready == "True" and not self.down

    @property
    def without_usage(self) -> tuple[object, ...]:
        """The fields that are compared even without measured usage."""
        requested = self.cpu_requested, self.memory_requested
        return self.down, self.is_ready, self.unschedulable, *requested, frozenset(self.pressures)

    @property
    def nearness(self) -> Nearness | None:
        """How close it is to an eviction; None: not measured."""
        return None if self.headroom is None else headroom_nearness(self.headroom, met=self.headroom < 0)


class NodeChange(Struct, frozen=True, rename="camel"):
    """A node that is new, removed or different."""

    name: str
    before: NodeStanding | None
    after: NodeStanding | None

    @property
    def headroom_moved(self) -> bool:
        """Whether its headroom changed by more than usual, or its nearness to an eviction changed."""
        before, after = self.before, self.after
        if before is None or after is None or before.headroom is None or after.headroom is None:
            return False
        return abs(before.headroom - after.headroom) >= _HEADROOM_STEP or before.nearness is not after.nearness

    @property
    def differs(self) -> bool:
        """Whether the node changed, and not only the data about it."""
        if self.before is None or self.after is None:
            return True
        return self.headroom_moved or self.before.without_usage != self.after.without_usage

    @property
    def usage_known(self) -> tuple[bool, bool] | None:
        """Whether its usage was known and is known; None: it is not Ready in both reports, so none is expected."""
        before, after = self.before, self.after
        if before is None or after is None or not (before.is_ready and after.is_ready):
            return None
        return before.usage_known, after.usage_known


class Tally(Struct, frozen=True, rename="camel"):
    """Counts of one report."""

    nodes: int
    nodes_ready: int
    """They answer, are Ready and not cordoned."""
    nodes_cordoned: int
    """Cordoned nodes that are otherwise Ready."""
    nodes_measured: int
    """Nodes with known usage."""
    pods: int
    pods_by_risk: dict[str, int]
    """Each pod once, by its worst problem; pods without a problem are not counted."""
    restarts: int


class OtherCluster(Enum):
    """Why an earlier report seems to be of another cluster."""

    SERVER = "server"
    CONTEXT = "context"
    OBJECTS = "objects"
    """No node and no pod is in both."""


class ClusterChanges(Struct, frozen=True, rename="camel", kw_only=True):
    """All changes since an earlier report."""

    since: datetime | None
    """The time of the earlier report."""
    earlier_source: str
    earlier_context: str | None
    earlier_server: str | None
    other_cluster: OtherCluster | None
    """None: no sign that the earlier report is of another cluster."""
    usage_learned: tuple[str, ...]
    """Nodes that are Ready in both, with known usage only now: values that depend on it are not compared."""
    usage_lost: tuple[str, ...]
    """The same for usage that was known only then."""
    before: Tally
    after: Tally
    nodes: tuple[NodeChange, ...]
    """By name; normal fluctuation, and data of only one report, are not a change."""
    pods: tuple[PodChange, ...]
    """By namespace and name, with the same exceptions."""
