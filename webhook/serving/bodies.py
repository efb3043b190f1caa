"""Reads the body of a request: JSON of a known length that is not too long."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from werkzeug.exceptions import ServiceUnavailable, abort
from werkzeug.sansio.utils import get_content_length

from webhook.reviews.admission_review import EDGE_BYTES, MAX_REVIEW_BYTES, BadReview, skim
from webhook.serving.connections import NoMemory
from webhook.serving.connections.listener import Channel

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

JSON: Final = "application/json"
_MAX_PASSED_OVER: Final = 8 * MAX_REVIEW_BYTES
"""Bytes of the longest body that is answered by its edges; a longer one is refused by its head alone."""
_PIECE_BYTES: Final = 16 << 10
"""Bytes that are read at once: a TLS record."""
LARGE_BYTES: Final = 1 << 18
"""Bytes above which a whole body takes much longer to evaluate than its edges."""
_MANY: Final = 4
"""The number of simultaneous large bodies from which only edges are evaluated."""


class Unavailable(ServiceUnavailable):
    """The webhook cannot answer now. client-go retries any request after Retry-After, on a new connection."""

    def __init__(self, description: str, retry_after: int) -> None:
        """Take the reason, and the seconds after which the client may retry."""
        super().__init__(description)
        self.seconds = retry_after

    def get_headers(self, *args: Any, **how: Any) -> list[tuple[str, str]]:
        """See `HTTPException.get_headers`."""
        return [*super().get_headers(*args, **how), ("Retry-After", str(self.seconds))]


class Body(NamedTuple):
    """The kept part of a body."""

    beginning: bytes
    """The whole body if it has ``length`` bytes."""
    length: int
    """Bytes of the whole body."""
    end: bytes
    """The last bytes of a body that was not kept."""

    @property
    def is_whole(self) -> bool:
        """Whether the whole body was kept."""
        return len(self.beginning) == self.length

    def edges(self) -> Body:
        """The edges of a large body that was kept."""
        return Body(self.beginning[:EDGE_BYTES], self.length, self.beginning[-EDGE_BYTES:])


def read_body(environ: WSGIEnvironment) -> Body:
    """Read the body, or only its edges if it is longer than `MAX_REVIEW_BYTES`, or memory or time is short.

    Time is short while `_MANY` large bodies are under way. If all were read completely, the last one would be evaluated
    after the API server's timeout, and failurePolicy Ignore would store its object without a check.

    Raises:
        HTTPException: The body is not acceptable, it broke off, or memory is exhausted; the client gets this answer.
        ConnectionResetError: The webhook ended the connection because the client was too slow; it gets no answer.
    """
    # gunicorn would silently truncate a chunked body.
    if environ.get("HTTP_TRANSFER_ENCODING"):
        abort(411, "send Content-Length: a chunked body is not accepted")
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
        abort(415, f"send Content-Type: {JSON}")
    length = get_content_length(environ.get("CONTENT_LENGTH")) or 0
    if length > _MAX_PASSED_OVER:
        abort(413, f"the body has {length} bytes; at most {MAX_REVIEW_BYTES} are read")
    channel = environ.get("gunicorn.socket")
    if length > EDGE_BYTES and isinstance(channel, Channel):
        body = _large(environ, length, channel)
    else:
        whole = _read(environ, length)
        body = Body(whole, length, whole)
        if length > MAX_REVIEW_BYTES:
            body = body.edges()
    if isinstance(channel, Channel):
        channel.begin_answer()
    return body


def _large(environ: WSGIEnvironment, length: int, channel: Channel) -> Body:
    """Read a large body piece by piece: other requests may need its memory or its time meanwhile."""
    if length > MAX_REVIEW_BYTES:
        channel.pass_over()
    connection, end, left, ends_early = channel.connection, b"", length, None
    kept = connection.body
    while left > 0:
        is_crowded = length >= LARGE_BYTES and channel.count_larger(LARGE_BYTES) >= _MANY
        if is_crowded or not connection.is_kept:
            if ends_early is None and kept.tell() >= EDGE_BYTES:
                ends_early = _is_judged_by_beginning(kept.getvalue())
            if ends_early:
                channel.leave_rest()
                return Body(kept.getvalue()[:EDGE_BYTES], length, b"")
        piece = _read(environ, min(left, _PIECE_BYTES))
        left -= len(piece)
        if left < 2 * EDGE_BYTES:
            end = (end + piece)[-EDGE_BYTES:]
        if connection.is_kept or kept.tell() < EDGE_BYTES:
            kept.write(piece)
    return Body(kept.getvalue(), length, end)


def _is_judged_by_beginning(beginning: bytes) -> bool:
    """Whether the rest of a body is not needed: only deletions have options, which follow the objects."""
    try:
        return skim(beginning, b"").operation != "DELETE"
    except BadReview:
        return True


def _read(environ: WSGIEnvironment, length: int) -> bytes:
    body, problem = b"", "ended"
    try:
        body = environ["wsgi.input"].read(length)
    except NoMemory:
        raise Unavailable("too many large reviews at once", retry_after=1) from None
    except OSError as error:
        problem = f"broke off ({error})"
    if len(body) < length:
        channel = environ.get("gunicorn.socket")
        if isinstance(channel, Channel) and channel.connection.ended:
            raise ConnectionResetError(errno.ECONNRESET, "the webhook has ended the connection")
        abort(400, f"the body {problem} after {len(body)} of {length} bytes")
    return body
