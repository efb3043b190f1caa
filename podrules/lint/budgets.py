"""PodDisruptionBudgets and the pods in the same files that they select.

For DaemonSets and Jobs, the check does not require that a pod can be evicted: a drain skips the former, and the latter
end by themselves.

Source: pkg/apis/policy/validation/validation.go, pkg/controller/disruption/disruption.go (getExpectedPodCount) and
pkg/registry/core/pod/storage/eviction.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from podrules.api.controllers import percentage, scaled
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.workload import Workload
from podrules.lint.finding import BUDGETS, Finding, Level, LintRule
from podrules.lint.objects import Manifest, Objects
from podrules.scheduling.placement.controllers import controlled
from podrules.scheduling.placement.planned_budgets import PodGroup, made_groups
from podrules.workload.disruption import SelectingBudgets, budget_room, budget_way

_MAX_NAMES: Final = 3
_PASSED: Final = frozenset(("DaemonSet", "Job", "CronJob"))
"""The kinds with pods that a drain skips, or that end by themselves."""


def check_budgets(objects: Objects) -> Iterator[Finding]:
    """Every finding in budgets."""
    # The budgets in their namespaces; with equal names only the last, as after an apply.
    applied: dict[tuple[str, str, int], tuple[Manifest, PodDisruptionBudget]] = {}
    for manifest, budget in objects.budgets:
        placed = replace(budget, metadata=replace(budget.metadata, namespace=manifest.namespace))
        # Budgets with generateName do not replace each other.
        unnamed = 0 if budget.metadata.name else manifest.position
        applied[manifest.namespace, budget.metadata.name, unnamed] = (manifest, placed)
    budgets = list(applied.values())
    if not budgets:
        return
    selecting = SelectingBudgets(budget for _, budget in budgets)
    manifests = {id(budget): manifest for manifest, budget in budgets}
    selected: dict[int, list[PodGroup]] = {id(budget): [] for _, budget in budgets}
    for case in objects.cases:
        several: Sequence[PodDisruptionBudget] = ()
        # The pods as their controller creates them.
        owner, entry, kind = case.owner, case.owner.content, case.owner.kind.lower()
        named = replace(case.pod, metadata=replace(case.pod.metadata, name=owner.name, namespace=owner.namespace))
        first = entry.spec.ordinals.start if isinstance(entry, Workload) and kind == "statefulset" else 0
        template = controlled(named, kind, entry, None).pod
        for group in made_groups(f"{kind}/{owner.name}", template, case.replicas, first=first):
            own = selecting.of(group.pod)
            for budget in own:
                selected[id(budget)].append(group)
            several = own if len(own) > 1 and not several else several
        if several:
            yield TwoBudgets(*case.at("metadata.labels"), tuple(manifests[id(budget)].name for budget in several))
    populated = {case.owner.namespace for case in objects.cases}
    for manifest, budget in budgets:
        given = [value for value in (budget.spec.min_available, budget.spec.max_unavailable) if value is not None]
        negative = any(value < 0 for value in given if isinstance(value, int))
        shares = [percentage(value) for value in given if isinstance(value, str)]
        # The API server rejects a budget with invalid numbers.
        if len(given) > 1 or negative or any(share is None or share > 100 for share in shares):
            continue
        yield from _room(manifest, budget, selected[id(budget)])
        if not selected[id(budget)] and manifest.namespace in populated:
            yield BudgetSelectsNothing(*manifest.at("spec.selector"), manifest.namespace)


def _room(manifest: Manifest, budget: PodDisruptionBudget, groups: Sequence[PodGroup]) -> Iterator[Finding]:
    """Problems with the number of evictions that it allows if all pods are healthy."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    setting: Literal["minAvailable", "maxUnavailable"] = "minAvailable" if most is None else "maxUnavailable"
    value = least if most is None else most
    place = manifest.at("spec" if value is None else f"spec.{setting}")
    drained = any(group.covered.kind not in _PASSED for group in groups)
    room = budget_room(budget, [group.covered for group in groups])
    never = value is None or least == "100%" or (most is not None and scaled(most, 100, up=True) == 0)
    if room is not None and room.failure and value is not None:
        yield UncountedBudget(*place, setting, value, room.failure)
    elif never and budget.spec.selector is not None:
        yield BudgetBlocksDrains(*place, setting, value, expected=room.expected if room is not None else 0)
    elif room is not None and room.healthy and not room.allowed and drained:
        yield BudgetBlocksDrains(*place, setting, value, room.healthy, room.expected)


