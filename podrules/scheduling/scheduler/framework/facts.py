"""The numbers behind a node's rejection; it loads no arrays."""

from __future__ import annotations

from msgspec import Struct

FAR = 1000.0
"""The distance of a node that no small change opens."""


class Fact(Struct, frozen=True, rename="camel", tag_field="type"):
    """A number or value behind a rejection; each plugin has its own kinds, distinguished by ``type``."""

    @property
    def distance(self) -> float:
        """How far the node is from fitting, in parts of what it has; 0 where that cannot be measured."""
        return 0.0
