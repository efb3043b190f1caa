"""Names the cluster that a live source asks, by context and API server, for later readers of an answer."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct


class Origin(Struct, frozen=True, rename="camel"):
    """The cluster as the kubeconfig names it."""

    context: str | None = None
    """None: no context, or not known."""
    server: str | None = None
    """Host and port of the API server; None: not known."""


UNKNOWN_ORIGIN: Final = Origin()


def host_of(address: str) -> str | None:
    """Host and port of an address, without user, password, path and query; None: no host."""
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
