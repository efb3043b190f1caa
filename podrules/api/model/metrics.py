"""The models of a metrics server's measurements: CPU and working sets.

Source: k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go at v0.36.3.
"""

from __future__ import annotations

from podrules.api.model.base import KubeObject, Model, ResourceList


class ContainerMetrics(Model, frozen=True):
    """``containers[]``; ``memory`` is the working set."""

    name: str = ""
    usage: ResourceList = {}


class PodMetrics(KubeObject, frozen=True):
    """A pod's usage."""

    containers: tuple[ContainerMetrics, ...] = ()


class NodeMetrics(KubeObject, frozen=True):
    """A node's usage."""

    usage: ResourceList = {}
