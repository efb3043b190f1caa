"""What the cluster's owner decided for namespaces: default and allowed PriorityClasses, default constraints.

which     namespaces are given by name, or by its beginning and `*`; of each field counts what the most specific
          entry says: the name, then the longest beginning
trust     a limit that its own namespace could lift would be none, and who may label a Namespace is not always who
          sets limits: so allowed classes stand here alone; what a Namespace's label or annotation may choose is
          what a pod's author could have written too
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta, Struct

from podrules.model.decode import DecodeError, from_json
from podrules.model.pod import TopologySpreadConstraint
from podrules.scheduler.plugins.pod_topology_spread.args import (
    LIST_DEFAULTING,
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)

__all__ = [
    "EVERY_CLASS",
    "Constraints",
    "NamespaceRule",
    "NamespaceRules",
    "RuleError",
    "annotated_constraints",
    "is_allowed",
    "read_constraints",
]

EVERY_CLASS: Final = "*"
"""Among the allowed classes: all."""
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|([a-z0-9][-a-z0-9]{0,61})?\*", re.ASCII)
_LONGEST_TEXT: Final = 4096
"""Characters of constraints in an annotation, which anybody who may edit the Namespace can write."""

Constraints = tuple[TopologySpreadConstraint, ...]


class RuleError(ValueError):
    """A rule that cannot hold; the message names the namespace and the field."""


class NamespaceRule(Struct, frozen=True, kw_only=True):
    """What is said for a namespace; None: nothing."""

    default_class: str | None = None
    """Of pods that name no PriorityClass."""
    allowed_classes: tuple[str, ...] | None = None
    """When nothing is said, all."""
    constraints: Constraints | None = None
    """In place of the cluster's default constraints; empty: none."""

    def or_else(self, other: NamespaceRule) -> NamespaceRule:
        """What this says, and of all else what the other says."""
        return NamespaceRule(
            default_class=other.default_class if self.default_class is None else self.default_class,
            allowed_classes=other.allowed_classes if self.allowed_classes is None else self.allowed_classes,
            constraints=other.constraints if self.constraints is None else self.constraints,
        )


class NamespaceRules(Struct, frozen=True):
    """The rules by namespace, or by its beginning and ``*``."""

    entries: Mapping[str, NamespaceRule] = {}

    def of(self, namespace: str) -> NamespaceRule:
        """What holds for a namespace."""
        found = NamespaceRule()
        for rule in self._matching(namespace):
            found = found.or_else(rule)
        return found

    def check(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            RuleError: a key is no namespace, or a default class is not among the allowed ones.
        """
        for key, rule in self.entries.items():
            if not _NAMESPACE.fullmatch(key):
                raise RuleError(f"{key!r} is neither a namespace nor its beginning and *")
            allowed = self.of(key).allowed_classes
            if rule.default_class and not is_allowed(rule.default_class, allowed):
                names = ", ".join(allowed or ()) or "none"
                raise RuleError(f"default class {rule.default_class} of {key} is not among its allowed: {names}")

    def _matching(self, namespace: str) -> Iterator[NamespaceRule]:
        """The most specific first."""
        if namespace in self.entries:
            yield self.entries[namespace]
        beginnings = [key for key in self.entries if key.endswith("*") and key != namespace]
        for key in sorted(beginnings, key=len, reverse=True):
            if namespace.startswith(key[:-1]):
                yield self.entries[key]


def is_allowed(class_name: str, allowed: tuple[str, ...] | None) -> bool:
    """Whether a list of allowed classes, if there is one, holds a class."""
    return allowed is None or class_name in allowed or EVERY_CLASS in allowed


class _Constraint(TopologySpreadConstraint, frozen=True, forbid_unknown_fields=True):
    max_skew: Annotated[int, Meta(ge=-(2**31), lt=2**31)] = 0


def read_constraints(text: str) -> Constraints:
    """Default constraints as a JSON list, with the fields that kube-scheduler's configuration has.

    Raises:
        RuleError: it is not one, or kube-scheduler or the API server would refuse it.
    """
    try:
        constraints = from_json(text, tuple[_Constraint, ...])
    except DecodeError as error:
        raise RuleError(str(error)) from error
    args = PodTopologySpreadArgs(constraints, LIST_DEFAULTING)
    problems = validate_pod_topology_spread_args(args, "")
    if problems:
        raise RuleError("; ".join(problem.removeprefix(".") for problem in problems))
    return constraints


@lru_cache(maxsize=256)
def annotated_constraints(text: str) -> Constraints | str:
    """What a Namespace's annotation says, or what is wrong with it."""
    if len(text) > _LONGEST_TEXT:
        return f"longer than {_LONGEST_TEXT} characters"
    try:
        return read_constraints(text)
    except RuleError as error:
        return str(error)
