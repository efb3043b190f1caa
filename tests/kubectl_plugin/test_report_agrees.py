"""The report shows as much trouble of each pod as the pod's page, and lists the worst first."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from cluster_io.errors import Forbidden
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import PODS, Kind
from kubectl_plugin import cli
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import find
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_container, raw_node, raw_pod

STATES: Final = str(Path(__file__).parents[1] / "testdata/cases/cli/states.json")
NEEDS_USAGE: Final = frozenset({"OverRequest"})
"""The summary considers usage on the whole node: the pod's own page shows it with the order of eviction."""
OF_THE_NODE: Final = frozenset({"NodePressure", "NodeNotReady"})
"""Trouble of the node is shown once, for the node, and not for each pod there."""


@pytest.mark.parametrize("source", [("--demo",), ("--snapshot", STATES)], ids=["demo", "states"])
def test_report_is_as_urgent_about_a_pod_as_its_explanation(source: tuple[str, ...]) -> None:
    report = data("report", "--all", *source)
    assert report["pods"]
    for pod in report["pods"]:
        page = data("explain", f"pod/{pod['name']}", "-n", pod["namespace"], *source)
        verdict: dict[str, Any] = page["verdict"]
        risk = pod.get("risk")
        if risk in NEEDS_USAGE or verdict["code"] in OF_THE_NODE:
            continue
        severity = RISK_SEVERITY[PodRisk(risk)] if risk else Severity.FINE
        assert severity.value == verdict["severity"], (pod["name"], risk, verdict)


def test_risks_are_in_the_order_of_their_urgency() -> None:
    order = list(Severity)
    places = [order.index(RISK_SEVERITY[risk]) for risk in PodRisk]
    assert places == sorted(places, reverse=True)


def test_summary_names_pods_and_next_commands() -> None:
    page = said("report", "-A", "--demo")
    assert "2 pods: no node fits shop/checkout-mv9cgvs6p-x2x7p and ml/trainer-v9c4m x" in page
    assert re.search(r"17 pods: over memory request (\S+/\S+, ){2}\S+/\S+ and 14 more !", page)
    assert page.endswith("Next kubectl qos partitions --demo kubectl qos explain pod/trainer-v9c4m -n ml --demo")
    # On the HTML page the finding leads to the list.
    assert "and ml/trainer-v9c4m" not in run("report", "-A", "-o", "-", "--demo").out


def test_report_has_one_row_for_each_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    brief, wide = run("report", "--demo").out, run("report", "--demo", "-o", "wide").out
    assert len(brief.splitlines()) <= 30
    marks = re.findall(r"^(x|!|ok) ", brief.partition("\n\n")[2], re.MULTILINE)
    assert marks == ["x"] * 3 + ["!"] * 8 + ["ok"]
    assert "\nx 11 findings: 3 trouble, 8 notice.\n" in brief
    assert "\nok 20 of 35 pods: running\n" in brief
    assert "each counted once" not in brief
    monkeypatch.setenv("COLUMNS", "40")
    assert "\nok 84 of 126 pods: 83 running, 1\n   finished\n" in run("report", "-A", "--demo").out
    check_texts(wide, ("Pods, each counted once", "ok running                  20", "Evicted first", "-r4tzc"))


def test_next_command_names_worst_answering_node(tmp_path: Path) -> None:
    objects = [entry for entry in demo_objects() if entry["kind"] == "Node" and entry["metadata"]["name"] != "node-c3"]
    for entry in objects:
        entry["spec"].pop("unschedulable", None)
    find(objects, "Node/node-b2")["spec"]["unschedulable"] = True
    lines = run("report", "-A", "--snapshot", write_list(tmp_path / "cluster.json", objects)).out.splitlines()
    assert lines[-1].split()[:5] == ["Next", "kubectl", "qos", "node", "node-b2"]


def test_report_and_list_agree_on_pods_of_silent_node() -> None:
    there = "9 pods there: 5 depend on it, 4 belong to it (DaemonSets, static pods)."
    assert there in said("report", "-A", "--demo")
    counts = "4 on silent nodes, 7 terminating (5 on silent nodes)"
    assert counts in said("explain", "pods", "-A", "--demo")
    pods = data("report", "-A", "--demo")["pods"]
    ending = [pod["risk"] for pod in pods if pod["phase"] == "Terminating"]
    assert sorted(ending) == ["Kept", *["NodeDown"] * 5, "Terminating"]


def test_partial_report_shows_where_it_counts_others() -> None:
    others = "All pods there are counted."
    asked = said("report", "-n", "shop", "--demo")
    check_texts(asked, (f"what still runs there. {others}", f"at the limit the kernel kills it. {others}"))
    assert others not in said("report", "-A", "--demo")


def test_faulty_pods_of_list_are_risks_in_report() -> None:
    """Except for pods that the list counts in one line: over their memory request, with one."""
    pods = data("report", "-A", "--demo")["pods"]
    # The agents of all nodes are the BestEffort pods.
    early = [pod for pod in pods if pod["risk"] == "OverRequest" and pod["owner"] != "log-agent"]
    wrong = {f"{pod['namespace']}/{pod['name']}" for pod in pods if pod["risk"] and pod not in early}
    listed = run("explain", "pods", "-A", "--demo").out
    rows = listed.splitlines()
    faulty = {row.split()[1] for row in rows[1:] if row[:3] in {"x  ", "!  "}}
    assert faulty == wrong
    assert rows[0] == f"x {len(wrong)} of {len(pods)} pods have something wrong."
    assert f"{len(early)} more over memory request" in " ".join(listed.split())


def test_container_near_its_limit_is_named_once_by_its_pod() -> None:
    of_nodes = "5 nodes: 5 containers near the limit Working set at 95% or more"
    assert "5 pods: near the memory limit shop/recommend-" in said("report", "-A", "--demo")
    assert of_nodes not in said("report", "-A", "--demo")
    # The nodes include the pods that were not selected.
    assert of_nodes in said("report", "-n", "kube-system", "--demo")
    assert "pods: near the memory limit" not in said("report", "-n", "kube-system", "--demo")


def test_unreadable_namespaces_leave_room_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = raw_condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes are available: no.")
    objects = [
        raw_node("one", allocatable={"cpu": "4", "memory": "8Gi", "pods": "9"}),
        raw_pod("full", "theirs", nodeName="one", containers=[raw_container(requests={"cpu": "3"})]),
        raw_pod("wide", "ours", containers=[raw_container(requests={"cpu": "2"})], status={"conditions": [waits]}),
    ]
    source = MemorySource(objects, description="the cluster", namespace="ours")
    read = source.list

    def of_namespace(kind: Kind[Any], namespace: str | None = None, **named: Any) -> Any:
        if kind is PODS and namespace is None:
            raise Forbidden("list", kind, None, "no")
        return read(kind, namespace, **named)

    monkeypatch.setattr(source, "list", of_namespace)
    monkeypatch.setattr(cli, "source_of", lambda _cluster, _err: contextlib.nullcontext(source))
    report, page = run("report", "-n", "ours"), run("explain", "pod/wide", "-n", "ours")
    assert "1 pod: no node fits" in report.out
    assert "no node fits" in page.out
    assert (report.code, page.code) == (11, 11)
