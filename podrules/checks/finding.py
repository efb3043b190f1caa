"""One place in a manifest that a rule objects to."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Finding"]


class Finding(Struct, frozen=True):
    """A rule and the field that it objects to; words are found for it later."""

    rule: str
    """Name of a rule of `podrules.checks.rules`."""
    position: int
    """Of the object among those that were given."""
    field: str
    """``spec.template.spec.containers[0].resources.requests.cpu``; it may be absent in the object."""
    values: dict[str, str] = {}
    """What the rule's words name: amounts, names of other objects, upstream's own message."""
