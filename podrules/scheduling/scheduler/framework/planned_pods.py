"""Pods that a what-if has placed and that do not exist in the cluster."""

from __future__ import annotations

from typing import Final

from podrules.api.model.pod import Pod

_PLANNED: Final = "planned/"
"""No uid of the API server begins so."""


def planned_uid(place: int, number: int) -> str:
    """The uid of a pod that a what-if places.

    Args:
        place: Of its spec among all that are placed.
        number: As for `replica`.
    """
    return f"{_PLANNED}{place}/{number}"


def is_planned(pod: Pod) -> bool:
    """Whether a what-if has placed a pod: it cannot be evicted, and room is made for it."""
    return pod.metadata.uid.startswith(_PLANNED)
