"""Devices of placed pods and of removed pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod, PodReference
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.node.reachability import NodeReach, Reach
from podrules.scheduling.placement.drain import Drain
from podrules.scheduling.placement.drain_rounds import place_all
from podrules.scheduling.placement.plan import PlanCluster, plan
from podrules.scheduling.placement.planned import PlannedSpec
from podrules.scheduling.placement.what_if import excluding_nodes, without_pods
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_pod
from tests.podrules.scheduling.building import REQUIRED, Json, node_affinity, owned
from tests.podrules.scheduling.placement.building import make_node, make_pod, placement_request, situation
from tests.podrules.scheduling.scheduler.plugins.building_devices import (
    make_claim,
    make_class,
    make_device,
    make_request,
    make_slice,
)
from tests.table import row, table

CLASSES = [make_class()]
NODES = [make_node("a"), make_node("b")]


def resource_slice(name: str, devices: int, *, node: str = "", shared: bool = False, **spec: Any) -> Json:
    more: Any = {"allowMultipleAllocations": True, "capacity": {"memory": "10Gi"}} if shared else {}
    entries = [make_device(f"gpu-{number}", **more) for number in range(devices)]
    return make_slice(*entries, name=name, pool=name, node=node, **spec)


def template(**more: Any) -> Json:
    spec = make_claim("gpus", make_request("gpu", **more))["spec"]
    return {"metadata": {"name": "gpus", "namespace": "default"}, "spec": {"spec": spec}}


def claim(name: str, *, users: Sequence[str] = (), owner: str = "", device: str = "") -> Json:
    owners = [{"kind": "Pod", "name": owner, "uid": owner, "controller": True}] if owner else []
    results = [{"request": "gpu", "pool": "a", "device": device}] if device else None
    made = make_claim(name, make_request("gpu"), allocated=results, ownerReferences=owners)
    used = [{"resource": "pods", "name": user, "uid": user} for user in users]
    return {**made, "status": {**made["status"], "reservedFor": used}}


def of_template(name: str = "web") -> Json:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    return make_pod(name, cpu="10m", memory="1Mi", resourceClaims=claims)


def of_claim() -> Json:
    return make_pod(cpu="500m", memory="500Mi", resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}])


def placed(pod: Json, replicas: int | None, name: str = "deployment/web", **lists: Any) -> PlannedSpec:
    cluster = situation(pod, **{"nodes": NODES, "deviceClasses": CLASSES, **lists})
    (found,) = plan(
        [placement_request(name, replace(cluster, pod=situation(pod, []).pod), replicas)],
        PlanCluster.of(cluster),
        preemption=False,
    )
    return found


def test_each_replica_takes_devices() -> None:
    slices = [resource_slice("a", 2, node="a"), resource_slice("b", 1, node="b")]
    found = placed(of_template(), None, resourceClaimTemplates=[template()], resourceSlices=slices)
    assert found.nodes == {"a": 2, "b": 1}
    assert found.stopped is not None
    assert found.stopped.message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")


def test_missing_template_blocks_the_pod() -> None:
    found = placed(of_template(), 1, resourceSlices=[resource_slice("a", 2, node="a")])
    assert found.placed == 0
    assert found.stopped is not None
    assert found.stopped.reason == (
        'pod "default/web-0": ResourceClaim not created yet; ResourceClaimTemplate gpus is not there'
    )


def test_device_that_may_be_shared_is_taken_in_parts() -> None:
    wanted = template(capacity={"requests": {"memory": "4Gi"}})
    slices = [resource_slice("a", 1, node="a", shared=True)]
    found = placed(of_template(), None, resourceClaimTemplates=[wanted], resourceSlices=slices)
    assert found.nodes == {"a": 2}


@table(
    "place, nodes",
    {
        "of one node": row({"node": "b"}, {"b"}),
        "of a rack": row({"nodeSelector": node_affinity("rack", "In", "1")["nodeAffinity"][REQUIRED]}, {"b", "c"}),
        "of all nodes": row({"allNodes": True}, {"a", "b", "c"}),
    },
)
def test_pods_that_share_a_claim_follow_its_devices(place: dict[str, Any], nodes: set[str]) -> None:
    three = [make_node("a"), make_node("b", labels={"rack": "1"}), make_node("c", labels={"rack": "1"})]
    slices = [resource_slice("pool", 1, **place)]
    found = placed(of_claim(), 6, nodes=three, resourceClaims=[claim("shared")], resourceSlices=slices)
    assert found.placed == 6
    assert set(found.nodes) == nodes


def test_devices_of_an_extended_resource_are_taken() -> None:
    pod = raw_pod("web", "default", limits={"example.com/gpu": "1"}, requests={"example.com/gpu": "1"})
    classes = [make_class(extended_resource="example.com/gpu")]
    slices = [resource_slice("a", 2, node="a")]
    found = placed(pod, None, deviceClasses=classes, resourceSlices=slices)
    assert found.nodes == {"a": 2}


# Removed pods


def cluster() -> ClusterSnapshot:
    pods = [owned(make_pod("mine", on="a"), "Job"), make_pod("ours-1", on="a"), make_pod("ours-2", on="b")]
    claims = [
        claim("own", owner="mine", users=["mine"], device="gpu-0"),
        claim("named", users=["mine"], device="gpu-1"),
        claim("shared", users=["ours-1", "ours-2"], device="gpu-2"),
        claim("unused", device="gpu-3"),
    ]
    lists = {"nodes": NODES, "pods": pods, "resourceClaims": claims}
    return from_object(lists, ClusterSnapshot)


def held(snapshot: ClusterSnapshot) -> dict[str, bool]:
    return {entry.metadata.name: entry.status.allocation is not None for entry in snapshot.resource_claims}


def test_claims_are_removed_with_their_pod() -> None:
    gone = without_pods(cluster(), [PodReference("default", "mine")])
    assert held(gone) == {"named": False, "shared": True, "unused": True}


def test_shared_claim_is_reserved_until_last_pod_ends() -> None:
    first = without_pods(cluster(), [PodReference("default", "ours-1")])
    assert held(first)["shared"]
    assert not held(without_pods(first, [PodReference("default", "ours-2")]))["shared"]


def test_claims_leave_with_excluded_and_drained_nodes() -> None:
    assert held(excluding_nodes(cluster(), ["a"])) == {"named": False, "shared": True, "unused": True}
    # All pods of the drained node leave; two without a controller are lost.
    before = cluster()
    drain = Drain((NodeReach("a", Reach.ANSWERS, ""),))
    after = place_all([], drain, PlanCluster(NodeTable(before.nodes, before.pods), before), preemption=False)
    assert held(after.snapshot) == {"named": False, "shared": True, "unused": True}


def test_victims_of_preemption_give_their_devices_back() -> None:
    old = make_pod("old", on="a", cpu="3", priority=1)
    holding = claim("old-gpu", owner="old", users=["old"], device="gpu-0")
    pods = [from_object(pod, Pod) for pod in (make_pod("first", cpu="3", priority=10), of_template("second"))]
    lists: dict[str, Any] = {
        "nodes": NODES[:1],
        "deviceClasses": CLASSES,
        "resourceClaims": [holding],
        "resourceClaimTemplates": [template()],
        "resourceSlices": [resource_slice("a", 1, node="a")],
    }
    before = replace(situation(old, pods=[old], **lists), pod=pods[0])
    requests = [placement_request(f"pod/{pod.metadata.name}", replace(before, pod=pod), 1) for pod in pods]
    found = plan(requests, PlanCluster.of(before), preemption=True)
    assert [(spec.placed, len(spec.victims)) for spec in found] == [(1, 1), (1, 0)]
    without = plan(requests, PlanCluster.of(before), preemption=False)
    assert [spec.placed for spec in without] == [0, 0]
