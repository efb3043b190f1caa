"""How the API server validates the resources of containers and of a pod as a whole, and its overhead.

The defaults of a Pod are in place when it is validated: a request that is missing is the limit, and pod-level requests
and limits come from the containers' (`podrules.pod.defaults`). A template has none of them.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validateResourceRequirements,
validateResourceClaimNames, validatePodResources, validatePodResourceConsistency, validateOverhead);
pkg/apis/core/v1/defaults.go (SetDefaults_Pod, SetDefaults_ResourceList).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import (
    TypedText,
    duplicate,
    forbidden,
    invalid,
    malformed,
    not_found,
    required,
    unsupported,
)
from podrules.admission.validation.formats import dns_label, qualified_name
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.decode import from_object
from podrules.api.model.misfit import FieldError
from podrules.api.model.pod import Container, Pod, ResourceRequirements
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.pod.defaults import rounded_list, stored_pod
from podrules.pod.resources import (
    CPU,
    MEMORY,
    aggregate_container_limits,
    aggregate_container_requests,
    is_native_resource,
    is_overcommit_allowed,
    is_supported_pod_level_resource,
)
from podrules.pod.resources import HUGEPAGES_PREFIX as _HUGEPAGES

NameRule = Callable[[str, str, Rules], Iterator[FieldError]]
_LISTS: Final = ("containers", "initContainers")


def validate_container_resources(container: View, pod: PodContext) -> Iterator[FieldError]:
    """Hold a container's requests, limits and claims against their rules."""
    if not container.has("resources"):
        return
    own = container.struct("resources")
    limits, requests = stored_amounts(own, "limits"), stored_amounts(own, "requests")
    # Ephemeral containers get no defaults.
    if pod.is_pod and "ephemeralContainers" not in container.path:
        requests |= {name: amount for name, amount in limits.items() if name not in requests}
    yield from _requirements(own.path, limits, requests, validate_container_resource_name, pod.rules)
    yield from _claims(own, pod.claims)


def validate_overhead(pod: PodContext) -> Iterator[FieldError]:
    """Hold the overhead against the rules of limits."""
    if pod.spec.has("overhead"):
        path, limits = pod.spec.at("overhead"), stored_amounts(pod.spec, "overhead")
        yield from _requirements(path, limits, {}, validate_container_resource_name, pod.rules)


def validate_pod_resources(pod: PodContext) -> Iterator[FieldError]:
    """Hold the pod-level resources against their own rules, and against those of the containers."""
    if not pod.spec.has("resources") or not pod.rules.on("PodLevelResources"):
        return
    own = pod.spec.struct("resources")
    if pod.os == "windows":
        yield forbidden(own.path, "may not be set for a windows pod")
        return
    if own.has("claims"):
        yield forbidden(own.at("claims"), "claims may not be set for Resources at pod-level")
    # The pod with what decides about resources alone, as it is stored.
    spec: dict[str, Any] = {"resources": _written(pod.spec)}
    for name in _LISTS:
        spec[name] = [
            {**{key: one.content.get(key) for key in ("name", "restartPolicy")}, "resources": _written(one)}
            for one in pod.spec.structs(name)
        ]
    typed = from_object({"spec": spec}, Pod)
    typed = stored_pod(typed, features=Features.of_minor(pod.rules.minor)) if pod.is_pod else typed
    stored = typed.spec.resources or ResourceRequirements()
    limits, requests = rounded_list(stored.limits), rounded_list(stored.requests)
    yield from _requirements(own.path, limits, requests, validate_pod_resource_name, pod.rules)
    yield from _claims(own, pod.claims)
    yield from _consistency(own, typed, limits, requests)


def _written(owner: View) -> dict[str, dict[str, str]]:
    """Resources with null amounts as 0, as Go reads them."""
    own = owner.struct("resources")
    return {side: {name: str(one) for name, one in own.amounts(side).items()} for side in ("limits", "requests")}


def _requirements(
    path: str, limits: Mapping[str, Quantity], requests: Mapping[str, Quantity], name_rule: NameRule, rules: Rules
) -> Iterator[FieldError]:
    for name, amount in limits.items():
        yield from _amount(f"{path}.limits[{name}]", name, amount, name_rule, rules)
        yield from _huge_pages(f"{path}.limits[{name}]", name, amount)
    for name, amount in requests.items():
        yield from _amount(f"{path}.requests[{name}]", name, amount, name_rule, rules)
        yield from _beside_limit(path, name, amount, limits.get(name))
        yield from _huge_pages(f"{path}.requests[{name}]", name, amount)
    named = limits.keys() | requests.keys()
    if any(map(is_hugepage_resource_name, named)) and CPU not in named and MEMORY not in named:
        yield forbidden(path, "HugePages require cpu or memory")


