"""Texts about unread objects: the nodes with unknown usage, named once, and not if a metrics API has it."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from cluster_io.demo import demo_objects
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES
from cluster_io.node_usage import read_usages
from kubectl_plugin.render.command import Target
from kubectl_plugin.views.caveats import unread_lines
from podrules.pod.reading import UnreadInput
from tests.cluster_io.recording import RecordingSource
from tests.kubectl_plugin.answers import write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node


def of_kubelet(node: str, path: str = "stats/summary", reason: str = "not in the file") -> UnreadInput:
    return UnreadInput("get", "nodes/proxy", None, reason, node, path)


FILE = "not in the file"
PODS = UnreadInput("list", "pods", "shop", "not served")


@pytest.mark.parametrize(
    ("unread", "measured", "lines"),
    [
        ([of_kubelet("a")], (), [f"usage of a is unknown: {FILE}"]),
        ([*map(of_kubelet, "abcde")], (), [f"usage of 5 nodes (a, b, c and 2 more) is unknown: {FILE}"]),
        (
            [of_kubelet("a"), of_kubelet("b", reason="no answer")],
            (),
            [f"usage of a is unknown: {FILE}", "usage of b is unknown: no answer"],
        ),
        (
            [*map(of_kubelet, "abc")],
            ("a", "c"),
            [f"the kubelets of a and c were not read: {FILE}", f"usage of b is unknown: {FILE}"],
        ),
        ([of_kubelet("a", "configz")], ("a",), [f"the kubelet's configuration of a is unknown: {FILE}"]),
        ([PODS, PODS], (), ["pods in shop: not served"]),
    ],
    ids=["one", "several for one reason", "two reasons", "a metrics API knows two", "thresholds alone", "one twice"],
)
def test_lines(unread: list[UnreadInput], measured: tuple[str, ...], lines: list[str]) -> None:
    assert list(unread_lines(unread, measured=measured)) == lines


PORT = "the API server has to reach the kubelet's port, 10250"
TRUST = "the API server has to trust the kubelet's certificate (kubectl get csr)"
NONE = "no preferred addresses found; known addresses: []"
PATH = "no answer to /api/v1/nodes/{}/proxy/stats/summary within 30 s"
REASONS = {
    f"the kubelet of {{}} answers 500: {NONE}": f"each kubelet answers 500: {NONE}; the Node needs status.addresses",
    "the kubelet of {} answers 503: dial tcp 10.0.7.{}:10250: connect: connection refused": (
        f"each kubelet answers 503: dial tcp ADDRESS: connect: connection refused; {PORT}"
    ),
    f"the kubelet of {{}} does not answer: {PATH}": f"each kubelet does not answer: {PATH.format('NODE')}; {PORT}",
    "the kubelet of {} answers 503: dial tcp [fd00::{}]:10250: x509: certificate signed by unknown authority": (
        f"each kubelet answers 503: dial tcp ADDRESS: x509: certificate signed by unknown authority; {TRUST}"
    ),
    "the kubelet of {} answers 401: Unauthorized": (
        "each kubelet answers 401: Unauthorized; the kubelet has to accept the API server's client certificate"
    ),
}


@pytest.mark.parametrize(("reason", "said"), REASONS.items())
def test_nodes_with_different_addresses_share_a_line(reason: str, said: str) -> None:
    names = [str(number) for number in range(3, 12)]
    [line] = unread_lines([of_kubelet(name, reason=reason.replace("{}", name)) for name in names])
    assert line == f"usage of 9 nodes (3, 4, 5 and 6 more) is unknown: {said}"
    [own] = unread_lines([of_kubelet("7", reason=reason.replace("{}", "7"))])
    assert str(own).startswith(f"usage of 7 is unknown: {reason.replace('{}', '7')}")


def test_kinds_share_a_line() -> None:
    kinds = ("nodes.metrics.k8s.io", "pods.metrics.k8s.io")
    [line] = unread_lines([UnreadInput("list", kind, None, "not served") for kind in kinds])
    assert line == "nodes.metrics.k8s.io and pods.metrics.k8s.io: not served; metrics-server serves them"
    forbidden = unread_lines([UnreadInput("list", kind, None, "forbidden") for kind in kinds])
    assert len(forbidden) == 2
    assert len(unread_lines([UnreadInput("list", "pods", place, "not served") for place in ("a", "b")])) == 2


def test_missing_right_leaves_usage_of_all_nodes_unknown() -> None:
    nodes = [raw_node(name, conditions=[raw_condition("Ready")]) for name in ("n1", "n2")]
    source = RecordingSource(nodes, forbidden={"nodes/proxy"})
    _, unread = read_usages(Gatherer(source), source.list(NODES), {})
    assert [one for one in source.asked if "proxy" in one] == ["get nodes/proxy n1 stats/summary"]
    [line] = unread_lines(unread)
    assert Target().sentence(line) == (
        "usage of n1 and n2 is unknown: you may not get nodes/proxy (kubectl auth can-i get nodes --subresource=proxy)"
    )


def test_report_names_unread_node_once() -> None:
    line = "usage of node-b4 is unknown: not in the demo cluster"
    assert " ".join(run("report", "-A", "--demo").out.split()).count(line) == 1
    page = run("report", "-A", "--demo", "-o", "-").out
    assert page.partition('id="unknown"')[2].partition("</section>")[0].count(line) == 1


WEB = "place deployment/web -n shop"
DRAIN = "place --drain node/node-"
READS = {
    "Node": (
        *(WEB, f"{DRAIN}a1", "explain nodes", "explain node/cp-a1", "node", "node cp-a1", "partitions"),
        "fence node/cp-a1",
    ),
    "Pod": (
        *(WEB, f"{DRAIN}a1", "explain pods -A", "report -A"),
        "delete pod/etcd-cp-a1 -n kube-system --grace-period=0",
    ),
    "PersistentVolume": (f"{DRAIN}b1",),
    "PersistentVolumeClaim": (f"{DRAIN}b1",),
    "PodDisruptionBudget": (WEB, "fence node/node-c3", "delete pod/db-1 -n shop --grace-period=0", "partitions"),
    "StorageClass": (f"{DRAIN}b1",),
}


@pytest.mark.parametrize(("kind", "words"), [(kind, words) for kind, asked in READS.items() for words in asked])
def test_unreadable_snapshot_object_is_an_error(kind: str, words: str, tmp_path: Path) -> None:
    objects = copy.deepcopy(list(demo_objects()))
    for entry in objects:
        if entry["kind"] == kind:
            entry["metadata"]["uid"] = True
    file = write_list(tmp_path / "cluster.json", objects)
    ran = run(*words.split(), "--snapshot", file)
    problem, remedy = ran.err.splitlines()
    assert problem.startswith(f"error: {kind.lower()}/")
    assert problem.endswith(f" in snapshot {file}: metadata.uid: true is a boolean; write a string, in quotation marks")
    assert remedy == "Correct the field in the file, or capture that cluster again: kubectl qos snapshot"
    assert (ran.code, ran.out) == (6, "")
