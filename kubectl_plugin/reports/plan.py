"""A what-if placement of several pods, as data."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.pod.own_webhook import OwnWebhookReport
from kubectl_plugin.reports.pod.pod_report import (
    ADMISSION,
    LIMIT_RANGES,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    RefusedField,
)
from podrules.placement.planned import Budgets, DrainFlag, PlannedSpec, Unmoved
from podrules.reading import Unread
from podrules.versions import VersionNote

__all__ = ["PlanReport", "RefusedSpec", "WebhookOfSpec", "WhatIf"]

_DRAINED: Final = frozenset({"poddisruptionbudgets.policy", "pods"})
"""Kinds by which a drain takes its course."""
_MADE: Final = frozenset({"manifest", "more", "autoscaler"})
"""The origins of pods that the API server is yet to admit."""
_WITHOUT_PLACE: Final = frozenset({"PodDisruptionBudget", "NoController", "NodeSilent", "Overdue"})
"""Pods that a drain was to move, and that nobody makes elsewhere."""


class WhatIf(Struct, frozen=True, rename="camel"):
    """The assumed changes of the cluster."""

    excluded_nodes: tuple[str, ...]
    added_nodes: tuple[str, ...]
    without_pods: tuple[str, ...]
    drained: str
    """The nodes, with commas between them; empty: none."""
    drained_nodes: tuple[str, ...] = ()
    """In the order in which they are drained."""
    one_by_one: bool = False
    """Whether each drained node is back before the next one is cordoned."""


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
    unknown: bool = False
    """Whether it may have a place all the same: its scheduler is not restated here, or a LimitRange was not read."""


class WebhookOfSpec(Struct, frozen=True, rename="camel"):
    """What the webhook of kubectl qos does with the pods of a spec."""

    spec: str
    namespace: str
    does: OwnWebhookReport


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
    """The versions of this cluster that the rules were not held against; of kubelets, where pods go or leave."""
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
    """How many pods of drained nodes stay Terminating, for these do not answer."""
    silent: tuple[str, ...]
    """Nodes that take pods and do not answer: nothing starts there."""
    flags: tuple[DrainFlag, ...]
    """Those of kubectl drain without which it evicts nobody."""
    unread: tuple[Unread, ...]
    stuck_on: tuple[str, ...] = ()
    """The drained nodes that do not answer, and on which pods stay Terminating."""
