"""Recorded small clusters in which a pod fits nowhere: what is said of preemption, everywhere where it is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.running import run, write_cluster

DISABLED: Final = "its scheduler's profile disables DefaultPreemption (plugins.postFilter.disabled)"
SEEDS: Final = Path(__file__).parents[1] / "testdata/cases/seeds"


def seed(folder: Path, name: str) -> str:
    """A cluster that has the objects of a recorded List and no others."""
    return write_cluster(folder / "cluster.qos", json.loads((SEEDS / name).read_text())["items"])


def explained(folder: Path, manifest: str, recorded: str, *more: str) -> str:
    ran = run("explain", "-f", str(SEEDS / manifest), "--snapshot", seed(folder, recorded), "-o", "wide", *more)
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.split())


def placement(folder: Path, manifest: str, recorded: str, *more: str) -> Any:
    ran = run("explain", "-f", str(SEEDS / manifest), "--snapshot", seed(folder, recorded), *more, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)["placement"]


def test_P4_a_pod_that_is_to_go_is_named_with_its_own_node(tmp_path: Path) -> None:
    said = explained(tmp_path, "Panti.yaml", "s2h.json")
    assert "Way out: stop pod default/q on n3 (then n1). " in said
    assert "way out: stop pod default/q on n3 (then n1)" in said
    assert "without default/q on n3 it would fit n1;" in said
    assert "default/q on n1" not in said
    pods = [
        change["pods"]
        for group in placement(tmp_path, "Panti.yaml", "s2h.json")["rejected"]
        for change in group["remedy"]["changes"]
    ]
    assert {pod["node"] for entry in pods for pod in entry} == {"n3"}


def test_P4_affinity_to_a_pod_that_would_be_preempted_is_said_with_its_name(tmp_path: Path) -> None:
    said = explained(tmp_path, "Paff.yaml", "s2d2.json")
    assert "Preemption cannot make room on n1: its pod affinity needs default/svc, which would be preempted." in said
    assert "preempts nobody: n1 would lose default/svc, which its pod affinity needs: InterPodAffinity:" in said
    (entry,) = placement(tmp_path, "Paff.yaml", "s2d2.json")["preemption"]["noRoom"]
    assert entry["needs"] == [{"namespace": "default", "name": "svc"}]


def test_P4_place_says_the_same(tmp_path: Path) -> None:
    ran = run("place", "-f", str(SEEDS / "Paff.yaml"), "--snapshot", seed(tmp_path, "s2d2.json"))
    assert "its pod affinity needs default/svc, which would be preempted." in " ".join(ran.out.split())


def test_P4_the_reason_of_the_plugin_is_said(tmp_path: Path) -> None:
    assert "preempts nobody: n1 has no pod of lower priority" in explained(tmp_path, "Panti.yaml", "s2h.json")
    said = " ".join(run("explain", "pod/checkout-mv9cgvs6p-x2x7p", "-n", "shop", "--demo", "-o", "wide").out.split())
    assert "do not take it even without pods of lower priority: PodTopologySpread: node(s) didn't match" in said
    assert "none has room" not in said


def without_preemption(folder: Path, command: str, *more: str) -> str:
    """What a command about s2a.json says with a profile that disables DefaultPreemption."""
    ran = run(command, *more, "--snapshot", seed(folder, "s2a.json"), "--scheduler-config", str(SEEDS / "nopre.yaml"))
    assert ran.err == ""
    return " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("plugins", "field"),
    [
        pytest.param("postFilter: {disabled: [{name: DefaultPreemption}]}", "plugins.postFilter.disabled", id="point"),
        pytest.param("postFilter: {disabled: [{name: '*'}]}", "plugins.postFilter.disabled", id="all of the point"),
        pytest.param(
            "multiPoint: {disabled: [{name: DefaultPreemption}]}", "plugins.multiPoint.disabled", id="all points"
        ),
        pytest.param("score: {disabled: [{name: ImageLocality}]}", "", id="another"),
    ],
)
def test_P2_a_profile_without_preemption_preempts_nobody(tmp_path: Path, plugins: str, field: str) -> None:
    configuration = tmp_path / "scheduler.yaml"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n"
    configuration.write_text(f"{head}    {plugins}\n")
    said = explained(tmp_path, "P1.yaml", "s2a.json", "--scheduler-config", str(configuration))
    reason = f"its scheduler's profile disables DefaultPreemption ({field})"
    # First sentences, Priority and Placement.
    assert (said.count(reason), "preempts lower pods" in said) == ((3, False) if field else (0, True))
    assert ("Preemption can make room on n1" in said) is (not field)


def test_P2_place_preempts_nobody_either(tmp_path: Path) -> None:
    said = without_preemption(tmp_path, "place", "-f", str(SEEDS / "P1.yaml"))
    assert f"It preempts nobody: {DISABLED}." in said
    assert "Preempted" not in said


def test_P2_nor_does_a_running_pod_and_nobody_preempts_it(tmp_path: Path) -> None:
    said = without_preemption(tmp_path, "explain", "pod/low-a")
    assert f"preempts none: {DISABLED}" in said
    assert "preempts lower pods" not in said
    said = without_preemption(tmp_path, "explain", "pod/low-a", "--timeline")
    assert "preempt every profile of the scheduler disables DefaultPreemption" in said


def test_P2_the_report_says_so_of_every_class(tmp_path: Path) -> None:
    page = re.sub(r"<[^>]*>", " ", without_preemption(tmp_path, "report", "--all", "-o", "-"))
    assert "preempts none" in page
    assert "preempts lower pods" not in page
