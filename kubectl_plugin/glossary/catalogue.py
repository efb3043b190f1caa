"""All entries, by topic."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary import (
    claims,
    codes,
    devices,
    ending,
    exits,
    images,
    nodes,
    pressure,
    priority,
    qos,
    refused,
    safety,
    scheduling,
    spread,
    starting,
    stuck,
)
from kubectl_plugin.glossary.entry import Entry, Topic

CATALOGUE: Final[dict[Topic, tuple[Entry, ...]]] = {
    Topic.QOS: qos.ENTRIES,
    Topic.PRESSURE: pressure.ENTRIES,
    Topic.SCHEDULING: scheduling.ENTRIES,
    Topic.SPREAD: spread.ENTRIES,
    Topic.PRIORITY: priority.ENTRIES,
    Topic.REFUSED: refused.ENTRIES,
    Topic.STARTING: (*stuck.ENTRIES, *starting.ENTRIES, *images.ENTRIES),
    Topic.ENDING: (*ending.ENTRIES, *exits.ENTRIES),
    Topic.VOLUMES: claims.ENTRIES,
    Topic.NODES: nodes.ENTRIES,
    Topic.SAFETY: safety.ENTRIES,
    Topic.DEVICES: devices.ENTRIES,
    Topic.CODES: codes.ENTRIES,
}
