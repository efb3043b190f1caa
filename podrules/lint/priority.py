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
    """spec.priority or spec.preemptionPolicy differs from the named class."""

    rule = LintRule(
        name="priority-differs",
        level=Level.ERROR,
        about="Priority or preemptionPolicy differs from the named class.",
        remedy="Remove the field: the class decides.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    mismatch: PriorityMismatch

    def __str__(self) -> str:
        return f"{self.mismatch}."


class PriorityWithoutClass(Finding, frozen=True):
    """The API server rejects the pod unless the cluster's default class has the same value."""

    rule = LintRule(
        name="priority-without-class",
        level=Level.WARNING,
        about="A pod sets a priority or preemptionPolicy without a class.",
        remedy="Name a PriorityClass instead.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    mismatch: PriorityMismatch

    def __str__(self) -> str:
        return f"Rejected unless the cluster's default class has the same value: {self.mismatch}."


class NoSuchSystemClass(Finding, frozen=True):
    """Names that begin with system- are reserved, and only two exist."""

    rule = LintRule(
        name="no-such-system-class",
        level=Level.ERROR,
        about="A class name begins with system- and is not one of Kubernetes' own.",
        remedy="Use one of these, or your own class.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    name: str

    def __str__(self) -> str:
        return f"Class {self.name} does not exist: system- names are system-node-critical and system-cluster-critical."


class UnknownClass(Finding, frozen=True):
    """The API server rejects the pod unless the cluster has the class."""

    rule = LintRule(
        name="unknown-priority-class",
        level=Level.NOTICE,
        about="The files do not contain the named PriorityClass.",
        remedy="Check the name, or apply the class first.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    name: str

    def __str__(self) -> str:
        return f"PriorityClass {self.name} is in none of these files: without it in the cluster the pod is rejected."


class SeveralDefaultClasses(Finding, frozen=True):
    """The API server rejects every default class after the first."""

    rule = LintRule(
        name="several-default-classes",
        level=Level.WARNING,
        about="More than one PriorityClass is the default.",
        remedy="Keep globalDefault: true on one class only.",
        source=f"{PRIORITY} (validatePriorityClass)",
        term="PriorityClass",
        check_objects=check_classes,
    )
    first: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} classes are the default; {self.first} already is, and the API server rejects another."
