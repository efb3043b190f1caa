"""``kubectl qos node`` for several or all nodes: one line each, the nearest to an eviction first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from cluster_io.demo import demo_objects
from kubectl_plugin.render.page import Table
from kubectl_plugin.reports.node.node_pressure import NodePressureReport, node_use
from kubectl_plugin.reports.node.node_report import ThresholdReport
from kubectl_plugin.reports.schema import schema_of
from kubectl_plugin.views.node.node_lines import NodeLines
from podrules.node.eviction.thresholds import NodeCondition, Signal
from podrules.node.pressure.usage import UsageSource
from podrules.pod.platform import Platform
from tests.golden import check
from tests.kubectl_plugin.answers import data, said
from tests.kubectl_plugin.edits import GOLDEN
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod

NOW: Final = datetime(2026, 10, 17, 3, 11, tzinfo=UTC)
"""The nodes of the demo."""
ALL: Final = sorted(entry["metadata"]["name"] for entry in demo_objects() if entry["kind"] == "Node")


def _rows(text: str) -> list[list[str]]:
    """The rows of the table without their marks and bars; without its headings and the lines below a row."""
    lines = text.split("\n\n")[1].splitlines()[1:]
    return [re.sub(r" \[[#-]+\] ", " ", line).split()[1:] for line in lines if not line.startswith(" ")]


def _on(tmp_path: Path, objects: Sequence[Mapping[str, Any]], *arguments: str) -> Ran:
    snapshot = write_cluster(tmp_path / "snapshot.json", objects)
    return run("node", *arguments, "--snapshot", snapshot)


def _node(name: str, *, ready: str = "True") -> dict[str, Any]:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return raw_node(name, capacity=room, allocatable=room, conditions=[raw_condition("Ready", ready)])


def _pod(name: str, node: str) -> dict[str, Any]:
    requests = {"memory": "2Gi"}
    return raw_pod(name, "default", uid=name, requests=requests, nodeName=node, status={"phase": "Running"})


def _measured(name: str, memory: str, pod: str = "") -> dict[str, Any]:
    kind = "PodMetrics" if pod else "NodeMetrics"
    entry: dict[str, Any] = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": kind, "metadata": {"name": pod or name}}
    if not pod:
        return {**entry, "usage": {"memory": memory}}
    entry["metadata"]["namespace"] = "default"
    return {**entry, "containers": [{"name": "app", "usage": {"memory": memory}}]}


def _report(name: str = "node-b1") -> NodePressureReport:
    return msgspec.json.decode(run("node", name, "--demo", "-o", "json").out, type=NodePressureReport)


def _with(report: NodePressureReport, **changed: Any) -> NodePressureReport:
    changed_report = replace(report, **changed)
    return replace(changed_report, promised=replace(changed_report.promised, usage=node_use(changed_report)))


def _cells(report: NodePressureReport) -> dict[str, str]:
    """A node's row by heading."""
    lines = NodeLines(NOW)
    lines.add(report)
    [table] = [part for part in lines.page(by_trouble=True).parts if isinstance(part, Table)]
    return dict(zip(table.headings, table.rows[0], strict=True))


@pytest.mark.parametrize("columns", [80, 200])
def test_all_nodes(columns: int) -> None:
    ran = run("node", "--demo", env={"COLUMNS": str(columns)})
    assert (ran.code, ran.err) == (0, "")
    assert max(len(line) for line in ran.out.splitlines() if "kubectl " not in line) <= columns
    check(GOLDEN / f"qos-nodes-{columns}.txt", ran.out)


def test_nodes_are_sorted_by_severity_then_headroom() -> None:
    rows = _rows(run("node", "--demo").out)
    assert sorted(row[0] for row in rows) == sorted(ALL)
    assert rows[0][:3] == ["node-c3", "NodeDown", "unknown"]
    assert rows[-1][:3] == ["node-b4", "Ready", "unknown"]
    severities = {one: data("node", one, "--demo")["verdict"]["severity"] for one in ALL}
    order = [severities[row[0]] for row in rows]
    assert order == sorted(order, key=["trouble", "notice", "fine"].index)
    for severity in ("notice", "fine"):
        known = [row for row in rows[1:-1] if severities[row[0]] == severity]
        percents = [int(row[3].removesuffix("%")) for row in known]
        assert len(percents) > 2
        assert percents == sorted(percents)


def test_row_of_the_nearest_node_names_the_pod_evicted_first() -> None:
    rows = [row for row in _rows(run("node", "--demo").out) if row[2] != "unknown"]
    assert rows[0][:4] == ["node-a1", "Ready", "1.9Gi", "6%"]
    assert rows[0][5] == "shop/recommend-27tvm5xll-5mzzd"
    others = _rows(run("node", "node-b1", "node-c3", "node-b2", "--demo").out)
    assert others[0][:4] + others[0][5:] == ["node-b1", "Ready", "10.3Gi", "34%", "monitoring/log-agent-rm99l"]
    unknown = [row[2:3] + row[4:] for row in _rows(run("node", "node-c3", "node-b4", "--demo").out)]
    assert unknown == [["unknown", "unknown", "unknown"]] * 2


