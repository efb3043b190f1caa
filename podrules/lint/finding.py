"""The parts of every check: a rule's statement, and a finding with typed details and its sentence.

A kind of finding is a subclass of `Finding`. It has its rule, the details of one finding as fields, and its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from podrules.lint.objects import Objects, PodCase

# Paths in k8s.io/kubernetes at v1.36.3 that several rules have as their source.
PODS: Final = "pkg/apis/core/validation/validation.go"
PRIORITY: Final = "plugin/pkg/admission/priority/admission.go"
SPREAD: Final = "pkg/scheduler/framework/plugins/podtopologyspread"
QOS: Final = "pkg/apis/core/v1/helper/qos/qos.go"
BUDGETS: Final = "pkg/controller/disruption/disruption.go"


class Level(Enum):
    """How severe a finding is, the most severe first."""

    ERROR = "error"
    """The API server rejects the object, or the pods that it creates."""
    WARNING = "warning"
    """The API server accepts it, and what Kubernetes does next is harmful."""
    NOTICE = "notice"
    """The API server accepts it, but it may not be what the author meant."""

    @property
    def rank(self) -> int:
        """0 is the most severe."""
        return list(Level).index(self)


class LintRule(Struct, frozen=True, kw_only=True):
    """The statement of a rule: what it reports, how severe that is, and which function finds it."""

    name: str
    """``best-effort``; the name for ``--disable`` and for comments in manifests."""
    level: Level
    about: str
    """One sentence for the table of rules."""
    remedy: str
    """What to write instead, in one sentence."""
    source: str
    """A path in k8s.io/kubernetes at v1.36.3, with the deciding function in parentheses, if any."""
    term: str = ""
    """A word that ``kubectl qos why`` explains (`kubectl_plugin.glossary`); empty: no term fits."""
    check_pod: Callable[[PodCase], Iterator[Finding]] | None = None
    """Checks only one pod, or one workload's template."""
    check_objects: Callable[[Objects], Iterator[Finding]] | None = None
    """Checks all objects together. A rule has one of the two functions; several rules may share one."""


class Finding(Struct, frozen=True):
    """One field that a rule reports."""

    position: int
    """The object's index in the input."""
    field: str
    """``spec.template.spec.containers[0].resources.requests.cpu``; it may be missing in the object."""

    @property
    def rule(self) -> LintRule:
        """Its rule: an attribute of the class, or of the finding where rules differ in data alone."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """The field with the shown line and column."""
        return self.field

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.rule.remedy

    def __str__(self) -> str:
        """The problem in one sentence."""
        raise NotImplementedError
