"""Nodes that do not answer, and what hangs on them (F5)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from podrules.cluster.source import Unread
from podrules.features import REFERENCE_VERSION
from podrules.partitions import NodeDown

__all__ = ["PartitionsReport"]


class PartitionsReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Partitions"):
    """All nodes that do not answer."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    source: str
    rules_version: str = REFERENCE_VERSION
    server_version: str | None
    at: datetime
    """When it was so."""
    nodes_total: int
    nodes: tuple[NodeDown, ...]
    unread: tuple[Unread, ...]
