"""Captures of pods that wait for their volumes, rebuilt from public bug reports."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.in_memory import MemorySource
from cluster_io.kinds import NODES, Kind
from kubectl_plugin.commands.fence import _Fence
from kubectl_plugin.options import Streams
from kubectl_plugin.options.change_commands import FenceOptions
from kubectl_plugin.parsing import parse
from kubectl_plugin.reports.steps import StepKind
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import find, items_of
from tests.kubectl_plugin.running import run
from tests.kubectl_plugin.test_field_cases import FIELD, flat

NODE: Final = "ip-10-20-2-1.us-east-2.compute.internal"

UNBOUND: Final = (
    '"{claim}" stays unbound: its StorageClass "openebs-lvmpv" waits for a pod that the scheduler places '
    "(WaitForFirstConsumer), and spec.nodeName bypasses the scheduler. "
    "Way out: replace spec.nodeName by nodeSelector kubernetes.io/hostname: w1."
)


def test_node_copy_in_volume_zone_fits_the_pod() -> None:
    words = ("place", "pod/worker-0", "-n", "ci")
    assert flat("c21.json", *words)[0] == 7
    code, text = flat("c21.json", *words, "--add-node", f"like={NODE},zone=us-east-2a")
    check_texts(text, f"1 more pod like worker-0 fits, on {NODE}-copy.", "kube-scheduler disagrees")
    assert code == 11
    assert (FIELD / "c21-fix.json").exists()
    assert "worker-0 fits, on ip-10-20-1-9" in flat("c21-fix.json", *words)[1]


@pytest.mark.parametrize(
    ("command", "lead"), [("place", "by what was read, deployment/app3 does not run."), ("explain", "")]
)
def test_pod_with_node_name_waits_for_unbound_claim(command: str, lead: str) -> None:
    code, text = flat("c10.json", command, "-f", str(FIELD / "c10-dep.yaml"))
    assert (
        f"{lead} Its spec.nodeName is w1: the kubelet there starts no container without its claims. "
        f"Claim {UNBOUND.format(claim='aaa3')}"
    ) in text
    check_texts(text, "Not certain: no persistentvolumes in the file", "It fits")
    assert code == 11


def test_lint_and_why_show_what_the_claim_needs() -> None:
    linted = said("lint", "-f", str(FIELD / "c10-dep.yaml"))
    assert "Claim aaa3 stays unbound if its StorageClass waits for the scheduler (WaitForFirstConsumer)." in linted
    assert "Replace spec.nodeName with nodeSelector kubernetes.io/hostname." in linted
    assert "the claim stays unbound" in said("why", "WaitForFirstConsumer")


@pytest.mark.parametrize(("pod", "claim"), [("app3-5c9-x", "aaa3"), ("app2-5c9-x", "aaa2")])
def test_existing_pod_waits_for_unbound_claim(pod: str, claim: str) -> None:
    code, text = flat("c10.json", "explain", f"pod/{pod}")
    assert f"Pending for 10 min: claim {UNBOUND.format(claim=claim)}" in text
    check_texts(text, ("Not certain: no persistentvolumes in the file", "kubectl qos why WaitForFirstConsumer"))
    assert code == 11


def test_report_lists_pods_that_wait_for_such_a_claim() -> None:
    code, text = flat("c10.json", "report", "-A")
    assert "x 2 pods: claim stays unbound" in text
    check_texts(text, ('Claim "aaa2" stays unbound: its StorageClass', "Not certain: no persistentvolumes in the file"))
    assert code == 11


@pytest.mark.parametrize("missing", ["StorageClass", "PersistentVolumeClaim"])
def test_claim_or_class_that_was_not_captured_is_no_cause(missing: str, tmp_path: Path) -> None:
    items = [one for one in items_of(FIELD / "c10.json") if one["kind"] != missing]
    file = write_list(tmp_path / "part.json", items)
    for words in (("explain", "pod/app3-5c9-x"), ("report", "-A"), ("place", "-f", str(FIELD / "c10-dep.yaml"))):
        ran = run(*words, "--snapshot", file)
        assert "unbound" not in ran.out
        assert "does not exist" not in ran.out
        assert ran.code == 11, words


@pytest.mark.parametrize("command", ["explain", "place"])
def test_volume_names_its_zone_and_what_would_help(command: str) -> None:
    _, text = flat("c21.json", command, "pod/worker-0", "-n", "ci")
    assert (
        'Volume "pvc-9" of claim "work-0" (20Gi, Bound, ebs.csi.aws.com) can be used only in zone us-east-2a '
        "(topology.ebs.csi.aws.com/zone), and no node is there. Way out: add a node in zone us-east-2a, or restore a "
        "copy of the volume where nodes are."
    ) in text
    assert (f"--add-node like={NODE},zone=us-east-2a" in text) == (command == "explain")


def test_volume_names_its_host_and_what_would_help() -> None:
    _, text = flat("c20.json", "explain", "pod/svc")
    assert (
        'Volume "log-pv" of claim "log-pvc" (20Gi, Bound, hostPath) can be used only on host node4 '
        "(kubernetes.io/hostname), and no node has that label: it is node4.corp.local on node node4. Way out: recreate "
        'PersistentVolume "log-pv" with spec.nodeAffinity for host node4.corp.local.'
    ) in text
    assert "kubernetes.io/hostname in node4, and the node has node4.corp.local" in text


SOURCES: Final = {
    "iscsi": ({"targetPortal": "192.0.2.4:3260", "iqn": "iqn.2026-11.com.example:tank", "lun": 7}, "iSCSI"),
    "fc": ({"wwids": ["3600508b400105e210000900000490000"]}, "FC"),
}
IN_STATUS: Final = {
    "iscsi": "kubernetes.io/iscsi/192.0.2.4:3260:iqn.2026-11.com.example:tank:7",
    "fc": "kubernetes.io/fc/[3600508b400105e210000900000490000]",
}


def of_silent_node(
    tmp_path: Path, name: str, source: str = "", *, in_use: bool = True, declared: bool = False
) -> tuple[str, str]:
    """A capture in which the silent node has a volume, of another source if given; the file and the volume's name."""
    items = items_of(FIELD / name)
    volume = next(item for item in items if item["kind"] == "PersistentVolume")
    node = find(items, "Node/node-a")
    if source:
        volume["spec"] = {key: value for key, value in volume["spec"].items() if key != "iscsi"}
        volume["spec"][source] = SOURCES[source][0]
        node["status"] |= {"volumesAttached": [{"name": IN_STATUS[source]}], "volumesInUse": [IN_STATUS[source]]}
    if not in_use:
        node["status"]["volumesInUse"] = []
    if declared:
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
        node["spec"]["taints"].append(taint)
    return write_list(tmp_path / name, items), volume["metadata"]["name"]


