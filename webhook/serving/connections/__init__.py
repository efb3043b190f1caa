"""The connections of one worker: who floods it loses, who asks is kept."""

from __future__ import annotations

from webhook.serving.connections.connection import Connection, Stage
from webhook.serving.connections.memory import Memory, NoMemory, return_freed_memory
from webhook.serving.connections.registry import (
    HANDSHAKE_SECONDS,
    LOOK_SECONDS,
    MAX_CONNECTIONS,
    READ_SECONDS,
    REQUEST_SECONDS,
    Connections,
)
from webhook.serving.connections.turns import give_way

__all__ = [
    "HANDSHAKE_SECONDS",
    "LOOK_SECONDS",
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
