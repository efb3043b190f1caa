"""The flags of qos-webhook with rules for new pods, and the options that result from them.

The program parses its command line with them, and `kubectl qos explain` the arguments of the program's Deployment.
Namespaces are given by name, or by a prefix and ``*`` if the help says so.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple, NoReturn

from msgspec import Meta, Struct

from podrules.api.model.decode import DecodeError, from_json
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    LIST_DEFAULTING,
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)

# The cluster administrator's rules per namespace: default and allowed PriorityClasses, default constraints.
#
# which     an entry is for a namespace's name, or for a prefix and `*`; for each field the most specific entry wins:
#           the name, then the longest prefix
# trust     only these rules limit the classes: a namespace must not remove its own limit, and not every user who can
#           label a Namespace may set limits. A Namespace's label or annotation sets only values that a pod's author
#           could also write

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
        """The rule for a namespace, combined from all entries that match, the most specific first."""
        found = self.entries.get(namespace, NamespaceRule())
        beginnings = [key for key in self.entries if key.endswith("*") and key != namespace]
        for key in sorted(beginnings, key=len, reverse=True):
            if namespace.startswith(key[:-1]):
                found = found.or_else(self.entries[key])
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


class ObjectRef(Struct, frozen=True):
    """The namespace and name of an object of a known kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class RuleMode(Enum):
    """The result for a request that violates a rule."""

    WARN = "warn"
    DENY = "deny"


class RuleOptions(Struct, frozen=True, kw_only=True):
    """The rules for new pods and the workloads that create them."""

    rules: NamespaceRules = NamespaceRules()
    """The rules for namespaces."""
    disallowed_class: RuleMode = RuleMode.DENY
    """For pods with a PriorityClass that their namespace does not allow."""
    template_class: RuleMode = RuleMode.WARN
    """For workloads with pods that would be rejected for their class."""
    verbose: bool = False
    """Whether warnings also report the added defaults."""
    default_constraints: bool = True
    """Whether pods may get default constraints. If not, the objects for their selectors are not read, and a
    Namespace's annotation is ignored."""
    leave_out_template_hash: bool = False
    """Whether default constraints select the pods of all revisions of a Deployment together."""
    lint_selectors: bool = True
    """Whether to warn about a constraint with a selector that does not match the pod itself."""
    lint_topology_keys: bool = False
    """Whether to warn about a topologyKey that no node has; the cache then contains the labels of nodes."""


class PodRules(NamedTuple):
    """The rules for new pods in the arguments of a running webhook."""

    options: RuleOptions
    scheduler_config: ObjectRef | None
    write_system_defaults: bool


def object_ref(text: str) -> ObjectRef:
    """Read ``NAMESPACE/NAME``."""
    namespace, slash, name = text.partition("/")
    if not (slash and namespace and name) or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/NAME")
    return ObjectRef(namespace, name)


def _namespace_value(text: str) -> tuple[str, str]:
    namespace, equals, value = text.partition("=")
    if not (equals and namespace):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE=…")
    return namespace, value


def _namespace_class(text: str) -> tuple[str, NamespaceRule]:
    namespace, name = _namespace_value(text)
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} names no class")
    return namespace, NamespaceRule(default_class=name)


def _namespace_classes(text: str) -> tuple[str, NamespaceRule]:
    namespace, names = _namespace_value(text)
    return namespace, NamespaceRule(allowed_classes=tuple(filter(None, names.split(","))))


def _namespace_constraints(text: str) -> tuple[str, NamespaceRule]:
    namespace, constraints = _namespace_value(text)
    try:
        return namespace, NamespaceRule(constraints=read_constraints(constraints))
    except RuleError as error:
        raise argparse.ArgumentTypeError(f"{namespace}: {error}") from error


