"""References to pods by name, for results."""

from __future__ import annotations

from msgspec import Struct

from podrules.api.model.pod import Pod


class PodReference(Struct, frozen=True, rename="camel"):
    """A pod by name."""

    namespace: str
    name: str


class PodOnNode(PodReference, frozen=True, rename="camel"):
    """A bound pod."""

    node: str


def reference(pod: Pod) -> PodReference:
    """A pod's name."""
    return PodReference(pod.metadata.namespace, pod.metadata.name)


def on_its_node(pod: Pod) -> PodOnNode:
    """A bound pod's name and node."""
    return PodOnNode(pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)
