"""The model of a ConfigMap.

Source: k8s.io/api/core/v1/types.go (ConfigMap) at v0.36.3.
"""

from __future__ import annotations

from podrules.api.model.base import KubeObject


class ConfigMap(KubeObject, frozen=True):
    """A ConfigMap, with its texts only."""

    data: dict[str, str] = {}
