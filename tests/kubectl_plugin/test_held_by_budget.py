"""Pods that a PodDisruptionBudget keeps from an eviction: whether waiting helps, and what does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.budget_risk import BudgetRisk
from tests.kubectl_plugin.running import Ran, run, write_cluster
from tests.kubectl_plugin.test_field_cases import FIELD

Json = dict[str, Any]
POLICY: Final = "unhealthyPodEvictionPolicy AlwaysAllow lets it go, and pods that are only starting"
TIME: Final = "2026-06-07T10:00:00Z"


def flat(ran: Ran) -> str:
    return " ".join(ran.out.split())


def first_lines(ran: Ran) -> str:
    return " ".join(" ".join(ran.out.splitlines()[:12]).split())


@pytest.mark.parametrize("words", [("place", "--drain", "worker-1"), ("node", "worker-1")])
def test_field_crashing_pods_that_block_a_drain(words: tuple[str, ...]) -> None:
    said = first_lines(run(*words, "--snapshot", str(FIELD / "Q-pdb.json")))
    assert "rain does not end: 1 pod is held by a PodDisruptionBudget." in said
    assert "prod/web-1-a: The disruption budget web needs 2 healthy pods and has 1 currently." in said
    assert f"A pod that is not Ready is held, too: {POLICY}." in said


def test_field_report_and_page_of_the_pod() -> None:
    snapshot = ("--snapshot", str(FIELD / "Q-pdb.json"))
    assert f"prod/web: a pod that is not Ready is held, too: {POLICY}." in flat(run("report", "-A", *snapshot))
    page = first_lines(run("explain", "pod/web-1-a", "-n", "prod", *snapshot))
    assert "A drain of its node does not end: The disruption budget web needs 2 healthy pods and has 1" in page
    assert POLICY in page


def node(name: str, *, cordoned: bool) -> Json:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "8", "pods": "50"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"unschedulable": cordoned},
        "status": status,
    }


def pod(number: int, *, ready: bool = True) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "mail-6f", "uid": "rs", "controller": True}
    meta = {"name": f"mail-{number}", "namespace": "post", "uid": f"u{number}", "labels": {"app": "mail"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "creationTimestamp": TIME, "ownerReferences": [owner]},
        "spec": {"nodeName": f"n{number % 2}", "containers": [{"name": "app", "image": "mail:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def budget(name: str = "mail", *, policy: str | None = None, reason: str = "InsufficientPods", **status: int) -> Json:
    allowed = {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": "no scale"}
    meta = {"name": name, "namespace": "post", "generation": 4}
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "mail"}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": {**spec, **({"unhealthyPodEvictionPolicy": policy} if policy else {})},
        "status": {"observedGeneration": 4, "disruptionsAllowed": 0, "conditions": [allowed], **status},
    }


THREE: Final = [pod(0), pod(1), pod(2)]
CRASHING: Final = [pod(0, ready=False), pod(1), pod(2)]
NEEDS_ALL: Final = budget(currentHealthy=3, desiredHealthy=3, expectedPods=3)


@pytest.mark.parametrize(
    ("pods", "budgets", "risk", "said"),
    [
        (THREE, [NEEDS_ALL], BudgetRisk.BLOCKS_ALWAYS, "Waiting does not help: add replicas"),
        (THREE, [budget("a"), budget("b")], BudgetRisk.OVERLAPS, "Waiting does not help: let one of them select"),
        (
            THREE,
            [budget(reason="SyncFailed")],
            BudgetRisk.UNCOUNTED,
            "Waiting does not help: give minAvailable as a number",
        ),
        (CRASHING, [budget(currentHealthy=2, desiredHealthy=3, expectedPods=5)], BudgetRisk.UNHEALTHY, POLICY),
        (
            THREE,
            [budget(currentHealthy=3, desiredHealthy=3, expectedPods=5)],
            BudgetRisk.BLOCKS_NOW,
            "more of its pods have to be Ready first: look at those that are not",
        ),
        (
            THREE,
            [budget(observedGeneration=3)],
            BudgetRisk.NOT_OBSERVED,
            "wait until the disruption controller has seen its newest spec",
        ),
    ],
)
def test_what_helps_by_budget(
    pods: Sequence[Json], budgets: Sequence[Json], risk: BudgetRisk, said: str, tmp_path: Path
) -> None:
    items = [node("n0", cordoned=True), node("n1", cordoned=False), *pods, *budgets]
    file = write_cluster(tmp_path / "cluster.json", items)
    for words in (
        ("place", "--drain", "n0"),
        ("node", "n0"),
        ("explain", "pod/mail-0", "-n", "post"),
        ("delete", "pod/mail-0", "-n", "post", "--grace-period=0"),
    ):
        assert said.lower() in flat(run(*words, "--snapshot", file)).lower(), words
    plan = json.loads(run("place", "--drain", "n0", "--snapshot", file, "-o", "json").out)
    assert plan["unmoved"][0]["hold"] == risk.value


def test_a_policy_that_lets_unready_pods_go(tmp_path: Path) -> None:
    lets = budget(policy="AlwaysAllow", currentHealthy=2, desiredHealthy=3, expectedPods=3)
    items = [node("n0", cordoned=True), node("n1", cordoned=False), pod(0, ready=False), pod(1), lets]
    file = write_cluster(tmp_path / "cluster.json", items)
    assert "PodDisruptionBudget" not in run("node", "n0", "--snapshot", file).out
    assert POLICY not in run("report", "-A", "--snapshot", file).out


def test_a_node_that_takes_pods_is_not_drained(tmp_path: Path) -> None:
    items = [node("n0", cordoned=False), *THREE, NEEDS_ALL]
    file = write_cluster(tmp_path / "cluster.json", items)
    assert "drain" not in run("node", "n0", "--snapshot", file).out
    assert "drain" not in run("explain", "pod/mail-0", "-n", "post", "--snapshot", file).out


@pytest.mark.parametrize(
    ("setting", "helps"),
    [
        ("minAvailable: 2", "Add a replica, or lower minAvailable, so that fewer are up meanwhile."),
        ('minAvailable: "100%"', "Lower minAvailable, so that fewer are up meanwhile."),
        ("maxUnavailable: 0", "Raise maxUnavailable, so that fewer are up meanwhile."),
    ],
)
def test_what_helps_before_an_apply(setting: str, helps: str, tmp_path: Path) -> None:
    file = tmp_path / "mail.yaml"
    file.write_text(
        f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: mail}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: mail}}}}
  template:
    metadata: {{labels: {{app: mail}}}}
    spec: {{containers: [{{name: app, image: mail:1}}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: mail}}
spec:
  {setting}
  selector: {{matchLabels: {{app: mail}}}}
"""
    )
    assert f"A drain waits for ever. {helps}" in flat(run("place", "-f", str(file), "--demo"))
