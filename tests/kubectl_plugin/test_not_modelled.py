"""Pods of a group and of other schedulers: never a verdict as if they were alone, nor by kube-scheduler's rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.controlplane.client import Object
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node, raw_pod

FULL = raw_node("only", capacity={"memory": "1Gi", "pods": "10"}, allocatable={"memory": "1Gi", "pods": "10"})
LOW = raw_pod("low", "shop", uid="low", requests={"memory": "1Gi"}, nodeName="only", priority=0)
CASES = [
    pytest.param({"schedulingGroup": {"podGroupName": "gang"}}, 'spec.schedulingGroup "gang"', id="group"),
    pytest.param({"workloadRef": {"name": "train", "podGroup": "a"}}, 'spec.workloadRef "train"', id="group of 1.35"),
    pytest.param({"schedulerName": "volcano"}, 'spec.schedulerName "volcano" has no profile', id="another scheduler"),
]


def _pod(spec: Object) -> Object:
    waiting = raw_condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes: its own words")
    status = {"phase": "Pending", "conditions": [waiting]}
    return raw_pod("web", "shop", uid="web", requests={"memory": "1Gi"}, priority=1000, status=status, **spec)


def _snapshot(tmp_path: Path, spec: Object) -> str:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [FULL, LOW, _pod(spec)]}))
    return str(file)


@pytest.mark.parametrize(("spec", "named"), CASES)
def test_S2_no_verdict_as_if_it_were_alone(tmp_path: Path, spec: Object, named: str) -> None:
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", _snapshot(tmp_path, spec))
    said = " ".join(ran.out.split())
    assert f"Pending: its placement is not modelled, because {named}" in said
    assert "Its scheduler said: 0/1 nodes: its own words" in said
    assert f"Placement not modelled: {named}" in said
    assert "whom it preempts is not modelled" in said
    for wrong in ("no node fits", "preempts nobody", "would preempt", "kube-scheduler:", "ay out", "ays out"):
        assert wrong not in said


@pytest.mark.parametrize(("spec", "named"), CASES)
def test_S2_nor_of_a_manifest(tmp_path: Path, spec: Object, named: str) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(raw_pod("new", "shop", requests={"memory": "1Gi"}, **spec)))
    snapshot = _snapshot(tmp_path, {})
    # Newer versions do not have the group of 1.35.
    asked = "-f", str(manifest), "--snapshot", snapshot, "--validate=ignore"
    said = " ".join(run("explain", *asked, "--placement").out.split())
    assert f"Its placement is not modelled: {named}" in said
    ran = run("place", *asked)
    assert f"pod/new is not placed: not modelled: {named}" in " ".join(ran.out.split())
    assert "fits" not in ran.out


@pytest.mark.parametrize(("spec", "named"), CASES)
def test_S2_the_report_does_not_count_it_as_without_a_place(tmp_path: Path, spec: Object, named: str) -> None:
    page = run("report", "-A", "-o", "-", "--snapshot", _snapshot(tmp_path, spec)).out
    assert "1 pod: waiting, not modelled." in page
    assert "no place." not in page
    assert "1 pod: no node fits." in run("report", "-A", "-o", "-", "--snapshot", _snapshot(tmp_path, {})).out


def test_S2_a_profile_of_that_name_is_modelled(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: default-scheduler}, {schedulerName: volcano}]\n"
    )
    snapshot = _snapshot(tmp_path, {"schedulerName": "volcano"})
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", snapshot, "--scheduler-config", str(config))
    assert "not modelled" not in ran.out
    assert "would preempt shop/low" in " ".join(ran.out.split())
