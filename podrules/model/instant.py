"""A point in time as the API writes it."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["instant"]


def instant(stamp: str | None) -> datetime | None:
    """An RFC 3339 time of the API, None when it is absent or cannot be read."""
    if not stamp:
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
