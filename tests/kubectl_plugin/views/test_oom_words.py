"""oom_score_adj in `kubectl qos explain`: the possible nodes, and sums outside the range."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.controlplane.client import Object
from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_container, raw_node, raw_pod

TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
NODES = [
    raw_node("tiny", {"disk": "hdd"}, capacity={"memory": "4Gi"}),
    raw_node("small", {"disk": "ssd"}, capacity={"memory": "16Gi"}),
    raw_node("large", {"disk": "ssd"}, capacity={"memory": "64Gi"}),
    raw_node("huge", {"disk": "ssd"}, capacity={"memory": "256Gi"}, taints=[TAINT]),
]


def _explain(tmp_path: Path, pod: Object, *words: str) -> str:
    file = write_list(tmp_path / "cluster.json", [*NODES, pod])
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", file, "-o", "wide", *words)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def _said(tmp_path: Path, pod: Object, *words: str) -> str:
    """The lines on OOM scores, joined."""
    page = _explain(tmp_path, pod, *words)
    return " ".join(page[page.index("OOM score") : page.index("\nRequests")].split())


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        pytest.param({}, ["tiny", "large"], id="a taint that is not tolerated"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, ["small", "large"], id="nodeSelector"),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "team", "operator": "Exists"}]},
            ["small", "huge"],
            id="a toleration",
        ),
        pytest.param({"nodeSelector": {"disk": "hdd"}}, ["tiny"], id="one node"),
        pytest.param({"nodeSelector": {"disk": "tape"}}, [], id="none"),
    ],
)
def test_Q2_only_possible_nodes_count(tmp_path: Path, spec: Object, nodes: list[str]) -> None:
    pod = raw_pod("web", "shop", requests={"memory": "1Gi"}, status={"phase": "Pending"}, **spec)
    report = json.loads(_explain(tmp_path, pod, "-o", "json"))
    assert [entry["node"] for entry in report["oom"]] == nodes
    assert report["oomUnknown"] == (None if nodes else "NoEligibleNode")
    if not nodes:
        assert "no node matches its node selector, affinity and tolerations" in _said(tmp_path, pod)


def test_Q2_request_above_node_is_shown_without_the_sum(tmp_path: Path) -> None:
    pod = raw_pod("web", "shop", requests={"memory": "20Gi"}, status={"phase": "Pending"})
    said = _said(tmp_path, pod)
    check_texts(said, "3 app raised: Burstable gets at least 3, also for 20Gi on a node of 4Gi", "= -")
    assert '"formulaValue": -' not in _explain(tmp_path, pod, "-o", "json")
    assert "688 app 1000 - 1000 x 20Gi / 64Gi" in said


def test_Q2_sidecar_with_app_container_above_node(tmp_path: Path) -> None:
    sidecar = raw_container("mesh", {"memory": "1Gi"}, restartPolicy="Always")
    pod = raw_pod(
        "web",
        "shop",
        containers=[raw_container("app", {"memory": "20Gi"})],
        initContainers=[sidecar],
        nodeName="tiny",
        status={"phase": "Pending"},
    )
    assert (
        "3 mesh 1000 - 1000 x 1Gi / 4Gi (tiny) = 750; lowered: a sidecar's is at most its app container's"
    ) in _said(tmp_path, pod)


@pytest.mark.parametrize(
    ("containers", "whole", "low"),
    [
        pytest.param(
            [raw_container("app", {"memory": "2Gi"}), raw_container("other")],
            "1Gi",
            ("spec.resources.requests.memory", "1Gi", "2Gi", "the 2Gi that its containers request"),
            id="the pod's own",
        ),
        pytest.param(
            [raw_container("app"), raw_container("other", {"memory": "-1Gi", "cpu": "1"})],
            "",
            ("spec.containers[1].resources.requests.memory", "-1Gi", "0", "0"),
            id="a container's",
        ),
        pytest.param(
            [raw_container("app", {"memory": "-1Gi"}), *map(raw_container, "ab")],
            "1Gi",
            ("spec.containers[0].resources.requests.memory", "-1Gi", "0", "0"),
            id="a container's beside the pod's own",
        ),
    ],
)
def test_Q2_out_of_range_score_names_request_field(
    tmp_path: Path, containers: list[Object], whole: str, low: tuple[str, str, str, str]
) -> None:
    resources = {"requests": {"memory": whole}} if whole else None
    pod = raw_pod("web", "shop", status={"phase": "Pending"}, containers=containers, resources=resources)
    field, value, least, words = low
    # Since 1.37, container requests above the pod-level request change no score.
    version = ("--kubernetes-version", "1.36")
    report = json.loads(_explain(tmp_path, pod, *version, "-o", "json"))
    assert report["oomUnknown"] == "NotInRange"
    assert report["memoryTooLow"] == {"field": field, "value": value, "least": least}
    assert f"none: {field} is {value}, less than {words}, which the API server rejects" in _said(
        tmp_path, pod, *version
    )


def test_pod_without_containers_has_no_score(tmp_path: Path) -> None:
    pod = raw_pod("web", containers=[])
    file = write_list(tmp_path / "cluster.json", [*NODES, pod])
    ran = run("explain", "pod/web", "-n", "shop", "--snapshot", file)
    assert ran.code == 0
    assert "OOM score     none: it has no containers\n" in ran.out
