"""The fields of an earlier report that are compared with the current one.

Only these fields are read, and a field of a later release may be missing: reports of every release with this API
version can be compared.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from podrules.node.pressure.usage import UsageSource


class EarlierPromisedResource(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.PromisedResource`."""

    allocatable: int = 0
    requested: dict[str, int] = {}


class EarlierLevel(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.Level`."""

    percent: int


class EarlierNode(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.NodeEntry`."""

    name: str
    ready: str | None = None
    down: bool = False
    unschedulable: bool = False
    cpu: EarlierPromisedResource = EarlierPromisedResource()
    memory: EarlierPromisedResource = EarlierPromisedResource()
    nearest: EarlierLevel | None = None
    pressures: tuple[str, ...] = ()
    usage_source: str = UsageSource.NONE.value


class EarlierPod(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.PodEntry`."""

    namespace: str
    name: str
    node: str = ""
    status: str = ""
    created: str | None = None
    restarts: int = 0
    used: int | None = None
    risk: str | None = None


class EarlierOrigin(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster_io.origin.Origin`."""

    context: str | None = None
    server: str | None = None


class EarlierReport(Struct, frozen=True, rename="camel"):
    """The compared fields of `cluster.ClusterReport`."""

    source: str
    scope: str
    nodes: tuple[EarlierNode, ...]
    pods: tuple[EarlierPod, ...]
    at: datetime | None = None
    origin: EarlierOrigin = EarlierOrigin()
