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

DATA = ClaimedVolume("data", "data-db-0", read_only=False)
CSI = {"driver": "block.csi.example.com", "volumeHandle": "vol-1"}


def make_volume(
    source: str = "", about: Mapping[str, Any] | None = None, *, access_modes: Sequence[str] = ("ReadWriteOnce",)
) -> PersistentVolume:
    sources = {source: about or {}} if source else {}
    return from_object({"spec": {"accessModes": access_modes, **sources}}, PersistentVolume)


def make_claim(access_modes: Sequence[str] = ("ReadWriteOnce",)) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(spec=PersistentVolumeClaimSpec(access_modes=tuple(access_modes), volume_name="pv"))


@pytest.mark.parametrize(
    ("source", "about", "lock", "backend"),
    [
        pytest.param("awsElasticBlockStore", {"volumeID": "v"}, WriterLock.ATTACHMENT, "AWS EBS", id="AWS EBS"),
        pytest.param(
            "azureDisk", {"diskName": "v", "diskURI": "u"}, WriterLock.ATTACHMENT, "Azure Disk", id="Azure Disk"
        ),
        pytest.param("cinder", {"volumeID": "v"}, WriterLock.ATTACHMENT, "Cinder", id="Cinder"),
        pytest.param("gcePersistentDisk", {"pdName": "v"}, WriterLock.ATTACHMENT, "GCE PD", id="GCE PD"),
        pytest.param("portworxVolume", {"volumeID": "v"}, WriterLock.ATTACHMENT, "Portworx", id="Portworx"),
        pytest.param("rbd", {"monitors": ["m"], "image": "v"}, WriterLock.REMOVED, "Ceph RBD", id="Ceph RBD"),
        pytest.param("vsphereVolume", {"volumePath": "v"}, WriterLock.ATTACHMENT, "vSphere", id="vSphere"),
        pytest.param("azureFile", {"secretName": "s", "shareName": "v"}, WriterLock.NONE, "Azure File", id="AzureFile"),
        pytest.param("cephfs", {"monitors": ["m"]}, WriterLock.REMOVED, "CephFS", id="CephFS"),
        pytest.param("fc", {"targetWWNs": ["w"], "lun": 0}, WriterLock.CONTROLLER, "FC", id="FC"),
        pytest.param("glusterfs", {"endpoints": "e", "path": "v"}, WriterLock.REMOVED, "GlusterFS", id="GlusterFS"),
        pytest.param("hostPath", {"path": "/v"}, WriterLock.FOLDER, "hostPath", id="hostPath"),
        pytest.param("iscsi", {"targetPortal": "p", "iqn": "q", "lun": 0}, WriterLock.CONTROLLER, "iSCSI", id="iSCSI"),
        pytest.param("local", {"path": "/v"}, WriterLock.FOLDER, "local", id="local"),
        pytest.param("nfs", {"server": "s", "path": "/v"}, WriterLock.NONE, "NFS", id="NFS"),
        pytest.param("flexVolume", {"driver": "d"}, WriterLock.UNKNOWN, "", id="a source that no rule knows"),
        pytest.param("", {}, WriterLock.UNKNOWN, "", id="no source at all"),
    ],
)
@pytest.mark.parametrize("attached", [True, False, None])
def test_F4_locks_of_in_tree_volumes(
    source: str, about: Mapping[str, Any], lock: WriterLock, backend: str, attached: bool | None
) -> None:
    """An attachment, which only CSI volumes have, has no effect."""
    guard = writer_guard(DATA, make_claim(), make_volume(source, about), attached=attached)
    assert guard == WriterGuard("data", lock, backend, ("ReadWriteOnce",))


