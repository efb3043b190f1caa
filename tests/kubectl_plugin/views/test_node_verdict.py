"""The verdict on a node depends on its conditions, headroom, requests and container limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from cluster_io.demo import demo_objects
from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.cluster.cluster_entries import NodeEntry
from kubectl_plugin.reports.node.node_pressure import NodePressureReport
from kubectl_plugin.reports.node.node_report import NodeReport
from kubectl_plugin.reports.steps import StepOutcome
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.node.node_flags import node_state
from kubectl_plugin.views.node.node_page import node_verdict
from kubectl_plugin.views.node.node_pressure import node_pressure_verdict
from kubectl_plugin.views.steps import outcome_verdict
from kubectl_plugin.views.targets import TargetTable
from podrules.node.pressure.usage import Nearness, headroom_nearness, is_near_limit
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import find
from tests.kubectl_plugin.running import run

NODES: Final = sorted(entry["metadata"]["name"] for entry in demo_objects() if entry["kind"] == "Node")


def _promised() -> NodeReport:
    return msgspec.json.decode(run("explain", "--demo", "node/node-b1", "-o", "json").out, type=NodeReport)


def _pressed(name: str = "node-b1") -> NodePressureReport:
    return msgspec.json.decode(run("node", "--demo", name, "-o", "json").out, type=NodePressureReport)


@pytest.mark.parametrize(
    ("percent", "met", "nearness"),
    [
        (10, False, Nearness.FAR),
        (9, False, Nearness.NEAR),
        (3, False, Nearness.NEAR),
        (2, False, Nearness.CLOSE),
        (0, False, Nearness.CLOSE),
        (-1, True, Nearness.MET),
    ],
)
def test_how_near_a_threshold_is(percent: int, met: bool, nearness: Nearness) -> None:
    assert headroom_nearness(percent, met=met) is nearness


@pytest.mark.parametrize(("used", "near"), [(None, False), (94, False), (95, True), (101, True)])
def test_containers_near_a_limit(used: int | None, near: bool) -> None:
    assert is_near_limit(used, 100) is near
    assert not is_near_limit(used, 0)


@pytest.mark.parametrize(
    ("percent", "code", "severity"),
    [
        (40, VerdictCode.READY, Severity.FINE),
        (6, VerdictCode.NEAR_EVICTION, Severity.NOTICE),
        (2, VerdictCode.NEAR_EVICTION, Severity.TROUBLE),
    ],
)
@pytest.mark.parametrize("memory", [True, False])
def test_node_is_judged_by_its_headroom(percent: int, code: VerdictCode, severity: Severity, memory: bool) -> None:
    report = _pressed()
    far = [replace(one, headroom_percent=50, met=False) for one in report.thresholds]
    near = [
        replace(one, headroom_percent=percent) if one.signal.is_memory is memory and one.hard else one for one in far
    ]
    shown = node_pressure_verdict(replace(report, thresholds=tuple(near), oom=report.oom[:1]), None)
    assert (shown.code, shown.severity) == (code, severity)
    if memory:
        lead = "Headroom" if severity is Severity.FINE else "Near an eviction"
        assert re.search(rf"{lead}: \S+ \({percent}%\) until the first eviction", " ".join(shown.sentences))


def test_node_without_trouble_shows_none() -> None:
    shown = node_pressure_verdict(replace(_pressed(), oom=_pressed().oom[:1]), None)
    assert (shown.code, shown.severity) == (VerdictCode.READY, Severity.FINE)


@pytest.mark.parametrize(
    ("changed", "code", "severity"),
    [
        ({}, VerdictCode.READY, Severity.FINE),
        ({"unschedulable": True}, VerdictCode.CORDONED, Severity.NOTICE),
        ({"ready": "False"}, VerdictCode.NODE_NOT_READY, Severity.TROUBLE),
        ({"pods_full": True}, VerdictCode.NODE_FULL, Severity.NOTICE),
        ({"pods": None}, VerdictCode.PODS_UNREAD, Severity.NOTICE),
        ({"pods": None, "ready": "False"}, VerdictCode.NODE_NOT_READY, Severity.TROUBLE),
    ],
    ids=str,
)
def test_codes_of_a_node(changed: dict[str, Any], code: VerdictCode, severity: Severity) -> None:
    shown = node_verdict(replace(_promised(), **changed), None)
    assert (shown.code, shown.severity) == (code, severity)
    assert all(sentence.endswith(".") for sentence in shown.sentences)


@pytest.mark.parametrize("outcome", StepOutcome)
def test_change_is_described_by_its_outcome(outcome: StepOutcome) -> None:
    shown = outcome_verdict(outcome, ("It is so.",))
    assert shown == Verdict(VerdictCode(outcome.value), shown.severity, ("It is so.",))


@pytest.mark.parametrize("name", ["node-a1", "node-b1", "node-c3"])
def test_first_screen_has_verdict_and_first_victims(name: str) -> None:
    screen = run("node", name, "--demo").out.splitlines()[:24]
    text = " ".join(" ".join(screen).split())
    assert re.search(r"Kernel OOM order.* container 1 \d+ .*/.* 2 \d+ .*/", text)
    assert re.search(r"(Headroom|Near an eviction): ", text) or name == "node-c3"
    assert "Eviction order for memory" in text or name == "node-c3"
    assert "why ahead" not in text


def test_old_headings_are_removed() -> None:
    shown = run("node", "node-a1", "--demo", "-o", "wide").out
    check_texts(shown, ("why ahead", ": tie,"))
    assert "what puts it before" not in " ".join(shown.split())
    assert "equal" not in shown


def _codes(*arguments: str) -> tuple[str, str]:
    verdict = data(*arguments)["verdict"]
    return verdict["code"], verdict["severity"]


@pytest.mark.parametrize("name", NODES)
def test_both_pages_of_a_node_agree(name: str) -> None:
    asked = ("node", name, "--demo"), ("explain", f"node/{name}", "--demo")
    node, explained = (_codes(*words) for words in asked)
    assert node == explained
    pages = [said(*words) for words in asked]
    report = msgspec.json.decode(run("node", name, "--demo", "-o", "json").out, type=NodePressureReport)
    deciding = node_pressure_verdict(report, None).sentences[0].partition(" since ")[0]
    if node[1] != "fine":
        assert all(deciding in page for page in pages)


def test_demo_has_nodes_of_several_codes() -> None:
    listed = data("explain", "nodes", "--demo")["items"]
    assert {entry["verdict"]["code"] for entry in listed} == {
        *("Ready", "NearEviction", "NearMemoryLimit", "RequestsOverAllocatable", "Cordoned", "NodeSilent")
    }
    assert [(entry["verdict"]["code"], entry["verdict"]["severity"]) for entry in listed] == [
        _codes("node", entry["name"], "--demo") for entry in listed
    ]


@pytest.mark.parametrize(
    ("ready", "renewed", "fenced", "code", "severity", "of_all"),
    [
        pytest.param("False", True, False, "NodeNotReady", "trouble", "NodeNotReady", id="not ready"),
        pytest.param("Unknown", False, False, "NodeSilent", "trouble", "NodesLost", id="silent"),
        pytest.param("Unknown", False, True, "NodeOutOfService", "trouble", "NodesLost", id="out of service"),
        pytest.param("Unknown", True, True, "NodeBack", "trouble", "NodesLost", id="back"),
        pytest.param("Unknown", True, False, "NodeReturning", "notice", "NodesLost", id="returning"),
    ],
)
def test_partitions_is_as_urgent_as_the_node(
    ready: str, renewed: bool, fenced: bool, code: str, severity: str, of_all: str, tmp_path: Path
) -> None:
    objects = demo_objects()
    node = find(objects, "Node/node-c3")
    if renewed:
        find(objects, "Lease/node-c3")["spec"]["renewTime"] = "2026-10-17T03:10:58.318442Z"
    [condition] = [one for one in node["status"]["conditions"] if one["type"] == "Ready"]
    condition["status"] = ready
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    node["spec"]["taints"] += [taint] if fenced else []
    file = write_list(tmp_path / "cluster.json", objects)
    source = ("--snapshot", file)
    assert _codes("node", "node-c3", *source) == _codes("explain", "node/node-c3", *source) == (code, severity)
    assert _codes("partitions", *source) == (of_all, severity)


def test_live_list_shows_that_usage_was_not_read() -> None:
    """`explain pods` does the same: each node would need its own requests."""
    shown = node_verdict(replace(_promised(), usage=None), None)
    assert (shown.code, shown.severity) == (VerdictCode.READY, Severity.FINE)
    assert shown.sentences[-1] == "Its usage was not read: use kubectl qos node."
    table = TargetTable(None)
    table.add(replace(_promised(), usage=None), "node/node-b1")
    [total] = [part for part in table.page(by_trouble=True, every=True).parts if isinstance(part, Section)]
    assert "usage was not read: use kubectl qos node" in total.lines


def test_report_is_as_urgent_about_a_node_as_its_page() -> None:
    found = data("report", "-A", "--demo")
    nodes = msgspec.convert(found["nodes"], tuple[NodeEntry, ...])
    reported = {node.name: node_state(node)[0].value for node in nodes}
    listed = data("node", "--demo")["items"]
    assert reported == {item["name"]: item["verdict"]["severity"] for item in listed}
