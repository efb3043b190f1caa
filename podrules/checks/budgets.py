"""PodDisruptionBudgets and the pods of the same files that they select.

Whether any of the pods that are there may go is not asked of DaemonSets and Jobs: a drain passes over the former, and
the latter end by themselves.

Source: pkg/apis/policy/validation/validation.go, pkg/controller/disruption/disruption.go (getExpectedPodCount) and
pkg/registry/core/pod/storage/eviction.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from podrules.budget_room import CoveredPods, budget_room
from podrules.checks.finding import BUDGETS, Finding, Level, LintRule
from podrules.checks.objects import Manifest, Objects, PodCase
from podrules.model.policy import PodDisruptionBudget
from podrules.model.selectors import Requirement, Selector, SelectorError
from podrules.scaled import percentage, scaled

__all__ = ["BudgetBlocksDrains", "BudgetSelectsNothing", "TwoBudgets", "UncountedBudget", "check_budgets"]

_NOTHING: Final = Selector((Requirement("", "in"),))
_MAX_NAMES: Final = 3
_UNCOUNTED: Final = frozenset(("DaemonSet", "Job", "CronJob"))


def check_budgets(objects: Objects) -> Iterator[Finding]:
    """Every finding in budgets."""
    selected: dict[int, list[PodCase]] = {manifest.position: [] for manifest, _ in objects.budgets}
    by_namespace: dict[str, list[tuple[Manifest, Selector]]] = {}
    for manifest, budget in objects.budgets:
        by_namespace.setdefault(manifest.namespace, []).append((manifest, _selector(budget)))
    populated = {case.owner.namespace for case in objects.cases}
    for case in objects.cases:
        near = by_namespace.get(case.owner.namespace, ())
        own = [manifest for manifest, selector in near if selector.matches(case.pod.metadata.labels)]
        for manifest in own:
            selected[manifest.position].append(case)
        if len(own) > 1:
            yield TwoBudgets(*case.at("metadata.labels"), tuple(manifest.name for manifest in own))
    for manifest, budget in objects.budgets:
        if not _readable(budget):
            continue
        yield from _room(manifest, budget, selected[manifest.position])
        if not selected[manifest.position] and manifest.namespace in populated:
            yield BudgetSelectsNothing(*manifest.at("spec.selector"), manifest.namespace)


def _selector(budget: PodDisruptionBudget) -> Selector:
    """The budget's selector; a budget without a readable selector selects nothing."""
    if budget.spec.selector is None:
        return _NOTHING
    try:
        return Selector.from_label_selector(budget.spec.selector)
    except SelectorError:
        return _NOTHING


def _readable(budget: PodDisruptionBudget) -> bool:
    """Whether its numbers say how many pods may go; the API server refuses a budget whose numbers do not."""
    given = [value for value in (budget.spec.min_available, budget.spec.max_unavailable) if value is not None]
    return len(given) < 2 and all(value >= 0 if isinstance(value, int) else _is_share(value) for value in given)


def _is_share(value: str) -> bool:
    percent = percentage(value)
    return percent is not None and percent <= 100


def _room(manifest: Manifest, budget: PodDisruptionBudget, cases: Sequence[PodCase]) -> Iterator[Finding]:
    """What is wrong with how many pods it lets go, once all are healthy."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    setting: Literal["minAvailable", "maxUnavailable"]
    setting, value = ("maxUnavailable", most) if most is not None else ("minAvailable", least)
    if value is None:
        return
    place = manifest.at(f"spec.{setting}")
    room = budget_room(budget, [_healthy(case) for case in cases])
    known = all(case.replicas and case.owner.kind not in _UNCOUNTED for case in cases)
    if room.failure:
        yield UncountedBudget(*place, setting, value, room.failure)
    elif least == "100%" or (most is not None and scaled(most, 100, up=True) == 0):
        yield BudgetBlocksDrains(*place, setting, value)
    elif cases and known and not room.allowed:
        yield BudgetBlocksDrains(*place, setting, value, room.healthy)


def _healthy(case: PodCase) -> CoveredPods:
    kind, number = case.owner.kind, case.replicas or 0
    return CoveredPods("" if kind == "Pod" else kind, number, number, number)


class BudgetBlocksDrains(Finding, frozen=True):
    """The budget asks for as many healthy pods as there are, so none is ever evicted."""

    rule = LintRule(
        name="budget-blocks-drains",
        level=Level.WARNING,
        about="A PodDisruptionBudget never lets a healthy pod be evicted.",
        remedy="Let one pod go, e.g. maxUnavailable: 1 in place of minAvailable.",
        source=f"{BUDGETS} (getExpectedPodCount)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    setting: Literal["minAvailable", "maxUnavailable"]
    value: int | str
    replicas: int | None = None
    """The number of selected pods, if it decides."""

    def __str__(self) -> str:
        replicas = "" if self.replicas is None else f" of {self.replicas} replicas"
        return f"{self.setting} {self.value}{replicas} lets no pod go: a drain waits for ever."


class UncountedBudget(Finding, frozen=True):
    """The disruption controller asks a controller for its scale, which it does not have, and lets no pod go."""

    rule = LintRule(
        name="uncounted-budget",
        level=Level.WARNING,
        about="A PodDisruptionBudget counts pods by a controller that has no scale, and never lets any go.",
        remedy="Give minAvailable as a number, which counts the pods themselves.",
        source=f"{BUDGETS} (getExpectedScale)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    setting: Literal["minAvailable", "maxUnavailable"]
    value: int | str
    failure: str

    def __str__(self) -> str:
        return f"{self.setting} {self.value} lets no pod go, for the pods cannot be counted: {self.failure}."


class TwoBudgets(Finding, frozen=True):
    """The eviction API refuses to evict a pod that two budgets select."""

    rule = LintRule(
        name="two-budgets",
        level=Level.WARNING,
        about="Pods are selected by several PodDisruptionBudgets.",
        remedy="Let one budget select them.",
        source="pkg/registry/core/pod/storage/eviction.go (Create)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    budgets: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.budgets) - _MAX_NAMES
        names = [*self.budgets[:_MAX_NAMES], *([f"{more} more"] if more > 0 else [])]
        return (
            f"Budgets {' and '.join(names)} select these pods: the API server evicts no pod that more than one selects."
        )


class BudgetSelectsNothing(Finding, frozen=True):
    """The files have pods in its namespace, and it selects none of them."""

    rule = LintRule(
        name="budget-selects-nothing",
        level=Level.NOTICE,
        about="A PodDisruptionBudget selects no pod of the files.",
        remedy="Compare the selector with the labels of the pods.",
        source=f"{BUDGETS} (getPodsForPdb)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    namespace: str

    def __str__(self) -> str:
        return f"It selects no pod of these files in namespace {self.namespace}: it may protect nothing."
