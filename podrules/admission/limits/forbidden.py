"""How the API server words a refusal of admission (admission.NewForbidden)."""

from __future__ import annotations

from podrules.api.model.pod import Pod

__all__ = ["forbidden"]


def forbidden(pod: Pod, problem: str) -> str:
    """The refusal of a pod; a name that is yet to be drawn stands as its prefix."""
    return f'pods "{pod.metadata.name or pod.metadata.generate_name}" is forbidden: {problem}'
