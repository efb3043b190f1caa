"""Caches the objects of one kind by list and watch, as client-go's Reflector and Informer do.

    list     in pages, smaller ones for large objects, from etcd's current state; if the list expires before its
             last page, it starts again
    watch    from the list's version on, with bookmarks, so that the version of a quiet kind does not expire
    410      the version has expired: list again
    errors   wait, longer each time with a random part, then continue the watch from the last version

Until the first list is complete, `Reflector.synced` is false. A watch replaces single objects, a new list replaces all:
readers in other threads always see a consistent state.

Source: tools/cache/reflector.go of k8s.io/client-go at v0.36.3.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote

from msgspec import field

from podrules.cluster.errors import Unreachable
from podrules.cluster.field_selector import equal_fields
from podrules.cluster.kinds import Kind
from podrules.cluster.live.answers import APIStatus, ObjectList, WatchEvent, error_message
from podrules.cluster.live.pages import Pages
from podrules.cluster.live.responses import Response, StreamRefused
from podrules.model.base import Model
from podrules.model.decode import DecodeError, from_json

__all__ = ["CachedMeta", "CachedObject", "Named", "Reflector", "StreamTransport"]

_LOG: Final = logging.getLogger(__name__)
_PAGE: Final = 500
_FIRST_DELAY: Final = 0.8
"""Seconds; doubled for each failure in a row, as client-go does."""
_LAST_DELAY: Final = 30.0
_WATCH_SECONDS: Final = 300
"""The API server ends a watch after one to two times this, so that clients spread over its replicas."""
_IDLE_SECONDS: Final = 150.0
"""Bookmarks arrive about once a minute, so a connection that is silent for this long is dead."""
_GONE: Final = 410


class CachedMeta(Model, frozen=True):
    """The part of ``metadata`` that a cache needs."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class CachedObject(Model, frozen=True):
    """Base of cached objects; each subclass adds only the fields that its readers need."""

    metadata: CachedMeta = field(default_factory=CachedMeta)


class StreamTransport(Protocol):
    """Sends requests and watches to one API server."""

    def get(self, path: str, accept: str = "application/json") -> Response:
        """See `podrules.cluster.live.transport.Transport`."""
        ...

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """See `podrules.cluster.live.transport.LargeTransport`."""
        ...


