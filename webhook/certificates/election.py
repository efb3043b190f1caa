"""Elects the replica that writes, and makes the requests that read and write single objects."""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import field

from cluster_io.errors import ClusterError
from cluster_io.kinds import LEASES
from cluster_io.live.answers import error_message
from cluster_io.live.reflector import CachedMeta, StreamTransport
from cluster_io.live.responses import ChangeAnswer
from podrules.api.model.base import Model
from podrules.api.model.decode import DecodeError, from_json
from podrules.qos_webhook.rules import ObjectRef


class MonotonicClock(Protocol):
    """A clock that only goes forward and can wait."""

    def now(self) -> float:
        """Seconds since a fixed, unspecified moment."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Wait until the event is set, for at most this many seconds."""
        ...


class RealTime:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """See `MonotonicClock.now`."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> None:
        """See `MonotonicClock.wait`."""
        event.wait(seconds)


# Requests that read and write single objects. None creates a Secret or a Lease: RBAC does not allow it.

T = TypeVar("T", bound=Model)

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"


class WritingTransport(StreamTransport, Protocol):
    """Requests to one API server that may also write."""

    def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> ChangeAnswer:
        """See `cluster_io.live.client.ClientTransport`."""
        ...


class RefusedError(Exception):
    """A request was refused."""


def read(transport: WritingTransport, path: str, model: type[T]) -> T:
    """Read one object.

    Raises:
        RefusedError: It does not exist, or the API server refuses the request.
        Unreachable: The API server does not answer.
    """
    status, body = transport.get(path)
    if status == HTTPStatus.NOT_FOUND:
        raise RefusedError(f"{path} does not exist, and this program may not create it: helm upgrade does")
    if status != HTTPStatus.OK:
        raise RefusedError(f"GET {path}: {status}: {error_message(body)}")
    return from_json(body, model)


def write(
    transport: WritingTransport, method: str, path: str, body: Any, content_type: str = "application/json"
) -> bytes | None:
    """Create or patch an object; return it as stored, None when another client was first.

    Raises:
        RefusedError: the API server refuses the request.
        Unreachable: the API server does not answer.
    """
    status, answer, _ = transport.send(method, path, msgspec.json.encode(body), content_type)
    if status == HTTPStatus.CONFLICT:
        return None
    if status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
        raise RefusedError(f"{method} {path}: {status}: {error_message(answer)}")
    return answer


# Elects the replica that writes: the holder of a Lease, as in client-go's leader election.
#
#     it has no holder          the first replica to write its name wins; the API server accepts one write per version
#     another replica holds it  it is free once it has not changed for its duration. We measure from when we saw it
#                               change, by our own clock only, because clocks differ
#     we hold it                we renew it every fifth of the duration, and count it as ours for only two thirds of it,
#                               from before we sent the last renewal: we stop before another replica may begin
#     we end                    we release it, so that no replica waits
#
# A holder that was paused may still send an earlier decision. Every write names the version that it is based on, so the
# API server refuses one that comes too late.
#
# Each change of the Lease also carries the API server's own time (managedFields). `Election.ahead` is computed from it.
#
# Source: k8s.io/client-go/tools/leaderelection/leaderelection.go (tryAcquireOrRenew, isLeaseValid, release) at v0.36.3.

_LOG: Final = logging.getLogger(__name__)
_RENEW_DEADLINE: Final = 2 / 3
"""Of the duration; client-go's 10 s of 15 s."""
_RETRY: Final = 1 / 5
"""The fraction of the duration."""
_JITTER: Final = 1.2
_LONGEST_SECONDS: Final = 7200
"""For a holder that does not renew: a stolen token can write a duration of 68 years."""
_MOST_TRANSITIONS: Final = (1 << 31) - 1
"""An int32: the API server refuses more, also if a stolen token wrote the number before."""
_TOLERATED_SKEW: Final = timedelta(seconds=10)
"""A smaller difference of clocks is ignored: requests take time, and the API server gives whole seconds."""


class _ManagedFields(Model, frozen=True):
    time: datetime | None = None


class _Meta(CachedMeta, frozen=True):
    managed_fields: tuple[_ManagedFields, ...] = ()


