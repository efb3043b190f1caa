"""Requests and limits on a node against its allocatable resources."""

from __future__ import annotations

from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import Pod, PodQOSClass
from podrules.node.allocation import NodeAllocation, ResourceAllocation, node_allocation
from tests.objects import make_node, make_pod, raw_container, raw_container_status, raw_sidecar

GUARANTEED, BURSTABLE, BEST_EFFORT = PodQOSClass.GUARANTEED, PodQOSClass.BURSTABLE, PodQOSClass.BEST_EFFORT
NODE = make_node(
    capacity={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110", "example.com/gpu": "2"},
    allocatable={"cpu": "3800m", "memory": "7Gi", "ephemeral-storage": "90Gi", "pods": "110", "example.com/gpu": "2"},
)
STEADY = make_pod(
    "steady", requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "1", "memory": "1Gi"}, nodeName="node-1"
)
BURSTY = make_pod("bursty", requests={"cpu": "500m", "memory": "2Gi"}, limits={"memory": "12Gi"}, nodeName="node-1")
IDLE = make_pod("idle", nodeName="node-1")


def _resource(allocation: NodeAllocation, name: str) -> ResourceAllocation:
    return next(entry for entry in allocation.resources if entry.name == name)


def test_Q4_requests_against_allocatable_and_limits_beyond_it() -> None:
    memory = _resource(node_allocation(NODE, [STEADY, BURSTY, IDLE]), "memory")
    assert (str(memory.capacity), str(memory.allocatable), str(memory.reserved)) == ("8Gi", "7Gi", "1Gi")
    assert (str(memory.requested), str(memory.free)) == ("3Gi", "4Gi")
    assert str(memory.limited) == "13Gi"
    assert memory.limited > memory.capacity
    assert memory.without_limit == 1
    assert {qos: str(amount) for qos, amount in memory.requested_by_class.items()} == {
        GUARANTEED: "1Gi",
        BURSTABLE: "2Gi",
        BEST_EFFORT: "0",
    }


def test_Q4_pods_without_a_limit_are_counted_by_resource() -> None:
    cpu = _resource(node_allocation(NODE, [STEADY, BURSTY, IDLE]), "cpu")
    assert (str(cpu.requested), str(cpu.limited), cpu.without_limit) == ("1500m", "1", 2)


def test_Q4_pod_with_unlimited_container_is_unlimited() -> None:
    limited, free = raw_container("a", limits={"memory": "1Gi"}), raw_container("b")
    ended, sidecar = raw_container("init"), raw_sidecar("mesh")
    whole = {"limits": {"memory": "2Gi"}}
    pods = {
        "each": make_pod(containers=[limited], initContainers=[ended]),
        "some": make_pod(containers=[limited, free]),
        "sidecar": make_pod(containers=[limited], initContainers=[sidecar]),
        "pod": make_pod(containers=[free], resources=whole),
    }

    def without(pod: Pod, features: Features = REFERENCE) -> int:
        bound = replace(pod, spec=replace(pod.spec, node_name="node-1"))
        return _resource(node_allocation(NODE, [bound], features=features), "memory").without_limit

    assert {name: without(pod) for name, pod in pods.items()} == {"each": 0, "some": 1, "sidecar": 1, "pod": 0}
    assert without(pods["pod"], Features.of_minor(33)) == 1, "spec.resources does not count there"


def test_Q4_pods_by_class() -> None:
    allocation = node_allocation(NODE, [STEADY, BURSTY, IDLE, IDLE])
    assert (allocation.pods, allocation.max_pods) == (4, 110)
    assert allocation.pods_by_class == {GUARANTEED: 1, BURSTABLE: 1, BEST_EFFORT: 2}


def test_Q4_only_unfinished_pods_of_the_node_count() -> None:
    pods = [
        STEADY,
        make_pod(requests={"cpu": "1"}, nodeName="node-2"),
        make_pod(requests={"cpu": "1"}, nodeName=""),
        make_pod(requests={"cpu": "1"}, nodeName="node-1", status={"phase": "Succeeded"}),
        make_pod(requests={"cpu": "1"}, nodeName="node-1", status={"phase": "Failed"}),
    ]
    allocation = node_allocation(NODE, pods)
    assert allocation.pods == 1
    assert str(_resource(allocation, "cpu").requested) == "1"


def test_Q4_terminating_pods_count_until_removed() -> None:
    leaving = make_pod(
        metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
        requests={"cpu": "1"},
        nodeName="node-1",
        status={"phase": "Running"},
    )
    assert str(_resource(node_allocation(NODE, [leaving]), "cpu").requested) == "1"


def test_Q4_resources_listed_are_those_of_the_node() -> None:
    gpu = make_pod(requests={"example.com/gpu": "1", "example.com/fpga": "1"}, nodeName="node-1")
    allocation = node_allocation(NODE, [gpu])
    assert [entry.name for entry in allocation.resources] == ["cpu", "memory", "ephemeral-storage", "example.com/gpu"]
    assert str(_resource(allocation, "example.com/gpu").free) == "1"


def test_Q4_capacity_that_is_not_reported_is_what_is_allocatable() -> None:
    node = make_node(capacity={}, allocatable={"cpu": "2"})
    cpu = _resource(node_allocation(node, []), "cpu")
    assert (str(cpu.capacity), cpu.reserved.is_zero) == ("2", True)


def test_Q4_requests_count_as_in_the_scheduler() -> None:
    resizing = make_pod(
        requests={"cpu": "1"},
        nodeName="node-1",
        overhead={"cpu": "100m"},
        status={"containerStatuses": [raw_container_status(requests={"cpu": "2"})]},
    )
    assert str(_resource(node_allocation(NODE, [resizing]), "cpu").requested) == "2100m"
    old = node_allocation(NODE, [resizing], features=Features.of_minor(32))
    assert str(_resource(old, "cpu").requested) == "1100m"


def test_Q4_pod_level_resources_count_since_they_are_known() -> None:
    pod = make_pod(
        requests={"cpu": "1"}, nodeName="node-1", resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}
    )
    new = _resource(node_allocation(NODE, [pod]), "cpu")
    old = _resource(node_allocation(NODE, [pod], features=Features.of_minor(33)), "cpu")
    assert (str(new.requested), str(new.limited), new.without_limit) == ("2", "3", 0)
    assert (str(old.requested), str(old.limited), old.without_limit) == ("1", "0", 1)


def test_Q4_resource_is_full_at_allocatable() -> None:
    almost = make_pod(requests={"cpu": "3799m"}, nodeName="node-1")
    rest = make_pod(requests={"cpu": "1m"}, nodeName="node-1")
    assert not _resource(node_allocation(NODE, [almost]), "cpu").full
    assert _resource(node_allocation(NODE, [almost, rest]), "cpu").full
    assert not _resource(node_allocation(NODE, [almost, rest]), "memory").full


def test_Q4_pod_count_is_full_at_its_maximum() -> None:
    small = make_node(capacity={"pods": "2"}, allocatable={"pods": "2"})
    assert not node_allocation(small, [IDLE]).pods_full
    assert node_allocation(small, [IDLE, IDLE]).pods_full
