"""The sources of a node's usage, and the fallback without the right to read it."""

from __future__ import annotations

from typing import Any

import pytest

from cluster_io.errors import BadObject, Forbidden, KubeletUnavailable
from cluster_io.gather import Gatherer
from cluster_io.kubelet import CONFIGZ, MAX_BYTES, STATS_SUMMARY
from cluster_io.live.live_source import LiveSource
from cluster_io.live.responses import Response
from cluster_io.node_usage import read_usage
from podrules.api.model.node import Node
from podrules.node.pressure.usage import ReadUsage, UsageSource
from tests.cluster_io.recording import RecordingSource
from tests.objects import make_node, raw_condition, raw_object, raw_pod
from tests.table import table

OTHER = raw_pod("other", "shop", uid="x", nodeName="node-2")
ON_NODE = [
    raw_pod("web", "shop", uid="u", nodeName="node-1"),
    raw_pod("new", "shop", uid="v", nodeName="node-1"),
    raw_pod("done", "shop", uid="w", nodeName="node-1", status={"phase": "Succeeded"}),
]
NODE_METRICS = raw_object("NodeMetrics", "node-1", usage={"memory": "1Gi"})
POD_METRICS = raw_object(
    "PodMetrics",
    "web",
    "shop",
    apiVersion="metrics.k8s.io/v1beta1",
    containers=[{"name": "app", "usage": {"memory": "5Mi"}}],
)
SAID = {
    "stats/summary": {"node": {"memory": {"availableBytes": 1}}, "pods": [{"podRef": {"uid": "u"}}]},
    "configz": {"kubeletconfig": {"evictionHard": {"memory.available": "1Gi"}}},
}


def _node(ready: str = "True") -> Node:
    return make_node("node-1", capacity={"memory": "8Gi"}, conditions=[raw_condition("Ready", ready)])


def _read(source: RecordingSource, node: Node | None = None) -> ReadUsage:
    gatherer = Gatherer(source)
    pods = gatherer.noted(gatherer.pods_on("node-1"))
    assert pods is not None
    read = read_usage(gatherer, node or _node(), pods)
    assert gatherer.unread == ()
    return read


def test_only_that_nodes_pods_and_its_kubelet_are_asked_for() -> None:
    source = RecordingSource([*ON_NODE, OTHER], kubelets={"node-1": SAID})
    read = _read(source)
    assert source.asked == [
        "list pods spec.nodeName=node-1",
        "get nodes/proxy node-1 stats/summary",
        "get nodes/proxy node-1 configz",
    ]
    assert (read.usage.source, read.unread) == (UsageSource.SUMMARY, ())
    assert read.config is not None
    assert read.config.eviction_hard == {"memory.available": "1Gi"}


def test_each_object_is_read_once() -> None:
    source = RecordingSource(ON_NODE, kubelets={"node-1": SAID})
    gatherer = Gatherer(source)
    assert read_usage(gatherer, _node(), ()) == read_usage(gatherer, _node(), ())
    assert len(source.asked) == 2


def test_usage_from_pod_metrics_without_nodes_proxy() -> None:
    source = RecordingSource([*ON_NODE, OTHER, NODE_METRICS, POD_METRICS], forbidden={"nodes/proxy"})
    read = _read(source)
    assert source.asked[1:] == [
        "get nodes/proxy node-1 stats/summary",
        "get nodes.metrics.k8s.io node-1",
        "get pods.metrics.k8s.io web -n shop",
        "get pods.metrics.k8s.io new -n shop",
    ]
    assert (read.usage.source, read.config) == (UsageSource.METRICS, None)
    assert [entry.pod_ref.uid for entry in read.usage.summary.pods] == ["u"]
    assert [(entry.resource, entry.reason) for entry in read.unread] == [("nodes/proxy", "forbidden")]


def test_thresholds_that_cannot_be_read_leave_usage_known() -> None:
    said = {"stats/summary": SAID["stats/summary"]}
    read = _read(RecordingSource(ON_NODE, kubelets={"node-1": said}))
    assert (read.usage.source, read.config) == (UsageSource.SUMMARY, None)
    assert [entry.resource for entry in read.unread] == ["nodes/proxy"]


@table(
    "refused, unread",
    {
        "nodes' metrics": ({"forbidden": {"nodes.metrics.k8s.io"}}, "nodes.metrics.k8s.io"),
        "no metrics API": ({"not_served": {"nodes.metrics.k8s.io"}}, "nodes.metrics.k8s.io"),
        "pods' metrics": ({"forbidden": {"pods.metrics.k8s.io"}}, "pods.metrics.k8s.io"),
    },
)
def test_neither_kubelet_nor_metrics(refused: dict[str, Any], unread: str) -> None:
    source = RecordingSource([*ON_NODE, NODE_METRICS, POD_METRICS], **refused)
    read = _read(source)
    assert read.usage.source is UsageSource.NONE
    assert [entry.resource for entry in read.unread] == ["nodes/proxy", unread]
    assert len(source.asked) <= 4


@pytest.mark.parametrize("ready", ["Unknown", "False"])
def test_silent_node_is_not_asked(ready: str) -> None:
    source = RecordingSource(ON_NODE, kubelets={"node-1": SAID})
    read = _read(source, _node(ready))
    assert source.asked == ["list pods spec.nodeName=node-1"]
    assert (read.usage.source, len(read.unread)) == (UsageSource.NONE, 1)


class _Answering:
    """An API server with one answer for all requests."""

    def __init__(self, status: int, body: bytes) -> None:
        self.answer = status, body
        self.asked: list[str] = []

    def get(self, path: str, accept: str = "application/json") -> Response:
        del accept
        self.asked.append(path)
        return self.answer

    def close(self) -> None:
        """Do nothing."""


def test_path_of_a_kubelet() -> None:
    transport = _Answering(200, b'{"node": {"rlimit": {"maxpid": 7}}}')
    summary = LiveSource(transport, namespace="x").kubelet("node-1", STATS_SUMMARY)
    assert transport.asked == ["/api/v1/nodes/node-1/proxy/stats/summary"]
    assert summary.node.rlimit is not None
    assert summary.node.rlimit.max_pid == 7


@table(
    "status, body, error, words",
    {
        "API server": (
            403,
            b'{"kind":"Status","message":"nodes \\"node-1\\" is forbidden"}',
            Forbidden,
            "you may not get nodes/proxy",
        ),
        "kubelet refuses the API server": (
            403,
            b"Forbidden (user=kube-apiserver, verb=get, resource=nodes, subresource(s)=[stats])",
            KubeletUnavailable,
            "the kubelet of node-1 answers 403: Forbidden",
        ),
        "not reached": (
            503,
            b'{"kind":"Status","message":"error trying to reach service: dial tcp 192.0.2.7:10250: connect"}',
            KubeletUnavailable,
            "answers 503: error trying to reach service",
        ),
        "not served": (404, b"404 page not found", KubeletUnavailable, "answers 404: 404 page not found"),
        "another shape": (200, b"[]", BadObject, "configz of node-1: this is a list; write a mapping"),
        "no JSON": (200, b"<html>", BadObject, "configz of node-1: not valid JSON"),
        "too large": (200, b" " * (MAX_BYTES + 1), KubeletUnavailable, "with more than 32 MiB"),
    },
)
def test_kubelet_without_an_answer(status: int, body: bytes, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        LiveSource(_Answering(status, body), namespace="x").kubelet("node-1", CONFIGZ)
    assert words in str(raised.value)
