"""The webhook's answer to the API server, with JSON Patch operations on the original object (RFC 6902)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta
from webhook.reviews.admission_review import API_VERSION
from webhook.settings import ForceDeletionMode


class PatchOperation(Struct, frozen=True):
    """One operation."""

    op: str
    path: str
    value: Any = UNSET
    """Unset for a removal."""


def add(path: str, value: Any) -> PatchOperation:
    """Set a member of an object, whether or not it exists: a second identical patch changes nothing."""
    return PatchOperation("add", path, value)


def remove(path: str) -> PatchOperation:
    """Remove a member of an object, which must exist."""
    return PatchOperation("remove", path)


# The API server silently drops warnings with control characters, and truncates warnings that are too long together.
# This module therefore makes them plain and short.
#
# Audit annotations name rules and fields. They contain no content of the object.
#
# Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go, pkg/admission/attributes.go (checkKeyFormat);
# k8s.io/api/admission/v1/types.go at v0.36.3.

MAX_WARNING: Final = 256
"""Characters of one warning: the length to which the API server truncates each if all together are too long."""
MAX_WARNINGS: Final = 15
"""So many warnings stay below 4,096 characters, above which the API server truncates each of them."""
MAX_MESSAGE: Final = 1024
"""Characters of a refusal."""
_FORBIDDEN: Final = 403


class ForceDeletionRecord(Struct, frozen=True):
    """A refused or allowed force deletion."""

    kind: str
    """Pod or Node."""
    metadata: ObjectMeta
    """The metadata of the object to delete."""
    mode: ForceDeletionMode
    """The mode that decides."""
    risk: str = ""
    """The risk of an allowed one."""
    node: str = ""
    """The node of the pod."""


class Answer(Struct, frozen=True):
    """The decision of a handler."""

    denial: str = ""
    """Why the request is refused; empty: it is allowed."""
    warnings: tuple[str, ...] = ()
    patch: tuple[PatchOperation, ...] = ()
    forced: ForceDeletionRecord | None = None
    """The force deletion for an Event, if the request is one."""
    audit: tuple[tuple[str, str], ...] = ()
    """Entries for the API server's audit log: the action, and the rule and fields that it concerns."""

    @property
    def allowed(self) -> bool:
        """Whether the request is allowed."""
        return not self.denial

    def of_rule(self, rule: str, field: str) -> Answer:
        """The same answer with its entries for the audit log.

        Args:
            rule: The rule's name in docs/webhook/reference.md.
            field: The field of the object or of the request that the rule checks.
        """
        entries: list[tuple[str, str]] = []
        if self.denial:
            mode = f" (mode {self.forced.mode.value})" if self.forced is not None else ""
            entries.append(("refused", f"{rule}: {field}{mode}"))
        if self.patch:
            fields = ", ".join(step.path.removeprefix("/").replace("/", ".") for step in self.patch)
            entries.append(("patched", f"{rule}: {fields}"))
        if self.warnings:
            entries.append(("warned", f"{rule}: {field}"))
        return replace(self, audit=tuple(entries)) if entries else self


ALLOWED: Final = Answer()


def denied(message: str, forced: ForceDeletionRecord | None = None) -> Answer:
    """Return an answer that refuses the request; ``forced`` describes a refused force deletion."""
    return Answer(denial=message, forced=forced)


def combined(answers: Iterable[Answer]) -> Answer:
    """Combine answers: the first refusal if there is one, otherwise all warnings, patches and audit entries."""
    every = tuple(answers)
    refusal = next((answer for answer in every if not answer.allowed), None)
    if refusal is not None:
        return refusal
    return Answer(
        warnings=tuple(warning for answer in every for warning in answer.warnings),
        patch=tuple(step for answer in every for step in answer.patch),
        forced=next((answer.forced for answer in every if answer.forced is not None), None),
        audit=tuple(entry for answer in every for entry in answer.audit),
    )


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
    """Base64 in JSON, as in Go."""
    audit_annotations: dict[str, str] = {}
    """The API server prefixes each key with the webhook's name and a slash."""


class _AdmissionReview(Struct, frozen=True, rename="camel"):
    response: _Response
    api_version: str = API_VERSION
    kind: str = "AdmissionReview"


def encode_answer(uid: str, answer: Answer) -> bytes:
    """The body of the reply."""
    response = _Response(
        uid,
        answer.allowed,
        None if answer.allowed else _Status(plain(answer.denial, MAX_MESSAGE)),
        tuple(plain(warning, MAX_WARNING) for warning in _few(answer.warnings)),
        "JSONPatch" if answer.patch else None,
        msgspec.json.encode(answer.patch) if answer.patch else None,
        _annotations(answer.audit),
    )
    return msgspec.json.encode(_AdmissionReview(response))


def _annotations(audit: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One annotation per kind of action."""
    annotations: dict[str, str] = {}
    for key, text in audit:
        annotations[key] = f"{annotations[key]}; {text}" if key in annotations else text
    return annotations


def _few(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """The warnings to send; if there are too many, the last one counts the others."""
    more = len(warnings) - MAX_WARNINGS + 1
    return warnings if more <= 1 else (*warnings[: MAX_WARNINGS - 1], f"and {more} more warnings")


def plain(text: str, most: int) -> str:
    """Truncate a text and replace unprintable characters."""
    # Truncate first: checking each character of a long text takes time.
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return shown if shown.isprintable() else "".join(char if char.isprintable() else "?" for char in shown)
