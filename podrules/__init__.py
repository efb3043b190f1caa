"""Kubernetes' rules for pods, implemented in Python: pure, typed, and verified with upstream's own answers.

If no version is known, the rules are those of `podrules.api.features.REFERENCE_VERSION`.
"""

__version__ = "0.1.0"
