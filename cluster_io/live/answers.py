"""The API server's answers other than single objects: lists, watch events, errors.

An answer that cannot be decoded still has a beginning that can: before anything free, the API server writes the texts
of ``metadata`` up to ``resourceVersion``, in the order of Go's fields.

Source: k8s.io/apimachinery/pkg/apis/meta/v1/{types,watch}.go at v0.36.3.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Raw, field

from podrules.api.model.base import Model, ObjectMeta
from podrules.api.model.decode import DecodeError, from_json

_MAX_MESSAGE: Final = 4096
"""Characters of an error's message, which another server than the API server may have written."""
_TYPE: Final = rb'\{(?:"(?:kind|apiVersion)":"[^"]*",)*"metadata":'
_OBJECT_HEAD: Final = re.compile(_TYPE + rb'\{((?:"\w+":"(?:[^"\\]++|\\.)*+",?)*+)', re.DOTALL)
_EVENT_HEAD: Final = re.compile(rb'\{"type":"(\w+)","object":')
_LIST_HEAD: Final = re.compile(_TYPE + rb'(\{[^{}]*\}),"items":\[')


class ListMeta(Model, frozen=True):
    """``metadata`` of a list."""

    continue_: str = field(default="", name="continue")
    resource_version: str = ""


class ObjectList(Model, frozen=True):
    """A list with items that are still JSON; callers decode each item as its kind."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[Raw, ...] = ()


class APIStatus(Model, frozen=True):
    """An error (metav1.Status)."""

    message: str = ""
    reason: str = ""
    code: int = 0


class WatchEvent(Model, frozen=True):
    """One line of a watch; the object is still JSON."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: Raw


def error_message(body: bytes) -> str:
    """The API server's message in the body of an error."""
    try:
        return from_json(body, APIStatus).message[:_MAX_MESSAGE] or "no message"
    except DecodeError:
        return body[:500].decode(errors="replace").strip() or "no message"


def head_of_object(body: bytes) -> ObjectMeta:
    """The metadata of an object that cannot be decoded, as far as it has texts only: up to its resourceVersion."""
    found = _OBJECT_HEAD.match(body)
    return from_json(b"{%b}" % found[1].rstrip(b","), ObjectMeta) if found else ObjectMeta()


def head_of_event(line: bytes) -> tuple[str, ObjectMeta]:
    """The type and the object's metadata of a watch event that cannot be decoded.

    Raises:
        DecodeError: it is not the beginning of an event, or has no resourceVersion.
    """
    found = _EVENT_HEAD.match(line)
    metadata = head_of_object(line[found.end() :]) if found else ObjectMeta()
    if found is None or not metadata.resource_version:
        raise DecodeError("not a watch event")
    return found[1].decode(), metadata


def head_of_list(body: bytes) -> tuple[ObjectList, ObjectMeta] | None:
    """A list that cannot be decoded, without its items, and the first item's metadata; None: it is not a list."""
    found = _LIST_HEAD.match(body)
    return found and (ObjectList(from_json(found[1], ListMeta)), head_of_object(body[found.end() :]))
