"""The effective requests and limits of a pod, summed as in the scheduler and the kubelet.

App containers and sidecars run together, so they add up; an init container runs next to the sidecars started before it,
so the pod needs the larger of the two phases, resource by resource; pod-level resources replace the sum; overhead is
added (to a limit only if there is one).

    max( sum(app) + sum(sidecars),  max over init i of (init i + sum(sidecars before i)) )

During a resize, the scheduler counts the maximum of the spec, the kubelet's allocation and the cgroups: until 1.36 for
each container, since 1.37 for the three sums.

Source: k8s.io/component-helpers/resource/helpers.go at v0.36.3 and v0.37.1; KEP-753 (sidecars), KEP-2837 (pod-level
resources), KEP-1287 (in-place resize); pkg/scheduler/framework/types.go (PodInfo.CalculateResource) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Container, ContainerStatus, Pod, PodStatus, ResourceRequirements
from podrules.api.model.quantity import MILLI, ZERO, Quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
HUGEPAGES_PREFIX: Final = "hugepages-"
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_QUALIFIED_NAME: Final = (
    r"(?:(?P<prefix>[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)/)?"
    r"(?P<name>[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)"
)

DEFAULT_MILLI_CPU_REQUEST: Final = Quantity(100, MILLI)
"""The amount in the scheduler's scores for a container without a cpu request (schedutil.DefaultMilliCPURequest)."""
DEFAULT_MEMORY_REQUEST: Final = Quantity(200 * 1024 * 1024)
"""The same for memory: 200Mi (schedutil.DefaultMemoryRequest)."""


class PodResourcesOptions(Struct, frozen=True, kw_only=True):
    """Options of the sums (resource.PodResourcesOptions)."""

    exclude_overhead: bool = False
    skip_pod_level_resources: bool = False
    use_status_resources: bool = False
    """Count the allocated or actuated resources of a resize in progress, if they are more than the spec."""
    use_status_pod_level_resources: bool = False
    """The same for ``spec.resources``; needs `use_status_resources`."""
    sums_before_maximum: bool = False
    """During a resize, compare the sums over all containers; else each container's amounts."""
    non_missing_container_requests: Mapping[str, Quantity] = {}
    """The amounts for each container without a request of the resource."""


_DEFAULT_OPTIONS: Final = PodResourcesOptions()


class SchedulerRequest(Struct, frozen=True, rename="camel"):
    """The amounts that the scheduler counts for a pod on a node (framework.PodResource)."""

    milli_cpu: int
    memory: int
    ephemeral_storage: int
    scalar: dict[str, int]
    """Extended resources, huge pages, attachable volumes: whole units."""
    nonzero_milli_cpu: int
    """As `milli_cpu`, with 100m for each container without a request: used by scores, never by filters."""
    nonzero_memory: int
    """As `memory`, with 200Mi for each container without a request."""


def is_supported_pod_level_resource(name: str) -> bool:
    """Whether ``spec.resources`` may set it: cpu, memory, huge pages."""
    return name in {CPU, MEMORY} or name.startswith(HUGEPAGES_PREFIX)


def is_overcommit_allowed(name: str) -> bool:
    """Whether its limit may exceed its request: native resources except huge pages."""
    return is_native_resource(name) and not name.startswith(HUGEPAGES_PREFIX)


def is_native_resource(name: str) -> bool:
    """Whether it is Kubernetes' own: a name without a domain, or in kubernetes.io (helper.IsNativeResource)."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended_resource_name(name: str) -> bool:
    """Whether it is a resource outside Kubernetes' own, such as a device (helper.IsExtendedResourceName)."""
    if is_native_resource(name) or name.startswith("requests."):
        return False
    quota_name = re.fullmatch(_QUALIFIED_NAME, f"requests.{name}")
    return quota_name is not None and len(quota_name["prefix"]) <= 253 and len(quota_name["name"]) <= 63


