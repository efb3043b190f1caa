"""Caches that use list and watch, with the real API server, and with an unreliable connection."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from cluster_io.errors import Unreachable
from cluster_io.kinds import CONFIG_MAPS, Kind
from cluster_io.live import reflector as module
from cluster_io.live.client import ClientTransport
from cluster_io.live.reflector import CachedObject, Reflector, StreamTransport
from cluster_io.live.responses import Response
from podrules.api.model.base import KubeObject
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

EVENTS = Kind("Event", "events", (), "", "v1", namespaced=True, model=KubeObject)
"""A kind without a watch cache in the API server: its lists and watches reach etcd."""
_TIMEOUT = 60.0


class _Cached(CachedObject, frozen=True):
    data: dict[str, str] = {}


Start = Callable[..., Reflector[Any]]
Connect = Callable[[Path], ClientTransport]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry failures after a twentieth of a second."""
    monkeypatch.setattr(module, "_FIRST_DELAY", 0.05)
    monkeypatch.setattr(module, "_LAST_DELAY", 0.2)


@pytest.fixture
def connect() -> Iterator[Callable[[Path], ClientTransport]]:
    """Makes transports by their kubeconfigs; they are closed after the test."""
    made: list[ClientTransport] = []

    def transport(kubeconfig: Path) -> ClientTransport:
        made.append(ClientTransport(kubeconfig=str(kubeconfig), request_timeout=60))
        return made[-1]

    yield transport
    for entry in made:
        entry.close()


@pytest.fixture
def transport(control_plane: ControlPlane, connect: Connect) -> ClientTransport:
    """A transport of the administrator."""
    return connect(control_plane.admin_kubeconfig)


@pytest.fixture
def start(control_plane: ControlPlane, namespace: str, connect: Connect) -> Iterator[Start]:
    """Runs reflectors of the test's namespace in threads; they end with the test."""
    running: list[tuple[Reflector[Any], threading.Thread, str]] = []

    def begin(
        transport: StreamTransport, kind: Kind[Any] = CONFIG_MAPS, model: type[Any] = _Cached, **how: Any
    ) -> Reflector[Any]:
        made: Reflector[Any] = Reflector(transport, kind, model, namespace=namespace, **how)
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        running.append((made, thread, how.get("name", "the-end")))
        return made

    yield begin
    for reflector, thread, name in running:
        reflector.stop()
        # A watch only checks whether to stop when an event arrives.
        change = {
            "kind": reflector.kind.kind,
            "metadata": {"name": name, "namespace": namespace, "labels": {"end": ""}},
        }
        control_plane.apply([{"apiVersion": "v1", **change, **_about(reflector.kind.kind, namespace)}])
        thread.join(_TIMEOUT)
        assert not thread.is_alive(), f"{reflector.name} runs on"


