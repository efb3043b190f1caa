"""A source of objects that are in memory already: a plain List, manifests, the demo cluster.

A List prints no time of its own. The clock of the machine that reads it later would make every node silent and every
deletion overdue. The newest past time in the objects is the best estimate: a kubelet renews its Lease every 10 s.

    one wrong time   must not do the same harm. Where Leases or Nodes' conditions have heartbeats, a time more than an
                     hour after the newest heartbeat does not count. All consequences of losing every node happen
                     within that hour
    past times       alone count: creation, updates and deletions of objects, times in status, heartbeats, events. A
                     pod's metadata.deletionTimestamp may be in the future: the API server writes the end of the grace
                     period there, metadata.deletionGracePeriodSeconds after the DELETE

Events of events.k8s.io become those of the core API: both are one object, and a file may hold either.

Source: BeforeDelete in staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, the Time and MicroTime fields of
staging/src/k8s.io/api/{core,coordination,batch,storage,events}, pkg/kubelet/nodelease, pkg/apis/events/v1/conversion.go
at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar, cast

from cluster_io.errors import BadEntry, BadObject, KubeletUnavailable, NotCaptured, NotFound, NotListed
from cluster_io.field_selector import FieldIndex
from cluster_io.kinds import EVENTS, Kind
from cluster_io.kubelet import KubeletEndpoint
from podrules.api.model.base import KubeObject, Model
from podrules.api.model.decode import DecodeError, from_object
from podrules.api.model.instant import instant, later
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import Selector
from podrules.api.names import near_names
from podrules.pod.defaults import default_grace_period
from podrules.pod.versions import NOTHING_STATED, StatedFacts

T = TypeVar("T", bound=KubeObject)
M = TypeVar("M", bound=Model)
Raw = Mapping[str, Any]
_Entry = tuple[tuple[str, str], Raw]
"""((namespace, name), object)."""


class MemorySource:
    """Objects in memory. Each is decoded when it is first asked for."""

    side_by_side = False
    stated: StatedFacts = NOTHING_STATED
    emulates = ""
    schedulers = None

    def __init__(
        self,
        objects: Iterable[Raw],
        *,
        description: str,
        now: datetime | None = None,
        git_version: str | None = None,
        namespace: str = "default",
        kubelets: Mapping[str, Mapping[str, Raw]] = MappingProxyType({}),
        is_plain_list: bool = False,
    ) -> None:
        """Take plain API objects, and skip entries without metadata.

        Args:
            objects: The API objects.
            description: What messages call them.
            now: The time at which the cluster was in this state; None: the newest time in the objects.
            git_version: The API server's version, when it is known.
            namespace: The namespace of a request that names none.
            kubelets: The kubelets' answers by node and path.
            is_plain_list: See `Source.is_plain_list`: what it lacks may exist.
        """
        objects = list(map(as_core_event, objects))
        self.description = description
        self.namespace = namespace
        self.git_version = git_version
        self.is_plain_list = is_plain_list
        times = newest_times(objects) if now is None else NewestTimes(now)
        self.now, self.later_time = times.now, times.later
        self._kubelets = kubelets
        self._objects: dict[tuple[str, str], list[Raw]] = {}
        self._indexed: dict[Kind[Any], dict[tuple[str, str], Raw]] = {}
        self._choices: dict[Kind[Any], FieldIndex[_Entry]] = {}
        self._decoded: dict[tuple[Kind[Any], str, str], KubeObject] = {}
        for entry in objects:
            if isinstance(entry.get("metadata"), Mapping):
                kind = str(entry.get("apiVersion")), str(entry.get("kind"))
                self._objects.setdefault(kind, []).append(entry)

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """One object; see `Source.get`."""
        place = namespace or "" if kind.namespaced else ""
        self._check_captured(kind)
        if (place, name) not in self._all(kind):
            missing = NotListed if self.is_plain_list else NotFound
            raise missing(kind, name, namespace, lambda: near_names(name, self.names(kind, place)))
        return self._decode(kind, place, name)

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """All objects of a kind; see `Source.list`."""
        self._check_captured(kind)
        found = [
            self._decode(kind, space, name)
            for (space, name), _ in self._choice(kind).of(field_selector)
            if namespace is None or not kind.namespaced or space == namespace
        ]
        return [entry for entry in found if selector is None or selector.matches(entry.metadata.labels)]

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """The names of a kind's objects; see `Source.names`."""
        place = namespace if kind.namespaced else None
        return [name for space, name in self._all(kind) if place is None or space == place]

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """The stored answer of a node's kubelet; see `Source.kubelet`."""
        said = self._kubelets.get(node, {}).get(endpoint.path)
        if said is None:
            raise KubeletUnavailable(f"not in {self.description}")
        return endpoint.from_object(node, said)

    def _check_captured(self, kind: Kind[Any]) -> None:
        """A List without objects of a kind does not say that there are none.

        Raises:
            NotCaptured: it has none, or has some of a version that the rules do not read.
        """
        if not self.is_plain_list:
            return
        group = f"{kind.group}/" if kind.group else ""
        others = sorted(
            version
            for version, name in self._objects
            if name == kind.kind and version.startswith(group) and ("/" in version) == bool(group)
            if version != kind.api_version
        )
        if others or (kind.api_version, kind.kind) not in self._objects:
            unread = f"those of {', '.join(others)} are not read" if others else ""
            raise NotCaptured(kind, self.description, unread, is_list=True)

    def _all(self, kind: Kind[Any]) -> Mapping[tuple[str, str], Raw]:
        """The objects of a kind by namespace and name."""
        if kind not in self._indexed:
            index = self._indexed[kind] = {}
            for entry in self._objects.get((kind.api_version, kind.kind), ()):
                meta = entry["metadata"]
                # As in kubectl, an object without a namespace belongs to the default one.
                space = (meta.get("namespace") or self.namespace) if kind.namespaced else ""
                index[space, str(meta.get("name", ""))] = entry
        return self._indexed[kind]

    def _choice(self, kind: Kind[Any]) -> FieldIndex[_Entry]:
        if kind not in self._choices:
            self._choices[kind] = FieldIndex(tuple(self._all(kind).items()), lambda term, entry: term.read(entry[1]))
        return self._choices[kind]

    def _decode(self, kind: Kind[T], namespace: str, name: str) -> T:
        key = (kind, namespace, name)
        if key not in self._decoded:
            try:
                decoded = from_object(self._all(kind)[namespace, name], kind.model)
            except DecodeError as error:
                raise BadEntry(
                    f"{kind.singular}/{name} in {self.description}: {error}",
                    advice="Correct the field in the file, or capture that cluster again: kubectl qos snapshot",
                ) from error
            # A handwritten pod may lack the default that the API server fills in.
            self._decoded[key] = default_grace_period(decoded) if isinstance(decoded, Pod) else decoded
        return cast("T", self._decoded[key])