@pytest.mark.parametrize(
    ("containers", "read_only"),
    [
        pytest.param([{"volumeMounts": [{"name": "data", "readOnly": True}]}], True, id="mounted read only"),
        pytest.param([{"volumeMounts": [{"name": "data"}]}], False, id="mounted to write"),
        pytest.param(
            [{"volumeMounts": [{"name": "data", "readOnly": True}]}, {"volumeMounts": [{"name": "data"}]}],
            False,
            id="one writes",
        ),
        pytest.param([{"volumeDevices": [{"name": "data"}]}], False, id="a device"),
        pytest.param(
            [{"volumeMounts": [{"name": "html"}]}], False, id="not mounted: a webhook may add a container that does"
        ),
    ],
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


@pytest.mark.parametrize(
    ("attached", "lock"),
    [
        pytest.param(True, WriterLock.ATTACHMENT, id="attached to the pod's node"),
        pytest.param(False, WriterLock.NONE, id="not attached, or a driver without attachment"),
        pytest.param(None, WriterLock.UNKNOWN, id="attachment could not be read"),
    ],
)
def test_F4_csi_volume_is_guarded_by_its_attachment(attached: bool | None, lock: WriterLock) -> None:
    guard = writer_guard(DATA, make_claim(), make_volume("csi", CSI), attached=attached)
    assert guard == WriterGuard("data", lock, "block.csi.example.com", ("ReadWriteOnce",))


@pytest.mark.parametrize(
    ("modes", "lock"),
    [
        pytest.param(["ReadWriteOnce"], WriterLock.NONE, id="RWO"),
        pytest.param(["ReadWriteOncePod"], WriterLock.NONE, id="RWOP: kept for pod objects alone"),
        pytest.param(["ReadWriteMany"], WriterLock.NOT_NEEDED, id="RWX"),
        pytest.param(["ReadOnlyMany"], WriterLock.NOT_NEEDED, id="ROX"),
        pytest.param(["ReadWriteOnce", "ReadWriteMany"], WriterLock.NOT_NEEDED, id="RWO and RWX"),
        pytest.param([], WriterLock.NONE, id="no access modes"),
    ],
)
@pytest.mark.parametrize(("source", "own"), [("nfs", WriterLock.NONE), ("iscsi", WriterLock.CONTROLLER)])
def test_F4_access_modes(modes: Sequence[str], lock: WriterLock, source: str, own: WriterLock) -> None:
    guard = writer_guard(DATA, make_claim(modes), make_volume(source), attached=None)
    assert (guard.lock, guard.access_modes) == (own if lock is WriterLock.NONE else lock, tuple(modes))


@pytest.mark.parametrize("source", ["iscsi", "fc"])
@pytest.mark.parametrize(
    ("modes", "lock"),
    [
        pytest.param(["ReadWriteOnce"], WriterLock.CONTROLLER, id="RWO"),
        pytest.param(["ReadWriteOncePod"], WriterLock.CONTROLLER, id="RWOP"),
        pytest.param(["ReadWriteOnce", "ReadOnlyMany"], WriterLock.NONE, id="a volume that may be read by many"),
        pytest.param([], WriterLock.NONE, id="a volume without access modes"),
    ],
)
def test_F4_controller_uses_access_modes_of_the_volume(modes: Sequence[str], lock: WriterLock, source: str) -> None:
    volume = make_volume(source, access_modes=modes)
    assert writer_guard(DATA, make_claim(), volume, attached=None).lock is lock


def _term(*requirements: tuple[str, str, Sequence[str]]) -> Mapping[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": how, "values": [*of]} for key, how, of in requirements]}


HOSTNAME: Final = "kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("terms", "lock"),
    [
        pytest.param([_term((HOSTNAME, "In", ["w3"]))], WriterLock.NODE, id="one node"),
        pytest.param([_term(("topology.topolvm.io/node", "In", ["w3"]))], WriterLock.NODE, id="a CSI driver's label"),
        pytest.param(
            [_term((HOSTNAME, "In", ["w3"]), ("openebs.io/nodename", "In", ["w3"]))], WriterLock.NODE, id="two labels"
        ),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w3"]}]}],
            WriterLock.NODE,
            id="name",
        ),
        pytest.param([_term((HOSTNAME, "In", ["w3", "w4"]))], None, id="two nodes"),
        pytest.param([_term((HOSTNAME, "In", ["w3"])), _term((HOSTNAME, "In", ["w4"]))], None, id="one or the other"),
        pytest.param([_term((HOSTNAME, "NotIn", ["w3"]))], None, id="all but one"),
        pytest.param([_term(("topology.kubernetes.io/zone", "In", ["z"]))], None, id="a zone"),
        pytest.param([_term((HOSTNAME, "In", ["w3"])), {}], None, id="and a term without requirements"),
        pytest.param([], None, id="no term"),
    ],
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


@pytest.mark.parametrize(
    ("source", "lock"),
    [
        pytest.param({"iscsi": {"targetPortal": "p", "iqn": "q", "lun": 0}}, WriterLock.NONE, id="iSCSI"),
        pytest.param({"fc": {"wwids": ["w"]}}, WriterLock.NONE, id="FC"),
        pytest.param({"fc": {"wwids": ["w"], "readOnly": True}}, WriterLock.NOT_NEEDED, id="only read"),
        pytest.param({"nfs": {"server": "s", "path": "/"}}, WriterLock.NONE, id="NFS"),
        pytest.param(
            {"nfs": {"server": "s", "path": "/", "readOnly": True}}, WriterLock.NOT_NEEDED, id="NFS, only read"
        ),
        pytest.param({"azureFile": {"secretName": "s", "shareName": "x"}}, WriterLock.NONE, id="Azure File"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "v"}}, WriterLock.ATTACHMENT, id="AWS EBS"),
        pytest.param({"azureDisk": {"diskName": "v", "diskURI": "u"}}, WriterLock.ATTACHMENT, id="Azure Disk"),
        pytest.param({"hostPath": {"path": "/"}}, WriterLock.FOLDER, id="another one on each node"),
        pytest.param({"emptyDir": {}}, None, id="of the pod alone"),
    ],
)
def test_F4_inline_volumes_are_included(source: Mapping[str, Any], lock: WriterLock | None) -> None:
    found = [guard.lock for guard in inline_guards(make_pod(volumes=[{"name": "disk", **source}]))]
    assert found == ([lock] if lock is not None else [])


