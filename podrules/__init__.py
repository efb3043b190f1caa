"""Kubernetes' rules for pods, restated in Python: pure, typed, and held against upstream's own answers.

Where no version is known, the rules are those of `podrules.api.features.REFERENCE_VERSION`.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
