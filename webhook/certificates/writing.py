"""Requests that create or patch the objects that hold the certificate."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from podrules.cluster.live.answers import error_message
from podrules.cluster.live.reflector import CachedMeta, StreamTransport
from podrules.cluster.live.responses import ChangeAnswer

__all__ = ["MERGE", "STRATEGIC", "DescribedMeta", "RefusedError", "WritingTransport", "write"]

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"


class WritingTransport(StreamTransport, Protocol):
    """Requests to one API server that may also write."""

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """See `podrules.cluster.live.client.ClientTransport`."""
        ...


class DescribedMeta(CachedMeta, frozen=True):
    """``metadata`` of an object, with what is needed to create it again."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @property
    def description(self) -> dict[str, dict[str, str]]:
        """Its labels and annotations, as in ``metadata``."""
        return {"labels": self.labels, "annotations": self.annotations}


class RefusedError(Exception):
    """A request was refused."""


def write(
    transport: WritingTransport, method: str, path: str, body: Any, content_type: str = "application/json"
) -> bytes | None:
    """Create or patch an object; return it as stored, None when somebody else was first.

    Raises:
        RefusedError: the API server refuses the request.
        Unreachable: the API server does not answer.
    """
    status, answer, _ = transport.send(method, path, msgspec.json.encode(body), content_type)
    if status == HTTPStatus.CONFLICT:
        return None
    if status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
        raise RefusedError(f"{method} {path}: {status}: {error_message(answer)}")
    return answer
