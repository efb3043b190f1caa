"""Requests whose objects could not be read: refused where a rule might have refused them, else let through and told of.

A rule that an object switches off by what it holds would be none. So what counts is who asks for what in which
namespace, and what the configuration says of that; also of a pod that, as it turns out, would have been allowed.
"""

from __future__ import annotations

from typing import Final

from webhook.admission_review import Request
from webhook.cluster import Cluster
from webhook.handlers.force_delete_policy import is_exempt, may_delete_nodes, ruling
from webhook.handlers.pod_template import WORKLOADS_WITH_TEMPLATES
from webhook.namespace_rules import EVERY_CLASS
from webhook.response import Answer, denied
from webhook.settings import ForceDeletionMode, Verdict

__all__ = ["allow_unreadable", "refuse_unreadable"]

_UNSEEN: Final = "unseen"
_STRICT: Final = {
    ForceDeletionMode.CONFIRM: "wants force deletions confirmed",
    ForceDeletionMode.DENY: "forbids force deletions",
}


def allow_unreadable(request: Request, _cluster: Cluster, problem: str) -> Answer:
    """A warning that nothing was filled in."""
    return Answer(warnings=(f"{_what(request)}: no defaults are filled in: {problem}",)).of_rule(_UNSEEN, "object")


def refuse_unreadable(request: Request, cluster: Cluster, problem: str) -> Answer:
    """A refusal that names the rule, or a warning."""
    rule = _rule(request, cluster)
    looked_at = "oldObject" if request.operation == "DELETE" else "object"
    if rule:
        return denied(f"{_what(request)} is forbidden: {rule}; {problem}").of_rule(_UNSEEN, looked_at)
    return Answer(warnings=(f"{_what(request)}: let through unseen: {problem}",)).of_rule(_UNSEEN, looked_at)


def _what(request: Request) -> str:
    resource = f"{request.resource.resource}/{request.sub_resource}".rstrip("/")
    return f'{resource} "{request.name}"' if request.name else resource


def _rule(request: Request, cluster: Cluster) -> str:
    """What might have refused the request; empty: nothing."""
    match request.resource.group, request.resource.resource, request.sub_resource, request.operation:
        case ("", "pods", "", "CREATE"):
            return _of_classes(request.namespace, cluster)
        case ("", "pods", "", "DELETE") | ("", "pods", "eviction", "CREATE"):
            return _of_force(request, cluster)
        case ("", "nodes", "", "DELETE"):
            return _of_nodes(request, cluster)
        case (group, resource, "", "CREATE" | "UPDATE") if (group, resource) in WORKLOADS_WITH_TEMPLATES:
            return _of_templates(request.namespace, cluster)
    return ""


def _of_classes(namespace: str, cluster: Cluster) -> str:
    allowed = cluster.options.rules.of(namespace).allowed_classes
    if cluster.options.disallowed_class is Verdict.WARN or allowed is None or EVERY_CLASS in allowed:
        return ""
    return f"namespace {namespace} allows only these PriorityClasses: {', '.join(allowed) or 'none'}"


def _of_templates(namespace: str, cluster: Cluster) -> str:
    if cluster.options.template_class is Verdict.WARN:
        return ""
    return _of_classes(namespace, cluster) or "templates of an unknown PriorityClass are refused"


def _of_force(request: Request, cluster: Cluster) -> str:
    """Only a period of 0 is refused; an eviction's stands in its object, and that of a review cut short is unknown."""
    if request.options is not None and request.operation == "DELETE" and request.options.grace_period_seconds != 0:
        return ""
    if is_exempt(request, cluster):
        return ""
    asked = _STRICT.get(ruling(request.namespace, cluster).mode)
    return f"namespace {request.namespace} {asked}" if asked else ""


def _of_nodes(request: Request, cluster: Cluster) -> str:
    configured = {cluster.force_deletion.mode, *cluster.force_deletion.namespaces.values()}
    strict = not configured.isdisjoint(_STRICT) and not may_delete_nodes(request, cluster)
    return "the configuration refuses force deletions, which a Node's deletion leads to" if strict else ""
