"""A what-if placement of several pods, as data."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.pod.pod_report import RefusedField
from podrules.placement.planned import Budgets, DrainFlag, PlannedSpec, Unmoved
from podrules.reading import Unread
from podrules.versions import VersionNote

__all__ = ["PlanReport", "RefusedSpec", "WhatIf"]

_WITHOUT_PLACE: Final = frozenset({"PodDisruptionBudget", "NoController", "NodeSilent"})
"""Pods that a drain was to move, and that nobody makes elsewhere."""


class WhatIf(Struct, frozen=True, rename="camel"):
    """The assumed changes of the cluster."""

    excluded_nodes: tuple[str, ...]
    added_nodes: tuple[str, ...]
    without_pods: tuple[str, ...]
    drained: str
    """The node; empty: none."""


class RefusedSpec(Struct, frozen=True, rename="camel"):
    """A spec that was not placed."""

    name: str
    namespace: str
    reason: str
    by_api_server: bool = False
    """Whether the API server refuses its manifest, whatever the cluster is like."""
    file: str = ""
    """In which the manifest stands; empty: in none, or that is not known."""
    refusals: tuple[RefusedField, ...] = ()
    """The fields for which the API server refuses the manifest."""


class PlanReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="PlacementPlan"):
    """Where pods would go, one after the other."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    rules_version: str
    """The upstream version whose code these rules were held against: the scheduler's, or the nearest."""
    server_version: str | None
    verified: bool
    """False: the scheduler is of none of the versions that the rules were held against."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster that the rules were not held against, without kubelets."""
    what_if: WhatIf
    nodes: int
    """With what was added and without what was excluded."""
    preemption: bool
    specs: tuple[PlannedSpec, ...]
    """In the order in which the scheduler would take them."""
    refused: tuple[RefusedSpec, ...]
    """Specs that the API server would refuse, or that have no known scheduler."""
    budgets: Budgets
    """PodDisruptionBudgets that select pods to come."""
    unmoved: tuple[Unmoved, ...]
    """Pods of a drained node that stay, or of which nobody makes another."""
    stuck: int
    """Pods of a drained node that stay Terminating, for it does not answer."""
    silent: tuple[str, ...]
    """Nodes that take pods and do not answer: nothing starts there."""
    flags: tuple[DrainFlag, ...]
    """Those of kubectl drain without which it evicts nobody."""
    unread: tuple[Unread, ...]

    @property
    def asked(self) -> tuple[PlannedSpec, ...]:
        """The specs that were asked for, without pods that are pending already."""
        return tuple(spec for spec in self.specs if spec.origin != "pending")

    @property
    def everything_fits(self) -> bool:
        """Whether all that was asked for has a place, and its controller makes it now."""
        short = any(
            (spec.wanted is not None and spec.placed < spec.wanted) or spec.awaited is not None
            for spec in self.asked
            if spec.origin != "autoscaler"
        )
        homeless = any(entry.reason in _WITHOUT_PLACE for entry in self.unmoved)
        return not (short or homeless or self.silent or self.stuck or self.refused)
