"""Two pods of one workload that write to one volume: explain of workloads and manifests, report and lint agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.kubectl_plugin.running import run
from tests.tree import ROOT

FIELD: Final = ROOT / "tests" / "testdata" / "cases" / "field"
SENTENCE: Final = "Nothing keeps a second writer off: even with 1 replica two pods may write to volume data at once."
RWO: Final = "ReadWriteOnce"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
Json = dict[str, Any]
TERM: Final[Json] = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}
ON_NODE: Final[Json] = {"nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}}}


def _page(*words: str) -> str:
    return " ".join(run(*words).out.split())


def _write(
    folder: Path,
    source: Json,
    mode: str = RWO,
    *,
    kind: str = "Deployment",
    driver: Json | None = None,
    node: str = "",
    tolerations: Sequence[Json] = (),
    **spec: Any,
) -> tuple[str, str]:
    """The manifests of a workload, its claim and its volume, and a snapshot of these."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    pod: Json = {"containers": [{"name": "app", "image": "i"}], "volumes": volumes}
    template = {"metadata": {"labels": {"app": "shop"}}, "spec": pod}
    selector = {"matchLabels": {"app": "shop"}}
    if node:
        pod["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ON_NODE["nodeAffinity"]["required"]}
        }
    if tolerations:
        pod["tolerations"] = tolerations
    name = {"name": "shop", "namespace": "default", "uid": "u"}
    items: list[Json] = [
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": name,
            "spec": {"replicas": 1, "selector": selector, "template": template, **spec},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"accessModes": [mode], "volumeName": "p", "resources": {"requests": {"storage": "1Gi"}}},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "p"},
            "spec": {"accessModes": [mode], "capacity": {"storage": "1Gi"}, **source},
        },
    ]
    if driver is not None:
        kinds = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "files.example.com"}}
        items.append({**kinds, "spec": driver})
    manifest, snapshot = folder / "shop.yaml", folder / "cluster.json"
    manifest.write_text(yaml.safe_dump_all(items))
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(manifest), str(snapshot)


NFS: Final[Json] = {"nfs": {"server": "s", "path": "/"}}
CSI: Final[Json] = {"csi": {"driver": "files.example.com", "volumeHandle": "h"}}
EBS: Final[Json] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def test_F3_F4_one_replica_on_nfs_may_have_two_writers() -> None:
    manifest, snapshot = str(FIELD / "dep-nfs.yaml"), str(FIELD / "dep-nfs.json")
    for page in (
        _page("explain", "-f", manifest),
        _page("explain", "deploy/web", "--snapshot", snapshot),
        _page("explain", "deploy/web", "--snapshot", snapshot, "-o", "wide"),
    ):
        assert SENTENCE in page
        assert "Writers data NFS, ReadWriteOnce: nothing keeps a second writer off" in page
        assert "two at once in a rollout: the next pod starts before this one ends (maxSurge)" in page
        assert "two at once on a silent node" in page
    report = run("report", "--snapshot", snapshot, "-o", "json")
    found = json.loads(report.out)
    assert found["verdict"]["severity"] == "notice"
    [writers] = [one["secondWriters"] for one in found["workloads"] if one["name"] == "web"]
    assert writers["surges"] is True
    assert "notice 1 Deployment: two writers. default/deployment/web. A rollout" in _page(
        "report", "--snapshot", snapshot
    )


