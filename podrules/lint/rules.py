"""The table of all rules, and the run of their checks.

A rule is registered by one line in `_RULES`. `lint` in every format, docs/lint.md, ``--disable`` and the comments
that disable a rule all read `RULES`.
"""

from __future__ import annotations

from typing import Final

from podrules.lint.budgets import BudgetBlocksDrains, BudgetSelectsNothing, TwoBudgets, UncountedBudget
from podrules.lint.claims import ClaimForOne, ClaimNeedsScheduler, RolloutWaitsForClaim, TwoWriters
from podrules.lint.finding import Finding, LintRule
from podrules.lint.objects import Objects
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
    REFUSED_VALUES,
    InvalidField,
    UnknownField,
    UnservedVersion,
)
from podrules.lint.spread import SpreadCountsOldPods, SpreadIsRedundant, SpreadMissesOwnPod

_REFUSED: Final = {rule.name: rule for rule in REFUSED_VALUES}
_RULES: Final[tuple[LintRule, ...]] = (
    InvalidField.rule,
    UnknownField.rule,
    UnservedVersion.rule,
    _REFUSED["no-containers"],
    _REFUSED["negative-number"],
    _REFUSED["request-over-limit"],
    _REFUSED["invalid-pod-resources"],
    _REFUSED["invalid-spread"],
    _REFUSED["readiness-probe-grace"],
    _REFUSED["prestop-over-grace"],
    _REFUSED["invalid-node-affinity"],
    _REFUSED["invalid-toleration"],
    PriorityDiffers.rule,
    NoSuchSystemClass.rule,
    _REFUSED["invalid-priority-class"],
    _REFUSED["invalid-budget"],
    _REFUSED["invalid-access-modes"],
    _REFUSED["selector-differs"],
    _REFUSED["refused-value"],
    BestEffort.rule,
    GraceZero.rule,
    PreStopTakesGrace.rule,
    SeveralDefaultClasses.rule,
    PriorityWithoutClass.rule,
    SpreadMissesOwnPod.rule,
    BudgetBlocksDrains.rule,
    UncountedBudget.rule,
    TwoBudgets.rule,
    RolloutWaitsForClaim.rule,
    ClaimForOne.rule,
    ClaimNeedsScheduler.rule,
    TwoWriters.rule,
    StaysOnSilentNode.rule,
    UnusableNodeAffinity.rule,
    NodeNameSet.rule,
    MisspeltLabel.rule,
    AlmostGuaranteed.rule,
    LimitWithoutRequest.rule,
    RequestWithoutLimit.rule,
    UnknownClass.rule,
    SpreadCountsOldPods.rule,
    SpreadIsRedundant.rule,
    BudgetSelectsNothing.rule,
    HostPortReplicas.rule,
    BarePod.rule,
)

RULES: Final[dict[str, LintRule]] = {rule.name: rule for rule in _RULES}
"""The rules by name, the most severe first."""


def check(objects: Objects) -> tuple[Finding, ...]:
    """Every finding in accepted objects, in the order of the objects; for one object the most severe first.

    Errors for which the API server rejects an object are found when it is read (`podrules.lint.shape`).
    """
    found: list[Finding] = []
    for check_objects in dict.fromkeys(rule.check_objects for rule in RULES.values()):
        if check_objects is not None:
            found += check_objects(objects)
    checks = dict.fromkeys(rule.check_pod for rule in RULES.values() if rule.check_pod is not None)
    for case in objects.cases:
        for check_pod in checks:
            found += check_pod(case)
    return tuple(sorted(found, key=lambda finding: (finding.position, finding.rule.level.rank)))
