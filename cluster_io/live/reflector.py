"""Caches the objects of one kind by list and watch, as client-go's Reflector and Informer do.

    list     in pages, smaller ones for large objects, from etcd's current state; if the list expires before its
             last page, it starts again
    watch    from the list's version on, with bookmarks, so that the version of a quiet kind does not expire
    410      the version has expired: list again
    errors   wait, longer each time with a random part, then continue the watch from the last version; list again after
             an ERROR event or an answer that is not an event
    object   one that cannot be decoded, or makes its namespace take too much memory, is left out, counted and logged;
             its older state is removed, for it may be wrong
    event    one that the API server cannot encode ends each watch before it arrives: a watch that ends at once
             without an event is followed by a list, which has the object

Until the first list is complete, `Reflector.synced` is false. A watch replaces single objects, a new list replaces all:
readers in other threads always see a consistent state.

Source: tools/cache/reflector.go of k8s.io/client-go at v0.36.3.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote

from msgspec import field, json

from cluster_io.errors import Unreachable
from cluster_io.field_selector import equal_fields
from cluster_io.kinds import Kind
from cluster_io.live.answers import APIStatus, WatchEvent, error_message, head_of_event, head_of_object, pages_of
from cluster_io.live.responses import Response, StreamRefused
from podrules.api.model.base import Model, ObjectMeta
from podrules.api.model.decode import DecodeError, from_json

_LOG: Final = logging.getLogger(__name__)
_PAGE: Final = 500
_FIRST_DELAY: Final = 0.8
"""Seconds; doubled for each failure in a row, as client-go does."""
_LAST_DELAY: Final = 30.0
_WATCH_SECONDS: Final = 300
"""The API server ends a watch after one to two times this, so that clients spread over its replicas."""
_IDLE_SECONDS: Final = 150.0
"""Bookmarks arrive about once a minute, so a connection that is silent for this long is dead."""
_SHORT_WATCH: Final = 1.0
"""Seconds: the API server ends no watch earlier, unless it cannot go on."""
_LONG: Final = 0.01
"""Seconds that the answer to a page, or an event, may take to decode; hostile objects take 0.15."""
_EFFORT: Final = 4 << 20
"""For an object or a page that is decoded again: see `podrules.api.model.decode.without_depths`."""
_STATUS_GONE_410: Final = 410


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
        """See `cluster_io.live.transport.Transport`."""
        ...

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        """See `cluster_io.live.transport.LargeTransport`."""
        ...


class _Metadata(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


class NamedObject(Protocol):
    """An object with metadata."""

    @property
    def metadata(self) -> _Metadata:
        """Its name and namespace."""
        ...


class _TooOld(Exception):
    """The API server no longer has the version to continue from."""


class _CannotGoOn(Exception):
    """The API server ended a watch in a way that it would end the next one from the same version, too."""


T = TypeVar("T", bound=NamedObject)


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
        most: int | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        """Describe the cache; `run` fills it.

        Args:
            transport: Sends requests to the API server.
            kind: The kind to list and watch.
            model: What is kept of each object.
            namespace: The only namespace; None: all.
            name: The only object; empty: all.
            most: The memory for the objects of one namespace, in bytes; None: it has no limit.
            on_change: Called after each change of the cache, in the thread of `run`.
        """
        self._transport = transport
        self.kind = kind
        self.model = model
        self._path = kind.path(namespace)
        self._query = f"&fieldSelector={quote(equal_fields(('metadata.name', name)), safe='')}" if name else ""
        self._on_change = on_change or (lambda: None)
        self._most = most
        self._objects: dict[str, dict[str, T]] = {}
        self._weights: Counter[str] = Counter()
        """The memory for the objects of each namespace, in bytes."""
        self._stopped = threading.Event()
        self._busy_since = 0.0
        """When the answer or event arrived that is being decoded, by the monotonic clock."""
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
        self.left_out = 0
        """Objects in lists and events that were left out."""
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
        weights: Counter[str] = Counter()
        for entry in objects:
            if self._fits(entry, weights):
                found.setdefault(entry.metadata.namespace, {})[entry.metadata.name] = entry
        self._objects, self._weights = found, weights
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
            except (Unreachable, StreamRefused) as error:
                self._fail(error)
                continue
            except Exception as error:  # noqa: BLE001 - no error may stop the cache for ever
                _LOG.debug("%s", self.name, exc_info=error)
                version = ""
                self._fail(error)
                continue
            if time.monotonic() - started < _SHORT_WATCH:
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
        version = ""

        def listed() -> Iterator[T]:
            nonlocal version
            pages = pages_of(self._page, self._path, self._query, _PAGE, self._leave_out, effort=_EFFORT)
            for page in pages:
                yield from filter(None, map(self._decoded, map(bytes, page.items)))
                version = page.metadata.resource_version
                del page  # Before the next one comes.
                self._rest()

        self.fill(listed())
        return version

    def _page(self, path: str) -> bytes:
        status, body = self._transport.get(path)
        self._busy_since = time.monotonic()
        if status == _STATUS_GONE_410:
            raise _TooOld
        if status != 200:
            raise StreamRefused(status, error_message(body).encode())
        return body

    def _watch(self, version: str) -> Iterator[str]:
        """Apply the events of a watch; yields the version after each event."""
        self.watches += 1
        seconds = int(_WATCH_SECONDS * random.uniform(1, 2))  # noqa: S311 - no secret
        query = (
            f"?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}"
            f"&resourceVersion={quote(version, safe='')}{self._query}"
        )
        began, empty = time.monotonic(), True
        try:
            for line in self._transport.lines(self._path + query, idle_timeout=_IDLE_SECONDS):
                if self._stopped.is_set():
                    return
                self.heard_at = self._busy_since = time.monotonic()
                empty = False
                yield self._take(line)
                self._rest()
        except StreamRefused as error:
            if error.status == _STATUS_GONE_410:
                raise _TooOld from error
            raise
        if empty and time.monotonic() - began < _SHORT_WATCH:
            raise _CannotGoOn("the watch ended at once, without an event")

    def _take(self, line: bytes) -> str:
        """Apply an event; returns its version."""
        entry = None
        try:
            event = from_json(line, WatchEvent, _EFFORT)
            event_type, body = event.type, bytes(event.object)
            meta: CachedMeta | ObjectMeta = from_json(body, CachedObject, _EFFORT).metadata
        except DecodeError:
            event_type, meta = head_of_event(line)
            self._leave_out(meta)
        else:
            if event_type == "ERROR":
                status = from_json(body, APIStatus)
                raise _TooOld if status.code == _STATUS_GONE_410 else _CannotGoOn(f"{status.code}: {status.message}")
            if event_type in {"ADDED", "MODIFIED"}:
                entry = self._decoded(body)
        if event_type == "BOOKMARK":
            return meta.resource_version
        if entry is not None and self._fits(entry, self._weights, self.get(meta.name, meta.namespace)):
            self._objects.setdefault(meta.namespace, {})[meta.name] = entry
        else:
            inside = self._objects.get(meta.namespace, {})
            self._weights[meta.namespace] -= self._weight(inside.pop(meta.name, None))
            if not inside:
                self._objects.pop(meta.namespace, None)
                del self._weights[meta.namespace]
        self._on_change()
        return meta.resource_version

    def _rest(self) -> None:
        """Leave the processor to reviews for as long as decoding took, if that was long."""
        seconds = time.monotonic() - self._busy_since
        if seconds > _LONG:
            self._stopped.wait(seconds)

    def _fits(self, entry: T, weights: Counter[str], before: T | None = None) -> bool:
        """Count an object in place of its older state; false: its namespace takes too much memory."""
        meta = entry.metadata
        weight = weights[meta.namespace] + self._weight(entry) - self._weight(before)
        if self._most is not None and weight > self._most:
            self._leave_out(meta, f"the {self.kind.plural} of its namespace take more than {self._most} bytes")
            return False
        weights[meta.namespace] = weight
        return True

    def _weight(self, entry: T | None) -> int:
        """About the memory of an object, in bytes, if it has a limit: a string takes about 130 more than its text."""
        if self._most is None or entry is None:
            return 0
        text = json.encode(entry)
        return len(text) + 64 * text.count(b'"')

    def _decoded(self, body: bytes) -> T | None:
        """The model of one object; None: it does not fit, and must not cost all others."""
        try:
            return from_json(body, self.model, _EFFORT)
        except DecodeError:
            self._leave_out(head_of_object(body))
            return None

    def _leave_out(self, meta: _Metadata, problem: str = "it cannot be decoded") -> None:
        self.left_out += 1
        # The log omits the decoder's words, which may quote the content of a Secret.
        place = f"{meta.namespace}/{meta.name}".lstrip("/")
        _LOG.warning("%s: %s is left out: %s", self.name, place, problem)
