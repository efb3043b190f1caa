"""InterPodAffinity: pods near to, or away from, other pods. See `plugin`."""

from podrules.scheduling.scheduler.plugins.inter_pod_affinity.filtering import InterPodAffinityValues, TopologyConflict
from podrules.scheduling.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity, InterPodAffinityArgs

__all__ = ["InterPodAffinity", "InterPodAffinityArgs", "InterPodAffinityValues", "TopologyConflict"]
