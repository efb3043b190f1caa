"""The pod as the API server stores it: the defaults for a manifest's resources and grace period.

Limits are copied to missing requests; pod-level requests are filled from the containers' sums or the pod's limits;
amounts are rounded up to thousandths; the grace period becomes 30 s. So a manifest and the stored pod can differ, and
with them the QoS class. Then admission sets missing values from the LimitRanges of the namespace, and the overhead of
the RuntimeClass.

Source: pkg/apis/core/v1/{defaults.go,zz_generated.defaults.go} (SetDefaults_Pod, SetDefaults_ResourceList,
SetDefaults_LimitRangeItem) and plugin/pkg/admission/limitranger/admission.go (PodMutateLimitFunc) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Container, Pod, ResourceRequirements
from podrules.api.model.policy import LimitRange, LimitRangeItem, RuntimeClass
from podrules.api.model.quantity import MILLI, Quantity
from podrules.pod.resources import (
    HUGEPAGES_PREFIX,
    aggregate_container_limits,
    aggregate_container_requests,
    is_overcommit_allowed,
    is_supported_pod_level_resource,
)

DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS: Final = 30


class DefaultedField(Struct, frozen=True, rename="camel"):
    """A field that the API server sets or rounds."""

    field: str
    """``spec.containers[0].resources.requests.cpu``."""
    given: str | None
    """The manifest's text; None: it was absent."""
    stored: str
    by: str
    """``API defaults`` or ``LimitRange``."""


def default_pod(pod: Pod, *, features: Features = REFERENCE) -> Pod:
    """The pod with the API server's defaults for resources and grace period. Idempotent."""
    spec = replace(
        pod.spec,
        containers=tuple(map(_with_requests, pod.spec.containers)),
        init_containers=tuple(map(_with_requests, pod.spec.init_containers)),
    )
    defaulted = default_grace_period(replace(pod, spec=spec))
    spec = defaulted.spec
    if features.pod_level_resources and not features.pod_level_resources_fix_defaulting and spec.resources is not None:
        defaulted = replace(defaulted, spec=replace(spec, resources=_pod_level(defaulted, spec.resources)))
    return _rounded(defaulted)


def default_pod_level_resources(pod: Pod, *, features: Features = REFERENCE) -> Pod:
    """The pod with the pod-level resources that the API server sets last, after admission; unchanged before 1.37.

    Source: pkg/api/pod/util.go (DefaultPodLevelResources) at v1.37.1.
    """
    own = pod.spec.resources
    due = features.pod_level_resources and features.pod_level_resources_fix_defaulting
    if not due or own is None or not (own.requests or own.limits):
        return pod
    filled = _pod_level_limits(pod, _pod_level(pod, own, without_limits=True))
    return replace(pod, spec=replace(pod.spec, resources=filled))


def stored_pod(pod: Pod, *, features: Features = REFERENCE) -> Pod:
    """The pod as the API server stores it if no admission plugin changes it."""
    return default_pod_level_resources(default_pod(pod, features=features), features=features)


def default_grace_period(pod: Pod) -> Pod:
    """The pod with its grace period as the API server serves it: 30 s by default, 1 s if it is negative."""
    seconds = pod.spec.termination_grace_period_seconds
    if seconds is None:
        seconds = DEFAULT_TERMINATION_GRACE_PERIOD_SECONDS
    # Conversion makes a negative period 1 (pkg/apis/core/v1/conversion.go).
    return replace(pod, spec=replace(pod.spec, termination_grace_period_seconds=1 if seconds < 0 else seconds))


def default_limit_range(limit_range: LimitRange) -> LimitRange:
    """The LimitRange as the API server stores it. Idempotent."""
    limits = tuple(map(default_limit_range_item, limit_range.spec.limits))
    return replace(limit_range, spec=replace(limit_range.spec, limits=limits))


def default_limit_range_item(item: LimitRangeItem) -> LimitRangeItem:
    """One item of a LimitRange as the API server stores it.

    A container's missing default limit is the maximum; its missing default request is that default limit, else the
    minimum.
    """
    default, request = item.default, item.default_request
    if item.type == "Container":
        default = {**item.max, **default}
        request = {**item.min, **default, **request}
    return replace(
        item,
        max=rounded_list(item.max),
        min=rounded_list(item.min),
        default=rounded_list(default),
        default_request=rounded_list(request),
        max_limit_request_ratio=rounded_list(item.max_limit_request_ratio),
    )


def apply_limit_ranges(pod: Pod, limit_ranges: Iterable[LimitRange]) -> Pod:
    """The pod after the LimitRanger plugin: it sets missing container limits and requests (PodMutateLimitFunc)."""
    for limit_range in limit_ranges:
        items = [item for item in limit_range.spec.limits if item.type == "Container"]
        limits = {name: amount for item in items for name, amount in item.default.items()}
        requests = {name: amount for item in items for name, amount in item.default_request.items()}

        def fill(container: Container, limits: ResourceList = limits, requests: ResourceList = requests) -> Container:
            own = container.resources
            filled = ResourceRequirements(requests={**requests, **own.requests}, limits={**limits, **own.limits})
            return replace(container, resources=filled)

        spec = pod.spec
        containers, init = tuple(map(fill, spec.containers)), tuple(map(fill, spec.init_containers))
        pod = replace(pod, spec=replace(spec, containers=containers, init_containers=init))
    return pod


