"""The body of a request: JSON of a known length that is not too long, or what is wrong with it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, Final

from werkzeug.exceptions import ServiceUnavailable, abort
from werkzeug.sansio.utils import get_content_length

from webhook.connections import NoRoom
from webhook.connections.channel import Channel
from webhook.review import EDGE_BYTES, MAX_REVIEW_BYTES

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

__all__ = ["JSON", "Unavailable", "read_body"]

JSON: Final = "application/json"
_MOST_PASSED_OVER: Final = 8 * MAX_REVIEW_BYTES
"""Bytes of a body that is not kept: whoever sends it reads no answer before it is sent."""


class Unavailable(ServiceUnavailable):
    """Not now. client-go asks again after so many seconds, also what is not idempotent, on a new connection."""

    def __init__(self, description: str, again: int) -> None:
        """Say why, and after how many seconds to ask again."""
        super().__init__(description)
        self.again = again

    def get_headers(self, *args: Any, **how: Any) -> list[tuple[str, str]]:
        """See `HTTPException.get_headers`."""
        return [*super().get_headers(*args, **how), ("Retry-After", str(self.again))]


def read_body(environ: WSGIEnvironment) -> tuple[bytes, int]:
    """The body and its length; of one that is longer than `MAX_REVIEW_BYTES` the first `EDGE_BYTES`.

    Raises:
        HTTPException: What the client is told: the body is none that is read, it broke off, or there is no memory.
        ConnectionResetError: The client is told nothing: its connection was ended, for it was too slow.
    """
    length = _length(environ)
    channel = environ.get("gunicorn.socket")
    if length > MAX_REVIEW_BYTES:
        if isinstance(channel, Channel):
            channel.pass_over()
        body = _read(environ, EDGE_BYTES)
        _pass_over(environ, length - len(body))
    else:
        body = _read(environ, length)
    if isinstance(channel, Channel):
        channel.begin_answer()
    return body, length


def _read(environ: WSGIEnvironment, length: int) -> bytes:
    try:
        body: bytes = environ["wsgi.input"].read(length)
    except NoRoom:
        raise Unavailable("too many large reviews at once", again=1) from None
    except OSError as error:
        if _is_ended(environ):
            raise
        abort(400, f"the body broke off: {error}")
    if len(body) < length:
        if _is_ended(environ):
            raise ConnectionResetError(errno.ECONNRESET, "ended")
        abort(400, f"the body ended after {len(body)} of {length} bytes")
    return body


def _pass_over(environ: WSGIEnvironment, length: int) -> None:
    """Read what is not kept: an answer before that could be lost, with the connection that the rest is sent on."""
    while length > 0:
        length -= len(_read(environ, min(length, EDGE_BYTES)))


def _is_ended(environ: WSGIEnvironment) -> bool:
    """Whether we have ended the connection that a request came on."""
    channel = environ.get("gunicorn.socket")
    return isinstance(channel, Channel) and channel.connection.ended


def _length(environ: WSGIEnvironment) -> int:
    """Of the body, whose type is right and which is not too long: a chunked one would be cut without a word."""
    if environ.get("HTTP_TRANSFER_ENCODING"):
        abort(411, "send Content-Length: a chunked body is not accepted")
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
        abort(415, f"send Content-Type: {JSON}")
    length = get_content_length(environ.get("CONTENT_LENGTH")) or 0
    if length > _MOST_PASSED_OVER:
        abort(413, f"the body has {length} bytes; at most {MAX_REVIEW_BYTES} are read")
    return length
