"""The models of dynamic resource allocation: claims, the slices that publish devices, and device classes.

They have the API server's defaults: the mode of a request is a count, the count is one device, and the operator of a
toleration is Equal.

Source: k8s.io/api/resource/v1/types.go at v0.36.3; pkg/apis/resource/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.api.model.base import Condition, KubeObject, Model, ResourceList, Time
from podrules.api.model.quantity import Quantity
from podrules.api.model.selectors import NodeSelector

EXACT_COUNT = "ExactCount"
ALL_DEVICES = "All"


class CELDeviceSelector(Model, frozen=True):
    """``selectors[].cel``."""

    expression: str = ""


class DeviceSelector(Model, frozen=True):
    """``selectors[]``."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Model, frozen=True):
    """``tolerations[]`` of a request; an empty key with Exists matches every taint, an empty effect every effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class CapacityRequirements(Model, frozen=True):
    """``capacity`` of a request: how much of each of a device's capacities it requests."""

    requests: ResourceList = {}


class ExactDeviceRequest(Model, frozen=True):
    """``requests[].exactly``."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Model, frozen=True):
    """``requests[].firstAvailable[]``: one of several alternatives; the first that can be allocated is used."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Model, frozen=True):
    """``spec.devices.requests[]``: either `exactly` or `first_available` is set."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Model, frozen=True):
    """``spec.devices.constraints[]``: the value of an attribute is equal for all devices, or different for each."""

    requests: tuple[str, ...] = ()
    """Names of requests, or ``request/subrequest``; empty: all requests."""
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Model, frozen=True):
    """``spec.devices``."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()


class ResourceClaimSpec(Model, frozen=True):
    """``spec``."""

    devices: DeviceClaim = field(default_factory=DeviceClaim)


class DeviceRequestAllocationResult(Model, frozen=True):
    """``status.allocation.devices.results[]``: one allocated device."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    share_id: str | None = field(default=None, name="shareID")
    """Set when claims share the device's capacity."""
    consumed_capacity: ResourceList = {}
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()


class DeviceAllocationResult(Model, frozen=True):
    """``status.allocation.devices``."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(Model, frozen=True):
    """``status.allocation``."""

    devices: DeviceAllocationResult = field(default_factory=DeviceAllocationResult)
    node_selector: NodeSelector | None = None
    """The nodes that can use the devices; None: all nodes."""
    allocation_timestamp: Time | None = None


class ResourceClaimConsumerReference(Model, frozen=True):
    """``status.reservedFor[]``."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Model, frozen=True):
    """``status.devices[]``: a driver's report on an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, if reported."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


class ResourceClaimStatus(Model, frozen=True):
    """``status``."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubeObject, frozen=True):
    """A ResourceClaim: a request for devices, which the pods that name it share."""

    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = field(default_factory=ResourceClaimStatus)

    @property
    def key(self) -> str:
        """Namespace and name, as messages show them (klog.KObj)."""
        return f"{self.metadata.namespace}/{self.metadata.name}" if self.metadata.namespace else self.metadata.name


class ResourceClaimTemplateSpec(KubeObject, frozen=True):
    """``spec`` of a template: the spec of its claims, and their labels and annotations."""

    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(KubeObject, frozen=True):
    """A ResourceClaimTemplate: each pod that names it gets a claim of its own."""

    spec: ResourceClaimTemplateSpec = field(default_factory=ResourceClaimTemplateSpec)


class ResourcePool(Model, frozen=True):
    """``spec.pool``: the slices of one driver that belong together."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class DeviceAttribute(Model, frozen=True):
    """``attributes`` of a device: exactly one field is set."""

    int_value: int | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string_value: str | None = field(default=None, name="string")
    version_value: str | None = field(default=None, name="version")


class CapacityRequestPolicyRange(Model, frozen=True):
    """``requestPolicy.validRange``."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Model, frozen=True):
    """``requestPolicy`` of a capacity: the amounts that a claim may request."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Model, frozen=True):
    """``capacity`` of a device."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


class Counter(Model, frozen=True):
    """``counters`` of a counter set."""

    value: Quantity


class CounterSet(Model, frozen=True):
    """``spec.sharedCounters[]``: amounts that the devices of a pool share."""

    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Model, frozen=True):
    """``consumesCounters[]`` of a device."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(Model, frozen=True):
    """``taints[]`` of a device; only the effects NoSchedule and NoExecute prevent allocation."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Device(Model, frozen=True):
    """``spec.devices[]`` of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourceSliceSpec(Model, frozen=True):
    """``spec``: devices or counters of a pool."""

    driver: str = ""
    pool: ResourcePool = field(default_factory=ResourcePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubeObject, frozen=True):
    """A ResourceSlice: devices that a driver offers."""

    spec: ResourceSliceSpec = field(default_factory=ResourceSliceSpec)


class DeviceClassSpec(Model, frozen=True):
    """``spec``."""

    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True):
    """A DeviceClass: a class of devices that claims request by name."""

    spec: DeviceClassSpec = field(default_factory=DeviceClassSpec)
