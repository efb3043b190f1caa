"""Manifests with and without a cluster, snapshots, and the two ways to reach an API server."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_io.kinds import PODS
from cluster_io.live.client import _CONNECT_SECONDS, ClientTransport
from cluster_io.live.large_lists import NoProgress, read_whole
from cluster_io.live.live_source import LiveSource
from kubectl_plugin.commands.explain import explain
from kubectl_plugin.exit_codes import certainty
from kubectl_plugin.gather.targets import targets_of
from kubectl_plugin.options import ClusterOptions, Output, Streams
from kubectl_plugin.options.pod_commands import ExplainOptions
from kubectl_plugin.reports.pod.pod_report import PodReport
from tests.cluster_io.protobuf import message
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.proxies import connected_proxy
from tests.e2e.access import robot
from tests.e2e.plugin import SCRIPTS, Plugin, Qos, flat
from tests.e2e.space import Space
from tests.objects import raw_priority_class, raw_workload, unscheduled_pod
from tests.waiting import again_if_late

pytestmark = pytest.mark.controlplane

LARGE = {"cpu": "500m", "memory": "1Gi"}
_NODE_INFO = {
    "operatingSystem": "linux",
    **dict.fromkeys(
        ("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID"), ""
    ),
    **dict.fromkeys(("osImage", "systemUUID"), ""),
}
"""The fields that the API server requires besides the kubelet's version."""


# Manifests


def test_manifest_is_explained_for_this_cluster(space: Space, tmp_path: Path) -> None:
    small = space.make_node(capacity={"memory": "2Gi"})["metadata"]["name"]
    large = space.make_node(capacity={"memory": "200Gi"})["metadata"]["name"]
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(unscheduled_pod(space.name, requests={"memory": "1Gi"}, limits={"cpu": "1"})))

    short = space.qos.text("-f", file)
    text = space.qos.text("-f", file, "-o", "wide")

    for page in (short, text):
        assert page.startswith(f"Pod web in namespace {space.name} (from pod.yaml) ! Its placement is not modelled: ")
        assert ' Burstable: container "app" ' in page
        assert "Force delete" not in page
    assert f"OOM score 500 on {small} and 995 on {large} Requests" in short
    assert "stored with spec.containers[0].resources.requests.cpu = 1" in text
    assert f"on the smallest node that can run it, {small}: 500 app 1000 - 1000 x 1Gi / 2Gi" in text
    assert f"on the largest node that can run it, {large}: 995 app 1000 - 1000 x 1Gi / 200Gi" in text


def test_Q1_class_that_only_the_stored_pod_has(space: Space) -> None:
    manifest = json.dumps(unscheduled_pod(space.name, limits=LARGE))

    short = space.qos.text("-f", "-", stdin=manifest)
    wide = space.qos.text("-f", "-", "-o", "wide", stdin=manifest)

    assert "QoS class Guaranteed: requests equal limits in every container" in short
    assert "QoS class Guaranteed: every container limits cpu and memory, and requests equal limits" in wide
    for text in (short, wide):
        assert "as written it would be Burstable; the API server fills in before it decides:" in text


def test_manifest_without_namespace_gets_the_asked_one(qos: Qos) -> None:
    pod = unscheduled_pod("")
    del pod["metadata"]["namespace"]

    # The namespace does not exist in the cluster.
    assert qos.json("-f", "-", "-n", "shop", stdin=json.dumps(pod), code=6)["namespace"] == "shop"
    assert qos.json("-f", "-", stdin=json.dumps(pod))["namespace"] == "default"


def test_what_kubectl_prints_can_be_piped(control_plane: ControlPlane, kubectl_qos: Plugin, namespace: str) -> None:
    control_plane.apply([unscheduled_pod(namespace, name, requests=LARGE) for name in ("web", "api")])
    printed = control_plane.kubectl("get", "pods", "-n", namespace, "-o", "yaml").stdout

    answer = kubectl_qos.json("-f", "-", stdin=printed)

    assert [(item["name"], item["qos"]["qosClass"]) for item in answer["items"]] == [
        ("api", "Burstable"),
        ("web", "Burstable"),
    ]


