"""The table of all rules, and the run of their checks.

A rule is registered by one line in `_FINDINGS`. `lint` in every format, docs/lint.md, ``--disable`` and the comments
that disable a rule all read `RULES`.
"""

from __future__ import annotations

from typing import Final

from podrules.lint.budgets import BudgetBlocksDrains, BudgetSelectsNothing, TwoBudgets, UncountedBudget
from podrules.lint.claims import ClaimForOne, ClaimNeedsScheduler, RolloutWaitsForClaim, TwoWriters
from podrules.lint.finding import Finding, LintRule
from podrules.lint.objects import Objects, PodCase
from podrules.lint.placement import BarePod, HostPortReplicas, MisspeltLabel, NodeNameSet, UnusableNodeAffinity
from podrules.lint.pods import (
    AlmostGuaranteed,
    BestEffort,
    GraceZero,
    LimitWithoutRequest,
    NoSuchSystemClass,
    PreStopTakesGrace,
    PriorityDiffers,
    PriorityWithoutClass,
    RequestWithoutLimit,
    SeveralDefaultClasses,
    StaysOnSilentNode,
    UnknownClass,
)
from podrules.lint.shape import (
    InvalidAccessModes,
    InvalidBudget,
    InvalidField,
    InvalidNodeAffinity,
    InvalidPodResources,
    InvalidPriorityClass,
    InvalidSpread,
    InvalidToleration,
    NegativeNumber,
    NoContainers,
    PreStopOverGrace,
    ReadinessProbeGrace,
    RefusedValue,
    RequestOverLimit,
    SelectorDiffers,
    UnknownField,
    UnservedVersion,
)
from podrules.lint.spread import SpreadCountsOldPods, SpreadIsRedundant, SpreadMissesOwnPod

_FINDINGS: Final[tuple[type[Finding], ...]] = (
    InvalidField,
    UnknownField,
    UnservedVersion,
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
    RefusedValue,
    BestEffort,
    GraceZero,
    PreStopTakesGrace,
    SeveralDefaultClasses,
    PriorityWithoutClass,
    SpreadMissesOwnPod,
    BudgetBlocksDrains,
    UncountedBudget,
    TwoBudgets,
    RolloutWaitsForClaim,
    ClaimForOne,
    ClaimNeedsScheduler,
    TwoWriters,
    StaysOnSilentNode,
    UnusableNodeAffinity,
    NodeNameSet,
    MisspeltLabel,
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

RULES: Final[dict[str, LintRule]] = {kind.rule.name: kind.rule for kind in _FINDINGS}
"""The rules by name, the most severe first."""


def check(objects: Objects) -> tuple[Finding, ...]:
    """Every finding in accepted objects, in the order of the objects; for one object the most severe first.

    Errors for which the API server rejects an object are found when it is read (`podrules.lint.shape`).
    """
    found: list[Finding] = []
    for check_objects in dict.fromkeys(rule.check_objects for rule in RULES.values()):
        if check_objects is not None:
            found += check_objects(objects)
    for case in objects.cases:
        found += _of_pod(case)
    return tuple(sorted(found, key=lambda finding: (finding.position, finding.rule.level.rank)))


def _of_pod(case: PodCase) -> list[Finding]:
    checks = dict.fromkeys(rule.check_pod for rule in RULES.values())
    return [finding for check_pod in checks if check_pod is not None for finding in check_pod(case)]
