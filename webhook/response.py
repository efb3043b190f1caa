"""What the API server is told.

The API server drops warnings with control characters without a word, and cuts them when they are long together: so they
are made plain and short here.

Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go at v0.36.3.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from webhook.review import API_VERSION

__all__ = ["ALLOWED", "Answer", "encode_answer"]

_MAX_WARNING: Final = 256
"""Characters of one warning: what is left of each when all together are too long."""


class Answer(Struct, frozen=True):
    """What handlers decide."""

    allowed: bool = True
    warnings: tuple[str, ...] = ()


ALLOWED: Final = Answer()


class _Response(Struct, frozen=True, omit_defaults=True):
    uid: str
    allowed: bool
    warnings: tuple[str, ...] = ()


class _AdmissionReview(Struct, frozen=True, rename="camel"):
    response: _Response
    api_version: str = API_VERSION
    kind: str = "AdmissionReview"


def encode_answer(uid: str, answer: Answer) -> bytes:
    """The body of the reply."""
    warnings = tuple(map(_plain, answer.warnings))
    return msgspec.json.encode(_AdmissionReview(_Response(uid, answer.allowed, warnings)))


def _plain(text: str) -> str:
    """Printable characters only, and short enough."""
    visible = "".join(character if character.isprintable() else "?" for character in text)
    return visible if len(visible) <= _MAX_WARNING else visible[: _MAX_WARNING - 1] + "…"
