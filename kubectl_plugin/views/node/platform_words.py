"""The sentences about pods and nodes to which a Linux kubelet's rules do not apply."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.render.page import Section
from podrules.pod.platform import Platform

PROVIDER: Final = "its node is a virtual kubelet: what its provider does is unknown"
"""Replaces everything that a kubelet would do."""
NOT_KNOWN: Final = "unknown: a virtual kubelet's provider decides"
"""Replaces a time."""
_PODS: Final = {
    Platform.WINDOWS: (
        "Windows: what its kubelet does when the node runs short is not modelled (kubectl qos why Windows)",
    ),
    Platform.VIRTUAL_KUBELET: (
        f"virtual kubelet: {PROVIDER.rpartition(': ')[2]}",
        "unknown to Kubernetes: when its processes end, and whether any still run",
    ),
}
_NODES: Final = {
    Platform.WINDOWS: ("Windows: what is killed or evicted first is not modelled (kubectl qos why Windows)",),
    Platform.VIRTUAL_KUBELET: (
        "virtual kubelet: there is no kubelet, and what its provider does with pods is unknown",
    ),
}
_NAMES: Final = {
    Platform.LINUX: "Linux",
    Platform.WINDOWS: "Windows",
    Platform.VIRTUAL_KUBELET: "virtual kubelet",
}


def pod_platform_section(platform: Platform) -> Section:
    """The lines about a pod's platform; none for Linux."""
    return Section("Platform", _PODS.get(platform, ()))


def node_platform_section(platform: Platform) -> Section:
    """The lines about a node's platform; none for Linux."""
    return Section("Platform", _NODES.get(platform, ()))


def platform_name(platform: Platform) -> str:
    """``Windows``, ``virtual kubelet``."""
    return _NAMES[platform]