@pytest.mark.parametrize("source", ["", "iscsi", "fc"])
@pytest.mark.parametrize("name", ["s11p.json", "s13p.json"])
def test_fence_detaches_volumes_that_have_no_volume_attachment(name: str, source: str, tmp_path: Path) -> None:
    file, volume = of_silent_node(tmp_path, name, source)
    text = said("fence", "node/node-a", "--snapshot", file)
    assert f"detaches 1 volume: {volume}" in text
    named = "data of default/pod1" if name == "s11p.json" else volume
    backend = SOURCES[source][1] if source else "iSCSI"
    assert f"nothing then keeps a second writer off: {named} ({backend}, ReadWriteOnce)" in text
    assert "volumes 1 detached by force 6 min after the pod objects are gone" in text


@pytest.mark.parametrize("name", ["s11p.json", "s13p.json", "s13ebs.json"])
def test_pod_waiting_for_silent_node_points_to_it(name: str) -> None:
    text = said("explain", "pod/pod2", "--snapshot", str(FIELD / name))
    partitions, fence = text.index("kubectl qos partitions"), text.index("kubectl qos fence node/node-a")
    assert partitions < fence < text.index("kubectl qos explain node/node-b")


@pytest.mark.parametrize("name", ["s13p.json", "s13ebs.json"])
def test_partitions_counts_waiting_pod_after_deletion(name: str) -> None:
    text = said("partitions", "--snapshot", str(FIELD / name))
    assert "x Silent for 10 min: 1 pod elsewhere waits for a volume still attached to it." in text
    assert "default/pod2 elsewhere: waits for its volume c, still attached here" in text
    assert "kubectl qos explain pod/pod2 -n default" in text
    [node] = data("partitions", "--snapshot", str(FIELD / name))["nodes"]
    assert [held["waiting"] for held in node["attachments"]] == [["default/pod2"]]
    assert "1 pod elsewhere waits for a volume still attached to it" in said("report", "--snapshot", str(FIELD / name))


