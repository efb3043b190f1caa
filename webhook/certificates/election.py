"""Which replica writes: the one that holds a Lease, as client-go's leader election has it.

    nobody holds it           the first to write its name does; the API server takes one write of each version
    held by another           until it has not changed for its own duration, by our clock since we saw it change: no
                              other clock counts, for clocks differ
    held by us                renewed every fifth of the duration, and counted as held for two thirds of it only, since
                              before the last renewal was sent: we stop before anybody else may begin
    we end                    given back, so that nobody waits

A holder that was paused may still send what it decided before: all writes name the version that they are based on, and
the API server refuses those that come too late.

Each change of the Lease also carries the API server's own time (managedFields), from which `Election.ahead` is told.

Source: k8s.io/client-go/tools/leaderelection/leaderelection.go (tryAcquireOrRenew, isLeaseValid, release) at v0.36.3.
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from msgspec import field

from podrules.cluster.errors import ClusterError
from podrules.cluster.kinds import LEASES
from podrules.cluster.live.answers import error_message
from podrules.model.base import Model
from podrules.model.decode import DecodeError, from_json
from webhook.certificates.elapsed import Elapsed, RealTime
from webhook.certificates.writing import MERGE, DescribedMeta, RefusedError, WritingTransport, write
from webhook.settings import ObjectRef

__all__ = ["Election", "own_identity"]

_LOG: Final = logging.getLogger(__name__)
_RENEW_DEADLINE: Final = 2 / 3
"""Of the duration; client-go's 10 s of 15 s."""
_RETRY: Final = 1 / 5
"""Of the duration."""
_JITTER: Final = 1.2
_UNNOTICED: Final = timedelta(seconds=10)
"""A difference of clocks that is none: requests take their time, and the API server's is told in seconds."""


class _ManagedFields(Model, frozen=True):
    time: datetime | None = None


