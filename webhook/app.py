"""HTTP around the handlers. The only module that knows Flask."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from flask import Flask, Response, abort, request
from werkzeug.exceptions import HTTPException

from webhook.cluster import Cluster
from webhook.handlers import mutate, validate
from webhook.response import ALLOWED, Answer, encode_answer
from webhook.review import MAX_REVIEW_BYTES, BadReview, Request, decode_review

__all__ = ["create_app"]

_LOG: Final = logging.getLogger(__name__)
_JSON: Final = "application/json"
_Handler = Callable[[Request, Cluster], Answer]


def create_app(cluster: Cluster, waiting_for: Callable[[], Sequence[str]], draining: Callable[[], bool]) -> Flask:
    """The application: ``POST /mutate`` and ``/validate``, ``GET /healthz`` and ``/readyz``.

    Args:
        cluster: What handlers ask.
        waiting_for: What is still missing before requests can be answered; nothing: ready.
        draining: Whether the server is about to end: it still answers, and wants no new connections.
    """
    app = Flask("qos-webhook")
    app.config["MAX_CONTENT_LENGTH"] = MAX_REVIEW_BYTES

    def reviewed(handler: _Handler) -> Response:
        body = _body()
        missing = waiting_for()
        if missing:
            # The API server then goes by its failurePolicy: an answer without a look would be no better, and hidden.
            abort(503, f"not ready: waiting for {', '.join(missing)}")
        return _reviewed(body, handler, cluster)

    @app.post("/mutate")
    def _mutate() -> Response:
        return reviewed(mutate)

    @app.post("/validate")
    def _validate() -> Response:
        return reviewed(validate)

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

    @app.errorhandler(HTTPException)
    def _failed(error: HTTPException) -> Response:
        return Response(f"{error.description}\n", status=error.code, mimetype="text/plain")

    return app


def _body() -> bytes:
    """The body, of known length and type: a chunked one would be cut at the limit without a word."""
    if request.headers.get("Transfer-Encoding"):
        abort(411, "send Content-Length: a chunked body is not accepted")
    if request.mimetype != _JSON:
        abort(415, f"send Content-Type: {_JSON}")
    return request.get_data(cache=False)


def _reviewed(body: bytes, handler: _Handler, cluster: Cluster) -> Response:
    try:
        review = decode_review(body)
    except BadReview as error:
        abort(400, str(error))
    return Response(encode_answer(review.uid, _answered(review, handler, cluster)), mimetype=_JSON)


def _answered(review: Request, handler: _Handler, cluster: Cluster) -> Answer:
    """The handlers' answer; a failure of ours never stands in anybody's way."""
    try:
        return handler(review, cluster)
    except Exception:  # noqa: BLE001 - whatever it is, it must not hinder anybody
        _LOG.exception("review %s of %s was let through without a look", review.uid, review.resource.resource)
        return ALLOWED
