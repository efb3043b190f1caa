"""The API server's message for a rejection by admission (admission.NewForbidden)."""

from __future__ import annotations

from podrules.api.model.pod import Pod


def forbidden(pod: Pod, problem: str) -> str:
    """The rejection of a pod; a name that is not yet generated appears as its prefix."""
    return f'pods "{pod.metadata.name or pod.metadata.generate_name}" is forbidden: {problem}'
