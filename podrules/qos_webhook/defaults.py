"""The PriorityClass and the topology spread constraints that the webhook writes into a new pod, and its rejections.

default class    the label of the Namespace, if the allowed classes include it, else the configuration
allowed classes  only the configuration: see `podrules.qos_webhook.rules`
constraints      those that kube-scheduler would apply by itself: the Namespace's annotation, else the configuration
                 for that namespace, else kube-scheduler's; none for pods with their own constraints, bound pods,
                 pods of a scheduler that the configuration does not name, and namespaces that opted out
selector         `DefaultSelector`; for a pod of a ReplicaSet it contains pod-template-hash, so that each revision
                 spreads separately. Without the hash, pods of all revisions count together, also during a rollout
keys             matchLabelKeys of a default do not count, as in the scheduler: the API server would reject a key
                 that the selector also contains
size             none if they would take more than `_MOST_BYTES`: a namespace's owner chooses both the number of
                 constraints and the length of the selector, which each of them repeats
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import json
from msgspec.structs import replace

from podrules.api.controllers import HASH_LABEL
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME, Pod, TopologySpreadConstraint
from podrules.api.model.selectors import LabelSelector
from podrules.pod.priority import UnknownPriorityClass
from podrules.qos_webhook.rules import PodRules, WarningLevel, annotated_constraints, is_allowed, most_specific
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    LIST_DEFAULTING,
    Siblings,
    build_default_constraints,
)
from podrules.scheduling.scheduler.profile import Profile

DEFAULT_CLASS_LABEL: Final = "kubectl-qos.io/default-priority-class"
"""A label of a Namespace: the class of its pods without one."""
OPT_OUT_LABEL: Final = "kubectl-qos.io/topology-spread"
"""A label of a Namespace; with value ``disabled`` its pods get no default constraints."""
CONSTRAINTS_ANNOTATION: Final = "kubectl-qos.io/default-topology-spread-constraints"
"""An annotation of a Namespace: the default constraints of its pods as JSON, which replace the cluster's."""
DEFAULT_PROFILES: Final = {DEFAULT_SCHEDULER_NAME: Profile(DEFAULT_SCHEDULER_NAME)}
"""The profile that kube-scheduler uses without a configuration."""
_MOST_BYTES: Final = 16 << 10
"""The size of constraints in JSON. Few pods have more than 2 KiB; a response that no client reads stays in memory."""


class Space(NamedTuple):
    """The fields of a Namespace that the rules read."""

    name: str
    labels: Mapping[str, str]
    constraints: str
    """The annotation with default constraints; empty: it has none."""


class DefaultSpread(NamedTuple):
    """The default constraints of a pod."""

    constraints: Sequence[TopologySpreadConstraint] = ()
    origin: str = ""
    """``the namespace's defaults``."""
    warnings: tuple[str, ...] = ()
    """Why some are not added, and which are added if the configuration requests that."""


def namespace_default(space: Space, rules: PodRules) -> str:
    """The name of the class for pods without one; empty: they get the cluster's global default."""
    label = space.labels.get(DEFAULT_CLASS_LABEL, "")
    if label and is_allowed(label, rules.allowed_classes(space.name)):
        return label
    return most_specific(rules.priority_classes.defaults, space.name) or ""


def not_given(namespace: str, unknown: UnknownPriorityClass) -> str:
    """The warning if the default class of a namespace does not exist."""
    return f"namespace {namespace}: its default class is not given: {unknown}"


def disallowed(class_name: str, namespace: str, rules: PodRules) -> str:
    """Why a class is not allowed in a namespace; empty: it is. Pods without a class are always allowed."""
    allowed = rules.allowed_classes(namespace)
    if not class_name or is_allowed(class_name, allowed):
        return ""
    named = ", ".join(allowed or ()) or "none"
    return f"PriorityClass {class_name} is not allowed in namespace {namespace} (allowed: {named})"


def scheduler_defaults(
    profiles: Mapping[str, Profile], scheduler_name: str, *, write_system: bool
) -> Sequence[TopologySpreadConstraint] | None:
    """The default constraints of a scheduler's pods; None: the configuration does not name the scheduler.

    The scheduler applies those of type System by itself.
    """
    profile = profiles.get(scheduler_name)
    if profile is None:
        return None
    args = profile.pod_topology_spread
    return args.constraints if write_system or args.defaulting_type == LIST_DEFAULTING else ()


