"""Pods of a group and of other schedulers are never judged as single pods or by kube-scheduler's rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.controlplane.client import Object
from tests.kubectl_plugin.answers import check_texts, said, write_list
from tests.kubectl_plugin.running import Ran, run
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
    return write_list(tmp_path / "cluster.json", [FULL, LOW, _pod(spec)])


@pytest.mark.parametrize(("spec", "named"), CASES)
def test_S2_group_pod_is_not_judged_alone(tmp_path: Path, spec: Object, named: str) -> None:
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", _snapshot(tmp_path, spec))
    text = " ".join(ran.out.split())
    assert f"Pending: its placement is not modelled, because {named}" in text
    assert "Its scheduler said: 0/1 nodes: its own words" in text
    check_texts(text, (f"Placement not modelled: {named}", "which pods it preempts is not modelled"))
    check_texts(text, (), ("no node fits", "preempts no pod", "would preempt", "kube-scheduler:", "ay out", "ays out"))


@pytest.mark.parametrize(("spec", "named"), CASES)
def test_S2_no_verdict_for_a_manifest(tmp_path: Path, spec: Object, named: str) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(raw_pod("new", "shop", requests={"memory": "1Gi"}, **spec)))
    snapshot = _snapshot(tmp_path, {})
    # Newer versions do not have the API group of 1.35.
    asked = "-f", str(manifest), "--snapshot", snapshot, "--validate=ignore"
    assert f"Its placement is not modelled: {named}" in said("explain", *asked, "--placement")
    ran = run("place", *asked)
    assert f"pod/new is not placed: not modelled: {named}" in " ".join(ran.out.split())
    assert "fits" not in ran.out


@pytest.mark.parametrize(("spec", "named"), CASES)
def test_S2_report_does_not_count_it_as_without_a_place(tmp_path: Path, spec: Object, named: str) -> None:
    page = run("report", "-A", "-o", "-", "--snapshot", _snapshot(tmp_path, spec)).out
    check_texts(page, "1 pod: waiting, not modelled.", "finds no node.")
    assert "1 pod: no node fits." in run("report", "-A", "-o", "-", "--snapshot", _snapshot(tmp_path, {})).out


def test_S2_profile_of_own_scheduler_name_is_modelled(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: default-scheduler}, {schedulerName: volcano}]\n"
    )
    snapshot = _snapshot(tmp_path, {"schedulerName": "volcano"})
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", snapshot, "--scheduler-config", str(config))
    assert "not modelled" not in ran.out
    assert "would preempt shop/low" in " ".join(ran.out.split())


CONFIGURATION = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
GPUS = "managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]"
ASKED = [
    pytest.param(
        "profiles: [{plugins: {filter: {enabled: [{name: Rack}]}}}]", "memory", "plugin Rack was", id="Filter"
    ),
    pytest.param(
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Rack}]}}}]", "memory", "plugin Rack was", id="anywhere"
    ),
    pytest.param(
        "profiles: [{plugins: {permit: {enabled: [{name: Gang}]}}}]", "memory", "plugin Gang was", id="Permit"
    ),
    pytest.param("extenders: [{urlPrefix: http://e, filterVerb: f}]", "memory", "extender http://e was", id="extender"),
    pytest.param(
        "extenders: [{urlPrefix: http://e, filterVerb: f}, {urlPrefix: http://f, filterVerb: f}]",
        "memory",
        "extender http://e and extender http://f were",
        id="two extenders",
    ),
    pytest.param(
        f"extenders: [{{urlPrefix: http://e, filterVerb: f, {GPUS}}}]",
        "example.com/gpu",
        "extender http://e was",
        id="extender of its resource",
    ),
]


def _place(folder: Path, command: str, configuration: str, resource: str = "memory", amount: str = "1") -> Ran:
    (folder / "config.yaml").write_text(CONFIGURATION + configuration)
    asked = {resource: amount}
    (folder / "pod.json").write_text(json.dumps(raw_pod("new", "shop", requests=asked, limits=asked)))
    ran = run(command, "-f", str(folder / "pod.json"), "--demo", "--scheduler-config", str(folder / "config.yaml"))
    return ran._replace(out=" ".join(ran.out.split()))


@pytest.mark.parametrize("command", ["place", "explain"])
@pytest.mark.parametrize(("configuration", "resource", "unasked"), ASKED)
def test_S2_unmodelled_filter_plugin_is_named(
    tmp_path: Path, command: str, configuration: str, resource: str, unasked: str
) -> None:
    ran = _place(tmp_path, command, configuration, resource)
    assert f"Not certain: {unasked} not asked." in ran.out
    assert ran.code == 11


@pytest.mark.parametrize(
    "configuration",
    [
        "extenders: [{urlPrefix: http://e, bindVerb: b}]",
        f"extenders: [{{urlPrefix: http://e, filterVerb: f, {GPUS}}}]",
        "profiles: [{plugins: {postBind: {enabled: [{name: Told}]}}}]",
        "profiles: [{pluginConfig: [{name: Elsewhere, args: {}}]}]",
    ],
)
def test_S2_plugin_that_ignores_the_pod_keeps_certainty(tmp_path: Path, configuration: str) -> None:
    ran = _place(tmp_path, "place", configuration)
    assert "not asked" not in ran.out
    assert ran.code == 0


def test_S2_rejection_by_all_nodes_remains_proved(tmp_path: Path) -> None:
    ran = _place(tmp_path, "place", "extenders: [{urlPrefix: http://e, filterVerb: f}]", amount="9Ti")
    assert "stays pending" in ran.out
    assert ran.code == 7


def test_S2_unmodelled_score_may_change_the_node(tmp_path: Path) -> None:
    ran = _place(tmp_path, "place", "profiles: [{plugins: {score: {enabled: [{name: Carbon}]}}}]")
    assert "It fits" in ran.out
    assert "Not certain: plugin Carbon was not asked." in ran.out
    assert ran.code == 11


def test_S2_args_of_a_removed_plugin_do_nothing(tmp_path: Path) -> None:
    ran = _place(tmp_path, "explain", "profiles: [{pluginConfig: [{name: NodeLabel, args: {}}]}]")
    assert "the profile's pluginConfig of NodeLabel does nothing: there is no such plugin" in ran.out
