"""Why a controller reduced its pods, from the events of a Deployment and a HorizontalPodAutoscaler.

    ScalingReplicaSet   "Scaled down replica set web-7d9f from 3 to 2": from the Deployment, before its ReplicaSet
                        deletes. Kubernetes before 1.26 leaves out "from 3"
    SuccessfulRescale   "New size: 2; reason: All metrics below target": from the autoscaler, seconds earlier. It does
                        not name the Deployment: it counts if the size is the same and the autoscaler has the
                        Deployment's name, and only as probable
    "Scaled up …"       of another ReplicaSet of the Deployment minutes before: a rollout

Source: pkg/controller/deployment/sync.go (scaleReplicaSet), pkg/controller/podautoscaler/horizontal.go
(reconcileAutoscaler) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.ending.died.cause import Clue, EvidenceSource, of_event

SCALED: Final = "ScalingReplicaSet"
RESCALED: Final = "SuccessfulRescale"
_DOWN: Final = re.compile(r"Scaled down replica set (\S{1,253})(?: from \d{1,10})? to (\d{1,10})")
_NEW_SIZE: Final = re.compile(r"New size: (\d{1,10});")
_UP: Final = re.compile(r"Scaled up replica set (\S{1,253})")
_MAX_TEXT: Final = 1000
_ROLLOUT: Final = 600
"""The seconds between a step of a rollout and the previous step."""
_BEFORE: Final = 60
"""The seconds between the request for fewer pods and a deletion."""
_AFTER: Final = 2


def scaling_clues(events: Iterable[Event], pod: str, deleted: datetime | None) -> list[Clue]:
    """The evidence that the ReplicaSet of a pod was scaled down right before a deletion; empty: none.

    Args:
        events: The events with one of both reasons in its namespace.
        pod: The pod's name: the name of its ReplicaSet, and a suffix.
        deleted: When it was deleted, or the kubelet began to stop it.
    """
    found = list(events)
    for event in reversed(found):
        down = _DOWN.search(event.message[:_MAX_TEXT]) if event.reason == SCALED else None
        if down is not None and down[1] == pod.rpartition("-")[0] and _is_before(event, deleted):
            return [of_event(event, EvidenceSource.OWNER_EVENT), *_why(found, event, down[1], down[2])]
    return []


def _why(events: Iterable[Event], scaled: Event, replica_set: str, size: str) -> Iterator[Clue]:
    """The autoscaler's event, or the last one of a rollout."""
    when, ups = instant(scaled.last), []
    for event in events:
        up = _UP.search(event.message[:_MAX_TEXT]) if event.reason == SCALED else None
        same = event.involved_object.name == scaled.involved_object.name
        if up is not None and up[1] != replica_set and same and _is_before(event, when, _ROLLOUT):
            ups.append(of_event(event, EvidenceSource.OWNER_EVENT))
        new = _NEW_SIZE.search(event.message[:_MAX_TEXT]) if event.reason == RESCALED else None
        if new is not None and new[1] == size and same and _is_before(event, when):
            yield Clue(
                EvidenceSource.OWNER_EVENT, f"{RESCALED} of {event.involved_object.name}", event.message, event.last
            )
            return
    yield from ups[-1:]


def _is_before(event: Event, moment: datetime | None, seconds: int = _BEFORE) -> bool:
    when = instant(event.last)
    return when is not None and moment is not None and later(moment, -seconds) <= when <= later(moment, _AFTER)
