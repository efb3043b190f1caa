"""Kubernetes' rules for pods, restated in Python: pure, typed, and held against upstream's own answers.

Reference behaviour is Kubernetes 1.36.3.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
