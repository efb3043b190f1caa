"""The Flask application: probes, error answers and, in front of its routes, the reviews of `webhook.serving.wsgi`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from flask import Flask, Response, abort, request
from werkzeug.exceptions import HTTPException

from webhook.cluster.view import Cluster
from webhook.serving.metrics import Metrics
from webhook.serving.wsgi import REVIEW_PATHS, ReportForced, Reviews

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_LOG: Final = logging.getLogger(__name__)


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
    app = Flask("qos-webhook")
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

    def refused(environ: WSGIEnvironment, error: HTTPException) -> Response:
        if environ["REQUEST_METHOD"] == "POST":
            counted.count_refused(error.code or 500)
            who, path = environ.get("REMOTE_ADDR"), environ["PATH_INFO"]
            _LOG.warning("%s %s: %d: %s", who, path, error.code or 500, error.description)
        answer = Response(f"{error.description}\n", status=error.code, mimetype="text/plain")
        for name in ("Allow", "Retry-After"):
            answer.headers.extend((name, value) for found, value in error.get_headers() if found == name)
        return answer

    @app.errorhandler(HTTPException)
    def _failed(error: HTTPException) -> Response:
        return refused(request.environ, error)

    reviews = Reviews(
        cluster, waiting_for, counted, client_names=client_names, refused=refused, report_forced=report_forced
    )
    routed = app.wsgi_app

    def reviews_first(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return (reviews if environ["PATH_INFO"] in REVIEW_PATHS else routed)(environ, start_response)

    app.wsgi_app = reviews_first  # type: ignore[method-assign]  # as Flask's own documentation puts middleware in
    return app
