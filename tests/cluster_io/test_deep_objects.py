"""Objects on a real API server that are too deep or too large to be decoded: all others are read."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cluster_io.errors import Unreachable
from cluster_io.kinds import CONFIG_MAPS, NAMESPACES, REPLICA_SETS, Kind
from cluster_io.live import reflector as module
from cluster_io.live.client import ClientTransport
from cluster_io.live.live_source import LiveSource
from cluster_io.live.reflector import CachedObject, Reflector
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.deep_objects import PROTOBUF, deepen, flatten, replica_set_no_event_holds
from tests.waiting import wait_for
from tests.webhook.asking import make_workload

pytestmark = pytest.mark.controlplane

DEPTH = 1500
LONGEST = 50_000
"""Bytes of an answer, in these tests."""
OWN = "kube-root-ca.crt"
"""The objects that controllers create in each namespace."""


@pytest.fixture
def connect(control_plane: ControlPlane) -> Iterator[Callable[..., ClientTransport]]:
    """Makes transports of the administrator; they are closed after the test."""
    made: list[ClientTransport] = []

    def transport(longest: int = sys.maxsize) -> ClientTransport:
        kubeconfig = str(control_plane.admin_kubeconfig)
        made.append(ClientTransport(kubeconfig=kubeconfig, request_timeout=60, longest=longest))
        return made[-1]

    yield transport
    for entry in made:
        entry.close()


@contextmanager
def _running(
    transport: ClientTransport, kind: Kind[Any], namespace: str | None, most: int | None = None
) -> Iterator[Reflector[Any]]:
    """A cache that is filled and kept; its thread ends with the process."""
    reflector: Reflector[Any] = Reflector(transport, kind, CachedObject, namespace=namespace, most=most)
    threading.Thread(target=reflector.run, daemon=True).start()
    try:
        wait_for(lambda: reflector.synced, "synced")
        yield reflector
    finally:
        reflector.stop()


def _map(namespace: str, name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def test_deep_object_is_cached_and_stops_nothing(
    control_plane: ControlPlane, namespace: str, connect: Callable[..., ClientTransport]
) -> None:
    """The object arrives in the list, or in an event."""
    api = control_plane.api
    listed, watched = (api.create(_map(namespace, name)) for name in ("listed", "watched"))
    deepen(api, listed, DEPTH)
    with _running(connect(), CONFIG_MAPS, namespace) as reflector:
        assert set(reflector.in_namespace(namespace)) - {OWN} == {"listed", "watched"}
        deepen(api, watched, DEPTH)
        api.create(_map(namespace, "after"))
        wait_for(lambda: reflector.get("after", namespace), "the event after the deep one")
        assert set(reflector.in_namespace(namespace)) - {OWN} == {"listed", "watched", "after"}
        assert (reflector.lists, reflector.failures, reflector.left_out) == (1, 0, 0)
    for entry in (listed, watched):
        flatten(api, entry)


class _Timed(ClientTransport):
    """Records the time that each line of a watch takes its reader: seconds, and seconds of CPU."""

    held: list[tuple[float, float]] = []

    def lines(self, path: str, *, idle_timeout: float) -> Iterator[bytes]:
        for line in super().lines(path, idle_timeout=idle_timeout):
            began, worked = time.monotonic(), time.thread_time()
            yield line
            self.held.append((time.monotonic() - began, time.thread_time() - worked))


def test_cache_rests_after_a_deep_object(control_plane: ControlPlane, namespace: str) -> None:
    """A tenant may change such an object again and again; reviews need the processor, too."""
    api = control_plane.api
    entry = api.create(_map(namespace, "watched"))
    transport = _Timed(kubeconfig=str(control_plane.admin_kubeconfig), request_timeout=60)
    with _running(transport, CONFIG_MAPS, namespace) as reflector:
        deepen(api, entry, DEPTH, times=25)
        api.create(_map(namespace, "after"))
        wait_for(lambda: reflector.get("after", namespace), "the event after the deep one")
        seconds, worked = max(transport.held)
    transport.close()
    flatten(api, entry)
    assert worked > module._LONG
    assert seconds > 1.8 * worked


def test_deep_object_is_read_live(
    control_plane: ControlPlane, namespace: str, connect: Callable[..., ClientTransport]
) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    deepen(control_plane.api, space, DEPTH)
    source = LiveSource(connect(), namespace=namespace)
    assert source.get(NAMESPACES, namespace).metadata.name == namespace
    names = {found.metadata.name for found in source.list(NAMESPACES)}
    assert {namespace, "default"} <= names == set(source.names(NAMESPACES, None))
    flatten(control_plane.api, space)


def test_object_that_is_too_long_is_left_out_alone(
    control_plane: ControlPlane,
    namespace: str,
    connect: Callable[..., ClientTransport],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In a list and in a watch, and only while the object is too large."""
    api = control_plane.api
    for name in ("a", "b-long", "c", "d"):
        api.create(_map(namespace, name, text="secret" * (LONGEST if name == "b-long" else 1)))
    with caplog.at_level(logging.WARNING), _running(connect(LONGEST), CONFIG_MAPS, namespace) as reflector:
        assert set(reflector.in_namespace(namespace)) - {OWN} == {"a", "c", "d"}
        api.patch(_map(namespace, "c"), {"data": {"text": "secret" * LONGEST}})
        wait_for(lambda: reflector.get("c", namespace) is None, "it grew too long")
        api.create(_map(namespace, "e"))
        wait_for(lambda: reflector.get("e", namespace), "the next event")
        api.patch(_map(namespace, "c"), {"data": {"text": "short"}})
        wait_for(lambda: reflector.get("c", namespace), "it is short again")
        assert set(reflector.in_namespace(namespace)) - {OWN} == {"a", "c", "d", "e"}
        assert (reflector.lists, reflector.failures, reflector.left_out) == (1, 0, 2)
    for name in ("b-long", "c"):
        assert f"configmaps: {namespace}/{name} is left out" in caplog.text
    assert "secret" not in caplog.text


