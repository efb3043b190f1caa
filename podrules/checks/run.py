"""All checks over all objects."""

from __future__ import annotations

from collections.abc import Iterator

from podrules.checks.budgets import check_budgets
from podrules.checks.claims import check_claims, check_shared_claims
from podrules.checks.ending import check_ending
from podrules.checks.finding import Finding
from podrules.checks.objects import Objects, PodCase
from podrules.checks.placement import check_placement
from podrules.checks.priority import check_classes, check_priority
from podrules.checks.resources import check_resources
from podrules.checks.rules import RULES, Level
from podrules.checks.spread import check_spread
from podrules.checks.workloads import check_containers, check_counts, check_selector
from podrules.checks.writers import check_writers

__all__ = ["check", "refusals"]


def check(objects: Objects) -> tuple[Finding, ...]:
    """Every finding, in the order of the objects; of one object the gravest first."""
    found = [*check_classes(objects), *check_budgets(objects), *check_claims(objects)]
    for case in objects.cases:
        found += _of_pods(case, objects)
    return tuple(sorted(found, key=lambda finding: (finding.position, RULES[finding.rule].level.rank)))


def refusals(case: PodCase) -> tuple[Finding, ...]:
    """For what the API server refuses a pod, or the workload that makes it, whatever the cluster is like.

    Its priority is left out: which classes there are decides (`podrules.priority.admit_pod_create`).
    """
    return tuple(finding for finding in _of_itself(case) if RULES[finding.rule].level is Level.ERROR)


def _of_itself(case: PodCase) -> Iterator[Finding]:
    yield from check_selector(case)
    yield from check_counts(case)
    yield from check_containers(case)
    yield from check_resources(case)
    yield from check_ending(case)
    yield from check_placement(case)
    yield from check_spread(case)


def _of_pods(case: PodCase, objects: Objects) -> Iterator[Finding]:
    yield from _of_itself(case)
    yield from check_priority(case, objects)
    yield from check_shared_claims(case, objects)
    yield from check_writers(case, objects)
