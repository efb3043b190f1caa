"""Decodes the API server's AdmissionReview; the pod in it stays raw until a rule needs it.

Everything that the API server can store can be read. If a review still cannot be read, its beginning and its end show
who requests what: `skim` reads those, so that a rule that might refuse the request can refuse it without its objects.

    order   the fields of a request: first all that identifies it, then object, oldObject, dryRun, options
    quotes  Go escapes each quotation mark in text, so a key of the request is found without parsing the text before it

Source: k8s.io/api/admission/v1/types.go at v0.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, TypeVar

from msgspec import Raw, field
from msgspec.structs import replace

from podrules.api.model.base import Model
from podrules.api.model.decode import DecodeError
from podrules.api.model.pod import Pod
from webhook.reviews.partial_objects import PartialObject, see

T = TypeVar("T")

MAX_REVIEW_BYTES: Final = 24 << 20
"""More than the API server sends for any object that it can store.

    stored   at most 1.5 MiB of protobuf (DefaultMaxRequestBytes of etcd); a request has at most 3 MiB
             (MaxRequestBodyBytes), and an object above the first limit fails at etcd after all reviews
    text     a byte becomes at most six: Go writes <, >, & and control characters, and U+FFFD for bytes that are not
             UTF-8, as \\u003c
    names    JSON has field names, protobuf has none: they enlarge small structs. The worst case that validation admits
             is a weightedPodAffinityTerm with two empty selectors: 13 bytes become 94
    objects  an update has two: 2 * 1.5 * 94 / 13 = 21.7 MiB

Source: k8s.io/apiserver/pkg/server/config.go at v0.36.3; server/embed/config.go of etcd at v3.6; appendString of Go's
encoding/json; k8s.io/api/core/v1/generated.proto at v0.36.3.
"""
_MAX_UID: Final = 128
"""Characters; the API server's uids have 36."""
EDGE_BYTES: Final = 1 << 16
"""The number of bytes that `skim` reads at the beginning and at the end of a review."""
_OBJECT: Final = re.compile(rb',\s*"object"\s*:\s*[{n]')
"""The start of the objects; the value of a key of userInfo.extra is a list."""
_OPTIONS: Final = b'"options"'
_NULL_TEXT: Final = b"null"
_NULL: Final = Raw(_NULL_TEXT)
API_VERSION: Final = "admission.k8s.io/v1"


class BadReview(ValueError):
    """The body is not an AdmissionReview that can be answered."""


class GroupVersionResource(Model, frozen=True):
    """``request.resource``."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(Model, frozen=True):
    """``request.userInfo``."""

    username: str = ""
    groups: tuple[str, ...] | None = ()

    @property
    def is_kubelet(self) -> bool:
        """Whether the client is a kubelet; clients cannot choose their own groups."""
        return "system:nodes" in (self.groups or ())


class _Preconditions(Model, frozen=True):
    resource_version: str = ""


class DeleteOptions(Model, frozen=True):
    """``request.options`` of a DELETE, and ``deleteOptions`` of an Eviction."""

    grace_period_seconds: int | None = None
    dry_run: tuple[str, ...] = ()
    preconditions: _Preconditions = field(default_factory=_Preconditions)


class PostedEviction(Model, frozen=True):
    """The object that is posted to ``pods/eviction``."""

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
    dry_run: bool | None = False


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
        review = see(body, _AdmissionReview).object
    except DecodeError as error:
        raise BadReview(f"the body is not an AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, "AdmissionReview"):
        raise BadReview(f"{review.api_version} {review.kind} is not supported: send {API_VERSION} AdmissionReview")
    # The answer repeats the uid.
    if len(review.request.uid) > _MAX_UID:
        raise BadReview(f"request.uid has {len(review.request.uid)} characters; at most {_MAX_UID} are repeated")
    return review.request


def skim(beginning: bytes, end: bytes) -> Request:
    """Read a request without its objects, from a review that cannot be read completely.

    Args:
        beginning: The beginning of the body; bytes after `EDGE_BYTES` are ignored.
        end: The end of the body, likewise; empty if it is unknown: then the request has no options.

    Raises:
        BadReview: the beginning does not identify the request.
    """
    found = _OBJECT.search(beginning, 0, EDGE_BYTES)
    if found is None:
        raise BadReview(f"the first {EDGE_BYTES} bytes of the body do not identify the request")
    before = beginning[: found.start()]
    at = end.rfind(_OPTIONS, -EDGE_BYTES)
    if at >= 0:
        try:
            return decode_review(before + b"," + end[at:])
        except BadReview:
            # The part after the objects is damaged, too.
            pass
    return decode_review(before + b"}}")


def pod_of(request: Request) -> PartialObject[Pod] | None:
    """The pod as it would be stored, with its namespace; None when the review contains no pod.

    Raises:
        BadReview: the object has another shape.
    """
    seen = new_object(request, Pod)
    if seen is None or seen.object.metadata.namespace == request.namespace:
        return seen
    pod = seen.object
    return replace(seen, object=replace(pod, metadata=replace(pod.metadata, namespace=request.namespace)))


def old_object(request: Request, kind: type[T]) -> PartialObject[T] | None:
    """The object as it is stored; None when the review contains none.

    Raises:
        BadReview: the object has another shape.
    """
    return _seen(request, request.old_object, kind, "oldObject")


def new_object(request: Request, kind: type[T]) -> PartialObject[T] | None:
    """The object as it would be stored; None when the review contains none.

    Raises:
        BadReview: the object has another shape.
    """
    return _seen(request, request.object, kind, "object")


class _Fields(Model, frozen=True):
    spec: dict[str, Raw] = field(default_factory=dict, name="f:spec")


class _ManagedFields(Model, frozen=True):
    fields_v1: _Fields = field(default_factory=_Fields)


class _ManagedMeta(Model, frozen=True):
    managed_fields: tuple[_ManagedFields, ...] = ()


class _Managed(Model, frozen=True):
    metadata: _ManagedMeta = field(default_factory=_ManagedMeta)


def fields_of_author(request: Request) -> Callable[[str], bool]:
    """Whether the author of a new object wrote a field of its spec, rather than an admission plugin.

    The API server records in managedFields which fields a request contains before any plugin changes it. True if
    managedFields is empty or too long to be read. The first call reads them, and raises BadReview if the object has
    another shape.

    Source: pkg/endpoints/handlers/create.go of k8s.io/apiserver at v0.36.3.
    """

    @cache
    def written() -> frozenset[str] | None:
        seen = new_object(request, _Managed)
        entries = seen.object.metadata.managed_fields if seen is not None else ()
        return frozenset(name for entry in entries for name in entry.fields_v1.spec) if entries else None

    return lambda name: (fields := written()) is None or f"f:{name}" in fields


def _seen(request: Request, raw: Raw, kind: type[T], field_name: str) -> PartialObject[T] | None:
    if len(memoryview(raw)) == len(_NULL_TEXT) and bytes(raw) == _NULL_TEXT:
        return None
    try:
        return see(raw, kind)
    except DecodeError as error:
        raise BadReview(f"request.{field_name} of {request.resource.resource}: {error}") from error
