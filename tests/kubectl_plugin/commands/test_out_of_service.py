"""Pods on a node that is declared out of service: explain, partitions, delete and fence follow one rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import data, said, write_list
from tests.kubectl_plugin.running import run, write_cluster
from tests.objects import raw_condition, raw_node, raw_object, raw_owner, raw_pod

AT: Final = "2027-03-04T20:{}Z"
OUT: Final = "node.kubernetes.io/out-of-service"
TAKE_BACK: Final = (
    "unfence rack-7 first: until it is Ready, pod garbage collection removes within 20 s what is deleted there, "
    "even with grace"
)
TOLERATES: Final = [{"operator": "Exists"}]
_OWNER: Final = raw_owner("StatefulSet", "ledger", "u-9")
BOOKS: Final = [{"name": "books", "persistentVolumeClaim": {"claimName": "books"}}]


def _cluster(
    directory: Path,
    *,
    ready: str,
    renewed: str,
    tainted: str | None = "40:00",
    deleted: str | None = None,
    finalizers: tuple[str, ...] = (),
    tolerations: Any = (),
    replicas: int = 1,
    volumes: Any = (),
) -> tuple[str, str]:
    """A node and a StatefulSet's pod on it; now is 20:45:00. The pod is deleted at ``deleted`` with 40 s of grace."""
    taints = [] if tainted is None else [{"key": OUT, "effect": "NoExecute", "timeAdded": AT.format(tainted)}]
    condition = raw_condition("Ready", ready, lastTransitionTime=AT.format("30:00"))
    node = raw_node("rack-7", conditions=[condition], taints=taints)
    now = raw_node("other", conditions=[raw_condition("Ready", lastHeartbeatTime=AT.format("45:00"))])
    meta = {"ownerReferences": [_OWNER], "finalizers": list(finalizers)}
    running = {"running": {"startedAt": AT.format("01:00")}}
    container = {"name": "app", "ready": False, "restartCount": 0, "image": "", "imageID": "", "state": running}
    pod = raw_pod(
        "ledger-0",
        "bank",
        metadata=meta,
        status={"phase": "Running", "containerStatuses": [container]},
        nodeName="rack-7",
        terminationGracePeriodSeconds=40,
        tolerations=list(tolerations),
        volumes=list(volumes),
    )
    if deleted is not None:
        minute, second = map(int, deleted.split(":"))
        over = divmod(minute * 60 + second + 40, 60)
        pod["metadata"] |= {"deletionTimestamp": AT.format("{:02}:{:02}".format(*over))}
        pod["metadata"] |= {"deletionGracePeriodSeconds": 40}
    lease = raw_object("Lease", "rack-7", "kube-node-lease", spec={"renewTime": AT.format(renewed)})
    spec = {"replicas": replicas, "selector": {"matchLabels": {}}, "template": {"spec": {"containers": []}}}
    owner = raw_object("StatefulSet", "ledger", "bank", metadata={"uid": "u-9"}, spec=spec)
    claim = raw_object("PersistentVolumeClaim", "books", "bank", spec={"volumeName": "disk-4"})
    csi = {"driver": "disks.bank.io", "volumeHandle": "d4"}
    volume = raw_object("PersistentVolume", "disk-4", spec={"csi": csi, "accessModes": ["ReadWriteOnce"]})
    attached = {"attacher": "disks.bank.io", "nodeName": "rack-7", "source": {"persistentVolumeName": "disk-4"}}
    attachment = raw_object("VolumeAttachment", "csi-4", spec=attached, status={"attached": True})
    objects = [node, now, pod, lease, owner, claim, volume, *([attachment] if volumes else [])]
    return "--snapshot", write_cluster(directory / "cluster.qos", objects)


def _answers(source: tuple[str, str]) -> tuple[str, str, str, str]:
    pod = ("pod/ledger-0", "-n", "bank")
    return (
        said("explain", *pod, *source),
        said("partitions", *source),
        said("delete", *pod, "--grace-period=0", *source),
        said("fence", "node/rack-7", *source),
    )


