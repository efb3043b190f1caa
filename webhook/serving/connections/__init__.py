"""The connections of one worker: a flood loses its connections, clients with requests keep theirs."""

from __future__ import annotations

from webhook.serving.connections.listener import give_way
from webhook.serving.connections.registry import (
    CHECK_SECONDS,
    HANDSHAKE_SECONDS,
    MAX_CONNECTIONS,
    READ_SECONDS,
    REQUEST_SECONDS,
    Connection,
    Connections,
    Memory,
    NoMemory,
    Stage,
    return_freed_memory,
)

__all__ = [
    "CHECK_SECONDS",
    "HANDSHAKE_SECONDS",
    "MAX_CONNECTIONS",
    "READ_SECONDS",
    "REQUEST_SECONDS",
    "Connection",
    "Connections",
    "Memory",
    "NoMemory",
    "Stage",
    "give_way",
    "return_freed_memory",
]
