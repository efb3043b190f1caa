"""What VolumeBinding, VolumeZone and DynamicResources say of a claim that a node cannot use."""

from __future__ import annotations

from podrules.scheduling.scheduler.framework.facts import Fact


class ClaimMismatch(Fact, frozen=True):
    """VolumeBinding and VolumeZone: a claim or volume that the node cannot use."""

    claim: str
    volume: str
    storage_class: str
    labels: dict[str, tuple[str, ...]]
    """Labels that the volume asks of a node, with the values it allows: its node affinity, or its own zone labels."""
    reason: str
    has: dict[str, str] = {}
    """Those of them that the node has."""