class _Spec(Model, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(Model, frozen=True):
    metadata: _Meta = field(default_factory=_Meta)
    spec: _Spec = field(default_factory=_Spec)


def own_identity() -> str:
    """Return a unique identity for this process that shows where it runs, built as client-go builds it."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Election:
    """One replica's part in the leader election."""

    def __init__(
        self,
        transport: WritingTransport,
        lease: ObjectRef,
        *,
        identity: str,
        duration: int,
        clock: Callable[[], datetime],
        on_change: Callable[[], None],
        elapsed: MonotonicClock | None = None,
    ) -> None:
        """Set up the election; `run` takes part in it.

        Args:
            transport: How requests get to the API server.
            lease: The Lease to hold.
            identity: The unique name of this replica.
            duration: Seconds after which a holder that does not renew the Lease has lost it.
            clock: The time of day. It is written into the Lease, and compared with the API server's.
            on_change: Called in the thread of `run` when this replica gains or loses the Lease, or `ahead` changes.
            elapsed: The clock for durations; `RealTime` when not given.
        """
        self._transport = transport
        self._lease = lease
        self._path = LEASES.path(lease.namespace, lease.name)
        self._identity = identity
        self._duration = duration
        self._clock = clock
        self._on_change = on_change
        self._elapsed = elapsed or RealTime()
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._last: _Lease | None = None
        """The Lease as last read or written; None: it must be read."""
        self._spec: _Spec | None = None
        self._spec_since = 0.0
        """When this spec was first seen."""
        self._requested_at: datetime | None = None
        """When the Lease was last requested, by our clock."""
        self._held_until = 0.0
        self._was_held = False
        self._trouble = ""
        self.ahead = timedelta()
        """How far our clock is ahead of the API server's; zero when the difference is small or not known yet."""

    @property
    def held(self) -> bool:
        """Whether this replica holds the Lease, and so may write, at this moment."""
        return self._elapsed.now() < self._held_until

    def run(self) -> None:
        """Take part until stopped. Errors are logged and never raised."""
        retry = self._duration * _RETRY
        while not self._stopped.is_set():
            trouble = self._tried(self._take_part)
            if trouble != self._trouble:
                _LOG.warning("Lease %s: %s", self._lease, trouble or "can be reached again")
                self._trouble = trouble
            if self.held != self._was_held:
                self._was_held = not self._was_held
                _LOG.info(
                    "Lease %s: this replica %s", self._lease, "writes now" if self._was_held else "no longer writes"
                )
                self._on_change()
            pause = retry if self.held else retry * random.uniform(1, _JITTER)  # noqa: S311 - no secret
            self._elapsed.wait(self._stopped, pause)
        if self.held and (trouble := self._tried(self._release)):
            _LOG.warning("Lease %s is not released: %s", self._lease, trouble)
        self._held_until = 0.0
        self._ended.set()

    def stop(self, *, timeout: float) -> None:
        """Let `run` end, and wait at most this many seconds until it has released the Lease."""
        self._stopped.set()
        self._ended.wait(timeout)

    def _tried(self, step: Callable[[], None]) -> str:
        """Run one step; return its error, or an empty text."""
        try:
            step()
        except (ClusterError, RefusedError, DecodeError, OSError) as error:
            self._last = None
            return f"{error}"
        except Exception as error:  # noqa: BLE001 - after any error, some replica must write
            _LOG.exception("Lease %s", self._lease)
            self._last = None
            return f"{error!r}"
        return ""

    def _take_part(self) -> None:
        """Take the Lease if it is free, renew it if it is ours, otherwise only observe it."""
        started = self._elapsed.now()
        lease = self._last if self.held and self._last is not None else self._read()
        if not (self._is_ours(lease.spec) or self._is_free()):
            self._held_until = 0.0
        elif self._write(self._held_spec(lease.spec), lease):
            before, self._held_until = self._held_until, started + self._duration * _RENEW_DEADLINE
            if self._elapsed.now() >= before:
                # Our hold had expired: a replica that checked meanwhile found no writer, and must check again.
                self._was_held = False

    def _release(self) -> None:
        if self._last is not None:
            transitions = self._last.spec.lease_transitions
            self._write(_Spec(None, 1, self._stamp(), self._stamp(), transitions), self._last)

    def _read(self) -> _Lease:
        asked = self._clock()
        found = read(self._transport, self._path, _Lease)
        self._observe(found)
        self._requested_at = asked
        return found

    def _write(self, spec: _Spec, lease: _Lease) -> bool:
        """Replace the spec of the Lease that was read; return False when another client changed it first."""
        asked = self._clock()
        body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        stored = write(self._transport, "PATCH", self._path, body, MERGE)
        if stored is None:
            self._last = None
            return False
        self._requested_at = asked
        self._observe(from_json(stored, _Lease))
        return True

    def _observe(self, lease: _Lease) -> None:
        """Remember the Lease and when its spec changed, and compare the API server's time of that change."""
        self._last = lease
        if lease.spec == self._spec:
            return
        self._spec, self._spec_since = lease.spec, self._elapsed.now()
        times = [entry.time for entry in lease.metadata.managed_fields if entry.time is not None]
        if times and self._requested_at is not None:
            # The change happened between the two requests, and its time is in whole seconds.
            least = self._requested_at - max(times) - timedelta(seconds=1)
            most = self._clock() - max(times)
            ahead = max(least, min(most, timedelta()))
            ahead = ahead if abs(ahead) > _TOLERATED_SKEW else timedelta()
            if abs(ahead - self.ahead) > _TOLERATED_SKEW:
                _LOG.warning("our clock is %.0f s ahead of the API server's, which is used", ahead.total_seconds())
                self.ahead = ahead
                self._on_change()

    def _is_ours(self, spec: _Spec) -> bool:
        return spec.holder_identity == self._identity

    def _is_free(self) -> bool:
        """Whether the Lease last seen has no holder, or its holder has not renewed it for its duration."""
        spec = self._spec or _Spec()
        lasts = min(spec.lease_duration_seconds or self._duration, _LONGEST_SECONDS)
        return not spec.holder_identity or self._elapsed.now() >= self._spec_since + lasts

    def _held_spec(self, before: _Spec) -> _Spec:
        now = self._stamp()
        if self._is_ours(before):
            return _Spec(self._identity, self._duration, before.acquire_time, now, before.lease_transitions)
        transitions = min((before.lease_transitions or 0) + 1, _MOST_TRANSITIONS)
        return _Spec(self._identity, self._duration, now, now, transitions)

    def _stamp(self) -> str:
        """The time in the format of metav1.MicroTime."""
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
