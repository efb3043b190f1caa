"""Requests to the API server whose writes a test can hold back, as those of a process that was paused."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

from cluster_io.live.client import ClientTransport
from cluster_io.live.responses import ChangeAnswer

__all__ = ["GatedTransport"]

_REQUEST_SECONDS = 60
"""More than a machine stands still."""
_WATCH_SECONDS = 10
"""Whoever watches sees only then that he was told to stop."""


class GatedTransport(ClientTransport):
    """Its writes wait while the gate is closed; reads do not."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig=str(kubeconfig), request_timeout=_REQUEST_SECONDS, connections=8)
        self.gate = threading.Event()
        self.gate.set()
        self.held_back: list[str] = []
        """Of each write that found the gate closed: its method and path."""
        self.answers: list[tuple[str, int]] = []
        """Of each write: its method and path, and the status of the answer."""

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        if not self.gate.is_set():
            self.held_back.append(f"{method} {path}")
            self.gate.wait()
        answer = super().send(method, path, body, content_type)
        self.answers.append((f"{method} {path}", answer[0]))
        return answer

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        shorter = re.sub(r"\btimeoutSeconds=\d+", f"timeoutSeconds={_WATCH_SECONDS}", path)
        return super().lines(shorter, idle_timeout=idle_timeout)
