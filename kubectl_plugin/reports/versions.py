"""The versions of a cluster, and what changes with another one, as data."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from podrules.pod.reading import Unread
from podrules.pod.versions import Component, VersionNote
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.upgrade.version_changes import PodChange

__all__ = [
    "MAX_PLACED",
    "ChangedOrder",
    "ChangedPlacement",
    "ChangedPods",
    "ChangedRule",
    "Choice",
    "NotCompared",
    "RunningVersion",
    "VersionsReport",
]


MAX_PLACED: Final = 300
"""Pods that both schedulers place, each on every node."""


class RunningVersion(Struct, frozen=True, rename="camel"):
    """A version that runs."""

    component: Component
    version: str
    """As it says itself, ``A or B`` where nobody knows which one leads; empty: it does not say."""
    emulates: str
    """The version whose defaults of gates it has: ``1.36``; empty: its own."""
    nodes: int
    """Of kubelets: how many run it; else 0."""
    rules: str
    """The upstream version whose code the rules were held against that are used for it."""


class ChangedRule(Struct, frozen=True, rename="camel"):
    """A rule that differs between the two versions."""

    since: str
    """``1.37``"""
    rule: str
    effect: str
    gate: str
    """The feature gate that turns it off; empty: none does."""


class ChangedPods(Struct, frozen=True, rename="camel"):
    """Pods of one owner with the same changes."""

    namespace: str
    kind: str
    """Of their controller; ``Pod`` where they have none."""
    name: str
    pods: int
    example: str
    """One of them."""
    changes: tuple[PodChange, ...]


class ChangedOrder(Struct, frozen=True, rename="camel"):
    """A node whose memory, when it runs short, is taken from others first."""

    node: str
    order: Literal["OOM", "Eviction"]
    before: tuple[str, ...]
    """``namespace/pod``, the first to go first; for OOM with the container."""
    after: tuple[str, ...]


class Choice(Struct, frozen=True, rename="camel"):
    """What the scheduler of one version does with a pod."""

    outcome: PlacementOutcome
    best: tuple[str, ...]
    """The nodes of which it takes one."""
    feasible: int
    """Nodes that fit."""
    message: str
    """Why there is none; empty: there is."""

    def differs_from(self, other: Choice) -> bool:
        """Whether the pod goes elsewhere, or its event says something else; how many nodes fit is no difference."""
        return (self.outcome, self.best, self.message) != (other.outcome, other.best, other.message)


class NotCompared(Struct, frozen=True, rename="camel"):
    """Pods whose placements were not compared."""

    reason: str
    pods: int


class ChangedPlacement(Struct, frozen=True, rename="camel"):
    """A pod that is placed otherwise."""

    namespace: str
    pod: str
    waits: bool
    """Whether it waits for a node now; else it stands for the next pod like it."""
    before: Choice
    after: Choice


class VersionsReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="VersionComparison"):
    """Which versions run, and what changes with another one."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    scope: str
    """A namespace; empty: all."""
    server_version: str | None
    running: tuple[RunningVersion, ...]
    to: str | None
    """None: it was not asked for, and the rest is empty."""
    rules: tuple[ChangedRule, ...] = ()
    pods: int = 0
    """Pods that were compared."""
    changed: tuple[ChangedPods, ...] = ()
    orders: tuple[ChangedOrder, ...] = ()
    placed: int = 0
    """Pods that both schedulers placed: those that wait, and one of each controller."""
    not_placed: int = 0
    """More of those, which were left out: they are too many."""
    not_compared: tuple[NotCompared, ...] = ()
    """Others, of which the rules do not tell where they go."""
    placements: tuple[ChangedPlacement, ...] = ()
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster that the rules were not held against."""
    unread: tuple[Unread, ...] = ()

    @property
    def lacks(self) -> tuple[Unread, ...]:
        """What could not be read and may change the headline: without it some placements were not compared."""
        usage = {"nodes.metrics.k8s.io", "pods.metrics.k8s.io", "nodes/proxy"}
        return tuple(one for one in self.unread if self.to and one.may_exist and one.resource not in usage)

    @property
    def pods_changed(self) -> int:
        """Pods of which some value changes."""
        return sum(entry.pods for entry in self.changed)