def may_get_constraints(pod: Pod, space: Space) -> bool:
    """Whether a pod in a namespace can get default constraints."""
    own = pod.spec.topology_spread_constraints or pod.spec.node_name
    return not own and space.labels.get(OPT_OUT_LABEL) != "disabled"


def default_spread(
    pod: Pod,
    space: Space,
    rules: PodRules,
    of_scheduler: Callable[[str], Sequence[TopologySpreadConstraint] | None],
    siblings: Siblings,
) -> DefaultSpread:
    """The default constraints of a new pod.

    Args:
        pod: The pod with its future labels and owner.
        space: Its namespace.
        rules: The webhook's rules.
        of_scheduler: See `scheduler_defaults`.
        siblings: The objects for its selector. It may raise the errors of reading them.
    """
    if not may_get_constraints(pod, space):
        return DefaultSpread()
    if not rules.cluster_default_constraints.enabled:
        ignored = f"namespace {space.name}: annotation {CONSTRAINTS_ANNOTATION} is ignored"
        warning = f"{ignored}: the webhook gives no default constraints"
        return DefaultSpread(warnings=(warning,) if space.constraints else ())
    defaults, origin, warnings = _defaults(pod, space, rules, of_scheduler)
    constraints = build_default_constraints(pod, defaults, siblings)
    # All have the same selector: the size of one is enough to compute the total.
    size = len(constraints) * len(json.encode(as_json(constraints[0]))) if constraints else 0
    if size > _MOST_BYTES:
        left_out = f"spec.topologySpreadConstraints: {origin} are left out"
        too_long = f"with the pod's selector they have {size} bytes; at most {_MOST_BYTES} are added"
        return DefaultSpread(warnings=(*warnings, f"{left_out}: {too_long}"))
    if rules.cluster_default_constraints.leave_out_template_hash:
        # A constraint without another term than pod-template-hash is left out.
        every: list[TopologySpreadConstraint] = []
        for entry in constraints:
            chosen = entry.label_selector or LabelSelector()
            labels = {key: value for key, value in chosen.match_labels.items() if key != HASH_LABEL}
            expressions = tuple(term for term in chosen.match_expressions if term.key != HASH_LABEL)
            if labels or expressions:
                every.append(replace(entry, label_selector=LabelSelector(labels, expressions)))
        constraints = tuple(every)
    if constraints and rules.warnings is WarningLevel.VERBOSE:
        number = "1 constraint is" if len(constraints) == 1 else f"{len(constraints)} constraints are"
        warnings += (f"spec.topologySpreadConstraints: {number} filled in, {origin}",)
    return DefaultSpread(constraints, origin if constraints else "", warnings)


def _defaults(
    pod: Pod,
    space: Space,
    rules: PodRules,
    of_scheduler: Callable[[str], Sequence[TopologySpreadConstraint] | None],
) -> tuple[Sequence[TopologySpreadConstraint], str, tuple[str, ...]]:
    """The constraints, their origin in words, and warnings about an ignored annotation."""
    own = of_scheduler(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)
    if own is None:
        return (), "", ()
    warnings: tuple[str, ...] = ()
    if space.constraints:
        annotated = annotated_constraints(space.constraints)
        if not isinstance(annotated, str):
            return annotated, "the namespace's defaults", ()
        warnings = (f"namespace {space.name}: annotation {CONSTRAINTS_ANNOTATION} is ignored: {annotated}",)
    configured = most_specific(rules.cluster_default_constraints.namespaces, space.name)
    if configured is not None:
        return configured, "the namespace's defaults", warnings
    return own, "the cluster's defaults", warnings


def as_json(constraint: TopologySpreadConstraint) -> dict[str, Any]:
    """The constraint in JSON, without the fields that are not set."""
    selector: dict[str, Any] = {}
    if constraint.label_selector is not None:
        if constraint.label_selector.match_labels:
            selector["matchLabels"] = constraint.label_selector.match_labels
        expressions = [
            {"key": term.key, "operator": term.operator} | ({"values": list(term.values)} if term.values else {})
            for term in constraint.label_selector.match_expressions
        ]
        if expressions:
            selector["matchExpressions"] = expressions
    optional = {
        "minDomains": constraint.min_domains,
        "nodeAffinityPolicy": constraint.node_affinity_policy,
        "nodeTaintsPolicy": constraint.node_taints_policy,
    }
    return {
        "maxSkew": constraint.max_skew,
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": constraint.when_unsatisfiable,
        "labelSelector": selector,
        **{name: value for name, value in optional.items() if value is not None},
    }
