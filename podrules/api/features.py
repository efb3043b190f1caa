"""The differences between Kubernetes' minor versions, as data: feature gates, and changes without one.

Rules take a `Features` value and use no global state. `CHANGES` lists the differences among 1.33 to 1.37 that a rule
reads, and one change of 1.24. Not listed: gates with one default in all of them (SidecarContainers,
NodeInclusionPolicyInPodTopologySpread: on; TaintTolerationComparisonOperators, DRANodeAllocatableResources,
InPlacePodVerticalScalingSchedulerPreemption, InPlacePodVerticalScalingMemoryBackedVolumes, GenericWorkload,
DRAFractionalCapacityRange: off), for which the rules follow that default, and gates that differ but change no answer
(MatchLabelKeysInPodTopologySpreadSelectorMerge: if the API server does not merge matchLabelKeys, the scheduler does;
DRASchedulerFilterTimeout: no rule measures time).
InPlacePodVerticalScaling is on in all of them; 1.32 still differs in it.

Not implemented: until 1.35 the allocator tries pools in the order of a Go map, which differs from run to run; here they
have the order of 1.36.

Source: pkg/features/kube_features.go at v1.37.1, which has each gate's default by version; its readers:
pkg/scheduler/framework/plugins/feature/feature.go and the gate's uses below pkg/kubelet. The changes without a gate
come from the sources of the rules that name them, at v1.34.4, v1.35.4, v1.36.3 and v1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec import Struct

VERIFIED: Final[Mapping[int, str]] = {34: "1.34.4", 35: "1.35.4", 36: "1.36.3", 37: "1.37.1"}
"""The versions with which answers were verified, by minor; no minor between them is left out."""
OLDEST_VERIFIED: Final = min(VERIFIED)
REFERENCE_VERSION: Final = VERIFIED[max(VERIFIED)]
"""The version that is assumed if none is known: the newest."""


class Change(NamedTuple):
    """A change in newer versions: under a feature gate, or without one."""

    since: int
    """The first minor with the change by default; no later version turned it off."""
    rule: str
    """The subject of the change: a plugin, or a heading of the answer."""
    effect: str
    """The visible effect."""
    gate: str = ""
    """The gate's name in ``--feature-gates``; empty: no gate controls it."""
    introduced: int = 0
    """The first minor with the gate."""
    locked: int | None = None
    """The first minor in which the gate is locked; None: no minor yet."""

    def can_be_set(self, minor: int) -> bool:
        """Whether the gate can be set in a component of that minor; a newer minor counts as the newest known one."""
        return bool(self.gate) and self.introduced <= minor and (self.locked is None or minor < self.locked)


def _since(
    minor: int, rule: str, effect: str, gate: str = "", *, introduced: int = 0, locked: int | None = None
) -> Any:
    """Declare a field with its change. The change is its default, so every `Features` has to be made by `of_minor`."""
    return Change(minor, rule, effect, gate, introduced, locked)


