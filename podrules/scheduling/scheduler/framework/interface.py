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

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Fact, Status
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.framework.pod_on_cluster import AppliedChange, S

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
        """Changes against its rejection of a row, each applied; the cycle runs again with each before it is shown.

        Args:
            situation: The pod and the cluster as they are.
            context: The cycle.
            state: What its PreFilter found.
            row: Of the table.
        """
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