@pytest.mark.parametrize("source", ["nfs", "rbd", "csi", "flexVolume"])
def test_F4_pod_that_only_reads_needs_no_lock(source: str) -> None:
    reading = ClaimedVolume("data", "data-db-0", read_only=True)
    assert writer_guard(reading, make_claim(), make_volume(source, CSI), attached=None).lock is WriterLock.NOT_NEEDED


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([], (), id="none"),
        pytest.param(
            [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}], (DATA,), id="a claim by name"
        ),
        pytest.param(
            [{"name": "seed", "persistentVolumeClaim": {"claimName": "seed", "readOnly": True}}],
            (ClaimedVolume("seed", "seed", read_only=True),),
            id="read only",
        ),
        pytest.param(
            [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}],
            (ClaimedVolume("scratch", "db-0-scratch", read_only=False),),
            id="an ephemeral claim is named after pod and volume",
        ),
        pytest.param(
            [
                {"name": "tmp", "emptyDir": {}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
                {"name": "settings", "configMap": {"name": "settings"}},
                {"name": "inline", "csi": {"driver": "secrets.example.com"}},
            ],
            (DATA,),
            id="only claims outlive the pod or are shared",
        ),
        pytest.param(
            [
                {"name": "b", "persistentVolumeClaim": {"claimName": "same"}},
                {"name": "a", "persistentVolumeClaim": {"claimName": "same", "readOnly": True}},
            ],
            (ClaimedVolume("b", "same", read_only=False), ClaimedVolume("a", "same", read_only=True)),
            id="one claim twice, in the pod's order",
        ),
    ],
)
def test_F4_claims_of_a_pod(volumes: Sequence[Mapping[str, Any]], expected: tuple[ClaimedVolume, ...]) -> None:
    assert claimed_volumes(make_pod("db-0", volumes=volumes)) == expected


@pytest.mark.parametrize(
    ("handle", "driver", "node", "digest"),
    [
        # sha256sum(1) over the three strings of csi_attacher_test.go.
        pytest.param(
            "testvol-01",
            "testdriver-01",
            "testnode-01",
            "4d8f42c5f953488d695504cfaf9658961d83f72b5ac9bba3e32c2ddb7708e84f",
            id="test ok 1",
        ),
        pytest.param(
            "vol02",
            "driver02",
            "node02",
            "70fa8b122628ff5436f098759b79c93487b3894e2bff5637c618405a059b0b47",
            id="test ok 2",
        ),
        pytest.param(
            "vol01",
            "driver01",
            "node01",
            "6742023a61316c20361490f8a9a57fa3264f6f22d28eca7f5b7503ddc6519b82",
            id="VolumeAttachment of another volume",
        ),
    ],
)
def test_F4_attachment_name(handle: str, driver: str, node: str, digest: str) -> None:
    assert attachment_name(CSIVolumeSource(driver=driver, volume_handle=handle), node) == f"csi-{digest}"
