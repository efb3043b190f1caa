"""What could not be read, in words."""

from __future__ import annotations

from kubectl_plugin.render.command import Command, Hint, Prose, kubectl
from podrules.cluster.source import Unread

__all__ = ["can_i", "unread_words"]


def unread_words(entry: Unread, lead: str = "") -> str | Prose:
    """``pods: you may not list them (kubectl auth can-i list pods)``.

    Args:
        entry: What could not be read, and why.
        lead: What the line begins with.
    """
    place = f" in {entry.namespace}" if entry.namespace else ""
    if entry.reason != "forbidden":
        return f"{lead}{entry.resource}{place}: {entry.reason}"
    ask = can_i(entry.verb, entry.resource, entry.namespace)
    return Prose((f"{lead}{entry.resource}{place}: you may not {entry.verb} them", Hint(ask, " (", ")")))


def can_i(verb: str, resource: str, namespace: str | None) -> Command:
    """Asks the API server for a permission; ``nodes/proxy`` behind ``can-i`` would be a node of that name."""
    kind, _, part = resource.partition("/")
    return kubectl(
        "auth", "can-i", verb, kind, namespace=namespace or None, options=(f"--subresource={part}",) if part else ()
    )
