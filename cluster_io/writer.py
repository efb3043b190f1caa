"""Changes one object of the cluster, if it is still the object that was read.

Every change has the uid as a precondition; a patch has the resourceVersion too, so that it does not overwrite another
client's change. A request is never sent twice. The proxy behind a writer accepts only the paths and methods that its
command needs.

A dry run asks the API server for its verdict on an object: a create with ``dryRun=All``, or an apply if the object
exists. The API server runs decoding, admission with the webhooks, and validation, and stores nothing. Its answer
applies to the user who asks; a controller may get another.

Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (DeleteOptions, Preconditions) at v0.36.3;
k8s.io/api/authorization/v1/types.go (SelfSubjectAccessReview) at v0.36.3; the words of refusals:
k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go (forbiddenMessage),
pkg/admission/plugin/webhook/errors/statuserror.go and pkg/admission/plugin/policy/validating/dispatcher.go at v0.36.3;
k8s.io/apiserver/pkg/endpoints/handlers/create.go and patch.go at v0.37.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct, field

from cluster_io.errors import Conflict, Forbidden, NotFound, RequestRefused, Unreachable
from cluster_io.kinds import Kind
from cluster_io.live.answers import APIStatus, error_message
from cluster_io.live.responses import ChangeAnswer
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.decode import DecodeError, from_json
from podrules.pod.reading import Access

ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_JSON_PATCH: Final = "application/json-patch+json"
_DRY_RUN: Final = "?dryRun=All"
AUTHORIZER_REFUSAL: Final = re.compile(r'User ".*" cannot \S+ (resource|path) "')
"""Every authorizer's refusal has this text; admission rejects with 403 too, though the user has the right."""
_NO_ANSWER: Final = re.compile(r'failed calling webhook ".*', re.DOTALL)
_ADMISSION_REFUSAL: Final = re.compile(
    r"""(?P<who>admission\ webhook\ ".*?"|ValidatingAdmissionPolicy\ '.*?')(\ with\ binding\ '.*?')?
    \ denied\ (the\ )?request(:\ (?P<why>.*)|.*)""",
    re.VERBOSE | re.DOTALL,
)


class Sender(Protocol):
    """Sends changes to the API server."""

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """See `cluster_io.live.transport.KubectlProxy.send`."""
        ...


class _ReviewStatus(Model, frozen=True):
    allowed: bool = False
    reason: str = ""


class _Review(Model, frozen=True):
    status: _ReviewStatus = field(default_factory=_ReviewStatus)


