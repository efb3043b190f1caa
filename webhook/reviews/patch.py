"""JSON Patch operations on the original object: a decoded model, encoded again, would lose the fields that it lacks.

Source: RFC 6902.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct


class PatchOperation(Struct, frozen=True):
    """One operation."""

    op: str
    path: str
    value: Any = UNSET
    """Unset for a removal."""


def add(path: str, value: Any) -> PatchOperation:
    """Set a member of an object, whether or not it exists: a second identical patch changes nothing."""
    return PatchOperation("add", path, value)


def remove(path: str) -> PatchOperation:
    """Remove a member of an object, which must exist."""
    return PatchOperation("remove", path)