class _Meta(DescribedMeta, frozen=True):
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
    """This process's, as client-go makes them: nobody else's, and people see where it runs."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Election:
    """One replica's part in it."""

    def __init__(
        self,
        transport: WritingTransport,
        lease: ObjectRef,
        *,
        identity: str,
        duration: int,
        clock: Callable[[], datetime],
        on_change: Callable[[], None],
        elapsed: Elapsed | None = None,
    ) -> None:
        """Describe it; `run` takes part.

        Args:
            transport: How requests get to the API server.
            lease: What is held.
            identity: Ours; nobody else's.
            duration: Seconds after which a holder that is not heard of has lost it.
            clock: The time of day: written down for people, and compared with the API server's.
            on_change: Called in the thread of `run` when this replica begins or ceases to hold it, or `ahead` changes.
            elapsed: By what durations are measured; `RealTime` when not given.
        """
        self._transport = transport
        self._lease = lease
        self._identity = identity
        self._duration = duration
        self._clock = clock
        self._on_change = on_change
        self._elapsed = elapsed or RealTime()
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._last: _Lease | None = None
        """As it was read or written last; None: it must be read."""
        self._description: dict[str, dict[str, str]] = {}
        """Of the Lease when it was seen last: one that is made again is its owner's, as Helm's, as before."""
        self._spec: _Spec | None = None
        self._spec_since = 0.0
        """When it was first seen so."""
        self._looked: datetime | None = None
        """When it was asked for last, by our clock."""
        self._held_until = 0.0
        self._was_held = False
        self._trouble = ""
        self.ahead = timedelta()
        """How far our clock is ahead of the API server's; zero when that is next to nothing, or not known yet."""

    @property
    def held(self) -> bool:
        """Whether this replica is the one that writes, at this moment."""
        return self._elapsed.now() < self._held_until

    def run(self) -> None:
        """Take part until stopped. Errors are logged and never raised."""
        retry = self._duration * _RETRY
        while not self._stopped.is_set():
            trouble = self._tried(self._take_part)
            if trouble != self._trouble:
                _LOG.warning("Lease %s: %s", self._lease, trouble or "can be had again")
                self._trouble = trouble
            self._notify()
            pause = retry if self.held else retry * random.uniform(1, _JITTER)  # noqa: S311 - no secret
            self._elapsed.wait(self._stopped, pause)
        if self.held and (trouble := self._tried(self._release)):
            _LOG.warning("Lease %s is not given back: %s", self._lease, trouble)
        self._held_until = 0.0
        self._ended.set()

    def stop(self, *, timeout: float) -> None:
        """Let `run` end, and wait until it has given the Lease back, so many seconds at most."""
        self._stopped.set()
        self._ended.wait(timeout)

    def _tried(self, step: Callable[[], None]) -> str:
        """Do it; returns what went wrong."""
        try:
            step()
        except (ClusterError, RefusedError, DecodeError, OSError) as error:
            self._last = None
            return f"{error}"
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody has to write when it has passed
            _LOG.exception("Lease %s", self._lease)
            self._last = None
            return f"{error!r}"
        return ""

    def _notify(self) -> None:
        if self.held != self._was_held:
            self._was_held = not self._was_held
            _LOG.info("Lease %s: this replica %s", self._lease, "writes now" if self._was_held else "writes no longer")
            self._on_change()

    def _take_part(self) -> None:
        """Take the Lease if it is free, renew it if it is ours, else look on."""
        started = self._elapsed.now()
        lease = self._last if self.held and self._last is not None else self._look()
        if lease is not None and not (self._is_ours(lease.spec) or self._is_free()):
            self._held_until = 0.0
        elif self._write(self._held_spec(lease), lease):
            before, self._held_until = self._held_until, started + self._duration * _RENEW_DEADLINE
            if self._elapsed.now() >= before:
                # Who looked in between found that nobody writes, and is to look again.
                self._was_held = False

    def _release(self) -> None:
        if self._last is not None:
            transitions = self._last.spec.lease_transitions
            self._write(_Spec(None, 1, self._stamp(), self._stamp(), transitions), self._last)

    def _look(self) -> _Lease | None:
        """The Lease as it is now; None: there is none."""
        asked = self._clock()
        status, body = self._transport.get(LEASES.path(self._lease.namespace, self._lease.name))
        if status == HTTPStatus.NOT_FOUND:
            self._last = None
            return None
        if status != HTTPStatus.OK:
            raise RefusedError(f"{status}: {error_message(body)}")
        found = from_json(body, _Lease)
        self._observe(found)
        self._looked = asked
        return found

    def _write(self, spec: _Spec, lease: _Lease | None) -> bool:
        """Write it over what was seen; returns whether it still was so."""
        asked = self._clock()
        namespace, name = self._lease.namespace, self._lease.name
        if lease is None:
            kind = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
            body: Any = {**kind, "metadata": {"name": name, **self._description}, "spec": spec}
            stored = write(self._transport, "POST", LEASES.path(namespace), body)
        else:
            body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
            stored = write(self._transport, "PATCH", LEASES.path(namespace, name), body, MERGE)
        if stored is None:
            self._last = None
            return False
        self._looked = asked
        self._observe(from_json(stored, _Lease))
        return True

    def _observe(self, lease: _Lease) -> None:
        """Remember it, since when it is so, and what time the API server had when it became so."""
        self._last, self._description = lease, lease.metadata.description
        if lease.spec == self._spec:
            return
        self._spec, self._spec_since = lease.spec, self._elapsed.now()
        times = [entry.time for entry in lease.metadata.managed_fields if entry.time is not None]
        if times and self._looked is not None:
            # It happened between the two looks, and is told in whole seconds.
            self._compare(self._looked - max(times) - timedelta(seconds=1), self._clock() - max(times))

    def _compare(self, least: timedelta, most: timedelta) -> None:
        ahead = max(least, min(most, timedelta()))
        ahead = ahead if abs(ahead) > _UNNOTICED else timedelta()
        if abs(ahead - self.ahead) > _UNNOTICED:
            _LOG.warning(
                "our clock is %.0f s ahead of the API server's: the API server's counts", ahead.total_seconds()
            )
            self.ahead = ahead
            self._on_change()

    def _is_ours(self, spec: _Spec) -> bool:
        return spec.holder_identity == self._identity

    def _is_free(self) -> bool:
        """Whether nobody holds what was seen last, or the holder was not heard of for long enough."""
        spec = self._spec or _Spec()
        lasts = spec.lease_duration_seconds or self._duration
        return not spec.holder_identity or self._elapsed.now() >= self._spec_since + lasts

    def _held_spec(self, lease: _Lease | None) -> _Spec:
        now, before = self._stamp(), lease.spec if lease is not None else _Spec()
        if self._is_ours(before):
            return _Spec(self._identity, self._duration, before.acquire_time, now, before.lease_transitions)
        transitions = (before.lease_transitions or 0) + 1 if lease is not None else 0
        return _Spec(self._identity, self._duration, now, now, transitions)

    def _stamp(self) -> str:
        """The time as metav1.MicroTime has it."""
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
