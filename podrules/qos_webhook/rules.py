"""The rules of qos-webhook for new pods, as its configuration file has them.

The program reads them from its file, and `kubectl qos explain` from the ConfigMap that holds the file. Entries are for
a namespace's name, or for a prefix and ``*``; the most specific entry counts: the name, then the longest prefix.

Only these rules limit the classes: a namespace must not remove its own limit, and not every user who can label a
Namespace may set limits. A Namespace's label or annotation sets only values that a pod's author could also write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin

from msgspec import Meta
from msgspec.structs import fields

from podrules.admission.validation.formats import dns_subdomain
from podrules.api.model.base import Model
from podrules.api.model.decode import DecodeError, from_json, from_object
from podrules.api.model.pod import TopologySpreadConstraint
from podrules.api.names import nearest_word
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    LIST_DEFAULTING,
    PodTopologySpreadArgs,
    validate_pod_topology_spread_args,
)

CONFIG_VERSION: Final = "kubectl-qos.io/v1"
CONFIG_KIND: Final = "QosWebhookConfiguration"
EVERY_CLASS: Final = "*"
"""An entry of the allowed classes that allows all."""
NAMESPACE_OR_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|([a-z0-9][-a-z0-9]{0,61})?\*", re.ASCII)
_LONGEST_TEXT: Final = 4096
"""The characters of constraints in an annotation: every user who may edit the Namespace can write them."""

T = TypeVar("T")


class RuleError(ValueError):
    """A rule is not valid; the message names the field."""


_Int32 = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class _Constraint(TopologySpreadConstraint, frozen=True, forbid_unknown_fields=True):
    max_skew: _Int32 = 0
    min_domains: _Int32 | None = None


Constraints = tuple[TopologySpreadConstraint, ...]


class ObjectRef(Model, frozen=True, forbid_unknown_fields=True):
    """The namespace and name of an object of a known kind."""

    namespace: Annotated[str, Meta(min_length=1)]
    name: Annotated[str, Meta(min_length=1)]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class RuleMode(Enum):
    """The result for a request that violates a rule."""

    WARN = "warn"
    DENY = "deny"


class WarningLevel(Enum):
    """Which warnings are sent besides those about problems."""

    USUAL = "usual"
    VERBOSE = "verbose"
    """Also the added defaults."""


class PriorityClassRules(Model, frozen=True, forbid_unknown_fields=True):
    """``priorityClasses``: the classes by namespace."""

    defaults: dict[str, str] = {}
    """The class of pods without a PriorityClass."""
    allowed: dict[str, tuple[str, ...]] = {}
    """The classes that pods may have, `EVERY_CLASS` for all; a namespace without an entry allows all."""
    disallowed: RuleMode = RuleMode.DENY
    """For pods with a PriorityClass that their namespace does not allow."""
    templates: RuleMode = RuleMode.WARN
    """For workloads with pods that would be rejected for their class."""


class ConstraintRules(Model, frozen=True, forbid_unknown_fields=True):
    """``clusterDefaultConstraints``: the topology spread constraints of pods without their own."""

    config_map: ObjectRef | None = None
    """The ConfigMap with the cluster's KubeSchedulerConfiguration."""
    namespaces: dict[str, tuple[_Constraint, ...]] = {}
    """The constraints that replace the cluster's, by namespace; empty: none."""
    annotations: bool = False
    """Whether a Namespace's annotation sets constraints even if nothing else here does."""
    leave_out_template_hash: bool = False
    """Whether they select the pods of all revisions of a Deployment together."""
    write_system_defaults: bool = False
    """Whether those of defaultingType System are written too; the scheduler applies them by itself."""

    @property
    def enabled(self) -> bool:
        """Whether pods may get constraints. If not, the sources of selectors are not read, nor are annotations."""
        own = self.config_map is not None or any(self.namespaces.values())
        return own or self.annotations or self.write_system_defaults


class LintRules(Model, frozen=True, forbid_unknown_fields=True):
    """``lint``: warnings about a pod's own topology spread constraints."""

    spread_selectors: bool = True
    """About a selector that does not match the pod itself."""
    topology_keys: bool = False
    """About a topologyKey that no node has; the cache then contains the labels of nodes."""