def apply_runtime_class(pod: Pod, runtime_class: RuntimeClass | None) -> Pod:
    """The pod after the RuntimeClass plugin: its class's overhead (plugin/pkg/admission/runtimeclass/admission.go)."""
    if runtime_class is None or not runtime_class.overhead.pod_fixed:
        return pod
    return replace(pod, spec=replace(pod.spec, overhead=runtime_class.overhead.pod_fixed))


def defaulted_fields(given: Pod, stored: Pod, by: str = "API defaults") -> tuple[DefaultedField, ...]:
    """The changes of one step in resources, in the order of the spec."""
    if given is stored:
        return ()
    changes: list[DefaultedField] = []

    def compare(path: str, before: Mapping[str, Quantity], after: Mapping[str, Quantity]) -> None:
        for name, amount in after.items():
            old = before.get(name)
            if old is None or old != amount:
                changes.append(DefaultedField(f"{path}.{name}", None if old is None else str(old), str(amount), by))

    own = {ref.container.name: ref.container.resources for ref in given.containers()}
    for after in stored.containers():
        # Admission may add containers: all of their resources are new.
        before = own.get(after.container.name, ResourceRequirements())
        path = f"{after.field}.resources"
        compare(f"{path}.requests", before.requests, after.container.resources.requests)
        compare(f"{path}.limits", before.limits, after.container.resources.limits)
    if given.spec.resources is not None and stored.spec.resources is not None:
        compare("spec.resources.requests", given.spec.resources.requests, stored.spec.resources.requests)
        compare("spec.resources.limits", given.spec.resources.limits, stored.spec.resources.limits)
    return tuple(changes)


def _with_requests(container: Container) -> Container:
    own = container.resources
    missing = {name: amount for name, amount in own.limits.items() if name not in own.requests}
    if not missing:
        return container
    return replace(container, resources=replace(own, requests={**own.requests, **missing}))


def _pod_level(pod: Pod, own: ResourceRequirements, *, without_limits: bool = False) -> ResourceRequirements:
    """Pod-level limits for huge pages, then pod-level requests (defaultHugePagePodLimits, defaultPodRequests).

    Args:
        pod: The pod.
        own: Its pod-level resources.
        without_limits: Whether requests are also set without any limit (since 1.37).
    """
    limits = dict(own.limits)
    if own.limits or own.requests:
        for name, amount in aggregate_container_limits(pod).items():
            if name.startswith(HUGEPAGES_PREFIX) and name not in own.requests:
                limits.setdefault(name, amount)
    requests = dict(own.requests)
    if limits or without_limits:
        for name, amount in aggregate_container_requests(pod).items():
            if is_supported_pod_level_resource(name) and is_overcommit_allowed(name):
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if is_supported_pod_level_resource(name):
                requests.setdefault(name, amount)
    return ResourceRequirements(requests=requests, limits=limits)


def _pod_level_limits(pod: Pod, own: ResourceRequirements) -> ResourceRequirements:
    """Set a pod-level limit if every container has one: their sum, or the pod's request if that is larger."""
    missing = [name for name in own.requests if is_supported_pod_level_resource(name) and name not in own.limits]
    together = aggregate_container_limits(pod)
    # Ephemeral containers cannot have limits, so a pod with one gets none; their amounts are not summed.
    containers = [*(ref.container for ref in pod.containers()), *pod.spec.ephemeral_containers]
    limits = dict(own.limits)
    for name in missing:
        if all(name in container.resources.limits for container in containers) and name in together:
            limits[name] = max(together[name], own.requests[name])
    return replace(own, limits=limits)


def _rounded(pod: Pod) -> Pod:
    spec = pod.spec
    return replace(
        pod,
        spec=replace(
            spec,
            containers=tuple(map(_rounded_container, spec.containers)),
            init_containers=tuple(map(_rounded_container, spec.init_containers)),
            resources=None if spec.resources is None else _rounded_requirements(spec.resources),
            overhead=rounded_list(spec.overhead),
        ),
    )


def _rounded_container(container: Container) -> Container:
    return replace(container, resources=_rounded_requirements(container.resources))


def _rounded_requirements(own: ResourceRequirements) -> ResourceRequirements:
    return ResourceRequirements(requests=rounded_list(own.requests), limits=rounded_list(own.limits))


def rounded_list(amounts: Mapping[str, Quantity]) -> ResourceList:
    """Amounts as the API server stores them: rounded up to thousandths (SetDefaults_ResourceList)."""
    return {name: amount.round_up(MILLI) for name, amount in amounts.items()}
