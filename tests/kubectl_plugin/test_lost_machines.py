"""The machine of a silent node, and volumes that exist only on it."""

from __future__ import annotations

import contextlib
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.in_memory import MemorySource
from kubectl_plugin import cli
from tests.kubectl_plugin.answers import check_texts, said, write_list
from tests.kubectl_plugin.edits import find, items_of
from tests.objects import raw_condition, raw_node, raw_pod
from tests.tree import ROOT

CASE: Final = ROOT / "tests" / "testdata" / "cases" / "field" / "partpdb.json"
SHUTDOWN: Final = "node.cloudprovider.kubernetes.io/shutdown"
SAID: Final = (
    f"The cloud provider reports that the machine of node-a is off (taint {SHUTDOWN}): check that in its console, then "
    "fence node-a."
)
Json = dict[str, Any]


def _page(folder: Path, items: list[Json], *words: str) -> str:
    return said(*words, "--snapshot", write_list(folder / "cluster.json", items))


def _shut_down() -> list[Json]:
    items = items_of(CASE)
    find(items, "Node/node-a")["spec"].setdefault("taints", []).append({"key": SHUTDOWN, "effect": "NoSchedule"})
    return items


def _answers(items: list[Json], ready: str) -> None:
    """The kubelets renew their Leases."""
    find(items, "Node/node-a")["status"]["conditions"] = [raw_condition("Ready", ready)]
    for one in items:
        if one["kind"] == "Lease":
            one["spec"]["renewTime"] = "2026-11-27T22:00:00Z"


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("partitions",), "It is unknown what still runs there."),
        (("fence", "node/node-a"), "Not fenced: it is not confirmed that its machine is off."),
        (("delete", "pod/pet-2", "--grace-period=0"), "Not safe yet"),
        (("explain", "node/node-a"), "no memory limit"),
        (("explain", "pod/pet-2"), "It stays Terminating"),
    ],
)
def test_F5_cloud_state_of_the_machine_comes_first(tmp_path: Path, words: tuple[str, ...], before: str) -> None:
    page = _page(tmp_path, _shut_down(), *words)
    assert SAID in page
    assert before not in page.partition(SAID)[0]
    assert SAID not in _page(tmp_path, items_of(CASE), *words)


def test_F5_answering_node_is_not_called_off(tmp_path: Path) -> None:
    _answers(items := _shut_down(), "False")
    assert "is off" not in _page(tmp_path, items, "explain", "node/node-a")


def test_F5_taint_is_explained() -> None:
    check_texts(said("why", SHUTDOWN), ("its cloud provider said that the machine is shut down", "fence the node"))


def _folder(source: Json, *nodes: str) -> list[Json]:
    """Volume pv2, which pet-2 uses, is a folder of nodes."""
    items = items_of(CASE)
    on = [{"key": "kubernetes.io/hostname", "operator": "In", "values": [*nodes]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": on}]}}} if nodes else {}
    spec = find(items, "PersistentVolume/pv2")["spec"]
    del spec["nfs"]
    spec |= {**source, **affinity}
    return items


BOUND: Final = "the next pod stays Pending: volume data (local, ReadWriteOnce) is only on node-a"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("partitions",), f"can neither replace it, scale nor roll out; {BOUND}"),
        (("fence", "node/node-a"), f"can neither replace it, scale nor roll out; {BOUND}"),
        (("delete", "pod/pet-2", "--grace-period=0"), f"so its processes may still run, and {BOUND}."),
        (("explain", "pod/pet-2"), BOUND),
    ],
)
def test_F5_next_pod_waits_for_the_node_of_a_local_volume(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    page = _page(tmp_path, _folder({"local": {"path": "/disk"}}, "node-a"), *words)
    assert "second writer off" not in page.replace("here nothing keeps a second writer off", "")
    check_texts(page, text, ("both would write", "may start a second"))
    if words[0] in {"partitions", "fence"}:
        first = "default/pet-2: the next one stays Pending until node-a is back, or the claim is deleted"
        assert f"{first} and its data with it" in page.partition("what depends on it")[0]


def test_F5_host_path_differs_on_another_node(tmp_path: Path) -> None:
    other = "the next pod starts on other files: volume data (hostPath{}) is another folder on another node"

    inline = items_of(CASE)
    for one in inline:
        if one["kind"] == "Pod":
            one["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": "/srv"}}]
    cases = ((_folder({"hostPath": {"path": "/srv"}}), ", ReadWriteOnce"), (inline, " in the pod itself"))
    for items, of in cases:
        for words in (("partitions",), ("delete", "pod/pet-2", "--grace-period=0")):
            check_texts(_page(tmp_path, items, *words), other.format(of), "both would write")
    assert '"risk": "NoReplacement"' in _page(tmp_path, inline, "partitions", "-o", "json")


