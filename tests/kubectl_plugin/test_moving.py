"""The steps of a volume on its way to a pod, in text (F7)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.demo import demo_objects
from kubectl_plugin.views.pod.volume_words import waiting_words
from podrules.ending.attachment import MoveStep, VolumePosition, WaitsFor
from tests.kubectl_plugin.answers import check_texts, write_list
from tests.kubectl_plugin.edits import find
from tests.kubectl_plugin.running import run

NOW: Final = datetime(2026, 11, 21, 3, 11, tzinfo=UTC)
SINCE: Final = datetime(2026, 11, 21, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("step", "waits_for", "more", "words"),
    [
        ("STOP", "USER", {"held_by": ("db-0",)}, "stop: no client has deleted db-0 on node-1"),
        (
            "STOP",
            "KUBELET",
            {"held_by": ("db-0",), "since": SINCE},
            "stop: the kubelet of node-1 has to stop db-0, since 03:04:00 UTC",
        ),
        (
            "STOP",
            "SILENT_KUBELET",
            {"held_by": ("db-0", "db-1")},
            "stop: db-0 and db-1 on silent node-1: this waits for ever",
        ),
        ("DETACH", "KUBELET", {}, "detach: the kubelet of node-1 still has it mounted"),
        (
            "DETACH",
            "FORCE_DETACH",
            {},
            "detach: node-1 is silent: detached by force 6 min after the pod object is gone",
        ),
        (
            "DETACH",
            "DRIVER",
            {"error": "volume is busy"},
            "detach: its driver has to detach it at node-1; it says: volume is busy",
        ),
        ("ATTACH", "DRIVER", {}, "attach: its driver has to attach it at node-1"),
        ("START", "OWN_KUBELET", {}, "start: the kubelet of node-1 has to mount it and start the containers"),
    ],
)
def test_F7_each_step_has_a_text(step: str, waits_for: str, more: dict[str, Any], words: str) -> None:
    position = VolumePosition("data", "data-db-1", "pv-1", MoveStep[step], WaitsFor[waits_for], "node-1", **more)
    assert waiting_words(position, NOW) == words


def test_F7_waiting_pod_leads_with_the_reason(tmp_path: Path) -> None:
    """The demo's broker-2 was force deleted: its successor has a node, and the lost node keeps the disk."""
    objects = demo_objects()
    pod = find(objects, "Pod/broker-2")
    del pod["metadata"]["deletionTimestamp"], pod["metadata"]["deletionGracePeriodSeconds"]
    pod["spec"]["nodeName"], pod["status"] = "node-a1", {"phase": "Pending"}
    file = write_list(tmp_path / "cluster.json", objects)
    ran = run("explain", "pod/broker-2", "-n", "data", "--snapshot", file)
    assert (ran.code, ran.err) == (0, "")
    late = 'it waits for volume "data". Detach: node-c3 is silent; it should have been detached by force by'
    step = "Volumes data step 2 of 4, detach: node-c3 is silent"
    check_texts(" ".join(ran.out.split()), (late, step))
