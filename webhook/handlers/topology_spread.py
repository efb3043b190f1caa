"""Default topology spread constraints, of the cluster or of a namespace, for pods that have none.

The handler writes what kube-scheduler would apply by itself. So everybody can read the constraints in the pod, and they
also hold in clusters whose scheduler cannot be configured. It passes over pods with constraints of their own, bound
pods, pods of a scheduler that the configuration does not name, and namespaces that opted out.

    origin     the Namespace's annotation, else the webhook's configuration for that namespace, else kube-scheduler's;
               none where nothing configures any: the webhook then does not read what selectors are built from
    selector   `DefaultSelector`; for a pod of a ReplicaSet it holds pod-template-hash, so that revisions spread apart.
               The hash can be left out: pods of all revisions then count together, also during a rollout
    keys       matchLabelKeys of a default do not count, as in the scheduler: the API server would refuse a key that
               the selector holds too
    size       none where they would take more than `_MOST_BYTES`: a namespace's owner chooses both the number of
               constraints and the length of the selector, which each of them repeats
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from msgspec import json
from msgspec.structs import replace

from podrules.cluster.errors import ClusterError
from podrules.controller_labels import HASH_LABEL
from podrules.model.pod import Pod, TopologySpreadConstraint
from podrules.model.selectors import LabelSelector
from podrules.scheduler.plugins.pod_topology_spread.default_constraints import build_default_constraints
from podrules.scheduler.profile import DEFAULT_SCHEDULER_NAME
from webhook.cached import CONSTRAINTS_ANNOTATION, CachedNamespace
from webhook.cluster import Cluster
from webhook.namespace_rules import annotated_constraints
from webhook.new_pod import NewPod
from webhook.patch import add
from webhook.response import ALLOWED, Answer

__all__ = ["OPT_OUT_LABEL", "default_topology_spread"]

_LOG: Final = logging.getLogger(__name__)
OPT_OUT_LABEL: Final = "kubectl-qos.io/topology-spread"
"""A label of a Namespace; with value ``disabled`` its pods get no default constraints."""
_MOST_BYTES: Final = 16 << 10
"""Of constraints in JSON. Few pods have more than 2 KiB; an answer that its client does not read stays in memory."""
_DECIDING: Final = frozenset({"metadata.labels", "metadata.ownerReferences", "spec.topologySpreadConstraints"})


def default_topology_spread(new: NewPod, cluster: Cluster) -> Answer:
    """A patch with the default constraints of a new pod; none if a field that they depend on was not read."""
    if not new.left_out.isdisjoint(_DECIDING):
        return ALLOWED
    pod, namespace = new.pod, new.namespace
    if pod.spec.topology_spread_constraints or pod.spec.node_name:
        return ALLOWED
    if namespace.metadata.labels.get(OPT_OUT_LABEL) == "disabled":
        return ALLOWED
    if not cluster.options.default_constraints:
        return _without_defaults(namespace)
    defaults, origin, warnings = _defaults(pod, namespace, cluster)
    try:
        constraints = build_default_constraints(pod, defaults, cluster.siblings(pod))
    except ClusterError as error:
        name = pod.metadata.name or pod.metadata.generate_name
        _LOG.warning(
            "%s in %s gets no default constraints, its owner cannot be read: %s", name, pod.metadata.namespace, error
        )
        return ALLOWED
    # Each has the same selector. No more than one is written to find out how long all are.
    size = len(constraints) * len(json.encode(_as_json(constraints[0]))) if constraints else 0
    if size > _MOST_BYTES:
        left_out = f"spec.topologySpreadConstraints: {origin} are left out"
        too_long = f"with the pod's selector they have {size} bytes; at most {_MOST_BYTES} are added"
        return Answer(warnings=(*warnings, f"{left_out}: {too_long}"))
    if cluster.options.leave_out_template_hash:
        constraints = _of_all_revisions(constraints)
    if not constraints:
        return Answer(warnings=warnings)
    if cluster.options.verbose:
        warnings += (f"spec.topologySpreadConstraints: {_counted(constraints)} filled in, {origin}",)
    written = [_as_json(entry) for entry in constraints]
    return Answer(patch=(add("/spec/topologySpreadConstraints", written),), warnings=warnings)


def _without_defaults(namespace: CachedNamespace) -> Answer:
    """The answer where the webhook gives no defaults: a warning of an annotation that asks for some."""
    if not namespace.metadata.annotations.constraints:
        return ALLOWED
    ignored = f"namespace {namespace.metadata.name}: annotation {CONSTRAINTS_ANNOTATION} is ignored"
    return Answer(warnings=(f"{ignored}: the webhook gives no default constraints",))


def _defaults(
    pod: Pod, namespace: CachedNamespace, cluster: Cluster
) -> tuple[Sequence[TopologySpreadConstraint], str, tuple[str, ...]]:
    """The constraints, their origin in words, and warnings of an annotation that is ignored."""
    scheduler = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    if not cluster.has_profile(scheduler):
        return (), "", ()
    warnings: tuple[str, ...] = ()
    if namespace.metadata.annotations.constraints:
        annotated = annotated_constraints(namespace.metadata.annotations.constraints)
        if not isinstance(annotated, str):
            return annotated, "the namespace's defaults", ()
        warnings = (f"namespace {pod.metadata.namespace}: annotation {CONSTRAINTS_ANNOTATION} is ignored: {annotated}",)
    configured = cluster.options.rules.of(pod.metadata.namespace).constraints
    if configured is not None:
        return configured, "the namespace's defaults", warnings
    return cluster.spread_defaults(scheduler), "the cluster's defaults", warnings


def _of_all_revisions(constraints: Sequence[TopologySpreadConstraint]) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints without pod-template-hash; a constraint without any other term is left out."""
    return tuple(
        replace(entry, label_selector=selector)
        for entry in constraints
        if entry.label_selector is not None and (selector := _without_hash(entry.label_selector)) is not None
    )


def _without_hash(selector: LabelSelector) -> LabelSelector | None:
    labels = {key: value for key, value in selector.match_labels.items() if key != HASH_LABEL}
    expressions = tuple(term for term in selector.match_expressions if term.key != HASH_LABEL)
    return LabelSelector(labels, expressions) if labels or expressions else None


def _counted(constraints: Sequence[TopologySpreadConstraint]) -> str:
    return "1 constraint is" if len(constraints) == 1 else f"{len(constraints)} constraints are"


def _as_json(constraint: TopologySpreadConstraint) -> dict[str, Any]:
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