@pytest.mark.parametrize(
    ("source", "more", "says"),
    [
        pytest.param(NFS, {}, "two at once in a rollout: the next pod starts before", id="NFS"),
        pytest.param(
            NFS,
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            "two at once in a rollout: the next pod starts while this one ends (maxSurge 0)",
            id="without surge",
        ),
        pytest.param(
            NFS, {"strategy": {"type": "Recreate"}}, "not in a rollout: strategy Recreate waits", id="Recreate"
        ),
        pytest.param(
            CSI, {"driver": {"attachRequired": False}}, "data files.example.com, ReadWriteOnce: nothing", id="CSI"
        ),
        pytest.param(
            {"local": {"path": "/"}, **ON_NODE},
            {},
            "local, ReadWriteOnce: nothing keeps a second writer off on the one node",
            id="local",
        ),
        pytest.param(
            EBS,
            {"node": "a"},
            "not after a drain or on a silent node: the next pod waits for the one node",
            id="one node",
        ),
        pytest.param(
            NFS,
            {"node": "a"},
            "two at once after an eviction or a delete: the next pod starts on the same node",
            id="NFS on one node",
        ),
        pytest.param(
            NFS,
            {"tolerations": [{"operator": "Exists"}]},
            "not on a silent node: this pod tolerates its taint forever",
            id="stays",
        ),
        pytest.param(
            NFS,
            {
                "tolerations": [
                    {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7}
                ]
            },
            "two at once on a silent node: the next pod starts after tolerationSeconds (300 by default)",
            id="its own tolerationSeconds",
        ),
    ],
)
def test_F4_volume_without_a_guard_has_two_writers(tmp_path: Path, source: Json, more: Json, says: str) -> None:
    manifest, snapshot = _write(tmp_path, source, **more)
    kind = more.get("kind", "Deployment").lower()
    for page in (
        _page("explain", f"{kind}/shop", "--snapshot", snapshot),
        _page("explain", "-f", manifest, "--snapshot", snapshot),
    ):
        assert SENTENCE in page
        assert says in page
    assert ("drain, an eviction" in page) != ("not after a drain or on a silent node" in page)
    in_rollouts = "two at once in a rollout" in _page("explain", f"{kind}/shop", "--snapshot", snapshot)
    assert ("two-writers" in _page("lint", "-f", manifest)) == in_rollouts
    assert ("two writers" in _page("report", "--snapshot", snapshot)) == in_rollouts


@pytest.mark.parametrize(
    ("source", "mode", "more", "wide"),
    [
        pytest.param(
            EBS, RWO, {}, "AWS EBS, ReadWriteOnce: a pod on another node waits until it is detached", id="EBS"
        ),
        pytest.param(
            CSI, RWO, {"driver": {}}, "files.example.com, ReadWriteOnce: a pod on another node waits", id="CSI"
        ),
        pytest.param(
            CSI, RWO, {}, "whether anything keeps a second writer off is unknown", id="CSI without its driver"
        ),
        pytest.param(CSI, "ReadWriteOncePod", {}, "", id="ReadWriteOncePod"),
        pytest.param({"hostPath": {"path": "/"}}, RWO, {}, "another folder on another node", id="hostPath"),
        pytest.param(NFS, RWO, {"kind": "StatefulSet", "serviceName": "s"}, "", id="StatefulSet"),
        pytest.param(NFS, RWO, {"kind": "ReplicaSet"}, "", id="ReplicaSet"),
        pytest.param(NFS, RWO, {"replicas": 0}, "", id="no replica"),
    ],
)
def test_F4_guarded_volume_has_one_writer(tmp_path: Path, source: Json, mode: str, more: Json, wide: str) -> None:
    _, snapshot = _write(tmp_path, source, mode, **more)
    target = f"{more.get('kind', 'Deployment').lower()}/shop"
    page = _page("explain", target, "--snapshot", snapshot)
    assert "Writers" not in page
    assert "second writer" not in page
    whole = _page("explain", target, "--snapshot", snapshot, "-o", "wide")
    assert wide in whole
    assert "two at once" not in whole
    assert "two writers" not in _page("report", "--snapshot", snapshot)


@pytest.mark.parametrize(("replicas", "shared"), [(1, True), (2, False)])
def test_F4_volume_for_several_pods_has_two_writers_too(tmp_path: Path, replicas: int, shared: bool) -> None:
    _, snapshot = _write(tmp_path, NFS, "ReadWriteMany", replicas=replicas)
    page = _page("explain", "deployment/shop", "--snapshot", snapshot)
    assert ("data NFS, ReadWriteMany: made for several pods, both may write" in page) == shared
    assert ("two at once in a rollout" in page) == shared
    assert "Nothing keeps" not in page
    assert "two writers" not in _page("report", "--snapshot", snapshot)


