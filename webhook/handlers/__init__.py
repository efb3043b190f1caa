"""One module a concern: an object and the cluster to an answer. Handlers know no HTTP, and no reviews but deletions."""

from __future__ import annotations

from podrules.priority import is_mirror_pod
from webhook.cluster import Cluster
from webhook.handlers.force_delete import warn_of_force_delete
from webhook.handlers.priority import default_priority, refuse_unknown_class
from webhook.handlers.topology_spread import default_topology_spread
from webhook.handlers.workload_priority import WORKLOADS_WITH_TEMPLATES, warn_of_unknown_class
from webhook.response import ALLOWED, Answer, combined
from webhook.review import Request, new_object, new_pod

__all__ = ["mutate", "validate"]

_PODS = ("", "pods")


def mutate(request: Request, cluster: Cluster) -> Answer:
    """Fill in what the cluster's owner decided: the patches of all handlers."""
    if (_resource(request), request.operation) != (_PODS, "CREATE"):
        return ALLOWED
    pod = new_pod(request)
    # A mirror pod is its kubelet's report of what runs already.
    if pod is None or is_mirror_pod(pod):
        return ALLOWED
    return combined((default_priority(pod, cluster), default_topology_spread(pod, cluster)))


def validate(request: Request, cluster: Cluster) -> Answer:
    """Refuse or warn."""
    resource = _resource(request)
    if resource == _PODS:
        match request.operation:
            case "CREATE":
                pod = new_pod(request)
                return ALLOWED if pod is None or is_mirror_pod(pod) else refuse_unknown_class(pod, cluster)
            case "DELETE":
                return warn_of_force_delete(request, cluster)
    elif (kind := WORKLOADS_WITH_TEMPLATES.get(resource)) is not None and request.operation in {"CREATE", "UPDATE"}:
        workload = new_object(request, kind)
        return ALLOWED if workload is None else warn_of_unknown_class(workload, cluster)
    return ALLOWED


def _resource(request: Request) -> tuple[str, str]:
    """Group and resource; a subresource, which nobody here looks at, is no resource."""
    return ("", "") if request.sub_resource else (request.resource.group, request.resource.resource)
