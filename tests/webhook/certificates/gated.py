"""Requests to the API server; a test can delay the writes, as those of a paused process."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

from cluster_io.live.client import ClientTransport
from cluster_io.live.responses import ChangeAnswer

_REQUEST_SECONDS = 60
"""Longer than any pause of a machine."""
_WATCH_SECONDS = 10
"""A watch notices only after this time that it was stopped."""


class GatedTransport(ClientTransport):
    """Its writes wait while the gate is closed; reads do not."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig=str(kubeconfig), request_timeout=_REQUEST_SECONDS, connections=8)
        self.gate = threading.Event()
        self.gate.set()
        self.held_back: list[str] = []
        """The method and path of each write that found the gate closed."""
        self.answers: list[tuple[str, int]] = []
        """The method and path of each write, and the status of the answer."""

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
