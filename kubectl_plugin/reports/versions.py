"""The versions of a cluster, and the changes with another version, as data."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import Component, VersionNote
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.upgrade.version_changes import VersionChange

MAX_PLACED: Final = 300
"""Pods that both schedulers place, each on every node."""


class RunningVersion(Struct, frozen=True, rename="camel"):
    """A version that runs."""

    component: Component
    version: str
    """The version that the component reports; ``A or B`` if the leader is unknown; empty: not reported."""
    emulates: str
    """The version that determines its default gates: ``1.36``; empty: its own."""
    nodes: int
    """For kubelets: how many run it; else 0."""
    rules: str
    """The upstream version for which the rules in use were verified."""


class ChangedRule(Struct, frozen=True, rename="camel"):
    """A rule that differs between the two versions."""

    since: str
    """``1.37``"""
    rule: str
    effect: str
    gate: str
    """The feature gate that disables it; empty: none does."""


class ChangedPods(Struct, frozen=True, rename="camel"):
    """Pods of one owner with the same changes."""

    namespace: str
    kind: str
    """The kind of their controller; ``Pod`` if they have none."""
    name: str
    pods: int
    example: str
    """One of them."""
    changes: tuple[VersionChange, ...]


class ChangedOrder(Struct, frozen=True, rename="camel"):
    """A node on which the order of kills or evictions changes when memory runs short."""

    node: str
    order: Literal["OOM", "Eviction"]
    before: tuple[str, ...]
    """``namespace/pod``, in order; for OOM with the container."""
    after: tuple[str, ...]


class Choice(Struct, frozen=True, rename="camel"):
    """The placement of a pod by the scheduler of one version."""

    outcome: PlacementOutcome
    best: tuple[str, ...]
    """The nodes among which it chooses."""
    feasible: int
    """How many nodes fit."""
    message: str
    """Why there is no placement; empty: there is one."""

    def differs_from(self, other: Choice) -> bool:
        """Whether the pod is placed elsewhere, or its event differs; the number of nodes that fit does not count."""
        return (self.outcome, self.best, self.message) != (other.outcome, other.best, other.message)


class UncomparedPods(Struct, frozen=True, rename="camel"):
    """Pods without a comparison of their placements."""

    reason: str
    pods: int


class ChangedPlacement(Struct, frozen=True, rename="camel"):
    """A pod with a different placement."""

    namespace: str
    pod: str
    waits: bool
    """Whether it waits for a node now; else it represents the next pod like it."""
    before: Choice
    after: Choice


class VersionsReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="VersionComparison"):
    """The running versions, and the changes with another version."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    scope: str
    """A namespace; empty: all."""
    server_version: str | None
    running: tuple[RunningVersion, ...]
    to: str | None
    """None: not requested, and the rest is empty."""
    rules: tuple[ChangedRule, ...] = ()
    pods: int = 0
    """Pods that were compared."""
    changed: tuple[ChangedPods, ...] = ()
    orders: tuple[ChangedOrder, ...] = ()
    placed: int = 0
    """Pods that both schedulers placed: those that wait, and one of each controller."""
    not_placed: int = 0
    """How many more of those were omitted, because they are too many."""
    not_compared: tuple[UncomparedPods, ...] = ()
    """Other pods, for which the rules do not determine the node."""
    placements: tuple[ChangedPlacement, ...] = ()
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster for which the rules were not verified."""
    unread: tuple[UnreadInput, ...] = ()

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline: without them, some placements were not compared."""
        usage = {"nodes.metrics.k8s.io", "pods.metrics.k8s.io", "nodes/proxy"}
        return tuple(one for one in self.unread if self.to and one.may_exist and one.resource not in usage)

    @property
    def pods_changed(self) -> int:
        """How many pods have changed values."""
        return sum(entry.pods for entry in self.changed)
