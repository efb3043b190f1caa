"""What could not be read, in words."""

from __future__ import annotations

from podrules.cluster.source import Unread

__all__ = ["unread_words"]


def unread_words(entry: Unread) -> str:
    """``pods: you may not list them (kubectl auth can-i list pods)``."""
    place = f" in {entry.namespace}" if entry.namespace else ""
    if entry.reason != "forbidden":
        return f"{entry.resource}{place}: {entry.reason}"
    where = f" -n {entry.namespace}" if entry.namespace else ""
    return (
        f"{entry.resource}{place}: you may not {entry.verb} them "
        f"(kubectl auth can-i {entry.verb} {entry.resource}{where})"
    )
