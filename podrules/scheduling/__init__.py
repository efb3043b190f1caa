"""Where pods go: kube-scheduler's plugins, queue and preemption, placement of whole plans, and spread over zones.

Imports the rooms up to `podrules.upgrade`. Start with `scheduler.cycle`, then `placement.plan`.
"""
