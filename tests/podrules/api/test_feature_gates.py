"""One question for each feature gate, asked with the minor before its default changed and with the one after.

test_features.py checks the defaults. DRAAdminAccess and DRAPrioritizedList were enabled together with
DynamicResourceAllocation: for earlier versions, only that gate is turned on, as a cluster of 1.33 may have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from podrules.api.features import GATES, Features
from podrules.api.model.decode import from_object
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.pod import PodQOSClass
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import CSIDriver
from podrules.pod.cgroup import QUOTA_PERIOD, container_resource_config, milli_cpu_to_quota, pod_resource_config
from podrules.pod.defaults import default_pod, stored_pod
from podrules.pod.memory_qos import MemoryQoS, container_memory_qos, memory_settings
from podrules.pod.qos import compute_pod_qos
from podrules.pod.resources import allocated_pod, scheduler_request
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import CycleContext, is_off
from podrules.scheduling.scheduler.plugins.dynamic_resources import DynamicResources
from podrules.scheduling.scheduler.plugins.node_resources import NodeResourcesFit
from podrules.scheduling.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from podrules.scheduling.scheduler.plugins.one_field import NodeDeclaredFeatures
from podrules.scheduling.scheduler.plugins.scores import UtilizationShapePoint
from podrules.scheduling.scheduler.plugins.volume_binding import VolumeBinding
from podrules.scheduling.scheduler.plugins.volume_binding.plugin import VolumeBindingArgs
from tests.features import around
from tests.objects import make_node, make_pod, make_resources, raw_container, raw_container_status, raw_sidecar
from tests.podrules.scheduling.scheduler.plugins.building_affinity import make_context as make_storage_context
from tests.podrules.scheduling.scheduler.plugins.building_devices import (
    DRIVER,
    make_claim,
    make_claiming_pod,
    make_class,
    make_context,
    make_device,
    make_request,
    make_slice,
)
from tests.podrules.scheduling.scheduler.plugins.building_nodes import filter_status, make_cycle, node_of, pod_of
from tests.podrules.scheduling.scheduler.plugins.building_storage import (
    claim,
    claiming_pod,
    csi_node,
    storage_capacity,
    storage_class,
    volume,
)
from tests.table import table

JSON = Mapping[str, Any]
DEVICES, FIT = DynamicResources(), NodeResourcesFit()
POD = make_claiming_pod("my-claim")


def rejected(text: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))


def failed(text: str) -> Status:
    return Status(Code.ERROR, (text,))


NO_DEVICE = rejected("cannot allocate all claims")
TAINT = {"key": "broken", "effect": "NoSchedule"}
COUNTER = {"set": {"slots": "1"}}
PARTITIONED = (
    make_slice(counters=COUNTER, slices=2),
    make_slice(make_device("device-1", counters=COUNTER), name="slice-2", slices=2),
)
PER_DEVICE = make_slice(make_device("device-1", nodeName="node-1"), node="", perDeviceNodeSelection=True)
TO_BIND = make_device("device-1", bindingConditions=["Ready"], bindingFailureConditions=["Failed"])
BINDING_FAILED = {
    "driver": DRIVER,
    "pool": "pool-1",
    "device": "device-1",
    "conditions": [{"type": "Failed", "status": "True"}],
}
SHARED = make_device("device-1", capacity={"memory": "2Gi"}, allowMultipleAllocations=True)
HALF: dict[str, Any] = {"capacity": {"requests": {"memory": "1Gi"}}}
HALF_TAKEN = make_claim(
    "other", allocated=[{"device": "device-1", "shareID": "share", "consumedCapacity": {"memory": "1Gi"}}]
)
DISTINCT = {"distinctAttribute": f"{DRIVER}/shape"}
SHARING_EXPRESSION = "!device.allowMultipleAllocations"
ALTERNATIVES = make_request("req-0", first_available=[make_request("large"), make_request("small")])


def with_devices(features: Features) -> Features:
    """The same features with the gate DynamicResourceAllocation on."""
    return replace(features, dynamic_resource_allocation=True)


def devices(features: Features, *slices: JSON, **more: Any) -> Status:
    """Whether the pod gets the devices of ``my-claim`` on node-1."""
    claims = more.pop("claims", [make_claim()])
    context = make_context(more.pop("pod", POD), claims=claims, slices=slices, features=features, **more)
    return filter_status(DEVICES, context)


def filtered(context: CycleContext) -> Status:
    """Filter as in the cycle: the state of PreFilter is kept for Score."""
    found = DEVICES.pre_filter(context)
    context.states[DEVICES.name] = found.state
    code = Code(int(DEVICES.filter(context, found.state).codes[0]))
    return found.status if code is Code.SUCCESS else Status(code)


def test_every_gate_has_a_test() -> None:
    tested = {found[1] for name in globals() if (found := re.match(r"test_gate_([A-Za-z]+)", name))}
    assert tested == {change.gate for change in GATES.values()}


def test_gate_InPlacePodVerticalScaling() -> None:
    before, after = around("in_place_pod_vertical_scaling")
    status = raw_container_status(requests={"cpu": "2"}, allocatedResources={"cpu": "3"})
    pod = make_pod(requests={"cpu": "1"}, status={"containerStatuses": [status]})
    assert scheduler_request(pod, before).milli_cpu == 1000
    assert scheduler_request(pod, after).milli_cpu == 3000
    assert allocated_pod(pod, features=before) == pod
    assert str(allocated_pod(pod, features=after).spec.containers[0].resources.requests["cpu"]) == "3"


def test_gate_InPlacePodVerticalScalingInitContainers() -> None:
    before, after = around("in_place_pod_vertical_scaling_init_containers")
    init = [raw_sidecar("mesh", requests={"cpu": "1"}), raw_container("setup", requests={"cpu": "1"})]
    statuses = [
        raw_container_status(name, requests={"cpu": "1"}, allocatedResources={"cpu": "3"}) for name in ("mesh", "setup")
    ]
    pod = make_pod(initContainers=init, status={"initContainerStatuses": statuses})

    def granted(features: Features) -> list[str]:
        found = allocated_pod(pod, features=features).spec.init_containers
        return [str(container.resources.requests["cpu"]) for container in found]

    assert granted(before) == ["3", "1"]
    assert granted(after) == ["3", "3"]


def test_gate_InPlacePodLevelResourcesVerticalScaling() -> None:
    before, after = around("in_place_pod_level_resources_vertical_scaling")
    pod = make_pod(
        resources={"requests": {"cpu": "1"}},
        status={"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}},
    )
    assert scheduler_request(pod, before).milli_cpu == 1000
    assert scheduler_request(pod, after).milli_cpu == 3000


def test_gate_PodLevelResources() -> None:
    before, after = around("pod_level_resources")
    amounts = {"cpu": "2", "memory": "1Gi"}
    pod = make_pod(resources={"requests": amounts, "limits": amounts})
    assert compute_pod_qos(pod, features=before) is PodQOSClass.BEST_EFFORT
    assert compute_pod_qos(pod, features=after) is PodQOSClass.GUARANTEED
    nodes = [node_of(status={"allocatable": {"cpu": "1", "memory": "4Gi", "pods": "10"}})]
    assert filter_status(FIT, make_cycle(pod, nodes, features=before)) == SUCCESS
    assert filter_status(FIT, make_cycle(pod, nodes, features=after)) == rejected("Insufficient cpu")


def test_gate_CustomCPUCFSQuotaPeriod() -> None:
    before, after = around("cpu_cfs_quota_period")
    pod = make_pod(requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "1", "memory": "1Gi"})
    tuned = 5000
    for features, period in ((before, QUOTA_PERIOD), (after, tuned)):
        quota = milli_cpu_to_quota(1000, period)
        own = pod_resource_config(pod, cpu_period=tuned, features=features)
        # Upstream returns the given period, because a kubelet with another one does not start.
        assert (own.cpu_quota, own.cpu_period) == (quota, tuned)
        config = container_resource_config(pod, next(pod.containers()), cpu_period=tuned, features=features)
        assert (config.cpu_quota, config.cpu_period) == (quota, period)


def test_gate_MemoryQoS() -> None:
    before, after = around("memory_qos")
    node = make_node(capacity={"memory": "8Gi"})
    config = KubeletConfiguration(memory_throttling_factor=0.5, memory_reservation_policy="TieredReservation")
    pod = make_pod(requests={"memory": "1Gi"}, limits={"memory": "3Gi"})
    assert memory_settings(node, config, before) is None
    settings = memory_settings(node, config, after)
    assert settings is not None
    found = container_memory_qos(pod, next(pod.containers()), settings, features=after)
    assert found == MemoryQoS(high=2 << 30, low=1 << 30)


def test_gate_VolumeAttributesClass() -> None:
    before, after = around("volume_attributes_class")
    gold: dict[str, Any] = {"volumeAttributesClassName": "gold"}

    def judged(features: Features, asked: JSON) -> Status:
        snapshot = ClusterSnapshot(
            persistent_volume_claims=(claim("pvc", "wait", size="1G", **asked),),
            persistent_volumes=(volume("plain", "wait", size="1G"), volume("pv", "wait", size="1G", **gold)),
            storage_classes=(storage_class("wait"),),
        )
        context = make_storage_context(claiming_pod("pvc"), [node_of()], snapshot=snapshot)
        return filter_status(VolumeBinding(), replace(context, features=features))

    assert judged(before, gold) == failed(
        "unsupported volumeAttributesClassName is set on claim default/pvc "
        "when the feature-gate VolumeAttributesClass is disabled"
    )
    assert judged(after, gold) == SUCCESS
    assert judged(before, {}) == judged(after, {}) == SUCCESS


def test_gate_NodeDeclaredFeatures() -> None:
    before, after = around("node_declared_features")
    pod = pod_of({"hostNetwork": True, "hostUsers": False})
    plugin = NodeDeclaredFeatures()
    assert filter_status(plugin, make_cycle(pod, [node_of()], features=before)) == SKIP
    lacking = rejected("node(s) didn't match Pod's required features")
    assert filter_status(plugin, make_cycle(pod, [node_of()], features=after)) == lacking


def test_gate_DynamicResourceAllocation() -> None:
    before, after = around("dynamic_resource_allocation")
    missing = rejected('could not find ResourceClaim "default/my-claim"')
    assert DEVICES.pre_enqueue(POD, ClusterSnapshot(), before) == SUCCESS
    assert DEVICES.pre_enqueue(POD, ClusterSnapshot(), after) == missing
    assert devices(before, claims=[]) == SKIP
    assert devices(after, claims=[]) == missing
    assert (is_off(DEVICES, before), is_off(DEVICES, after)) == (True, False)


@pytest.mark.parametrize("wanted", [True, False])
def test_gate_DRAAdminAccess(wanted: bool) -> None:
    before, after = around("dra_admin_access")
    asking = [make_claim("my-claim", make_request(adminAccess=wanted))]
    text = "claim default/my-claim, request req-0: admin access is requested, but the feature is disabled"
    assert devices(with_devices(before), make_slice("device-1"), claims=asking) == failed(text)
    assert devices(after, make_slice("device-1"), claims=asking) == SUCCESS


def test_gate_DRAPrioritizedList() -> None:
    before, after = around("dra_prioritized_list")
    asking = [make_claim("my-claim", ALTERNATIVES)]
    disabled = "has subrequests, but the DRAPrioritizedList feature is disabled"
    text = f"resource claim default/my-claim, request req-0: {disabled}"
    assert devices(with_devices(before), make_slice("device-1"), claims=asking) == rejected(text)
    assert devices(after, make_slice("device-1"), claims=asking) == SUCCESS


def test_gate_DRAPrioritizedList_in_scores() -> None:
    before, after = around("dra_prioritized_list")
    allocated = make_claim("given", ALTERNATIVES, allocated=[{"request": "req-0/large", "device": "device-1"}])
    pod = make_claiming_pod("given", "my-claim")

    def score(features: Features) -> list[int]:
        claims = [allocated, make_claim()]
        context = make_context(pod, claims=claims, slices=[make_slice("device-1", "device-2")], features=features)
        assert filtered(context).ok
        feasible = np.array([0], np.int32)
        return [int(points) for points in DEVICES.score(context, None, feasible)]

    assert score(with_devices(before)) == [0]
    # Until 1.35 it cannot be scored; see test_changes.py.
    assert score(replace(after, dra_score_of_allocated=True)) == [100]


def test_gate_DRAExtendedResource() -> None:
    before, after = around("dra_extended_resource")
    snapshot = {"deviceClasses": [make_class(extended_resource="example.com/gpu")]}
    pod = make_claiming_pod(requests={"example.com/gpu": "1"})
    classes = snapshot["deviceClasses"]
    assert devices(before, make_slice("device-1"), pod=pod, claims=[], classes=classes) == SKIP
    assert devices(after, make_slice("device-1"), pod=pod, claims=[], classes=classes) == SUCCESS
    assert devices(after, pod=pod, claims=[], classes=classes) == NO_DEVICE

    def fits(features: Features) -> Status:
        context = make_cycle(pod, [node_of(status={"allocatable": {"pods": "10"}})], features=features)
        return filter_status(FIT, replace(context, snapshot=from_object(snapshot, ClusterSnapshot)))

    assert fits(before) == rejected("Insufficient example.com/gpu")
    assert fits(after) == SUCCESS


@table("slices", {"a device that consumes counters": PARTITIONED, "devices that choose their nodes": (PER_DEVICE,)})
def test_gate_DRAPartitionableDevices(slices: tuple[JSON, ...]) -> None:
    before, after = around("dra_partitionable_devices")
    assert devices(before, *slices) == NO_DEVICE
    assert devices(after, *slices) == SUCCESS


def test_gate_DRAPartitionableDevices_in_the_validity_of_a_pool() -> None:
    before, after = around("dra_partitionable_devices")
    # A counter set that does not exist makes the whole pool invalid, including its other device.
    pool = make_slice(make_device("device-1", counters=COUNTER), "device-2")
    twice = make_slice("device-1", "device-1")
    invalid = rejected("invalid resource pools were encountered")
    assert devices(before, pool) == SUCCESS
    assert devices(after, pool) == invalid
    assert devices(before, twice) == devices(after, twice) == invalid


def test_gate_DRAPartitionableDevices_counts_all_pool_slices() -> None:
    before, _ = around("dra_partitionable_devices")
    counters = make_slice(counters=COUNTER, slices=2)
    plain = make_slice("device-1", name="slice-2", slices=2)
    assert devices(before, counters, plain) == SUCCESS
    assert devices(before, plain) == NO_DEVICE


def test_gate_DRADeviceTaints() -> None:
    before, after = around("dra_device_taints")
    tainted = make_slice(make_device("device-1", taints=[TAINT]))
    assert devices(before, tainted) == SUCCESS
    assert devices(after, tainted) == NO_DEVICE


def test_gate_DRADeviceBindingConditions_when_devices_are_found() -> None:
    before, after = around("dra_device_binding_conditions")
    assert devices(before, make_slice(TO_BIND)) == NO_DEVICE
    assert devices(after, make_slice(TO_BIND)) == SUCCESS


def test_gate_DRADeviceBindingConditions_when_they_are_allocated() -> None:
    before, after = around("dra_device_binding_conditions")
    result = {"device": "device-1", "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    allocated = [make_claim(allocated=[result], devices=[BINDING_FAILED])]
    assert devices(before, claims=allocated) == SUCCESS
    assert devices(after, claims=allocated) == rejected("resourceclaim not available on the node")


def test_gate_DRAConsumableCapacity() -> None:
    before, after = around("dra_consumable_capacity")
    claims = [make_claim("my-claim", make_request(**HALF)), HALF_TAKEN]
    assert devices(before, make_slice(SHARED), claims=claims) == NO_DEVICE
    assert devices(after, make_slice(SHARED), claims=claims) == SUCCESS


def test_gate_DRAConsumableCapacity_for_too_much_capacity() -> None:
    before, after = around("dra_consumable_capacity")
    asked = make_request(capacity={"requests": {"memory": "4Gi"}})
    claims = [make_claim("my-claim", asked)]
    assert devices(before, make_slice(SHARED), claims=claims) == SUCCESS
    assert devices(after, make_slice(SHARED), claims=claims) == NO_DEVICE


@table(
    "request_, subject",
    {
        "exactly": (make_request(**HALF), "request req-0"),
        "an alternative": (make_request(first_available=[make_request("small", **HALF)]), "subrequest small"),
    },
)
def test_gate_DRAConsumableCapacity_where_another_gate_is_on(request_: JSON, subject: str) -> None:
    before, _ = around("dra_consumable_capacity")
    # The allocator that supports binding conditions also supports capacity, and refuses it.
    some = replace(before, dra_device_binding_conditions=True)
    problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    claims = [make_claim("my-claim", request_)]
    assert devices(some, make_slice(SHARED), claims=claims) == failed(f"claim default/my-claim, {subject}: {problem}")
    assert devices(some, make_slice(SHARED)) == SUCCESS


def test_gate_DRAConsumableCapacity_in_constraints() -> None:
    before, after = around("dra_consumable_capacity")
    shapes = make_slice(*(make_device(name, attributes={"shape": name}) for name in ("round", "square")))
    claims = [make_claim("my-claim", make_request(count=2), constraints=[DISTINCT])]
    problem = "empty constraint (unsupported constraint type?)"
    assert devices(before, shapes, claims=claims) == failed(f"claim default/my-claim, constraint #0: {problem}")
    assert devices(after, shapes, claims=claims) == SUCCESS


def test_gate_DRAConsumableCapacity_in_expressions() -> None:
    """The stable allocator does not show expressions that a device is shared."""
    before, after = around("dra_consumable_capacity")
    claims = [make_claim("my-claim", make_request(selector=SHARING_EXPRESSION))]
    assert devices(before, make_slice(SHARED), claims=claims) == SUCCESS
    assert devices(after, make_slice(SHARED), claims=claims) == NO_DEVICE
    assert devices(after, make_slice("device-1"), claims=claims) == SUCCESS


def test_gate_PodLevelResourcesFixKubeletQOSClass() -> None:
    before, after = around("pod_level_resources_fix_kubelet_qos_class")
    amounts = {"cpu": "1", "memory": "1Gi"}
    pod = make_pod(requests=amounts, limits=amounts, resources={})
    assert compute_pod_qos(pod, features=before) is PodQOSClass.BEST_EFFORT
    assert compute_pod_qos(pod, features=after) is PodQOSClass.GUARANTEED


def test_gate_PodLevelResourcesFixDefaulting() -> None:
    before, after = around("pod_level_resources_fix_defaulting")
    own = make_resources({"cpu": "3"})
    pod = make_pod(
        requests={"cpu": "1", "memory": "1Gi"},
        limits={"cpu": "2", "memory": "1Gi"},
        resources={"requests": {"cpu": "3"}},
    )
    assert default_pod(pod, features=after).spec.resources == own
    assert stored_pod(pod, features=before).spec.resources == own
    stored = stored_pod(pod, features=after).spec.resources
    assert stored is not None
    assert {name: str(amount) for name, amount in stored.requests.items()} == {"cpu": "3", "memory": "1Gi"}
    # The request of the pod itself, if it is more than the limits of its containers.
    assert {name: str(amount) for name, amount in stored.limits.items()} == {"cpu": "3", "memory": "1Gi"}


def test_gate_StorageCapacityScoring() -> None:
    before, after = around("storage_capacity_scoring")
    nodes = [node_of("small", labels={"disk": "small"}), node_of("large", labels={"disk": "large"}), node_of("none")]
    driver = from_object({"metadata": {"name": "csi"}, "spec": {"storageCapacity": True}}, CSIDriver)
    wait = storage_class("wait", provisioner="csi")

    snapshot = ClusterSnapshot(
        persistent_volume_claims=(claim("pvc", "wait", size="10Gi"),),
        storage_classes=(wait,),
        csi_drivers=(driver,),
        csi_storage_capacities=(
            storage_capacity("wait", {"matchLabels": {"disk": "small"}}, "10Gi"),
            storage_capacity("wait", {"matchLabels": {"disk": "large"}}, "40Gi"),
        ),
    )
    context = make_storage_context(claiming_pod("pvc"), nodes, snapshot=snapshot)
    plugin = VolumeBinding()
    context.states[plugin.name] = plugin.pre_filter(context).state
    feasible = np.array([0, 1, 2], np.int32)
    assert plugin.pre_score(replace(context, features=before), feasible).status == SKIP
    assert plugin.score(replace(context, features=before), None, feasible).tolist() == [0, 0, 0]
    assert plugin.pre_score(replace(context, features=after), feasible).status == SUCCESS
    assert plugin.score(replace(context, features=after), None, feasible).tolist() == [0, 75, 0]
    # An empty shape is the default one; a shape of the profile reverses the order.
    for shape, scores in (((), [0, 75, 0]), (((0, 0), (100, 10)), [100, 25, 0])):
        args = VolumeBindingArgs(shape=tuple(UtilizationShapePoint(*point) for point in shape))
        own = replace(context, features=after, args={plugin.name: args})
        assert plugin.score(own, None, feasible).tolist() == scores


def test_gate_VolumeLimitScaling() -> None:
    before, after = around("volume_limit_scaling")
    volumes = (volume("pv", "now", csi={"driver": "csi", "volumeHandle": "1"}),)
    prevents = {"preventPodSchedulingIfMissing": True}
    drivers = (from_object({"metadata": {"name": "csi"}, "spec": prevents}, CSIDriver),)
    bound = claim("pvc", "now", volume_name="pv")
    snapshot = ClusterSnapshot(
        persistent_volume_claims=(bound,),
        persistent_volumes=volumes,
        storage_classes=(storage_class("now"),),
        csi_drivers=drivers,
        csi_nodes=(csi_node("with", {"csi": None}),),
    )
    context = make_storage_context(claiming_pod("pvc"), [node_of("with"), node_of("without")], snapshot=snapshot)

    def judged(features: Features, row: int) -> Status:
        return filter_status(NodeVolumeLimits(), replace(context, features=features), row)

    def tried(features: Features, row: int) -> Status:
        return NodeVolumeLimits().on_node(replace(context, features=features), None, row, ()).status()

    missing = Status(Code.UNSCHEDULABLE, ("csi CSI driver is not installed on the node",))
    for asked in (judged, tried):
        assert asked(before, 1) == asked(after, 0) == SUCCESS
        # No victim on the node provides the driver.
        assert asked(after, 1) == missing
