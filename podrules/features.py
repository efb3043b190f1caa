"""Feature gates, as data: what is on by default in a given Kubernetes minor version.

Rules take a `Features` value and look nothing up globally. Listed are the gates that some rule reads and whose default
differs among 1.33, 1.34, 1.35 and 1.36. Not listed: gates with one default in all four (SidecarContainers,
NodeInclusionPolicyInPodTopologySpread: on; TaintTolerationComparisonOperators, VolumeLimitScaling,
StorageCapacityScoring, DRANodeAllocatableResources: off), whose rules are restated as that default has them, and gates
that differ and change no answer (MatchLabelKeysInPodTopologySpreadSelectorMerge: where the API server does not merge
matchLabelKeys, the scheduler does; DRASchedulerFilterTimeout: no rule measures time).
InPlacePodVerticalScaling, on in all four, is what 1.32 still differs by.

A rule under a gate that is off answers what upstream's 1.36.3 answers with the gate off. Older versions differed in
more than gates; that is not restated.

Source: pkg/features/kube_features.go at v1.36.3, which keeps each gate's default by version; who reads it:
pkg/scheduler/framework/plugins/feature/feature.go and the gate's uses below pkg/kubelet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

__all__ = ["GATES", "REFERENCE", "REFERENCE_VERSION", "Features", "Gate", "minor_of"]

REFERENCE_VERSION: Final = "1.36.3"
"""The version whose behaviour the rules restate."""

_REFERENCE_MINOR: Final = 36


class Gate(NamedTuple):
    """A feature gate and its default."""

    name: str
    """As ``--feature-gates`` takes it."""
    on_since: int
    """The first minor that has it on by default; none of those listed was turned off again."""


GATES: Final[Mapping[str, Gate]] = {
    "in_place_pod_vertical_scaling": Gate("InPlacePodVerticalScaling", 33),
    "dra_admin_access": Gate("DRAAdminAccess", 34),
    "dra_prioritized_list": Gate("DRAPrioritizedList", 34),
    "dynamic_resource_allocation": Gate("DynamicResourceAllocation", 34),
    "pod_level_resources": Gate("PodLevelResources", 34),
    "volume_attributes_class": Gate("VolumeAttributesClass", 34),
    "cpu_cfs_quota_period": Gate("CustomCPUCFSQuotaPeriod", 36),
    "dra_consumable_capacity": Gate("DRAConsumableCapacity", 36),
    "dra_device_binding_conditions": Gate("DRADeviceBindingConditions", 36),
    "dra_device_taints": Gate("DRADeviceTaints", 36),
    "dra_extended_resource": Gate("DRAExtendedResource", 36),
    "dra_partitionable_devices": Gate("DRAPartitionableDevices", 36),
    "in_place_pod_level_resources_vertical_scaling": Gate("InPlacePodLevelResourcesVerticalScaling", 36),
    "in_place_pod_vertical_scaling_init_containers": Gate("InPlacePodVerticalScalingInitContainers", 36),
    "node_declared_features": Gate("NodeDeclaredFeatures", 36),
}
"""By field of `Features`."""


class Features(Struct, frozen=True, kw_only=True):
    """The gates that change what a rule answers."""

    minor: int
    """Kubernetes 1.<minor>."""
    in_place_pod_vertical_scaling: bool
    """InPlacePodVerticalScaling: container resources in the status count (KEP-1287)."""
    dra_admin_access: bool
    """DRAAdminAccess: a request may take devices that are in use (KEP-5018)."""
    dra_prioritized_list: bool
    """DRAPrioritizedList: a request may list alternatives, ``firstAvailable`` (KEP-4816)."""
    dynamic_resource_allocation: bool
    """DynamicResourceAllocation: the plugin DynamicResources is there at all (KEP-4381)."""
    pod_level_resources: bool
    """PodLevelResources: ``spec.resources`` counts (KEP-2837)."""
    volume_attributes_class: bool
    """VolumeAttributesClass: claims with one are matched to volumes (KEP-3751)."""
    cpu_cfs_quota_period: bool
    """CPUCFSQuotaPeriod, written CustomCPUCFSQuotaPeriod: the kubelet's ``cpuCFSQuotaPeriod`` counts (no KEP)."""
    dra_consumable_capacity: bool
    """DRAConsumableCapacity: devices are shared by capacity (KEP-5075)."""
    dra_device_binding_conditions: bool
    """DRADeviceBindingConditions: devices that are made ready after they are allocated (KEP-5007)."""
    dra_device_taints: bool
    """DRADeviceTaints: taints keep requests from devices (KEP-5055)."""
    dra_extended_resource: bool
    """DRAExtendedResource: a DeviceClass stands for an extended resource (KEP-5004)."""
    dra_partitionable_devices: bool
    """DRAPartitionableDevices: devices that share counters, or choose their nodes one by one (KEP-4815)."""
    in_place_pod_level_resources_vertical_scaling: bool
    """InPlacePodLevelResourcesVerticalScaling: pod resources in the status count (KEP-5419)."""
    in_place_pod_vertical_scaling_init_containers: bool
    """InPlacePodVerticalScalingInitContainers: init containers that end can be resized, too (part of KEP-1287)."""
    node_declared_features: bool
    """NodeDeclaredFeatures: pods that need a kubelet's feature go where it is declared (KEP-5328)."""

    @classmethod
    def of_minor(cls, minor: int) -> Features:
        """The defaults of Kubernetes 1.<minor>; a newer minor than the reference has the reference's."""
        return cls(minor=minor, **{field: minor >= gate.on_since for field, gate in GATES.items()})

    @property
    def verified(self) -> bool:
        """Whether answers were held against upstream's own: on the reference's minor alone."""
        return self.minor == _REFERENCE_MINOR


REFERENCE: Final = Features.of_minor(_REFERENCE_MINOR)


def minor_of(git_version: str) -> int | None:
    """The minor of a version such as ``v1.36.3-eks-1`` or ``1.36``; None when it is not one of 1.x."""
    found = re.match(r"v?1\.([0-9]{1,3})(?:[^0-9]|$)", git_version, re.ASCII)
    return int(found.group(1)) if found else None
