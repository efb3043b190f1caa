"""Volumes that are still attached to a silent node: their driver, when they are detached, and the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from cluster_io.capture.anonymise import Anonymiser
from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.storage import PersistentVolume
from podrules.ending.attachment import unique_volume_name
from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.running import Ran, run
from tests.objects import raw_condition, raw_event, raw_node, raw_object, raw_owner, raw_pod

Json = dict[str, Any]

NOW: Final = "2026-11-28T12:00:00Z"
SILENT: Final = "2026-11-28T10:00:00Z"
MULTI_ATTACH: Final = (
    "Multi-Attach error for volume Volume is already exclusively attached to one node and can't be attached to another"
)
SOURCES: Final[dict[str, tuple[Json, str]]] = {
    "CSI": ({"csi": {"driver": "block.example.com", "volumeHandle": "h-7"}}, "kubernetes.io/csi/block.example.com^h-7"),
    "AWS EBS": (
        {"awsElasticBlockStore": {"volumeID": "aws://us-east-1b/vol-77"}},
        "kubernetes.io/csi/ebs.csi.aws.com^vol-77",
    ),
    "GCE PD": (
        {"gcePersistentDisk": {"pdName": "disk-7"}},
        "kubernetes.io/csi/pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-7",
    ),
    "vSphere": (
        {"vsphereVolume": {"volumePath": "[tank] kube/b.vmdk"}},
        "kubernetes.io/csi/csi.vsphere.vmware.com^[tank] kube/b.vmdk",
    ),
    "Cinder": ({"cinder": {"volumeID": "c-7"}}, "kubernetes.io/csi/cinder.csi.openstack.org^c-7"),
    "Azure Disk": (
        {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/7/d", "kind": "Managed"}},
        "kubernetes.io/csi/disk.csi.azure.com^/subscriptions/7/d",
    ),
}

CONTROLLED: Final[dict[str, tuple[Json, str]]] = {
    "iSCSI": (
        {"iscsi": {"targetPortal": "192.0.2.9:3260", "iqn": "iqn.2026-11.com.example:b", "lun": 4}},
        "kubernetes.io/iscsi/192.0.2.9:3260:iqn.2026-11.com.example:b:4",
    ),
    "FC": ({"fc": {"targetWWNs": ["50060e80104"], "lun": 9}}, "kubernetes.io/fc/[50060e80104]:9"),
}


def _pod(name: str, node: str, owner: str, *, created: str, runs: bool = False, **metadata: Any) -> Json:
    kind, _, of = owner.partition("/")
    owners = [raw_owner(kind, of, uid=of)] if owner else []
    state = {"running": {"startedAt": created}} if runs else {"waiting": {"reason": "ContainerCreating"}}
    return raw_pod(
        name,
        "bank",
        uid=f"uid-{name}",
        metadata={"creationTimestamp": created, "ownerReferences": owners, **metadata},
        status={
            "phase": "Running" if runs else "Pending",
            "conditions": [raw_condition("PodScheduled")],
            "containerStatuses": [{"name": "app", "image": "i", "imageID": "", "state": state}],
        },
        nodeName=node,
        volumes=[{"name": "tank", "persistentVolumeClaim": {"claimName": "tank-db-0"}}],
    )


WELL: Final = [raw_condition("Ready", lastTransitionTime=SILENT)]
RWO: Final = {"accessModes": ["ReadWriteOnce"]}


def _cluster(
    folder: Path,
    source: str | Json = "CSI",
    *,
    owner: str = "ReplicaSet/db-5d",
    created: str = "2026-11-28T11:54:00Z",
    old: bool = False,
    silent: bool = True,
    in_use: bool = True,
    attachment: Json | None = None,
    more: tuple[Json, ...] = (),
) -> str:
    """A List: ``mute-1`` has the volume of claim ``tank-db-0`` attached, and ``db-0`` on ``well-1`` waits for it.

    Args:
        folder: The folder of the file.
        source: The source of the PersistentVolume.
        owner: The owner of the pods.
        created: The creation time of the waiting pod.
        old: Whether ``db-old`` is still on mute-1.
        silent: Whether mute-1 is silent, or is left out of the file.
        in_use: Whether its status has the volume in volumesInUse.
        attachment: The VolumeAttachment without its node and volume; None: the file has none.
        more: Further objects.
    """
    spec, name = {**SOURCES, **CONTROLLED}[source] if isinstance(source, str) else (source, "")
    volume = [name] if name else []
    size = {"storage": "1Gi"}
    claim = RWO | {"volumeName": "pv-7", "resources": {"requests": size}}
    bound = RWO | {"capacity": size, "claimRef": {"namespace": "bank", "name": "tank-db-0"}, **spec}
    items = [
        raw_node("well-1", conditions=WELL),
        raw_object("PersistentVolumeClaim", "tank-db-0", "bank", spec=claim, status={"phase": "Bound"}),
        raw_object("PersistentVolume", "pv-7", spec=bound),
        _pod("db-0", "well-1", owner, created=created, labels={"pod-template-hash": "5d"}),
        raw_event("Pod/db-0", "FailedAttachVolume", MULTI_ATTACH, namespace="bank", uid="uid-db-0", last=NOW, count=1),
        *more,
    ]
    if silent:
        attached = [{"name": one, "devicePath": ""} for one in volume]
        items.append(
            raw_node(
                "mute-1",
                conditions=[raw_condition("Ready", "Unknown", lastTransitionTime=SILENT)],
                status={"volumesAttached": attached, "volumesInUse": volume if in_use else []},
                taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": SILENT}],
            )
        )
    if old:
        gone = {"deletionTimestamp": "2026-11-28T10:06:00Z", "deletionGracePeriodSeconds": 30}
        items.append(_pod("db-old", "mute-1", owner, created="2026-11-27T00:00:00Z", runs=True, **gone))
    if attachment is not None:
        held = {"attacher": "d", "nodeName": "mute-1", "source": {"persistentVolumeName": "pv-7"}}
        meta, status = attachment.get("metadata", {}), {"attached": True, **attachment.get("status", {})}
        items.append(raw_object("VolumeAttachment", "csi-7", metadata=meta, spec=held, status=status))
    return write_list(folder / "cluster.json", items)


def _flat(ran: Ran) -> str:
    return " ".join(ran.out.split())


@pytest.mark.parametrize("source", SOURCES)
def test_anonymised_node_has_the_same_volumes(source: str) -> None:
    """A node's status names a disk by values of its PersistentVolume."""
    spec, name = SOURCES[source]
    volume = from_object({"metadata": {"name": "pv-7"}, "spec": spec}, PersistentVolume)
    node = from_object({"metadata": {"name": "n"}, "status": {"volumesAttached": [{"name": name}]}}, Node)
    anonymiser = Anonymiser(b"a secret of tests")
    [attached] = anonymiser.model(node).status.volumes_attached
    assert unique_volume_name(volume) == name
    assert unique_volume_name(anonymiser.model(volume)) == attached.name != name


