"""What rejected a pod that a controller tried to create, by the message of its event or condition FailedCreate.

The first matching row counts: the messages of webhooks and policies are free text, and may quote others.

Source, at v0.36.3 and v1.36.3: k8s.io/apiserver/pkg/admission/plugin/{webhook/errors/statuserror.go,
resourcequota/controller.go,namespace/lifecycle/admission.go,policy/validating/dispatcher.go},
k8s.io/apiserver/pkg/util/{webhook/error.go,proxy/proxy.go}, k8s.io/pod-security-admission/admission/admission.go,
plugin/pkg/admission/{serviceaccount,limitranger,priority,runtimeclass,podnodeselector}/admission.go; OpenShift's
apiserver-library-go/pkg/securitycontextconstraints/sccadmission/admission.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.api.model.workload import Workload

FAILED_CREATE: Final = "FailedCreate"
_MAX_TEXT: Final = 4096
"""The number of characters of a message that are read."""
_MAX_NAME: Final = 253
"""The number of characters of a name, or of a detail, that are kept."""
_MAX_WAIT: Final = 1200
"""The seconds after which a controller has retried."""
_BEFORE: Final = (
    r"(?:\(combined from similar events\): )?"
    r"(?:Error creating|(?:create|update) (?:Pod|Claim) \S+ .{0,600}? failed error): "
)
"""The prefix that controllers add to the API server's message."""


class RefusedFor(StrEnum):
    """Why a pod is rejected."""

    WEBHOOK_REFUSES = "WebhookRefuses"
    WEBHOOK_SERVICE_EMPTY = "WebhookServiceEmpty"
    WEBHOOK_SERVICE_MISSING = "WebhookServiceMissing"
    WEBHOOK_CERTIFICATE = "WebhookCertificate"
    WEBHOOK_PORT = "WebhookPort"
    WEBHOOK_LATE = "WebhookLate"
    WEBHOOK_ANSWER = "WebhookAnswer"
    WEBHOOK_FAILS = "WebhookFails"
    SERVER_LATE = "ServerLate"
    POLICY = "Policy"
    QUOTA_SCOPE = "QuotaScope"
    QUOTA_NONE = "QuotaNone"
    QUOTA_UNSPECIFIED = "QuotaUnspecified"
    QUOTA_UNCOUNTED = "QuotaUncounted"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_SECURITY = "PodSecurity"
    SECURITY_CONTEXT = "SecurityContext"
    LIMIT_RANGE = "LimitRange"
    SERVICE_ACCOUNT = "ServiceAccount"
    PRIORITY_CLASS = "PriorityClass"
    RUNTIME_CLASS = "RuntimeClass"
    NODE_SELECTOR = "NodeSelector"
    NAMESPACE_ENDS = "NamespaceEnds"
    NAME_ENDS = "NameEnds"
    NAME_TAKEN = "NameTaken"
    LIMIT_BELOW_REQUEST = "LimitBelowRequest"
    INVALID = "Invalid"


class Refuser(Struct, frozen=True, rename="camel"):
    """The facts about a rejection in a message."""

    why: RefusedFor
    name: str = ""
    """The object that decides: a webhook, quota, policy, class or account."""
    detail: str = ""
    """Its requirement, or its service: resources, scopes, a level, a service as ``namespace/name``."""