def test_line_counts_what_does_not_fit() -> None:
    counts = {name: _cells(_report(name))["VERDICT"].partition("; ")[2] for name in ALL}
    assert {name: more for name, more in counts.items() if more} == dict.fromkeys(
        ("node-a1", "node-a3"), "1 more finding"
    )
    assert said("explain", "nodes", "--demo").count("; 1 more finding") == 2


@pytest.mark.parametrize("name", ALL)
def test_line_agrees_with_the_page(name: str) -> None:
    report = _report(name)
    cells, page = _cells(report), said("node", name, "--demo")
    verdict = data("node", name, "--demo")["verdict"]
    # Other columns show the state and the headroom.
    in_columns = {"Cordoned": "", "NodeSilent": "its pods may still run", "NearEviction": "near an eviction"}
    first = cells["VERDICT"].partition("; ")[0]
    assert first == in_columns.get(verdict["code"], first)
    assert verdict["code"] in in_columns or first in page
    assert verdict["code"] == "Cordoned" or bool(first) is (verdict["severity"] != "fine")
    if cells["HEADROOM"] == "unknown":
        assert cells["EVICTED-FIRST"] == cells["KILLED-FIRST"] == "unknown"
        assert "Usage is unknown" in page
        return
    amount, percent = cells["HEADROOM"].split()
    assert f"{'Near an eviction' if verdict['code'] == 'NearEviction' else 'Headroom'}: {amount} ({percent})" in page
    container = cells["KILLED-FIRST"].rpartition(" ")
    assert f"the kernel kills container {container[2]} of {container[0]} first" in page
    going = "that pod" if cells["EVICTED-FIRST"] == container[0] else cells["EVICTED-FIRST"]
    assert f"the kubelet evicts {going} before that" in page


def test_json_is_a_list_of_single_node_reports() -> None:
    listed = data("node", "--demo")
    assert (listed["apiVersion"], listed["kind"]) == ("kubectl-qos/v1", "List")
    assert [entry["name"] for entry in listed["items"]] == ALL
    validator = jsonschema.Draft202012Validator(schema_of("NodePressure"))
    for entry in listed["items"]:
        validator.validate(entry)
        alone = data("node", entry["name"], "--demo")
        assert entry["verdict"] == alone["verdict"]
        assert entry["promised"]["usage"] == alone["promised"]["usage"]
        assert [one["places"] for one in entry["oom"]] == [one["places"] for one in alone["oom"]]


def test_wide_shows_pages_and_name_output_shows_names() -> None:
    wide = run("node", "--demo", "-o", "wide").out
    assert [line for line in wide.splitlines() if line.startswith("node/")] == [f"node/{name}" for name in ALL]
    assert run("node", "--demo", "-o", "name").out.split() == [f"node/{name}" for name in ALL]


@pytest.mark.parametrize(
    "words", [("node-c4", "node-a1"), ("node/node-c4", "no/node-a1"), ("nodes", "node-c4", "node-a1", "node-c4")]
)
def test_names_keep_their_order(words: tuple[str, ...]) -> None:
    assert [row[0] for row in _rows(run("node", *words, "--demo").out)] == ["node-c4", "node-a1"]


def test_selection_has_lines_too() -> None:
    rows = _rows(run("node", "-l", "topology.kubernetes.io/zone=eu-1c", "--demo").out)
    assert [row[0] for row in rows] == ["node-c3", "node-c2", "node-c1", "node-c4"]


def test_missing_node_is_reported_beside_the_other() -> None:
    ran = run("node", "node-a1", "gone", "node-b4", "--demo")
    alone = run("node", "gone", "--demo")
    assert (ran.code, ran.err) == (alone.code, alone.err)
    assert alone.code == 3
    assert alone.err.startswith('error: no node "gone"\n')
    assert [row[0] for row in _rows(ran.out)] == ["node-a1", "node-b4"]


def test_empty_cluster(tmp_path: Path) -> None:
    assert _on(tmp_path, [_pod("web", "")]) == (0, "", "No resources found.\n")
    assert json.loads(_on(tmp_path, [_pod("web", "")], "-o", "json").out)["items"] == []


def test_one_node_has_its_page(tmp_path: Path) -> None:
    objects = [_node("n1"), _pod("web", "n1")]
    assert _on(tmp_path, objects) == _on(tmp_path, objects, "n1")
    assert _on(tmp_path, objects).out.startswith("node/n1\n")


def test_usage_that_is_not_known_is_not_guessed(tmp_path: Path) -> None:
    ran = _on(tmp_path, [_node("n2"), _node("n1"), _pod("web", "n1"), _pod("db", "n2")])
    assert (ran.code, ran.err) == (0, "")
    assert [row[:5] for row in _rows(ran.out)] == [
        ["n1", "Ready", "unknown", "25%", "unknown"],
        ["n2", "Ready", "unknown", "25%", "unknown"],
    ]
    assert "usage of 2 nodes is unknown (why: -o wide)" in ran.out


