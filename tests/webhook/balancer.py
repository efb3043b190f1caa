"""A TCP balancer on loopback that stands for a Service: new connections go to replicas that say they are ready.

Real Services need kube-proxy, and the API server reaches one address by one URL. As with kube-proxy, a connection stays
with its replica until one end closes it, also when the replica is no longer ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections import deque
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

__all__ = ["Balancer"]

_PROBE_SECONDS = 0.25
_LAG = 6
"""Probes until one counts, a second and a half: kubelet, endpoint controller and kube-proxy take their time."""
_CHUNK = 1 << 16


class Balancer:
    """Listens from ``with`` on, in a thread of its own, until the block ends."""

    def __init__(self) -> None:
        self._replicas: list[int] = []
        self._ready: list[int] = []
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        # A kubelet's probe does not verify certificates either.
        self._anybody = ssl.create_default_context()
        self._anybody.check_hostname = False
        self._anybody.verify_mode = ssl.CERT_NONE
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        asyncio.run_coroutine_threadsafe(self._probe_for_ever(), self._loop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def ready(self) -> tuple[int, ...]:
        """The ports of the replicas that get new connections."""
        return tuple(self._ready)

    def add(self, port: int) -> None:
        """Let a replica take part once it is ready."""
        self._replicas.append(port)

    def remove(self, port: int) -> None:
        """Forget a replica: as when its pod is being deleted."""
        self._replicas.remove(port)
        with contextlib.suppress(ValueError):
            self._ready.remove(port)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _cancel_all(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _probe_for_ever(self) -> None:
        known: deque[list[int]] = deque([[]] * _LAG, maxlen=_LAG)
        while True:
            asked = list(self._replicas)
            answers = await asyncio.gather(*map(self._is_ready, asked))
            known.append([port for port, ready in zip(asked, answers, strict=True) if ready])
            self._ready = [port for port in known[0] if port in self._replicas]
            await asyncio.sleep(_PROBE_SECONDS)

    async def _is_ready(self, port: int) -> bool:
        try:
            async with asyncio.timeout(1):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=self._anybody)
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                status = await reader.readline()
                writer.close()
        except (OSError, TimeoutError):
            return False
        return b" 200 " in status

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not self._ready:
                return
            self._turn += 1
            port = self._ready[self._turn % len(self._ready)]
            there, back = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
        except (OSError, asyncio.CancelledError):
            # Also at the end of it all: asyncio would report a cancelled connection as an error.
            pass
        finally:
            writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends, then end too."""
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
