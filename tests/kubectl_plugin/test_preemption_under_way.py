"""A pod that waits for its victims to end: the wait leads, and the report does not count the pod as unplaced."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, fine
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_pod

FRAUD_SCORE: Final = "fraud-score-w88lqz7hx-c8z2n"
UNSCHEDULABLE: Final = raw_condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes are available")


def node(ready: str = "True") -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "4Gi", "pods": "110"}
    return raw_node("n1", capacity=amounts, allocatable=amounts, conditions=[raw_condition("Ready", ready)])


VICTIM: Final = raw_pod(
    "low",
    "default",
    uid="low",
    metadata={"deletionTimestamp": "2026-01-01T10:00:30Z", "deletionGracePeriodSeconds": 30},
    requests={"cpu": "3"},
    nodeName="n1",
    priority=1,
    status={"phase": "Running", "conditions": [raw_condition("DisruptionTarget", reason="PreemptionByScheduler")]},
)


def waiting(name: str, *, nominated: str = "", deleted: bool = False, **spec: Any) -> dict[str, Any]:
    """A pod for which the scheduler found no node."""
    metadata = {"deletionTimestamp": "2026-01-01T10:00:30Z", "finalizers": ["example.com/keep"]} if deleted else None
    status: dict[str, Any] = {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
    status |= {"nominatedNodeName": nominated} if nominated else {}
    spec |= {"requests": {"cpu": "3"}, "priority": 10}
    return raw_pod(name, "default", uid=name, metadata=metadata, status=status, **spec)


def ask(tmp_path: Path, objects: Sequence[Mapping[str, Any]], *arguments: str) -> str:
    return fine(*arguments, "--snapshot", write_cluster(tmp_path / "snapshot.json", objects))


def test_P5_wait_leads() -> None:
    ran = run("explain", f"pod/{FRAUD_SCORE}", "-n", "payments", "--demo")
    first = ran.out.splitlines()[1]
    assert first == "! Pending for 43 s: waits for embed-n6d8t to end, by 03:12:18 UTC."
    assert "ay out" not in ran.out
    assert "ays out" not in ran.out


def test_P5_on_a_silent_node_nothing_ends(tmp_path: Path) -> None:
    said = ask(tmp_path, [node("Unknown"), VICTIM, waiting("web", nominated="n1")], "explain", "pod/web")
    assert "Pending: no node fits before low ends on n1. n1 is silent: nothing there ends before it answers." in said
    assert "10:00:30" not in said.partition("Placement")[0]


def test_P5_node_unfit_after_victims_end_is_reported(tmp_path: Path) -> None:
    stays = raw_pod("stays", "default", uid="stays", requests={"cpu": "2"}, nodeName="n1", priority=20)
    said = ask(tmp_path, [node(), VICTIM, stays, waiting("web", nominated="n1")], "explain", "pod/web")
    unfit = "no node fits, and n1 does not fit either once the pods that leave it are gone: Insufficient cpu."
    assert f"Pending: {unfit}" in said


@pytest.mark.parametrize(
    ("pod", "counted"),
    [
        pytest.param(waiting("web"), True, id="no node"),
        pytest.param(waiting("web", nominated="n1"), False, id="preemption under way"),
        pytest.param(waiting("web", nominated="gone"), True, id="nominated to a node that is gone"),
        pytest.param(waiting("web", schedulingGates=[{"name": "example.com/later"}]), False, id="gated"),
        pytest.param(waiting("web", deleted=True), False, id="being deleted"),
    ],
)
def test_P5_report_counts_pods_without_a_place(tmp_path: Path, pod: Mapping[str, Any], counted: bool) -> None:
    page = ask(tmp_path, [node(), VICTIM, pod], "report", "--all", "-o", "-")
    assert (re.search(r"1 pod: no node fits\.", page) is not None) is counted


def test_P5_endless_wait_is_no_placement(tmp_path: Path) -> None:
    objects = [node("Unknown"), VICTIM, waiting("web", nominated="n1")]
    assert "1 pod: no node fits." in ask(tmp_path, objects, "report", "--all", "-o", "-")


def test_P5_demo_report_agrees_with_explain() -> None:
    page = re.sub(r"\s+", " ", run("report", "--all", "--demo", "-o", "-").out)
    check_texts(page, ("2 pods: no node fits.", "waits for embed-n6d8t to end, by 03:12:18 UTC."))
