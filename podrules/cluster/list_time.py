"""The time of a List that does not hold one: the newest time among its objects.

A List that `kubectl get -o json` printed does not say when. By the clock of the machine that reads it later every
node in it would be silent, and every deletion overdue. The newest time that somebody wrote down as over is the nearest
that can be known: a kubelet renews its Lease every 10 s.

One wrong time must not do the same: where there are heartbeats, of Leases and of Nodes' conditions, what is more than
an hour after the newest of them does not count. All that follows the loss of every node by itself is within that hour.

Only what has happened counts: when objects were made, written and deleted, what status reports, heartbeats, events.
A time to come is none of these. A pod's metadata.deletionTimestamp is one: the API server writes the end of the grace
period there, metadata.deletionGracePeriodSeconds after the DELETE.

Source: BeforeDelete in staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, the Time and MicroTime fields of
staging/src/k8s.io/api/{core,coordination,batch,storage,events}, pkg/kubelet/nodelease, at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from podrules.model.instant import instant, later

__all__ = ["newest_time"]

_NEAR: Final = 3600
"""Seconds after the newest heartbeat."""

_OF_STATUS: Final = frozenset(
    {
        "allocationTimestamp",
        "completionTime",
        "finishedAt",
        "lastHeartbeatTime",
        "lastPhaseTransitionTime",
        "lastProbeTime",
        "lastScheduleTime",
        "lastSuccessfulTime",
        "lastTransitionTime",
        "lastUpdateTime",
        "startTime",
        "startedAt",
        "time",
    }
)
"""Fields of status, wherever in it; ``time`` is that of an error in a VolumeAttachment."""
_OF_SPEC: Final = {"Lease": ("acquireTime", "renewTime")}
"""Kinds whose spec says what happened, and where."""
_OF_EVENT: Final = (
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
)
_OF_METRICS: Final = "timestamp"
_DEFAULT_GRACE: Final = 30
"""Seconds that the API server gives a pod which names none."""
_MAX_GRACE: Final = 2**31
"""Seconds, 68 years: more is no grace period that anybody waits for."""


def newest_time(objects: Iterable[Mapping[str, Any]]) -> datetime | None:
    """The newest time at which something had happened; None: no object has one.

    Args:
        objects: As the API has them; what is none of its times is passed over.
    """
    objects = list(objects)
    heard = max((when for entry in objects for when in _heartbeats(entry)), default=None)
    latest = later(heard, _NEAR) if heard is not None else None
    times = (when for entry in objects for when in _times(entry))
    return max((when for when in times if latest is None or when <= latest), default=None)


def _heartbeats(entry: Mapping[str, Any]) -> Iterator[datetime]:
    if entry.get("kind") == "Lease":
        yield from _read(_mapping(entry.get("spec")), ("renewTime",))
    if entry.get("kind") == "Node":
        for condition in _list(_mapping(entry.get("status")).get("conditions")):
            yield from _read(condition, ("lastHeartbeatTime",))


def _times(entry: Mapping[str, Any]) -> Iterator[datetime]:
    kind, spec = entry.get("kind"), _mapping(entry.get("spec"))
    yield from _of_metadata(_mapping(entry.get("metadata")), kind, spec)
    yield from _within(entry.get("status"))
    yield from _read(spec, _OF_SPEC.get(str(kind), ()))
    if kind == "Node":
        for taint in _list(spec.get("taints")):
            yield from _read(taint, ("timeAdded",))
    if kind == "Event":
        yield from _read(entry, _OF_EVENT)
        yield from _read(_mapping(entry.get("series")), ("lastObservedTime",))
    if kind in {"NodeMetrics", "PodMetrics"}:
        yield from _read(entry, (_OF_METRICS,))


def _of_metadata(metadata: Mapping[str, Any], kind: Any, spec: Mapping[str, Any]) -> Iterator[datetime]:
    yield from _read(metadata, ("creationTimestamp",))
    for manager in _list(metadata.get("managedFields")):
        yield from _read(manager, ("time",))
    for end in _read(metadata, ("deletionTimestamp",)):
        grace = metadata.get("deletionGracePeriodSeconds")
        if grace is None:
            # Where the List leaves it out, a pod's own is the likely one; other kinds have none.
            grace = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE) if kind == "Pod" else 0
        # Of an odd one it is not known when it began; the end may be to come.
        if isinstance(grace, int) and 0 <= grace <= _MAX_GRACE:
            yield later(end, -grace)


def _within(value: Any) -> Iterator[datetime]:
    """The times in a status, however deep they are."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item
        elif isinstance(item, Mapping):
            yield from _read(item, _OF_STATUS & item.keys())
            left += item.values()


def _read(entry: Mapping[str, Any], keys: Iterable[str]) -> Iterator[datetime]:
    for key in keys:
        yield from _instant(entry.get(key))


def _instant(value: Any) -> Iterator[datetime]:
    when = instant(value) if isinstance(value, str) else None
    if when is not None:
        yield when


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
