"""Lists of more than one page: their requests, and their completeness. `tests/scale` has larger ones."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest

from cluster_io.kinds import PODS
from cluster_io.live import live_source
from cluster_io.live.live_source import LiveSource
from cluster_io.live.transport import KubectlProxy
from kubectl_plugin.progress import ProgressLine
from tests.cluster_io.recording import RecordingTransport
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.proxies import connected_proxy
from tests.objects import raw_pod

pytestmark = pytest.mark.controlplane

PAGE = 10
COUNT = 25
NAMESPACE = "of-several-pages"
PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture(scope="module")
def proxy(control_plane: ControlPlane) -> Iterator[KubectlProxy]:
    """A proxy to an API server with more pods in one namespace than a page has."""
    control_plane.create_namespace(NAMESPACE)
    for number in range(COUNT):
        control_plane.api.create(raw_pod(f"web-{number}", NAMESPACE, schedulerName="no-scheduler"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in control_plane.kubectl_environment().items():
            patch.setenv(name, value)
        with connected_proxy(request_timeout=60) as proxy:
            yield proxy


@pytest.fixture
def recorded(proxy: KubectlProxy, monkeypatch: pytest.MonkeyPatch) -> RecordingTransport:
    monkeypatch.setattr(live_source, "_PAGE", PAGE)
    return RecordingTransport(proxy)


def test_large_lists_come_whole(recorded: RecordingTransport) -> None:
    whole = LiveSource(recorded, namespace=None, large=recorded).list(PODS, NAMESPACE)
    in_pages = LiveSource(recorded, namespace=None).list(PODS, NAMESPACE)

    assert len(whole) == COUNT
    assert whole == in_pages
    [(path, content_type, status)] = recorded.streamed
    assert re.fullmatch(rf"{PATH}\?resourceVersion=\d+&resourceVersionMatch=NotOlderThan", path)
    assert (content_type, status) == ("application/vnd.kubernetes.protobuf", 200)
    # The first page showed that there are more; without the stream two more pages follow.
    assert recorded.paths[:2] == [f"{PATH}?limit={PAGE}"] * 2
    assert len(recorded.paths) == 4


def test_lists_of_one_page_are_asked_for_once(recorded: RecordingTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_source, "_PAGE", COUNT)
    assert len(LiveSource(recorded, namespace=None, large=recorded).list(PODS, NAMESPACE)) == COUNT
    assert (recorded.paths, recorded.streamed) == ([f"{PATH}?limit={COUNT}"], [])


def test_progress_is_for_terminals(recorded: RecordingTransport) -> None:
    terminal = io.StringIO()
    LiveSource(recorded, namespace=None, progress=ProgressLine(terminal)).list(PODS, NAMESPACE)

    assert re.search(r"\r\x1b\[Kreading \d+ pods", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")
