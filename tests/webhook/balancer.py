"""A TCP balancer on loopback that replaces a Service: new connections go to replicas that report to be ready.

Real Services need kube-proxy, and the API server reaches one address by one URL. As with kube-proxy, a connection stays
with its replica until one end closes it, also when the replica is no longer ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from webhook.serving.connections import HANDSHAKE_SECONDS

_PROBE_SECONDS = 0.25
_SILENCE_SECONDS = 60
"""The time after which a probe counts as failed: an ended replica refuses at once, others may only be paused."""
_LAG_SECONDS = 1.5
"""The time until a probe counts: kubelet, endpoint controller and kube-proxy need time."""
_STEP_SECONDS = 60
_CHUNK = 1 << 16


class Balancer:
    """Listens in a thread from the start of the block to its end."""

    def __init__(self, *, blind: bool = False) -> None:
        """Set up the balancer.

        Args:
            blind: Whether a replica gets connections at once, ready or not, the last added one before the others.
        """
        self._blind = blind
        self._replicas: list[int] = []
        self._ready: list[int] = []
        self._turn = 0
        self._connections: set[asyncio.StreamWriter] = set()
        self._muted: WeakSet[asyncio.StreamWriter] = WeakSet()
        self._tasks: set[asyncio.Task[None]] = set()
        self._transports: WeakSet[asyncio.WriteTransport] = WeakSet()
        self._carried: Counter[int] = Counter()
        self._opened: Counter[int] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        # A kubelet's probe does not verify certificates either.
        self._anybody = ssl.create_default_context()
        self._anybody.check_hostname = False
        self._anybody.verify_mode = ssl.CERT_NONE
        self.port = 0

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._loop.add_reader(self._listener, self._accept)
        self._thread.start()
        if not self._blind:
            asyncio.run_coroutine_threadsafe(self._probe_for_ever(), self._loop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._run(self._end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def known(self) -> tuple[int, ...]:
        """The ports of all replicas, ready or not."""
        return tuple(self._replicas)

    @property
    def ready(self) -> tuple[int, ...]:
        """The ports of the replicas that get new connections."""
        return tuple(self._ready)

    def carried(self, port: int) -> int:
        """The number of connections to a replica that at least one side has not ended."""
        return self._carried[port]

    def opened(self, port: int) -> int:
        """The number of connections that have been opened to a replica so far."""
        return self._opened[port]

    def add(self, port: int) -> None:
        """Add a replica; it gets connections once it is ready."""
        self._replicas.append(port)
        if self._blind:
            self._ready.append(port)

    def remove(self, port: int) -> None:
        """Remove a replica, as when its pod is deleted."""
        self._replicas.remove(port)
        with contextlib.suppress(ValueError):
            self._ready.remove(port)

    def cut(self) -> None:
        """Close all connections: the next ones go to a replica that is ready then."""
        self._run(self._close_all())

    def mute(self) -> None:
        """Stop forwarding on the open connections, and leave them open, as when a router loses them."""
        self._muted.update(self._connections)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=_STEP_SECONDS)

    async def _close_all(self) -> None:
        for writer in self._connections:
            writer.close()

    async def _end_all(self) -> None:
        """End tasks and connections: otherwise pytest blames open ones on the test that runs when Python finds them."""
        self._loop.remove_reader(self._listener)
        self._listener.close()
        # A connection that was just accepted begins: a task that never began closes nothing.
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for transport in list(self._transports):
            transport.abort()
        await asyncio.sleep(0)

    async def _probe_for_ever(self) -> None:
        # The results of probes, each with the time at which it counts.
        known: deque[tuple[float, list[int]]] = deque()
        counts: list[int] = []
        while True:
            asked = list(self._replicas)
            answers = await asyncio.gather(*map(self._is_ready, asked))
            now = self._loop.time()
            known.append((now + _LAG_SECONDS, [port for port, ready in zip(asked, answers, strict=True) if ready]))
            while known[0][0] <= now:
                _, counts = known.popleft()
            self._ready = [port for port in counts if port in self._replicas]
            await asyncio.sleep(_PROBE_SECONDS)

    async def _is_ready(self, port: int) -> bool:
        """A probe that failed late met a paused machine, and does not count: another one follows at once."""
        while True:
            began = self._loop.time()
            ready = await self._probed(port)
            if ready is not None:
                return ready
            if self._loop.time() - began < HANDSHAKE_SECONDS:
                return False

    async def _probed(self, port: int) -> bool | None:
        """The status of the answer; None: the connection ended, or there was none."""
        writer = None
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                reader, writer = await self._streams(host="127.0.0.1", port=port, ssl=self._anybody)
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                status = await reader.readline()
        except TimeoutError:
            return False
        except OSError:
            return None
        finally:
            if writer is not None:
                writer.close()
        return b" 200 " in status

    async def _streams(self, **connection: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(**connection)
        self._transports.add(writer.transport)
        return reader, writer

    def _accept(self) -> None:
        # Not by asyncio's server: at its end it forgets accepted connections without closing them (Python 3.11).
        connection, _ = self._listener.accept()
        task = self._loop.create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await self._streams(sock=connection)
        self._connections.add(writer)
        try:
            if self._ready:
                self._turn += 1
                await self._carry(self._ready[self._turn % len(self._ready)], reader, writer)
        except OSError:
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _carry(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await self._streams(host="127.0.0.1", port=port)
        self._opened[port] += 1
        self._carried[port] += 1
        try:
            heard = partial(self._is_heard, writer)
            await asyncio.gather(_pipe(reader, back, heard), _pipe(there, writer, heard))
        finally:
            self._carried[port] -= 1
            back.close()

    def _is_heard(self, client: asyncio.StreamWriter) -> bool:
        return client not in self._muted


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: Callable[[], bool]) -> None:
    """Forward data until it ends, then its end: the other direction may continue."""
    try:
        while data := await reader.read(_CHUNK):
            if heard():
                writer.write(data)
                await writer.drain()
        writer.write_eof()
    except OSError:
        # A connection that breaks off does so for both sides.
        writer.close()
