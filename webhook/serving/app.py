"""The Flask application: reviews, probes and error answers."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flask import Flask, Response, abort, request
from werkzeug.exceptions import HTTPException, InternalServerError

from webhook.cluster.view import PATIENCE_SECONDS, Cluster
from webhook.reviews.admission_review import MAX_REVIEW_BYTES, BadReview, Request, decode_review, skim
from webhook.reviews.response import ALLOWED, Answer, ForceDeletionRecord, encode_answer
from webhook.rules import allow_unreadable, mutate, refuse_unreadable, validate
from webhook.serving.bodies import JSON, LARGE_BYTES, Body, Unavailable, read_body
from webhook.serving.logs import log_review, logs_review
from webhook.serving.metrics import Metrics, ReviewResult

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

_LOG: Final = logging.getLogger(__name__)
ReportForced = Callable[[ForceDeletionRecord, str, str], None]
"""Takes a force deletion, the user who requested it, and the message of the refusal, empty if it was allowed."""


class _Handlers(NamedTuple):
    readable: Callable[[Request, Cluster], Answer]
    unreadable: Callable[[Request, Cluster, str], Answer]
    """Answers a review without known objects; the text says why they are unknown."""


_HANDLERS: Final = {"/mutate": _Handlers(mutate, allow_unreadable), "/validate": _Handlers(validate, refuse_unreadable)}
REVIEW_PATHS: Final = tuple(_HANDLERS)
_LEVELS: Final = {
    ReviewResult.DENIED: logging.INFO,
    ReviewResult.UNREADABLE: logging.WARNING,
    ReviewResult.FAILED: logging.WARNING,
}
"""Log levels of outcomes that may need an explanation. A slow review is logged at info, any other at debug."""
_SLOW_SECONDS: Final = 0.25
_HOLD_SECONDS: Final = 0.15
"""How long a review waits for the webhook to be ready; the API server then retries it up to ten times."""
_HOLD_STEP: Final = 0.01
_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=(\d{1,3})s(?:&|$)")
"""The timeout in the query that the API server sends.

Source: pkg/admission/plugin/webhook/mutating/dispatcher.go in k8s.io/apiserver at v0.36.3.
"""
_MAX_PATIENCE: Final = 30
"""Seconds: the longest timeout that a webhook configuration can have."""


def create_app(
    cluster: Cluster,
    waiting_for: Callable[[], Sequence[str]],
    draining: Callable[[], bool],
    *,
    metrics: Metrics | None = None,
    client_names: Collection[str] | None = None,
    report_forced: ReportForced | None = None,
) -> Flask:
    """Make the application: ``POST /mutate`` and ``/validate``, ``GET /healthz`` and ``/readyz``.

    Args:
        cluster: The cluster as handlers see it.
        waiting_for: Returns what is missing before requests can be answered; empty when the webhook is ready.
        draining: Whether the server is about to end: it still answers, but is no longer ready.
        metrics: The counters; its paths are `REVIEW_PATHS`.
        client_names: Common names of the clients that may send reviews; empty: any certificate of a trusted authority;
            None: any client.
        report_forced: Called for each force deletion that is not a dry run, refused or allowed.
    """
    app = Flask("qos-webhook", static_folder=None)
    # `_failed` answers every error but one, which has to reach gunicorn.
    app.config["PROPAGATE_EXCEPTIONS"] = True
    counted = metrics or Metrics(REVIEW_PATHS)

    @app.get("/healthz")
    def _healthz() -> Response:
        return Response("ok\n", mimetype="text/plain")

    @app.get("/readyz")
    def _readyz() -> Response:
        if draining():
            abort(503, "ending")
        missing = waiting_for()
        if missing:
            abort(503, f"waiting for {', '.join(missing)}")
        return Response("ok\n", mimetype="text/plain")

    @app.post("/mutate", provide_automatic_options=False)
    def _mutate() -> Response:
        return respond(request.environ, "/mutate")

    @app.post("/validate", provide_automatic_options=False)
    def _validate() -> Response:
        return respond(request.environ, "/validate")

    def respond(environ: WSGIEnvironment, path: str) -> Response:
        # Nothing here keeps the body: its memory is freed before the answer is sent.
        received = _receive(environ, path, cluster, waiting_for, client_names)
        return Response(_review(path, *received, counted, report_forced), mimetype=JSON)

    @app.errorhandler(HTTPException)
    def _refused(error: HTTPException) -> Response:
        code = error.code or 500
        if request.method == "POST":
            counted.count_refused(code)
            _LOG.warning("%s %s: %d: %s", request.remote_addr, request.path, code, error.description)
        refusal = Response(f"{error.description}\n", status=code, mimetype="text/plain")
        for name in ("Allow", "Retry-After"):
            refusal.headers.extend((name, value) for found, value in error.get_headers() if found == name)
        return refusal

    @app.errorhandler(Exception)
    def _failed(error: Exception) -> Response:
        """Answer an error of ours: the API server then applies its failurePolicy."""
        if isinstance(error, ConnectionResetError):
            # The client is gone.
            raise error
        _LOG.exception("a request could not be answered")
        return _refused(InternalServerError())

    return app


def _receive(
    environ: WSGIEnvironment,
    path: str,
    cluster: Cluster,
    waiting_for: Callable[[], Sequence[str]],
    client_names: Collection[str] | None,
) -> tuple[Body, Cluster]:
    """Read the body of an accepted request; return it with a cluster for the client's timeout."""
    arrived = time.monotonic()
    if client_names is not None:
        # Refuse a client certificate without one of these names; TLS has already checked the authority.
        certificate = environ["gunicorn.socket"].getpeercert()
        if not certificate:
            abort(401, "show a client certificate of an authority in clients.caFile")
        if not is_accepted(certificate, client_names):
            common = _common_names(certificate)
            abort(403, f"common name {', '.join(common) or '(none)'} is not one of clients.names")
    found = _TIMEOUT.search(environ["QUERY_STRING"])
    timeout = PATIENCE_SECONDS if found is None else min(int(found[1]), _MAX_PATIENCE)
    body = read_body(environ)
    if body.is_whole and body.length >= LARGE_BYTES and time.monotonic() - arrived > timeout / 2:
        body = body.edges()
    if path == "/mutate" and not body.is_whole and body.length <= MAX_REVIEW_BYTES:
        # There may be room in a moment, and an answer without the whole body would fill in no defaults.
        raise Unavailable("too many large reviews at once", retry_after=1)
    deadline = time.monotonic() + _HOLD_SECONDS
    while missing := waiting_for():
        if time.monotonic() >= deadline:
            # At last the API server applies its failurePolicy: an answer without a check would hide the problem.
            raise Unavailable(f"not ready: waiting for {', '.join(missing)}", retry_after=0)
        time.sleep(_HOLD_STEP)
    return body, cluster.for_review(arrived, timeout)


