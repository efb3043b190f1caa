"""What the API server does with a new pod: why it rejects it and what to do, its dry run, and the own webhook."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from kubectl_plugin.render.command import Command, kubectl, qos
from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.pod.admission import DryRunReport, OwnWebhookReport
from kubectl_plugin.views.words import amount, counted, listed
from podrules.admission.admitted_pod import PodRefusal, RejectedBy
from podrules.api.refusals import RefusedFor, Refuser, refuser

_TERMS: Final = {
    RejectedBy.NAMESPACE: "NotFound",
    RejectedBy.VALIDATION: "LimitRange",
    RejectedBy.LIMIT_RANGER: "LimitRange",
    RejectedBy.POD_SECURITY: "violates PodSecurity",
    RejectedBy.RESOURCE_QUOTA: "exceeded quota",
    RejectedBy.WEBHOOK: "admission webhook denied the request",
}

_REMEDIES: Final = {
    RefusedFor.WEBHOOK_REFUSES: "Do what webhook {name} asks for, or ask the team that runs it",
    RefusedFor.WEBHOOK_SERVICE_EMPTY: "No pod of webhook {name}{at} is ready: start its pods. If it judges "
    "these, too, exempt only their namespace (namespaceSelector)",
    RefusedFor.WEBHOOK_SERVICE_MISSING: "Webhook {name} has no Service{at}: install it again; if it is gone "
    "permanently, delete its webhook configuration: nothing then checks what it checked",
    RefusedFor.WEBHOOK_CERTIFICATE: "The API server does not trust the certificate of webhook {name}{at}: renew it "
    "and the caBundle in its configuration",
    RefusedFor.WEBHOOK_PORT: "Nothing listens at the port of webhook {name}{at}: check its pods, and targetPort of its "
    "Service",
    RefusedFor.WEBHOOK_LATE: "Webhook {name}{at} does not answer in time: check its pods, and whether the control "
    "plane reaches their port (firewall, NetworkPolicy)",
    RefusedFor.WEBHOOK_ANSWER: "The server that answers for webhook {name}{at} is not a webhook, or is broken: check "
    "its Service, port and path",
    RefusedFor.WEBHOOK_FAILS: "The call of webhook {name}{at} failed: check its pods and its Service",
    RefusedFor.SERVER_LATE: "The API server did not answer in time, for example because a webhook does not answer: "
    "check the pods of the webhooks",
    RefusedFor.POLICY: "Correct what ValidatingAdmissionPolicy {name} forbids",
    RefusedFor.QUOTA_SCOPE: "Namespace {namespace} has no ResourceQuota with these scopes, which this cluster "
    "requires: create one there, or use another priorityClassName",
    RefusedFor.QUOTA_NONE: "This cluster requires a ResourceQuota for {detail}: create one in namespace {namespace}",
    RefusedFor.QUOTA_UNSPECIFIED: "Quota {name} is not exceeded: containers lack an amount that it counts. Set "
    "{detail}, or give namespace {namespace} a LimitRange with a default",
    RefusedFor.QUOTA_UNCOUNTED: "Quota {name} is not counted yet: the controller tries again by itself",
    RefusedFor.QUOTA_EXCEEDED: "Request less, delete what else quota {name} of namespace {namespace} counts, or raise "
    "it",
    RefusedFor.POD_SECURITY: "Correct what it lists in the template: level {name} is enforced in namespace {namespace}",
    RefusedFor.SECURITY_CONTEXT: "Request less in securityContext, or let the ServiceAccount of the pods use a "
    "{name} that allows it",
    RefusedFor.LIMIT_RANGE: "Write amounts in the range of the LimitRange in namespace {namespace}, or change it",
    RefusedFor.SERVICE_ACCOUNT: "Create ServiceAccount {name} in namespace {namespace}, or correct serviceAccountName",
    RefusedFor.PRIORITY_CLASS: "Create PriorityClass {name}, or correct priorityClassName",
    RefusedFor.RUNTIME_CLASS: "Create RuntimeClass {name}, or correct runtimeClassName",
    RefusedFor.NODE_SELECTOR: "Make nodeSelector agree with the annotation scheduler.alpha.kubernetes.io/node-selector "
    "of namespace {namespace}",
    RefusedFor.NAMESPACE_ENDS: "Namespace {namespace} is being deleted, and accepts no new objects",
    RefusedFor.NAME_ENDS: "Pod {name} is still being deleted: another can use its name once it is gone",
    RefusedFor.NAME_TAKEN: "{name} exists and is not of this workload: delete or rename it",
    RefusedFor.LIMIT_BELOW_REQUEST: "The {name} limit of {detail} is from a LimitRange of namespace {namespace} "
    "or a webhook: request no more than that in the template, or change that limit",
    RefusedFor.INVALID: "Correct {detail} in the template",
}
"""What makes the API server accept the pods of a controller."""
CONFIGURATIONS: Final = "get validatingwebhookconfigurations,mutatingwebhookconfigurations"


def creation_remedy(message: str, namespace: str) -> str:
    """What makes the API server accept a controller's pods, by the message of a condition or event; empty: unknown."""
    found = refuser(message)
    if found is None:
        return ""
    at = f" ({found.detail})" if found.detail else ""
    return f"{_REMEDIES[found.why].format(name=found.name, detail=found.detail, at=at, namespace=namespace)}."


