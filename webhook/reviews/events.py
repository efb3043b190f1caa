"""Creates Events of force deletions: ``kubectl describe`` of the Pod or Node shows a refused user and the reason.

``kubectl qos died`` shows the allowed ones: the pod of such an Event no longer exists a moment later.

No answer waits for an Event: a thread creates them from a short queue. Repeated attempts cannot fill etcd: each object
gets one Event per user in ten minutes, and each namespace has a small quota. Held-back Events are counted. Dry runs
create none. Without client certificates no Events are created: otherwise any pod that reaches the port could cause
Events about any object.

Source: k8s.io/api/events/v1/types.go, k8s.io/kubernetes/pkg/apis/core/validation/events.go at v1.36.3.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar

from msgspec.structs import replace

from cluster_io.errors import ClusterError
from cluster_io.kinds import EVENTS
from podrules.api.names import is_plain_name
from podrules.ending.died.messages import FORCE_ALLOWED
from webhook.certificates.election import RefusedError, WritingTransport, write
from webhook.reviews.response import ForceDeletionRecord, plain

K = TypeVar("K")
V = TypeVar("V")

_EVENTS: Final = replace(EVENTS, group="events.k8s.io")
_LOG: Final = logging.getLogger(__name__)
EventOutcome = Literal["created", "held_back", "failed"]
_MAX_WAITING: Final = 64
_REPEAT_SECONDS: Final = 600.0
"""The shortest time between two Events about one object and one user."""
_SHARE: Final = 10.0
"""Events that a namespace may have at once."""
_REFILL_SECONDS: Final = 30.0
"""The time after which a namespace may have one more."""
_MAX_REMEMBERED: Final = 4096
_MAX_USER: Final = 128
_ODD: Final = re.compile(r"[^\w.@:/+=-]")
"""Characters that most usernames lack: a username with spaces could contain a command."""
_MAX_INSTANCE: Final = 128
_MAX_NOTE: Final = 1024
"""Bytes."""
_CLUSTER_SCOPED: Final = "default"
"""The namespace of Events about objects that have none."""


class Limits:
    """The limits on the number of Events."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a full quota for each namespace."""
        self._clock = clock
        self._last_events: OrderedDict[tuple[str, str], float] = OrderedDict()
        """Time of the last Event, by the object's uid and the user."""
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By namespace: how many Events were left, and when."""

    def admit(self, uid: str, user: str, namespace: str) -> bool:
        """Whether an Event may be created now; if so, count it."""
        now = self._clock()
        last = self._last_events.get((uid, user))
        if last is not None and now - last < _REPEAT_SECONDS:
            return False
        left, since = self._left.pop(namespace, (_SHARE, now))
        left = min(_SHARE, left + (now - since) / _REFILL_SECONDS)
        admitted = left >= 1
        _remember(self._left, namespace, (left - admitted, now))
        if admitted:
            _remember(self._last_events, (uid, user), now)
        return admitted


class Events:
    """Creates Events of force deletions, one after the other."""

    def __init__(self, transport: WritingTransport, count: Callable[[EventOutcome], None]) -> None:
        """Set up the queue; `run` creates the Events.

        Args:
            transport: To the API server.
            count: Called with each outcome.
        """
        self._transport = transport
        self._count = count
        self._limits = Limits()
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue(_MAX_WAITING)

    def enqueue(self, forced: ForceDeletionRecord, user: str, denial: str) -> None:
        """Queue an Event unless a limit is reached; return at once.

        Args:
            forced: The refused or allowed force deletion.
            user: The user who requested it.
            denial: The message of the refusal; empty: it was allowed.
        """
        # A refused user may confirm a moment later.
        about = f"{forced.metadata.uid} {bool(denial)}"
        if not self._limits.admit(about, user, forced.metadata.namespace):
            self._count("held_back")
            return
        try:
            self._waiting.put_nowait(_event(forced, user, denial, datetime.now(UTC)))
        except queue.Full:
            self._count("held_back")

    def run(self) -> None:
        """Create the queued Events, without end."""
        while True:
            event = self._waiting.get()
            namespace = event["metadata"]["namespace"]
            try:
                write(self._transport, "POST", _EVENTS.path(namespace), event)
            except (RefusedError, ClusterError) as error:
                self._count("failed")
                _LOG.warning("the Event of a force deletion could not be created: %s", error)
            else:
                self._count("created")


def _event(forced: ForceDeletionRecord, user: str, denial: str, now: datetime) -> dict[str, Any]:
    meta = forced.metadata
    node = {"apiVersion": "v1", "kind": "Node", "name": forced.node}
    instance = os.uname().nodename[:_MAX_INSTANCE]
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": meta.namespace or _CLUSTER_SCOPED, "generateName": "kubectl-qos-"},
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Warning",
        "reason": "ForceDeletionRefused" if denial else FORCE_ALLOWED,
        "action": "Delete",
        "note": _note(forced, _ODD.sub("?", plain(user, _MAX_USER)), denial),
        "reportingController": "kubectl-qos.io/webhook",
        "reportingInstance": instance,
        "regarding": {
            "apiVersion": "v1",
            "kind": forced.kind,
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
        },
        **({"related": node} if is_plain_name(forced.node) else {}),
    }


def _note(forced: ForceDeletionRecord, user: str, denial: str) -> str:
    if forced.kind == "Node":
        # Events of Nodes are all in one namespace: its readers may lack permission to see the names of pods.
        why = "its pods, which the refusal names, would be force deleted"
        text = f"The deletion by {user} was refused (mode {forced.mode.value}): {why}"
    else:
        done = "refused" if denial else "allowed"
        text = f"A force deletion by {user} was {done} (mode {forced.mode.value}): {denial or forced.risk}"
    return plain(text, _MAX_NOTE).encode()[:_MAX_NOTE].decode(errors="ignore")


def _remember(kept: OrderedDict[K, V], key: K, value: V) -> None:
    """Store an entry as the newest one, and drop the oldest of too many."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _MAX_REMEMBERED:
        kept.popitem(last=False)