def test_usage_of_a_metrics_api_gives_the_order(tmp_path: Path) -> None:
    """A node near an eviction, one far from it, one that is unknown, and one that is not Ready."""
    nodes = [_node("far"), _node("near"), _node("unknown"), _node("down", ready="False")]
    pods = [_pod("web", "far"), _pod("db", "near")]
    usage = [
        *(_measured("far", "1Gi"), _measured("near", "7600Mi")),
        *(_measured("far", "512Mi", "web"), _measured("near", "7Gi", "db")),
    ]
    ran = _on(tmp_path, [*nodes, *pods, *usage])
    assert [row[:5] for row in _rows(ran.out)] == [
        ["down", "NotReady", "unknown", "0%", "unknown"],
        ["near", "Ready", "492Mi", "6%", "25%"],
        ["far", "Ready", "6.9Gi", "86%", "25%"],
        ["unknown", "Ready", "unknown", "0%", "unknown"],
    ]
    assert [row[5] for row in _rows(ran.out)[1:3]] == ["default/db", "default/web"]


def test_kubelets_of_many_nodes_are_not_asked(tmp_path: Path) -> None:
    objects = [_node(f"n{number}") for number in range(61)]
    reasons = {entry["unread"][-1]["reason"] for entry in json.loads(_on(tmp_path, objects, "-o", "json").out)["items"]}
    assert reasons == {"of more than 60 nodes the kubelets are not asked one by one"}


def test_threshold_that_is_met_leaves_nothing() -> None:
    report = _report()
    met = [
        replace(one, met=one.signal is Signal.MEMORY_AVAILABLE, headroom="-1", headroom_percent=-1)
        for one in report.thresholds
    ]
    under_pressure = _with(report, thresholds=tuple(met))
    cells = _cells(under_pressure)
    assert (cells["STATE"], cells["HEADROOM"]) == ("Evicting", "none")
    assert cells["VERDICT"].startswith("Under pressure: memory.available is ")
    lines = NodeLines(NOW)
    for one in (_report("node-a1"), under_pressure):
        lines.add(one)
    [table] = [part for part in lines.page(by_trouble=True).parts if isinstance(part, Table)]
    first = dict(zip(table.headings, table.rows[0], strict=True))
    assert (first["NODE"], first["HEADROOM"], first["EVICTED-FIRST"]) == (
        "node-b1",
        "none",
        "monitoring/log-agent-rm99l",
    )


def _left(report: NodePressureReport, **percents: int) -> tuple[ThresholdReport, ...]:
    """Thresholds with this much left of memory and of the node's disk."""
    names = {Signal.MEMORY_AVAILABLE: "memory", Signal.NODE_FS_AVAILABLE: "disk"}
    found = [(one, names.get(one.signal)) for one in report.thresholds]
    return tuple(replace(one, headroom_percent=percents[name]) for one, name in found if name in percents)


@pytest.mark.parametrize(
    ("percents", "shown"),
    [
        ({"memory": 40, "disk": 5}, "nodefs 5%"),
        ({"memory": 4, "disk": 5}, "4%"),
        ({"memory": 40, "disk": 12}, "40%"),
        ({"disk": 60}, "nodefs 60%"),
    ],
    ids=str,
)
def test_disk_that_is_nearer_is_named(percents: dict[str, int], shown: str) -> None:
    report = _report()
    words = _cells(_with(report, thresholds=_left(report, **percents)))["HEADROOM"].split()
    assert " ".join([*words[:-2], words[-1]]) == shown


def test_node_conditions_and_unknown_state() -> None:
    report = _report()
    pressed = replace(report.promised, pressures=(NodeCondition.MEMORY_PRESSURE,))
    assert _cells(replace(report, promised=pressed))["STATE"] == "MemoryPressure"
    unread = _cells(replace(report, promised=replace(report.promised, pods=None, resources=())))
    assert [unread[name] for name in ("MEM-REQ", "EVICTED-FIRST", "KILLED-FIRST")] == ["unknown"] * 3
    assert unread["VERDICT"] == "The kill and eviction orders are unknown: its pods could not be read"
    assert _cells(_with(report, thresholds=()))["HEADROOM"] == "no threshold"
    elsewhere = {"thresholds": (), "oom": (), "evictions": ()}
    windows = _cells(_with(report, platform=Platform.WINDOWS, **elsewhere))
    assert [windows[name] for name in ("HEADROOM", "EVICTED-FIRST", "KILLED-FIRST")] == ["unknown"] * 3
    unmeasured = _cells(_with(report, usage_source=UsageSource.NONE, **elsewhere))
    assert [unmeasured[name] for name in ("HEADROOM", "EVICTED-FIRST", "KILLED-FIRST")] == ["unknown"] * 3