def creation_commands(message: str, namespace: str) -> Iterator[Command]:
    """The command that shows what rejected them."""
    match refuser(message):
        case Refuser(
            RefusedFor.WEBHOOK_SERVICE_EMPTY | RefusedFor.WEBHOOK_PORT | RefusedFor.WEBHOOK_LATE, _, place
        ) if place:
            yield qos("explain pods", namespace=place.partition("/")[0])
        case Refuser(why) if why.value.startswith(("Webhook", "ServerLate")):
            yield kubectl(CONFIGURATIONS)
        case Refuser(RefusedFor.POLICY, name):
            yield kubectl("get validatingadmissionpolicy {}", name, options="-o yaml")
        case Refuser(RefusedFor.QUOTA_EXCEEDED | RefusedFor.QUOTA_UNSPECIFIED | RefusedFor.QUOTA_UNCOUNTED, name):
            yield qos("explain quota/{}", name, namespace=namespace)
        case Refuser(RefusedFor.QUOTA_SCOPE | RefusedFor.QUOTA_NONE):
            yield kubectl("get resourcequota", namespace=namespace)
        case Refuser(RefusedFor.LIMIT_RANGE | RefusedFor.LIMIT_BELOW_REQUEST):
            yield kubectl("describe limitrange", namespace=namespace)
        case Refuser(RefusedFor.NAME_ENDS | RefusedFor.NAME_TAKEN, name):
            yield qos("explain pod/{}", name, namespace=namespace)
        case Refuser(RefusedFor.SERVICE_ACCOUNT):
            yield kubectl("get serviceaccounts", namespace=namespace)
        case Refuser(RefusedFor.POD_SECURITY | RefusedFor.NODE_SELECTOR | RefusedFor.NAMESPACE_ENDS):
            yield kubectl("describe namespace {}", namespace)


def refusal_remedy(refusal: PodRefusal, namespace: str) -> Iterator[str]:
    """What makes the API server accept the pod; nothing if its message says that."""
    match refusal.by:
        case RejectedBy.VALIDATION if (bound := refusal.limit_range) is not None:
            asked, limit = amount(bound.resource, bound.request), f"{bound.resource} limit"
            yield f"LimitRange {bound.name} gives a container without a {limit} {amount(bound.resource, bound.limit)}."
            own = f"have its max and default raised to {asked}" if bound.capped else f"set a {limit} of {asked} or more"
            yield f"Way out: request no more in the template, or {own}."
        case RejectedBy.NAMESPACE:
            yield creation_remedy(refusal.message, namespace) or f"Create namespace {namespace}, or name another."
        case RejectedBy.VALIDATION:
            yield "A LimitRange of the namespace sets the values that are missing: set the limit, too."
        case RejectedBy.LIMIT_RANGER:
            name = refusal.limit_range.name if refusal.limit_range is not None else "of the namespace"
            yield f"Write amounts inside that range, or have LimitRange {name} changed."
        case RejectedBy.POD_SECURITY:
            label = "pod-security.kubernetes.io/enforce"
            yield f"Correct these fields; a looser label {label} would count for all pods of the namespace."
        case RejectedBy.RESOURCE_QUOTA if refusal.resources:
            yield f"Request less, or have quota {refusal.quota} raised."
        case RejectedBy.RESOURCE_QUOTA | RejectedBy.WEBHOOK if said := creation_remedy(refusal.message, namespace):
            yield said