class PodRules(Model, frozen=True, kw_only=True):
    """The rules for new pods and the workloads that create them."""

    api_version: Literal["kubectl-qos.io/v1"] = CONFIG_VERSION
    kind: Literal["QosWebhookConfiguration"] = CONFIG_KIND
    priority_classes: PriorityClassRules = PriorityClassRules()
    cluster_default_constraints: ConstraintRules = ConstraintRules()
    lint: LintRules = LintRules()
    warnings: WarningLevel = WarningLevel.USUAL

    def allowed_classes(self, namespace: str) -> tuple[str, ...] | None:
        """The classes that a namespace allows; None: all."""
        return most_specific(self.priority_classes.allowed, namespace)

    def check(self) -> None:
        """Check that the rules are valid and do not contradict each other.

        Raises:
            RuleError: a key is not a namespace, a default class is not among the allowed ones, or kube-scheduler or
                the API server would reject a constraint.
        """
        classes, constraints = self.priority_classes, self.cluster_default_constraints.namespaces
        by_field: dict[str, Mapping[str, Any]] = {
            "priorityClasses.defaults": classes.defaults,
            "priorityClasses.allowed": classes.allowed,
            "clusterDefaultConstraints.namespaces": constraints,
        }
        for place, entries in by_field.items():
            for key in entries:
                if not NAMESPACE_OR_PREFIX.fullmatch(key):
                    raise RuleError(f"{place}: {key!r} is neither a namespace nor its beginning and *")
        for key, name in classes.defaults.items():
            allowed = self.allowed_classes(key)
            if dns_subdomain(name):
                raise RuleError(f"priorityClasses.defaults.{key}: {name!r} is not the name of a class")
            if not is_allowed(name, allowed):
                among = ", ".join(allowed or ()) or "none"
                raise RuleError(f"default class {name} of {key} is not among its allowed: {among}")
        for key, names in classes.allowed.items():
            for name in names:
                if name != EVERY_CLASS and dns_subdomain(name):
                    raise RuleError(f"priorityClasses.allowed.{key}: {name!r} is not the name of a class")
        for key, own in constraints.items():
            try:
                _check_constraints(own)
            except RuleError as error:
                raise RuleError(f"clusterDefaultConstraints.namespaces.{key}: {error}") from error


Rules = TypeVar("Rules", bound=PodRules)


def most_specific(entries: Mapping[str, T], namespace: str) -> T | None:
    """The value for a namespace: of the entry with its name, else of the longest prefix with ``*``."""
    if namespace in entries:
        return entries[namespace]
    matching = [key for key in entries if key.endswith("*") and namespace.startswith(key[:-1])]
    return entries[max(matching, key=len)] if matching else None


def is_allowed(class_name: str, allowed: tuple[str, ...] | None) -> bool:
    """Whether a class is allowed; None allows all."""
    return allowed is None or class_name in allowed or EVERY_CLASS in allowed


def read_rules(document: Any, kind: type[Rules]) -> Rules:
    """Read the rules from the document of a configuration file; ``kind`` is `PodRules` or extends it.

    Raises:
        RuleError: a field has the wrong type, or rules contradict each other.
    """
    try:
        found = from_object(document, kind)
    except DecodeError as error:
        raise RuleError(_explained(error, document, kind)) from error
    for place in _nulls(document):
        raise RuleError(f"{place}: nothing stands here; write a value, or omit the key")
    found.check()
    return found


def _nulls(value: Any, place: str = "") -> Iterator[str]:
    """The places without a value. The decoder ignores them, so a rule without a value would not be applied."""
    if value is None:
        yield place
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _nulls(entry, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _nulls(entry, f"{place}[{index}]")


def _explained(error: DecodeError, value: Any, kind: Any, place: str = "") -> str:
    """The decoder's message, with the values of an enum, and with the key of a mapping, which the decoder omits."""
    # Loaded only for an error, which is rare.
    from podrules.api.model.misfit import shown

    steps = [place] if place else []
    for step in filter(None, error.field.replace("[...]", "").split(".")):
        if get_origin(kind) is dict:
            break
        is_struct = isinstance(kind, type) and issubclass(kind, Model)
        kind = {one.encode_name: one.type for one in fields(kind)}.get(step) if is_struct else None
        value = value.get(step) if isinstance(value, Mapping) else None
        steps.append(step)
    place = ".".join(steps).replace(".[", "[")
    if get_origin(kind) is dict and isinstance(value, Mapping):
        for key, entry in value.items():
            try:
                from_object(entry, get_args(kind)[1])
            except DecodeError as inner:
                return _explained(inner, entry, get_args(kind)[1], f"{place}.{key}")
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = tuple(one.value for one in kind)
    problem = f"{shown(value)} is none of {', '.join(choices)}" if choices else error.problem
    if "unknown field" in problem and isinstance(kind, type) and issubclass(kind, Model):
        near = nearest_word(problem.split('"')[1], [one.encode_name for one in fields(kind)])
        problem += f"; did you mean {near}?" if near else ""
    return str(DecodeError(problem, place))


def read_constraints(text: str) -> Constraints:
    """Read default constraints from a JSON list, with the fields of kube-scheduler's configuration.

    Raises:
        RuleError: the text is not such a list, or kube-scheduler or the API server would reject it.
    """
    try:
        constraints = from_json(text, tuple[_Constraint, ...])
    except DecodeError as error:
        raise RuleError(str(error)) from error
    _check_constraints(constraints)
    return constraints


def _check_constraints(constraints: Constraints) -> None:
    args = PodTopologySpreadArgs(constraints, LIST_DEFAULTING)
    if problems := validate_pod_topology_spread_args(args, ""):
        raise RuleError("; ".join(problem.removeprefix(".") for problem in problems))


@lru_cache(maxsize=256)
def annotated_constraints(text: str) -> Constraints | str:
    """Read the constraints in a Namespace's annotation; a text describes its problem."""
    if len(text) > _LONGEST_TEXT:
        return f"longer than {_LONGEST_TEXT} characters"
    try:
        return read_constraints(text)
    except RuleError as error:
        return str(error)
