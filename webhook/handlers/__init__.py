"""One module a concern: an object and the cluster to an answer. Handlers know no HTTP, and reviews where they must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from podrules.priority import is_mirror_pod
from webhook.cluster import Cluster
from webhook.handlers.force_delete import review_deletion, review_eviction
from webhook.handlers.no_grace import warn_of_no_grace, warn_of_no_grace_in_template
from webhook.handlers.node_deletion import review_node_deletion
from webhook.handlers.pod_template import WORKLOADS_WITH_TEMPLATES
from webhook.handlers.priority import default_priority, refuse_disallowed_class, refuse_unknown_class
from webhook.handlers.spread_lint import lint_spread, lint_spread_of_template
from webhook.handlers.topology_spread import default_topology_spread
from webhook.handlers.workload_priority import check_class_of_template
from webhook.new_pod import NewPod, as_new
from webhook.response import ALLOWED, Answer, combined
from webhook.review import Request, new_object, new_pod

__all__ = ["fill_in", "mutate", "validate"]

_PODS = ("", "pods")
_NODES = ("", "nodes")
_FILLING_IN: Final[tuple[Callable[[NewPod, Cluster], Answer], ...]] = (default_priority, default_topology_spread)
"""All handlers that patch new pods."""


def fill_in(new: NewPod, cluster: Cluster) -> Answer:
    """What the cluster's owner decided for new pods: the patches of all handlers."""
    return combined(handler(new, cluster) for handler in _FILLING_IN)


def mutate(request: Request, cluster: Cluster) -> Answer:
    """The patches of a new pod."""
    if (_resource(request), request.operation) != (_PODS, "CREATE"):
        return ALLOWED
    pod = new_pod(request)
    # A mirror pod is its kubelet's report of what runs already.
    if pod is None or is_mirror_pod(pod):
        return ALLOWED
    return fill_in(as_new(pod, request, cluster), cluster)


def validate(request: Request, cluster: Cluster) -> Answer:
    """Refuse or warn."""
    resource = _resource(request)
    if resource == _PODS:
        match request.operation:
            case "CREATE":
                pod = new_pod(request)
                if pod is None or is_mirror_pod(pod):
                    return ALLOWED
                return combined(
                    (
                        refuse_unknown_class(pod, cluster),
                        refuse_disallowed_class(pod, cluster),
                        lint_spread(pod, cluster),
                        warn_of_no_grace(pod),
                    )
                )
            case "DELETE":
                return review_deletion(request, cluster)
    elif resource == _NODES and request.operation == "DELETE":
        return review_node_deletion(request, cluster)
    elif _is_eviction(request):
        return review_eviction(request, cluster)
    elif (kind := WORKLOADS_WITH_TEMPLATES.get(resource)) is not None and request.operation in {"CREATE", "UPDATE"}:
        workload = new_object(request, kind)
        if workload is None:
            return ALLOWED
        return combined(
            (
                check_class_of_template(request, workload, cluster),
                lint_spread_of_template(workload, cluster),
                warn_of_no_grace_in_template(workload),
            )
        )
    return ALLOWED


def _is_eviction(request: Request) -> bool:
    asked = (request.resource.group, request.resource.resource, request.sub_resource, request.operation)
    return asked == ("", "pods", "eviction", "CREATE")


def _resource(request: Request) -> tuple[str, str]:
    """Group and resource; a subresource, of which only evictions are looked at, is no resource."""
    return ("", "") if request.sub_resource else (request.resource.group, request.resource.resource)