_CALL: Final = r'failed calling (?:admission )?webhook "([^"]+)"'
_SERVICE: Final = r"https://([\w-]+)\.([\w-]+)\.svc\b"
_CALLS: Final[tuple[tuple[RefusedFor, str], ...]] = (
    (RefusedFor.WEBHOOK_SERVICE_EMPTY, r"no endpoints available for service"),
    (RefusedFor.WEBHOOK_SERVICE_MISSING, r'service "[^"]*" not found'),
    (RefusedFor.WEBHOOK_CERTIFICATE, r"\bx509: |\btls: "),
    (RefusedFor.WEBHOOK_PORT, r"connection refused"),
    (RefusedFor.WEBHOOK_LATE, r"deadline exceeded|Timeout exceeded|(?:i/o|handshake) timeout|timed out"),
    (RefusedFor.WEBHOOK_ANSWER, r"received invalid webhook response|expected webhook response"),
    (RefusedFor.WEBHOOK_FAILS, r""),
)
_ROWS: Final[tuple[tuple[RefusedFor, str], ...]] = (
    (RefusedFor.WEBHOOK_REFUSES, r'admission webhook "(?P<name>[^"]+)" denied the request'),
    (RefusedFor.POLICY, r"ValidatingAdmissionPolicy '(?P<name>[^']+)' (?:with binding '[^']*' )?denied request"),
    (RefusedFor.QUOTA_SCOPE, r"insufficient quota to match these scopes: \[(?P<detail>.+?)\]? ?$"),
    (RefusedFor.QUOTA_NONE, r"insufficient quota to consume: (?P<detail>\S+)"),
    (RefusedFor.QUOTA_UNSPECIFIED, r"failed quota: (?P<name>[^\s:]+): must specify (?P<detail>.+)"),
    (RefusedFor.QUOTA_UNCOUNTED, r"status unknown for quota: (?P<name>[^\s,]+)"),
    (
        RefusedFor.QUOTA_EXCEEDED,
        r"[Ee]xceeded quota: (?P<name>[^\s,]+), (?P<detail>requested: \S+ used: \S+ limited: \S+)",
    ),
    (RefusedFor.POD_SECURITY, r'violates PodSecurity "(?P<name>[^":]+)[^"]*": (?P<detail>.+)'),
    (
        RefusedFor.SECURITY_CONTEXT,
        r"unable to validate against any (?P<name>security context constraint|pod security policy)",
    ),
    (
        RefusedFor.LIMIT_RANGE,
        (
            r"(?P<detail>(?:maximum|minimum) \S+ usage per \w+ is \S+ (?:but \w+ is [^\s,\]]+|No \w+ is specified)"
            r"|\S+ max limit to request ratio per \w+ is \S+ but [^,\]]+)"
        ),
    ),
    (RefusedFor.SERVICE_ACCOUNT, r"service account [^\s/]+/(?P<name>[^\s:]+)(?:: | was not found)"),
    (RefusedFor.PRIORITY_CLASS, r"no PriorityClass with name (?P<name>\S+) was found"),
    (RefusedFor.RUNTIME_CLASS, r'RuntimeClass "(?P<name>[^"]+)" not found'),
    (RefusedFor.NODE_SELECTOR, r"pod node label selector (?:labels )?conflicts? with its namespace"),
    (RefusedFor.SERVER_LATE, r"^Timeout: request did not complete"),
    (RefusedFor.NAMESPACE_ENDS, r"because it is being terminated"),
    (RefusedFor.NAME_ENDS, r'object is being deleted: pods "(?P<name>[^"]+)" already exists'),
    (RefusedFor.NAME_TAKEN, r'(?:pods|persistentvolumeclaims) "(?P<name>[^"]+)" already exists'),
    (RefusedFor.LIMIT_BELOW_REQUEST, r"must be less than or equal to (?P<name>\S+) limit of (?P<detail>[^\s,\]]+)"),
    (RefusedFor.INVALID, r'(?:Pod|PersistentVolumeClaim) "[^"]*" is invalid: (?P<detail>[\w.\[\]]+)'),
)


def said_by_server(message: str) -> str:
    """The API server's own message inside that of a controller, in one line."""
    text = " ".join(message[:_MAX_TEXT].split())
    found = re.match(_BEFORE, text)
    return text[found.end() :] if found is not None else text


def refuser(message: str) -> Refuser | None:
    """What rejected, by the message of a condition or event; None: not known."""
    text = said_by_server(message)
    for why, pattern in _ROWS:
        if (match := re.search(pattern, text)) is not None:
            parts = match.groupdict()
            name, detail = parts.get("name") or "", (parts.get("detail") or "").rstrip(". ")
            return Refuser(why, name[:_MAX_NAME], detail if len(detail) <= _MAX_NAME else f"{detail[:_MAX_NAME]}…")
        # After the rejection by a webhook, which may quote any other message.
        if why is RefusedFor.WEBHOOK_REFUSES and (call := re.search(_CALL, text)) is not None:
            service = re.search(_SERVICE, text[call.end() :])
            place = f"{service[2]}/{service[1]}" if service is not None else ""
            cause = next(cause for cause, words in _CALLS if re.search(words, text[call.end() :]))
            return Refuser(cause, call[1][:_MAX_NAME], place[:_MAX_NAME])
    return None


def newest_refusal(events: Iterable[Event], now: datetime | None) -> Event | None:
    """The newest event that a controller could not create a pod; None: no event may still apply.

    A controller retries within 1000 s (DefaultTypedControllerRateLimiter in
    k8s.io/client-go/util/workqueue/default_rate_limiters.go at v0.36.3).
    """
    found: tuple[datetime, Event] | None = None
    for one in events:
        when = instant(one.last) if one.reason == FAILED_CREATE and one.message else None
        if when is not None and (found is None or when > found[0]) and (now is None or later(when, _MAX_WAIT) >= now):
            found = when, one
    return found[1] if found is not None else None


def pods_short(kind: str, entry: Workload, wanted: int | None) -> int:
    """How many of a workload's wanted pods do not exist, by its status; 0 also if that is not known.

    A rollout wants more pods: if a Deployment cannot create them during a rollout, at least one is missing.

    Source: pkg/controller/deployment/sync.go (calculateStatus), pkg/controller/deployment/progress.go
    (syncRolloutStatus, getReplicaFailures) at v1.36.3.
    """
    status = entry.status
    if wanted is None or (kind not in {"Job", "DaemonSet"} and not status.observed_generation):
        return 0
    made = {"DaemonSet": status.current_number_scheduled, "Job": status.active}.get(kind, status.replicas)
    held = kind == "Deployment" and status.updated_replicas < wanted and status.condition("ReplicaFailure", "True")
    return max(1 if held else 0, wanted - made)
