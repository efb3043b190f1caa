"""The volumes that keep out a second writer, and the component that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.storage import (
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
)
from podrules.ending.volumes import (
    ClaimedVolume,
    WriterGuard,
    WriterLock,
    attachment_name,
    claimed_volumes,
    inline_guards,
    writer_guard,
)
from podrules.node.reachability import Reach
from podrules.silent_node.forcing import lets_second_writer
from tests.objects import make_pod
from tests.table import table

DATA = ClaimedVolume("data", "data-db-0", read_only=False)
CSI = {"driver": "block.csi.example.com", "volumeHandle": "vol-1"}


def make_volume(
    source: str = "", about: Mapping[str, Any] | None = None, *, access_modes: Sequence[str] = ("ReadWriteOnce",)
) -> PersistentVolume:
    sources = {source: about or {}} if source else {}
    return from_object({"spec": {"accessModes": access_modes, **sources}}, PersistentVolume)


def make_claim(access_modes: Sequence[str] = ("ReadWriteOnce",)) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(spec=PersistentVolumeClaimSpec(access_modes=tuple(access_modes), volume_name="pv"))


@table(
    "source, about, lock, backend",
    {
        "AWS EBS": ("awsElasticBlockStore", {"volumeID": "v"}, WriterLock.ATTACHMENT, "AWS EBS"),
        "Azure Disk": ("azureDisk", {"diskName": "v", "diskURI": "u"}, WriterLock.ATTACHMENT, "Azure Disk"),
        "Cinder": ("cinder", {"volumeID": "v"}, WriterLock.ATTACHMENT, "Cinder"),
        "GCE PD": ("gcePersistentDisk", {"pdName": "v"}, WriterLock.ATTACHMENT, "GCE PD"),
        "Portworx": ("portworxVolume", {"volumeID": "v"}, WriterLock.ATTACHMENT, "Portworx"),
        "Ceph RBD": ("rbd", {"monitors": ["m"], "image": "v"}, WriterLock.REMOVED, "Ceph RBD"),
        "vSphere": ("vsphereVolume", {"volumePath": "v"}, WriterLock.ATTACHMENT, "vSphere"),
        "AzureFile": ("azureFile", {"secretName": "s", "shareName": "v"}, WriterLock.NONE, "Azure File"),
        "CephFS": ("cephfs", {"monitors": ["m"]}, WriterLock.REMOVED, "CephFS"),
        "FC": ("fc", {"targetWWNs": ["w"], "lun": 0}, WriterLock.CONTROLLER, "FC"),
        "GlusterFS": ("glusterfs", {"endpoints": "e", "path": "v"}, WriterLock.REMOVED, "GlusterFS"),
        "hostPath": ("hostPath", {"path": "/v"}, WriterLock.FOLDER, "hostPath"),
        "iSCSI": ("iscsi", {"targetPortal": "p", "iqn": "q", "lun": 0}, WriterLock.CONTROLLER, "iSCSI"),
        "local": ("local", {"path": "/v"}, WriterLock.FOLDER, "local"),
        "NFS": ("nfs", {"server": "s", "path": "/v"}, WriterLock.NONE, "NFS"),
        "a source that no rule knows": ("flexVolume", {"driver": "d"}, WriterLock.UNKNOWN, ""),
        "no source at all": ("", {}, WriterLock.UNKNOWN, ""),
    },
)
@pytest.mark.parametrize("attached", [True, False, None])
def test_F4_locks_of_in_tree_volumes(
    source: str, about: Mapping[str, Any], lock: WriterLock, backend: str, attached: bool | None
) -> None:
    """An attachment, which only CSI volumes have, has no effect."""
    guard = writer_guard(DATA, make_claim(), make_volume(source, about), attached=attached)
    assert guard == WriterGuard("data", lock, backend, ("ReadWriteOnce",))


@table(
    "containers, read_only",
    {
        "mounted read only": ([{"volumeMounts": [{"name": "data", "readOnly": True}]}], True),
        "mounted to write": ([{"volumeMounts": [{"name": "data"}]}], False),
        "one writes": (
            [{"volumeMounts": [{"name": "data", "readOnly": True}]}, {"volumeMounts": [{"name": "data"}]}],
            False,
        ),
        "a device": ([{"volumeDevices": [{"name": "data"}]}], False),
        "not mounted: a webhook may add a container that does": ([{"volumeMounts": [{"name": "html"}]}], False),
    },
)
def test_F4_containers_that_only_read_are_no_writers(containers: Sequence[Mapping[str, Any]], read_only: bool) -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "html", "nfs": {"server": "s", "path": "/"}},
    ]
    every = [{"name": f"c{number}", **one} for number, one in enumerate(containers)]
    [claimed] = claimed_volumes(
        from_object({"spec": {"containers": every[:1], "initContainers": every[1:], "volumes": volumes}}, Pod)
    )
    assert claimed.read_only is read_only
    for one in every:
        for mount in (*one.get("volumeMounts", ()), *one.get("volumeDevices", ())):
            mount["name"] = {"data": "html", "html": "data"}[mount["name"]]
    [guard] = inline_guards(from_object({"spec": {"containers": every, "volumes": volumes}}, Pod))
    assert (guard.lock is WriterLock.NOT_NEEDED) is read_only


@table(
    "attached, lock",
    {
        "attached to the pod's node": (True, WriterLock.ATTACHMENT),
        "not attached, or a driver without attachment": (False, WriterLock.NONE),
        "attachment could not be read": (None, WriterLock.UNKNOWN),
    },
)
def test_F4_csi_volume_is_guarded_by_its_attachment(attached: bool | None, lock: WriterLock) -> None:
    guard = writer_guard(DATA, make_claim(), make_volume("csi", CSI), attached=attached)
    assert guard == WriterGuard("data", lock, "block.csi.example.com", ("ReadWriteOnce",))


@table(
    "modes, lock",
    {
        "RWO": (["ReadWriteOnce"], WriterLock.NONE),
        "RWOP: kept for pod objects alone": (["ReadWriteOncePod"], WriterLock.NONE),
        "RWX": (["ReadWriteMany"], WriterLock.NOT_NEEDED),
        "ROX": (["ReadOnlyMany"], WriterLock.NOT_NEEDED),
        "RWO and RWX": (["ReadWriteOnce", "ReadWriteMany"], WriterLock.NOT_NEEDED),
        "no access modes": ([], WriterLock.NONE),
    },
)
@pytest.mark.parametrize(("source", "own"), [("nfs", WriterLock.NONE), ("iscsi", WriterLock.CONTROLLER)])
def test_F4_access_modes(modes: Sequence[str], lock: WriterLock, source: str, own: WriterLock) -> None:
    guard = writer_guard(DATA, make_claim(modes), make_volume(source), attached=None)
    assert (guard.lock, guard.access_modes) == (own if lock is WriterLock.NONE else lock, tuple(modes))


@pytest.mark.parametrize("source", ["iscsi", "fc"])
@table(
    "modes, lock",
    {
        "RWO": (["ReadWriteOnce"], WriterLock.CONTROLLER),
        "RWOP": (["ReadWriteOncePod"], WriterLock.CONTROLLER),
        "a volume that may be read by many": (["ReadWriteOnce", "ReadOnlyMany"], WriterLock.NONE),
        "a volume without access modes": ([], WriterLock.NONE),
    },
)
def test_F4_controller_uses_access_modes_of_the_volume(modes: Sequence[str], lock: WriterLock, source: str) -> None:
    volume = make_volume(source, access_modes=modes)
    assert writer_guard(DATA, make_claim(), volume, attached=None).lock is lock


def _term(*requirements: tuple[str, str, Sequence[str]]) -> Mapping[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": how, "values": [*of]} for key, how, of in requirements]}


HOSTNAME: Final = "kubernetes.io/hostname"


@table(
    "terms, lock",
    {
        "one node": ([_term((HOSTNAME, "In", ["w3"]))], WriterLock.NODE),
        "a CSI driver's label": ([_term(("topology.topolvm.io/node", "In", ["w3"]))], WriterLock.NODE),
        "two labels": ([_term((HOSTNAME, "In", ["w3"]), ("openebs.io/nodename", "In", ["w3"]))], WriterLock.NODE),
        "name": ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w3"]}]}], WriterLock.NODE),
        "two nodes": ([_term((HOSTNAME, "In", ["w3", "w4"]))], None),
        "one or the other": ([_term((HOSTNAME, "In", ["w3"])), _term((HOSTNAME, "In", ["w4"]))], None),
        "all but one": ([_term((HOSTNAME, "NotIn", ["w3"]))], None),
        "a zone": ([_term(("topology.kubernetes.io/zone", "In", ["z"]))], None),
        "and a term without requirements": ([_term((HOSTNAME, "In", ["w3"])), {}], None),
        "no term": ([], None),
    },
)
@pytest.mark.parametrize(
    ("source", "elsewhere"),
    [("local", WriterLock.FOLDER), ("hostPath", WriterLock.FOLDER), ("csi", WriterLock.NONE), ("nfs", WriterLock.NONE)],
)
def test_F4_node_affinity_keeps_the_next_pod_on_the_node(
    terms: Sequence[Mapping[str, Any]], lock: WriterLock | None, source: str, elsewhere: WriterLock
) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "nodeAffinity": {"required": {"nodeSelectorTerms": [*terms]}},
        source: {"path": "/v", **CSI},
    }
    volume = from_object({"metadata": {"name": "v"}, "spec": spec}, PersistentVolume)
    expected = elsewhere if lock is None or source == "nfs" else lock
    assert writer_guard(DATA, make_claim(), volume, attached=False).lock is expected


@pytest.mark.parametrize("lock", [WriterLock.NODE, WriterLock.FOLDER])
def test_F4_second_writer_may_start_on_answering_node(lock: WriterLock) -> None:
    guard = WriterGuard("data", lock, "local", ("ReadWriteOnce",))
    assert lets_second_writer(guard, Reach.ANSWERS)
    assert lets_second_writer(guard, Reach.UNKNOWN)
    assert not lets_second_writer(guard, Reach.SILENT)
    # An inline volume does not state that it has one writer.
    assert not lets_second_writer(WriterGuard("logs", lock, "hostPath in the pod itself"), Reach.ANSWERS)


def test_F4_guard_of_multi_node_csi_volume_is_unknown() -> None:
    """Only its driver knows."""
    volume = make_volume("csi", CSI, access_modes=["ReadWriteOnce", "ReadWriteMany"])
    assert writer_guard(DATA, make_claim(), volume, attached=True).lock is WriterLock.UNKNOWN


@table(
    "source, lock",
    {
        "iSCSI": ({"iscsi": {"targetPortal": "p", "iqn": "q", "lun": 0}}, WriterLock.NONE),
        "FC": ({"fc": {"wwids": ["w"]}}, WriterLock.NONE),
        "only read": ({"fc": {"wwids": ["w"], "readOnly": True}}, WriterLock.NOT_NEEDED),
        "NFS": ({"nfs": {"server": "s", "path": "/"}}, WriterLock.NONE),
        "NFS, only read": ({"nfs": {"server": "s", "path": "/", "readOnly": True}}, WriterLock.NOT_NEEDED),
        "Azure File": ({"azureFile": {"secretName": "s", "shareName": "x"}}, WriterLock.NONE),
        "AWS EBS": ({"awsElasticBlockStore": {"volumeID": "v"}}, WriterLock.ATTACHMENT),
        "Azure Disk": ({"azureDisk": {"diskName": "v", "diskURI": "u"}}, WriterLock.ATTACHMENT),
        "another one on each node": ({"hostPath": {"path": "/"}}, WriterLock.FOLDER),
        "of the pod alone": ({"emptyDir": {}}, None),
    },
)
def test_F4_inline_volumes_are_included(source: Mapping[str, Any], lock: WriterLock | None) -> None:
    found = [guard.lock for guard in inline_guards(make_pod(volumes=[{"name": "disk", **source}]))]
    assert found == ([lock] if lock is not None else [])


@pytest.mark.parametrize("source", ["nfs", "rbd", "csi", "flexVolume"])
def test_F4_pod_that_only_reads_needs_no_lock(source: str) -> None:
    reading = ClaimedVolume("data", "data-db-0", read_only=True)
    assert writer_guard(reading, make_claim(), make_volume(source, CSI), attached=None).lock is WriterLock.NOT_NEEDED


def _claimed(name: str, claim: str, **more: bool) -> Mapping[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim, **more}}


OTHERS = [
    {"name": "tmp", "emptyDir": {}},
    {"name": "settings", "configMap": {"name": "settings"}},
    {"name": "inline", "csi": {"driver": "secrets.example.com"}},
]
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


@table(
    "volumes, expected",
    {
        "none": ([], ()),
        "a claim by name": ([_claimed("data", "data-db-0")], (DATA,)),
        "read only": ([_claimed("seed", "seed", readOnly=True)], (ClaimedVolume("seed", "seed", read_only=True),)),
        "an ephemeral claim is named after pod and volume": (
            [SCRATCH],
            (ClaimedVolume("scratch", "db-0-scratch", read_only=False),),
        ),
        "only claims outlive the pod or are shared": ([*OTHERS, _claimed("data", "data-db-0")], (DATA,)),
        "one claim twice, in the pod's order": (
            [_claimed("b", "same"), _claimed("a", "same", readOnly=True)],
            (ClaimedVolume("b", "same", read_only=False), ClaimedVolume("a", "same", read_only=True)),
        ),
    },
)
def test_F4_claims_of_a_pod(volumes: Sequence[Mapping[str, Any]], expected: tuple[ClaimedVolume, ...]) -> None:
    assert claimed_volumes(make_pod("db-0", volumes=volumes)) == expected


# sha256sum(1) over the three strings of csi_attacher_test.go.
@pytest.mark.parametrize(
    ("names", "digest"),
    [
        ("testvol-01 testdriver-01 testnode-01", "4d8f42c5f953488d695504cfaf9658961d83f72b5ac9bba3e32c2ddb7708e84f"),
        ("vol02 driver02 node02", "70fa8b122628ff5436f098759b79c93487b3894e2bff5637c618405a059b0b47"),
        # The VolumeAttachment of another volume.
        ("vol01 driver01 node01", "6742023a61316c20361490f8a9a57fa3264f6f22d28eca7f5b7503ddc6519b82"),
    ],
)
def test_F4_attachment_name(names: str, digest: str) -> None:
    handle, driver, node = names.split()
    assert attachment_name(CSIVolumeSource(driver=driver, volume_handle=handle), node) == f"csi-{digest}"