EXPLAIN: Final = ("explain", "pod/db-0", "-n", "bank", "--snapshot")
DELETE: Final = ("delete", "pod/db-old", "-n", "bank", "--grace-period=0", "--snapshot")
FENCE: Final = "kubectl qos fence node/mute-1"
FENCE_IT: Final = "Make sure that the machine of mute-1 is off, then fence mute-1."


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("attachment", [None, {}], ids=["without VolumeAttachments", "with its VolumeAttachment"])
def test_in_tree_disk_is_attached_by_its_csi_driver(source: str, attachment: Json | None, tmp_path: Path) -> None:
    file = _cluster(tmp_path, source, attachment=attachment)
    ran = run(*EXPLAIN, file)
    # The CSIDriver shows whether a CSI driver attaches; the file has none.
    assert ran.code == (0 if attachment is not None and source != "CSI" else 11)
    forced = f"Detach: mute-1 is silent: detached by force 6 min after the pod object is gone. {FENCE_IT}"
    check_texts(_flat(ran), (forced, FENCE), "Recreate")
    listed = "1 pod elsewhere waits for a volume still attached to it.", "volumes 1 detached by force 6 min after"
    check_texts(said("partitions", "--snapshot", file), listed)
    text = said(*DELETE, _cluster(tmp_path, source, old=True))
    assert "ReadWriteOnce: a second writer is kept off until it is detached from this node (6 min after the" in text