class _Metadata(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


class Named(Protocol):
    """An object with metadata."""

    @property
    def metadata(self) -> _Metadata:
        """Its name and namespace."""
        ...


class _TooOld(Exception):
    """The API server no longer has the version to continue from."""


T = TypeVar("T", bound=Named)


class Reflector(Generic[T]):
    """Caches the objects of one kind by namespace ("" for cluster-scoped kinds) and name."""

    def __init__(
        self,
        transport: StreamTransport,
        kind: Kind[Any],
        model: type[T],
        *,
        namespace: str | None = None,
        name: str = "",
        on_change: Callable[[], None] | None = None,
    ) -> None:
        """Describe the cache; `run` fills it.

        Args:
            transport: Sends requests to the API server.
            kind: The kind to list and watch.
            model: What is kept of each object.
            namespace: The only namespace; None: all.
            name: The only object; empty: all.
            on_change: Called after each change of the cache, in the thread of `run`.
        """
        self._transport = transport
        self.kind = kind
        self.model = model
        self._path = kind.path(namespace)
        self._query = f"&fieldSelector={quote(equal_fields(('metadata.name', name)), safe='')}" if name else ""
        self._on_change = on_change or (lambda: None)
        self._objects: dict[str, dict[str, T]] = {}
        self._stopped = threading.Event()
        self._failures = 0
        """Failures since the last success."""
        self.name = f"{kind.rbac_name}/{name}" if name else kind.rbac_name
        self.synced = False
        self.lists = 0
        """How many lists were completed."""
        self.watches = 0
        """How many watches were started."""
        self.failures = 0
        """Lists and watches that failed since the start."""
        self.heard_at: float | None = None
        """When the API server last answered, by the monotonic clock; None: not yet."""

    @property
    def size(self) -> int:
        """How many objects the cache holds."""
        return sum(map(len, list(self._objects.values())))

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object; None: it does not exist."""
        return self._objects.get(namespace, {}).get(name)

    def in_namespace(self, namespace: str = "") -> Mapping[str, T]:
        """All current objects of a namespace by name."""
        return dict(self._objects.get(namespace, {}))

    def fill(self, objects: Iterable[T]) -> None:
        """Replace all objects, as a new list does; a cluster in memory needs only this."""
        found: dict[str, dict[str, T]] = {}
        for entry in objects:
            found.setdefault(entry.metadata.namespace, {})[entry.metadata.name] = entry
        self._objects = found
        self.heard_at = time.monotonic()
        self.lists += 1
        self.synced = True
        self._on_change()

    def stop(self) -> None:
        """End `run` at its next step."""
        self._stopped.set()

    def run(self) -> None:
        """List and watch until stopped. Errors are logged and never raised."""
        version = ""
        while not self._stopped.is_set():
            started = time.monotonic()
            try:
                version = version or self._list()
                for reached in self._watch(version):
                    version, self._failures = reached, 0
            except _TooOld:
                version = ""
            except (Unreachable, StreamRefused, DecodeError) as error:
                self._fail(error)
                continue
            except Exception as error:  # noqa: BLE001 - no error may stop the cache for ever
                _LOG.debug("%s", self.name, exc_info=error)
                self._fail(error)
                continue
            if time.monotonic() - started < 1:
                # An API server may end watches at once: wait, to avoid a tight loop.
                self._stopped.wait(_FIRST_DELAY * random.uniform(1, 2))  # noqa: S311 - no secret

    def _fail(self, error: Exception) -> None:
        delay = min(_FIRST_DELAY * 2**self._failures, _LAST_DELAY) * random.uniform(1, 2)  # noqa: S311 - no secret
        self._failures = min(self._failures + 1, 16)
        self.failures += 1
        _LOG.warning("%s: %s; next try in %.0f s", self.name, error, delay)
        self._stopped.wait(delay)

    def _list(self) -> str:
        """List all objects; returns the list's version."""
        found: list[T] = []
        token = ""
        pages = Pages(_PAGE)
        while True:
            status, body = pages.read(partial(self._page, token))
            if status == _GONE and token:
                raise _TooOld
            if status != 200:
                raise StreamRefused(status, error_message(body).encode())
            page = from_json(body, ObjectList)
            found.extend(entry for item in page.items if (entry := self._decoded(bytes(item))) is not None)
            token = page.metadata.continue_
            if not token:
                self.fill(found)
                return page.metadata.resource_version

    def _page(self, token: str, size: int) -> Response:
        more = f"&continue={quote(token, safe='')}" if token else ""
        return self._transport.get(f"{self._path}?limit={size}{self._query}{more}")

    def _watch(self, version: str) -> Iterator[str]:
        """Apply the events of a watch; yields the version after each event."""
        self.watches += 1
        seconds = int(_WATCH_SECONDS * random.uniform(1, 2))  # noqa: S311 - no secret
        query = (
            f"?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}"
            f"&resourceVersion={quote(version, safe='')}{self._query}"
        )
        try:
            for line in self._transport.lines(self._path + query, idle_timeout=_IDLE_SECONDS):
                if self._stopped.is_set():
                    return
                yield self._take(from_json(line, WatchEvent))
        except StreamRefused as error:
            if error.status == _GONE:
                raise _TooOld from error
            raise

    def _take(self, event: WatchEvent) -> str:
        self.heard_at = time.monotonic()
        body = bytes(event.object)
        if event.type == "ERROR":
            status = from_json(body, APIStatus)
            if status.code == _GONE:
                raise _TooOld
            raise StreamRefused(status.code, body)
        meta = from_json(body, CachedObject).metadata
        entry = self._decoded(body) if event.type in {"ADDED", "MODIFIED"} else None
        if entry is not None:
            self._objects.setdefault(meta.namespace, {})[meta.name] = entry
        elif event.type != "BOOKMARK":
            self._forget(meta)
        if event.type != "BOOKMARK":
            self._on_change()
        return meta.resource_version

    def _forget(self, meta: CachedMeta) -> None:
        inside = self._objects.get(meta.namespace, {})
        inside.pop(meta.name, None)
        if not inside:
            self._objects.pop(meta.namespace, None)

    def _decoded(self, body: bytes) -> T | None:
        """The model of one object; None: it does not fit, and must not cost all others."""
        try:
            return from_json(body, self.model)
        except DecodeError:
            meta = from_json(body, CachedObject).metadata
            # The log omits the problem, which may quote the content of a Secret.
            _LOG.warning(
                "%s: %s/%s is left out: it has not the shape of its kind", self.name, meta.namespace, meta.name
            )
            return None
