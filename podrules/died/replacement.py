"""The pod that a controller made in the place of one that ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from podrules.model.instant import instant
from podrules.model.pod import Pod

__all__ = ["Replacement", "replacement_of"]


class Replacement(Struct, frozen=True, rename="camel"):
    """A pod of the same controller that was made later."""

    name: str
    node: str
    created: str | None
    phase: str
    ready: bool


def replacement_of(name: str, uid: str, controller: str, since: datetime, pods: Iterable[Pod]) -> Replacement | None:
    """The first pod that a controller made once another had ended; None: there is none that lives.

    Args:
        name: The name of the one that ended: a StatefulSet uses it again.
        uid: Its uid; empty: it is gone.
        controller: The controller's uid.
        since: No replacement was made before.
        pods: Those that the controller may have made.
    """
    found = [one for one in pods if _replaces(one, uid, controller, since)]
    found.sort(key=lambda one: (one.metadata.name != name, one.metadata.creation_timestamp or ""))
    if not found:
        return None
    first = found[0]
    meta = first.metadata
    return Replacement(meta.name, first.spec.node_name, meta.creation_timestamp, first.status.phase, first.is_ready)


def _replaces(pod: Pod, uid: str, controller: str, since: datetime) -> bool:
    owner, made = pod.metadata.controller, instant(pod.metadata.creation_timestamp)
    if owner is None or owner.uid != controller or pod.metadata.uid == uid or made is None or made < since:
        return False
    return not pod.finished and pod.metadata.deletion_timestamp is None