class Writer:
    """Makes changes; each returns the API server's warnings."""

    def __init__(self, sender: Sender, *, dry_run: bool) -> None:
        """Take a sender; its owner closes it. In a dry run the API server does everything except storing the change."""
        self._sender = sender
        self._dry_run = dry_run

    def may(self, verb: str, kind: Kind[Any], name: str, namespace: str = "") -> Access:
        """Ask the API server whether the user may do something to an object.

        Raises:
            Unreachable: it does not answer.
        """
        attributes = {"verb": verb, "group": kind.group, "resource": kind.plural, "name": name, "namespace": namespace}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = self._sender.send("POST", ACCESS_REVIEWS, json.dumps(body).encode())
        if answer.status != 201:
            raise Unreachable(
                f"the API server did not answer the access review ({answer.status}): {error_message(answer.body)}"
            )
        status = from_json(answer.body, _Review).status
        return Access(verb, kind.rbac_name, name, namespace, status.allowed, status.reason)

    def delete(self, kind: Kind[Any], entry: KubeObject, *, grace_period_seconds: int | None) -> tuple[str, ...]:
        """Delete exactly this object, by its uid.

        Raises:
            NotFound: no object has that name any more.
            Conflict: another object has that name now.
            Forbidden: the user may not.
            RequestRefused: the API server or an admission webhook rejects it.
            Unreachable: there was no answer; whether it is deleted is not known.
        """
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": entry.metadata.uid},
        }
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if self._dry_run:
            # The API server ignores the query of a deletion that has a body.
            options["dryRun"] = ["All"]
        return self._send("delete", "DELETE", kind, entry, options)

    def patch(self, kind: Kind[Any], entry: KubeObject, operations: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Patch exactly this object in the state that was read (JSON patch).

        Raises:
            NotFound: no object has that name any more.
            Conflict: it was changed or recreated since.
            Forbidden: the user may not.
            RequestRefused: the API server or an admission webhook rejects it.
            Unreachable: there was no answer; whether it is patched is not known.
        """
        same = [
            {"op": "replace", "path": "/metadata/uid", "value": entry.metadata.uid},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": entry.metadata.resource_version},
        ]
        return self._send("patch", "PATCH", kind, entry, [*same, *operations], content_type=_JSON_PATCH)

    def _send(
        self,
        verb: str,
        method: str,
        kind: Kind[Any],
        entry: KubeObject,
        body: Any,
        *,
        content_type: str = "application/json",
    ) -> tuple[str, ...]:
        namespace, name = entry.metadata.namespace or None, entry.metadata.name
        path = kind.path(namespace, name) + (_DRY_RUN if self._dry_run else "")
        answer = self._sender.send(method, path, json.dumps(body).encode(), content_type)
        if answer.status in {200, 201, 202}:
            return answer.warnings
        message = error_message(answer.body)
        match answer.status:
            case 404:
                raise NotFound(kind, name, namespace)
            case 409:
                raise Conflict(f"{kind.singular}/{name} is not as it was looked at: {message}")
            case 403 if AUTHORIZER_REFUSAL.search(message):
                raise Forbidden(verb, kind, namespace, message)
            case status if 400 <= status < 500:
                raise _refused(f"{verb} {kind.singular}/{name}", message)
            case 500 if found := _NO_ANSWER.search(message):
                # failurePolicy Fail: nothing is done (webhook/validating/dispatcher.go, NewInternalError).
                raise RequestRefused(
                    f"the API server refuses to {verb} {kind.singular}/{name}: {found[0]}", admission=True
                )
        raise Unreachable(
            f"the API server answered {answer.status} to {verb} {kind.singular}/{name}: {message}; whether it was "
            "done is not known"
        )


def _refused(change: str, message: str) -> RequestRefused:
    """The error that names the component that rejects a change, and its reason, in the API server's words."""
    found = _ADMISSION_REFUSAL.search(message)
    who, why = (found["who"], found["why"] or "it gives no reason") if found else ("the API server", message)
    return RequestRefused(f"{who} refuses to {change}: {why}", admission=found is not None)


_MANAGER: Final = "kubectl-qos"
_APPLY: Final = "application/apply-patch+yaml"
_NO_DRY_RUN: Final = "does not support dry run"
_TAKEN: Final = frozenset({200, 201})
_EXISTS: Final = 409
_NO_STATUS: Final = 0
_FORBIDDEN: Final = 403
_NO_VERDICT: Final = frozenset({_NO_STATUS, 401, 405, 429, 501, 502, 503, 504})
"""Errors that concern the request or the server, not the object."""
_NO_KIND: Final = "the server could not find the requested resource"
"""An old API server does not serve the kind."""


class DryRunAnswer(Struct, frozen=True):
    """The API server's answer about one object. It accepts the object if `refusal` and `unanswered` are empty."""

    stored: Mapping[str, Any] | None = None
    """The object as it would be stored."""
    refusal: str = ""
    """Why it would not be stored, in the API server's words."""
    unanswered: str = ""
    """Why there is no verdict."""
    applied: bool = False
    """Whether the object exists, so that the request was a change."""
    warnings: tuple[str, ...] = ()
    """The warnings of the API server and its webhooks."""


class DryRuns:
    """Asks about objects, one after another."""

    def __init__(self, sender: Sender, validation: str) -> None:
        """Take a sender; its owner closes it. Unknown fields are validated as ``Strict``, ``Warn`` or ``Ignore``."""
        self._sender = sender
        self._query = f"?dryRun=All&fieldManager={_MANAGER}&fieldValidation={validation}"

    def create(self, kind: Kind[Any], namespace: str, content: Mapping[str, Any]) -> DryRunAnswer:
        """Ask about a new object; if its name exists, ask about a change of the existing object.

        Args:
            kind: Its kind.
            namespace: The namespace of the object.
            content: As it is sent.
        """
        try:
            answer = self._sent("POST", kind.path(namespace) + self._query, content)
        except NotFound as error:
            return DryRunAnswer(unanswered=error.message)
        name = (content.get("metadata") or {}).get("name")
        exists = answer.status == _EXISTS and _reason(answer) == "AlreadyExists"
        if exists and name:
            path = kind.path(namespace, str(name)) + self._query + "&force=true"
            answer = self._sent("PATCH", path, content, _APPLY)
        if answer.status in _TAKEN:
            return DryRunAnswer(from_json(answer.body, dict[str, Any]), applied=exists, warnings=answer.warnings)
        message = error_message(answer.body)
        no_right = answer.status == _FORBIDDEN and AUTHORIZER_REFUSAL.search(message) is not None
        if no_right or answer.status in _NO_VERDICT or _NO_DRY_RUN in message or _NO_KIND in message:
            return DryRunAnswer(unanswered=message, applied=exists, warnings=answer.warnings)
        return DryRunAnswer(refusal=message, applied=exists, warnings=answer.warnings)

    def _sent(
        self, method: str, path: str, content: Mapping[str, Any], content_type: str = "application/json"
    ) -> ChangeAnswer:
        try:
            return self._sender.send(method, path, json.dumps(content).encode(), content_type)
        except Unreachable as error:
            return ChangeAnswer(_NO_STATUS, error.message.encode(), ())


def _reason(answer: ChangeAnswer) -> str:
    try:
        return from_json(answer.body, APIStatus).reason
    except DecodeError:
        return ""
