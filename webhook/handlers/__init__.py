"""One module a concern: an object and the cluster to an answer. Handlers know no HTTP, and reviews where they must.

Advice that fails hinders neither a refusal nor a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from podrules.priority import is_mirror_pod
from webhook.admission_review import Request, new_object, new_pod
from webhook.cluster import Cluster
from webhook.handlers.force_delete import review_deletion, review_eviction
from webhook.handlers.node_deletion import review_node_deletion
from webhook.handlers.pod_template import WORKLOADS_WITH_TEMPLATES, TemplateOwner, template_of
from webhook.handlers.priority import default_priority, refuse_disallowed_class, refuse_unknown_class
from webhook.handlers.spread_lint import lint_spread, lint_spread_of_template
from webhook.handlers.topology_spread import default_topology_spread
from webhook.handlers.unreadable import leave_unseen, refuse_unseen
from webhook.handlers.workload_priority import check_class_of_template
from webhook.handlers.zero_grace import warn_of_no_grace, warn_of_no_grace_in_template
from webhook.new_pod import NewPod, as_new
from webhook.partial_objects import Seen
from webhook.response import ALLOWED, Answer, combined

__all__ = ["fill_in", "leave_unseen", "mutate", "refuse_unseen", "validate"]

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)
_PODS = ("", "pods")
_NODES = ("", "nodes")
# Fields that rules look at, as the audit log names them.
_CLASS = "spec.priorityClassName"
_CONSTRAINTS = "spec.topologySpreadConstraints"
_GRACE = "spec.terminationGracePeriodSeconds"
_FILLING_IN: Final[tuple[tuple[str, str, Callable[[NewPod, Cluster], Answer]], ...]] = (
    ("priority-class", _CLASS, default_priority),
    ("topology-spread", _CONSTRAINTS, default_topology_spread),
)
"""All handlers that patch new pods, each with its rule's name and the field that this looks at."""


def fill_in(new: NewPod, cluster: Cluster) -> Answer:
    """What the cluster's owner decided for new pods: the patches of all handlers."""
    return combined(handler(new, cluster).of_rule(rule, field) for rule, field, handler in _FILLING_IN)


def mutate(request: Request, cluster: Cluster) -> Answer:
    """The patches of a new pod."""
    if (_resource(request), request.operation) != (_PODS, "CREATE"):
        return ALLOWED
    seen = new_pod(request)
    # A mirror pod is its kubelet's report of what runs already.
    if seen is None or is_mirror_pod(seen.object):
        return ALLOWED
    return fill_in(as_new(seen, request, cluster), cluster)


def validate(request: Request, cluster: Cluster) -> Answer:
    """Refuse or warn."""
    resource = _resource(request)
    if resource == _PODS:
        match request.operation:
            case "CREATE":
                return _new_pod(request, cluster)
            case "DELETE":
                return review_deletion(request, cluster).of_rule("force-deletion", "options.gracePeriodSeconds")
    elif resource == _NODES and request.operation == "DELETE":
        return review_node_deletion(request, cluster).of_rule("node-deletion", "name")
    elif _is_eviction(request):
        return review_eviction(request, cluster).of_rule("force-deletion", "deleteOptions.gracePeriodSeconds")
    elif (kind := WORKLOADS_WITH_TEMPLATES.get(resource)) is not None and request.operation in {"CREATE", "UPDATE"}:
        return _workload(request, kind, cluster)
    return ALLOWED


def _new_pod(request: Request, cluster: Cluster) -> Answer:
    seen = new_pod(request)
    # Anybody can write a mirror pod's annotation; who makes mirror pods is a kubelet.
    if seen is None or (is_mirror_pod(seen.object) and request.user_info.is_kubelet):
        return ALLOWED
    return combined(
        (
            refuse_unknown_class(seen.object, cluster).of_rule("unknown-class", _CLASS),
            refuse_disallowed_class(seen.object, cluster).of_rule("disallowed-class", _CLASS),
            _advice(lint_spread, seen, cluster).of_rule("spread-lint", _CONSTRAINTS),
            warn_of_no_grace(seen.object).of_rule("no-grace", _GRACE),
        )
    )


def _workload(request: Request, kind: type[TemplateOwner], cluster: Cluster) -> Answer:
    seen = new_object(request, kind)
    if seen is None:
        return ALLOWED
    path = template_of(seen.object).path
    return combined(
        (
            check_class_of_template(request, seen.object, cluster).of_rule("template-class", f"{path}.{_CLASS}"),
            _advice(lint_spread_of_template, seen, cluster).of_rule("spread-lint", f"{path}.{_CONSTRAINTS}"),
            warn_of_no_grace_in_template(seen.object).of_rule("no-grace", f"{path}.{_GRACE}"),
        )
    )


def _advice(lint: Callable[[Seen[T], Cluster], Answer], seen: Seen[T], cluster: Cluster) -> Answer:
    """What a handler has to say that refuses nothing; where it fails, nothing."""
    try:
        return lint(seen, cluster)
    except Exception:  # noqa: BLE001 - whatever it is, it must not keep others from judging
        _LOG.exception("advice failed")
        return ALLOWED


def _is_eviction(request: Request) -> bool:
    asked = (request.resource.group, request.resource.resource, request.sub_resource, request.operation)
    return asked == ("", "pods", "eviction", "CREATE")


def _resource(request: Request) -> tuple[str, str]:
    """Group and resource; a subresource, of which only evictions are looked at, is no resource."""
    return ("", "") if request.sub_resource else (request.resource.group, request.resource.resource)
