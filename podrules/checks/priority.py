"""Priorities and their classes.

    priority-differs          refused: spec.priority or preemptionPolicy is not what the named class gives
    priority-without-class    refused but where the cluster's default class gives the same
    no-such-system-class      refused: names that begin with system- are Kubernetes' own, and there are two
    unknown-priority-class    in none of the files: the pod is refused unless the cluster has the class
    invalid-priority-class    refused: a value over 1,000,000,000, a reserved name, a policy that there is not
    several-default-classes   the API server refuses all but the first that it sees

Source: plugin/pkg/admission/priority/admission.go and pkg/apis/scheduling/validation/validation.go at v1.36.3, as
restated in `podrules.priority`.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.checks.finding import Finding
from podrules.checks.objects import Objects, PodCase
from podrules.priority import SYSTEM_PRIORITY_CLASSES, admit_pod_create, is_reserved_class_name, validate_priority_class

__all__ = ["check_classes", "check_priority"]


def check_priority(case: PodCase, objects: Objects) -> Iterator[Finding]:
    """All that is told of a pod's priority."""
    spec = case.pod.spec
    name = spec.priority_class_name
    known = SYSTEM_PRIORITY_CLASSES | {entry.metadata.name: entry for _, entry in objects.classes}
    if name and name not in known:
        rule = "no-such-system-class" if is_reserved_class_name(name) else "unknown-priority-class"
        yield case.finding(rule, "spec.priorityClassName", name=name)
        return
    refused = admit_pod_create(case.pod, known)
    if isinstance(refused, str):
        problem = refused.partition("is forbidden: ")[2]
        field = "spec.priority" if "of priority" in problem else "spec.preemptionPolicy"
        yield case.finding("priority-differs" if name else "priority-without-class", field, problem=problem)


def check_classes(objects: Objects) -> Iterator[Finding]:
    """All that is told of PriorityClasses."""
    for manifest, entry in objects.classes:
        for text in validate_priority_class(entry):
            field, _, problem = text.partition(": ")
            yield Finding("invalid-priority-class", manifest.position, field, {"problem": problem})
    defaults = [manifest for manifest, entry in objects.classes if entry.global_default]
    for manifest in defaults[1:]:
        values = {"first": defaults[0].name, "count": str(len(defaults))}
        yield Finding("several-default-classes", manifest.position, "globalDefault", values)
