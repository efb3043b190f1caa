"""The page's workloads are counted as `kubectl qos explain` counts them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kubectl_plugin.running import run
from tests.report.test_command import Read

OF_PODS = frozenset(
    {"AllReady", "PodsBroken", "PodsPending", "PodsUnschedulable", "PodsUnreachable", "PodsStuck", "PodsNotReady"}
    | {"PodsStarting", "PodsMissing", "NearMemoryLimit", "JobRunning", "JobComplete", "JobFailed"}
)


def test_counts_are_those_of_explain() -> None:
    data = json.loads(run("report", "-A", "--demo", "-o", "json").out)["workloads"]
    counts = {(one["namespace"], one["kind"], one["name"]): one["counts"] for one in data}
    for kind in ("deployments", "statefulsets", "daemonsets"):
        explained = json.loads(run("explain", kind, "-n", "shop", "--demo", "-o", "json").out)
        for one in explained.get("items", [explained]):
            if "workloadKind" in one:
                assert counts["shop", one["workloadKind"], one["name"]] == one["counts"], one["name"]
    order = ["trouble", "notice", "fine"]
    assert [one["severity"] for one in data] == sorted((one["severity"] for one in data), key=order.index)
    assert {one["severity"] for one in data} == set(order)


def test_a_workload_is_as_urgent_as_its_explanation_says() -> None:
    for one in json.loads(run("report", "-A", "--demo", "-o", "json").out)["workloads"]:
        target = f"{one['kind'].lower()}/{one['name']}"
        data = json.loads(run("explain", target, "-n", one["namespace"], "--demo", "-o", "json").out)
        verdict, counts = data.get("verdict", {}), data.get("counts")
        assert counts is None or counts == one["counts"]
        # The next pod alone may be more urgent than the existing pods.
        if verdict.get("code") in OF_PODS:
            assert (one["severity"], one["code"]) == (verdict["severity"], verdict["code"]), target
        assert counts is None or one["inTrouble"] <= counts["wanted"] or counts["terminatingAwaited"], target


def test_the_page_shows_the_worst_first(demo: Path) -> None:
    said = Read(demo.read_text(encoding="utf-8")).said
    assert "Workload The worst Wanted Ready In trouble Restarts" in said
    assert "workloads with all pods well" in said
    assert "batch/ CronJob nightly-report by schedule 0 0 0" in said
    assert "trouble trainer-v9c4m : Pending 1 0" in said, "the state only where STATUS says another"
    assert "trouble csi-block-node-52bfn : Running (NodeDown)" in said
    assert "data/ StatefulSet postgres notice near the memory limit 3 3 0 0" in said


def test_selected_pods_list_no_workload() -> None:
    assert json.loads(run("report", "pod/db-1", "-n", "shop", "--demo", "-o", "json").out)["workloads"] == []
