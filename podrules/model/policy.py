"""PriorityClasses.

Source: k8s.io/api/scheduling/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from podrules.model.base import KubeObject

__all__ = ["PriorityClass"]


class PriorityClass(KubeObject, frozen=True):
    """A PriorityClass; ``preemption_policy`` is always set in a stored one."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""
