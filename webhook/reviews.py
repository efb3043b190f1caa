"""Reviews over HTTP, as a WSGI application: body, handler, answer.

It stands before Flask's routes, which take a sixth of a review's CPU for contexts and rules that no review needs.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from werkzeug.exceptions import HTTPException, InternalServerError, MethodNotAllowed, ServiceUnavailable, abort
from werkzeug.sansio.utils import get_content_length

from webhook.cluster import Cluster
from webhook.handlers import leave_unseen, mutate, refuse_unseen, validate
from webhook.logs import log_review, logs_review
from webhook.metrics import Metrics, Outcome
from webhook.response import ALLOWED, Answer, Forced, encode_answer
from webhook.review import EDGE_BYTES, MAX_REVIEW_BYTES, BadReview, Request, decode_review, skim

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

__all__ = ["REVIEW_PATHS", "Reviews", "TellRefused"]

_LOG: Final = logging.getLogger(__name__)
_JSON: Final = "application/json"
TellRefused = Callable[[Forced, str, str], None]
"""Takes a refused force deletion, the user, and what that user is told."""


class _Handlers(NamedTuple):
    look: Callable[[Request, Cluster], Answer]
    leave: Callable[[Request, Cluster, str], Answer]
    """Answers without a look, for that reason."""


_HANDLERS: Final = {"/mutate": _Handlers(mutate, leave_unseen), "/validate": _Handlers(validate, refuse_unseen)}
REVIEW_PATHS: Final = tuple(_HANDLERS)
_LEVELS: Final = {
    Outcome.DENIED: logging.INFO,
    Outcome.UNREADABLE: logging.WARNING,
    Outcome.FAILED: logging.WARNING,
}
"""Levels of the lines about outcomes that somebody may ask about; all others are debug, but for slow ones."""
_SLOW_SECONDS: Final = 0.25
_HOLD_SECONDS: Final = 0.15
"""How long a review waits for us to become ready; the API server then asks up to ten times more, in its own time."""
_HOLD_STEP: Final = 0.01
_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=(\d{1,3})s(?:&|$)")
"""As the API server tells it (pkg/admission/plugin/webhook/mutating/dispatcher.go in k8s.io/apiserver at v0.36.3)."""
_MOST_PATIENCE: Final = 30
"""Seconds: more than that no webhook configuration can ask for."""
_SMALL_BODY: Final = 16 << 10
_MOST_BODIES: Final = MAX_REVIEW_BYTES + (16 << 20)
"""Bytes of bodies that are not small and under way at once: one of the longest, and hundreds of usual ones."""
_MOST_PASSED_OVER: Final = 8 * MAX_REVIEW_BYTES
"""Bytes of a body that is not kept: whoever sends it reads no answer before it is sent."""


class _Unavailable(ServiceUnavailable):
    """Not now. client-go asks again after so many seconds, also what is not idempotent, on a new connection."""

    def __init__(self, description: str, again: int) -> None:
        super().__init__(description)
        self.again = again

    def get_headers(self, *args: Any, **how: Any) -> list[tuple[str, str]]:
        return [*super().get_headers(*args, **how), ("Retry-After", str(self.again))]


class Reviews:
    """Answers ``POST`` to `REVIEW_PATHS`."""

    def __init__(
        self,
        cluster: Cluster,
        waiting_for: Callable[[], Sequence[str]],
        metrics: Metrics,
        *,
        client_names: Collection[str] | None,
        refused: Callable[[WSGIEnvironment, HTTPException], Callable[..., Iterable[bytes]]],
        tell_refused: TellRefused | None = None,
    ) -> None:
        """Take what `webhook.app.create_app` was given, and what answers a request that is none."""
        self._cluster = cluster
        self._waiting_for = waiting_for
        self._metrics = metrics
        self._client_names = client_names
        self._refused = refused
        self._tell_refused = tell_refused
        self._bodies = _Bodies()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The answer to a review, or what is wrong with the request."""
        try:
            encoded = self._answer(environ)
        except HTTPException as error:
            return self._refused(environ, error)(environ, start_response)
        except Exception:  # noqa: BLE001 - whoever asks is told, and goes by the failurePolicy
            _LOG.exception("a review could not be read")
            return self._refused(environ, InternalServerError())(environ, start_response)
        start_response("200 OK", [("Content-Type", _JSON), ("Content-Length", str(len(encoded)))])
        return [encoded]

    def _answer(self, environ: WSGIEnvironment) -> bytes:
        arrived = time.monotonic()
        if environ["REQUEST_METHOD"] != "POST":
            raise MethodNotAllowed(["POST"])
        if self._client_names is not None:
            _admit(environ, self._client_names)
        length = _length(environ)
        kept = length if length <= MAX_REVIEW_BYTES else EDGE_BYTES
        with self._bodies.read(environ, kept) as body:
            _pass_over(environ, length - kept)
            _wait_until_ready(self._waiting_for)
            cluster = self._cluster_for(environ["QUERY_STRING"], arrived)
            return self._reviewed(body, length, environ["PATH_INFO"], cluster)

    def _cluster_for(self, query: str, arrived: float) -> Cluster:
        """The cluster for a review, which may tell how long its answer is waited for: ``?timeout=10s``."""
        told = _TIMEOUT.search(query)
        if told is None:
            return self._cluster.for_review(arrived)
        return self._cluster.for_review(arrived, min(int(told[1]), _MOST_PATIENCE))

    def _reviewed(self, body: bytes, length: int, path: str, cluster: Cluster) -> bytes:
        started = time.perf_counter()
        review, problem = _read_review(body, length)
        answer, outcome, reason = _answered(review, problem, _HANDLERS[path], cluster)
        if answer.forced is not None and self._tell_refused is not None and not review.dry_run:
            self._tell_refused(answer.forced, review.user_info.username, answer.denial)
        encoded = encode_answer(review.uid, answer)
        seconds = time.perf_counter() - started
        self._metrics.count_review(path, outcome, seconds)
        level = _LEVELS.get(outcome, logging.INFO if seconds > _SLOW_SECONDS else logging.DEBUG)
        if logs_review(level):
            what = f"{review.resource.resource}/{review.namespace}/{review.name}"
            milliseconds = seconds * 1000
            log_review(outcome.value, milliseconds, level=level, path=path, uid=review.uid, what=what, reason=reason)
        return encoded


