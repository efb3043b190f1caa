"""The table of all rules, and the run of their checks.

A rule is registered by one line in `_FINDINGS`. `lint` in every format, docs/lint.md, ``--disable`` and the comments
that ignore a rule all read `RULES`.
"""

from __future__ import annotations

from typing import Final

from podrules.checks.budgets import BudgetBlocksDrains, BudgetSelectsNothing, InvalidBudget, TwoBudgets
from podrules.checks.claims import ClaimForOne, InvalidAccessModes, RolloutWaitsForClaim
from podrules.checks.ending import (
    GraceZero,
    PreStopOverGrace,
    PreStopTakesGrace,
    ReadinessProbeGrace,
    StaysOnSilentNode,
)
from podrules.checks.finding import Finding, Level, Rule
from podrules.checks.objects import InvalidField, Objects, PodCase
from podrules.checks.placement import (
    BarePod,
    HostPortReplicas,
    InvalidNodeAffinity,
    InvalidToleration,
    NodeNameSet,
    UnusableNodeAffinity,
)
from podrules.checks.priority import (
    InvalidPriorityClass,
    NoSuchSystemClass,
    PriorityDiffers,
    PriorityWithoutClass,
    SeveralDefaultClasses,
    UnknownClass,
)
from podrules.checks.resources import (
    AlmostGuaranteed,
    BestEffort,
    InvalidPodResources,
    LimitWithoutRequest,
    NegativeNumber,
    RequestOverLimit,
    RequestWithoutLimit,
)
from podrules.checks.spread import InvalidSpread, SpreadCountsOldPods, SpreadIsRedundant, SpreadMissesOwnPod
from podrules.checks.workloads import NoContainers, SelectorDiffers
from podrules.checks.writers import TwoWriters

__all__ = ["RULES", "check", "refusals"]

_FINDINGS: Final[tuple[type[Finding], ...]] = (
    InvalidField,
    NoContainers,
    NegativeNumber,
    RequestOverLimit,
    InvalidPodResources,
    InvalidSpread,
    ReadinessProbeGrace,
    PreStopOverGrace,
    InvalidNodeAffinity,
    InvalidToleration,
    PriorityDiffers,
    NoSuchSystemClass,
    InvalidPriorityClass,
    InvalidBudget,
    InvalidAccessModes,
    SelectorDiffers,
    BestEffort,
    GraceZero,
    PreStopTakesGrace,
    SeveralDefaultClasses,
    PriorityWithoutClass,
    SpreadMissesOwnPod,
    BudgetBlocksDrains,
    TwoBudgets,
    RolloutWaitsForClaim,
    ClaimForOne,
    TwoWriters,
    StaysOnSilentNode,
    UnusableNodeAffinity,
    NodeNameSet,
    AlmostGuaranteed,
    LimitWithoutRequest,
    RequestWithoutLimit,
    UnknownClass,
    SpreadCountsOldPods,
    SpreadIsRedundant,
    BudgetSelectsNothing,
    HostPortReplicas,
    BarePod,
)

RULES: Final[dict[str, Rule]] = {kind.rule.name: kind.rule for kind in _FINDINGS}
"""By name, the most severe first."""


def check(objects: Objects) -> tuple[Finding, ...]:
    """Every finding, in the order of the objects; of one object the most severe first."""
    found: list[Finding] = []
    for check_objects in dict.fromkeys(rule.check_objects for rule in RULES.values()):
        if check_objects is not None:
            found += check_objects(objects)
    for case in objects.cases:
        found += _of_pod(case)
    return tuple(sorted(found, key=lambda finding: (finding.position, finding.rule.level.rank)))


def refusals(case: PodCase) -> tuple[Finding, ...]:
    """Why the API server refuses a pod, or the workload that makes it, in every cluster.

    Its priority is left out, because the cluster's classes decide about it (`podrules.priority.admit_pod_create`).
    """
    return tuple(finding for finding in _of_pod(case) if finding.rule.level is Level.ERROR)


def _of_pod(case: PodCase) -> list[Finding]:
    checks = dict.fromkeys(rule.check_pod for rule in RULES.values())
    return [finding for check_pod in checks if check_pod is not None for finding in check_pod(case)]