def _verdict(text: str) -> RuleMode:
    try:
        return RuleMode(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither warn nor deny") from None


def _is_verbose(text: str) -> bool:
    if text not in {"usual", "verbose"}:
        raise argparse.ArgumentTypeError(f"{text!r} is neither usual nor verbose")
    return text == "verbose"


_FLAGS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "default topology spread constraints": {
        "--scheduler-config": {
            "type": object_ref,
            "metavar": "NAMESPACE/NAME",
            "help": "ConfigMap with the cluster's KubeSchedulerConfiguration",
        },
        "--write-system-defaults": {
            "action": "store_true",
            "help": "also write constraints of defaultingType System, which kube-scheduler applies by itself",
        },
        "--default-constraints": {
            "type": _namespace_constraints,
            "action": "append",
            "default": [],
            "metavar": "NAMESPACE=JSON",
            "help": "a list of constraints that replaces the cluster's, for a namespace or, as team-*, for a name "
            "prefix; [] for none; may be repeated",
        },
        "--constraints-from-annotations": {
            "action": "store_true",
            "help": "let Namespaces' annotations set constraints even if none of the above does; the objects for "
            "selectors are read only if a pod may get constraints",
        },
        "--leave-out-template-hash": {
            "action": "store_true",
            "help": "select the pods of all revisions of a Deployment; kube-scheduler's selector spreads each one "
            "separately",
        },
        "--lint-spread-selectors": {
            "action": argparse.BooleanOptionalAction,
            "default": True,
            "help": "warn about constraints with a selector that does not match the pod itself (default on)",
        },
        "--lint-topology-keys": {
            "action": argparse.BooleanOptionalAction,
            "default": False,
            "help": "warn about constraints with a topologyKey that no node has; keeps node labels in memory (default "
            "off)",
        },
    },
    "PriorityClasses": {
        "--default-class": {
            "type": _namespace_class,
            "action": "append",
            "default": [],
            "metavar": "NAMESPACE=CLASS",
            "help": "class of pods without one; NAMESPACE as above; may be repeated",
        },
        "--allowed-classes": {
            "type": _namespace_classes,
            "action": "append",
            "default": [],
            "metavar": "NAMESPACE=CLASS,…",
            "help": "the classes that pods may have, * for any, empty for none; NAMESPACE as above; may be repeated",
        },
        "--disallowed-class": {
            "type": _verdict,
            "default": RuleMode.DENY,
            "metavar": "deny|warn",
            "help": "for pods with a class that is not allowed (default deny)",
        },
        "--template-class": {
            "type": _verdict,
            "default": RuleMode.WARN,
            "metavar": "warn|deny",
            "help": "for workloads with pods that would be rejected for their class (default warn)",
        },
    },
}
"""The flags of each group, with their arguments for `argparse`."""


def add_pod_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags with rules for new pods to a parser."""
    for title, group_flags in _FLAGS.items():
        group = parser.add_argument_group(title)
        for flag, settings in group_flags.items():
            group.add_argument(flag, **settings)
    parser.add_argument(
        "--warnings",
        type=_is_verbose,
        default=False,
        metavar="usual|verbose",
        help="verbose: also report the added defaults (default)",
    )


def read_options(parser: argparse.ArgumentParser, args: argparse.Namespace, *, demo: bool = False) -> RuleOptions:
    """Read the rules for new pods and their workloads from the flags."""
    entries: dict[str, NamespaceRule] = {}
    for namespace, rule in (*args.default_class, *args.allowed_classes, *args.default_constraints):
        entries[namespace] = rule.or_else(entries.get(namespace, NamespaceRule()))
    rules = NamespaceRules(entries)
    try:
        rules.check()
    except RuleError as error:
        parser.error(str(error))
    return RuleOptions(
        rules=rules,
        disallowed_class=args.disallowed_class,
        template_class=args.template_class,
        verbose=args.warnings,
        default_constraints=demo
        or args.scheduler_config is not None
        or args.write_system_defaults
        or args.constraints_from_annotations
        or any(rule.constraints for rule in entries.values()),
        leave_out_template_hash=args.leave_out_template_hash,
        lint_selectors=args.lint_spread_selectors,
        lint_topology_keys=args.lint_topology_keys,
    )


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RuleError(message)


@lru_cache(maxsize=8)
def read_arguments(arguments: tuple[str, ...]) -> PodRules:
    """Read the rules from the arguments of a running webhook, and skip other arguments.

    Raises:
        RuleError: the program would not start with them.
    """
    parser = _Arguments(add_help=False)
    add_pod_flags(parser)
    args, _ = parser.parse_known_args(arguments)
    return PodRules(read_options(parser, args), args.scheduler_config, args.write_system_defaults)
