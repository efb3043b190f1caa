"""HTTP around the handlers. The only module that knows Flask."""

from __future__ import annotations

import logging
from typing import Final

from flask import Flask, Response, abort, request
from werkzeug.exceptions import HTTPException

from webhook.handlers import validate
from webhook.response import ALLOWED, Answer, encode_answer
from webhook.review import MAX_REVIEW_BYTES, BadReview, Request, decode_review

__all__ = ["create_app"]

_LOG: Final = logging.getLogger(__name__)
_JSON: Final = "application/json"


def create_app() -> Flask:
    """The application: ``POST /validate`` and ``GET /healthz``."""
    app = Flask("qos-webhook")
    app.config["MAX_CONTENT_LENGTH"] = MAX_REVIEW_BYTES

    @app.post("/validate")
    def _validate() -> Response:
        return _reviewed(_body())

    @app.get("/healthz")
    def _healthz() -> Response:
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


def _reviewed(body: bytes) -> Response:
    try:
        review = decode_review(body)
    except BadReview as error:
        abort(400, str(error))
    return Response(encode_answer(review.uid, _answered(review)), mimetype=_JSON)


def _answered(review: Request) -> Answer:
    """The handlers' answer; a failure of ours never stands in anybody's way."""
    try:
        return validate(review)
    except Exception:  # noqa: BLE001 - whatever it is, it must not hinder a deletion
        _LOG.exception("review %s of %s was let through without a look", review.uid, review.resource.resource)
        return ALLOWED
