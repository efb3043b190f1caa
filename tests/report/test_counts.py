"""The page's numbers add up: each pod is counted once, and a node's row agrees with the summary."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from cluster_io.demo import DEMO_NOW, demo_kubelets, demo_objects
from cluster_io.in_memory import MemorySource
from kubectl_plugin.gather.overview import overview, scope_of
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.reports.cluster.cluster_report import cluster_report
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.cluster.cluster_page import (
    budget_words,
    categories,
    findings,
    headline,
    pods_by_severity,
    report_verdict,
    spread_words,
)
from kubectl_plugin.views.node.node_flags import NodeMark, node_flags, node_state
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY, RISK_WORDS
from tests.kubectl_plugin.running import run
from tests.matrix.clusters import NOW, clusters
from tests.objects import raw_condition, raw_node, raw_pod
from tests.report.test_command import Read


def report_of(objects: list[dict[str, object]], now: datetime, **more: object) -> ClusterReport:
    source = MemorySource(objects, description="a cluster", now=now, **more)  # type: ignore[arg-type]  # kubelets
    return cluster_report(overview(scope_of([], everything=True), source).facts)


@pytest.fixture(scope="module")
def reports() -> list[ClusterReport]:
    """The demo cluster, and some by chance."""
    demo = report_of(demo_objects(), datetime.fromisoformat(DEMO_NOW), kubelets=demo_kubelets())
    return [demo, *(report_of(list(one.objects), NOW) for one in clusters(6))]


def test_every_pod_is_counted_once(reports: list[ClusterReport]) -> None:
    for report in reports:
        found = categories(report)
        assert sum(one.pods for one in found) == len(report.pods)
        assert len({one.words for one in found}) == len(found)
        by_risk = Counter(pod.risk for pod in report.pods if pod.risk is not None)
        assert {one.risk: one.pods for one in found if one.risk is not None} == by_risk
        urgent = pods_by_severity(report)
        assert sum(urgent.values()) == len(report.pods)
        assert urgent[Severity.FINE] == len(report.pods) - by_risk.total()


def test_headline_counts_match_the_page(reports: list[ClusterReport]) -> None:
    for report in reports:
        found = findings(report)
        trouble, notice = (sum(one.severity is which for one in found) for which in (Severity.TROUBLE, Severity.NOTICE))
        numbers = [int(number) for number in re.findall(r"\d+", headline(report, found))]
        assert numbers == [len(found), *(number for number in (trouble, notice) if number)]
        of_pods = {one.risk: int(one.fact.split()[0]) for one in found if one.risk is not None}
        assert of_pods == {
            one.risk: one.pods for one in categories(report) if one.risk is not None and one.risk.name != "NODE_DOWN"
        }
        assert all(one.severity is RISK_SEVERITY[one.risk] for one in found if one.risk is not None)


def test_a_node_is_flagged_in_its_row_as_in_the_summary(reports: list[ClusterReport]) -> None:
    for report in reports:
        shown = " ".join(one.fact for one in findings(report))
        marked = Counter(flag.mark for node in report.nodes for flag in node_flags(node))
        for node in report.nodes:
            flags = node_flags(node)
            severity, words = node_state(node)
            assert [flag.words for flag in flags] == ([] if words == "Ready" else words.split("; "))
            assert (severity is Severity.FINE) is not bool(flags)
            of_pods = {NodeMark.NEAR_LIMIT} if _limits_are_shown_by_pods(report) else set()
            if any(marked[flag.mark] == 1 for flag in flags if flag.mark not in of_pods):
                assert node.name in shown


def _limits_are_shown_by_pods(report: ClusterReport) -> bool:
    """Whether every container near its limit belongs to a pod without a worse problem."""
    near = sum(pod.risk is PodRisk.NEAR_LIMIT for pod in report.pods)
    return near == sum(node.near_limit for node in report.nodes)


def test_containers_near_limit_are_reported_by_pods_or_nodes(reports: list[ClusterReport]) -> None:
    by_pods = {True: 0, False: 0}
    for report in reports:
        near = sum(node.near_limit for node in report.nodes)
        of_nodes = [one.fact for one in findings(report) if one.fact.endswith("near the limit.")]
        if near:
            by_pods[not of_nodes] += 1
            assert bool(of_nodes) is not _limits_are_shown_by_pods(report)
    assert all(by_pods.values())


_NODE_FINDINGS = {
    NodeMark.NOT_READY: "not Ready.",
    NodeMark.CPU_FULL: "no cpu left to request.",
    NodeMark.MEMORY_FULL: "no memory left to request.",
    NodeMark.CPU_BEYOND: "cpu requests over 100%.",
    NodeMark.MEMORY_BEYOND: "memory requests over 100%.",
    NodeMark.NEAR_LIMIT: "near the limit.",
    NodeMark.CORDONED: "cordoned.",
    NodeMark.SILENT: "silent.",
}


def test_critical_pod_over_request_is_not_evicted_first() -> None:
    objects = demo_objects()
    for entry in objects:
        if entry["kind"] == "Pod" and entry["metadata"]["name"].startswith("web-"):
            entry["spec"]["priority"] = 2_000_000_000
    report = report_of(objects, datetime.fromisoformat(DEMO_NOW), kubelets=demo_kubelets())
    over = {pod.owner for pod in report.pods if pod.risk is PodRisk.OVER_REQUEST}
    assert over == {"log-agent", "prometheus"}


def test_the_summary_counts_as_many_as_are_flagged(reports: list[ClusterReport]) -> None:
    """Nodes by their rows, budgets and workloads by the rows of their tables."""
    for report in reports:
        facts = [one.fact for one in findings(report)]
        for mark, words in _NODE_FINDINGS.items():
            names = [node.name for node in report.nodes if mark in {flag.mark for flag in node_flags(node)}]
            names = [] if mark is NodeMark.NEAR_LIMIT and _limits_are_shown_by_pods(report) else names
            shown = [one.fact for one in findings(report) if one.risk is None and one.fact.endswith(words)]
            first = [fact.split()[0].rstrip(":") for fact in shown]
            assert first == ([names[0] if len(names) == 1 else str(len(names))] if names else [])
        standings = report.budgets.standings if report.budgets else ()
        refused = sum(budget_words(one)[1].startswith(("not now", "never")) for one in standings)
        assert [int(fact.split()[0]) for fact in facts if "a drain." in fact] == [refused] * bool(refused)
        uneven = sum(spread_words(one)[0] is Severity.NOTICE for one in report.spreads)
        shown = [fact for fact in facts if fact.endswith(("would go with one zone.", "allows a new pod."))]
        assert sum(int(fact.split()[0]) for fact in shown) == (uneven if len(report.zones) > 1 else 0)


def test_the_data_count_as_the_page_does(demo: Path) -> None:
    shown = json.loads(run("report", "-A", "--demo", "-o", "json").out)
    said = Read(demo.read_text(encoding="utf-8")).said
    assert f"{shown['verdict']['text']} Nodes ready" in said
    assert f"{shown['verdict']['severity']} node-c3" in said
    table = re.search(r"What Pods How urgent (.*?) all pods (\d+)", said)
    assert table is not None
    for name, count in Counter(one["risk"] for one in shown["pods"] if one["risk"]).items():
        risk = PodRisk(name)
        assert f"{RISK_WORDS[risk]} {count} {RISK_SEVERITY[risk].value}" in table[1]
    assert int(table[2]) == len(shown["pods"])
    ready = sum(one["ready"] == "True" and not one["down"] for one in shown["nodes"])
    assert f"Nodes ready {ready} of {len(shown['nodes'])}" in said
    well = sum(one["severity"] == "fine" for one in shown["workloads"])
    assert f"{well} workloads with all pods well" in said


def test_requests_above_allocatable(reports: list[ClusterReport], demo: Path) -> None:
    [node] = [node for node in reports[0].nodes if node.name == "node-a3"]
    assert [flag.mark for flag in node_flags(node)] == [NodeMark.MEMORY_BEYOND, NodeMark.NEAR_LIMIT]
    said = Read(demo.read_text(encoding="utf-8")).said
    assert "node-a3: memory requests over 100%. 112% of allocatable." in said
    assert "node-a3 notice memory requests 112%; 1 container near its limit eu-1a" in said


@pytest.mark.parametrize(
    ("left", "mark", "severity", "words"),
    [
        pytest.param(-1, NodeMark.EVICTING, Severity.TROUBLE, "evicting", id="met"),
        pytest.param(2, NodeMark.CLOSE_TO_EVICTION, Severity.TROUBLE, "near eviction", id="below 3 percent"),
        pytest.param(3, NodeMark.NEAR_EVICTION, Severity.NOTICE, "near eviction", id="3 percent"),
        pytest.param(9, NodeMark.NEAR_EVICTION, Severity.NOTICE, "near eviction", id="below 10 percent"),
        pytest.param(10, None, Severity.FINE, "Ready", id="10 percent"),
    ],
)
def test_headroom_is_as_urgent_as_it_is_near(
    reports: list[ClusterReport], left: int, mark: NodeMark | None, severity: Severity, words: str
) -> None:
    """In the row, in the summary and in the verdict of the data."""
    [node] = [node for node in reports[0].nodes if node.name == "node-a2"]
    assert node.nearest is not None
    level = replace(node.nearest, percent=left, left=left << 30, met=left < 0)
    near = replace(node, nearest=level, near_limit=0, memory=replace(node.memory, allocatable=1 << 40))
    assert ([flag.mark for flag in node_flags(near)], node_state(near)) == ([mark] if mark else [], (severity, words))
    report = replace(reports[0], nodes=(near,), pods=(), budgets=None, zones=(), partitions=None)
    shown = [(one.severity, one.fact.split()[0]) for one in findings(report)]
    assert shown == ([(severity, "node-a2")] if mark else [])
    assert report_verdict(report).severity is severity


def test_failed_pod_is_trouble_and_silent_kubelet_is_not() -> None:
    failed = raw_pod("job-x", requests={"cpu": "1"}, status={"phase": "Failed"})
    node = raw_node("n1", allocatable={"pods": "9"}, conditions=[raw_condition("Ready")])
    for pods, severity in (([failed], Severity.TROUBLE), ([], Severity.FINE)):
        report = report_of([node, *pods], NOW)
        assert report_verdict(report).severity is severity
        assert [one.fact for one in findings(report)] == ["1 pod: failed."] * len(pods)
        assert pods_by_severity(report)[Severity.TROUBLE] == len(pods)
        [entry] = report.nodes
        assert (entry.nearest, node_state(entry)) == (None, (Severity.FINE, "Ready"))
        assert [(one.node, one.path) for one in report.unread if one.resource == "nodes/proxy"] == [
            ("n1", "stats/summary")
        ]


def test_the_tiles_are_the_categories(demo: Path) -> None:
    said = Read(demo.read_text(encoding="utf-8")).said
    tiles = re.search(r"Pods in trouble (\d+) of (\d+) Pods with a notice (\d+) and (\d+) fine", said)
    table = re.search(r"What Pods How urgent (.*?) all pods (\d+)", said)
    assert tiles is not None
    assert table is not None
    rows = re.findall(r"(\d+) (trouble|notice|fine)", table[1])
    sums = {
        word: sum(int(count) for count, urgency in rows if urgency == word) for word in ("trouble", "notice", "fine")
    }
    assert [int(number) for number in tiles.groups()] == [sums["trouble"], int(table[2]), sums["notice"], sums["fine"]]
    assert sum(sums.values()) == int(table[2])


def test_pods_have_status_restarts_age_and_cpu(reports: list[ClusterReport], demo: Path) -> None:
    pods = {pod.key: pod for pod in reports[0].pods}
    raw = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one for one in demo_objects() if one["kind"] == "Pod"
    }
    data = Read(demo.read_text(encoding="utf-8")).data
    now = datetime.fromisoformat(DEMO_NOW).astimezone(UTC)
    for row, name in enumerate(data["pods"]["name"]):
        key = data["texts"][data["pods"]["namespace"][row]], name
        created = datetime.fromisoformat(raw[key]["metadata"]["creationTimestamp"])
        assert data["pods"]["age"][row] == int((now - created).total_seconds())
        assert data["texts"][data["pods"]["state"][row]] == pods[key].status
        assert data["pods"]["cpuUsed"][row] == pods[key].cpu_used
    silent = [pod for pod in reports[0].pods if pod.node == "node-c3"]
    assert all(pod.cpu_used is None for pod in silent), "it was not measured"
    assert any(pod.restarts and pod.last_restart for pod in reports[0].pods)
    measured = sum(pod.cpu_used or 0 for pod in reports[0].pods if pod.node == "node-a1")
    [node] = [node for node in reports[0].nodes if node.name == "node-a1"]
    assert 0 < measured < (node.cpu.used or 0)


def test_head_names_the_question_time_and_user(demo: Path) -> None:
    said = Read(demo.read_text(encoding="utf-8")).said
    assert re.search(
        r"the demo cluster, Kubernetes v1\.36\.3, 2026-10-17 03:11:00 UTC; written by kubectl-qos \d+\.\d+", said
    )
