"""What another Kubernetes version changes for a pod: both versions' rules, side by side.

Imports `podrules.api`, `podrules.pod` and `podrules.admission`. Start with `version_changes`.
"""
