"""InterPodAffinity: pods near to, or away from, other pods. See `plugin`."""

from podrules.scheduler.plugins.inter_pod_affinity.filtering import InterPodAffinityValues, TopologyConflict
from podrules.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity, InterPodAffinityArgs

__all__ = ["InterPodAffinity", "InterPodAffinityArgs", "InterPodAffinityValues", "TopologyConflict"]
