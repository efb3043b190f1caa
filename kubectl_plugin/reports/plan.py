"""A what-if placement of several pods, as data."""

from __future__ import annotations

from itertools import takewhile
from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.pod.admission import OwnWebhookReport
from kubectl_plugin.reports.pod.pod_report import (
    ADMISSION,
    LIMIT_RANGES,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    RefusedField,
)
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import VersionNote
from podrules.scheduling.placement.planned import Budgets, DrainFlag, PlannedSpec, UnmovedPod

_DRAINED: Final = frozenset({"poddisruptionbudgets.policy", "pods"})
"""The kinds of objects that affect a drain."""
_MADE: Final = frozenset({"manifest", "more", "autoscaler"})
"""The origins of pods that the API server has not admitted yet."""
_WITHOUT_PLACE: Final = frozenset({"PodDisruptionBudget", "NoController", "NodeSilent", "Overdue"})
"""Reasons for which a pod of a drained node is not recreated elsewhere."""


class WhatIf(Struct, frozen=True, rename="camel"):
    """The assumed changes of the cluster."""

    excluded_nodes: tuple[str, ...]
    added_nodes: tuple[str, ...]
    without_pods: tuple[str, ...]
    drained: str
    """The nodes, with commas between them; empty: none."""
    drained_nodes: tuple[str, ...] = ()
    """The drained nodes, in order."""
    one_by_one: bool = False
    """Whether each drained node is back before the next one is cordoned."""


class RefusedSpec(Struct, frozen=True, rename="camel"):
    """A spec that was not placed."""

    name: str
    namespace: str
    reason: str
    by_api_server: bool = False
    """Whether the API server refuses its manifest in any cluster."""
    file: str = ""
    """The file of the manifest; empty: none, or unknown."""
    refusals: tuple[RefusedField, ...] = ()
    """The fields for which the API server refuses the manifest."""
    unknown: bool = False
    """Whether it may still have a place: its scheduler is not modelled here, or a LimitRange was not read."""


class PlanReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="PlacementPlan"):
    """Where pods would be placed, one after the other."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    rules_version: str
    """The upstream version for which these rules were verified: the scheduler's, or the nearest."""
    server_version: str | None
    verified: bool
    """False: the scheduler has none of the versions for which the rules were verified."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions of this cluster for which the rules were not verified; of kubelets, where pods go or leave."""
    what_if: WhatIf
    nodes: int
    """The nodes, including added ones and without excluded ones."""
    preemption: bool
    specs: tuple[PlannedSpec, ...]
    """The placements, in the scheduler's order."""
    refused: tuple[RefusedSpec, ...]
    """Specs that the API server would refuse, or without a known scheduler."""
    budgets: Budgets
    """PodDisruptionBudgets that select future pods."""
    unmoved: tuple[UnmovedPod, ...]
    """Pods of a drained node that stay, or that no controller recreates."""
    stuck: int
    """How many pods of drained nodes stay Terminating because the nodes do not answer."""
    silent: tuple[str, ...]
    """Nodes that take pods but do not answer: no pod starts there."""
    flags: tuple[DrainFlag, ...]
    """The flags without which kubectl drain evicts no pod."""
    unread: tuple[UnreadInput, ...]
    webhook: tuple[OwnWebhookReport, ...] = ()
    """The effects of the webhook of kubectl qos on the pods of specs."""
    stuck_on: tuple[str, ...] = ()
    """The drained nodes that do not answer and on which pods stay Terminating, or would without a budget."""
    kept: dict[str, tuple[str, ...]] = {}
    """Pods that leave a drained node, as ``namespace/name``, with the finalizers that keep them: the drain waits."""
    slow: dict[str, int] = {}
    """Pods that leave a drained node and may take more than 5 min to stop, with their grace period in seconds."""

    @property
    def asked(self) -> tuple[PlannedSpec, ...]:
        """The requested specs, without pods that are already pending."""
        return tuple(spec for spec in self.specs if spec.origin != "pending")

    @property
    def everything_fits(self) -> bool:
        """Whether all requested pods have a place by the data that were read, and their controllers create them now."""
        short = any(spec.is_short or spec.awaited is not None for spec in self._judged)
        return not (short or self._leaves_pods or self.refused)

    @property
    def fits(self) -> bool | None:
        """The same, proved; None: unread resources decide."""
        nowhere = any(self._has_no_place(spec) or spec.awaited is not None for spec in self._judged)
        if nowhere or self._leaves_pods or not all(entry.unknown for entry in self.refused):
            return False
        guesses = self.refused or self.guesses_drain or any(map(self.is_guess, self._judged))
        return None if guesses else True

    @property
    def _judged(self) -> tuple[PlannedSpec, ...]:
        return tuple(spec for spec in self.asked if spec.origin != "autoscaler")

    @property
    def _leaves_pods(self) -> bool:
        """Whether a drain leaves pods without a place, or places some on a node that does not answer."""
        return bool(self.silent or self.stuck) or any(entry.reason in _WITHOUT_PLACE for entry in self.unmoved)

    @property
    def guesses_drain(self) -> bool:
        """Whether a drained node may have other pods, or a budget may block their eviction."""
        return bool(self.what_if.drained) and any(one.resource in _DRAINED for one in self.lacks)

    def _has_no_place(self, spec: PlannedSpec) -> bool:
        """Whether it is proved that some pods of a spec do not fit."""
        if not (spec.is_short and (spec.proven or spec.kept_out)):
            return False
        if spec.origin not in _MADE:
            return True
        lacks = {one.resource for one in self.lacks}
        if RUNTIME_CLASSES in lacks:
            # It may give the pod tolerations.
            return False
        before = takewhile(lambda other: (other.name, other.namespace) != (spec.name, spec.namespace), self.specs)
        made_before = any(other.placed for other in before if other.origin in _MADE)
        if made_before and lacks & {PRIORITY_CLASSES, LIMIT_RANGES}:
            # With other requests, or in another order, those pods would be elsewhere.
            return False
        rejected = () if spec.stopped is None or not self.preemption else spec.stopped.rejected
        return PRIORITY_CLASSES not in lacks or not any(group.preemption_may_help for group in rejected)

    def is_guess(self, spec: PlannedSpec) -> bool:
        """Whether unread resources may change whether the admitted pods of a spec have a place."""
        if self._has_no_place(spec):
            return False
        made = spec.origin in _MADE and any(one.resource in ADMISSION for one in self.lacks)
        return not spec.proven or made or (spec.origin == "drain" and self.guesses_drain)

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline."""
        kinds = ADMISSION | (_DRAINED if self.what_if.drained else frozenset())
        mine = [one for one in self.unread if one.may_exist and one.resource in kinds]
        asked = (lack for one in self.webhook for lack in one.lacks)
        return tuple(dict.fromkeys((*(one for spec in self.specs for one in spec.assumed), *mine, *asked)))
