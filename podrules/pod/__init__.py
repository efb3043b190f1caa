"""What one pod is: resources, QoS class, OOM score, cgroups, priority, tolerations, state and grace periods.

Imports `podrules.api`. Start with `qos`, then `resources` and `oom`.
"""