def test_volume_that_is_not_in_use_is_detached_at_once(tmp_path: Path) -> None:
    file, _ = of_silent_node(tmp_path, "s13p.json", in_use=False)
    text = said("partitions", "--snapshot", file)
    assert "volumes 1 detached once the pod objects are gone: status.volumesInUse does not list it" in text


def test_fence_is_complete_only_without_volumes_in_status(tmp_path: Path) -> None:
    file, volume = of_silent_node(tmp_path, "s13p.json", declared=True)
    text = said("partitions", "--snapshot", file)
    assert "1 volume still has to be detached; no further action is needed." in text
    check_texts(text, "kubectl qos fence node/node-a", "Nothing is left to remove")
    fenced = run("fence", "node/node-a", "--snapshot", file, "-o", "json")
    report = json.loads(fenced.out)
    assert (report["outcome"], report["left"]["attachments"]) == ("UnderWay", [volume])
    assert "1 volume still has to be removed" in report["verdict"]["text"]


def test_empty_rest_is_uncertain_without_attachments(tmp_path: Path) -> None:
    file, _ = of_silent_node(tmp_path, "s13p.json", declared=True)
    items = items_of(file)
    for item in items:
        if item["kind"] == "Node":
            item["status"] |= {"volumesAttached": [], "volumesInUse": []}
    file = write_list(tmp_path / "empty.json", items)
    text = said("fence", "node/node-a", "--snapshot", file)
    assert "nothing is left to remove. Not certain: no volumeattachments.storage.k8s.io in the file" in text


class Recorded(MemorySource):
    """Records the kinds in the order of reading."""

    def __init__(self, items: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(items, description="a cluster", now=datetime(2026, 11, 27, 22, tzinfo=UTC))
        self.read: list[str] = []

    def get(self, kind: Kind[Any], name: str, namespace: str | None = None) -> Any:
        self.read.append(kind.plural)
        return super().get(kind, name, namespace)

    def list(self, kind: Kind[Any], namespace: str | None = None, **how: Any) -> Any:
        self.read.append(kind.plural)
        return super().list(kind, namespace, **how)


def test_fence_reads_volumes_after_pods() -> None:
    """A volume leaves the node's status after its pod object is deleted: the reverse order might miss both."""
    source = Recorded(items_of(FIELD / "s11p.json"))
    options = parse(["fence", "node/node-a", "--confirm-powered-off"]).options
    assert isinstance(options, FenceOptions)
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    fence = _Fence(source.get(NODES, "node-a"), options, source, streams)
    source.read.clear()
    left = fence.what_is_left()
    assert (left.pods, left.attachments) == (("default/pod1",), ("piscsi",))
    order = [source.read.index(kind) for kind in ("pods", "nodes", "volumeattachments")]
    assert order == sorted(order)
    fence.step_log(StepKind.TAINTED, "node/node-a")
    assert "Still to be removed: pod default/pod1 and volume piscsi." in list(fence.state(sure=True))


def test_waiting_pod_points_to_volume_holder(tmp_path: Path) -> None:
    items = items_of(FIELD / "s11p.json")
    node, lease = (item for item in items if item["metadata"]["name"] == "node-a")
    node["spec"], node["status"]["conditions"][0]["status"] = {}, "True"
    lease["spec"]["renewTime"] = "2026-11-27T22:00:00Z"
    file = write_list(tmp_path / "answers.json", items)
    text = said("explain", "pod/pod2", "--snapshot", file)
    assert "the kubelet of node-a has to stop pod1" in text
    check_texts(text, "Next kubectl qos explain pod/pod1 -n default", "kubectl qos fence")
