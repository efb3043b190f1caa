"""Reviews over HTTP, as a WSGI application: body, handler, answer.

It stands before Flask's routes, which take a sixth of a review's CPU for contexts and rules that no review needs.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from werkzeug.exceptions import HTTPException, InternalServerError, MethodNotAllowed, abort

from webhook.admission_review import MAX_REVIEW_BYTES, BadReview, Request, decode_review, skim
from webhook.bodies import JSON, Body, Unavailable, read_body
from webhook.cluster import Cluster
from webhook.handlers import leave_unseen, mutate, refuse_unseen, validate
from webhook.logs import log_review, logs_review
from webhook.metrics import Metrics, ReviewResult
from webhook.response import ALLOWED, Answer, Forced, encode_answer

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

__all__ = ["REVIEW_PATHS", "Reviews", "TellRefused", "is_accepted"]

_LOG: Final = logging.getLogger(__name__)
TellRefused = Callable[[Forced, str, str], None]
"""Takes a refused force deletion, the user, and what that user is told."""


class _Handlers(NamedTuple):
    look: Callable[[Request, Cluster], Answer]
    leave: Callable[[Request, Cluster, str], Answer]
    """Answers without a look, for that reason."""


_HANDLERS: Final = {"/mutate": _Handlers(mutate, leave_unseen), "/validate": _Handlers(validate, refuse_unseen)}
REVIEW_PATHS: Final = tuple(_HANDLERS)
_LEVELS: Final = {
    ReviewResult.DENIED: logging.INFO,
    ReviewResult.UNREADABLE: logging.WARNING,
    ReviewResult.FAILED: logging.WARNING,
}
"""Levels of the lines about outcomes that somebody may ask about; all others are debug, but for slow ones."""
_SLOW_SECONDS: Final = 0.25
_HOLD_SECONDS: Final = 0.15
"""How long a review waits for us to become ready; the API server then asks up to ten times more, in its own time."""
_HOLD_STEP: Final = 0.01
_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=(\d{1,3})s(?:&|$)")
"""As the API server tells it (pkg/admission/plugin/webhook/mutating/dispatcher.go in k8s.io/apiserver at v0.36.3)."""
_MAX_PATIENCE: Final = 30
"""Seconds: more than that no webhook configuration can ask for."""


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

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The answer to a review, or what is wrong with the request."""
        try:
            encoded = self._answer(environ)
        except HTTPException as error:
            return self._refused(environ, error)(environ, start_response)
        except ConnectionResetError:
            raise
        except Exception:  # noqa: BLE001 - whoever asks is told, and goes by the failurePolicy
            _LOG.exception("a review could not be read")
            return self._refused(environ, InternalServerError())(environ, start_response)
        start_response("200 OK", [("Content-Type", JSON), ("Content-Length", str(len(encoded)))])
        return [encoded]

    def _answer(self, environ: WSGIEnvironment) -> bytes:
        arrived = time.monotonic()
        if environ["REQUEST_METHOD"] != "POST":
            raise MethodNotAllowed(["POST"])
        if self._client_names is not None:
            _admit(environ, self._client_names)
        body = read_body(environ)
        if environ["PATH_INFO"] == "/mutate" and not body.is_whole and body.length <= MAX_REVIEW_BYTES:
            # There may be memory in a moment, and an answer without a look fills nothing in.
            raise Unavailable("too many large reviews at once", again=1)
        _wait_until_ready(self._waiting_for)
        cluster = self._cluster_for(environ["QUERY_STRING"], arrived)
        return self._reviewed(body, environ["PATH_INFO"], cluster)

    def _cluster_for(self, query: str, arrived: float) -> Cluster:
        """The cluster for a review, which may tell how long its answer is waited for: ``?timeout=10s``."""
        told = _TIMEOUT.search(query)
        if told is None:
            return self._cluster.for_review(arrived)
        return self._cluster.for_review(arrived, min(int(told[1]), _MAX_PATIENCE))

    def _reviewed(self, body: Body, path: str, cluster: Cluster) -> bytes:
        started = time.perf_counter()
        review, problem = _read_review(body)
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


