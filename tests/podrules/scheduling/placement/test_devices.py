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
from podrules.scheduling.placement.drain_rounds import place_drained
from podrules.scheduling.placement.plan import PlanCluster, plan
from podrules.scheduling.placement.planned import PlannedSpec
from podrules.scheduling.placement.what_if import excluding_nodes, without_pods
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.cases import cases, row
from tests.podrules.scheduling.placement.building import Json, make_node, make_pod, placement_request, situation

DRIVER = "gpu.example.com"
CLASSES = [{"metadata": {"name": "gpu"}, "spec": {}}]
NODES = [make_node("a"), make_node("b")]


def resource_slice(name: str, devices: int, *, node: str = "", shared: bool = False, **spec: Any) -> Json:
    place = {"nodeName": node} if node else spec
    entries: list[Json] = [{"name": f"gpu-{number}"} for number in range(devices)]
    if shared:
        entries = [
            {**entry, "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi"}}} for entry in entries
        ]
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": entries,
            **place,
        },
    }


def claim_spec(count: int = 1, **more: Any) -> Json:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def template(count: int = 1, **more: Any) -> Json:
    return {"metadata": {"name": "gpus", "namespace": "default"}, "spec": {"spec": claim_spec(count, **more)}}


def claim(name: str, *, users: Sequence[str] = (), owner: str = "", device: str = "") -> Json:
    owners = [{"kind": "Pod", "name": owner, "uid": owner, "controller": True}] if owner else []
    result = {"request": "gpu", "driver": DRIVER, "pool": "a", "device": device}
    status: dict[str, Any] = {"reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users]}
    if device:
        status["allocation"] = {"devices": {"results": [result]}}
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners}
    return {"metadata": metadata, "spec": claim_spec(), "status": status}


def of_template() -> Json:
    return make_pod(cpu="10m", memory="1Mi", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])


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


@cases(
    "place, nodes",
    {
        "of one node": row({"node": "b"}, {"b"}),
        "of a rack": row(
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["1"]}]}]
                }
            },
            {"b", "c"},
        ),
        "of all nodes": row({"allNodes": True}, {"a", "b", "c"}),
    },
)
def test_pods_that_share_a_claim_follow_its_devices(place: dict[str, Any], nodes: set[str]) -> None:
    three = [make_node("a"), make_node("b", labels={"rack": "1"}), make_node("c", labels={"rack": "1"})]
    found = placed(
        of_claim(),
        6,
        nodes=three,
        resourceClaims=[claim("shared")],
        resourceSlices=[resource_slice("pool", 1, **place)],
    )
    assert found.placed == 6
    assert set(found.nodes) == nodes


def test_devices_of_an_extended_resource_are_taken() -> None:
    limits = {"example.com/gpu": "1"}
    container = {"name": "app", "image": "app:1", "resources": {"requests": limits, "limits": limits}}
    pod = {**make_pod(), "spec": {"containers": [container]}}
    classes = [{"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}]
    slices = [resource_slice("a", 2, node="a")]
    found = placed(pod, None, deviceClasses=classes, resourceSlices=slices)
    assert found.nodes == {"a": 2}


# Removed pods


def cluster() -> ClusterSnapshot:
    pods = [make_pod("mine", on="a"), make_pod("ours-1", on="a"), make_pod("ours-2", on="b")]
    owned = {"metadata": {**pods[0]["metadata"], "ownerReferences": [{"kind": "Job", "name": "j", "controller": True}]}}
    claims = [
        claim("own", owner="mine", users=["mine"], device="gpu-0"),
        claim("named", users=["mine"], device="gpu-1"),
        claim("shared", users=["ours-1", "ours-2"], device="gpu-2"),
        claim("unused", device="gpu-3"),
    ]
    lists = {"nodes": NODES, "pods": [{**pods[0], **owned}, *pods[1:]], "resourceClaims": claims}
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
    after = place_drained([], drain, PlanCluster(NodeTable(before.nodes, before.pods), before), preemption=False)
    assert held(after.snapshot) == {"named": False, "shared": True, "unused": True}


def test_victims_of_preemption_give_their_devices_back() -> None:
    old = make_pod("old", on="a", cpu="3", priority=1)
    holding = claim("old-gpu", owner="old", users=["old"], device="gpu-0")
    first = {**make_pod("first", cpu="3", priority=10)}
    second = {**of_template(), "metadata": {"name": "second", "namespace": "default", "uid": "second"}}
    lists: dict[str, Any] = {
        "nodes": NODES[:1],
        "deviceClasses": CLASSES,
        "resourceClaims": [holding],
        "resourceClaimTemplates": [template()],
        "resourceSlices": [resource_slice("a", 1, node="a")],
    }
    before = situation(first, pods=[old], **lists)
    requests = [
        placement_request(f"pod/{pod.metadata.name}", replace(before, pod=pod), 1) for pod in _pods(first, second)
    ]
    found = plan(requests, PlanCluster.of(before), preemption=True)
    assert [(spec.placed, len(spec.victims)) for spec in found] == [(1, 1), (1, 0)]
    without = plan(requests, PlanCluster.of(before), preemption=False)
    assert [spec.placed for spec in without] == [0, 0]


def _pods(*pods: Json) -> list[Pod]:
    return [from_object(pod, Pod) for pod in pods]
