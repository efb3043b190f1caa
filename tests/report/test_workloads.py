"""The page's workloads are counted as `kubectl qos explain` counts them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kubectl_plugin.running import run
from tests.report.test_command import Read


def test_counts_are_those_of_explain() -> None:
    told = json.loads(run("report", "-A", "--demo", "-o", "json").out)["workloads"]
    counts = {(one["namespace"], one["kind"], one["name"]): one["counts"] for one in told}
    for kind in ("deployments", "statefulsets", "daemonsets"):
        explained = json.loads(run("explain", kind, "-n", "shop", "--demo", "-o", "json").out)
        for one in explained.get("items", [explained]):
            if "workloadKind" in one:
                assert counts["shop", one["workloadKind"], one["name"]] == one["counts"], one["name"]
    assert any(one["inTrouble"] for one in told)
    assert [bool(one["inTrouble"]) for one in told] == sorted((bool(one["inTrouble"]) for one in told), reverse=True)


def test_the_page_shows_the_worst_first(demo: Path) -> None:
    said = Read(demo.read_text(encoding="utf-8")).said
    assert "Workload Wanted Ready In trouble Restarts The worst" in said
    assert "workloads with all pods well" in said


def test_chosen_pods_tell_of_no_workload() -> None:
    assert json.loads(run("report", "pod/db-1", "-n", "shop", "--demo", "-o", "json").out)["workloads"] == []
