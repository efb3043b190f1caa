"""PodDisruptionBudgets beside the workloads of the same files.

    invalid-budget           refused: minAvailable and maxUnavailable together, a number below 0, over 100%
    budget-blocks-drains     it desires as many healthy pods as there are: none is ever evicted
        maxUnavailable       0 or 0%
        minAvailable         100%; or ceil(minAvailable of replicas) >= replicas
    two-budgets              the eviction API refuses pods that two budgets select
    budget-selects-nothing   no pod of the files in its namespace

Pods of DaemonSets and Jobs do not count: drains pass the former over, and the latter end.

Source: pkg/apis/policy/validation/validation.go, pkg/controller/disruption/disruption.go (getExpectedPodCount) and
pkg/registry/core/pod/storage/eviction.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from podrules.checks.finding import Finding
from podrules.checks.objects import Manifest, Objects, PodCase
from podrules.checks.scaled import percentage, scaled
from podrules.model.policy import PodDisruptionBudget
from podrules.model.selectors import Requirement, Selector, SelectorError

__all__ = ["check_budgets"]

_NOTHING: Final = Selector((Requirement("", "in"),))
_NAMED: Final = 3
_UNCOUNTED: Final = frozenset(("DaemonSet", "Job", "CronJob"))


def check_budgets(objects: Objects) -> Iterator[Finding]:
    """All that is told of budgets."""
    selected: dict[int, list[PodCase]] = {manifest.position: [] for manifest, _ in objects.budgets}
    by_namespace: dict[str, list[tuple[Manifest, Selector]]] = {}
    for manifest, budget in objects.budgets:
        by_namespace.setdefault(manifest.namespace, []).append((manifest, _selector(budget)))
    populated = {case.owner.namespace for case in objects.cases}
    for case in objects.cases:
        beside = by_namespace.get(case.owner.namespace, ())
        own = [manifest for manifest, selector in beside if selector.matches(case.pod.metadata.labels)]
        for manifest in own:
            selected[manifest.position].append(case)
        if len(own) > 1:
            names = [manifest.name for manifest in own[:_NAMED]]
            more = [f"{len(own) - _NAMED} more"] if len(own) > _NAMED else []
            yield case.finding("two-budgets", "metadata.labels", budgets=" and ".join(names + more))
    for manifest, budget in objects.budgets:
        problems = tuple(_problems(budget))
        for field, problem in problems:
            yield Finding("invalid-budget", manifest.position, field, {"problem": problem})
        if not problems:
            yield from _harmful(manifest, budget, selected[manifest.position])
        if not problems and not selected[manifest.position] and manifest.namespace in populated:
            values = {"namespace": manifest.namespace}
            yield Finding("budget-selects-nothing", manifest.position, "spec.selector", values)


def _selector(budget: PodDisruptionBudget) -> Selector:
    """The budget's selector; without one, and with one that cannot be read, it selects nothing."""
    if budget.spec.selector is None:
        return _NOTHING
    try:
        return Selector.from_label_selector(budget.spec.selector)
    except SelectorError:
        return _NOTHING


def _problems(budget: PodDisruptionBudget) -> Iterator[tuple[str, str]]:
    spec = budget.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        yield "spec.maxUnavailable", "minAvailable and maxUnavailable cannot be both set"
    for field, value in (("spec.minAvailable", spec.min_available), ("spec.maxUnavailable", spec.max_unavailable)):
        if isinstance(value, int) and value < 0:
            yield field, f"{value} is below 0"
        if isinstance(value, str):
            percent = percentage(value)
            if percent is None:
                yield field, f'"{value}" is neither a whole number nor a percentage'
            elif percent > 100:
                yield field, f"{value} is more than 100%"


def _harmful(manifest: Manifest, budget: PodDisruptionBudget, cases: Sequence[PodCase]) -> Iterator[Finding]:
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    counted = [case.replicas for case in cases if case.owner.kind not in _UNCOUNTED]
    known = [replicas for replicas in counted if replicas is not None]
    replicas = sum(known) if counted and len(known) == len(cases) else 0
    rule = "budget-blocks-drains"
    if most is not None and scaled(most, 100, up=True) == 0:
        yield Finding(rule, manifest.position, "spec.maxUnavailable", {"why": "None", "value": str(most)})
    elif least == "100%":
        yield Finding(rule, manifest.position, "spec.minAvailable", {"why": "All", "value": least})
    elif least is not None and replicas and (scaled(least, replicas, up=True) or 0) >= replicas:
        values = {"why": "Replicas", "value": str(least), "replicas": str(replicas)}
        yield Finding(rule, manifest.position, "spec.minAvailable", values)
