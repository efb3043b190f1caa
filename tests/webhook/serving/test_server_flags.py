"""Effects of flags on the running server: the amount of logging, and the served TLS versions."""

from __future__ import annotations

import json
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_io.demo import demo_objects
from tests.charts.chart import config_argument
from tests.webhook.demo_server import UNVERIFIED, DemoServer, running_demo
from tests.webhook.review_objects import create_review, delete_review, pod_object
from webhook.serving.connections import MAX_CONNECTIONS

DB_0 = next(entry for entry in demo_objects() if entry["kind"] == "Pod" and entry["metadata"]["name"] == "db-0")
REFUSED = create_review(pod_object(name="web", priorityClassName="none"))
UNREADABLE = create_review({**pod_object(name="api"), "spec": 7})
SUITE = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    flags = ("--log-format=json", "--log-level=debug")
    with running_demo(tmp_path_factory.mktemp("talkative"), *flags, tls={"minVersion": "VersionTLS13"}) as running:
        yield running


@pytest.fixture(scope="module")
def taciturn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    flags = ("--log-format=json", "--log-level=error")
    with running_demo(tmp_path_factory.mktemp("taciturn"), *flags, tls={"cipherSuites": [SUITE]}) as running:
        yield running


def ask_everything(server: DemoServer) -> None:
    """One review that is allowed, one that is refused, one that cannot be read."""
    for body in (delete_review(DB_0, seconds=30), REFUSED, UNREADABLE):
        assert server.ask("POST", "/validate", body).status == 200


def test_log_level_debug_logs_every_review(talkative: DemoServer) -> None:
    ask_everything(talkative)
    lines = [json.loads(line) for line in talkative.log().splitlines()]
    reviews = {line["outcome"]: line["level"] for line in lines if line["logger"] == "webhook.review"}
    assert reviews == {"allowed": "debug", "denied": "info", "unreadable": "warning"}


def test_log_level_debug_applies_only_to_our_lines(talkative: DemoServer) -> None:
    # A client library's debug lines contain the API server's answers, including Secrets.
    lines = [json.loads(line) for line in talkative.log().splitlines()]
    loggers = {line["logger"].partition(".")[0] for line in lines if line["level"] == "debug"}
    assert loggers <= {"webhook", "podrules", "cluster_io", "gunicorn"}


def test_log_level_error_logs_no_review(taciturn: DemoServer) -> None:
    ask_everything(taciturn)
    assert taciturn.log() == ""


def spoken(server: DemoServer, version: ssl.TLSVersion) -> tuple[str, str]:
    """Version and suite of a client of one version."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = UNVERIFIED.check_hostname, UNVERIFIED.verify_mode
    client.minimum_version = client.maximum_version = version
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    with client.wrap_socket(plain) as connection:
        said, suite = connection.version(), connection.cipher()
        assert said is not None
        assert suite is not None
        return said, suite[0]


def test_tls_min_version_of_the_server(talkative: DemoServer) -> None:
    assert spoken(talkative, ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        spoken(talkative, ssl.TLSVersion.TLSv1_2)


def test_tls_cipher_suites_of_the_server(taciturn: DemoServer) -> None:
    assert spoken(taciturn, ssl.TLSVersion.TLSv1_2) == ("TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384")
    assert spoken(taciturn, ssl.TLSVersion.TLSv1_3)[0] == "TLSv1.3"


def test_client_authorities_without_a_certificate(tmp_path: Path) -> None:
    """The path is one that would control the terminal."""
    (tmp_path / "\x1b[31m").touch()
    file = config_argument({"clients": {"caFile": "\x1b[31m"}}, tmp_path / "webhook.yaml")
    program = Path(sys.executable).parent / "qos-webhook"
    done = subprocess.run(
        [program, file, "--demo", "--address=127.0.0.1:0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert "error: clients.caFile: \\x1b[31m: no certificate in PEM\n" in done.stderr


def test_as_many_files_may_be_open_as_there_may_be_connections(tmp_path: Path) -> None:
    """Many systems allow 1,024 by default; without one more, the server accepts no client."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        with running_demo(tmp_path) as server:
            allowed = resource.prlimit(server.worker, resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert allowed >= 2 * MAX_CONNECTIONS
