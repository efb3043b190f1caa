"""Default topology spread constraints, of the cluster or of a namespace, for pods that have none.

The handler writes the constraints that kube-scheduler would apply by itself; `podrules.qos_webhook.defaults` has the
rule. So they are visible in the pod, and they also apply in clusters with a scheduler that cannot be configured. If no
constraints are configured, the webhook does not read the objects that selectors are built from.
"""

from __future__ import annotations

import logging
from typing import Final

from cluster_io.errors import ClusterError
from podrules.qos_webhook.defaults import as_json, default_spread
from webhook.cluster.view import Cluster
from webhook.reviews.new_pod import NewPod
from webhook.reviews.response import ALLOWED, Answer, add

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
