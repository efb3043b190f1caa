"""JSON Patch operations on the object as it came: a view of it, encoded again, would lose the fields it does not know.

Source: RFC 6902.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

__all__ = ["PatchOperation", "add", "remove"]


class PatchOperation(Struct, frozen=True):
    """One operation."""

    op: str
    path: str
    value: Any = UNSET
    """None of a removal."""


def add(path: str, value: Any) -> PatchOperation:
    """Set a member of an object, whether or not it is there: the same patch twice changes nothing more."""
    return PatchOperation("add", path, value)


def remove(path: str) -> PatchOperation:
    """Take a member out of an object, where it must be."""
    return PatchOperation("remove", path)
