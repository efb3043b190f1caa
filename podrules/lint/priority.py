"""Priorities and their classes.

Source: plugin/pkg/admission/priority/admission.go at v1.36.3, as restated in `podrules.pod.priority`.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.lint.finding import PRIORITY, Finding, Level, LintRule
from podrules.lint.objects import Objects
from podrules.pod.priority import (
    SYSTEM_PRIORITY_CLASSES,
    PriorityMismatch,
    UnknownPriorityClass,
    is_reserved_class_name,
    priority_mismatch,
    resolve_priority,
)

__all__ = [
    "NoSuchSystemClass",
    "PriorityDiffers",
    "PriorityWithoutClass",
    "SeveralDefaultClasses",
    "UnknownClass",
    "check_classes",
    "check_priority",
]


def check_priority(objects: Objects) -> Iterator[Finding]:
    """Every finding in the priorities of pods."""
    known = SYSTEM_PRIORITY_CLASSES | {entry.metadata.name: entry for _, entry in objects.classes}
    for case in objects.cases:
        name = case.pod.spec.priority_class_name
        resolved = resolve_priority(name, known)
        if isinstance(resolved, UnknownPriorityClass):
            kind = NoSuchSystemClass if is_reserved_class_name(name) else UnknownClass
            yield kind(*case.at("spec.priorityClassName"), name)
            continue
        mismatch = priority_mismatch(case.pod, resolved)
        if mismatch is not None:
            differs = PriorityDiffers if name else PriorityWithoutClass
            yield differs(*case.at(f"spec.{mismatch.field}"), mismatch)


def check_classes(objects: Objects) -> Iterator[Finding]:
    """Every finding in PriorityClasses."""
    defaults = [manifest for manifest, entry in objects.classes if entry.global_default]
    for manifest in defaults[1:]:
        yield SeveralDefaultClasses(*manifest.at("globalDefault"), defaults[0].name, len(defaults))


class PriorityDiffers(Finding, frozen=True):
    """spec.priority or spec.preemptionPolicy is not what the named class gives."""

    rule = LintRule(
        name="priority-differs",
        level=Level.ERROR,
        about="Priority or preemptionPolicy is not what the named class gives.",
        remedy="Remove the field: the class decides.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    mismatch: PriorityMismatch

    def __str__(self) -> str:
        return f"{self.mismatch}."


class PriorityWithoutClass(Finding, frozen=True):
    """Refused unless the cluster's default class gives the same."""

    rule = LintRule(
        name="priority-without-class",
        level=Level.WARNING,
        about="A priority or preemptionPolicy is given and no class.",
        remedy="Name a PriorityClass instead.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    mismatch: PriorityMismatch

    def __str__(self) -> str:
        return f"Refused unless the cluster's default class gives just this: {self.mismatch}."


class NoSuchSystemClass(Finding, frozen=True):
    """Names that begin with system- are Kubernetes' own, and there are two."""

    rule = LintRule(
        name="no-such-system-class",
        level=Level.ERROR,
        about="A class name begins with system- and is not Kubernetes' own.",
        remedy="Name one of these, or a class of your own.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    name: str

    def __str__(self) -> str:
        return f"There is no class {self.name}: system- names are system-node-critical and system-cluster-critical."


class UnknownClass(Finding, frozen=True):
    """The pod is refused unless the cluster has the class."""

    rule = LintRule(
        name="unknown-priority-class",
        level=Level.NOTICE,
        about="The named PriorityClass is in none of the files.",
        remedy="Check the name, or apply the class first.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    name: str

    def __str__(self) -> str:
        return f"PriorityClass {self.name} is in none of these files: without it in the cluster the pod is refused."


class SeveralDefaultClasses(Finding, frozen=True):
    """The API server refuses every default class after the first."""

    rule = LintRule(
        name="several-default-classes",
        level=Level.WARNING,
        about="More than one PriorityClass is the default.",
        remedy="Leave globalDefault: true to one class.",
        source=f"{PRIORITY} (validatePriorityClass)",
        term="PriorityClass",
        check_objects=check_classes,
    )
    first: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} classes are the default; {self.first} is one already, and the API server refuses another."
