"""The plugin's ``kubectl proxy``: no other user can use it, it only reads, and it ends with the answer.

`tests.e2e.plugin` checks after each ordinary run that it leaves nothing behind.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cluster_io.live.transport import KubectlProxy
from tests.controlplane.client import ApiError
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.proxies import connected_proxy
from tests.e2e.plugin import Plugin, proxies_of
from tests.objects import unscheduled_pod
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]


WAITS: Final = "--request-timeout=300s"
PATIENCE: Final = 60.0
"""Seconds; far less than a plugin waits for an endless answer."""
STEPS: Final = {
    "while it is loaded": "cli.py <module>",
    "before the folder is made": "transport.py __init__ mkdir",
    "before the proxy is started": "subprocess.py _execute_child fork_exec",
    "before its words are read": "threading.py start start_new_thread",
    "before it is asked": "transport.py _exchange connect",
    "before it is stopped": "subprocess.py send_signal kill",
    "before its socket is removed": "transport.py close unlink",
    "before the folder is removed": "transport.py close rmdir",
}
"""Of a run, in their order: the file, the function in it, and what that calls then."""
SIGNAL_AT_A_STEP: Final = """
import os
import sys

file, function, *calls = os.environ["AT"].split()
event = "c_call" if calls else "call"


def profile(frame, what, called):
    code = frame.f_code
    if what == event and code.co_name == function and code.co_filename.endswith("/" + file):
        if not calls or called.__name__ == calls[0]:
            sys.setprofile(None)
            os.kill(int(os.environ["ALONE"]) and os.getpid(), int(os.environ["SIGNAL"]))


sys.setprofile(profile)
"""
"""Python loads it first. It handles the signal before the step is taken."""


@pytest.fixture
def deaf(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig for an API server that accepts connections and never answers, as behind a dead load balancer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = yaml.safe_load(control_plane.admin_kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        file = tmp_path / "deaf.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        yield file


# Other users


def test_socket_is_for_its_owner_alone(control_plane: ControlPlane, kubectl_qos: Plugin, deaf: Path) -> None:
    with waiting(control_plane, kubectl_qos, deaf):
        [folder] = kubectl_qos.runtime.iterdir()

        assert re.fullmatch(r"kubectl-qos-[0-9a-f]{16}", folder.name)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [entry.name for entry in folder.iterdir()] == ["s"]

    assert_nothing_left(control_plane, kubectl_qos)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post"])
def test_proxy_only_reads(
    control_plane: ControlPlane, kubectl_qos: Plugin, namespace: str, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    control_plane.apply([unscheduled_pod(namespace)])
    path = f"/api/v1/namespaces/{namespace}/pods/web"
    with started_proxy(kubectl_qos, monkeypatch) as proxy:
        status, _ = proxy.get(path)
        answer = exchange(proxy, method, path)

    assert status == 200
    assert answer.split(b" ", 2)[1] in {b"403", b"405"}
    assert is_whole(control_plane, namespace)


@pytest.mark.parametrize("path", ["attach", "exec?command=id"])
def test_proxy_opens_no_shell(
    control_plane: ControlPlane, kubectl_qos: Plugin, namespace: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """These are GET requests for a WebSocket client; kubectl's own list of refused paths has them."""
    control_plane.apply([unscheduled_pod(namespace)])
    with started_proxy(kubectl_qos, monkeypatch) as proxy:
        proxy.get("/version")
        answer = exchange(proxy, "GET", f"/api/v1/namespaces/{namespace}/pods/web/{path}")

    assert answer.split(b" ", 2)[1] == b"403"


