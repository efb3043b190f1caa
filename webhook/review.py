"""What the API server asks: an AdmissionReview, decoded narrowly; the pod in it stays as it came until a rule wants it.

Source: k8s.io/api/admission/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, field

from podrules.model.base import Model
from podrules.model.decode import DecodeError, from_json
from podrules.model.pod import Pod

__all__ = ["MAX_REVIEW_BYTES", "BadReview", "Request", "decode_review", "old_pod"]

MAX_REVIEW_BYTES: Final = 7 << 20
"""An object may have 1.5 MiB in etcd, and a review holds two: what controller-runtime allows, too."""
_NULL_TEXT: Final = b"null"
_NULL: Final = Raw(_NULL_TEXT)
API_VERSION: Final = "admission.k8s.io/v1"


class BadReview(ValueError):
    """The body is no AdmissionReview that can be answered."""


class GroupVersionResource(Model, frozen=True):
    """``request.resource``."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(Model, frozen=True):
    """``request.userInfo``."""

    username: str = ""
    groups: tuple[str, ...] | None = ()


class DeleteOptions(Model, frozen=True):
    """``request.options`` of a DELETE."""

    grace_period_seconds: int | None = None


class Request(Model, frozen=True):
    """``request``."""

    uid: str
    operation: str
    resource: GroupVersionResource
    sub_resource: str = ""
    name: str = ""
    """Empty on a collection delete, and on a create with generateName."""
    namespace: str = ""
    user_info: UserInfo = field(default_factory=UserInfo)
    old_object: Raw = _NULL
    options: DeleteOptions | None = None


class _AdmissionReview(Model, frozen=True):
    api_version: str
    kind: str
    request: Request


def decode_review(body: bytes) -> Request:
    """Read a review.

    Raises:
        BadReview: it is not JSON, not an AdmissionReview of v1, or lacks a field that an answer needs.
    """
    try:
        review = from_json(body, _AdmissionReview)
    except DecodeError as error:
        raise BadReview(f"the body is not an AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise BadReview(f"{review.api_version} {review.kind} is not supported: send {API_VERSION} AdmissionReview")
    return review.request


def old_pod(request: Request) -> Pod | None:
    """The pod as it is stored; None when the review does not hold one.

    Raises:
        BadReview: the object has another shape.
    """
    if bytes(request.old_object) == _NULL_TEXT:
        return None
    try:
        return from_json(bytes(request.old_object), Pod)
    except (DecodeError, msgspec.DecodeError) as error:
        raise BadReview(f"request.oldObject is not a pod: {error}") from error
