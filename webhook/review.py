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

__all__ = [
    "MAX_REVIEW_BYTES",
    "BadReview",
    "Eviction",
    "Request",
    "author_wrote",
    "decode_review",
    "new_object",
    "new_pod",
    "old_object",
    "old_pod",
]

T = TypeVar("T")

MAX_REVIEW_BYTES: Final = 7 << 20
"""An object may have 1.5 MiB in etcd, and a review holds two: what controller-runtime allows, too."""
_MOST_COMMAS: Final = 100_000
"""Of a whole review: what is small in JSON may be a hundred times as large in memory, and takes as long to look at."""
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


class Eviction(Model, frozen=True):
    """What is posted to ``pods/eviction``."""

    delete_options: DeleteOptions | None = None


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
        BadReview: it is not JSON, not an AdmissionReview of v1, lacks a field that an answer needs, or holds too much.
    """
    if len(body) > _MOST_COMMAS and body.count(b",") > _MOST_COMMAS:
        raise BadReview(f"the body holds more than {_MOST_COMMAS} values: no pod has so many")
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
    return old_object(request, Pod)


def new_pod(request: Request) -> Pod | None:
    """The pod as it would be stored, with its namespace; None when the review does not hold one.

    Raises:
        BadReview: the object has another shape.
    """
    pod = _decoded(request, request.object, Pod, "object")
    if pod is None or pod.metadata.namespace == request.namespace:
        return pod
    return replace(pod, metadata=replace(pod.metadata, namespace=request.namespace))


def old_object(request: Request, kind: type[T]) -> T | None:
    """The object as it is stored; None when the review does not hold one.

    Raises:
        BadReview: the object has another shape.
    """
    return _decoded(request, request.old_object, kind, "oldObject")


def new_object(request: Request, kind: type[T]) -> T | None:
    """The object as it would be stored; None when the review does not hold one.

    Raises:
        BadReview: the object has another shape.
    """
    return _decoded(request, request.object, kind, "object")


class _Fields(Model, frozen=True):
    spec: dict[str, Raw] = field(default_factory=dict, name="f:spec")


class _ManagedFields(Model, frozen=True):
    fields_v1: _Fields = field(default_factory=_Fields)


class _ManagedMeta(Model, frozen=True):
    managed_fields: tuple[_ManagedFields, ...] = ()


class _Managed(Model, frozen=True):
    metadata: _ManagedMeta = field(default_factory=_ManagedMeta)


def author_wrote(request: Request, field_name: str) -> bool:
    """Whether whoever sent a new object wrote this field of its spec, and no admission plugin filled it in.

    The API server notes in managedFields what a request holds before any plugin changes it; nothing noted: yes.

    Source: pkg/endpoints/handlers/create.go of k8s.io/apiserver at v0.36.3.

    Raises:
        BadReview: the object has another shape.
    """
    found = _decoded(request, request.object, _Managed, "object")
    entries = found.metadata.managed_fields if found is not None else ()
    return not entries or any(f"f:{field_name}" in entry.fields_v1.spec for entry in entries)


def _decoded(request: Request, raw: Raw, kind: type[T], field_name: str) -> T | None:
    text = bytes(raw)
    if text == _NULL_TEXT:
        return None
    try:
        return from_json(text, kind)
    except DecodeError as error:
        raise BadReview(f"request.{field_name} of {request.resource.resource}: {error}") from error