def test_other_hosts_are_refused(kubectl_qos: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    with started_proxy(kubectl_qos, monkeypatch) as proxy:
        proxy.get("/version")
        answer = exchange(proxy, "GET", "/version", host="evil.example.com")

    assert answer.split(b" ", 2)[1] == b"403"


# The proxy's end


def test_nothing_is_left_after_close(kubectl_qos: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    with started_proxy(kubectl_qos, monkeypatch) as proxy:
        proxy.get("/version")
        assert len(proxies_of(kubectl_qos.runtime)) == 1

    assert not proxies_of(kubectl_qos.runtime)
    assert not list(kubectl_qos.runtime.iterdir())


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, -signal.SIGTERM, id="terminated"),
        pytest.param(signal.SIGHUP, -signal.SIGHUP, id="terminal closed"),
    ],
)
def test_interrupted(
    control_plane: ControlPlane, kubectl_qos: Plugin, deaf: Path, number: signal.Signals, code: int
) -> None:
    """The whole process group gets the signal, as from a terminal."""
    with waiting(control_plane, kubectl_qos, deaf) as plugin:
        os.killpg(plugin.pid, number)
        out, err = plugin.communicate(timeout=PATIENCE)

    # A program that ends itself as shells expect says 128 + n; one that the signal ended has no code of its own.
    assert plugin.returncode in {code, 128 + number}
    assert out == b""
    assert b"Traceback" not in err
    assert_nothing_left(control_plane, kubectl_qos)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminated"])
def test_interrupted_at_each_step(
    control_plane: ControlPlane,
    kubectl_qos: Plugin,
    namespace: str,
    tmp_path: Path,
    step: str,
    number: signal.Signals,
) -> None:
    """A key reaches the whole process group, and ``kill`` only the plugin."""
    control_plane.apply([unscheduled_pod(namespace)])
    (tmp_path / "sitecustomize.py").write_text(SIGNAL_AT_A_STEP)
    alone = "0" if number == signal.SIGINT else "1"
    env = {"PYTHONPATH": str(tmp_path), "AT": step, "SIGNAL": str(number.value), "ALONE": alone}

    with kubectl_qos.start("pod/web", "-n", namespace, env=env) as plugin:
        _, err = plugin.communicate(timeout=PATIENCE)

    assert plugin.returncode in {-number, 128 + number}, err
    assert b"Traceback" not in err
    assert_nothing_left(control_plane, kubectl_qos)


def test_interrupted_in_a_terminal(control_plane: ControlPlane, kubectl_qos: Plugin, deaf: Path) -> None:
    """A real terminal turns the key into the signal, and kubectl's credential plugins may read from it."""
    keyboard, terminal = os.openpty()
    try:
        with waiting(
            control_plane,
            kubectl_qos,
            deaf,
            stdin=terminal,
            stdout=terminal,
            preexec_fn=lambda: os.login_tty(terminal),
            start_new_session=False,
        ) as plugin:
            os.write(keyboard, b"\x03")
            plugin.wait(timeout=PATIENCE)
    finally:
        os.close(keyboard)
        os.close(terminal)

    assert plugin.returncode == 130
    assert_nothing_left(control_plane, kubectl_qos)


def test_killed_plugin_takes_the_proxy_along(control_plane: ControlPlane, kubectl_qos: Plugin, deaf: Path) -> None:
    with waiting(control_plane, kubectl_qos, deaf) as plugin:
        [proxy] = proxies_of(kubectl_qos.runtime)
        plugin.kill()
        plugin.wait(timeout=PATIENCE)
        wait_for(lambda: not Path(f"/proc/{proxy}").exists(), "the kernel ended the proxy")

    assert plugin.returncode == -signal.SIGKILL
    # No process could remove the folder; its socket has no listener.
    [folder] = kubectl_qos.runtime.iterdir()
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
        client.connect(str(folder / "s"))
    (folder / "s").unlink()
    folder.rmdir()


def test_killed_proxy_is_reported(control_plane: ControlPlane, kubectl_qos: Plugin, deaf: Path) -> None:
    with waiting(control_plane, kubectl_qos, deaf) as plugin:
        [proxy] = proxies_of(kubectl_qos.runtime)
        os.kill(proxy, signal.SIGKILL)
        out, err = plugin.communicate(timeout=PATIENCE)

    assert (plugin.returncode, out) == (5, b"")
    assert err.startswith(b"error: kubectl proxy broke off")
    assert err.count(b"\n") == 1
    assert_nothing_left(control_plane, kubectl_qos)


