"""The API server's answers other than single objects: lists, watch events, errors.

An answer that cannot be decoded still has a beginning that can: before anything free, the API server writes the texts
of ``metadata`` up to ``resourceVersion``, in the order of Go's fields.

Lists are read in pages that fit into memory. An object may take megabytes, so a page of 500 objects may take gigabytes
of JSON. A page that is too long, or cannot be decoded, is requested again with fewer objects; after some pages the next
ones grow again. A single object of that kind is left out.

Source: k8s.io/apimachinery/pkg/apis/meta/v1/{types,watch}.go at v0.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote

from msgspec import Raw, field

from cluster_io.errors import TooLong, Unreachable
from podrules.api.model.base import Model, ObjectMeta
from podrules.api.model.decode import EFFORT, DecodeError, from_json

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


_SHRINK: Final = 4
_GROW: Final = 2
_CALM: Final = 4
"""Pages after which the next is larger: a page that is too large is read without success."""


def pages_of(
    request: Callable[[str], bytes],
    path: str,
    selectors: str,
    size: int,
    leave_out: Callable[[ObjectMeta], None],
    *,
    effort: int = EFFORT,
) -> Iterator[ObjectList]:
    """The pages of a list.

    Args:
        request: Returns the body of the answer to a path; raises its own errors.
        path: The path of the list.
        selectors: Further parts of its query: ``&fieldSelector=…``.
        size: The most objects of a page.
        leave_out: Called with the name of an object that is too long or cannot be decoded.
        effort: For a page that is decoded again: see `podrules.api.model.decode.without_depths`.

    Raises:
        Unreachable: the answer is not a list.
    """
    most, calm, token, body = size, _CALM, "", b""
    while True:
        query = f"?limit={size}{selectors}" + (f"&continue={quote(token, safe='')}" if token else "")
        try:
            body = request(path + query)
            page = from_json(body, ObjectList, effort)
        except (TooLong, DecodeError) as error:
            if size > 1:
                size, calm = max(1, size // _SHRINK), 0
                continue
            head = head_of_list(error.beginning if isinstance(error, TooLong) else body)
            if head is None:
                raise Unreachable(f"the answer to {path} is not a list") from error
            page, item = head
            leave_out(item)
        calm += 1
        if calm > _CALM:
            size = min(most, size * _GROW)
        yield page
        token = page.metadata.continue_
        if not token:
            return
        # The next page must not come beside this one.
        del page
        body = b""
