"""Asks the API server for its verdict on an object: a create with ``dryRun=All``, or an apply if the object exists.

Every request has ``dryRun=All``: the API server runs decoding, admission with the webhooks, and validation, and stores
nothing. Its answer applies to the user who asks; a controller may get another.

Source: k8s.io/apiserver/pkg/endpoints/handlers/create.go and patch.go at v0.37.1;
pkg/admission/plugin/webhook/errors/statuserror.go (NewDryRunUnsupportedErr).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from cluster_io.errors import NotFound, Unreachable
from cluster_io.kinds import Kind
from cluster_io.live.answers import APIStatus, error_message
from cluster_io.live.responses import ChangeAnswer
from cluster_io.writer import AUTHORIZER_REFUSAL, Sender
from podrules.api.model.decode import DecodeError, from_json

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
        """Take a sender; its owner closes it.

        Args:
            sender: Sends the requests.
            validation: What becomes of unknown fields: ``Strict``, ``Warn`` or ``Ignore``.
        """
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
        return _read(answer, applied=exists)

    def _sent(
        self, method: str, path: str, content: Mapping[str, Any], content_type: str = "application/json"
    ) -> ChangeAnswer:
        try:
            return self._sender.send(method, path, json.dumps(content).encode(), content_type)
        except Unreachable as error:
            return ChangeAnswer(_NO_STATUS, error.message.encode(), ())


def _read(answer: ChangeAnswer, *, applied: bool = False) -> DryRunAnswer:
    if answer.status in _TAKEN:
        return DryRunAnswer(from_json(answer.body, dict[str, Any]), applied=applied, warnings=answer.warnings)
    message = error_message(answer.body)
    no_right = answer.status == _FORBIDDEN and AUTHORIZER_REFUSAL.search(message) is not None
    if no_right or answer.status in _NO_VERDICT or _NO_DRY_RUN in message or _NO_KIND in message:
        return DryRunAnswer(unanswered=message, applied=applied, warnings=answer.warnings)
    return DryRunAnswer(refusal=message, applied=applied, warnings=answer.warnings)


def _reason(answer: ChangeAnswer) -> str:
    try:
        return from_json(answer.body, APIStatus).reason
    except DecodeError:
        return ""