def _read_review(body: Body) -> tuple[Request, str]:
    """The request, and why it has no objects; empty: it has them.

    Raises:
        HTTPException: The body does not even tell who asks for what.
    """
    if body.is_whole:
        try:
            return decode_review(body.beginning), ""
        except BadReview as error:
            problem = f"it cannot be read: {error}"
    elif body.length > MAX_REVIEW_BYTES:
        problem = f"it has {body.length} bytes; at most {MAX_REVIEW_BYTES} are read"
    else:
        problem = f"too many large reviews came at once, and it has {body.length} bytes: try again"
    try:
        return skim(body.beginning, body.end), problem
    except BadReview:
        abort(400 if body.is_whole else 413, problem)


def _admit(environ: WSGIEnvironment, names: Collection[str]) -> None:
    """Let a client in whose certificate has one of these names; TLS has checked whose authority it is of."""
    certificate = environ["gunicorn.socket"].getpeercert()
    if not certificate:
        abort(401, "show a client certificate of an authority in --client-ca")
    if not is_accepted(certificate, names):
        common = _common_names(certificate)
        abort(403, f"common name {', '.join(common) or '(none)'} is not one of --client-name")


def is_accepted(certificate: Mapping[str, Any] | None, names: Collection[str]) -> bool:
    """Whether a client's certificate, as of `ssl.SSLSocket.getpeercert`, has one of these names; none: any name."""
    if not certificate:
        return False
    return not names or any(name in names for name in _common_names(certificate))


def _common_names(certificate: Mapping[str, Any]) -> Sequence[str]:
    return [value for part in certificate["subject"] for kind, value in part if kind == "commonName"]


def _wait_until_ready(waiting_for: Callable[[], Sequence[str]]) -> None:
    deadline = time.monotonic() + _HOLD_SECONDS
    while missing := waiting_for():
        if time.monotonic() >= deadline:
            # The API server goes by its failurePolicy at last: an answer without a look would be no better, and hidden.
            raise Unavailable(f"not ready: waiting for {', '.join(missing)}", again=0)
        time.sleep(_HOLD_STEP)


def _answered(review: Request, problem: str, handlers: _Handlers, cluster: Cluster) -> tuple[Answer, ReviewResult, str]:
    """The handlers' answer; what they cannot look at is refused only where a rule might have refused it."""
    outcome = ReviewResult.UNREADABLE
    try:
        answer = ALLOWED if problem else handlers.look(review, cluster)
    except BadReview as error:
        problem = f"it cannot be read: {error}"
    except Exception:  # noqa: BLE001 - whatever it is, it must not hinder anybody whom no rule might have hindered
        _LOG.exception("review %s of %s was not looked at", review.uid, review.resource.resource)
        outcome, problem = ReviewResult.FAILED, "the webhook failed, its log tells why"
    if problem:
        return _unseen(review, problem, outcome, handlers, cluster)
    if answer.denial:
        # Not the refusal itself: it says what the object holds, and whoever sent that is told.
        return answer, ReviewResult.DENIED, ""
    if answer.patch:
        return answer, ReviewResult.PATCHED, ""
    return answer, ReviewResult.WARNED if answer.warnings else ReviewResult.ALLOWED, ""


def _unseen(
    review: Request, problem: str, outcome: ReviewResult, handlers: _Handlers, cluster: Cluster
) -> tuple[Answer, ReviewResult, str]:
    try:
        answer = handlers.leave(review, cluster, problem)
    except Exception:  # noqa: BLE001 - likewise
        _LOG.exception("review %s of %s was let through without a look", review.uid, review.resource.resource)
        return ALLOWED, ReviewResult.FAILED, problem
    return answer, ReviewResult.DENIED if answer.denial else outcome, problem
