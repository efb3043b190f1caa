"""The extension points of a plugin; each judges all nodes at once.

    PreEnqueue   whether the pod may enter the queue at all
    PreFilter    facts about the pod and the cluster; may narrow the nodes, reject the pod, or skip Filter
    Filter       a verdict for each node
    PreScore     facts about the feasible nodes; may skip Score
    Score        0 to 100 for each feasible node, normalised, before the weight

A plugin is a class without state of its own; what PreFilter and PreScore find out is handed to Filter and Score.
Results carry codes in arrays and word a node's reasons only when they are asked for.

Source: k8s.io/kube-scheduler/framework/interface.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.base import Model
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, on_its_node
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, CandidateChange, ChangeKind, Code, Fact, Status
from podrules.scheduling.scheduler.framework.node_table import Nodes, NodeTable

_PLANNED: Final = "planned/"
"""No uid of the API server begins so."""


def planned_uid(place: int, number: int) -> str:
    """The uid of a pod that a what-if places: the place of its spec among all that are placed, and its number there."""
    return f"{_PLANNED}{place}/{number}"


def is_planned(pod: Pod) -> bool:
    """Whether a what-if has placed a pod: it cannot be evicted, and room is made for it."""
    return pod.metadata.uid.startswith(_PLANNED)


# A pod and a cluster to which a plugin's candidate changes are applied.

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


MAX_NODE_SCORE: Final = 100


class CycleContext(Struct, frozen=True):
    """One scheduling cycle: the pod, the cluster, and the plugins' arguments."""

    pod: Pod
    table: NodeTable
    snapshot: ClusterSnapshot
    """The rest of the cluster: Services, claims, volumes; its nodes and pods are in the table."""
    features: Features
    args: Mapping[str, Any]
    """Arguments by plugin name, typed by each plugin; a plugin without one has its defaults."""
    states: dict[str, Any]
    """What each plugin's PreFilter found, by plugin name (CycleState): for Score, which may read its own."""
    now: datetime | None = None
    """The present; None: not known, and what depends on it is not either."""


class PreFilterResult(Struct, frozen=True):
    """What PreFilter found."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    """The only nodes that can be; None: all."""
    state: Any = None
    """For Filter and Score of the same plugin."""


class Verdicts(Struct, frozen=True):
    """A plugin's verdict on every node of the table."""

    codes: NDArray[np.int8]
    """`Code` for each row; 0 fits."""
    reasons: Callable[[int], tuple[str, ...]]
    """A rejected row's reasons in upstream's words."""


class PreScoreResult(Struct, frozen=True):
    """What PreScore found."""

    status: Status = SUCCESS
    state: Any = None
    """For Score of the same plugin."""


class WithoutState(Enum):
    """What Filter does where a profile disables its PreFilter alone, or Score where it disables its PreScore."""

    NOT_NEEDED = auto()
    """The same as with it."""
    COMPUTED = auto()
    """It computes the state on the spot."""


class NamedPlugin(Protocol):
    """The common part of all plugins; each protocol below is one extension point."""

    @property
    def name(self) -> str:
        """Upstream's name."""
        ...


@runtime_checkable
class ConfiguredPlugin(NamedPlugin, Protocol):
    """Takes arguments."""

    @property
    def args_type(self) -> type[Model]:
        """How its ``pluginConfig`` is read."""
        ...


@runtime_checkable
class GatedPlugin(NamedPlugin, Protocol):
    """Does nothing while a feature gate is off."""

    @property
    def gate(self) -> str:
        """The field of `Features`."""
        ...


@runtime_checkable
class PreEnqueuePlugin(NamedPlugin, Protocol):
    """Holds a pod back before it is queued."""

    def pre_enqueue(self, pod: Pod, snapshot: ClusterSnapshot, features: Features) -> Status:
        """Success, or why the pod waits."""
        ...


@runtime_checkable
class PreFilterPlugin(NamedPlugin, Protocol):
    """Reads the pod and the cluster once for all nodes."""

    @property
    def without_pre_filter(self) -> WithoutState | str:
        """For its Filter; a text: Filter fails with it."""
        ...

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """The state for `FilterPlugin.filter`, the nodes that can be, or why none can."""
        ...


@runtime_checkable
class FilterPlugin(NamedPlugin, Protocol):
    """Judges nodes."""

    def filter(self, context: CycleContext, state: Any) -> Verdicts:
        """A verdict for each row of the context's table; ``state`` is None without PreFilter."""
        ...


