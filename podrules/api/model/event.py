"""The model of an Event.

Source: k8s.io/api/core/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.api.model.base import KubeObject, Model, Time


class ObjectReference(Model, frozen=True):
    """Refers to another object."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    field_path: str = ""
    """The part that is meant: ``spec.containers{web}``."""


class EventSource(Model, frozen=True):
    """``source``: the component that reports it."""

    component: str = ""
    host: str = ""
    """The node, of a kubelet's event."""


class EventSeries(Model, frozen=True):
    """``series``: how often an event of events.k8s.io occurred."""

    count: int = 0
    last_observed_time: Time | None = None


class Event(KubeObject, frozen=True):
    """An Event: a component's report of something that happened to an object."""

    involved_object: ObjectReference = field(default_factory=ObjectReference)
    related: ObjectReference | None = None
    """A second object that is involved."""
    reason: str = ""
    message: str = ""
    type: str = ""
    """``Normal`` or ``Warning``."""
    source: EventSource = field(default_factory=EventSource)
    reporting_component: str = ""
    count: int = 0
    """How often it occurred; 0: not stated, as in events.k8s.io, which has `series`."""
    series: EventSeries | None = None
    event_time: Time | None = None
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None

    @property
    def time(self) -> str | None:
        """When the event occurred; of one that recurred, when events.k8s.io has it first and events last."""
        return self.event_time or self.last_timestamp

    @property
    def first(self) -> str | None:
        """When it first occurred; the creation time if it states no time."""
        return self.event_time or self.first_timestamp or self.last_timestamp or self.metadata.creation_timestamp

    @property
    def last(self) -> str | None:
        """When it last occurred."""
        again = self.series.last_observed_time if self.series is not None else None
        stated = again or self.last_timestamp or self.event_time or self.first_timestamp
        return stated or self.metadata.creation_timestamp

    @property
    def times(self) -> int:
        """How often it occurred."""
        return max(self.count, self.series.count if self.series is not None else 0, 1)

    @property
    def component(self) -> str:
        """Who reports it: ``kubelet``, ``default-scheduler``."""
        return self.reporting_component or self.source.component
