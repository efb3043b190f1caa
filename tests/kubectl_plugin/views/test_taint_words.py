"""Every answer about a pod on an answering node leads with the time at which NoExecute taints delete it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, fine, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node, raw_node_event, raw_pod

NOW: Final = "2026-11-23T07:30:00Z"
BEFORE: Final = "2026-11-23T06:30:00Z"
MAINTENANCE: Final = {"key": "maintenance", "value": "x", "effect": "NoExecute", "timeAdded": "2026-11-23T07:29:30Z"}
LONG: Final = MAINTENANCE | {"timeAdded": "2026-11-23T07:20:00Z"}
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-11-23T07:28:20Z"}


def _tolerates(key: str, seconds: int | None) -> Mapping[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


def _cluster(directory: Path, taint: Mapping[str, str], ready: str, *own: Mapping[str, Any], **spec: Any) -> str:
    condition = raw_condition("Ready", ready, lastHeartbeatTime=NOW, lastTransitionTime=NOT_READY["timeAdded"])
    running = {"name": "app", "ready": True, "state": {"running": {"startedAt": BEFORE}}}
    status = {
        "phase": "Running",
        "conditions": [raw_condition("PodScheduled", lastTransitionTime=BEFORE), raw_condition("Ready")],
        "containerStatuses": [running],
    }
    limits = {"cpu": "1", "memory": "1Gi"}
    pod = raw_pod("web", nodeName="n1", requests=limits, limits=limits, tolerations=list(own), status=status)
    items = [raw_node("n1", conditions=[condition], taints=[taint], **spec), raw_node_event("n1"), pod]
    return write_list(directory / "cluster.json", items)


CASES: Final = [
    pytest.param(
        MAINTENANCE,
        "True",
        [],
        "Taint maintenance=x:NoExecute of node n1 deletes it now, due at 07:29:30 UTC: it does not tolerate that.",
        "delete 1 pod: 1 now.",
        id="not tolerated",
    ),
    pytest.param(
        MAINTENANCE,
        "True",
        [_tolerates("maintenance", 120)],
        "deletes it at 07:31:30 UTC unless it is removed before: it tolerates that for 120 s.",
        "delete 1 pod: 1 at 07:31:30 UTC.",
        id="for a time",
    ),
    pytest.param(
        LONG,
        "True",
        [_tolerates("maintenance", 120)],
        "should have deleted it at 07:22:00 UTC: it tolerates that for 120 s. kube-controller-manager",
        "delete 1 pod: 1 now.",
        id="overdue",
    ),
    pytest.param(
        NOT_READY,
        "False",
        [_tolerates("node.kubernetes.io/not-ready", 300)],
        "Taint node.kubernetes.io/not-ready:NoExecute of node n1 deletes it at 07:33:20 UTC",
        "delete 1 pod: 1 at 07:33:20 UTC.",
        id="the node is not Ready",
    ),
]


@pytest.mark.parametrize(("taint", "ready", "own", "explained", "node"), CASES)
def test_T5_taint_eviction_shows_in_explain_node_and_report(
    taint: Mapping[str, str], ready: str, own: Sequence[Mapping[str, Any]], explained: str, node: str, tmp_path: Path
) -> None:
    file = _cluster(tmp_path, taint, ready, *own)
    text = fine("explain", "pod/web", "--snapshot", file)
    assert explained in text
    assert text.index(explained) < text.index("Running and ready") < text.index("Guaranteed")
    assert ("Its node n1 is not Ready since 07:28:20 UTC." in text) is (ready == "False")
    drawn = fine("explain", "pod/web", "--timeline", "--snapshot", file)
    assert drawn.index(explained) < drawn.index("Deleted now: SIGTERM")
    for words in (("node", "n1"), ("explain", "node/n1")):
        assert f"Its NoExecute taints {node}" in fine(*words, "--snapshot", file), words
    page = tmp_path / "page.html"
    run("report", "-A", "--snapshot", file, "-o", str(page))
    assert "1 pod: deleted by a taint." in page.read_text()


def test_T5_pod_tolerating_unready_node_stays(tmp_path: Path) -> None:
    file = _cluster(tmp_path, NOT_READY, "False", _tolerates("node.kubernetes.io/not-ready", None))
    page = fine("explain", "pod/web", "--snapshot", file)
    assert "Its node n1 is not Ready since 07:28:20 UTC. It stays there: it tolerates" in page
    assert "NoExecute taints delete" not in fine("node", "n1", "--snapshot", file)
    partitions = fine("partitions", "--snapshot", file)
    check_texts(partitions, ("All nodes answer. n1 is not Ready: its taints may delete pods.", "kubectl qos node n1"))
    verdict = data("partitions", "--snapshot", file)["verdict"]
    assert (verdict["code"], verdict["severity"]) == ("NodeNotReady", "trouble")


def test_T5_pod_tolerating_taint_of_ready_node_is_fine(tmp_path: Path) -> None:
    file = _cluster(tmp_path, MAINTENANCE, "True", _tolerates("maintenance", None))
    assert "on n1 ok Running and ready. Guaranteed:" in fine("explain", "pod/web", "--snapshot", file)


@pytest.mark.parametrize(("seconds", "first"), [(120, "delete"), (None, "drain")])
def test_T5_taint_deletion_precedes_drain(seconds: int | None, first: str, tmp_path: Path) -> None:
    file = _cluster(tmp_path, MAINTENANCE, "True", _tolerates("maintenance", seconds), unschedulable=True)
    assert data("explain", "pod/web", "--timeline", "--snapshot", file)["timeline"]["ways"][0]["way"] == first
