"""The content of a written snapshot, and what is missing."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from podrules.pod.reading import OUTSIDE


class SnapshotKind(Struct, frozen=True):
    """The objects of one kind in the snapshot."""

    resource: str
    count: int
    not_captured: str
    """Why the kind is missing or incomplete; empty: it is complete."""

    @property
    def only_in(self) -> str:
        """The only namespace with objects in it; empty: all namespaces, or none."""
        return self.not_captured.partition(OUTSIDE)[2]


class SnapshotReport(Struct, frozen=True):
    """The whole snapshot."""

    path: str
    size: int
    """Bytes."""
    source: str
    server_version: str | None
    captured_at: datetime
    anonymised: bool
    kinds: tuple[SnapshotKind, ...]
