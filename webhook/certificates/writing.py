"""Requests that read and write single objects. None creates a Secret or a Lease: RBAC does not allow it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, Protocol, TypeVar

import msgspec

from cluster_io.live.answers import error_message
from cluster_io.live.reflector import StreamTransport
from cluster_io.live.responses import ChangeAnswer
from podrules.api.model.base import Model
from podrules.api.model.decode import from_json

T = TypeVar("T", bound=Model)

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"


class WritingTransport(StreamTransport, Protocol):
    """Requests to one API server that may also write."""

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """See `cluster_io.live.client.ClientTransport`."""
        ...


class RefusedError(Exception):
    """A request was refused."""


def read(transport: WritingTransport, path: str, model: type[T]) -> T:
    """Read one object.

    Raises:
        RefusedError: It does not exist, or the API server refuses the request.
        Unreachable: The API server does not answer.
    """
    status, body = transport.get(path)
    if status == HTTPStatus.NOT_FOUND:
        raise RefusedError(f"{path} does not exist, and this program may not create it: helm upgrade does")
    if status != HTTPStatus.OK:
        raise RefusedError(f"GET {path}: {status}: {error_message(body)}")
    return from_json(body, model)


def write(
    transport: WritingTransport, method: str, path: str, body: Any, content_type: str = "application/json"
) -> bytes | None:
    """Create or patch an object; return it as stored, None when another client was first.

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
