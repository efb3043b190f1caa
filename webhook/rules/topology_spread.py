"""Topology spread constraints: defaults for pods that have none, and warnings about ineffective ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from cluster_io.errors import ClusterError
from podrules.api.controllers import ADDED_LABELS
from podrules.api.model.pod import Pod, PodTemplateSpec, TopologySpreadConstraint
from podrules.lint.spread import SelectorMiss, selector_misses
from podrules.qos_webhook.defaults import as_json, default_spread
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import DO_NOT_SCHEDULE
from webhook.cluster.view import Cluster
from webhook.reviews.new_pod import NewPod
from webhook.reviews.partial_objects import MAX_VALUES, PartialObject
from webhook.reviews.response import ALLOWED, Answer, add
from webhook.rules.pod_template import TemplateReview
from webhook.rules.priority import did_you_mean

# Default topology spread constraints, of the cluster or of a namespace, for pods that have none.
#
# The handler writes the constraints that kube-scheduler would apply by itself; `podrules.qos_webhook.defaults` has the
# rule. So they are visible in the pod, and they also apply in clusters with a scheduler that cannot be configured. If
# no constraints are configured, the webhook does not read the objects that selectors are built from.

_LOG: Final = logging.getLogger(__name__)
_DECIDING: Final = frozenset({"metadata.labels", "metadata.ownerReferences", "spec.topologySpreadConstraints"})


def default_topology_spread(new: NewPod, cluster: Cluster) -> Answer:
    """Patch the default constraints of a new pod; not if a field that they depend on was not read."""
    if not new.left_out.isdisjoint(_DECIDING):
        return ALLOWED
    pod = new.pod
    try:
        found = default_spread(
            pod, new.namespace.space, cluster.options, cluster.spread_defaults, cluster.siblings(pod)
        )
    except ClusterError as error:
        name = pod.metadata.name or pod.metadata.generate_name
        _LOG.warning(
            "%s in %s gets no default constraints: its owner cannot be read: %s", name, pod.metadata.namespace, error
        )
        return ALLOWED
    if not found.constraints:
        return Answer(warnings=found.warnings)
    written = [as_json(entry) for entry in found.constraints]
    return Answer(patch=(add("/spec/topologySpreadConstraints", written),), warnings=found.warnings)


# Warnings about ineffective topology spread constraints.
#
#     selector        it does not match the pod itself (`podrules.lint.spread.selector_misses`)
#     topologyKey     no node has such a label: with DoNotSchedule the pod fits nowhere, with ScheduleAnyway it spreads
#                     over nothing. Only if the webhook caches the labels of nodes: `lint.topologyKeys`
#
# Pods and workloads of a controller are skipped: the client that created their owner got the warning. The number of
# constraints and of warnings is limited, because an object of a megabyte has tens of thousands.
#
# Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering}.go (selfMatch) at v1.36.3.

_FIELD: Final = "topologySpreadConstraints"
_MAX_CONSTRAINTS: Final = 100
_MAX_WARNINGS: Final = 10
_MAX_SUGGESTIONS: Final = 3
"""The maximum number of unknown topologyKeys with suggestions: each takes some milliseconds to compute."""


def lint_spread(seen: PartialObject[Pod], cluster: Cluster) -> Answer:
    """Warn the client that creates a pod."""
    if seen.object.metadata.controller is not None:
        return ALLOWED
    return _answer(seen, "", cluster, added=frozenset())


def lint_spread_of_template(review: TemplateReview, cluster: Cluster) -> Answer:
    """Warn the client that creates or changes a workload."""
    if review.is_controlled:
        return ALLOWED
    template = PartialObject(review.template, review.workload.left_out)
    return _answer(template, f"{review.path}.", cluster, added=ADDED_LABELS)


def _answer(
    seen: PartialObject[Pod | PodTemplateSpec], path: str, cluster: Cluster, *, added: frozenset[str]
) -> Answer:
    place = f"{path}spec.{_FIELD}"
    if not seen.left_out.isdisjoint({place, f"{path}metadata.labels"}):
        return Answer(warnings=(f"{place}: not checked: they or the labels have more than {MAX_VALUES} values",))
    constraints = seen.object.spec.topology_spread_constraints
    problems = [*_problems(seen.object, place, cluster, added)] if constraints else []
    if not problems:
        return ALLOWED
    warnings = [warning() for warning in problems[:_MAX_WARNINGS]]
    if len(problems) > _MAX_WARNINGS:
        warnings.append(f"{place}: and {len(problems) - _MAX_WARNINGS} more")
    if len(constraints) > _MAX_CONSTRAINTS:
        warnings.append(f"{place}: only the first {_MAX_CONSTRAINTS} of {len(constraints)} constraints are checked")
    return Answer(warnings=tuple(warnings))


def _problems(
    pod: Pod | PodTemplateSpec, path: str, cluster: Cluster, added: frozenset[str]
) -> Iterator[Callable[[], str]]:
    """Yield a function for each problem that returns its text, because wording takes more time than detection."""
    lint = cluster.options.lint
    keys = cluster.node_label_keys() if lint.topology_keys else frozenset()
    unknown: set[str] = set()
    for index, constraint in enumerate(pod.spec.topology_spread_constraints[:_MAX_CONSTRAINTS]):
        place = f"{path}[{index}]"
        missed = selector_misses(constraint, pod.metadata.labels, added) if lint.spread_selectors else None
        if missed is not None:
            yield partial(_missed, missed, place)
        # A cluster without nodes, such as one that starts them on demand, does not show which labels they will have.
        if keys and constraint.topology_key not in keys:
            unknown.add(constraint.topology_key)
            yield partial(_unknown_key, constraint, place, keys if len(unknown) <= _MAX_SUGGESTIONS else ())


def _missed(missed: SelectorMiss, place: str) -> str:
    return f"{place}{missed.field}: {missed}"


def _unknown_key(constraint: TopologySpreadConstraint, place: str, keys: Iterable[str]) -> str:
    consequence = (
        "the pod fits nowhere" if constraint.when_unsatisfiable == DO_NOT_SCHEDULE else "it spreads over nothing"
    )
    near = did_you_mean(constraint.topology_key, keys)
    return f"{place}.topologyKey: no node has label {constraint.topology_key}: {consequence}{near}"
