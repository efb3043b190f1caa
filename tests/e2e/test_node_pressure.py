"""``kubectl qos node`` on the real API server; its node proxy reaches a server that answers as a kubelet does."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import everywhere
from tests.e2e.kubelet_answers import KubeletAnswers, own_address
from tests.e2e.plugin import InProcess, Qos, flat
from tests.objects import raw_container, unscheduled_pod
from tests.required import without
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

MI = 1 << 20
CONFIG = {
    "evictionHard": {"memory.available": "300Mi"},
    "enforceNodeAllocatable": ["pods"],
    "kubeReserved": {"memory": "1Gi"},
    "failCgroupV1": True,
}
READS = {"nodes": ["get"], "pods": ["get", "list"], "events": ["list"], "priorityclasses.scheduling.k8s.io": ["get"]}


@pytest.fixture
def node(qos: InProcess) -> Qos:
    """``kubectl qos node``."""
    return qos.also("node")


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[KubeletAnswers]:
    """A kubelet that answers."""
    address = own_address()
    if address is None:
        without("this machine has no address but loopback, and the API server proxies to no loopback address")
    with KubeletAnswers(address, tmp_path) as answering:
        yield answering


@pytest.fixture
def name(control_plane: ControlPlane, make_node: Callable[..., Object], namespace: str, kubelet: KubeletAnswers) -> str:
    """The node of that kubelet, with three running pods that it measures, and one pod on another node."""
    made: str = make_node(status=kubelet.status)["metadata"]["name"]
    elsewhere = make_node()["metadata"]["name"]
    used = {"burstable": 2000, "best-effort": 100, "quiet": 50}
    requests = {"burstable": {"memory": "1Gi"}, "quiet": {"memory": "100Mi"}}
    pods = [
        unscheduled_pod(namespace, pod, containers=[raw_container(requests=requests.get(pod))])
        for pod in (*used, "elsewhere")
    ]
    stored = control_plane.apply(pods)
    for pod in stored:
        own = pod["metadata"]["name"] in used
        control_plane.bind(pod, made if own else elsewhere)
        control_plane.set_pod_status(pod, {"phase": "Running"})
    uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in stored}
    kubelet.answers = {
        "/stats/summary": _summary(made, namespace, {pod: (uids[pod], size) for pod, size in used.items()}),
        "/configz": {"kubeletconfig": CONFIG},
    }
    return made


def _summary(node: str, namespace: str, pods: dict[str, tuple[str, int]]) -> Object:
    def memory(size: int) -> Object:
        return {"time": "2026-01-01T00:00:00Z", "workingSetBytes": size * MI, "rssBytes": size * MI}

    measured = [
        {
            "podRef": {"name": pod, "namespace": namespace, "uid": uid},
            "containers": [{"name": "app", "memory": memory(size)}],
            "memory": memory(size),
        }
        for pod, (uid, size) in pods.items()
    ]
    whole = {"nodeName": node, "memory": {**memory(7192), "availableBytes": 1000 * MI}}
    return {"node": whole, "pods": measured}


def _pods(places: Sequence[Object]) -> list[str]:
    return [place["pod"] for place in places]


def test_Q3_Q6_node_by_its_own_kubelet(node: Qos, name: str, kubelet: KubeletAnswers) -> None:
    report = node.json(name)

    # Of a run that could not connect in time only the first ones came.
    assert kubelet.asked[-2:] == ["/stats/summary", "/configz"]
    assert (report["usageSource"], report["thresholdSource"], report["unread"]) == ("stats/summary", "Kubelet", [])
    machine, kubepods = report["oom"][:2]
    # 875 + 244 is more than 1000 + 12.
    assert _pods(machine["places"]) == ["burstable", "best-effort", "quiet"]
    assert (machine["memory"] // MI, kubepods["memory"] // MI) == (8192, 7168)
    assert machine["places"][0]["decidedBy"] == "UsageDespiteAdj"
    memory = next(order for order in report["evictions"] if order["signal"] == "memory.available")
    assert _pods(memory["places"]) == ["burstable", "best-effort", "quiet"]
    assert memory["places"][1]["decidedBy"] == "ExceedsRequest"
    threshold = report["thresholds"][0]
    assert (threshold["quantity"], threshold["headroom"], threshold["met"]) == ("300Mi", "700Mi", False)
    assert report["promised"]["pods"] == 3


def test_Q3_Q6_words_of_a_node_and_of_its_pod(node: Qos, qos: Qos, name: str, namespace: str) -> None:
    text = node.text(f"node/{name}")
    assert f"the kernel kills container app of {namespace}/burstable first" in text
    assert re.search(
        r"Near an eviction: 700Mi \(\d+%\) until the first eviction "
        r"\(memory\.available < 300Mi: the kubelet's own configuration\)",
        text,
    )
    assert "Measured by the kubelet (stats/summary)" in node.text(f"node/{name}", "-o", "wide")
    place = qos.text("pod/best-effort", "-n", namespace, "-o", "wide")
    assert f"2nd of 3 containers that the kernel kills if {name} runs out: app, 1012 = 12 + 1000" in place
    assert "2nd of 3 pods that the kubelet evicts for memory: 100Mi, no request" in place


def test_Q3_Q6_manifest_on_the_node(qos: Qos, name: str, namespace: str, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    coming = unscheduled_pod(namespace, "coming", requests={"memory": "3Gi"})
    manifest.write_text(json.dumps(coming))
    (entry,) = qos.json("-f", manifest, "--on", f"node/{name}", "--no-placement")["pressure"]
    assert (entry["node"], entry["assumption"], entry["usageSource"]) == (name, "Requests", "stats/summary")
    # 625 + 375 is less than 1000 + 12, and as much as quiet's 988 + 6 is less.
    assert entry["oom"][0]["place"]["rank"] == 3


@pytest.mark.parametrize(
    ("rules", "source"),
    [
        pytest.param({}, "none", id="no right"),
        pytest.param({"nodes/stats": ["get"], "nodes/configz": ["get"]}, "none", id="finer rights do not count here"),
        pytest.param({"nodes/proxy": ["get"]}, "stats/summary", id="nodes proxy"),
    ],
)
def test_right_that_the_api_server_asks_for(
    control_plane: ControlPlane,
    node: Qos,
    name: str,
    kubelet: KubeletAnswers,
    request: pytest.FixtureRequest,
    rules: dict[str, list[str]],
    source: str,
) -> None:
    user = f"{name}-{'-'.join(rules).replace('/', '-') or 'nothing'}"
    kubeconfig = everywhere(control_plane, user, {**READS, **rules})

    report = node.json(name, kubeconfig=kubeconfig)

    assert report["usageSource"] == source
    assert bool(kubelet.asked) is (source != "none")
    text = flat(node(name, kubeconfig=kubeconfig).out)
    said = f"usage of {name} is unknown: you may not get nodes/proxy (kubectl auth can-i get nodes --subresource=proxy)"
    assert (said in text, "with get nodes/proxy: resident memory" in text) == (source == "none", source == "none")


def test_without_right_to_list_pods_nothing_is_ranked(control_plane: ControlPlane, node: Qos, name: str) -> None:
    kubeconfig = control_plane.kubeconfig_for_client_certificate("no-rights")
    ran = node(name, kubeconfig=kubeconfig)
    assert (ran.code, ran.out) == (4, "")
    assert "you may not get nodes" in ran.err


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param("<html>", "stats/summary of {name}: not valid JSON", id="rubbish"),
        pytest.param(None, "the kubelet of {name} answers 404", id="not served"),
        pytest.param(
            {"node": {"memory": {"rssBytes": "many"}}},
            'node.memory.rssBytes: "many" is a string; write a whole number',
            id="shape",
        ),
    ],
)
def test_kubelet_that_answers_something_else(
    node: Qos, name: str, kubelet: KubeletAnswers, answer: Any, said: str
) -> None:
    kubelet.answers["/stats/summary"] = answer
    report = node.json(name)
    assert report["usageSource"] == "none"
    reasons = {entry["resource"]: entry["reason"] for entry in report["unread"]}
    assert said.format(name=name) in reasons["nodes/proxy"]
    assert [place["oomScoreAdj"] for place in report["oom"][0]["places"]] == [1000, 988, 875]


def test_unreachable_kubelet(node: Qos, make_node: Callable[..., Object], kubelet: KubeletAnswers) -> None:
    [address] = kubelet.status["addresses"]
    # Kept open, so that no other program listens there.
    with socket.socket() as held:
        held.bind((address["address"], 0))
        endpoint = {"Port": held.getsockname()[1]}
        name = make_node(status={**kubelet.status, "daemonEndpoints": {"kubeletEndpoint": endpoint}})["metadata"][
            "name"
        ]
        report = node.json(name)
    (entry, _) = report["unread"]
    assert entry["resource"] == "nodes/proxy"
    assert "answers 503: error trying to reach service" in entry["reason"]


def _definition(kind: str, plural: str, scope: str) -> Object:
    """A kind of the metrics API, served by the API server itself."""
    group = "metrics.k8s.io"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    # Kubernetes' own groups are protected: a user of one needs an annotation.
    annotations = {"api-approved.kubernetes.io": "unapproved, a test's stand-in for a metrics server"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {"group": group, "names": names, "scope": scope, "versions": [version]},
    }


@pytest.fixture
def metrics(control_plane: ControlPlane) -> Iterator[Callable[[str, str, dict[str, str]], None]]:
    """Reports the usage of a node and of pods in a namespace, as a metrics server does."""
    definitions = [_definition("NodeMetrics", "nodes", "Cluster"), _definition("PodMetrics", "pods", "Namespaced")]
    api = control_plane.api
    root = "/apis/metrics.k8s.io/v1beta1"

    def served() -> bool:
        try:
            return all(api.request("GET", f"{root}/{plural}") for plural in ("nodes", "pods"))
        except ApiError:
            return False

    def report(node: str, namespace: str, used: dict[str, str]) -> None:
        head = {"apiVersion": "metrics.k8s.io/v1beta1"}
        whole = {**head, "kind": "NodeMetrics", "metadata": {"name": node}, "usage": {"cpu": "1", "memory": "3Gi"}}
        api.request("POST", f"{root}/nodes", whole)
        for pod, memory in used.items():
            containers = [{"name": "app", "usage": {"cpu": "1m", "memory": memory}}]
            one = {**head, "kind": "PodMetrics", "metadata": {"name": pod}, "containers": containers}
            api.request("POST", f"{root}/namespaces/{namespace}/pods", one)

    control_plane.apply(definitions)
    wait_for(served, "the metrics API is served")
    yield report
    for definition in definitions:
        api.delete(definition)


def test_Q3_Q6_metrics_api_where_no_kubelet_answers(
    node: Qos,
    name: str,
    namespace: str,
    kubelet: KubeletAnswers,
    metrics: Callable[[str, str, dict[str, str]], None],
) -> None:
    kubelet.answers.clear()
    metrics(name, namespace, {"burstable": "2000Mi", "best-effort": "100Mi"})
    report = node.json(name)
    assert (report["usageSource"], report["thresholdSource"]) == ("metrics.k8s.io", "Defaults")
    assert _pods(report["oom"][0]["places"]) == ["burstable", "best-effort", "quiet"]
    assert [place["rss"] for place in report["oom"][0]["places"]] == [2000 * MI, 100 * MI, None]
    (order,) = report["evictions"]
    # The kubelet may measure quiet, which the metrics API lacks: its place is unknown.
    assert _pods(order["places"]) == ["burstable", "best-effort"]
    assert [pod["name"] for pod in order["unmeasured"]] == ["quiet"]
    assert [entry["quantity"] for entry in report["thresholds"]] == ["100Mi"]
    assert [entry["resource"] for entry in report["unread"]] == ["nodes/proxy"]


def test_silent_node_is_not_asked(control_plane: ControlPlane, node: Qos, name: str, kubelet: KubeletAnswers) -> None:
    stored = control_plane.api.get("v1", "Node", name)
    silent = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
    control_plane.api.patch(stored, {"status": {"conditions": silent}}, subresource="status")
    text = node.text(name)
    assert text.startswith(f"node/{name} x {name} is silent: its pods may or may not run, and nothing stops them")
    assert "the node is not ready, so its kubelet was not asked" in text
    assert kubelet.asked == []