def test_garbage_collection_ignores_answering_kubelet(tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="False", renewed="45:00", deleted="44:50")
    explained, listed, forced, fenced = _answers(source)
    assert "its node rack-7 answers, but is declared out of service and not Ready. " in explained
    assert "Pod garbage collection removes its object within 20 s, while its processes may run until 20:45:30" in (
        explained
    )
    assert "StatefulSet ledger then starts a new ledger-0, while this one may still run." in explained
    assert "it ends by" not in explained
    assert "It answers again, but is not Ready: unfence it, and delete nothing there before." in listed
    assert f"Force delete {TAKE_BACK}" in listed
    assert "within 20 s garbage collection removes 1 pod, not its processes" in listed
    assert f"Safer: {TAKE_BACK}." in forced
    for page in (explained, listed, forced):
        assert "kubectl qos unfence node/rack-7" in page
        assert "delete with grace" not in page
    assert "Changes" not in fenced


@pytest.mark.parametrize(("ready", "waits"), [("True", True), ("Unknown", False)])
def test_garbage_collection_waits_until_ready_is_unknown(ready: str, waits: bool, tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready=ready, renewed="44:13", deleted="44:50")
    when = " after Ready became Unknown" if waits else ""
    explained = said("explain", "pod/ledger-0", "-n", "bank", *source)
    assert f"Pod garbage collection removes its object within 20 s{when}; it is not confirmed" in explained
    assert f"pod garbage collection does the same by itself within 20 s{when} already being" in explained
    page = said("partitions", *source)
    assert f"within 20 s{when} garbage collection removes 1 pod, not its processes" in page


def test_tolerating_pod_of_answering_node_is_not_deleted(tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="False", renewed="44:55", tolerations=TOLERATES)
    explained, listed, forced, _ = _answers(source)
    assert TAKE_BACK in explained
    assert f"Force delete {TAKE_BACK}" in listed
    assert "delete it with grace" not in listed
    assert f"Safer: {TAKE_BACK}." in forced
    assert "Safer: a deletion with grace" not in forced


@pytest.mark.parametrize(("ready", "renewed"), [("Unknown", "20:00"), ("False", "45:00")])
def test_all_commands_show_overdue_garbage_collection(ready: str, renewed: str, tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready=ready, renewed=renewed, deleted="41:00")
    late = "should have removed its object by 20:41:20 UTC: check kube-controller-manager"
    named = "bank/ledger-0 should have been removed by 20:41:20 UTC: check kube-controller-manager."
    explained, listed, forced, fenced = _answers(source)
    assert late in explained
    assert named in listed
    assert late in forced
    assert "Safer: a deletion with grace" not in forced
    assert "removed, and volumes are detached" not in listed
    if ready == "Unknown":
        assert f"1 pod still has to be removed. {named}" in fenced
        assert "no further action" not in fenced
    report = data("partitions", *source)["nodes"][0]["pods"][0]
    assert report["collectedBy"] == AT.format("41:20")


def test_pod_that_the_taint_should_have_deleted_is_late(tmp_path: Path) -> None:
    _, listed, _, fenced = _answers(_cluster(tmp_path, ready="Unknown", renewed="20:00"))
    late = "bank/ledger-0 should have been removed by 20:31:00 UTC: check kube-controller-manager."
    assert late in listed
    assert late in fenced


@pytest.mark.parametrize("tainted", ["44:55", None])
def test_all_commands_show_finalizers(tainted: str | None, tmp_path: Path) -> None:
    source = _cluster(
        tmp_path, ready="Unknown", renewed="20:00", tainted=tainted, deleted="44:50", finalizers=("bank.io/audit",)
    )
    explained, listed, forced, fenced = _answers(source)
    held = 'finalizer "bank.io/audit" keeps the object until the controller of bank.io removes it'
    assert 'finalizer "bank.io/audit"' in explained
    assert "1 pod not removed even then: finalizers keep the object" in listed
    assert 'second ledger-0 once finalizer "bank.io/audit" is done.' in forced
    assert f"It removes nothing: {held}." in forced
    assert "Safer: a deletion with grace" not in forced
    assert ("It is removed" in listed, "no further action" in fenced) == (False, False)
    assert (f"bank/ledger-0: {held}." in listed, f"bank/ledger-0: {held}." in fenced) == ((tainted is not None,) * 2)