@runtime_checkable
class ExplainedPlugin(FilterPlugin, Protocol):
    """Can give the numbers behind its rejections."""

    @property
    def fact_types(self) -> tuple[type[Fact], ...]:
        """The kinds of facts that it gives."""
        ...

    def facts(self, context: CycleContext, state: Any, row: int) -> Iterable[Fact]:
        """The facts behind its rejection of a row; ``state`` is PreFilter's."""
        ...


@runtime_checkable
class ChangingPlugin(FilterPlugin, Protocol):
    """Can propose changes that would take its rejections away."""

    def changes(self, situation: S, context: CycleContext, state: Any, row: int) -> Iterable[AppliedChange[S]]:
        """Changes against its rejection of a row, each applied; the cycle runs again with each before it is shown."""
        ...


@runtime_checkable
class PreScorePlugin(NamedPlugin, Protocol):
    """Reads the feasible nodes once before they are scored."""

    @property
    def without_pre_score(self) -> WithoutState | str:
        """For its Score; a text: Score fails with it."""
        ...

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:
        """The state for `ScorePlugin.score`, or Skip."""
        ...


@runtime_checkable
class ScorePlugin(NamedPlugin, Protocol):
    """Ranks feasible nodes."""

    def score(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """Normalised scores of the feasible rows, in their order; ``state`` is None without PreScore."""
        ...


@runtime_checkable
class NormalizingPlugin(ScorePlugin, Protocol):
    """Brings scores of its own to 0 to 100 (NormalizeScore)."""

    formula: str
    """How, with the words ``raw``, ``most`` and ``least``; the result is cut to a whole number."""

    def raw_scores(self, context: CycleContext, state: Any, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """The scores of the feasible rows before that."""
        ...


@runtime_checkable
class ScoreByPreFilterPlugin(ScorePlugin, Protocol):
    """Scores by what its PreFilter found, and has no PreScore."""

    @property
    def score_without_pre_filter(self) -> str:
        """Score fails with it in a profile without its PreFilter."""
        ...


def is_off(plugin: NamedPlugin, features: Features) -> bool:
    """Whether a gate disables a plugin."""
    return isinstance(plugin, GatedPlugin) and not getattr(features, plugin.gate)


def all_fit(table: NodeTable) -> Verdicts:
    """Every node fits."""
    return Verdicts(np.full(len(table), Code.SUCCESS, np.int8), lambda _: ())


def nominated_rows(context: CycleContext) -> Mapping[int, Sequence[Pod]]:
    """Rows with pods that were nominated to them and that this pod must yield to."""
    own = context.pod
    by_row: dict[int, list[Pod]] = {}
    for row, pod in context.table.nodes.derived_with(context.snapshot, _nominated):
        if pod.metadata.uid != own.metadata.uid and (pod.spec.priority or 0) >= (own.spec.priority or 0):
            by_row.setdefault(row, []).append(pod)
    return by_row


def _nominated(nodes: Nodes, snapshot: ClusterSnapshot) -> Sequence[tuple[int, Pod]]:
    """All pods that wait for a node and are nominated to one, with its row."""
    waiting = (pod for pod in snapshot.pods if not pod.spec.node_name)
    named = ((nodes.rows.get(pod.status.nominated_node_name), pod) for pod in waiting)
    return [(row, pod) for row, pod in named if row is not None]


# One node while preemption removes and adds pods there.
#
# A plugin that depends on the node's pods gives its verdict again after each change (`PodFilterPlugin`), from what
# PreFilter found about the whole cluster; it does not examine the other nodes again. All other plugins' verdicts stay.


class OnNode(Protocol):
    """A plugin's state of one node; it never changes: other pods make another one."""

    def add_pod(self, pod: Pod) -> OnNode:
        """With one pod more on the node (AddPod); the same object, if that makes no difference."""
        ...

    def remove_pod(self, pod: Pod) -> OnNode:
        """With one pod less on the node (RemovePod); the same object, if that makes no difference."""
        ...

    def status(self) -> Status:
        """The plugin's verdict, with upstream's reasons (Filter)."""
        ...


@runtime_checkable
class PodFilterPlugin(FilterPlugin, Protocol):
    """A plugin with a verdict that depends on the pods of the node."""

    def on_node(self, context: CycleContext, state: Any, row: int, pods: Sequence[Pod]) -> OnNode:
        """A row's node as it is, with the pods that the table has on it; ``state`` is PreFilter's."""
        ...
