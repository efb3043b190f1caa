"""The steps of a volume on its way to a pod, in text (F7)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from kubectl_plugin.views.pod.volume_words import waiting_words
from podrules.ending.attachment import MoveStep, VolumePosition, WaitsFor
from tests.kubectl_plugin.running import run

NOW: Final = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
SINCE: Final = datetime(2026, 11, 21, 3, 4, tzinfo=UTC)


def _position(step: MoveStep, waits_for: WaitsFor, **more: Any) -> VolumePosition:
    return VolumePosition("data", "data-db-1", "pv-1", step, waits_for, "node-1", **more)


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (
            _position(MoveStep.STOP, WaitsFor.USER, held_by=("db-0",)),
            "stop: no client has deleted db-0 on node-1",
        ),
        (
            _position(MoveStep.STOP, WaitsFor.KUBELET, held_by=("db-0",), since=SINCE),
            "stop: the kubelet of node-1 has to stop db-0, since 03:04:00 UTC",
        ),
        (
            _position(MoveStep.STOP, WaitsFor.SILENT_KUBELET, held_by=("db-0", "db-1")),
            "stop: db-0 and db-1 on node-1, which does not answer: this waits forever",
        ),
        (_position(MoveStep.DETACH, WaitsFor.KUBELET), "detach: the kubelet of node-1 still has it mounted"),
        (
            _position(MoveStep.DETACH, WaitsFor.FORCE_DETACH),
            "detach: node-1 does not answer: detached by force 6 min after the pod object is gone",
        ),
        (
            _position(MoveStep.DETACH, WaitsFor.DRIVER, error="volume is busy"),
            "detach: its driver has to detach it at node-1; it says: volume is busy",
        ),
        (_position(MoveStep.ATTACH, WaitsFor.DRIVER), "attach: its driver has to attach it at node-1"),
        (
            _position(MoveStep.START, WaitsFor.OWN_KUBELET),
            "start: the kubelet of node-1 has to mount it and start the containers",
        ),
    ],
)
def test_F7_each_step_has_a_text(position: VolumePosition, words: str) -> None:
    assert waiting_words(position, NOW) == words


def test_F7_waiting_pod_leads_with_the_reason(tmp_path: Path) -> None:
    """The demo's broker-2 was force deleted: its successor has a node, and the lost node keeps the disk."""
    objects = demo_objects()
    for entry in objects:
        if (entry["kind"], entry["metadata"]["name"]) == ("Pod", "broker-2"):
            entry["metadata"] = {
                key: value
                for key, value in entry["metadata"].items()
                if key not in {"deletionTimestamp", "deletionGracePeriodSeconds"}
            }
            entry["spec"]["nodeName"] = "node-a1"
            entry["status"] = {"phase": "Pending"}
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    ran = run("explain", "pod/broker-2", "-n", "data", "--snapshot", str(file))
    assert (ran.code, ran.err) == (0, "")
    page = " ".join(ran.out.split())
    assert (
        'it waits for volume "data". Detach: node-c3 does not answer; it should have been detached by force by' in page
    )
    assert "Volumes data step 2 of 4, detach: node-c3 does not answer" in page