def test_finalizers_do_not_hide_take_back_advice(tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="False", renewed="45:00", deleted="44:50", finalizers=("bank.io/audit",))
    explained, listed, forced, _ = _answers(source)
    assert 'within 20 s once finalizer "bank.io/audit" is done, while its processes may run until' in explained
    assert "unfence it, and delete nothing there before. bank/ledger-0: finalizer" in listed
    assert f"removes it. Safer: {TAKE_BACK}." in forced


def test_tolerating_pod_is_deleted_with_grace_after_fence(tmp_path: Path) -> None:
    after = _cluster(tmp_path, ready="Unknown", renewed="20:00", tolerations=TOLERATES)
    explained, listed, forced, fenced = _answers(after)
    stays = "bank/ledger-0 stays, because the taint is tolerated: delete it with grace, and pod garbage collection"
    assert stays in listed
    assert f"nothing more is removed by itself. {stays} removes it." in fenced
    assert "Safer: a deletion with grace, because pod garbage collection removes pods deleted there." in forced
    assert "this waits forever" not in explained
    before = _cluster(tmp_path, ready="Unknown", renewed="20:00", tainted=None, tolerations=TOLERATES)
    _, listed, forced, _ = _answers(before)
    assert "then fence rack-7, and then delete with grace what tolerates the taint (bank/ledger-0)" in listed
    assert "Safer: fence rack-7 once its machine is off, and then a deletion with grace: " in forced


def test_fence_preview_names_the_changes(tmp_path: Path) -> None:
    def changes(ready: str, renewed: str, tainted: str | None) -> tuple[bool, bool, bool]:
        page = said("fence", "node/rack-7", *_cluster(tmp_path, ready=ready, renewed=renewed, tainted=tainted))
        return "Changes adds taint" in page, "Under way removes 1 pod" in page, "adds taint" in page

    assert changes("Unknown", "20:00", None) == (True, False, True)
    assert changes("Unknown", "20:00", "44:50") == (False, True, False)
    assert changes("True", "45:00", "44:50") == (False, False, False)
    assert changes("True", "44:12", None) == (False, False, False)


def test_terminating_pod_needs_no_graceful_deletion(tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="True", renewed="45:00", deleted="30:00")
    page = said("partitions", *source)
    assert "no need to: rack-7 answers, and stops what is deleted already" in page
    assert "unfence node/rack-7" in page
    assert "# it answers again" in page


@pytest.mark.parametrize("command", ["delete pod/gone-3 -n bank --grace-period=0", "fence rack-9", "unfence rack-9"])
def test_unlisted_objects_do_not_exist(command: str, tmp_path: Path) -> None:
    file = write_list(tmp_path / "list.json", [raw_node("rack-7"), raw_pod("one")])
    ran = run(*command.split(), "--snapshot", file)
    assert (ran.code, "is not in the file" in ran.err) == (8, True)


@pytest.mark.parametrize(("replicas", "offered"), [(1, False), (3, True)])
def test_single_member_is_not_removed_in_the_application(replicas: int, offered: bool, tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="Unknown", renewed="20:00", tainted=None, replicas=replicas)
    page = said("explain", "pod/ledger-0", "-n", "bank", *source)
    assert ("if its other members are a majority" in page) is offered


def test_timeline_detaches_with_object_on_answering_node(tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="False", renewed="45:00", deleted="44:50", volumes=BOOKS)
    words = ("explain", "pod/ledger-0", "-n", "bank", "--timeline", *source)
    events = data(*words)["timeline"]["ways"][0]["events"]
    latest = {event["what"]: event["latest"] for event in events}
    assert (latest["ObjectGone"], latest["VolumeFree"], latest["ProcessesEnded"]) == (20, 20, 40)


@pytest.mark.parametrize(("deleted", "late"), [("41:00", True), ("44:50", False)])
def test_volume_shows_overdue_garbage_collection(deleted: str, late: bool, tmp_path: Path) -> None:
    source = _cluster(tmp_path, ready="Unknown", renewed="20:00", deleted=deleted, volumes=BOOKS)
    page = said("explain", "pod/ledger-0", "-n", "bank", *source)
    words = "on rack-7: pod garbage collection should have removed its object by 20:41:20 UTC: check kube-controller"
    removes = f"stop: ledger-0 (deleted at 20:{deleted} UTC) on rack-7: garbage collection removes the object"
    assert (words in page, removes in page) == (late, not late)
    assert "ended, since" not in page
