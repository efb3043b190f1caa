"""What every check is made of: a rule's statement, and a finding with typed details that words itself.

A kind of finding is a subclass of `Finding`. It holds its rule, the details of one finding as fields, and its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

if TYPE_CHECKING:
    from podrules.lint.objects import Objects, PodCase

__all__ = ["BUDGETS", "PODS", "PRIORITY", "QOS", "SPREAD", "Finding", "Level", "LintRule"]

# Paths in k8s.io/kubernetes at v1.36.3 that several rules have as their source.
PODS: Final = "pkg/apis/core/validation/validation.go"
PRIORITY: Final = "plugin/pkg/admission/priority/admission.go"
SPREAD: Final = "pkg/scheduler/framework/plugins/podtopologyspread"
QOS: Final = "pkg/apis/core/v1/helper/qos/qos.go"
BUDGETS: Final = "pkg/controller/disruption/disruption.go"


class Level(Enum):
    """How severe a finding is, the most severe first."""

    ERROR = "error"
    """The API server refuses the object, or the pods that it makes."""
    WARNING = "warning"
    """The API server accepts it, and what Kubernetes does next is harmful."""
    NOTICE = "notice"
    """The API server accepts it, and perhaps it is not what the author meant."""

    @property
    def rank(self) -> int:
        """0 is the most severe."""
        return list(Level).index(self)


class LintRule(Struct, frozen=True, kw_only=True):
    """The statement of a rule: what it objects to, how severe that is, and which function looks for it."""

    name: str
    """``best-effort``; people write it after ``--disable`` and in comments."""
    level: Level
    about: str
    """One sentence for the table of rules."""
    remedy: str
    """What to write instead; one sentence."""
    source: str
    """A path in k8s.io/kubernetes at v1.36.3, with the function in parentheses where one decides."""
    term: str = ""
    """A word that ``kubectl qos why`` explains (`kubectl_plugin.glossary`); empty: no term fits."""
    check_pod: Callable[[PodCase], Iterator[Finding]] | None = None
    """Looks at one pod, or at a workload's template, and at nothing else."""
    check_objects: Callable[[Objects], Iterator[Finding]] | None = None
    """Looks at all objects together. A rule has one of the two functions; several rules may share one."""


class Finding(Struct, frozen=True):
    """One field that a rule objects to."""

    rule: ClassVar[LintRule]
    position: int
    """The object's index among those that were given."""
    field: str
    """``spec.template.spec.containers[0].resources.requests.cpu``; the object may lack it."""

    @property
    def place(self) -> str:
        """The field whose line and column are shown."""
        return self.field

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self.rule.remedy

    def __str__(self) -> str:
        """What is wrong here, in one sentence."""
        raise NotImplementedError