class Features(Struct, frozen=True, kw_only=True):
    """The gates and changes that a rule reads: each field with its change."""

    minor: int
    """Kubernetes 1.<minor>."""
    emulated: int | None = None
    """The minor that the component emulates: its gates have that minor's defaults (KEP-4330). None: its own."""
    in_place_pod_vertical_scaling: bool = _since(
        33,
        "Requests",
        "resources that a resize has allocated count as requested",
        "InPlacePodVerticalScaling",
        introduced=27,
        locked=35,
    )
    """Container resources in the status count (KEP-1287)."""
    dra_admin_access: bool = _since(
        34, "DynamicResources", "a request may use devices that are in use", "DRAAdminAccess", introduced=32, locked=36
    )
    """A request may use devices that are in use (KEP-5018)."""
    dra_prioritized_list: bool = _since(
        34,
        "DynamicResources",
        "a request may list alternatives (firstAvailable)",
        "DRAPrioritizedList",
        introduced=33,
        locked=37,
    )
    """A request may list alternatives, ``firstAvailable`` (KEP-4816)."""
    dynamic_resource_allocation: bool = _since(
        34,
        "DynamicResources",
        "the plugin runs, and pods wait for the devices that they claim",
        "DynamicResourceAllocation",
        introduced=26,
        locked=35,
    )
    """The plugin DynamicResources exists (KEP-4381)."""
    pod_level_resources: bool = _since(
        34,
        "Pod-level resources",
        "spec.resources counts for class, requests, cgroups and OOM score",
        "PodLevelResources",
        introduced=32,
    )
    """``spec.resources`` counts (KEP-2837)."""
    volume_attributes_class: bool = _since(
        34,
        "VolumeBinding",
        "a claim with a VolumeAttributesClass matches volumes with the same class",
        "VolumeAttributesClass",
        introduced=29,
        locked=36,
    )
    """Claims with one are matched to volumes (KEP-3751)."""
    cpu_cfs_quota_period: bool = _since(
        36, "Cgroups", "the kubelet's cpuCFSQuotaPeriod counts", "CustomCPUCFSQuotaPeriod", introduced=12
    )
    """CPUCFSQuotaPeriod, written CustomCPUCFSQuotaPeriod: the kubelet's ``cpuCFSQuotaPeriod`` counts (no KEP)."""
    dra_consumable_capacity: bool = _since(
        36, "DynamicResources", "several claims share a device by its capacity", "DRAConsumableCapacity", introduced=34
    )
    """Devices are shared by capacity (KEP-5075)."""
    dra_device_binding_conditions: bool = _since(
        36,
        "DynamicResources",
        "a device may be prepared after it is allocated",
        "DRADeviceBindingConditions",
        introduced=34,
    )
    """Devices that are prepared after they are allocated (KEP-5007)."""
    dra_device_taints: bool = _since(
        36, "DynamicResources", "a taint of a device keeps requests away from it", "DRADeviceTaints", introduced=33
    )
    """Taints keep requests from devices (KEP-5055)."""
    dra_extended_resource: bool = _since(
        36,
        "DynamicResources",
        "a DeviceClass can stand for an extended resource",
        "DRAExtendedResource",
        introduced=34,
        locked=37,
    )
    """A DeviceClass stands for an extended resource (KEP-5004)."""
    dra_partitionable_devices: bool = _since(
        36,
        "DynamicResources",
        "devices can share counters, and choose their nodes one by one",
        "DRAPartitionableDevices",
        introduced=33,
    )
    """Devices that share counters, or choose their nodes one by one (KEP-4815)."""
    in_place_pod_level_resources_vertical_scaling: bool = _since(
        36,
        "Requests",
        "pod-level resources that a resize has allocated count as requested",
        "InPlacePodLevelResourcesVerticalScaling",
        introduced=35,
    )
    """Pod resources in the status count (KEP-5419)."""
    in_place_pod_vertical_scaling_init_containers: bool = _since(
        36,
        "Requests",
        "non-sidecar init containers can also be resized",
        "InPlacePodVerticalScalingInitContainers",
        introduced=36,
        locked=37,
    )
    """Non-sidecar init containers can be resized (part of KEP-1287)."""
    node_declared_features: bool = _since(
        36,
        "NodeDeclaredFeatures",
        "a pod that needs a kubelet's feature is placed only where it is declared",
        "NodeDeclaredFeatures",
        introduced=35,
        locked=37,
    )
    """Pods that need a kubelet's feature are placed where it is declared (KEP-5328)."""
    memory_qos: bool = _since(
        37,
        "Cgroups",
        "memoryThrottlingFactor sets memory.high, and memoryReservationPolicy memory.min and memory.low",
        "MemoryQoS",
        introduced=22,
    )
    """On cgroup v2 the kubelet writes memory.high, memory.min and memory.low (KEP-2570)."""
    pod_level_resources_fix_defaulting: bool = _since(
        37,
        "Pod-level resources",
        "the API server sets them after admission, and also sets limits if each container has one",
        "PodLevelResourcesFixDefaulting",
        introduced=37,
    )
    """Pod-level resources are defaulted after admission, limits too (KEP-2837)."""
    pod_level_resources_fix_kubelet_qos_class: bool = _since(
        37,
        "QoS class",
        "an empty spec.resources no longer makes a pod BestEffort",
        "PodLevelResourcesFixKubeletQOSClass",
        introduced=37,
    )
    """An empty ``spec.resources`` has no effect (KEP-2837)."""
    storage_capacity_scoring: bool = _since(
        37,
        "VolumeBinding",
        "nodes score by the storage that fits the pod's claims",
        "StorageCapacityScoring",
        introduced=33,
    )
    """VolumeBinding scores nodes by their storage (KEP-4049)."""
    volume_limit_scaling: bool = _since(
        37,
        "NodeVolumeLimits",
        "a node without the driver that a volume needs is rejected",
        "VolumeLimitScaling",
        introduced=35,
    )
    """NodeVolumeLimits requires the CSI driver on the node (KEP-5030)."""
    dra_pools_as_a_whole: bool = _since(
        35,
        "DynamicResources",
        "an incomplete or invalid pool is skipped, not used or an error, and slices elsewhere make a pool complete",
    )
    """All slices of the cluster count for the completeness of pools, and unusable pools are skipped (GatherPools)."""
    dra_allocator_by_binding: bool = _since(
        35,
        "DynamicResources",
        "without DRADeviceBindingConditions a request for capacity is ignored, and distinctAttribute is rejected",
    )
    """DRAResourceClaimDeviceStatus alone does not select the experimental allocator (AllocatorFeatures)."""
    dra_search_goes_on: bool = _since(
        36,
        "DynamicResources",
        'the search for a request\'s next device starts after the last one; "all devices" works in later alternatives',
    )
    """allocateOne starts at a location, and keeps the subrequest for "all devices"."""
    dra_alternatives_apart: bool = _since(
        36, "DynamicResources", 'a later alternative with "all devices" uses its own selectors'
    )
    """requestIndices name the alternative before validateDeviceRequest looks at devices."""
    dra_score_of_allocated: bool = _since(
        36, "DynamicResources", "an already allocated claim no longer makes the score fail"
    )
    """computeScore reads the existing allocations of claims."""
    dra_owner_in_capitals: bool = _since(
        36, "DynamicResources", "the message about a claim of another pod says Pod, not pod"
    )
    """IsForPod writes ``Pod is not owner``."""
    dra_scoring: bool = _since(
        35, "DynamicResources", "nodes score by the alternatives that a request gets there (firstAvailable)"
    )
    """DynamicResources has a Score."""
    spread_rounded: bool = _since(
        24, "PodTopologySpread", "the raw score of ScheduleAnyway constraints is rounded; before, it was truncated"
    )
    """The raw score of soft spread constraints is math.Round of their sum (Score)."""
    balance_compared: bool = _since(
        36,
        "NodeResourcesBalancedAllocation",
        "nodes score by how the pod changes their balance, not by the balance with it",
    )
    """NodeResourcesBalancedAllocation compares the balance with and without the pod (balancedResourceScorer)."""
    qos_per_container: bool = _since(
        37, "QoS class", "each container's requests must equal its limits, not only their sums"
    )
    """The class results from the class of each container (qos.go, requirementsQOS)."""
    oom_share_not_negative: bool = _since(
        37, "OOM score", "containers that request more than the pod no longer score above 1000"
    )
    """A container's share of the pod-level request is at least 0 (remainingPodMemReqPerContainer)."""
    requests_summed_before_maximum: bool = _since(
        37, "Requests", "during a resize, the larger of the sums counts, not the sum of each container's larger amount"
    )
    """Spec, allocated and actuated resources are summed first (AggregateContainerRequests)."""
    limits_per_container: bool = _since(
        37, "Cgroups", "a sidecar's limit no longer counts as a limit of the init containers after it"
    )
    """Only a container's own limits decide whether it is limited (ResourceConfigForPod)."""
    sidecar_storage_limits: bool = _since(
        37, "Eviction", "the kubelet also evicts a pod if a sidecar exceeds its ephemeral-storage limit"
    )
    """A sidecar's limit counts like a container's (containerEphemeralStorageLimitEviction)."""
    fail_cgroup_v1: bool = _since(35, "Cgroups", "a kubelet does not start on cgroup v1, unless failCgroupV1 is false")
    """The default of ``failCgroupV1``."""
    memory_reserved_by_policy: bool = _since(
        36, "Cgroups", "with MemoryQoS, memoryReservationPolicy decides whether memory requests are reserved"
    )
    """``memoryReservationPolicy`` exists; before, MemoryQoS writes each request to memory.min."""
    memory_high_by_factor: bool = _since(
        37,
        "Cgroups",
        "with MemoryQoS, memory.high needs a memoryThrottlingFactor, and also applies to pods and BestEffort ones",
    )
    """``memoryThrottlingFactor`` has no default, and ApplyPodLevelMemoryHigh exists; before, it is 0.9."""
    image_volumes_count: bool = _since(
        37, "ImageLocality", "image volumes raise the size at which a node has the highest score"
    )
    """ImageLocality's upper bound counts image volumes (calculatePriority)."""
    node_name_first: bool = _since(
        37, "NodeName", "NodeName runs before NodeUnschedulable, and excludes the other nodes"
    )
    """NodeName has a PreFilter that narrows to the node, and comes before NodeUnschedulable."""
    dra_quiet_post_filter: bool = _since(
        37, "DynamicResources", "the message of a pod without claims no longer says that there are none to deallocate"
    )
    """DynamicResources' PostFilter gives no reason if it has nothing to do."""
    preemption_message: bool = _since(
        37, "DefaultPreemption", "the message names the node and the number of victims of a preemption"
    )
    """A preemption's status has a message (Evaluator.Preempt)."""
    dra_counters_by_node: bool = _since(
        37, "DynamicResources", "counters of a pool that reaches no device of a node no longer make the node invalid"
    )
    """A slice with counters applies only to the nodes that it names (GatherPools)."""
    dra_limit_by_request: bool = _since(
        37, "DynamicResources", "the error of a claim for more than 32 devices names the request that exceeds the limit"
    )
    """The limit of devices in a claim is checked with each request (allocator, minDevicesPerClaim)."""
    dra_rounded_like_step: bool = _since(
        37, "DynamicResources", "a rounded amount is written in the format of the range's step"
    )
    """roundUpRange uses the format of the step."""
    dra_distinct_by_value: bool = _since(
        35, "DynamicResources", "distinctAttribute compares values; before, it accepted every device with the attribute"
    )
    """distinctAttributeConstraint compares values, not the pointers to them."""
    dra_distinct_by_device: bool = _since(
        37, "DynamicResources", "distinctAttribute compares all devices, also within one request"
    )
    """distinctAttributeConstraint stores a list, not one value per request."""
    dra_all_by_whole_capacity: bool = _since(
        37,
        "DynamicResources",
        "a shared device with a fully used capacity counts among all devices, which are then unavailable",
    )
    """A device is one of "all devices" regardless of its remaining capacity (validateDeviceRequest)."""
    dra_counters_by_driver: bool = _since(
        37, "DynamicResources", "pools with the same name but different drivers no longer share counters"
    )
    """Counters are stored by driver and pool, not only by the pool's name."""
    dra_shares_without_capacity: bool = _since(
        37, "DynamicResources", "a further share of a device without capacity does not use counters again"
    )
    """A partly allocated device counts as such even without capacity (deviceCapacityInUse)."""
    dra_errors_name_device: bool = _since(37, "DynamicResources", "an error of a selector names the device")
    """Errors of CEL selectors name the device, and suggest a fix for a missing key (cel.EnhanceRuntimeError)."""

    @classmethod
    def of_minor(
        cls, minor: int, gates: Mapping[str, bool] = MappingProxyType({}), *, emulated: int | None = None
    ) -> Features:
        """The defaults of Kubernetes 1.<minor>, except for ``gates``; a newer minor gets those of 1.37.

        Args:
            minor: The minor of the component's own version.
            gates: The values of set gates, by field.
            emulated: See the field.
        """
        gates_minor = minor if emulated is None else emulated
        found = {field: (gates_minor if change.gate else minor) >= change.since for field, change in CHANGES.items()}
        return cls(minor=minor, emulated=emulated, **found | dict(gates))

    @property
    def gates_of(self) -> int:
        """The minor that decides which gates exist, their defaults, and which are locked."""
        return self.minor if self.emulated is None else self.emulated

    @property
    def verified(self) -> bool:
        """Whether answers were verified with that minor's own code."""
        return self.minor in VERIFIED

    @property
    def nearest_verified(self) -> str:
        """The nearest version with which answers were verified: ``1.34.4``."""
        return VERIFIED[min(max(self.minor, OLDEST_VERIFIED), max(VERIFIED))]


CHANGES: Final[Mapping[str, Change]] = {
    field: default
    for field, default in zip(Features.__struct_fields__[1:], Features.__struct_defaults__, strict=True)
    if isinstance(default, Change)
}
"""The changes, by field of `Features`."""

GATES: Final[Mapping[str, Change]] = {field: change for field, change in CHANGES.items() if change.gate}
"""The changes with a feature gate."""

REFERENCE: Final = Features.of_minor(max(VERIFIED))


def minor_of(git_version: str) -> int | None:
    """The minor of a version such as ``v1.36.3-eks-1`` or ``1.36``; None: it is not a 1.x version."""
    found = re.match(r"v?1\.([0-9]{1,3})(?:[^0-9]|$)", git_version, re.ASCII)
    return int(found.group(1)) if found else None