def test_classes_of_the_manifest_count(space: Space) -> None:
    pod = unscheduled_pod(space.name, priorityClassName="not-yet-there")
    manifest = yaml.safe_dump_all([raw_priority_class("not-yet-there", 77), pod])

    assert space.qos.json("-f", "-", stdin=manifest)["priority"]["priority"] == 77
    alone = space.qos("-f", "-", stdin=json.dumps(pod))
    assert alone.code == 6
    assert "no PriorityClass with name not-yet-there was found" in flat(alone.out)


def test_workload_in_a_manifest(space: Space) -> None:
    spec = unscheduled_pod(space.name, limits=LARGE)["spec"]
    manifest = json.dumps(raw_workload("Deployment", "web", space.name, pod_spec=spec))

    assert "QoS class Guaranteed" in space.qos.text("-f", "-", stdin=manifest)
    assert space.qos("-f", "-", "-o", "name", stdin=manifest) == (0, "deployment.apps/web\n", "")


def test_manifest_and_cluster_in_one_go(space: Space) -> None:
    space.pod("stored")

    answer = space.qos.json(
        "pod/stored", "-f", "-", "-n", space.name, stdin=json.dumps(unscheduled_pod(space.name, "written"))
    )

    assert {item["name"]: item["status"] is None for item in answer["items"]} == {"written": True, "stored": False}


def test_manifest_goes_on_without_a_cluster(kubectl_qos: Plugin, unreachable: Path, namespace: str) -> None:
    manifest = json.dumps(unscheduled_pod(namespace, limits=LARGE, priorityClassName="high"))

    ran = kubectl_qos("-f", "-", stdin=manifest, kubeconfig=unreachable)

    assert ran.code == 0
    assert ran.err.startswith("kubectl qos: going on without a cluster: ")
    assert ran.err.count("\n") == 1
    assert "QoS class     Guaranteed" in ran.out
    assert 'that of class "high": unknown without the cluster\'s PriorityClasses' in " ".join(ran.out.split())


def test_offline_asks_no_cluster(space: Space, unreachable: Path) -> None:
    ran = space.qos("-f", "-", "--offline", stdin=json.dumps(unscheduled_pod(space.name)), kubeconfig=unreachable)

    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("manifest", "lines"),
    [
        ("kind: Pod\n", ["standard input: apiVersion is missing", "Every API object has an apiVersion and a kind, "]),
        ("a: [\n", ["standard input, line 2, column 1: not valid YAML", "A value is missing here, or a bracket "]),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
            [
                "standard input: no pod and no workload in it, only ConfigMap x",
                "Name a file with a Pod, or with a workload, ",
            ],
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
            ["standard input, line 1: spec.containers: Required value", "Write one container or more, "],
        ),
    ],
)
def test_unreadable_manifest(qos: Qos, manifest: str, lines: list[str]) -> None:
    """The error, and below it the remedy if the error does not name it."""
    ran = qos("-f", "-", stdin=manifest)

    assert (ran.code, ran.out) == (6, "")
    said = ran.err.removeprefix("error: ").splitlines()
    assert ran.err.startswith("error: ")
    assert len(said) == len(lines)
    assert all(line.startswith(start) for line, start in zip(said, lines, strict=True)), said


# Snapshots


def test_snapshot_gives_the_answer_of_the_cluster(space: Space, tmp_path: Path) -> None:
    # Such a file does not name the API server's version; the kubelets in it name theirs.
    version = space.plane.api.request("GET", "/version")["gitVersion"]
    node = space.make_node(status={"nodeInfo": {**_NODE_INFO, "kubeletVersion": version}})["metadata"]["name"]
    space.plane.apply(
        [unscheduled_pod(space.name, nodeName=node, requests=LARGE, priorityClassName="system-node-critical")]
    )
    kinds = "nodes,pods,priorityclasses"
    snapshot = tmp_path / "cluster.json"
    snapshot.write_text(space.plane.kubectl("get", kinds, "-A", "-o", "json").stdout)

    live = space.qos.json("pod/web", f"node/{node}", "-n", space.name)["items"]
    kept = space.qos.json("pod/web", f"node/{node}", "-n", space.name, "--snapshot", snapshot)["items"]

    # Such a file has no usage; each item gives the reason.
    changing = {"source", "serverVersion", "pressureUnread", "unread"}
    assert len(kept) == 2
    for before, after in zip(live, kept, strict=True):
        assert without(ageless(before), changing) == without(ageless(after), changing)
        assert after["source"] == f"snapshot {snapshot}"


