"""A pod and a cluster to which a plugin's candidate changes are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.pod_reference import on_its_node
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import CandidateChange, ChangeKind
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.framework.planned_pods import is_planned

_FEW: Final = 3
"""Pods that may be named as being in the way."""
MEANT: Final = -1
"""The extra cost of an intended restriction: any node that it opens counts."""
_HOSTNAME: Final = "kubernetes.io/hostname"
_ANOTHER: Final = "?"
"""No label has this value."""
_KIND_COSTS: Final = {kind: 10 * place for place, kind in enumerate(ChangeKind)}


class PodOnCluster(Struct, frozen=True):
    """A pod and the cluster that it is tried on, as both are or would be."""

    pod: Pod
    table: NodeTable
    snapshot: ClusterSnapshot

    def with_node(self, name: str, change: Callable[[Node], Node]) -> Self:
        """The same with one node changed."""
        node = self.table.nodes[self.table.index[name]]
        return replace(self, table=self.table.with_nodes({name: change(node)}))

    def with_another_node(self, name: str, change: Callable[[Node], Node]) -> Self:
        """The same with a node like one, changed and under another host name, in its place."""

        def another(node: Node) -> Node:
            labels = node.metadata.labels
            named = {**labels, _HOSTNAME: _ANOTHER} if _HOSTNAME in labels else labels
            return change(replace(node, metadata=replace(node.metadata, labels=named)))

        return self.with_node(name, another)

    def without_pods(self, pods: Iterable[Pod]) -> Self:
        """The same without some pods."""
        return replace(self, table=self.table.without_pods(frozenset(pod.metadata.uid for pod in pods)))

    def with_spec(self, **fields: Any) -> Self:
        """The same with fields of the pod's spec replaced."""
        return replace(self, pod=replace(self.pod, spec=replace(self.pod.spec, **fields)))


S = TypeVar("S", bound=PodOnCluster)


class AppliedChange(Struct, Generic[S], frozen=True):
    """A change, and the pod and cluster with it."""

    change: CandidateChange
    then: S
    extra_cost: int = 0
    """Above other changes of its kind; 10 are as much as from one kind to the next."""

    @property
    def cost(self) -> int:
        """Cheaper changes are tried first."""
        return _KIND_COSTS[self.change.kind] + self.extra_cost


def pods_removed(situation: S, row: int, pods: Iterable[Pod]) -> Iterator[AppliedChange[S]]:
    """The change that removes some pods; none where they are many, or where one of them does not exist yet."""
    chosen = list(pods)
    if 0 < len(chosen) <= _FEW and all(pod.metadata.uid and not is_planned(pod) for pod in chosen):
        node = situation.table.names[row]
        change = CandidateChange(ChangeKind.REMOVE_PODS, node=node, pods=tuple(map(on_its_node, chosen)))
        yield AppliedChange(change, situation.without_pods(chosen), len(chosen))
