"""The pages of pods, workloads and clusters agree about one stuck pod, and rely only on what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.gather import Gatherer
from cluster_io.in_memory import MemorySource
from cluster_io.kinds import EVENTS, Kind
from podrules.pod.reading import read_or_none
from tests.kubectl_plugin.answers import check_texts, data, write_list
from tests.kubectl_plugin.running import run
from tests.objects import raw_condition, raw_event, raw_node, raw_object, raw_owner, raw_pod, raw_workload

Json = dict[str, Any]
NOW: Final = "2026-08-02T09:00:00Z"
MADE: Final = "2026-08-02T08:20:00Z"
NAMESPACE: Final = "lab"


def said(folder: Path, *words: str, items: list[Json]) -> str:
    """The output for a List, in one line."""
    ready = raw_condition("Ready", lastHeartbeatTime=NOW, lastTransitionTime="2026-08-01T09:00:00Z")
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    nodes = [raw_node(f"n{one}", conditions=[ready], allocatable=room, labels={"zone": "z"}) for one in (1, 2)]
    ran = run(*words, "--snapshot", write_list(folder / "list.json", [*nodes, *items]))
    assert "Traceback" not in ran.err
    return " ".join(ran.out.split())


@pytest.mark.parametrize("provisioner", ["disk.example.com", "kubernetes.io/no-provisioner"])
def test_claim_without_a_volume_has_no_zone(tmp_path: Path, provisioner: str) -> None:
    message = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    scheduled = raw_condition("PodScheduled", "False", reason="Unschedulable", message=message)
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "logs"}}
    storage = {"resources": {"requests": {"storage": "3Gi"}}, "accessModes": ["ReadWriteOnce"]}
    slow = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany"], "storageClassName": "slow"}
    meta, zone = {"creationTimestamp": MADE}, {"labels": {"topology.kubernetes.io/zone": "z"}}
    pending = {"phase": "Pending"}
    items = [
        raw_pod(
            "sink-0",
            NAMESPACE,
            uid="s0",
            metadata=meta,
            status={**pending, "conditions": [scheduled]},
            volumes=[volume],
        ),
        raw_object(
            "PersistentVolumeClaim",
            "logs",
            NAMESPACE,
            metadata=meta,
            spec={**storage, "storageClassName": "quick"},
            status=pending,
        ),
        raw_object("StorageClass", "quick", provisioner=provisioner, volumeBindingMode="Immediate"),
        raw_object("PersistentVolume", "other", metadata=zone, spec=slow, status={"phase": "Available"}),
    ]
    text = said(tmp_path, "explain", "pod/sink-0", "-n", NAMESPACE, items=items)
    check_texts(text, (), ("zone", "said otherwise"))
    unbound = "pod has unbound immediate PersistentVolumeClaims"
    check_texts(text, ('"logs" is unbound', f"2 [##] volume {unbound}"))
    wide = said(tmp_path, "explain", "pod/sink-0", "-n", NAMESPACE, "-o", "wide", items=items)
    assert f"2 [##] VolumeBinding {unbound}" in wide


def test_capture_reads_the_events_of_many_pods_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["Pod", "PersistentVolumeClaim"] * 7
    events = [raw_event(f"{kind}/p{one % 7}", f"R{one}", namespace=NAMESPACE) for one, kind in enumerate(kinds)]
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
    deleted = {"deletionTimestamp": "2026-08-02T08:40:00Z", "deletionGracePeriodSeconds": 30}
    running, waiting = {"running": {"startedAt": MADE}}, {"waiting": {"reason": "ContainerCreating"}}
    status = {
        "phase": "Running" if ending else "Pending",
        "conditions": [raw_condition("PodScheduled"), raw_condition("PodReadyToStartContainers", str(ending))],
        "containerStatuses": [{"name": "app", "state": running if ending else waiting}],
    }
    owners = [raw_owner("StatefulSet", "sink", uid="ss")]
    meta = {"creationTimestamp": MADE, "ownerReferences": owners, **(deleted if ending else {})}
    sets = raw_workload("StatefulSet", "sink", NAMESPACE, replicas=1)
    sets["metadata"] |= {"uid": "ss", "generation": 1}
    items = [
        sets | {"status": {"observedGeneration": 1, "replicas": 1}},
        raw_pod("sink-0", NAMESPACE, uid="s0", labels={"app": "sink"}, metadata=meta, status=status, nodeName="n1"),
        raw_event(
            "Pod/sink-0",
            "FailedKillPod" if ending else reason,
            message,
            namespace=NAMESPACE,
            uid="s0",
            first="2026-08-02T08:41:00Z",
            last="2026-08-02T08:58:00Z",
            type="Warning",
            count=12,
        ),
    ]
    page = said(tmp_path, "explain", "sts/sink", "-n", NAMESPACE, items=items)
    row = said(tmp_path, "explain", "sts", "-A", items=items)
    known = "FailedKillPod" if ending else reason
    for text in (page, row):
        assert f"{known} 12 times in 17 min, last 2 min ago" in text
    assert f"{message}. {'' if ending else remedy}" in page
    verdict = data("explain", "sts/sink", "-n", NAMESPACE, "--snapshot", str(tmp_path / "list.json"))["verdict"]
    assert (verdict["code"], verdict["severity"]) == ("PodsStuck", "trouble")


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
    shown = {"running": {"startedAt": MADE}} if state is None else {"waiting": waiting}
    unready = raw_condition("Ready", "False", lastTransitionTime=MADE, reason="ContainersNotReady")
    status = {
        "phase": "Running" if state is None else "Pending",
        "conditions": [raw_condition("PodScheduled"), unready],
        "containerStatuses": [{"name": "app", "ready": False, "started": True, "state": shown}],
    }
    times: Json = {"first": "2026-08-02T08:30:00Z", "last": "2026-08-02T08:57:00Z", "count": 9, "type": "Warning"}
    items = [
        raw_pod("shop-1", NAMESPACE, uid="s1", metadata={"creationTimestamp": MADE}, status=status, nodeName="n1"),
        *(
            raw_event("Pod/shop-1", reason, message, namespace=NAMESPACE, uid="s1", **times)
            for reason, message in events.items()
        ),
    ]
    text = said(tmp_path, "explain", "pod/shop-1", "-n", NAMESPACE, items=items)
    assert hint in text
    assert ("9 times in 27 min, last 3 min ago" in text) is bool(hint)


def test_report_and_pages_agree_on_later_times(tmp_path: Path) -> None:
    event = raw_event("Pod/shop-1", "BackOff", namespace=NAMESPACE, last="2026-08-02T13:30:00Z")
    pod = raw_pod("shop-1", NAMESPACE, metadata={"creationTimestamp": MADE}, status={"phase": "Pending"})
    for words in (("report", "-A"), ("explain", "pod/shop-1", "-n", NAMESPACE)):
        text = said(tmp_path, *words, items=[event, pod])
        check_texts(text, ("by the heartbeats in", "later times, up to 2026-08-02 13:30:00 UTC, do not count"))


@pytest.mark.parametrize(("deleted", "risk"), [("08:40:00", "may run on unseen"), ("09:00:20", "get little time")])
def test_force_deletion_does_not_speed_up_overdue_pod(tmp_path: Path, deleted: str, risk: str) -> None:
    meta = {
        "creationTimestamp": MADE,
        "ownerReferences": [raw_owner("ReplicaSet", "shop", uid="rs")],
        "deletionTimestamp": f"2026-08-02T{deleted}Z",
        "deletionGracePeriodSeconds": 30,
    }
    status = {"phase": "Running", "containerStatuses": [{"name": "app", "state": {"running": {"startedAt": MADE}}}]}
    items = [raw_pod("shop-1", NAMESPACE, uid="s1", metadata=meta, status=status, nodeName="n1")]
    text = said(tmp_path, "delete", "pod/shop-1", "-n", NAMESPACE, "--grace-period=0", items=items)
    assert f"its processes {risk}" in text