def test_server_that_never_answers(kubectl_qos: Plugin, deaf: Path) -> None:
    ran = kubectl_qos("pod/web", "-n", "shop", "--request-timeout=500ms", kubeconfig=deaf)

    assert (ran.code, ran.out) == (5, "")
    assert ran.err == (
        "error: no answer to /api/v1/namespaces/shop/pods/web within 0.5 s, including the time of a credential plugin; "
        "--request-timeout waits longer\n"
    )


def test_reader_that_stops_reading(control_plane: ControlPlane, kubectl_qos: Plugin, namespace: str) -> None:
    """As ``| head -1`` does."""
    control_plane.apply([unscheduled_pod(namespace, f"pod-{number}") for number in range(5)])
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with kubectl_qos.start("pods", "-n", namespace, "-o", "json", stdout=writer) as plugin:
            _, err = plugin.communicate(timeout=PATIENCE)
    finally:
        os.close(writer)

    assert (plugin.returncode, err) == (0, b"")
    assert_nothing_left(control_plane, kubectl_qos)


# Unusable places for the socket


def test_folder_that_cannot_be_written(kubectl_qos: Plugin) -> None:
    # A short path: if a socket's path would be too long, another folder is used.
    absent = "/proc/absent"
    ran = kubectl_qos("pod/web", env={"XDG_RUNTIME_DIR": absent})

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("error: ")
    assert absent in ran.err
    assert ran.err.count("\n") == 1


def test_folder_name_too_long_for_a_socket(
    control_plane: ControlPlane, kubectl_qos: Plugin, namespace: str, tmp_path: Path
) -> None:
    """A socket's path may have 107 bytes."""
    control_plane.apply([unscheduled_pod(namespace)])
    folder = tmp_path / ("long" * 25)
    folder.mkdir()

    ran = kubectl_qos("pod/web", "-n", namespace, env={"XDG_RUNTIME_DIR": str(folder)})

    assert (ran.code, ran.err) == (0, "")
    assert not list(folder.iterdir())


@contextmanager
def waiting(
    control_plane: ControlPlane, kubectl_qos: Plugin, deaf: Path, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A run that waits for an API server that never answers."""
    with kubectl_qos.start("pod/web", "-n", "shop", WAITS, kubeconfig=deaf, **options) as plugin:
        try:
            wait_for(lambda: is_asking(kubectl_qos), "the plugin has asked")
            yield plugin
        finally:
            if plugin.poll() is None:
                os.killpg(plugin.pid, signal.SIGINT)


def is_asking(kubectl_qos: Plugin) -> bool:
    """Whether the one proxy has a connection: the socket it listens on and another one, besides the pipes."""
    for pid in proxies_of(kubectl_qos.runtime):
        state = Path("/proc/net/unix").read_text()
        folders = [str(entry) for entry in kubectl_qos.runtime.iterdir()]
        # One line for the listener, one for each accepted connection, all with the path of the socket.
        if pid and sum(line.endswith(f"{folder}/s") for folder in folders for line in state.splitlines()) > 1:
            return True
    return False


def assert_nothing_left(control_plane: ControlPlane, kubectl_qos: Plugin) -> None:
    wait_for(lambda: not proxies_of(kubectl_qos.runtime), "no proxy runs")
    left = list(kubectl_qos.runtime.iterdir())
    for folder in left:
        shutil.rmtree(folder)  # One test that fails is enough.
    assert not left


@contextmanager
def started_proxy(kubectl_qos: Plugin, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubectlProxy]:
    for key, value in kubectl_qos.environment().items():
        monkeypatch.setenv(key, value)
    with connected_proxy() as proxy:
        yield proxy


def exchange(proxy: KubectlProxy, method: str, path: str, host: str = "localhost") -> bytes:
    """The head of the answer to a raw request on the proxy's socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(proxy._socket)
        client.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        answer = b""
        while b"\r\n\r\n" not in answer and (piece := client.recv(4096)):
            answer += piece
        return answer


def is_whole(control_plane: ControlPlane, namespace: str) -> bool:
    try:
        return "deletionTimestamp" not in control_plane.api.get("v1", "Pod", "web", namespace)["metadata"]
    except ApiError:
        return False