def _read_review(body: bytes, length: int) -> tuple[Request, str]:
    """The request, and why it has no objects; empty: it has them.

    Raises:
        HTTPException: The body does not even tell who asks for what.
    """
    if length > len(body):
        problem, end = f"it has {length} bytes; at most {MAX_REVIEW_BYTES} are read", b""
    else:
        try:
            return decode_review(body), ""
        except BadReview as error:
            problem, end = f"it cannot be read: {error}", body
    try:
        return skim(body, end), problem
    except BadReview:
        abort(413 if length > len(body) else 400, problem)


def _admit(environ: WSGIEnvironment, names: Collection[str]) -> None:
    """Let a client in whose certificate has one of these names; TLS has checked whose authority it is of."""
    certificate = environ["gunicorn.socket"].getpeercert()
    if not certificate:
        abort(401, "show a client certificate of an authority in --client-ca")
    common = [value for part in certificate["subject"] for kind, value in part if kind == "commonName"]
    if names and not any(name in names for name in common):
        abort(403, f"common name {', '.join(common) or '(none)'} is not one of --client-name")


class _Bodies:
    """The bodies that are under way: their lengths are known, and together they fit into memory."""

    def __init__(self) -> None:
        self._bytes = 0

    @contextmanager
    def read(self, environ: WSGIEnvironment, length: int) -> Iterator[bytes]:
        """So many bytes of a request's body; they count until the block ends."""
        counted = length if length > _SMALL_BODY else 0
        if self._bytes + counted > _MOST_BODIES:
            raise _Unavailable("too many large reviews at once", again=1)
        self._bytes += counted
        try:
            yield _read(environ, length)
        finally:
            self._bytes -= counted


def _read(environ: WSGIEnvironment, length: int) -> bytes:
    try:
        body: bytes = environ["wsgi.input"].read(length)
    except OSError as error:
        abort(400, f"the body broke off: {error}")
    if len(body) < length:
        abort(400, f"the body ended after {len(body)} of {length} bytes")
    return body


def _length(environ: WSGIEnvironment) -> int:
    """Of the body, whose type is right and which is not too long: a chunked one would be cut without a word."""
    if environ.get("HTTP_TRANSFER_ENCODING"):
        abort(411, "send Content-Length: a chunked body is not accepted")
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != _JSON:
        abort(415, f"send Content-Type: {_JSON}")
    length = get_content_length(environ.get("CONTENT_LENGTH")) or 0
    if length > _MOST_PASSED_OVER:
        abort(413, f"the body has {length} bytes; at most {MAX_REVIEW_BYTES} are read")
    return length


def _pass_over(environ: WSGIEnvironment, length: int) -> None:
    """Read what is not kept: an answer before that could be lost, with the connection that the rest is sent on."""
    while length > 0:
        length -= len(_read(environ, min(length, EDGE_BYTES)))


def _wait_until_ready(waiting_for: Callable[[], Sequence[str]]) -> None:
    deadline = time.monotonic() + _HOLD_SECONDS
    while missing := waiting_for():
        if time.monotonic() >= deadline:
            # The API server goes by its failurePolicy at last: an answer without a look would be no better, and hidden.
            raise _Unavailable(f"not ready: waiting for {', '.join(missing)}", again=0)
        time.sleep(_HOLD_STEP)


def _answered(review: Request, problem: str, handlers: _Handlers, cluster: Cluster) -> tuple[Answer, Outcome, str]:
    """The handlers' answer; what they cannot look at is refused only where a rule might have refused it."""
    outcome = Outcome.UNREADABLE
    try:
        answer = ALLOWED if problem else handlers.look(review, cluster)
    except BadReview as error:
        problem = f"it cannot be read: {error}"
    except Exception:  # noqa: BLE001 - whatever it is, it must not hinder anybody whom no rule might have hindered
        _LOG.exception("review %s of %s was not looked at", review.uid, review.resource.resource)
        outcome, problem = Outcome.FAILED, "the webhook failed, its log tells why"
    if problem:
        return _unseen(review, problem, outcome, handlers, cluster)
    if answer.denial:
        # Not the refusal itself: it says what the object holds, and whoever sent that is told.
        return answer, Outcome.DENIED, ""
    if answer.patch:
        return answer, Outcome.PATCHED, ""
    return answer, Outcome.WARNED if answer.warnings else Outcome.ALLOWED, ""


def _unseen(
    review: Request, problem: str, outcome: Outcome, handlers: _Handlers, cluster: Cluster
) -> tuple[Answer, Outcome, str]:
    try:
        answer = handlers.leave(review, cluster, problem)
    except Exception:  # noqa: BLE001 - likewise
        _LOG.exception("review %s of %s was let through without a look", review.uid, review.resource.resource)
        return ALLOWED, Outcome.FAILED, problem
    return answer, Outcome.DENIED if answer.denial else outcome, problem
