"""What the API server does with a new object: validation, defaults, limits, quotas, Pod Security, or a rejection.

Imports `podrules.api`, `podrules.pod` and `podrules.workload`. Start with `admitted_pod`, then `pod_review`.
"""