class BudgetBlocksDrains(Finding, frozen=True):
    """The budget requires as many healthy pods as exist, so it never allows an eviction."""

    rule = LintRule(
        name="budget-blocks-drains",
        level=Level.WARNING,
        about="A PodDisruptionBudget never allows the eviction of a healthy pod.",
        remedy="Allow one eviction: maxUnavailable 1, or a lower minAvailable.",
        source=f"{BUDGETS} (getExpectedPodCount)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    setting: Literal["minAvailable", "maxUnavailable"]
    value: int | str | None
    """None: it sets neither."""
    pods: int | None = None
    """The number of selected pods, if that decides."""
    expected: int = 0
    """The number of pods that the controller counts; 0: not known."""

    @property
    def remedy(self) -> str:
        """The change that solves the problem of this budget."""
        least, most = (self.value, None) if self.setting == "minAvailable" else (None, self.value)
        return f"Allow one eviction: {budget_way(least, most, self.expected, self.pods)}."

    def __str__(self) -> str:
        if self.value is None:
            return "Without minAvailable and maxUnavailable it allows no eviction: a drain waits forever."
        pods = "" if self.pods is None else f" of {self.pods} {'pod' if self.pods == 1 else 'pods'}"
        return f"{self.setting} {self.value}{pods} allows no eviction: a drain waits forever."


class UncountedBudget(Finding, frozen=True):
    """The disruption controller reads the scale of a controller without one, and allows no eviction."""

    rule = LintRule(
        name="uncounted-budget",
        level=Level.WARNING,
        about="A PodDisruptionBudget counts pods by a controller without a scale, and never allows an eviction.",
        remedy="Give minAvailable as a number, which counts the pods themselves.",
        source=f"{BUDGETS} (getExpectedScale)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    setting: Literal["minAvailable", "maxUnavailable"]
    value: int | str
    failure: str

    def __str__(self) -> str:
        return f"{self.setting} {self.value} allows no eviction, because it cannot count the pods: {self.failure}."


class TwoBudgets(Finding, frozen=True):
    """The eviction API rejects the eviction of a pod that two budgets select."""

    rule = LintRule(
        name="two-budgets",
        level=Level.WARNING,
        about="Several PodDisruptionBudgets select the same pods.",
        remedy="Let one budget select them.",
        source="pkg/registry/core/pod/storage/eviction.go (Create)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    budgets: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.budgets) - _MAX_NAMES
        names = [*self.budgets[:_MAX_NAMES], *([f"{more} more"] if more > 0 else [])]
        return f"Budgets {' and '.join(names)} select these pods: the API server evicts no pod with several budgets."


class BudgetSelectsNothing(Finding, frozen=True):
    """The files have pods in its namespace, but it selects none of them."""

    rule = LintRule(
        name="budget-selects-nothing",
        level=Level.NOTICE,
        about="A PodDisruptionBudget selects no pod in the files.",
        remedy="Compare the selector with the labels of the pods.",
        source=f"{BUDGETS} (getPodsForPdb)",
        term="PodDisruptionBudget",
        check_objects=check_budgets,
    )
    namespace: str

    def __str__(self) -> str:
        return f"It selects no pod in these files in namespace {self.namespace}: it may protect nothing."
