"""The model of an Event.

Source: k8s.io/api/core/v1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.model.base import KubeObject, Model, Time

__all__ = ["Event", "ObjectReference"]


class ObjectReference(Model, frozen=True):
    """Refers to another object."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Event(KubeObject, frozen=True):
    """An Event: a component's report of something that happened to an object."""

    involved_object: ObjectReference = field(default_factory=ObjectReference)
    related: ObjectReference | None = None
    """A second object that is involved."""
    reason: str = ""
    message: str = ""
    event_time: Time | None = None
    last_timestamp: Time | None = None

    @property
    def time(self) -> str | None:
        """When the event last occurred."""
        return self.event_time or self.last_timestamp
