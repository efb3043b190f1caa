"""Claims of placed pods are bound for the next pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.scheduling.placement.plan import PlanCluster, plan
from podrules.scheduling.placement.planned import PlannedSpec
from tests.podrules.scheduling.building import HOST, REQUIRED, ZONE, Json, bound_claim, mounted, node_affinity
from tests.podrules.scheduling.placement.building import make_pod, placement_request, situation, zoned

CSI = "disk.csi.example.com"
LATE = {"volumeBindingMode": "WaitForFirstConsumer"}
LOCAL = {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner", **LATE}
DISK = {"metadata": {"name": "disk"}, "provisioner": CSI, **LATE}
NODES = [zoned(name, name[0]) for name in ("a1", "a2", "b1")]
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"


def claim_spec(storage_class: str, mode: str = "ReadWriteOnce") -> Json:
    requests = {"requests": {"storage": "10Gi"}}
    return {"accessModes": [mode], "storageClassName": storage_class, "resources": requests}


def template(storage_class: str, mode: str = "ReadWriteOnce") -> PersistentVolumeClaim:
    return from_object({"metadata": {"name": "data"}, "spec": claim_spec(storage_class, mode)}, PersistentVolumeClaim)


def local_volume(name: str, node: str, mode: str = "ReadWriteOnce", **spec: Any) -> Json:
    affinity = {"required": node_affinity(HOST, "In", node)["nodeAffinity"][REQUIRED]}
    size = {"capacity": {"storage": "10Gi"}, "accessModes": [mode]}
    return {
        "metadata": {"name": name},
        "spec": {**size, "storageClassName": "local", "nodeAffinity": affinity, **spec},
        "status": {"phase": "Bound" if spec else "Available"},
    }


def csi_node(name: str, *, limit: int | None = None, keys: Sequence[str] = (ZONE,)) -> Json:
    driver: dict[str, Any] = {"name": CSI, "nodeID": name, "topologyKeys": list(keys)}
    if limit is not None:
        driver["allocatable"] = {"count": limit}
    return {"metadata": {"name": name}, "spec": {"drivers": [driver]}}


CSI_NODES = [csi_node(name) for name in ("a1", "a2", "b1")]


def placed(
    *specs: tuple[str, Json, int | None, Sequence[PersistentVolumeClaim]], first: int = 0, **lists: Any
) -> tuple[PlannedSpec, ...]:
    lists = {"nodes": NODES, **lists}
    cluster = situation(specs[0][1], **lists)
    requests = [
        placement_request(
            name, replace(cluster, pod=situation(pod, []).pod), replicas, first=first, claim_templates=tuple(templates)
        )
        for name, pod, replicas, templates in specs
    ]
    return plan(requests, PlanCluster.of(cluster), preemption=False)


def mounting(claim: str, name: str = "web", **more: Any) -> Json:
    return make_pod(name, cpu="100m", volumes=[mounted(claim)], **more)


DB = make_pod("db", cpu="100m")


def made_claim(name: str, storage_class: str, mode: str = "ReadWriteOnce") -> Json:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": claim_spec(storage_class, mode)}


def test_volume_that_exists_is_taken_once() -> None:
    volumes = [local_volume("pv-1", "a1"), local_volume("pv-2", "b1")]
    (found,) = placed(("statefulset/db", DB, 3, [template("local")]), persistentVolumes=volumes, storageClasses=[LOCAL])
    assert (found.placed, set(found.nodes)) == (2, {"a1", "b1"})
    assert found.stopped is not None
    assert found.stopped.message == f"0/3 nodes are available: 3 {NO_VOLUME}."


def test_volume_of_one_spec_is_taken_for_the_next() -> None:
    first, second = placed(
        ("statefulset/db", DB, 1, [template("local")]),
        ("statefulset/mq", make_pod("mq", cpu="100m"), 1, [template("local")]),
        persistentVolumes=[local_volume("pv-1", "a1")],
        storageClasses=[LOCAL],
    )
    assert (first.placed, second.placed) == (1, 0)


def test_recreated_pod_follows_its_volume() -> None:
    reference = {"namespace": "default", "name": "data-db-0"}
    claim = bound_claim("data-db-0", "pv-1", **claim_spec("local"))
    (found,) = placed(
        ("statefulset/db", DB, 1, [template("local")]),
        persistentVolumeClaims=[claim],
        persistentVolumes=[local_volume("pv-1", "b1", claimRef=reference)],
        storageClasses=[LOCAL],
    )
    assert found.nodes == {"b1": 1}


def test_ordinals_of_existing_pods_are_skipped() -> None:
    """This many more are requested, and each has its own claim."""
    (found,) = placed(
        ("statefulset/db", DB, 1, [template("local", "ReadWriteOncePod")]),
        first=5,
        pods=[mounting("data-db-5", "db-5", on="a1")],
        persistentVolumeClaims=[made_claim("data-db-5", "local", "ReadWriteOncePod")],
        persistentVolumes=[local_volume("pv-2", "b1", "ReadWriteOncePod")],
        storageClasses=[LOCAL],
    )
    assert found.nodes == {"b1": 1}


@pytest.mark.parametrize("templated", [True, False], ids=["of a template", "of an ephemeral volume"])
def test_each_replica_attaches_a_volume(*, templated: bool) -> None:
    ephemeral = [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec("disk")}}}]
    pod = DB if templated else make_pod("db", cpu="100m", volumes=ephemeral)
    (found,) = placed(
        ("statefulset/db" if templated else "deployment/db", pod, None, [template("disk")] if templated else []),
        storageClasses=[DISK],
        csiNodes=[csi_node(name, limit=count) for name, count in (("a1", 2), ("a2", 1), ("b1", 3))],
    )
    assert found.nodes == {"b1": 3, "a1": 2, "a2": 1}
    assert found.stopped is not None
    assert found.stopped.message == "0/3 nodes are available: 3 node(s) exceed max volume count."


@pytest.mark.parametrize(
    ("csi_nodes", "domains"),
    [
        (CSI_NODES, {"a": {"a1", "a2"}, "b": {"b1"}}),
        ([csi_node(name, keys=()) for name in ("a1", "a2", "b1")], {"": {"a1", "a2", "b1"}}),
        ([], {"a1": {"a1"}, "a2": {"a2"}, "b1": {"b1"}}),
    ],
    ids=["in the zone of the first", "everywhere", "unknown, so on the node of the first"],
)
def test_replicas_that_share_a_claim_follow_its_volume(
    csi_nodes: Sequence[Json], domains: Mapping[str, set[str]]
) -> None:
    (found,) = placed(
        ("deployment/web", mounting("shared"), 6, ()),
        persistentVolumeClaims=[made_claim("shared", "disk", "ReadWriteMany")],
        storageClasses=[DISK],
        csiNodes=csi_nodes,
    )
    assert found.placed == 6
    assert set(found.nodes) in domains.values()


def test_second_pod_of_single_pod_claim_is_reported() -> None:
    (found,) = placed(
        ("deployment/web", mounting("alone"), 2, ()),
        persistentVolumeClaims=[made_claim("alone", "disk", "ReadWriteOncePod")],
        storageClasses=[DISK],
        csiNodes=CSI_NODES,
    )
    assert found.placed == 1
    assert found.stopped is not None
    assert "ReadWriteOncePod" in found.stopped.message
