"""What could not be read, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Command, Hint, Prose, kubectl
from kubectl_plugin.views.words import listed
from podrules.cluster.kubelet import CONFIGZ
from podrules.reading import Unread

__all__ = ["can_i", "unread_lines"]

_MAX_NODES: Final = 3


def unread_lines(unread: Iterable[Unread], *, measured: Collection[str] = ()) -> tuple[str | Prose, ...]:
    """``pods: you may not list them (kubectl auth can-i list pods)``, ``usage of node-1 is unknown: …``; each once.

    Nodes of which the same is unknown for the same reason share a line.

    Args:
        unread: What could not be read, and why.
        measured: Nodes whose usage is known all the same, from a metrics API.
    """
    nodes: dict[tuple[Unread, bool], list[str]] = {}
    for entry in dict.fromkeys(unread):
        nodes.setdefault((replace(entry, node=""), entry.node in measured), []).append(entry.node)
    return tuple(
        _line(entry, _of_kubelets(entry, names, known=known) if any(names) else "")
        for (entry, known), names in nodes.items()
    )


def _of_kubelets(entry: Unread, names: list[str], *, known: bool) -> str:
    """What is unknown where kubelets could not be read."""
    nodes = listed(names, most=_MAX_NODES)
    if entry.path == CONFIGZ.path:
        return f"the kubelet's configuration of {nodes} is unknown"
    if known:
        return f"the kubelet of {nodes} was not read" if len(names) == 1 else f"the kubelets of {nodes} were not read"
    return f"usage of {nodes} is unknown"


def _line(entry: Unread, unknown: str) -> str | Prose:
    place = f" in {entry.namespace}" if entry.namespace else ""
    if entry.reason != "forbidden":
        return f"{unknown or f'{entry.resource}{place}'}: {entry.reason}"
    refused = f"you may not {entry.verb} {entry.resource if unknown else 'them'}"
    ask = can_i(entry.verb, entry.resource, entry.namespace)
    return Prose((f"{unknown or f'{entry.resource}{place}'}: {refused}", Hint(ask, " (", ")")))


def can_i(verb: str, resource: str, namespace: str | None) -> Command:
    """Asks the API server for a permission; ``nodes/proxy`` behind ``can-i`` would be a node of that name."""
    kind, _, part = resource.partition("/")
    return kubectl(
        "auth", "can-i", verb, kind, namespace=namespace or None, options=(f"--subresource={part}",) if part else ()
    )
