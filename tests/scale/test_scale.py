"""The code path for large clusters, on one that is just large enough: its requests, and its remains.

`make scale` measures the time.
"""

from __future__ import annotations

import io
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_io.kinds import PODS
from cluster_io.live.live_source import LiveSource
from cluster_io.live.transport import KubectlProxy
from kubectl_plugin.commands import explain
from kubectl_plugin.options import CommandFunction, Streams
from kubectl_plugin.parsing import parse
from tests.cluster_io.recording import RecordingTransport
from tests.controlplane.binaries import Binaries
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Plugin, proxies_of
from tests.scale import cluster
from tests.scale.cluster import Size
from tests.scale.measure import measured
from tests.scale.seed import fill
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.long(
        "test_large_lists_come_whole, test_protobuf_gives_what_json_gives, test_captured_objects_are_read, "
        "test_lists_of_one_page_are_asked_for_once, test_progress_is_for_terminals"
    ),
]

SIZE = Size(nodes=200, pods=600)
"""More pods than a page holds."""
ASKED = (f"pod/{cluster.ASKED}", "-n", cluster.ASKED_NAMESPACE)


@pytest.fixture(scope="module")
def large(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    with ControlPlane(control_plane_binaries, scheduler=False, controllers=False) as control_plane:
        fill(control_plane, SIZE)
        yield control_plane


@pytest.fixture
def qos(large: ControlPlane, runtime: Path) -> Plugin:
    return Plugin(large, runtime)


@pytest.fixture
def recorded(qos: Plugin, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingTransport]:
    for name, value in qos.environment().items():
        monkeypatch.setenv(name, value)
    with KubectlProxy([], request_timeout=60) as proxy:
        yield RecordingTransport(proxy)


def test_large_lists_come_whole_in_protobuf(recorded: RecordingTransport) -> None:
    whole = LiveSource(recorded, namespace=None, large=recorded).list(PODS)
    in_pages = LiveSource(recorded, namespace=None).list(PODS)

    assert len(whole) == SIZE.pods + 1
    assert whole == in_pages
    [(path, content_type, status)] = recorded.streamed
    assert re.fullmatch(r"/api/v1/pods\?resourceVersion=\d+&resourceVersionMatch=NotOlderThan", path)
    assert (content_type, status) == ("application/vnd.kubernetes.protobuf", 200)
    assert recorded.paths[0] == "/api/v1/pods?limit=500"
    # The first page showed that there are more; without the stream a second page follows.
    assert len(recorded.paths) == 3


def test_pods_of_one_template_share_what_they_share(recorded: RecordingTransport) -> None:
    pods = [
        pod
        for pod in LiveSource(recorded, namespace=None, large=recorded).list(PODS)
        if pod.metadata.labels.get("app") == "app-1"
    ]

    assert len({pod.spec.node_name for pod in pods}) == 2
    assert len({id(pod.spec.containers) for pod in pods}) == 1


def test_a_node_is_answered_from_its_own_pods(recorded: RecordingTransport) -> None:
    name, out = cluster.node_name(7), io.StringIO()
    source = LiveSource(recorded, namespace=None, large=recorded)

    run: CommandFunction = explain.run
    code = run(parse(["explain", f"node/{name}"]).options, source, Streams(io.StringIO(), out, io.StringIO()))

    assert (code, recorded.streamed) == (0, [])
    assert out.getvalue().startswith(f"node/{name}")
    lists = [path for path in recorded.paths if path.startswith("/api/v1/pods?")]
    assert lists == [f"/api/v1/pods?limit=500&fieldSelector=spec.nodeName%3D{name}"]
    assert not [path for path in recorded.paths if path.startswith("/api/v1/nodes?")]


def test_the_snapshot_answers_as_the_cluster(large: ControlPlane, qos: Plugin, tmp_path: Path) -> None:
    file = tmp_path / "cluster.qos"
    captured = Plugin(large, qos.runtime, command="snapshot")("-o", file)
    assert (captured.code, captured.err) == (0, "")
    assert "Captured 200 nodes and 601 pods" in captured.out

    live, kept = (qos.json(*ASKED, *more) for more in ((), ("--snapshot", file)))

    assert live["placement"]["outcome"] == "Fits"
    for answer in (live, kept):
        answer.pop("source")
    assert kept == live


def test_ctrl_c_during_lists_leaves_no_process(large: ControlPlane, qos: Plugin, tmp_path: Path) -> None:
    """The API server is paused: each list waits in its own thread."""
    with large.paused("kube-apiserver"):
        command = Plugin(large, qos.runtime, command="snapshot")
        with command.start("-o", tmp_path / "cluster.qos", "--request-timeout=120s") as plugin:
            wait_for(lambda: _connections(qos) >= 3, "three lists were asked for", timeout=120)
            os.killpg(plugin.pid, signal.SIGINT)
            out, err = plugin.communicate(timeout=60)
    assert (plugin.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    wait_for(lambda: not proxies_of(qos.runtime), "no proxy runs", timeout=30)
    assert not list(qos.runtime.iterdir())
    assert not list(tmp_path.iterdir())


def _connections(qos: Plugin) -> int:
    """Of the plugin to its proxy, which listens on a socket of the same path."""
    state = Path("/proc/net/unix").read_text().splitlines()
    return sum(line.endswith(f"{folder}/s") for folder in qos.runtime.iterdir() for line in state) - 1


def test_measurement_covers_all_processes(large: ControlPlane, qos: Plugin) -> None:
    alone = measured(("kubectl", "version", "--client"), qos.environment())

    def has_all() -> bool:
        # A sample may come after a process has ended, and then misses some of its memory.
        cost = measured(("kubectl", "qos", "explain", *ASKED), qos.environment())
        assert cost.cpu > alone.cpu
        return cost.memory > 2 * alone.memory

    wait_for(has_all, "kubectl, the plugin and its proxy were seen")
