"""What the API server is told.

The API server drops warnings with control characters without a word, and cuts them when they are long together: so they
are made plain and short here.

Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go, k8s.io/api/admission/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from webhook.patch import PatchOperation
from webhook.review import API_VERSION

__all__ = ["ALLOWED", "MAX_MESSAGE", "MAX_WARNING", "MAX_WARNINGS", "Answer", "combined", "denied", "encode_answer"]

MAX_WARNING: Final = 256
"""Characters of one warning: what is left of each when all together are too long."""
MAX_WARNINGS: Final = 15
"""Together they are short enough for the API server to send them whole: it cuts each where all have more than 4,096."""
MAX_MESSAGE: Final = 1024
"""Characters of a refusal."""
_FORBIDDEN: Final = 403


class Answer(Struct, frozen=True):
    """What handlers decide."""

    denial: str = ""
    """Why the request is refused; empty: it is allowed."""
    warnings: tuple[str, ...] = ()
    patch: tuple[PatchOperation, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return not self.denial


ALLOWED: Final = Answer()


def denied(message: str) -> Answer:
    """Refuse the request for this reason."""
    return Answer(denial=message)


def combined(answers: Iterable[Answer]) -> Answer:
    """One answer of many: the first refusal refuses, all else adds up."""
    every = tuple(answers)
    refusal = next((answer for answer in every if not answer.allowed), None)
    if refusal is not None:
        return refusal
    warnings = tuple(warning for answer in every for warning in answer.warnings)
    return Answer(warnings=warnings, patch=tuple(step for answer in every for step in answer.patch))


class _Status(Struct, frozen=True):
    message: str
    code: int = _FORBIDDEN
    reason: str = "Forbidden"


class _Response(Struct, frozen=True, omit_defaults=True, rename="camel"):
    uid: str
    allowed: bool
    status: _Status | None = None
    warnings: tuple[str, ...] = ()
    patch_type: str | None = None
    patch: bytes | None = None
    """Base64 in JSON, as Go has it."""


class _AdmissionReview(Struct, frozen=True, rename="camel"):
    response: _Response
    api_version: str = API_VERSION
    kind: str = "AdmissionReview"


def encode_answer(uid: str, answer: Answer) -> bytes:
    """The body of the reply."""
    response = _Response(
        uid,
        answer.allowed,
        None if answer.allowed else _Status(_plain(answer.denial, MAX_MESSAGE)),
        tuple(_plain(warning, MAX_WARNING) for warning in _few(answer.warnings)),
        "JSONPatch" if answer.patch else None,
        msgspec.json.encode(answer.patch) if answer.patch else None,
    )
    return msgspec.json.encode(_AdmissionReview(response))


def _few(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """As many as are shown, the last of which tells of the others."""
    more = len(warnings) - MAX_WARNINGS + 1
    return warnings if more <= 1 else (*warnings[: MAX_WARNINGS - 1], f"and {more} more warnings")


def _plain(text: str, most: int) -> str:
    """Printable characters only, and short enough."""
    # Cut first: looking at each character of a long text takes time.
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return shown if shown.isprintable() else "".join(char if char.isprintable() else "?" for char in shown)