def test_unused_volume_is_detached_with_the_pod_object(tmp_path: Path) -> None:
    text = said(*DELETE, _cluster(tmp_path, old=True, in_use=False, attachment={}))
    assert "is kept off until it is detached from this node (as soon as the pod object is gone)" in text


def test_fence_does_not_help_a_failed_detach(tmp_path: Path) -> None:
    deleted = {"metadata": {"deletionTimestamp": "2026-11-28T11:40:00Z"}}
    error = {**deleted, "status": {"detachError": {"message": "rpc error: no permission to detach h-7"}}}
    file = _cluster(tmp_path, attachment=error)
    refused = (
        "pv-7: its driver has not detached it since 11:40:00 UTC, and a fence does not help; "
        "the driver reports: rpc error: no permission to detach h-7."
    )
    slow = "volumes 1 being detached by the driver, which no fence speeds up"
    for command in (("partitions",), ("fence", "node/mute-1")):
        check_texts(said(*command, "--snapshot", file), (refused, slow), ("by force", "detaches 1 volume"))
    assert "kubectl qos fence" not in said("partitions", "--snapshot", file)
    held = "its driver has to detach it at mute-1, which is silent, since 11:40:00 UTC; it says: rpc"
    check_texts(said(*EXPLAIN, file), held, "kubectl qos fence")
    cluster = json.loads(Path(file).read_text())
    [taints] = [item["spec"]["taints"] for item in cluster["items"] if item["metadata"]["name"] == "mute-1"]
    taints.append({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"})
    fenced = write_list(tmp_path / "fenced.json", cluster["items"])
    for command in (("partitions",), ("fence", "node/mute-1")):
        check_texts(said(*command, "--snapshot", fenced), refused, "further help")
    assert "kubectl qos fence" not in said("partitions", "--snapshot", fenced)
    assert FENCE in said("partitions", "--snapshot", _cluster(tmp_path, attachment=error, old=True))
    assert FENCE in said("partitions", "--snapshot", _cluster(tmp_path, attachment=deleted))


@pytest.mark.parametrize(
    ("owner", "created", "by"),
    [
        pytest.param("StatefulSet/db", "2026-11-28T11:00:00Z", "11:06:00", id="of a StatefulSet"),
        pytest.param("StatefulSet/db", "2026-11-28T09:00:00Z", "10:00:00", id="created before the node became silent"),
        pytest.param("StatefulSet/db", "2026-11-28T11:54:00Z", "", id="due"),
        pytest.param("ReplicaSet/db-5d", "2026-11-28T11:00:00Z", "", id="the old pod may have been removed just now"),
    ],
)
def test_overdue_detach_points_to_controller_manager(owner: str, created: str, by: str, tmp_path: Path) -> None:
    file = _cluster(tmp_path, owner=owner, created=created, attachment={})
    late = f"should have been detached by force by {by} UTC: check kube-controller-manager"
    for command in (EXPLAIN, ("partitions", "--snapshot"), ("fence", "node/mute-1", "--snapshot")):
        text = said(*command, file)
        assert (late in text) == bool(by)
        assert ("6 min after" in text) != bool(by)


def test_rolling_update_waits_for_its_own_volume(tmp_path: Path) -> None:
    older = _pod(
        "db-older", "well-2", "ReplicaSet/db-4c", created=SILENT, runs=True, labels={"pod-template-hash": "4c"}
    )
    there = raw_node("well-2", conditions=WELL)
    text = said(*EXPLAIN, _cluster(tmp_path, silent=False, more=(older, there)))
    assert "The rolling update waits for itself: set strategy Recreate." in text
    older["metadata"]["labels"]["pod-template-hash"] = "5d"
    older["metadata"]["ownerReferences"][0]["name"] = "db-5d"
    text = said(*EXPLAIN, _cluster(tmp_path, silent=False, more=(older, there)))
    check_texts(text, "no client has deleted db-older on well-2", "Recreate")


def test_attachment_to_unread_node_is_uncertain(tmp_path: Path) -> None:
    file = _cluster(tmp_path, silent=False, attachment={})
    ran = run("partitions", "--snapshot", file)
    assert ran.code == 11
    assert "All nodes that were read answer. Not certain: not all nodes are in the file" in _flat(ran)
    ran = run(*EXPLAIN, file)
    assert ran.code == 11
    unknown = "Not certain: whether mute-1 answers is unknown; the Node could not be read."
    check_texts(_flat(ran), (unknown, "the attach/detach controller has to detach it at mute-1"))


@pytest.mark.parametrize("required", [False, True, None], ids=["does not attach", "attaches", "not in the file"])
def test_driver_without_attach_needs_no_volume_attachment(required: bool | None, tmp_path: Path) -> None:
    driver = raw_object("CSIDriver", "files.example.com", spec={"attachRequired": required})
    source = {"csi": {"driver": "files.example.com", "volumeHandle": "f-7"}}
    file = _cluster(tmp_path, source, old=True, more=() if required is None else (driver,))
    for command in (("partitions", "--snapshot"), DELETE):
        assert ("nothing keeps a second writer off" in said(*command, file)) == (required is False)


@pytest.mark.parametrize("old", [False, True], ids=["the old object is deleted", "the old pod is Terminating"])
def test_report_shows_volume_held_by_silent_node(old: bool, tmp_path: Path) -> None:
    file = _cluster(tmp_path, old=old, attachment={})
    text = said("report", "-A", "--snapshot", file)
    held = "1 pod: silent node has its volume bank/db-0"
    check_texts(text, held, "0 pods there")
    assert ("1 pod elsewhere waits for a volume still attached to it." in text) != old
    pods = data("report", "-A", "--snapshot", file)["pods"]
    assert [pod["risk"] for pod in pods if pod["name"] == "db-0"] == ["VolumeHeld"]


def test_why_names_what_helps_against_a_silent_holder_first() -> None:
    text = said("why", "Multi-Attach error")
    fence, recreate = text.index("make sure that its machine is off, then fence it"), text.index("set Recreate")
    assert fence < recreate


def test_inline_disk_is_one_volume_with_its_attachment(tmp_path: Path) -> None:
    """The VolumeAttachment has the volume in inlineVolumeSpec and no PersistentVolume."""
    cluster = json.loads(Path(_cluster(tmp_path, "AWS EBS", old=True, attachment={})).read_text())
    csi = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-77"}
    for item in cluster["items"]:
        if item["kind"] == "VolumeAttachment":
            item["spec"] |= {"attacher": csi["driver"], "source": {"inlineVolumeSpec": {"csi": csi}}}
        elif item["kind"] == "Pod":
            item["spec"]["volumes"] = [{"name": "tank", "awsElasticBlockStore": {"volumeID": "vol-77"}}]
    items = [item for item in cluster["items"] if not item["kind"].startswith("PersistentVolume")]
    [node] = data("partitions", "--snapshot", write_list(tmp_path / "inline.json", items))["nodes"]
    [held] = node["attachments"]
    volume = "kubernetes.io/csi/ebs.csi.aws.com^vol-77"
    assert (held["name"], held["usedBy"], held["persistentVolume"]) == ("csi-7", "bank/db-old", volume)


@pytest.mark.parametrize("source", CONTROLLED)
@pytest.mark.parametrize(
    ("old", "words"),
    [
        (True, "6 min after its object is gone, nothing keeps a second writer off volume tank ("),
        (False, "waits for its volume tank-db-0, still attached here; then nothing keeps a second writer off ("),
    ],
)
def test_pod_that_waits_is_second_writer(old: bool, words: str, source: str, tmp_path: Path) -> None:
    file = _cluster(tmp_path, source, owner="", old=old)
    listed = said("partitions", "--snapshot", file)
    assert f"{words}{source}" in listed
    assert ("db-0 elsewhere waits for its volume tank-db-0" in listed) is old


@pytest.mark.parametrize("way", ["node-lost", "delete"])
@pytest.mark.parametrize("source", ["CSI", "AWS EBS", "FC"])
def test_timeline_detaches_volume_not_in_use_with_the_object(source: str, way: str, tmp_path: Path) -> None:
    held: Json | None = {} if source == "CSI" else None
    words = ("explain", "pod/db-old", "-n", "bank", f"--timeline={way}", "--snapshot")
    text = said(*words, _cluster(tmp_path, source, old=True, in_use=False, attachment=held))
    check_texts(text, ("as soon as that is gone", "status.volumesInUse does not list it"), "360 s")
    assert ("which does not stop the writer" in text) is (source == "FC")
    assert "360 s after that is gone" in said(*words, _cluster(tmp_path, source, old=True, attachment=held))
