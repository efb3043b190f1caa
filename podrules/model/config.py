"""Configuration that is kept in the cluster.

Source: k8s.io/api/core/v1/types.go (ConfigMap) at v0.36.3.
"""

from __future__ import annotations

from podrules.model.base import KubeObject

__all__ = ["ConfigMap"]


class ConfigMap(KubeObject, frozen=True):
    """A ConfigMap's texts."""

    data: dict[str, str] = {}
