"""The pages of pods, workloads and clusters agree about one stuck pod, and rely only on what was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import EVENTS, Kind
from podrules.pod.reading import read_or_none
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_node, raw_pod

Json = dict[str, Any]
NOW: Final = "2026-08-02T09:00:00Z"
MADE: Final = "2026-08-02T08:20:00Z"
NAMESPACE: Final = "lab"


def said(folder: Path, *words: str, items: list[Json]) -> str:
    """The output for a List, in one line."""
    file = folder / "list.json"
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-08-01T09:00:00Z")
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [raw_node(f"n{one}", conditions=[ready], allocatable=room, labels={"zone": "z"}) for one in (1, 2)]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *items]}))
    ran = run(*words, "--snapshot", str(file))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split())


@pytest.mark.parametrize("provisioner", ["disk.example.com", "kubernetes.io/no-provisioner"])
def test_claim_without_a_volume_has_no_zone(tmp_path: Path, provisioner: str) -> None:
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


def test_capture_reads_the_events_of_many_pods_once(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("reason", "message", "remedy"),
    [
        (
            "FailedCreatePodSandBox",
            'Failed to create pod sandbox: plugin type="ovn" failed (add): no lease',
            "Check that node's network plugin (CNI)",
        ),
        ("FailedPrepareDynamicResources", "DRA driver nic.example.com is not registered", ""),
        ("FailedMount", 'MountVolume.SetUp failed for volume "c" : configmap "conf" not found', "Create it"),
    ],
)
@pytest.mark.parametrize("ending", [False, True])
def test_workload_shows_why_its_pods_are_stuck(
    tmp_path: Path, reason: str, message: str, remedy: str, ending: bool
) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "sink", "uid": "ss", "controller": True}
    deleted = {"deletionTimestamp": "2026-08-02T08:40:00Z", "deletionGracePeriodSeconds": 30}
    running = {"name": "app", "state": {"running": {"startedAt": MADE}}}
    waiting = {"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}
    status = {
        "phase": "Running" if ending else "Pending",
        "conditions": [
            raw_condition("PodScheduled"),
            raw_condition("PodReadyToStartContainers", str(ending)),
        ],
        "containerStatuses": [running if ending else waiting],
    }
    labels = {"app": "sink"}
    meta = {"name": "sink", "namespace": NAMESPACE, "uid": "ss", "generation": 1}
    container = {"name": "app", "image": "sink:1"}
    items = [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": meta,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
            "status": {"observedGeneration": 1, "replicas": 1},
        },
        raw_pod(
            "sink-0",
            NAMESPACE,
            metadata={
                "uid": "s0",
                "creationTimestamp": MADE,
                "labels": labels,
                "ownerReferences": [owner],
                **(deleted if ending else {}),
            },
            status=status,
            nodeName="n1",
        ),
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "sink-0.1", "namespace": NAMESPACE},
            "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": "sink-0", "uid": "s0"},
            "reason": "FailedKillPod" if ending else reason,
            "message": message,
            "type": "Warning",
            "firstTimestamp": "2026-08-02T08:41:00Z",
            "lastTimestamp": "2026-08-02T08:58:00Z",
            "count": 12,
        },
    ]
    page = said(tmp_path, "explain", "sts/sink", "-n", NAMESPACE, items=items)
    row = said(tmp_path, "explain", "sts", "-A", items=items)
    known = "FailedKillPod" if ending else reason
    for text in (page, row):
        assert f"{known} 12 times in 17 min, last 2 min ago" in text
    assert f"{message}. {'' if ending else remedy}" in page
    explained = run("explain", "sts/sink", "-n", NAMESPACE, "-o", "json", "--snapshot", str(tmp_path / "list.json")).out
    assert json.loads(explained)["verdict"]["code"] == "PodsStuck"
    assert json.loads(explained)["verdict"]["severity"] == "trouble"


PULL: Final = 'Failed to pull image "shop:4": unexpected status from HEAD request: 403 Forbidden'
SECRET: Final = "Unable to retrieve some image pull secrets (mirror-key); attempting to pull may not succeed."
PROBE: Final = "Readiness probe failed: command timed out"


@pytest.mark.parametrize(
    ("state", "events", "hint"),
    [
        ("ErrImagePull: denied", {"FailedToRetrieveImagePullSecret": SECRET, "Failed": PULL}, f"{SECRET} Create the"),
        ("", {"FailedToRetrieveImagePullSecret": SECRET, "Failed": PULL}, SECRET),
        ("", {"Failed": PULL}, PULL),
        ("", {"Failed": "Error: ImagePullBackOff"}, ""),
        ("ErrImagePull: denied", {"Failed": PULL}, ""),
        (None, {"Unhealthy": PROBE}, f"{PROBE}. Services that select only ready pods"),
        (None, {"Failed": PULL}, ""),
    ],
)
def test_pod_page_shows_the_warning_behind_a_state(tmp_path: Path, state: str | None, events: Json, hint: str) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "shop:4": {state}'}
    running = {"running": {"startedAt": MADE}}
    status = {
        "phase": "Running" if state is None else "Pending",
        "conditions": [
            raw_condition("PodScheduled"),
            raw_condition("Ready", "False", lastTransitionTime=MADE, reason="ContainersNotReady"),
        ],
        "containerStatuses": [
            {
                "name": "app",
                "ready": False,
                "started": True,
                "state": running if state is None else {"waiting": waiting},
            }
        ],
    }
    items = [
        raw_pod("shop-1", NAMESPACE, metadata={"uid": "s1", "creationTimestamp": MADE}, status=status, nodeName="n1"),
        *(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"shop-1.{reason.lower()}", "namespace": NAMESPACE},
                "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": "shop-1", "uid": "s1"},
                "reason": reason,
                "message": message,
                "type": "Warning",
                "firstTimestamp": "2026-08-02T08:30:00Z",
                "lastTimestamp": "2026-08-02T08:57:00Z",
                "count": 9,
            }
            for reason, message in events.items()
        ),
    ]
    text = said(tmp_path, "explain", "pod/shop-1", "-n", NAMESPACE, items=items)
    assert hint in text
    assert ("9 times in 27 min, last 3 min ago" in text) is bool(hint)


def test_report_and_pages_agree_on_later_times(tmp_path: Path) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "late", "namespace": NAMESPACE},
        "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": "shop-1"},
        "reason": "BackOff",
        "lastTimestamp": "2026-08-02T13:30:00Z",
    }
    pod = raw_pod("shop-1", NAMESPACE, metadata={"creationTimestamp": MADE}, status={"phase": "Pending"})
    for words in (("report", "-A"), ("explain", "pod/shop-1", "-n", NAMESPACE)):
        text = said(tmp_path, *words, items=[event, pod])
        assert "by the heartbeats in" in text
        assert "later times, up to 2026-08-02 13:30:00 UTC, do not count" in text


@pytest.mark.parametrize(("deleted", "risk"), [("08:40:00", "may run on unseen"), ("09:00:20", "get little time")])
def test_force_deletion_does_not_speed_up_overdue_pod(tmp_path: Path, deleted: str, risk: str) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop", "uid": "rs", "controller": True}
    meta = {
        "uid": "s1",
        "creationTimestamp": MADE,
        "ownerReferences": [owner],
        "deletionTimestamp": f"2026-08-02T{deleted}Z",
        "deletionGracePeriodSeconds": 30,
    }
    status = {"phase": "Running", "containerStatuses": [{"name": "app", "state": {"running": {"startedAt": MADE}}}]}
    items = [raw_pod("shop-1", NAMESPACE, metadata=meta, status=status, nodeName="n1")]
    text = said(tmp_path, "delete", "pod/shop-1", "-n", NAMESPACE, "--grace-period=0", items=items)
    assert f"its processes {risk}" in text