def _create(control_plane: ControlPlane, namespace: str, name: str, *, kind: str = "ConfigMap", **data: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    about = _about(kind, namespace) or {"data": data}
    return control_plane.api.create({"apiVersion": "v1", "kind": kind, "metadata": metadata, **about})


def _about(kind: str, namespace: str) -> Object:
    """What an Event needs beside its metadata."""
    return {"involvedObject": {"kind": "Pod", "name": "web", "namespace": namespace}} if kind == "Event" else {}


def _delete(control_plane: ControlPlane, namespace: str, name: str) -> None:
    metadata = {"name": name, "namespace": namespace}
    control_plane.api.delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def _get(reflector: Reflector[Any], name: str, namespace: str) -> Any:
    return reflector.get(name, namespace)


def _names(reflector: Reflector[Any], namespace: str) -> set[str]:
    # The controllers create one in each namespace.
    return set(reflector.in_namespace(namespace)) - {"kube-root-ca.crt"}


def test_more_than_one_page(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    transport: ClientTransport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PAGE", 20)
    wanted = {f"map-{number}" for number in range(45)}
    for name in wanted:
        _create(control_plane, namespace, name, of=name)
    reflector = start(transport)
    wait_for(lambda: reflector.synced, "synced")
    assert _names(reflector, namespace) == wanted
    assert all(_get(reflector, name, namespace).data == {"of": name} for name in wanted)
    assert reflector.lists == 1


def test_changes_are_seen(
    control_plane: ControlPlane, namespace: str, start: Start, transport: ClientTransport
) -> None:
    changes = itertools.count()
    seen = [next(changes)]
    reflector = start(transport, on_change=lambda: seen.append(next(changes)))
    wait_for(lambda: reflector.synced, "synced")
    assert _names(reflector, namespace) == set()

    made = _create(control_plane, namespace, "settings", color="blue")
    wait_for(lambda: _get(reflector, "settings", namespace), "added")
    assert _get(reflector, "settings", namespace).data == {"color": "blue"}
    assert _get(reflector, "settings", namespace).metadata.uid == made["metadata"]["uid"]

    control_plane.api.patch(made, {"data": {"color": "red"}})
    wait_for(lambda: _get(reflector, "settings", namespace).data == {"color": "red"}, "modified")

    _delete(control_plane, namespace, "settings")
    wait_for(lambda: _get(reflector, "settings", namespace) is None, "deleted")
    assert _names(reflector, namespace) == set()

    again = _create(control_plane, namespace, "settings", color="green")
    wait_for(lambda: _get(reflector, "settings", namespace), "made again")
    assert _get(reflector, "settings", namespace).metadata.uid == again["metadata"]["uid"] != made["metadata"]["uid"]
    assert reflector.lists == 1
    # The callback runs a moment after the object is stored.
    wait_for(lambda: len(seen) > 5, "each change reported")


def test_one_object_alone(
    control_plane: ControlPlane, namespace: str, start: Start, transport: ClientTransport
) -> None:
    _create(control_plane, namespace, "other")
    _create(control_plane, namespace, "mine", n="1")
    reflector = start(transport, name="mine")
    wait_for(lambda: reflector.synced, "synced")
    _create(control_plane, namespace, "another")
    _delete(control_plane, namespace, "mine")
    wait_for(lambda: _get(reflector, "mine", namespace) is None, "deleted")
    _create(control_plane, namespace, "mine", n="2")
    wait_for(lambda: _get(reflector, "mine", namespace), "made again")
    assert set(reflector.in_namespace(namespace)) == {"mine"}
    assert reflector.lists == 1


def test_other_namespaces_are_not_searched(
    control_plane: ControlPlane, namespace: str, start: Start, transport: ClientTransport
) -> None:
    reflector = start(transport)
    wait_for(lambda: reflector.synced, "synced")
    _create(control_plane, "default", f"stranger-{namespace}")
    _create(control_plane, namespace, "mine")
    wait_for(lambda: _get(reflector, "mine", namespace), "added")
    assert reflector.in_namespace("default") == {}
    _delete(control_plane, "default", f"stranger-{namespace}")


def test_bookmarks_move_the_version_on(
    control_plane: ControlPlane, namespace: str, transport: ClientTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bookmarks keep a quiet namespace within etcd's history."""
    monkeypatch.setattr(module, "_WATCH_SECONDS", 3)
    reflector: Reflector[_Cached] = Reflector(transport, CONFIG_MAPS, _Cached, namespace=namespace)
    # The controllers' own object has to exist first: then the namespace stays unchanged.
    wait_for(lambda: control_plane.api.list_items("v1", "ConfigMap", namespace), "kube-root-ca.crt made")
    version = reflector._list()
    before = dict(reflector.in_namespace(namespace))

    def reached() -> str:
        """The API server sends a bookmark shortly before it ends a watch; sometimes none in so short a watch."""
        with contextlib.suppress(Unreachable):
            return next(reflector._watch(version), "")
        return ""

    with _noise(control_plane, f"noise-{namespace}"):
        assert int(wait_for(reached, "a bookmark")) > int(version)
    assert reflector.in_namespace(namespace) == before


@contextlib.contextmanager
def _noise(control_plane: ControlPlane, name: str) -> Iterator[None]:
    """Constant changes of an object in another namespace."""
    made, over = _create(control_plane, "default", name), threading.Event()

    def change() -> None:
        for number in itertools.count():
            if over.wait(0.2):
                break
            with contextlib.suppress(ApiError, OSError):
                control_plane.api.patch(made, {"data": {"n": str(number)}})
        control_plane.api.close()  # this thread's connection

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_TIMEOUT)
        control_plane.api.delete(made)


def _is_at_watch(reflector: Reflector[Any], number: int) -> bool:
    return reflector.watches >= number


def test_ended_watch_continues_without_a_list(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    transport: ClientTransport,
    monkeypatch: pytest.MonkeyPatch,
    impatient: None,
) -> None:
    """Each change is applied once."""
    monkeypatch.setattr(module, "_WATCH_SECONDS", 1)
    wait_for(lambda: control_plane.api.list_items("v1", "ConfigMap", namespace), "kube-root-ca.crt made")
    changes: list[None] = []
    reflector = start(transport, on_change=lambda: changes.append(None))
    wait_for(lambda: reflector.synced, "synced")
    for turn in range(3):
        next_watch = partial(_is_at_watch, reflector, reflector.watches + 1)
        for number in range(4):
            _create(control_plane, namespace, f"map-{turn}-{number}")
        wait_for(next_watch, "the next watch")
    _create(control_plane, namespace, "last")
    wait_for(lambda: _get(reflector, "last", namespace) and len(changes) > 13, "added")
    assert _names(reflector, namespace) == {
        "last",
        *(f"map-{turn}-{number}" for turn in range(3) for number in range(4)),
    }
    assert len(changes) == 14  # the list, and thirteen that were added
    assert reflector.lists == 1


class _Line:
    """A connection to the API server that can be cut: a TCP proxy on loopback."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._up = False
        self._lock = threading.Lock()
        """A connection either exists and can be cut, or is not made."""

    def open(self) -> None:
        """Accept all clients."""
        self._up = True
        if not self._threads:
            self._listener.listen()
            self._run(self._accept)

    def cut(self) -> None:
        """Cut every connection, also new ones."""
        with self._lock:
            self._up = False
            ends, self._ends = self._ends, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Stop the proxy."""
        self.cut()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(_TIMEOUT)

    def _run(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with self._lock:
                    if not self._up:
                        near.close()
                        continue
                    far = socket.create_connection(("127.0.0.1", self._upstream))
                    self._ends += [near, far]
                self._run(self._copy, near, far)
                self._run(self._copy, far, near)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def line(control_plane: ControlPlane) -> Iterator[_Line]:
    """A connection to the API server, not open yet."""
    made = _Line(int(control_plane.server.rpartition(":")[2]))
    yield made
    made.close()


@pytest.fixture
def over_line(control_plane: ControlPlane, connect: Connect, line: _Line, tmp_path: Path) -> ClientTransport:
    """The administrator's requests, over this connection."""
    config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{line.port}"
    file = tmp_path / "line.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return connect(file)


def test_cut_connection_resumes_where_it_stopped(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    line: _Line,
    over_line: ClientTransport,
    impatient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    line.open()
    stays = _create(control_plane, namespace, "stays", n="1")
    _create(control_plane, namespace, "goes")
    reflector = start(over_line)
    wait_for(lambda: reflector.synced, "synced")
    with caplog.at_level(logging.WARNING):
        line.cut()
        _create(control_plane, namespace, "comes")
        _delete(control_plane, namespace, "goes")
        control_plane.api.patch(stays, {"data": {"n": "2"}})
        wait_for(lambda: "next try" in caplog.text, "noticed")
        assert reflector.synced
        assert _names(reflector, namespace) == {"stays", "goes"}
        line.open()
        wait_for(lambda: _get(reflector, "stays", namespace).data == {"n": "2"}, "caught up")
    assert _names(reflector, namespace) == {"stays", "comes"}
    assert reflector.lists == 1


def test_an_api_server_that_is_not_there_yet(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    line: _Line,
    over_line: ClientTransport,
    impatient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _create(control_plane, namespace, "early")
    with caplog.at_level(logging.WARNING):
        reflector = start(over_line)
        wait_for(lambda: caplog.text.count("configmaps: no answer from https://127.0.0.1:") > 1, "tried twice")
    assert not reflector.synced
    assert reflector.lists == 0
    line.open()
    wait_for(lambda: reflector.synced, "synced")
    assert _names(reflector, namespace) == {"early"}
    assert reflector.lists == 1


def test_missing_rights_never_sync(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    connect: Connect,
    impatient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport = connect(control_plane.kubeconfig_for_service_account("no-rights", namespace))
    with caplog.at_level(logging.WARNING):
        reflector = start(transport)
        wait_for(lambda: caplog.text.count("configmaps: 403") > 2, "refused and tried again")
    assert "cannot list resource" in caplog.text
    assert not reflector.synced
    assert _names(reflector, namespace) == set()


def test_rights_granted_later(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    connect: Connect,
    impatient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport = connect(control_plane.kubeconfig_for_service_account("viewer", namespace))
    _create(control_plane, namespace, "settings")
    with caplog.at_level(logging.WARNING):
        reflector = start(transport)
        wait_for(lambda: "configmaps: 403" in caplog.text, "refused")
    assert not reflector.synced
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
    }
    control_plane.apply([binding])
    wait_for(lambda: reflector.synced, "synced")
    assert _names(reflector, namespace) == {"settings"}


class _Fussy(CachedObject, frozen=True):
    data: dict[str, Literal["fits"]] = {}


def test_misfit_object_does_not_affect_others(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    transport: ClientTransport,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _create(control_plane, namespace, "good", word="fits")
    _create(control_plane, namespace, "bad", word="does not")
    with caplog.at_level(logging.WARNING):
        reflector = start(transport, model=_Fussy)
        wait_for(lambda: reflector.synced, "synced")
        _create(control_plane, namespace, "bad-too", word="neither")
        _create(control_plane, namespace, "good-too", word="fits")
        wait_for(lambda: _get(reflector, "good-too", namespace), "added")
    assert _names(reflector, namespace) == {"good", "good-too"}
    assert reflector.lists == 1
    assert f"configmaps: {namespace}/bad is left out" in caplog.text
    # Not its content: it may be a Secret.
    assert "does not" not in caplog.text


class _EtcdConnection(http.client.HTTPConnection):
    """HTTP to etcd, which serves its API as JSON too, over its socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("etcd")
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def _compact(control_plane: ControlPlane) -> None:
    """Compact etcd to the present state, as the API server does every five minutes."""
    connection = _EtcdConnection(control_plane.folder / "etcd:0")
    with contextlib.closing(connection):
        connection.request("POST", "/v3/kv/range", json.dumps({"key": "AA=="}))
        revision = json.loads(connection.getresponse().read())["header"]["revision"]
        connection.request("POST", "/v3/kv/compaction", json.dumps({"revision": revision, "physical": True}))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()


def test_a_version_that_is_too_old_is_listed_anew(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    line: _Line,
    over_line: ClientTransport,
    impatient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The connection is cut for so long that etcd compacts the changes of that time."""
    line.open()
    stays = _create(control_plane, namespace, "stays", kind="Event")
    goes = _create(control_plane, namespace, "goes", kind="Event")
    reflector = start(over_line, EVENTS, CachedObject)
    wait_for(lambda: reflector.synced, "synced")
    assert _names(reflector, namespace) == {"stays", "goes"}
    with caplog.at_level(logging.WARNING):
        line.cut()
        control_plane.api.delete(goes)
        control_plane.api.patch(stays, {"message": "again"})
        _create(control_plane, namespace, "comes", kind="Event")
        _compact(control_plane)
        wait_for(lambda: "next try" in caplog.text, "noticed")
        line.open()
        wait_for(lambda: reflector.lists > 1, "listed again")
    assert _names(reflector, namespace) == {"stays", "comes"}
    _create(control_plane, namespace, "later", kind="Event")
    wait_for(lambda: _get(reflector, "later", namespace), "watched again")
    assert reflector.lists == 2


class _Forgetful:
    """A transport that compacts etcd after the first page of a list; otherwise the test would depend on timing."""

    def __init__(self, transport: ClientTransport, control_plane: ControlPlane, namespace: str) -> None:
        self.lines = transport.lines
        self._transport = transport
        self._control_plane = control_plane
        self._namespace = namespace
        self._pages = itertools.count()

    def get(self, path: str, accept: str = "application/json") -> Response:
        """See `ClientTransport.get`."""
        answer = self._transport.get(path, accept)
        if next(self._pages) == 0:
            _create(self._control_plane, self._namespace, "meanwhile", kind="Event")
            self._control_plane.api.close()  # this thread's connection
            _compact(self._control_plane)
        return answer


def test_a_list_that_grows_too_old_half_way_starts_again(
    control_plane: ControlPlane,
    namespace: str,
    start: Start,
    transport: ClientTransport,
    monkeypatch: pytest.MonkeyPatch,
    impatient: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    wanted = {f"event-{number}" for number in range(5)}
    for name in wanted:
        _create(control_plane, namespace, name, kind="Event")
    with caplog.at_level(logging.WARNING):
        reflector = start(_Forgetful(transport, control_plane, namespace), EVENTS, CachedObject)
        wait_for(lambda: reflector.synced, "synced")
    assert _names(reflector, namespace) == {*wanted, "meanwhile"}
    assert reflector.lists == 1
    # A missing answer is no fault: the machine may have stood still during a request.
    assert not [line for line in caplog.messages if "no answer from" not in line]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
