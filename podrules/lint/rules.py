"""The table of all rules, and the run of their checks.

A rule is registered by one line in `_FINDINGS`. `lint` in every format, docs/lint.md, ``--disable`` and the comments
that disable a rule all read `RULES`.
"""

from __future__ import annotations

from typing import Final

from podrules.lint import budgets, claims, ending, placement, priority, resources, spread, values, writers
from podrules.lint.finding import Finding, LintRule
from podrules.lint.objects import Objects, PodCase
from podrules.lint.shape import InvalidField, UnknownField, UnservedVersion

_FINDINGS: Final[tuple[type[Finding], ...]] = (
    InvalidField,
    UnknownField,
    UnservedVersion,
    values.NoContainers,
    values.NegativeNumber,
    values.RequestOverLimit,
    values.InvalidPodResources,
    values.InvalidSpread,
    values.ReadinessProbeGrace,
    values.PreStopOverGrace,
    values.InvalidNodeAffinity,
    values.InvalidToleration,
    priority.PriorityDiffers,
    priority.NoSuchSystemClass,
    values.InvalidPriorityClass,
    values.InvalidBudget,
    values.InvalidAccessModes,
    values.SelectorDiffers,
    values.RefusedValue,
    resources.BestEffort,
    ending.GraceZero,
    ending.PreStopTakesGrace,
    priority.SeveralDefaultClasses,
    priority.PriorityWithoutClass,
    spread.SpreadMissesOwnPod,
    budgets.BudgetBlocksDrains,
    budgets.UncountedBudget,
    budgets.TwoBudgets,
    claims.RolloutWaitsForClaim,
    claims.ClaimForOne,
    claims.ClaimNeedsScheduler,
    writers.TwoWriters,
    ending.StaysOnSilentNode,
    placement.UnusableNodeAffinity,
    placement.NodeNameSet,
    placement.MisspeltLabel,
    resources.AlmostGuaranteed,
    resources.LimitWithoutRequest,
    resources.RequestWithoutLimit,
    priority.UnknownClass,
    spread.SpreadCountsOldPods,
    spread.SpreadIsRedundant,
    budgets.BudgetSelectsNothing,
    placement.HostPortReplicas,
    placement.BarePod,
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