def is_pod_level_requests_set(pod: Pod) -> bool:
    """Whether ``spec.resources.requests`` sets a supported resource."""
    return pod.spec.resources is not None and any(map(is_supported_pod_level_resource, pod.spec.resources.requests))


def is_pod_level_limits_set(pod: Pod) -> bool:
    """Whether ``spec.resources.limits`` sets a supported resource."""
    return pod.spec.resources is not None and any(map(is_supported_pod_level_resource, pod.spec.resources.limits))


def is_pod_level_resources_set(pod: Pod) -> bool:
    """Whether ``spec.resources`` sets a supported resource as request or limit."""
    return is_pod_level_requests_set(pod) or is_pod_level_limits_set(pod)


def pod_requests(pod: Pod, options: PodResourcesOptions = _DEFAULT_OPTIONS) -> ResourceList:
    """The pod's effective requests (resource.PodRequests)."""
    requests = aggregate_container_requests(pod, options)
    if not options.skip_pod_level_resources and pod.spec.resources is not None:
        own = pod.spec.resources.requests
        effective = own
        if options.use_status_pod_level_resources and options.use_status_resources and pod.status.resources is not None:
            effective = _effective_requests(
                pod.status, own, pod.status.resources.requests, pod.status.allocated_resources
            )
        # Since 1.37 also resources that only the status names, if the pod itself requests any.
        every = options.sums_before_maximum and is_pod_level_requests_set(pod)
        for name in filter(is_supported_pod_level_resource, effective if every else own):
            requests[name] = effective.get(name, ZERO)
    if not options.exclude_overhead:
        _add(requests, pod.spec.overhead)
    return requests


def pod_limits(pod: Pod, options: PodResourcesOptions = _DEFAULT_OPTIONS) -> ResourceList:
    """The pod's effective limits, each summed over the containers that set it (resource.PodLimits)."""
    limits = aggregate_container_limits(pod, options)
    if not options.skip_pod_level_resources and pod.spec.resources is not None:
        own = pod.spec.resources.limits
        effective = own
        if options.use_status_pod_level_resources and options.use_status_resources and pod.status.resources is not None:
            effective = _effective_limits(pod.status, own, pod.status.resources.limits)
        for name in filter(is_supported_pod_level_resource, own):
            limits[name] = effective.get(name, ZERO)
    if not options.exclude_overhead:
        for name, amount in pod.spec.overhead.items():
            if name in limits and not limits[name].is_zero:
                limits[name] = limits[name] + amount
    return limits


def aggregate_container_requests(pod: Pod, options: PodResourcesOptions = _DEFAULT_OPTIONS) -> ResourceList:
    """The sum over containers, without pod-level resources and overhead (resource.AggregateContainerRequests)."""
    if options.use_status_resources and options.sums_before_maximum:
        return _most_requested(pod, options)
    statuses = _statuses(pod) if options.use_status_resources else {}

    def of(container: Container) -> Mapping[str, Quantity]:
        requests = container.resources.requests
        status = statuses.get(container.name)
        if status is not None and status.resources is not None:
            requests = _effective_requests(pod.status, requests, status.resources.requests, status.allocated_resources)
        return _with_missing(requests, options)

    return _aggregate(pod, of)[0]


def aggregate_container_limits(pod: Pod, options: PodResourcesOptions = _DEFAULT_OPTIONS) -> ResourceList:
    """The sum over containers, without pod-level resources and overhead (resource.AggregateContainerLimits)."""
    return _limits(pod, options)[0]


def container_limits(pod: Pod) -> list[ResourceList]:
    """The effective limits while each container runs: its own, and for init containers those of earlier sidecars.

    Upstream passes them to ``ContainerFn``, with which the kubelet checks whether every container is limited.
    """
    return _limits(pod, _DEFAULT_OPTIONS)[1]