class NothingSource:
    """A source for manifests without a cluster: every request fails, and the caller notes it as unread."""

    description = "manifest only"
    side_by_side = False
    stated: StatedFacts = NOTHING_STATED
    git_version = None
    emulates = ""
    schedulers = None
    now = None
    is_plain_list = False

    def __init__(self, namespace: str) -> None:
        """Take the namespace for manifests that name none."""
        self.namespace = namespace

    def get(self, kind: Kind[T], name: str, namespace: str | None = None) -> T:
        """See `Source.get`."""
        del kind, name, namespace
        raise BadObject("no cluster was asked")

    def list(
        self, kind: Kind[T], namespace: str | None = None, *, selector: Selector | None = None, field_selector: str = ""
    ) -> Sequence[T]:
        """See `Source.list`."""
        del kind, namespace, selector, field_selector
        raise BadObject("no cluster was asked")

    def names(self, kind: Kind[Any], namespace: str | None) -> Sequence[str]:
        """See `Source.names`."""
        del kind, namespace
        raise BadObject("no cluster was asked")

    def kubelet(self, node: str, endpoint: KubeletEndpoint[M]) -> M:
        """See `Source.kubelet`."""
        del node, endpoint
        raise KubeletUnavailable("no cluster was asked")


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
    """The newest time at which something happened in plain API objects; values that are not times are skipped."""
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
    metadata = _mapping(entry.get("metadata"))
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
    # The times in a status, at any depth.
    left = [entry.get("status")]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item
        elif isinstance(item, Mapping):
            yield from _read(item, _STATUS_FIELDS & item.keys())
            left += item.values()
    yield from _read(spec, _SPEC_FIELDS.get(str(kind), ()))
    if kind == "Node":
        for taint in _list(spec.get("taints")):
            yield from _read(taint, ("timeAdded",))
    if kind == "Event":
        yield from _read(entry, _EVENT_FIELDS)
        yield from _read(_mapping(entry.get("series")), ("lastObservedTime",))
    if kind in {"NodeMetrics", "PodMetrics"}:
        yield from _read(entry, (_METRICS_FIELD,))


def _read(entry: Mapping[str, Any], keys: Iterable[str]) -> Iterator[datetime]:
    for key in keys:
        value = entry.get(key)
        when = instant(value) if isinstance(value, str) else None
        if when is not None:
            yield when


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


_GROUP: Final = "events.k8s.io/"
_FIELDS: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
}
"""The fields of the core API, by those of events.k8s.io/v1 with another name."""


def as_core_event(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An event of events.k8s.io with the core API's fields; any other object as it is."""
    if entry.get("kind") != EVENTS.kind or not str(entry.get("apiVersion")).startswith(_GROUP):
        return entry
    return {**{_FIELDS.get(name, name): value for name, value in entry.items()}, "apiVersion": EVENTS.api_version}
