"""The table of all rules, and the run of their checks.

A rule is registered by one line in `_FINDINGS`. `lint` in every format, docs/lint.md, ``--disable`` and the comments
that ignore a rule all read `RULES`.
"""

from __future__ import annotations

from typing import Final

from podrules.checks import budgets, claims, ending, placement, priority, resources, spread, workloads, writers
from podrules.checks.finding import Finding, Level, LintRule
from podrules.checks.objects import Objects, PodCase
from podrules.checks.shape import InvalidField, UnknownField, UnservedVersion

__all__ = ["RULES", "check", "refusals"]

_FINDINGS: Final[tuple[type[Finding], ...]] = (
    InvalidField,
    UnknownField,
    UnservedVersion,
    workloads.NoContainers,
    resources.NegativeNumber,
    resources.RequestOverLimit,
    resources.InvalidPodResources,
    spread.InvalidSpread,
    ending.ReadinessProbeGrace,
    ending.PreStopOverGrace,
    placement.InvalidNodeAffinity,
    placement.InvalidToleration,
    priority.PriorityDiffers,
    priority.NoSuchSystemClass,
    priority.InvalidPriorityClass,
    budgets.InvalidBudget,
    claims.InvalidAccessModes,
    workloads.SelectorDiffers,
    resources.BestEffort,
    ending.GraceZero,
    ending.PreStopTakesGrace,
    priority.SeveralDefaultClasses,
    priority.PriorityWithoutClass,
    spread.SpreadMissesOwnPod,
    budgets.BudgetBlocksDrains,
    budgets.TwoBudgets,
    claims.RolloutWaitsForClaim,
    claims.ClaimForOne,
    writers.TwoWriters,
    ending.StaysOnSilentNode,
    placement.UnusableNodeAffinity,
    placement.NodeNameSet,
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
