"""The cluster administrator's rules per namespace: default and allowed PriorityClasses, default constraints.

which     an entry is for a namespace's name, or for a prefix and `*`; for each field the most specific entry wins:
          the name, then the longest prefix
trust     only these rules limit the classes: a namespace must not remove its own limit, and not every user who can
          label a Namespace may set limits. A Namespace's label or annotation sets only values that a pod's author
          could also write
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta, Struct

from podrules.api.model.decode import DecodeError, from_json
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    LIST_DEFAULTING,
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)

EVERY_CLASS: Final = "*"
"""An entry of the allowed classes that allows all."""
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|([a-z0-9][-a-z0-9]{0,61})?\*", re.ASCII)
_LONGEST_TEXT: Final = 4096
"""The characters of constraints in an annotation: every user who may edit the Namespace can write them."""

Constraints = tuple[TopologySpreadConstraint, ...]


class RuleError(ValueError):
    """A rule is not valid; the message names the namespace and the field."""


class NamespaceRule(Struct, frozen=True, kw_only=True):
    """The rule for a namespace; None: the rule does not set the field."""

    default_class: str | None = None
    """The class of pods without a PriorityClass."""
    allowed_classes: tuple[str, ...] | None = None
    """None: all classes are allowed."""
    constraints: Constraints | None = None
    """The constraints that replace the cluster's default constraints; empty: none."""

    def or_else(self, other: NamespaceRule) -> NamespaceRule:
        """This rule, with the other's values for fields that this one does not set."""
        return NamespaceRule(
            default_class=other.default_class if self.default_class is None else self.default_class,
            allowed_classes=other.allowed_classes if self.allowed_classes is None else self.allowed_classes,
            constraints=other.constraints if self.constraints is None else self.constraints,
        )


class NamespaceRules(Struct, frozen=True):
    """The rules by namespace, or by prefix and ``*``."""

    entries: Mapping[str, NamespaceRule] = {}

    def of(self, namespace: str) -> NamespaceRule:
        """The rule for a namespace, combined from all entries that match."""
        found = NamespaceRule()
        for rule in self._matching(namespace):
            found = found.or_else(rule)
        return found

    def check(self) -> None:
        """Check that the rules are valid and do not contradict each other.

        Raises:
            RuleError: a key is not a namespace, or a default class is not among the allowed ones.
        """
        for key, rule in self.entries.items():
            if not _NAMESPACE.fullmatch(key):
                raise RuleError(f"{key!r} is neither a namespace nor its beginning and *")
            allowed = self.of(key).allowed_classes
            if rule.default_class and not is_allowed(rule.default_class, allowed):
                names = ", ".join(allowed or ()) or "none"
                raise RuleError(f"default class {rule.default_class} of {key} is not among its allowed: {names}")

    def _matching(self, namespace: str) -> Iterator[NamespaceRule]:
        """The entries that match, the most specific first."""
        if namespace in self.entries:
            yield self.entries[namespace]
        beginnings = [key for key in self.entries if key.endswith("*") and key != namespace]
        for key in sorted(beginnings, key=len, reverse=True):
            if namespace.startswith(key[:-1]):
                yield self.entries[key]


def is_allowed(class_name: str, allowed: tuple[str, ...] | None) -> bool:
    """Whether a class is allowed; None allows all."""
    return allowed is None or class_name in allowed or EVERY_CLASS in allowed


class _Constraint(TopologySpreadConstraint, frozen=True, forbid_unknown_fields=True):
    max_skew: Annotated[int, Meta(ge=-(2**31), lt=2**31)] = 0


def read_constraints(text: str) -> Constraints:
    """Read default constraints from a JSON list, with the fields of kube-scheduler's configuration.

    Raises:
        RuleError: the text is not such a list, or kube-scheduler or the API server would reject it.
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
    """Read the constraints in a Namespace's annotation; a text describes its problem."""
    if len(text) > _LONGEST_TEXT:
        return f"longer than {_LONGEST_TEXT} characters"
    try:
        return read_constraints(text)
    except RuleError as error:
        return str(error)