def without(report: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in keys}


def ageless(report: dict[str, Any]) -> dict[str, Any]:
    """The age in the verdict grows between two answers."""
    verdict = report["verdict"]
    if verdict is None:
        return report
    return {**report, "verdict": {**verdict, "text": re.sub(r"\bfor \d+ s\b", "for a while", verdict["text"])}}


# Transports


def test_official_client_gives_the_answer_of_kubectl(space: Space) -> None:
    node = space.node()
    space.pod(nodeName=node, requests=LARGE)

    # Without the right to read nodes the answer is uncertain.
    for kubeconfig, code in ((space.plane.admin_kubeconfig, 0), (robot(space.plane, space.name), 11)):
        transport = ClientTransport(context=None, kubeconfig=str(kubeconfig), request_timeout=30)
        try:
            source = LiveSource(transport, namespace=space.name)
            options = ExplainOptions(
                targets=("pod/web",), output=Output(format="json"), colour=False, cluster=ClusterOptions()
            )
            streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
            found = list(explain(targets_of(options.targets, options.selection), options, source, streams))
            assert [certainty([one]) for one in found if isinstance(one, PodReport)] == [code]
        finally:
            transport.close()

        assert isinstance(streams.out, io.StringIO)
        by_kubectl = space.json("pod/web", kubeconfig=kubeconfig, code=code)
        assert ageless(json.loads(streams.out.getvalue())) == ageless(by_kubectl)


def test_without_kubectl_on_path(
    control_plane: ControlPlane, kubectl_qos: Plugin, namespace: str, tmp_path: Path
) -> None:
    control_plane.apply([unscheduled_pod(namespace)])
    command = [str(SCRIPTS / "kubectl-qos"), "explain", "pod/web", "-o", "json", "-n", namespace]

    environment = {**kubectl_qos.environment(), "PATH": str(tmp_path)}

    def asked() -> subprocess.CompletedProcess[str]:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode == 5:
            raise OSError(done.stderr)
        return done

    done = again_if_late(asked, _CONNECT_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert ageless(json.loads(done.stdout)) == ageless(kubectl_qos.json("pod/web", "-n", namespace))


def test_long_lists_come_in_pages(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted(f"pod-{number}" for number in range(7))
    space.plane.apply([unscheduled_pod(space.name, name) for name in names])
    monkeypatch.setattr("cluster_io.live.live_source._PAGE", 3)
    for key, value in space.qos.environment().items():
        monkeypatch.setenv(key, value)

    with connected_proxy() as proxy:
        in_pages = LiveSource(proxy, namespace=space.name).list(PODS, space.name)
        whole = LiveSource(proxy, namespace=space.name, large=proxy).list(PODS, space.name)

    assert [pod.metadata.name for pod in in_pages] == names
    assert whole == in_pages


def test_list_with_invalid_UTF_8_is_repaired_as_in_json(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that write protobuf may store such a text; the API server only checks JSON."""
    space.plane.apply([unscheduled_pod(space.name, name) for name in ("db", "web")])
    metadata = message((1, "odd"), (12, message((1, "note"), (2, b"\xff\xfe!"))))
    spec = message((2, message((1, "app"), (2, "example.com/app"))))
    pod = message((1, message((1, "v1"), (2, "Pod"))), (2, message((1, metadata), (2, spec))))
    path = space.plane.api.path("v1", "Pod", space.name)
    made = space.plane.api.request("POST", path, b"k8s\0" + pod, content_type="application/vnd.kubernetes.protobuf")
    monkeypatch.setattr("cluster_io.live.live_source._PAGE", 2)
    for key, value in space.qos.environment().items():
        monkeypatch.setenv(key, value)

    with connected_proxy() as proxy:
        version = made["metadata"]["resourceVersion"]
        assert read_whole(proxy, PODS, PODS.path(space.name), version, NoProgress()) is None
        pods = LiveSource(proxy, namespace=space.name, large=proxy).list(PODS, space.name)

    assert [pod.metadata.name for pod in pods] == ["db", "odd", "web"]
    assert pods[1].metadata.annotations["note"] == "\ufffd\ufffd!"
