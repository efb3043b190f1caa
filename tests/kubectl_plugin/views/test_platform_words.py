"""Pods and nodes without a Linux kubelet: no answer shows Linux rules or unknown facts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.kubectl_plugin.answers import check_texts, fine, said
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod

WINDOWS_MANIFEST = Path(__file__).resolve().parents[2] / "testdata" / "cases" / "cli" / "windows.yaml"
OF_LINUX = re.compile(
    r"oom|cgroup|cpu\.weight|memory\.max|the kernel|threshold|evicts|evicted at|eviction order", re.IGNORECASE
)
TIMES = re.compile(r"SIGTERM|SIGKILL|\b30 s\b|ends by|may live until")
RESOURCES = {"memory": "1Gi"}
CAPACITY = {"memory": "8Gi", "cpu": "4", "pods": "10"}
READY = [raw_condition("Ready")]


def _node(name: str, labels: Object, **spec: Any) -> Object:
    return raw_node(name, labels, capacity=CAPACITY, allocatable=CAPACITY, conditions=READY, **spec)


def _bound(name: str, node: str, **more: Any) -> Object:
    status = {"phase": "Running", "conditions": READY}
    spec = {"requests": RESOURCES, "nodeName": node, "terminationGracePeriodSeconds": 30, **more}
    return raw_pod(name, "shop", uid=name, status=status, **spec)


GOING = {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}
OBJECTS = [
    _node("lin", {"kubernetes.io/os": "linux"}),
    _node("win", {"kubernetes.io/os": "windows"}),
    _node("aci", {"kubernetes.io/os": "linux", "type": "virtual-kubelet"}),
    _bound("on-lin", "lin"),
    _bound("on-win", "win"),
    _bound("on-aci", "aci"),
    _bound("leaving", "aci", metadata=GOING),
]


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A cluster of three nodes; one of them runs Linux."""
    return write_cluster(tmp_path / "cluster.json", OBJECTS)


@pytest.mark.parametrize("words", [(), ("-o", "wide")])
@pytest.mark.parametrize("name", ["win", "aci"])
def test_Q2_pod_without_a_linux_kubelet(snapshot: str, name: str, words: tuple[str, ...]) -> None:
    assert not OF_LINUX.search(fine("explain", f"pod/on-{name}", "-n", "shop", "--snapshot", snapshot, *words))
    assert OF_LINUX.search(fine("explain", "pod/on-lin", "-n", "shop", "--snapshot", snapshot, *words))


def test_Q2_windows_is_named(snapshot: str) -> None:
    page = fine("explain", "pod/on-win", "-n", "shop", "--snapshot", snapshot)
    assert "Platform Windows: what its kubelet does" in page


@pytest.mark.parametrize("name", ["on-aci", "leaving"])
def test_T1_virtual_kubelet_has_no_end_time(snapshot: str, name: str) -> None:
    text = fine("explain", f"pod/{name}", "-n", "shop", "--snapshot", snapshot)
    assert "virtual kubelet: what its provider does is unknown" in text
    assert "Stops unknown: a virtual kubelet's provider decides" in text
    assert not TIMES.search(text.replace("Being deleted since 00:00:00 UTC, grace 30 s", ""))


def test_T1_timeline_of_virtual_kubelet_has_no_times(snapshot: str) -> None:
    text = fine("explain", "pod/on-aci", "-n", "shop", "--timeline", "--snapshot", snapshot)
    assert not TIMES.search(text)
    assert "delete is not known: its node is a virtual kubelet" in text


@pytest.mark.parametrize("name", ["on-aci", "leaving"])
def test_F1_force_deletion_on_virtual_kubelet_has_no_times(snapshot: str, name: str) -> None:
    ran = run("delete", f"pod/{name}", "-n", "shop", "--grace-period=0", "--snapshot", snapshot)
    text = " ".join(ran.out.split())
    assert ran.code == 3
    assert "Stops its node is a virtual kubelet: what its provider does is unknown" in text
    assert not re.search(r"may run until|\d s more", text)


def test_T1_windows_kubelet_has_own_eviction_rules(snapshot: str) -> None:
    text = fine("explain", "pod/on-win", "-n", "shop", "--timeline", "--snapshot", snapshot)
    unknown = "Not known evict-hard, evict-soft: it runs on Windows"
    check_texts(text, (unknown, "Deleted now: SIGTERM at once, SIGKILL at 30 s"))


@pytest.mark.parametrize("name", ["win", "aci"])
@pytest.mark.parametrize("words", [("node",), ("explain",)])
def test_Q3_node_without_a_linux_kubelet(snapshot: str, name: str, words: tuple[str, ...]) -> None:
    text = fine(*words, f"node/{name}", "--snapshot", snapshot)
    assert "Platform" in text
    assert not OF_LINUX.search(text)


def test_Q2_range_of_new_pod_excludes_other_platforms(snapshot: str, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(raw_pod("new", "shop", requests=RESOURCES)))
    report = json.loads(fine("explain", "-f", str(manifest), "--snapshot", snapshot, "-o", "json"))
    assert [entry["node"] for entry in report["oom"]] == ["lin"]


@pytest.mark.parametrize("words", [("explain",), ("explain", "--timeline"), ("place",)])
def test_S1_no_remedy_moves_windows_pod_to_linux(words: tuple[str, ...]) -> None:
    out = said(*words, "-f", str(WINDOWS_MANIFEST), "--demo")
    assert "drop spec." not in out
    if words != ("explain", "--timeline"):
        assert not OF_LINUX.search(out)


def test_S1_no_remedy_drops_os_affinity(tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    term = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    manifest.write_text(json.dumps(raw_pod("new", "shop", affinity={"nodeAffinity": required})))
    assert "drop spec." not in run("explain", "-f", str(manifest), "--demo").out


def test_Q2_lint_checks_kernel_rules_of_linux_pods_only(tmp_path: Path) -> None:
    specs: dict[str, Any] = {"win": {"os": {"name": "windows"}}, "lin": {}}
    for name, spec in specs.items():
        manifest = tmp_path / f"{name}.json"
        manifest.write_text(json.dumps(raw_pod(name, "shop", **spec)))
        assert ("best-effort" in run("lint", "-f", str(manifest)).out) is (name == "lin")


def test_Q3_report_ranks_no_pod_of_other_platforms(snapshot: str) -> None:
    page = run("report", "-A", "-o", "-", "--snapshot", snapshot).out
    found = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    ranks = dict(zip(found["pods"]["name"], found["pods"]["adj"], strict=True))
    assert {name for name, adj in ranks.items() if adj is not None} == {"on-lin"}
