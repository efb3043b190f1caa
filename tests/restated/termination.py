"""What a DELETE does to a stored pod.

Source: BeforeDelete in k8s.io/apiserver/pkg/registry/rest/delete.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import Struct

from podrules.api.model.pod import Pod
from podrules.pod.termination import check_graceful_delete


class DeleteOptions(Struct, frozen=True, kw_only=True):
    """What a client asks when it deletes."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    """Precondition."""
    resource_version: str | None = None
    """Precondition."""


class DeleteOutcome(Struct, frozen=True, kw_only=True):
    """What a DELETE does to the stored pod, up to its removal.

    ``graceful``: the object gets a deletionTimestamp, and stays unless its grace period is 0 and no finalizer holds it.
    ``graceful_pending``: an earlier delete is under way and this one changes nothing. Neither: it is removed at once.
    """

    graceful: bool = False
    graceful_pending: bool = False
    error: str | None = None
    """Upstream's words when a precondition fails; the rest then says nothing."""
    option_seconds: int | None = None
    """``gracePeriodSeconds`` after the API server filled it in: what admission sees."""
    deletion_grace_period_seconds: int | None = None
    deletion_time: float | None = None
    """Unix seconds of ``metadata.deletionTimestamp`` afterwards."""
    generation: int = 0


def before_delete(pod: Pod, options: DeleteOptions, *, now: float, deletion_time: float | None) -> DeleteOutcome:
    """What a DELETE does to the stored object (rest.BeforeDelete).

    Args:
        pod: The stored pod.
        options: What the client asked.
        now: Unix seconds.
        deletion_time: The pod's ``metadata.deletionTimestamp`` in Unix seconds, if it is already being deleted.
    """
    failed = _precondition(pod, options)
    if failed:
        return DeleteOutcome(error=failed)
    asked = options.grace_period_seconds
    asked = 1 if asked is not None and asked < 0 else asked
    generation = pod.metadata.generation
    if deletion_time is None:
        grace = check_graceful_delete(pod, asked).seconds
        return DeleteOutcome(
            graceful=True,
            option_seconds=grace,
            deletion_grace_period_seconds=grace,
            deletion_time=now + grace,
            generation=generation + 1 if generation > 0 else generation,
        )
    current = pod.metadata.deletion_grace_period_seconds
    current = 1 if current is not None and current < 0 else current
    unchanged = DeleteOutcome(
        option_seconds=asked, deletion_grace_period_seconds=current, deletion_time=deletion_time, generation=generation
    )
    if not current:
        # An earlier removal was interrupted: this one finishes it.
        return unchanged
    if asked is None or asked >= current:
        return DeleteOutcome(
            graceful_pending=True,
            option_seconds=current if asked is None else asked,
            deletion_grace_period_seconds=current,
            deletion_time=deletion_time,
            generation=generation,
        )
    # Only a shorter period is taken, and it counts from the first delete; not into the past.
    moved = deletion_time - current + asked
    expired = moved < now
    return DeleteOutcome(
        graceful=True,
        option_seconds=asked,
        deletion_grace_period_seconds=1 if expired and asked != 0 else asked,
        deletion_time=now if expired else moved,
        generation=generation,
    )


def _precondition(pod: Pod, options: DeleteOptions) -> str | None:
    meta = pod.metadata
    for name, asked, stored, hint in (
        ("UID", options.uid, meta.uid, "The object might have been deleted and then recreated"),
        ("ResourceVersion", options.resource_version, meta.resource_version, "The object might have been modified"),
    ):
        if asked is not None and asked != stored:
            return (
                f'Operation cannot be fulfilled on Pod "{meta.name}": the {name} in the precondition ({asked}) '
                f"does not match the {name} in record ({stored}). {hint}"
            )
    return None