def test_F5_local_volume_of_ready_node_gets_second_writer(tmp_path: Path) -> None:
    _answers(items := _folder({"local": {"path": "/disk"}}, "node-a"), "True")
    find(items, "Node/node-a")["spec"] = {}
    page = _page(tmp_path, items, "delete", "pod/pet-2", "--grace-period=0")
    both = "both would write to volume data (local, ReadWriteOnce: nothing keeps a second writer off)"
    check_texts(page, both, "stays Pending")


def _pending(on: str, *, phase: str = "Bound", source: Json | None = None) -> list[Json]:
    """The case with pet-2 on no node and its volume on one node."""
    items = _folder(source or {"local": {"path": "/disk"}}, on)
    volume, pod = find(items, "PersistentVolume/pv2"), find(items, "Pod/pet-2")
    volume["status"] = {"phase": phase}
    volume["spec"]["claimRef"] = {"namespace": "default", "name": "data-pet-2"}
    del pod["spec"]["nodeName"]
    pod["metadata"].pop("deletionTimestamp", None)
    pod["status"] = {"phase": "Pending"}
    return items


@pytest.mark.parametrize("words", [("partitions",), ("fence", "node/node-a")])
def test_pod_pending_for_local_volume_of_silent_node(words: tuple[str, ...], tmp_path: Path) -> None:
    row = "default/pet-2 Pending until node-a is back: its volume data-pet-2 is only on this node"
    assert row in _page(tmp_path, _pending("node-a"), *words)
    csi = {"csi": {"driver": "local.csi.example.com", "volumeHandle": "h"}}
    assert row in _page(tmp_path, _pending("node-a", source=csi), *words)
    for other in (_pending("node-b"), _pending("node-a", phase="Released")):
        assert row not in _page(tmp_path, other, *words)


def test_pending_pods_are_counted(tmp_path: Path) -> None:
    assert "1 pod stays Pending for a volume only on it." in _page(tmp_path, _pending("node-a"), "partitions")
    assert "1 pod stays Pending for a volume only on it." in _page(tmp_path, _pending("node-a"), "report")


def test_pending_pods_without_volumes_in_the_file_are_unknown(tmp_path: Path) -> None:
    items = _pending("node-a")
    for one in items:
        if one["kind"] == "PersistentVolume":
            one |= {"kind": "ConfigMap", "apiVersion": "v1"}
    assert "persistentvolumes" in _page(tmp_path, items, "partitions").partition("Unknown")[2]


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_deleted_node_is_found_on_live_cluster(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only pods that name no known node are read."""
    there = raw_node("n1", conditions=[raw_condition("Ready")])
    pods = [raw_pod(name, "shop", nodeName=node, status={"phase": phase}) for name, node in (("a", "n1"), ("b", "n2"))]
    waits = raw_pod("c", "shop", status={"phase": "Pending"})
    now = datetime.fromisoformat("2026-10-01T12:00:00Z")
    source = MemorySource([there, *pods, waits], description="the cluster", now=now)
    monkeypatch.setattr(source, "side_by_side", True, raising=False)
    monkeypatch.setattr(cli, "source_of", lambda *_: contextlib.nullcontext(source))
    text = said("partitions")
    assert ("node/n2" in text) is (phase == "Running")
    assert ("Gone since an unknown time (no Node object)" in text) is (phase == "Running")
    assert ("All nodes answer." in text) is (phase != "Running")
    assert "n1" not in text