def _amount(place: str, name: str, amount: Quantity, name_rule: NameRule, rules: Rules) -> Iterator[FieldError]:
    yield from name_rule(name, place, rules)
    yield from validate_resource_value(name, amount, place, rules)


def _huge_pages(place: str, name: str, amount: Quantity) -> Iterator[FieldError]:
    if is_hugepage_resource_name(name) and not is_hugepage_value_divisible(name, amount):
        yield invalid(place, amount, f"{amount} is not positive integer multiple of {name}")


def _beside_limit(path: str, name: str, request: Quantity, limit: Quantity | None) -> Iterator[FieldError]:
    overcommitted = is_overcommit_allowed(name)
    if limit is None:
        if not overcommitted:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif request > limit or (request != limit and not overcommitted):
        wanted = "less than or equal to" if overcommitted else "equal to"
        yield invalid(f"{path}.requests", request, f"must be {wanted} {name} limit of {limit}")


def _claims(own: View, known: frozenset[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for claim in own.structs("claims"):
        name, request = claim.text("name"), claim.text("request")
        if not name:
            yield required(claim.path)
            continue
        yield from _repeated_claim(claim.path, name, request, seen)
        if name not in known:
            names = f": {', '.join(sorted(known))}" if known else " which is empty"
            missing = not_found(claim.path, name)
            yield FieldError(
                claim.path, f"{missing.problem}: must be one of the names in pod.spec.resourceClaims{names}"
            )


def _repeated_claim(path: str, name: str, request: str, seen: set[str]) -> Iterator[FieldError]:
    if name in seen:
        yield duplicate(path, name)
        return
    key = f"{name}/{request}" if request else name
    yield from malformed(f"{path}.request", request, dns_label(request) if request else ())
    if key in seen or (not request and any(one.startswith(f"{name}/") for one in seen)):
        yield duplicate(path, key)
    seen.add(key)


def _consistency(own: View, typed: Pod, limits: ResourceList, requests: ResourceList) -> Iterator[FieldError]:
    for name, total in aggregate_container_requests(typed).items():
        request = requests.get(name)
        if request is not None and total > request:
            words = f"must be greater than or equal to aggregate container requests of {total}"
            yield invalid(own.at(f"requests[{name}]"), request, words)
    for name, total in aggregate_container_limits(typed).items():
        limit = limits.get(name)
        if limit is not None and is_hugepage_resource_name(name) and total > limit:
            words = f"must be greater than or equal to aggregate container limits of {total}"
            yield invalid(own.at(f"limits[{name}]"), limit, words)
    for index, container in enumerate(typed.spec.containers):
        for name, amount in container.resources.limits.items():
            limit = limits.get(name)
            if limit is not None and amount > limit:
                place = own.at(f"containers[{index}][{name}].limits")
                yield invalid(place, amount, f"must be less than or equal to pod limits of {limit}")


# How the API server validates a pod's resources once admission has filled in what its author left out.
#
# A default of a LimitRange may contradict what is written: a limit below the request of its container, or above the limit
# of the whole pod. The rules are those of what is written (`podrules.admission.validation.resources`); here is only what
# they are asked about.
#
# Source: pkg/registry/core/pod/strategy.go (Validate) of k8s.io/kubernetes at v1.37.1, which runs after the plugins that
# change a pod.

Content = Mapping[str, Any]


def validate_filled_resources(pod: Pod, rules: Rules) -> Iterator[FieldError]:
    """Hold the resources of a pod against their rules.

    Args:
        pod: After the plugins that change it.
        rules: The API server's version.
    """
    spec = {
        "containers": _containers(pod.spec.containers),
        "initContainers": _containers(pod.spec.init_containers),
        "resources": None if pod.spec.resources is None else _resources(pod.spec.resources),
    }
    asked = PodContext(View(spec, "spec"), View({}, "metadata"), rules, True, {}, frozenset())
    for name in ("containers", "initContainers"):
        for container in asked.spec.structs(name):
            yield from validate_container_resources(container, asked)
    yield from validate_pod_resources(asked)


def _containers(containers: Iterable[Container]) -> list[Content]:
    return [
        {"name": one.name, "restartPolicy": one.restart_policy or None, "resources": _resources(one.resources)}
        for one in containers
    ]


def _resources(own: ResourceRequirements) -> Content:
    return {
        side: {name: str(amount) for name, amount in amounts.items()}
        for side, amounts in (("limits", own.limits), ("requests", own.requests))
    }


# How the API server validates the names of resources, in containers, pods, quotas and limit ranges, and the amounts.
#
#     no slash   one of the standard resources, and of those only the ones that fit the place
#     a slash    any qualified name; in containers also one that makes a name of a quota after ``requests.``
#
# Source: pkg/apis/core/validation/validation.go (validateResourceName, ValidateContainerResourceName,
# validatePodResourceName, ValidateResourceQuotaResourceName, validateLimitRangeResourceName,
# ValidateResourceQuantityValue), pkg/apis/core/v1/defaults.go (SetDefaults_ResourceList) and
# pkg/apis/core/helper/helpers.go at v1.37.1.

_REQUESTS: Final = "requests."
_POD_LEVEL: Final = ("cpu", "memory")
_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_QUOTA: Final = (
    _CONTAINER
    | _COUNTED
    | {f"{_REQUESTS}{name}" for name in (*_CONTAINER, "storage")}
    | {f"limits.{name}" for name in _CONTAINER}
)
_STANDARD: Final = _QUOTA | {"storage"}
_LIMITED_AS_CONTAINERS: Final = frozenset({"Pod", "Container"})
_THOUSAND: Final = 1000


def is_hugepage_resource_name(name: str) -> bool:
    """Whether it is huge pages of some size."""
    return name.startswith(_HUGEPAGES)


def is_hugepage_value_divisible(name: str, amount: Quantity) -> bool:
    """Whether an amount is a whole number of huge pages; false as well where the size of a page cannot be read."""
    try:
        page = Quantity.parse(name.removeprefix(_HUGEPAGES))
    except QuantityError:
        return False
    whole = page.sign > 0 and page.milli_value % _THOUSAND == 0 and page.value != 0
    return whole and amount.value % page.value == 0


def is_extended_resource_name(name: str, rules: Rules) -> bool:
    """Whether it is a resource that another component adds, such as a device."""
    if is_native_resource(name) or name.startswith(_REQUESTS):
        return False
    return not qualified_name(f"{_REQUESTS}{name}", rules)


def is_integer_resource_name(name: str, rules: Rules) -> bool:
    """Whether there are only whole units of it."""
    return name in _COUNTED or is_extended_resource_name(name, rules)


def is_standard_container_resource_name(name: str) -> bool:
    """Whether a container may request it by a name without a domain."""
    return name in _CONTAINER or is_hugepage_resource_name(name)


def is_standard_quota_resource_name(name: str) -> bool:
    """Whether a quota may have it by a name without a domain."""
    return name in _QUOTA or name.startswith((_HUGEPAGES, _REQUESTS + _HUGEPAGES))


def is_standard_resource_name(name: str) -> bool:
    """Whether it is a resource that Kubernetes knows."""
    return name in _STANDARD or name.startswith((_HUGEPAGES, _REQUESTS + _HUGEPAGES))


def stored_amounts(struct: View, name: str) -> ResourceList:
    """A map of amounts as the API server stores them: in whole thousandths."""
    return rounded_list(struct.amounts(name))


def validate_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules that hold everywhere."""
    problems = qualified_name(name, rules)
    yield from malformed(path, TypedText(name), problems)
    if not problems and "/" not in name and not is_standard_resource_name(name):
        yield invalid(path, TypedText(name), "must be a standard resource type or fully qualified")


def validate_container_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for containers."""
    yield from validate_resource_name(name, path, rules)
    if "/" not in name:
        if not is_standard_container_resource_name(name):
            yield invalid(path, TypedText(name), "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource_name(name, rules):
        yield invalid(path, TypedText(name), "doesn't follow extended resource name standard")


def validate_pod_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for the resources of a pod as a whole."""
    problems = tuple(validate_resource_name(name, path, rules))
    yield from problems
    if not problems and not is_supported_pod_level_resource(name):
        yield unsupported(path, name, sorted((*_POD_LEVEL, _HUGEPAGES)))


def validate_quota_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for quotas."""
    yield from validate_resource_name(name, path, rules)
    if "/" not in name and not is_standard_quota_resource_name(name):
        yield invalid(path, TypedText(name), "must be a standard resource for quota")


def validate_limit_range_resource_name(kind: str, name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for a limit range's type."""
    check = validate_container_resource_name if kind in _LIMITED_AS_CONTAINERS else validate_resource_name
    return check(name, path, rules)


def validate_nonnegative_quantity(amount: Quantity, path: str) -> Iterator[FieldError]:
    """Hold an amount against the rule that it is not below zero."""
    if amount.sign < 0:
        yield invalid(path, amount, "must be greater than or equal to 0")


def validate_resource_value(name: str, amount: Quantity, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's amount against the rules of its name: not below zero, and whole where it is counted."""
    yield from validate_nonnegative_quantity(amount, path)
    if is_integer_resource_name(name, rules) and amount.milli_value % _THOUSAND:
        yield invalid(path, amount, "must be an integer")