def refusal_term(refusal: PodRefusal) -> str:
    """The term that ``kubectl qos why`` explains."""
    if refusal.by is RejectedBy.RESOURCE_QUOTA and not refusal.resources:
        return "failed quota"
    if refusal.by is RejectedBy.NAMESPACE and refuser(refusal.message) is not None:
        return "namespace is being terminated"
    return _TERMS[refusal.by]


def pod_security_section(warning: str) -> Section:
    """The warning of Pod Security when the pod is created; empty without one."""
    return Section("Pod Security", (f"warns: {warning}",) if warning else ())


def dry_run_section(report: DryRunReport | None) -> Section:
    """The verdict on each object, the warnings, and what admission adds; empty without a dry run."""
    if report is None:
        return Section("Dry run", ())
    lines = []
    for verdict in report.verdicts:
        name = "the pod that it makes" if verdict.object == "pod" else verdict.object
        words = f"the API server accepts {'this change of it' if verdict.applied else 'it'}"
        if verdict.unanswered:
            words = f"no answer: {verdict.unanswered}"
        elif verdict.refusal:
            words = "refused"
        lines.append(f"{name}: {words}")
    if report.unanswered:
        lines.append("the rest of this page is computed locally, without the API server")
    elif not report.refusal:
        lines.append("asked as you: its controller may get another answer if rules depend on the user")
    lines += [f"warning: {warning}" for warning in report.warnings]
    # A line for each plugin or webhook, in the order of the fields.
    ordered = sorted(report.added, key=lambda one: one.by)
    for by, group in groupby(ordered, key=lambda one: one.by):
        items, author = list(group), f" by {by}" if by else ", by a webhook or policy that is not recorded"
        for verb, changed in (("added", False), ("changed", True)):
            if some := [one.what for one in items if one.changed is changed]:
                lines.append(f"{verb} at admission{author}: {listed(some)}")
    return Section("Dry run", tuple(lines))


_SHOWN: Final = 3
"""Constraints that are named before they are counted."""


def webhook_lines(report: OwnWebhookReport | None) -> Iterator[str]:
    """What it writes and warns about, and what is unknown; nothing if it leaves the pod unchanged."""
    if report is None:
        return
    writes = []
    if report.priority_class_name:
        writes.append(f"priorityClassName {report.priority_class_name} (default class of namespace {report.namespace})")
    if constraints := report.topology_spread_constraints:
        keys = listed(
            [f"maxSkew {one.max_skew} by {one.topology_key} ({one.when_unsatisfiable})" for one in constraints]
        )
        number = counted(len(constraints), "topologySpreadConstraint")
        writes.append(f"{number} ({report.constraints_origin}): {keys}")
    if report.unready:
        result = "pods are stored without it" if report.unready == "Ignore" else "the API server rejects all pods"
        lacks = "no caBundle in its configuration" if report.untrusted else "no ready pod"
        yield f"{report.webhook} has {lacks}: {result} (failurePolicy {report.unready})"
    will = "would write" if report.unready else "will write"
    if writes:
        yield f"{report.webhook} {will}: {'; '.join(writes)}"
    yield from (f"{report.webhook} warns: {one}" for one in report.warnings)
    yield from (f"unknown what it writes: {one}" for one in report.unknown)
