"""Requests with unreadable objects: refused if a rule might have refused them, otherwise allowed with a warning.

Otherwise the content of an object could disable a rule. The decision depends on the client, the operation, the
namespace and the configuration. So it also refuses some pods that a rule would have allowed.
"""

from __future__ import annotations

from typing import Final

from podrules.qos_webhook.rules import EVERY_CLASS, RuleMode
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import Request
from webhook.reviews.response import Answer, denied
from webhook.rules.force_delete import is_exempt, may_delete_nodes, mode_of_namespace
from webhook.rules.pod_template import WORKLOADS_WITH_TEMPLATES
from webhook.settings import ForceDeletionMode

_RULE: Final = "unseen"
_STRICT: Final = {
    ForceDeletionMode.CONFIRM: "requires a confirmation for force deletions",
    ForceDeletionMode.DENY: "forbids force deletions",
}


def allow_unreadable(request: Request, _cluster: Cluster, problem: str) -> Answer:
    """Warn that no defaults were filled in."""
    return Answer(warnings=(f"{_what(request)}: no defaults are filled in: {problem}",)).of_rule(_RULE, "object")


def refuse_unreadable(request: Request, cluster: Cluster, problem: str) -> Answer:
    """Refuse with the name of the rule that might refuse the request, or warn."""
    rule = _strictest_rule(request, cluster)
    field = "oldObject" if request.operation == "DELETE" else "object"
    if rule:
        return denied(f"{_what(request)} is forbidden: {rule}; {problem}").of_rule(_RULE, field)
    return Answer(warnings=(f"{_what(request)}: allowed without a check: {problem}",)).of_rule(_RULE, field)


def _what(request: Request) -> str:
    resource = f"{request.resource.resource}/{request.sub_resource}".rstrip("/")
    return f'{resource} "{request.name}"' if request.name else resource


def _strictest_rule(request: Request, cluster: Cluster) -> str:
    """The rule that might refuse the request; empty: none."""
    match request.resource.group, request.resource.resource, request.sub_resource, request.operation:
        case ("", "pods", "", "CREATE"):
            return _class_rule(request.namespace, cluster)
        case ("", "pods", "", "DELETE") | ("", "pods", "eviction", "CREATE"):
            # A rule refuses only a period of 0. For an eviction or a truncated review, the period is unknown.
            if (
                request.options is not None
                and request.operation == "DELETE"
                and request.options.grace_period_seconds != 0
            ):
                return ""
            if is_exempt(request, cluster):
                return ""
            problem = _STRICT.get(mode_of_namespace(request.namespace, cluster).mode)
            return f"namespace {request.namespace} {problem}" if problem else ""
        case ("", "nodes", "", "DELETE"):
            strict = not cluster.force_deletion.modes.isdisjoint(_STRICT) and not may_delete_nodes(request, cluster)
            return "the configuration refuses force deletions, and deleting a Node causes them" if strict else ""
        case (group, resource, "", "CREATE" | "UPDATE") if (group, resource) in WORKLOADS_WITH_TEMPLATES:
            if cluster.options.priority_classes.templates is RuleMode.WARN:
                return ""
            return _class_rule(request.namespace, cluster) or "templates with an unknown PriorityClass are refused"
    return ""


def _class_rule(namespace: str, cluster: Cluster) -> str:
    allowed = cluster.options.allowed_classes(namespace)
    if cluster.options.priority_classes.disallowed is RuleMode.WARN or allowed is None or EVERY_CLASS in allowed:
        return ""
    return f"namespace {namespace} allows only these PriorityClasses: {', '.join(allowed) or 'none'}"
