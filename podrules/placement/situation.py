"""A pod and a cluster, as they are or as they would be, with all that a scheduling cycle needs."""

from __future__ import annotations

from datetime import datetime

from podrules.features import Features
from podrules.scheduler.cycle import Filtered, filter_nodes
from podrules.scheduler.framework.pod_on_cluster import PodOnCluster
from podrules.scheduler.runtime import Framework

__all__ = ["Situation"]


class Situation(PodOnCluster, frozen=True):
    """A pod, the cluster, and the profile that schedules the pod."""

    framework: Framework
    now: datetime | None

    @property
    def features(self) -> Features:
        """The rules of the scheduler's version."""
        return self.framework.features

    def filtered(self) -> Filtered:
        """Judge every node."""
        return filter_nodes(
            self.pod, self.table, self.snapshot, features=self.features, framework=self.framework, now=self.now
        )
