"""A server that gets SIGTERM reports its end at once, answers for its drain time, then ends without losing a request.

`test_restart` checks the same under load, with a real API server.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.controlplane.processes import Process
from tests.table import row, table
from tests.waiting import again_if_late, wait_for
from tests.webhook.demo_server import UNVERIFIED, DemoServer, running_demo
from tests.webhook.review_objects import create_review, pod_object
from webhook.serving.connections import HANDSHAKE_SECONDS

REVIEW = create_review(pod_object(name="web"))


@contextmanager
def connected(server: DemoServer) -> Iterator[http.client.HTTPSConnection]:
    """A connection with an answered review, like those that the API server keeps."""
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=UNVERIFIED)
    with closing(connection):
        # A connection that is not opened in time has sent no request.
        again_if_late(connection.connect, HANDSHAKE_SECONDS)
        assert answer_on(connection).status == 200
        # From now on no other one is opened instead.
        connection.auto_open = 0
        yield connection


def answer_on(connection: http.client.HTTPSConnection) -> http.client.HTTPResponse:
    """The answer to a review on a connection."""
    connection.request("POST", "/mutate", REVIEW, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert b'"uid"' in answer.read()
    return answer


def test_A_draining_server_answers_and_announces_its_end(tmp_path: Path) -> None:
    with running_demo(tmp_path, "--drain=1h") as server, connected(server) as kept:
        server.process.terminate()
        wait_for(lambda: server.ask("GET", "/readyz").status == 503, "it is not ready")
        assert server.ask("GET", "/readyz").body == b"ending\n"
        assert server.ask("POST", "/mutate", REVIEW).status == 200
        assert answer_on(kept).status == 200
        assert server.process.running
        os.killpg(server.process.pid, signal.SIGKILL)


def test_A_drained_server_answers_once_more_accepts_no_new(tmp_path: Path) -> None:
    with running_demo(tmp_path) as server, connected(server) as kept:
        server.process.terminate()
        wait_for(lambda: not _listens(server.port), "it listens no longer")
        assert answer_on(kept).headers["Connection"] == "close"
        wait_for(lambda: not server.process.running, "it ends when no client is connected")


@table("number, send", {"a kubelet's": row(signal.SIGTERM, os.kill), "Ctrl-C": row(signal.SIGINT, os.killpg)})
def test_A_booting_server_ends_at_once(
    tmp_path: Path, number: signal.Signals, send: Callable[[int, int], None]
) -> None:
    program = Path(sys.executable).parent / "qos-webhook"
    flags = ("--demo", "--address=127.0.0.1:0", "--drain=0s")
    process = Process((program, *flags), log=tmp_path / "webhook.log")
    wait_for(lambda: "Booting worker" in process.log.read_text(), "it boots")
    # gevent takes longer to load.
    time.sleep(0.05)
    send(process.pid, number)
    # Less than the 20 s that a server in use has to end.
    wait_for(lambda: not process.running, "it ends", timeout=10)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionError:
        # Refused, or reset if it arrived at the moment of the end.
        return False
    return True
