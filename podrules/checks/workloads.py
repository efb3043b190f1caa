"""Workloads that the API server refuses: the selector does not match the pods, a number is below 0, no container.

Source: pkg/apis/core/validation/validation.go (validateContainers), pkg/apis/apps/validation/validation.go
(ValidateDeploymentSpec, ValidatePodTemplateSpecForReplicaSet, ValidateStatefulSetSpec, ValidateDaemonSetSpec) at
v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.checks.finding import PODS, Finding, Level, LintRule
from podrules.checks.objects import PodCase
from podrules.checks.refused import negative_counts
from podrules.checks.resources import NegativeNumber
from podrules.model.selectors import Selector, SelectorError
from podrules.model.workload import Workload

__all__ = ["NoContainers", "SelectorDiffers", "check_workload"]

_SELECTING: Final = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"))


def check_workload(case: PodCase) -> Iterator[Finding]:
    """What the API server refuses in a workload, except its pods' resources, placement and end."""
    content = case.owner.content
    if case.owner.kind in _SELECTING and isinstance(content, Workload):
        problem = _selector_problem(content, case)
        if problem:
            yield SelectorDiffers(*case.owner.at("spec.selector"), problem)
    for number in negative_counts(content):
        yield NegativeNumber(*case.owner.at(number.field), number.value)
    if not case.pod.spec.containers:
        yield NoContainers(*case.at("spec.containers"))


def _selector_problem(workload: Workload, case: PodCase) -> str:
    if workload.spec.selector is None:
        return "it is missing"
    try:
        selector = Selector.from_label_selector(workload.spec.selector)
    except SelectorError as error:
        return str(error)
    if selector.empty:
        return "it is empty"
    failed = next((term for term in selector.requirements if not term.matches(case.pod.metadata.labels)), None)
    return f"the template's labels do not satisfy {failed}" if failed is not None else ""


class NoContainers(Finding, frozen=True):
    """A pod without containers; a pod without a spec has none either."""

    rule = LintRule(
        name="no-containers",
        level=Level.ERROR,
        about="A pod has no container.",
        remedy="Write one container or more, e.g. containers: [{name: web, image: nginx}].",
        source=f"{PODS} (validateContainers)",
        check_pod=check_workload,
    )

    def __str__(self) -> str:
        return "The list of containers is empty or missing."


class SelectorDiffers(Finding, frozen=True):
    """A workload that does not select its own pods."""

    rule = LintRule(
        name="selector-differs",
        level=Level.ERROR,
        about="A workload's selector does not match the labels of its own pods.",
        remedy="Give the template the labels that the selector asks for.",
        source="pkg/apis/apps/validation/validation.go",
        check_pod=check_workload,
    )
    problem: str

    def __str__(self) -> str:
        return f"The selector does not select the workload's own pods: {self.problem}."
