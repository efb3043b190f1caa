"""Events of events.k8s.io as those of the core API: both are one object, and a file may hold either.

Source: pkg/apis/events/v1/conversion.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cluster_io.kinds import EVENTS

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
