"""Nodes that do not answer, and the objects that depend on them (F5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from podrules.api.model.node import Node
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import VersionNote
from podrules.silent_node.partitions import NodeDown

ON_NODES: Final = frozenset({"nodes", "pods", "volumeattachments.storage.k8s.io"})
"""The kinds of remaining objects that are counted on a node that is down."""


class PartitionsReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Partitions"):
    """All nodes that do not answer."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    rules_version: str
    server_version: str | None
    at: datetime
    """The time of the data."""
    nodes_total: int
    nodes: tuple[NodeDown, ...]
    not_ready: tuple[str, ...]
    """Nodes that answer and report that they are not Ready: not a partition, but their taints delete pods too."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions for which the rules were not verified; of kubelets, only those of these nodes."""
    unread: tuple[UnreadInput, ...]

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Unread resources that may change the headline: nodes, and objects that depend on nodes that are down."""
        decides = ON_NODES if self.nodes else {"nodes", "pods"}
        return tuple(one for one in self.unread if one.may_exist and one.resource in decides)


def not_ready(nodes: Iterable[Node], down: Sequence[NodeDown]) -> tuple[str, ...]:
    """The names of nodes that answer but are not Ready."""
    known = {entry.reach.name for entry in down}
    unready = (node.metadata.name for node in nodes if node.ready is not None and node.ready.status == "False")
    return tuple(name for name in unready if name not in known)
