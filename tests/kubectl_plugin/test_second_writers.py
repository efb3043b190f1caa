"""Two pods of one workload that write to one volume: explain of workloads and manifests, report and lint agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kubectl_plugin.answers import check_texts, data, said, write_list
from tests.kubectl_plugin.edits import FIELD
from tests.kubectl_plugin.running import run
from tests.objects import raw_container, raw_object, raw_pod, raw_workload

SENTENCE: Final = "Nothing keeps a second writer off: even with 1 replica two pods may write to volume data at once."
RWO: Final = "ReadWriteOnce"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
Json = dict[str, Any]
TERM: Final[Json] = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}
ON_NODE: Final[Json] = {"nodeSelectorTerms": [TERM]}


def _shop(
    source: Json,
    mode: str = RWO,
    *,
    kind: str = "Deployment",
    driver: Json | None = None,
    node: str = "",
    tolerations: Sequence[Json] = (),
    **spec: Any,
) -> list[Json]:
    """A workload, its claim and its volume: a manifest and a cluster."""
    pod = raw_pod(
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}],
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ON_NODE}} if node else None,
        tolerations=tolerations or None,
    )
    claim = {"accessModes": [mode], "volumeName": "p", "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"accessModes": [mode], "capacity": {"storage": "1Gi"}, **source}
    return [
        raw_workload(kind, "shop", "default", pod_spec=pod["spec"], **{"replicas": 1, **spec}),
        raw_object("PersistentVolumeClaim", "c", "default", spec=claim),
        raw_object("PersistentVolume", "p", spec=volume),
        *([] if driver is None else [raw_object("CSIDriver", "files.example.com") | {"spec": driver}]),
    ]


def _write(folder: Path, source: Json, mode: str = RWO, **more: Any) -> str:
    return write_list(folder / "cluster.json", _shop(source, mode, **more))


NFS: Final[Json] = {"nfs": {"server": "s", "path": "/"}}
CSI: Final[Json] = {"csi": {"driver": "files.example.com", "volumeHandle": "h"}}
EBS: Final[Json] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def test_F3_F4_one_replica_on_nfs_may_have_two_writers() -> None:
    manifest, snapshot = str(FIELD / "dep-nfs.yaml"), str(FIELD / "dep-nfs.json")
    texts = (
        SENTENCE,
        "Writers data NFS, ReadWriteOnce: nothing keeps a second writer off",
        "two at once in a rollout: the next pod starts before this one ends (maxSurge)",
        "two at once on a silent node",
    )
    for words in (
        ("-f", manifest),
        ("deploy/web", "--snapshot", snapshot),
        ("deploy/web", "--snapshot", snapshot, "-o", "wide"),
    ):
        check_texts(said("explain", *words), texts)
    found = data("report", "--snapshot", snapshot)
    assert found["verdict"]["severity"] == "notice"
    [writers] = [one["secondWriters"] for one in found["workloads"] if one["name"] == "web"]
    assert writers["surges"] is True
    first = "! 1 Deployment: two writers default/deployment/web. A rollout"
    assert first in said("report", "--snapshot", snapshot)


UNGUARDED: Final[Mapping[str, Any]] = {
    "NFS": (NFS, {}, "two at once in a rollout: the next pod starts before"),
    "without surge": (
        NFS,
        {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
        "two at once in a rollout: the next pod starts while this one ends (maxSurge 0)",
    ),
    "Recreate": (NFS, {"strategy": {"type": "Recreate"}}, "not in a rollout: strategy Recreate waits"),
    "CSI": (CSI, {"driver": {"attachRequired": False}}, "data files.example.com, ReadWriteOnce: nothing"),
    "local": (
        {"local": {"path": "/"}, "nodeAffinity": {"required": ON_NODE}},
        {},
        "local, ReadWriteOnce: nothing keeps a second writer off on the one node",
    ),
    "one node": (EBS, {"node": "a"}, "not after a drain or on a silent node: the next pod waits for the one node"),
    "NFS on one node": (
        NFS,
        {"node": "a"},
        "two at once after an eviction or a delete: the next pod starts on the same node",
    ),
    "stays": (
        NFS,
        {"tolerations": [{"operator": "Exists"}]},
        "not on a silent node: this pod tolerates its taint forever",
    ),
    "its own tolerationSeconds": (
        NFS,
        {"tolerations": [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7}]},
        "two at once on a silent node: the next pod starts after tolerationSeconds (300 by default)",
    ),
}


@pytest.mark.parametrize(("source", "more", "says"), UNGUARDED.values(), ids=UNGUARDED)
def test_F4_volume_without_a_guard_has_two_writers(tmp_path: Path, source: Json, more: Json, says: str) -> None:
    file = _write(tmp_path, source, **more)
    page = said("explain", "deployment/shop", "--snapshot", file)
    check_texts(page, (SENTENCE, says))
    manifest = said("explain", "-f", file, "--snapshot", file)
    check_texts(manifest, (SENTENCE, says))
    assert ("drain, an eviction" in manifest) != ("not after a drain or on a silent node" in manifest)
    in_rollouts = "two at once in a rollout" in page
    assert ("two-writers" in said("lint", "-f", file)) == in_rollouts
    assert ("two writers" in said("report", "--snapshot", file)) == in_rollouts


GUARDED: Final[Mapping[str, Any]] = {
    "EBS": (EBS, RWO, {}, "AWS EBS, ReadWriteOnce: a pod on another node waits until it is detached"),
    "CSI": (CSI, RWO, {"driver": {}}, "files.example.com, ReadWriteOnce: a pod on another node waits"),
    "CSI without its driver": (CSI, RWO, {}, "whether anything keeps a second writer off is unknown"),
    "ReadWriteOncePod": (CSI, "ReadWriteOncePod", {}, ""),
    "hostPath": ({"hostPath": {"path": "/"}}, RWO, {}, "another folder on another node"),
    "StatefulSet": (NFS, RWO, {"kind": "StatefulSet", "serviceName": "s"}, ""),
    "ReplicaSet": (NFS, RWO, {"kind": "ReplicaSet"}, ""),
    "no replica": (NFS, RWO, {"replicas": 0}, ""),
}


@pytest.mark.parametrize(("source", "mode", "more", "wide"), GUARDED.values(), ids=GUARDED)
def test_F4_guarded_volume_has_one_writer(tmp_path: Path, source: Json, mode: str, more: Json, wide: str) -> None:
    source_of = ("--snapshot", _write(tmp_path, source, mode, **more))
    target = f"{more.get('kind', 'Deployment').lower()}/shop"
    check_texts(said("explain", target, *source_of), (), ("Writers", "second writer"))
    check_texts(said("explain", target, *source_of, "-o", "wide"), wide, "two at once")
    assert "two writers" not in said("report", *source_of)


@pytest.mark.parametrize(("replicas", "shared"), [(1, True), (2, False)])
def test_F4_volume_for_several_pods_has_two_writers_too(tmp_path: Path, replicas: int, shared: bool) -> None:
    file = _write(tmp_path, NFS, "ReadWriteMany", replicas=replicas)
    page = said("explain", "deployment/shop", "--snapshot", file)
    assert ("data NFS, ReadWriteMany: made for several pods, both may write" in page) == shared
    assert ("two at once in a rollout" in page) == shared
    assert "Nothing keeps" not in page
    assert "two writers" not in said("report", "--snapshot", file)


@pytest.mark.parametrize("mode", [RWO, "ReadWriteMany"])
@pytest.mark.parametrize(("mounts", "writes"), [((True,), False), ((True, True), False), ((True, False), True)])
def test_F4_pod_that_mounts_a_volume_read_only_does_not_write(
    tmp_path: Path, mode: str, mounts: tuple[bool, ...], *, writes: bool
) -> None:
    workload, *others = _shop(NFS, mode)
    places = [{"name": "data", "mountPath": f"/{at}", "readOnly": only} for at, only in enumerate(mounts)]
    workload["spec"]["template"]["spec"]["containers"] = [
        raw_container(volumeMounts=[{"name": "other", "mountPath": "/o"}, *places])
    ]
    file = write_list(tmp_path / "cluster.json", [workload, *others])
    assert ("Writers" in said("explain", "deployment/shop", "--snapshot", file)) is writes
    assert ("two-writers" in said("lint", "-f", file)) is (writes and mode == RWO)


def test_F4_claim_for_one_pod_needs_no_volume(tmp_path: Path) -> None:
    file = write_list(tmp_path / "shop.json", _shop(NFS, "ReadWriteOncePod")[:2])
    assert "second writer" not in said("explain", "-f", file, "--offline", "-o", "wide")


@pytest.mark.parametrize("read_only", [False, True])
def test_F4_inline_nfs_volume(tmp_path: Path, read_only: bool) -> None:
    volume = {"name": "html", "nfs": {"server": "s", "path": "/", "readOnly": read_only}}
    workload = raw_workload("Deployment", "d", pod_spec=raw_pod(volumes=[volume])["spec"])
    page = said("explain", "-f", write_list(tmp_path / "d.json", [workload]))
    assert ("html NFS in the pod itself: made for several pods, both may write" in page) != read_only


def test_F4_several_replicas_on_one_unguarded_volume(tmp_path: Path) -> None:
    page = said("explain", "deployment/shop", "--snapshot", _write(tmp_path, NFS, replicas=3))
    assert "Nothing keeps a second writer off: 3 replicas may write to volume data at once." in page


def test_report_without_volumes_is_uncertain(tmp_path: Path) -> None:
    source = ("--snapshot", write_list(tmp_path / "cluster.json", _shop(NFS)[:2]))
    ran = run("report", *source)
    assert ran.code == 11
    assert "persistentvolumes" in ran.out
    page = said("explain", "deployment/shop", *source, "-o", "wide")
    assert "data ReadWriteOnce: whether anything keeps a second writer off is unknown" in page


def test_only_first_of_thousands_of_claims_are_read(tmp_path: Path) -> None:
    workload, *others = _shop(NFS)
    claims = {**{f"v{n}": f"c{n}" for n in range(2000)}, "last": "c"}
    workload["spec"]["template"]["spec"]["volumes"] = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()
    ]
    file = write_list(tmp_path / "cluster.json", [workload, *others])
    page = said("explain", "deployment/shop", "--snapshot", file, "-o", "wide")
    assert "last whether anything keeps a second writer off is unknown" in page
