"""``qos-webhook --demo`` as a separate program: over TLS, with gunicorn and gevent, and no API server."""

from __future__ import annotations

import http.client
import re
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.charts.chart import config_argument
from tests.controlplane.processes import Process, probe, start_on_free_port
from tests.waiting import again_if_late
from tests.webhook.installation import port_beside
from tests.webhook.scraping import scraped
from webhook.serving.connections import HANDSHAKE_SECONDS

_READY_SECONDS = 120
UNVERIFIED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A client that does not verify certificates, like a kubelet's probe."""
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class DemoServer:
    """A running one."""

    process: Process
    port: int
    metrics_port: int

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        context: ssl.SSLContext = UNVERIFIED,
    ) -> Answer:
        """One request on a new connection; on another one if the machine was paused meanwhile."""
        sent = {"Content-Type": "application/json", **(headers or {})} if body is not None else dict(headers or {})

        def asked() -> Answer:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
            with closing(connection):
                connection.request(method, path, body, sent)
                answer = connection.getresponse()
                return Answer(answer.status, dict(answer.getheaders()), answer.read())

        # The server ends a handshake that takes longer; its last message comes when the client has sent the request.
        return again_if_late(asked, HANDSHAKE_SECONDS, (OSError, http.client.HTTPException))

    def metrics(self) -> str:
        """All metrics as text."""
        return scraped(self.metrics_port)

    def metric(self, series: str) -> float:
        """One series, such as ``qos_webhook_ready`` or one with labels in braces; 0 when there is none yet."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.metrics(), re.MULTILINE)
        return float(found.group(1)) if found else 0.0

    def log(self) -> str:
        """The log so far."""
        return self.process.log.read_text(errors="replace")

    @property
    def worker(self) -> int:
        """The process id of the worker."""
        pid = self.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)


@contextmanager
def running_demo(folder: Path, *arguments: str, demo: bool = True, **config: Any) -> Iterator[DemoServer]:
    """Start it, and stop it when the block ends.

    Args:
        folder: For its log and its configuration file.
        arguments: Additional arguments.
        config: The keys of its configuration file.
        demo: Whether it uses the demo cluster, and the block waits until it is ready; otherwise until it is alive.
    """
    metrics_ports: dict[int, int] = {}
    program = Path(sys.executable).parent / "qos-webhook"
    file = config_argument(config, folder / "webhook.yaml")

    def line(port: int) -> tuple[str | Path, ...]:
        metrics_ports[port] = port_beside(port)
        addresses = (f"--address=127.0.0.1:{port}", f"--metrics-address=127.0.0.1:{metrics_ports[port]}")
        return (program, file, *(("--demo",) if demo else ()), "--drain=0s", *addresses, *arguments)

    ready = probe("/readyz" if demo else "/healthz")
    process, port = start_on_free_port(line, ready, log=folder / "webhook.log", timeout=_READY_SECONDS)
    try:
        yield DemoServer(process, port, metrics_ports[port])
    finally:
        process.terminate()
        process.wait_ended(timeout=30)
