"""The API server's answers other than single objects: lists, watch events, errors.

Source: k8s.io/apimachinery/pkg/apis/meta/v1/{types,watch}.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import Raw, field

from podrules.model.base import Model
from podrules.model.decode import DecodeError, from_json

__all__ = ["APIStatus", "ObjectList", "WatchEvent", "error_message"]


class ListMeta(Model, frozen=True):
    """``metadata`` of a list."""

    continue_: str = field(default="", name="continue")
    resource_version: str = ""


class ObjectList(Model, frozen=True):
    """A list whose items are still JSON; callers decode each item as its kind."""

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
        return from_json(body, APIStatus).message or "no message"
    except DecodeError:
        return body[:500].decode(errors="replace").strip() or "no message"
