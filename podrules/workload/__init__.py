"""What controllers make and promise: the pods of a workload, ordinals, owners' guarantees and disruption budgets.

Imports `podrules.api` and `podrules.pod`. Start with `safety`, then `disruption`.
"""