@pytest.mark.parametrize("mode", [RWO, "ReadWriteMany"])
@pytest.mark.parametrize(("mounts", "writes"), [((True,), False), ((True, True), False), ((True, False), True)])
def test_F4_pod_that_mounts_a_volume_read_only_does_not_write(
    tmp_path: Path, mode: str, mounts: tuple[bool, ...], *, writes: bool
) -> None:
    manifest, snapshot = _write(tmp_path, NFS, mode)
    cluster = json.loads(Path(snapshot).read_text())
    spec = cluster["items"][0]["spec"]["template"]["spec"]
    places = [{"name": "data", "mountPath": f"/{at}", "readOnly": only} for at, only in enumerate(mounts)]
    spec["containers"][0]["volumeMounts"] = [{"name": "other", "mountPath": "/o"}, *places]
    Path(snapshot).write_text(json.dumps(cluster))
    Path(manifest).write_text(yaml.safe_dump_all(cluster["items"]))
    assert ("Writers" in _page("explain", "deployment/shop", "--snapshot", snapshot)) is writes
    assert ("two-writers" in _page("lint", "-f", manifest)) is (writes and mode == RWO)


def test_F4_claim_for_one_pod_needs_no_volume(tmp_path: Path) -> None:
    manifest, _ = _write(tmp_path, NFS, "ReadWriteOncePod")
    Path(manifest).write_text(yaml.safe_dump_all(list(yaml.safe_load_all(Path(manifest).read_text()))[:2]))
    assert "second writer" not in _page("explain", "-f", manifest, "--offline", "-o", "wide")


@pytest.mark.parametrize("read_only", [False, True])
def test_F4_inline_nfs_volume(tmp_path: Path, read_only: bool) -> None:
    pod = {
        "containers": [{"name": "a", "image": "i"}],
        "volumes": [{"name": "html", "nfs": {"server": "s", "path": "/", "readOnly": read_only}}],
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}
    file = tmp_path / "d.yaml"
    file.write_text(
        yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    )
    page = _page("explain", "-f", str(file))
    assert ("html NFS in the pod itself: made for several pods, both may write" in page) != read_only


def test_F4_several_replicas_on_one_unguarded_volume(tmp_path: Path) -> None:
    _, snapshot = _write(tmp_path, NFS, replicas=3)
    page = _page("explain", "deployment/shop", "--snapshot", snapshot)
    assert "Nothing keeps a second writer off: 3 replicas may write to volume data at once." in page


def test_report_without_volumes_is_uncertain(tmp_path: Path) -> None:
    _, snapshot = _write(tmp_path, NFS)
    cluster = json.loads(Path(snapshot).read_text())
    cluster["items"] = [one for one in cluster["items"] if one["kind"] != "PersistentVolume"]
    Path(snapshot).write_text(json.dumps(cluster))
    ran = run("report", "--snapshot", snapshot)
    assert ran.code == 11
    assert "persistentvolumes" in ran.out
    page = _page("explain", "deployment/shop", "--snapshot", snapshot, "-o", "wide")
    assert "data ReadWriteOnce: whether anything keeps a second writer off is unknown" in page


def test_only_first_of_thousands_of_claims_are_read(tmp_path: Path) -> None:
    _, snapshot = _write(tmp_path, NFS)
    cluster = json.loads(Path(snapshot).read_text())
    [pod] = [one["spec"]["template"]["spec"] for one in cluster["items"] if one["kind"] == "Deployment"]
    pod["volumes"] = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(2000)]
    pod["volumes"].append({"name": "last", "persistentVolumeClaim": {"claimName": "c"}})
    Path(snapshot).write_text(json.dumps(cluster))
    ran = run("explain", "deployment/shop", "--snapshot", snapshot, "-o", "wide")
    page = " ".join(ran.out.split())
    assert "last whether anything keeps a second writer off is unknown" in page