def test_answers_take_no_more_memory_than_they_may(control_plane: ControlPlane, namespace: str) -> None:
    """The limit covers all concurrent answers; a caller above it gets an error."""
    for name, length in (("small", 10), ("large", 30_000)):
        control_plane.api.create(_map(namespace, name, text="x" * length))
    kubeconfig = str(control_plane.admin_kubeconfig)
    transport = ClientTransport(kubeconfig=kubeconfig, request_timeout=60, longest=LONGEST, most=20_000)
    path = f"{CONFIG_MAPS.path(namespace)}/"
    for _ in range(2):
        assert transport.get(f"{path}small")[0] == 200
        with pytest.raises(Unreachable, match="fits into the memory"):
            transport.get(f"{path}large")
    transport.close()


def test_namespace_takes_no_more_memory_than_it_may(
    control_plane: ControlPlane, namespace: str, connect: Callable[..., ClientTransport]
) -> None:
    """Objects above the limit are left out of a list and a watch, until others are deleted and they change."""
    api = control_plane.api

    def create(*numbers: int) -> None:
        for number in numbers:
            api.create(_map(namespace, f"map-{number}"))

    wait_for(lambda: api.list_items("v1", "ConfigMap", namespace), "the one of controllers is there")
    create(*range(12))
    with _running(connect(), CONFIG_MAPS, namespace, most=15_000) as reflector:
        listed = set(reflector.in_namespace(namespace))
        assert 5 < len(listed) == 12 + 1 - reflector.left_out < 13
        before = reflector.left_out
        create(12, 13)
        wait_for(lambda: reflector.left_out == before + 2, "the new ones are left out")
        gone, *kept = sorted(listed - {OWN})
        api.delete(_map(namespace, gone))
        wait_for(lambda: not reflector.get(gone, namespace), "one is gone")
        create(14, 15)
        wait_for(lambda: reflector.left_out == before + 3, "there is room for one")
        for number in range(3):
            api.patch(_map(namespace, kept[0]), {"data": {"text": f"{number}"}})
        create(16)
        wait_for(lambda: reflector.left_out == before + 4, "a change takes no room")
        assert set(reflector.in_namespace(namespace)) - {OWN} == {*kept, "map-14"}


def test_event_that_no_watch_can_send_is_passed_by_a_list(
    control_plane: ControlPlane,
    namespace: str,
    connect: Callable[..., ClientTransport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_FIRST_DELAY", 0.05)
    api = control_plane.api
    with _running(connect(), REPLICA_SETS, namespace) as reflector:
        path = api.path("apps/v1", "ReplicaSet", namespace)
        body = replica_set_no_event_holds("deepest", namespace)
        api.request("POST", path, body, content_type=PROTOBUF, accept=PROTOBUF)
        try:
            after = make_workload("ReplicaSet", namespace)
            after["spec"]["replicas"] = 0
            api.create(after)
            wait_for(lambda: reflector.lists > 1 and len(reflector.in_namespace(namespace)) == 2, "a list has both")
        finally:
            # While it exists, the API server answers each list of its kind with an empty body.
            api.request("DELETE", f"{path}/deepest", accept=PROTOBUF)
