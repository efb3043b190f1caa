"""What the API server asks: an AdmissionReview, decoded narrowly; the pod in it stays as it came until a rule wants it.

Source: k8s.io/api/admission/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Raw, field
from msgspec.structs import replace

from podrules.model.base import Model
from podrules.model.decode import DecodeError, from_json
from podrules.model.pod import Pod

__all__ = ["MAX_REVIEW_BYTES", "BadReview", "Request", "decode_review", "new_object", "new_pod", "old_pod"]

T = TypeVar("T")

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
    object: Raw = _NULL
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
    return _decoded(request, request.old_object, Pod, "oldObject")


def new_pod(request: Request) -> Pod | None:
    """The pod as it would be stored, with its namespace; None when the review does not hold one.

    Raises:
        BadReview: the object has another shape.
    """
    pod = _decoded(request, request.object, Pod, "object")
    if pod is None or pod.metadata.namespace == request.namespace:
        return pod
    return replace(pod, metadata=replace(pod.metadata, namespace=request.namespace))


def new_object(request: Request, kind: type[T]) -> T | None:
    """The object as it would be stored; None when the review does not hold one.

    Raises:
        BadReview: the object has another shape.
    """
    return _decoded(request, request.object, kind, "object")


def _decoded(request: Request, raw: Raw, kind: type[T], field_name: str) -> T | None:
    text = bytes(raw)
    if text == _NULL_TEXT:
        return None
    try:
        return from_json(text, kind)
    except DecodeError as error:
        raise BadReview(f"request.{field_name} of {request.resource.resource}: {error}") from error