def allocated_pod(pod: Pod, *, features: Features = REFERENCE) -> Pod:
    """The pod with the resources that its kubelet has allocated: those of the spec except during a resize.

    OOM scores and cgroups result from these; the scheduler counts the larger of these and the spec. In the status, the
    allocated resources are requests; of limits only the effective ones are known. Non-sidecar init containers can be
    resized only with the gate InPlacePodVerticalScalingInitContainers (pkg/kubelet/allocation, IsResizableContainer;
    KEP-1287).
    """
    if not features.in_place_pod_vertical_scaling:
        return pod
    statuses = _statuses(pod, ending=features.in_place_pod_vertical_scaling_init_containers)
    if not any(status.allocated_resources for status in statuses.values()):
        return pod

    def granted(container: Container) -> Container:
        status = statuses.get(container.name)
        if status is None or not status.allocated_resources:
            return container
        limits = container.resources.limits if status.resources is None else status.resources.limits
        requests = {**container.resources.requests, **status.allocated_resources}
        return replace(container, resources=ResourceRequirements(requests=requests, limits=limits))

    spec = pod.spec
    containers, init = tuple(map(granted, spec.containers)), tuple(map(granted, spec.init_containers))
    return replace(pod, spec=replace(spec, containers=containers, init_containers=init))


def scheduler_options(features: Features) -> PodResourcesOptions:
    """kube-scheduler's options in a given version."""
    return PodResourcesOptions(
        use_status_resources=features.in_place_pod_vertical_scaling,
        use_status_pod_level_resources=features.in_place_pod_level_resources_vertical_scaling,
        sums_before_maximum=features.requests_summed_before_maximum,
        skip_pod_level_resources=not features.pod_level_resources,
    )


def scheduler_request(pod: Pod, features: Features) -> SchedulerRequest:
    """The amounts that the scheduler counts for the pod (framework.PodInfo.CalculateResource)."""
    options = scheduler_options(features)
    requests = pod_requests(pod, options)
    replaces_sum = features.pod_level_resources and is_pod_level_requests_set(pod)
    defaults = {CPU: DEFAULT_MILLI_CPU_REQUEST, MEMORY: DEFAULT_MEMORY_REQUEST}
    missing = {name: amount for name, amount in defaults.items() if not replaces_sum or name not in requests}
    nonzero = requests
    if missing:
        nonzero = pod_requests(pod, replace(options, non_missing_container_requests=missing))
    return SchedulerRequest(
        milli_cpu=requests.get(CPU, ZERO).milli_value,
        memory=requests.get(MEMORY, ZERO).value,
        ephemeral_storage=requests.get(EPHEMERAL_STORAGE, ZERO).value,
        scalar={name: amount.value for name, amount in requests.items() if is_scalar_resource_name(name)},
        nonzero_milli_cpu=nonzero.get(CPU, ZERO).milli_value,
        nonzero_memory=nonzero.get(MEMORY, ZERO).value,
    )


def _most_requested(pod: Pod, options: PodResourcesOptions) -> ResourceList:
    """The maximum of three sums: spec, allocated, actuated; without the spec for an infeasible resize (since 1.37)."""
    statuses, infeasible = _statuses(pod, ending=True), _resize_infeasible(pod.status)

    def allocated(container: Container) -> Mapping[str, Quantity]:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources:
            return status.allocated_resources
        return {} if infeasible else container.resources.requests

    def actuated(container: Container) -> Mapping[str, Quantity]:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return status.resources.requests
        return allocated(container)

    def together(of: Callable[[Container], Mapping[str, Quantity]]) -> ResourceList:
        return _aggregate(pod, lambda container: _with_missing(of(container), options))[0]

    whole = pod.status.resources.requests if pod.status.resources is not None else {}
    if options.use_status_pod_level_resources and pod.status.allocated_resources and whole:
        sums = [whole, pod.status.allocated_resources]
    else:
        sums = [together(actuated), together(allocated)]
    most = {} if infeasible else together(lambda container: container.resources.requests)
    for each in sums:
        _raise_to(most, each)
    return most


