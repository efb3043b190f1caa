"""The limits of a namespace that refuse a new pod: LimitRanges for each pod by itself, ResourceQuotas for all together.

Both are asked after everything that changes a pod (`podrules.admission`), and after its validation: give them the pod
as the API server would store it. LimitRanges come before quotas.
"""

from podrules.limits.limit_ranges import limit_range_refusal
from podrules.limits.quotas import QuotaRoom, QuotaShare, quota_refusal, quota_room, with_pods

__all__ = ["QuotaRoom", "QuotaShare", "limit_range_refusal", "quota_refusal", "quota_room", "with_pods"]
