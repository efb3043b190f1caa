"""Estimates when a List was printed: the newest time among its objects.

`kubectl get -o json` prints no time of its own. The clock of the machine that reads the List later would make every
node silent and every deletion overdue. The newest past time in the objects is the best estimate: a kubelet renews its
Lease every 10 s.

One wrong time must not do the same harm. Where Leases or Nodes' conditions have heartbeats, a time more than an hour
after the newest heartbeat does not count. All consequences of losing every node happen within that hour.

Only past times count: creation, updates and deletions of objects, times in status, heartbeats, events. A future time
does not count. A pod's metadata.deletionTimestamp may be in the future: the API server writes the end of the grace
period there, metadata.deletionGracePeriodSeconds after the DELETE.

Source: BeforeDelete in staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, the Time and MicroTime fields of
staging/src/k8s.io/api/{core,coordination,batch,storage,events}, pkg/kubelet/nodelease, at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from podrules.api.model.instant import instant, later

_MAX_AFTER_HEARTBEAT: Final = 3600
"""Seconds after the newest heartbeat that a time may still count."""

_STATUS_FIELDS: Final = frozenset(
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
"""Fields with times, at any depth of status; a VolumeAttachment's error has ``time``."""
_SPEC_FIELDS: Final = {"Lease": ("acquireTime", "renewTime")}
"""Fields with times in the spec, by kind."""
_EVENT_FIELDS: Final = (
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
)
_METRICS_FIELD: Final = "timestamp"
_DEFAULT_GRACE: Final = 30
"""Seconds; the API server's default for a pod."""
_MAX_GRACE: Final = 2**31
"""Seconds, 68 years: no pod has a longer grace period."""


class NewestTimes(NamedTuple):
    """The newest time that counts, and one after it that does not."""

    now: datetime | None
    """None: no object has a time."""
    later: datetime | None = None
    """The newest of those that are too long after the newest heartbeat; None: there are none."""


def newest_time(objects: Iterable[Mapping[str, Any]]) -> datetime | None:
    """See `newest_times`."""
    return newest_times(objects).now


def newest_times(objects: Iterable[Mapping[str, Any]]) -> NewestTimes:
    """The newest time at which something happened.

    Args:
        objects: Plain API objects; values that are not times are skipped.
    """
    objects = list(objects)
    newest_heartbeat = max((when for entry in objects for when in _heartbeats(entry)), default=None)
    latest = later(newest_heartbeat, _MAX_AFTER_HEARTBEAT) if newest_heartbeat is not None else None
    times = {when for entry in objects for when in _times(entry)}
    now = max((when for when in times if latest is None or when <= latest), default=None)
    newest = max(times, default=None)
    return NewestTimes(now, newest if newest != now else None)


def _heartbeats(entry: Mapping[str, Any]) -> Iterator[datetime]:
    if entry.get("kind") == "Lease":
        yield from _read(_mapping(entry.get("spec")), ("renewTime",))
    if entry.get("kind") == "Node":
        for condition in _list(_mapping(entry.get("status")).get("conditions")):
            yield from _read(condition, ("lastHeartbeatTime",))


def _times(entry: Mapping[str, Any]) -> Iterator[datetime]:
    kind, spec = entry.get("kind"), _mapping(entry.get("spec"))
    yield from _metadata_times(_mapping(entry.get("metadata")), kind, spec)
    yield from _status_times(entry.get("status"))
    yield from _read(spec, _SPEC_FIELDS.get(str(kind), ()))
    if kind == "Node":
        for taint in _list(spec.get("taints")):
            yield from _read(taint, ("timeAdded",))
    if kind == "Event":
        yield from _read(entry, _EVENT_FIELDS)
        yield from _read(_mapping(entry.get("series")), ("lastObservedTime",))
    if kind in {"NodeMetrics", "PodMetrics"}:
        yield from _read(entry, (_METRICS_FIELD,))


def _metadata_times(metadata: Mapping[str, Any], kind: Any, spec: Mapping[str, Any]) -> Iterator[datetime]:
    yield from _read(metadata, ("creationTimestamp",))
    for manager in _list(metadata.get("managedFields")):
        yield from _read(manager, ("time",))
    for end in _read(metadata, ("deletionTimestamp",)):
        grace = metadata.get("deletionGracePeriodSeconds")
        if grace is None:
            # A List may leave it out: the pod's own grace period is then the likely one; other kinds have none.
            grace = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE) if kind == "Pod" else 0
        # With an invalid grace period the start is not known, and the end may be in the future.
        if isinstance(grace, int) and 0 <= grace <= _MAX_GRACE:
            yield later(end, -grace)


def _status_times(value: Any) -> Iterator[datetime]:
    """The times in a status, at any depth."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item
        elif isinstance(item, Mapping):
            yield from _read(item, _STATUS_FIELDS & item.keys())
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
