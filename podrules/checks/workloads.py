"""Workloads that the API server refuses: another selector than their pods' labels, numbers below 0, no container.

Source: pkg/apis/core/validation/validation.go (validateContainers), pkg/apis/apps/validation/validation.go
(ValidateDeploymentSpec, ValidatePodTemplateSpecForReplicaSet, ValidateStatefulSetSpec, ValidateDaemonSetSpec) at
v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.checks.finding import Finding
from podrules.checks.objects import PodCase
from podrules.checks.refused import negative_counts
from podrules.model.selectors import Selector, SelectorError
from podrules.model.workload import Workload

__all__ = ["check_containers", "check_counts", "check_selector"]

_SELECTING: Final = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"))


def check_selector(case: PodCase) -> Iterator[Finding]:
    """What is told of a workload's selector."""
    content = case.owner.content
    if case.owner.kind not in _SELECTING or not isinstance(content, Workload):
        return
    problem = _problem(content, case)
    if problem:
        yield Finding("selector-differs", case.owner.position, "spec.selector", {"problem": problem})


def check_counts(case: PodCase) -> Iterator[Finding]:
    """What is told of a workload's numbers of pods."""
    for number in negative_counts(case.owner.content):
        yield Finding("negative-number", case.owner.position, number.field, {"value": number.value})


def check_containers(case: PodCase) -> Iterator[Finding]:
    """What is told of a pod without containers; one without a spec has none either."""
    if not case.pod.spec.containers:
        yield case.finding("no-containers", "spec.containers")


def _problem(workload: Workload, case: PodCase) -> str:
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
