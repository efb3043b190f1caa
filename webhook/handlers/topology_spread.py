"""The cluster's default topology spread constraints, written into new pods that have none of their own.

What is written is what kube-scheduler would go by itself, so that everybody can read it in the pod, and so that it
holds for clusters whose scheduler cannot be configured. Left alone are: pods with constraints of their own, pods that
are bound already, pods of another scheduler than the configuration names, and namespaces that opted out.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from podrules.cluster.errors import ClusterError
from podrules.model.pod import Pod, TopologySpreadConstraint
from podrules.scheduler.plugins.pod_topology_spread.default_constraints import build_default_constraints
from podrules.scheduler.profile import DEFAULT_SCHEDULER_NAME
from webhook.cluster import Cluster
from webhook.patch import add
from webhook.response import ALLOWED, Answer

__all__ = ["OPT_OUT_LABEL", "default_topology_spread"]

_LOG: Final = logging.getLogger(__name__)
OPT_OUT_LABEL: Final = "kubectl-qos.io/topology-spread"
"""On a Namespace, with value ``disabled``: its pods get no default constraints."""


def default_topology_spread(pod: Pod, cluster: Cluster) -> Answer:
    """A patch with the default constraints of a new pod."""
    if pod.spec.topology_spread_constraints or pod.spec.node_name:
        return ALLOWED
    namespace = pod.metadata.namespace
    defaults = cluster.spread_defaults(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)
    if not defaults or cluster.namespace_labels(namespace).get(OPT_OUT_LABEL) == "disabled":
        return ALLOWED
    try:
        constraints = build_default_constraints(pod, defaults, cluster.siblings(pod))
    except ClusterError as error:
        name = pod.metadata.name or pod.metadata.generate_name
        _LOG.warning("%s in %s gets no default constraints, its owner cannot be read: %s", name, namespace, error)
        return ALLOWED
    if not constraints:
        return ALLOWED
    return Answer(patch=(add("/spec/topologySpreadConstraints", [_as_json(entry) for entry in constraints]),))


def _as_json(constraint: TopologySpreadConstraint) -> dict[str, Any]:
    """The constraint as the pod holds it, without what is not set."""
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
