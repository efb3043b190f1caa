"""What a node has too little of; NodeResourcesFit's facts."""

from __future__ import annotations

from typing import Final

from podrules.api.model.pod_reference import PodReference
from podrules.scheduling.scheduler.framework.facts import FAR, Fact
from podrules.scheduling.scheduler.plugins.node_resources.columns import PODS

TOO_MANY_PODS: Final = "Too many pods"


class InsufficientResource(Fact, frozen=True):
    """NodeResourcesFit: a resource that the node has too little of; cpu in thousandths, the rest in whole units."""

    resource: str
    requested: int
    """By the pod."""
    used: int
    """Requested by the pods on the node, and by those that were nominated to it and go first."""
    allocatable: int
    nominated: int = 0
    """Of what is used, requested by pods that were nominated to the node: they are not there yet."""
    nominated_pods: tuple[PodReference, ...] = ()

    @property
    def short(self) -> int:
        """What is missing."""
        return self.requested - (self.allocatable - self.used)

    @property
    def too_large(self) -> bool:
        """Whether it would be missing even if nothing ran on the node."""
        return self.requested > self.allocatable - self.nominated

    @property
    def reason(self) -> str:
        """Upstream's reason."""
        return TOO_MANY_PODS if self.resource == PODS else f"Insufficient {self.resource}"

    @property
    def unresolvable(self) -> bool:
        """Whether the whole node has less than the request, which no preemption changes."""
        return self.resource != PODS and self.requested > self.allocatable

    @property
    def distance(self) -> float:
        """What is missing, in parts of what the node has."""
        return self.short / max(self.allocatable, 1) + (FAR if self.too_large else 0.0)