def _review(path: str, body: Body, cluster: Cluster, counted: Metrics, report_forced: ReportForced | None) -> bytes:
    """Decode a review, call the handlers, count and log; return the encoded answer."""
    started = time.perf_counter()
    review, problem = _read_review(body)
    answer, outcome, reason = _ask_handlers(review, problem, _HANDLERS[path], cluster)
    if answer.forced is not None and report_forced is not None and not review.dry_run:
        report_forced(answer.forced, review.user_info.username, answer.denial)
    encoded = encode_answer(review.uid, answer)
    seconds = time.perf_counter() - started
    counted.count_review(path, outcome, seconds)
    level = _LEVELS.get(outcome, logging.INFO if seconds > _SLOW_SECONDS else logging.DEBUG)
    if logs_review(level):
        what = f"{review.resource.resource}/{review.namespace}/{review.name}"
        milliseconds = seconds * 1000
        log_review(outcome.value, milliseconds, level=level, path=path, uid=review.uid, what=what, reason=reason)
    return encoded


def _read_review(body: Body) -> tuple[Request, str]:
    """Read the request; the second value is the reason why its objects are missing, empty if they are present.

    Raises:
        HTTPException: The body does not even identify the request.
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


def is_accepted(certificate: Mapping[str, Any] | None, names: Collection[str]) -> bool:
    """Whether a client's certificate has one of these common names; any certificate is accepted if none is given.

    Args:
        certificate: As `ssl.SSLSocket.getpeercert` returns it.
        names: The accepted common names.
    """
    if not certificate:
        return False
    return not names or any(name in names for name in _common_names(certificate))


def _common_names(certificate: Mapping[str, Any]) -> Sequence[str]:
    return [value for part in certificate["subject"] for kind, value in part if kind == "commonName"]


def _ask_handlers(
    review: Request, problem: str, handlers: _Handlers, cluster: Cluster
) -> tuple[Answer, ReviewResult, str]:
    """Return the handlers' answer, the outcome of the review, and the problem for the log.

    A review that the handlers cannot read is refused only if a rule might have refused it.
    """
    outcome = ReviewResult.UNREADABLE
    try:
        answer = ALLOWED if problem else handlers.readable(review, cluster)
    except BadReview as error:
        problem = f"it cannot be read: {error}"
    except Exception:  # noqa: BLE001 - our error must not block a request that no rule might have refused
        _LOG.exception("review %s of %s was not checked", review.uid, review.resource.resource)
        outcome, problem = ReviewResult.FAILED, "the webhook failed; its log shows why"
    if problem:
        return _ask_without_objects(review, problem, outcome, handlers, cluster)
    if answer.denial:
        # The refusal is not logged: it quotes the object, and only its sender may read that.
        return answer, ReviewResult.DENIED, ""
    if answer.patch:
        return answer, ReviewResult.PATCHED, ""
    return answer, ReviewResult.WARNED if answer.warnings else ReviewResult.ALLOWED, ""


def _ask_without_objects(
    review: Request, problem: str, outcome: ReviewResult, handlers: _Handlers, cluster: Cluster
) -> tuple[Answer, ReviewResult, str]:
    try:
        answer = handlers.unreadable(review, cluster, problem)
    except Exception:  # noqa: BLE001 - as above
        _LOG.exception("review %s of %s was allowed without a check", review.uid, review.resource.resource)
        return ALLOWED, ReviewResult.FAILED, problem
    return answer, ReviewResult.DENIED if answer.denial else outcome, problem
