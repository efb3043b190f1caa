"""The content of a snapshot that was written, and what is missing."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

__all__ = ["SnapshotKind", "SnapshotReport"]


class SnapshotKind(Struct, frozen=True):
    """The objects of one kind in the snapshot."""

    resource: str
    count: int
    not_captured: str
    """Why it is not in it; empty: it is."""


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