def _with_missing(requests: Mapping[str, Quantity], options: PodResourcesOptions) -> Mapping[str, Quantity]:
    missing = options.non_missing_container_requests
    return {**requests, **{name: missing[name] for name in missing if name not in requests}}


def _limits(pod: Pod, options: PodResourcesOptions) -> tuple[ResourceList, list[ResourceList]]:
    statuses = _statuses(pod) if options.use_status_resources else {}

    def of(container: Container) -> Mapping[str, Quantity]:
        limits = container.resources.limits
        status = statuses.get(container.name)
        if status is not None and status.resources is not None:
            return _effective_limits(pod.status, limits, status.resources.limits)
        return limits

    return _aggregate(pod, of)


def _aggregate(pod: Pod, of: Callable[[Container], Mapping[str, Quantity]]) -> tuple[ResourceList, list[ResourceList]]:
    """The sum over both phases, and the effective amounts in each container's phase."""
    total: ResourceList = {}
    in_force: list[ResourceList] = []
    for container in pod.spec.containers:
        own = of(container)
        in_force.append(dict(own))
        _add(total, own)
    sidecars: ResourceList = {}
    init_phase: ResourceList = {}
    for container in pod.spec.init_containers:
        if container.restarts_always:
            own = of(container)
            _add(total, own)
            _add(sidecars, own)
            phase = dict(sidecars)
        else:
            phase = dict(of(container))
            _add(phase, sidecars)
        in_force.append(phase)
        _raise_to(init_phase, phase)
    _raise_to(total, init_phase)
    return total, in_force


def _statuses(pod: Pod, *, ending: bool = False) -> dict[str, ContainerStatus]:
    """Statuses by container name; without ``ending`` no non-sidecar init containers: for these only the spec counts."""
    left_out = {container.name for container in pod.spec.init_containers if not (ending or container.restarts_always)}
    return {entry.name: entry for entry in pod.status.of_containers if entry.name not in left_out}


def _resize_infeasible(status: PodStatus) -> bool:
    pending = status.condition("PodResizePending")
    return pending is not None and pending.reason == "Infeasible"


def _effective_requests(
    status: PodStatus,
    spec: Mapping[str, Quantity],
    actuated: Mapping[str, Quantity],
    allocated: Mapping[str, Quantity],
) -> ResourceList:
    """The maximum of the three; without the spec if the resize is infeasible (resource.determineEffectiveRequests)."""
    effective = dict(actuated) if _resize_infeasible(status) else dict(spec)
    _raise_to(effective, actuated)
    _raise_to(effective, allocated)
    return effective


def _effective_limits(
    status: PodStatus, spec: Mapping[str, Quantity], actuated: Mapping[str, Quantity]
) -> ResourceList:
    if _resize_infeasible(status):
        return dict(actuated)
    effective = dict(spec)
    _raise_to(effective, actuated)
    return effective


def _add(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: ResourceList, floor: Mapping[str, Quantity]) -> None:
    for name, amount in floor.items():
        known = total.get(name)
        # Equal texts are parsed into one object.
        if known is None or (known is not amount and known < amount):
            # Upstream's Cmp changes an amount to the form of the other operand.
            widened = known is not None and known.big and not amount.big
            total[name] = Quantity(amount.unscaled, amount.exponent, amount.format, big=True) if widened else amount


def is_scalar_resource_name(name: str) -> bool:
    """Whether the scheduler counts it by name (schedutil.IsScalarResourceName)."""
    if name in {CPU, MEMORY, "pods", EPHEMERAL_STORAGE}:
        return False
    if name.startswith((HUGEPAGES_PREFIX, "attachable-volumes-")) or _NATIVE_DOMAIN in name:
        return True
    return is_extended_resource_name(name)
