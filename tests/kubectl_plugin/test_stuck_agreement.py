"""What the pages of pods, workloads and clusters say about one stuck pod agrees, and rests on what was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from podrules.cluster.gather import Gatherer
from podrules.cluster.in_memory import MemorySource
from podrules.cluster.kinds import EVENTS, Kind
from podrules.reading import read_or_none
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node, raw_pod

Json = dict[str, Any]
NOW: Final = "2026-08-02T09:00:00Z"
MADE: Final = "2026-08-02T08:20:00Z"
NAMESPACE: Final = "lab"


def said(folder: Path, *words: str, items: list[Json]) -> str:
    """What is printed, in one line, of a List."""
    file = folder / "list.json"
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-08-01T09:00:00Z")
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [raw_node(f"n{one}", conditions=[ready], allocatable=room, labels={"zone": "z"}) for one in (1, 2)]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *items]}))
    ran = run(*words, "--snapshot", str(file))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split())


@pytest.mark.parametrize("provisioner", ["disk.example.com", "kubernetes.io/no-provisioner"])
def test_a_claim_without_a_volume_has_no_zone(tmp_path: Path, provisioner: str) -> None:
    unbound = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    scheduled = raw_condition("PodScheduled", "False", reason="Unschedulable", message=unbound)
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "logs"}}
    meta = {"name": "logs", "namespace": NAMESPACE, "creationTimestamp": MADE}
    items = [
        raw_pod(
            "sink-0",
            NAMESPACE,
            metadata={"creationTimestamp": MADE, "uid": "s0"},
            status={"phase": "Pending", "conditions": [scheduled]},
            volumes=[volume],
        ),
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta,
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "quick",
                "resources": {"requests": {"storage": "3Gi"}},
            },
            "status": {"phase": "Pending"},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "quick"},
            "provisioner": provisioner,
            "volumeBindingMode": "Immediate",
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "other", "labels": {"topology.kubernetes.io/zone": "z"}},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany"], "storageClassName": "slow"},
            "status": {"phase": "Available"},
        },
    ]
    text = said(tmp_path, "explain", "pod/sink-0", "-n", NAMESPACE, items=items)
    assert "zone" not in text
    assert "said otherwise" not in text
    assert '"logs" is unbound' in text
    assert "VolumeBinding pod has unbound immediate PersistentVolumeClaims" in text


def test_a_capture_reads_the_events_of_many_pods_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"e{one}", "namespace": NAMESPACE},
            "involvedObject": {"kind": kind, "namespace": NAMESPACE, "name": f"p{one % 7}"},
            "reason": f"R{one}",
        }
        for one, kind in enumerate(["Pod", "PersistentVolumeClaim"] * 7)
    ]
    source = MemorySource(events, description="a file")
    reads: list[Kind[Any]] = []

    def counting(kind: Kind[Any], *more: Any, **named: Any) -> Any:
        reads.append(kind)
        return MemorySource.list(source, kind, *more, **named)

    monkeypatch.setattr(source, "list", counting)
    gatherer = Gatherer(source)
    found = [read_or_none(gatherer.events_of("Pod", f"p{one}", NAMESPACE)) or () for one in range(8)]
    names = [f"R{one}" for one in (0, 8, 2, 10, 4, 12, 6)]
    assert [[event.reason for event in one] for one in found] == [*([name] for name in names), []]
    assert reads == [EVENTS]
