"""How pods end: what stops them and when, what keeps their objects and volumes, and what ended a pod.

Imports `podrules.api`, `podrules.pod`, `podrules.node` and `podrules.workload`. Start with `deleted_pod`, then `died`.
"""
