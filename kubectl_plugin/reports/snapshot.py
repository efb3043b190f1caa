"""A snapshot that was written: what is in it, and what is not."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

__all__ = ["SnapshotKind", "SnapshotReport"]


class SnapshotKind(Struct, frozen=True):
    """What is in it of a kind."""

    resource: str
    count: int
    not_captured: str
    """Why it is not in it; empty: it is."""


class SnapshotReport(Struct, frozen=True):
    """All of it."""

    path: str
    size: int
    """Bytes."""
    source: str
    server_version: str | None
    captured_at: datetime
    anonymised: bool
    kinds: tuple[SnapshotKind, ...]
