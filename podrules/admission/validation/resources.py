"""How the API server validates the resources of containers and of a pod as a whole, its overhead, and resources' names.

The defaults of a Pod are in place when it is validated: a request that is missing is the limit, and pod-level requests
and limits come from the containers' (`podrules.pod.defaults`). A template has none of them. The names of resources:

    no slash   one of the standard resources, and of those only the ones that fit the place
    a slash    any qualified name; in containers also one that makes a name of a quota after ``requests.``

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validateResourceRequirements,
validateResourceClaimNames, validatePodResources, validatePodResourceConsistency, validateOverhead,
validateResourceName, ValidateContainerResourceName, validatePodResourceName, ValidateResourceQuotaResourceName,
validateLimitRangeResourceName, ValidateResourceQuantityValue); pkg/apis/core/v1/defaults.go (SetDefaults_Pod,
SetDefaults_ResourceList); pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    validate_format,
)
from podrules.admission.validation.formats import dns_label, qualified_name
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.decode import from_object
from podrules.api.model.misfit import FieldError
from podrules.api.model.pod import Pod, ResourceRequirements
from podrules.api.model.quantity import Quantity, QuantityError
from podrules.pod.defaults import rounded_list, stored_pod
from podrules.pod.resources import (
    CPU,
    HUGEPAGES_PREFIX,
    MEMORY,
    aggregate_container_limits,
    aggregate_container_requests,
    is_native_resource,
    is_overcommit_allowed,
    is_supported_pod_level_resource,
)

NameRule = Callable[[str, str, Rules], Iterator[FieldError]]
_LISTS: Final = ("containers", "initContainers")
_REQUESTS: Final = "requests."
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
_LIMITED_AS_CONTAINERS: Final = frozenset({"Pod", "Container"})
_THOUSAND: Final = 1000


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
    # The pod with what decides about resources alone, as it is stored; null amounts are 0, as Go reads them.
    spec: dict[str, Any] = {"resources": _amounts(own.amounts("limits"), own.amounts("requests"))}
    for name in _LISTS:
        spec[name] = [
            {
                **{key: one.content.get(key) for key in ("name", "restartPolicy")},
                "resources": _amounts(*(one.struct("resources").amounts(side) for side in ("limits", "requests"))),
            }
            for one in pod.spec.structs(name)
        ]
    typed = from_object({"spec": spec}, Pod)
    typed = stored_pod(typed, features=Features.of_minor(pod.rules.minor)) if pod.is_pod else typed
    stored = typed.spec.resources or ResourceRequirements()
    limits, requests = rounded_list(stored.limits), rounded_list(stored.requests)
    yield from _requirements(own.path, limits, requests, validate_pod_resource_name, pod.rules)
    yield from _claims(own, pod.claims)
    yield from _consistency(own, typed, limits, requests)


def _amounts(limits: Mapping[str, Quantity], requests: Mapping[str, Quantity]) -> Mapping[str, Mapping[str, str]]:
    """Limits and requests as JSON has them."""
    sides = (("limits", limits), ("requests", requests))
    return {side: {name: str(amount) for name, amount in amounts.items()} for side, amounts in sides}


def _requirements(
    path: str, limits: Mapping[str, Quantity], requests: Mapping[str, Quantity], name_rule: NameRule, rules: Rules
) -> Iterator[FieldError]:
    for side, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            place = f"{path}.{side}[{name}]"
            yield from name_rule(name, place, rules)
            yield from validate_resource_value(name, amount, place, rules)
            if side == "requests":
                yield from _beside_limit(path, name, amount, limits.get(name))
            if is_hugepage_resource_name(name) and not is_hugepage_value_divisible(name, amount):
                yield invalid(place, amount, f"{amount} is not positive integer multiple of {name}")
    named = limits.keys() | requests.keys()
    if any(map(is_hugepage_resource_name, named)) and CPU not in named and MEMORY not in named:
        yield forbidden(path, "HugePages require cpu or memory")


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
        if name in seen:
            yield duplicate(claim.path, name)
        else:
            yield from validate_format(claim, "request", dns_label)
            key = f"{name}/{request}" if request else name
            if key in seen or (not request and any(one.startswith(f"{name}/") for one in seen)):
                yield duplicate(claim.path, key)
            seen.add(key)
        if name not in known:
            names = f": {', '.join(sorted(known))}" if known else " which is empty"
            yield not_found(claim.path, name, f"must be one of the names in pod.spec.resourceClaims{names}")


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


def validate_filled_resources(pod: Pod, rules: Rules) -> Iterator[FieldError]:
    """Hold the resources of a pod against their rules after the plugins that change it.

    A default of a LimitRange may contradict what is written: a limit below the request of its container, or above the
    limit of the whole pod (pkg/registry/core/pod/strategy.go, Validate).
    """
    own = pod.spec.resources
    spec: dict[str, Any] = {"resources": None if own is None else _amounts(own.limits, own.requests)}
    for name, containers in zip(_LISTS, (pod.spec.containers, pod.spec.init_containers), strict=True):
        spec[name] = [
            {
                "name": one.name,
                "restartPolicy": one.restart_policy or None,
                "resources": _amounts(one.resources.limits, one.resources.requests),
            }
            for one in containers
        ]
    asked = PodContext(View(spec, "spec"), View({}, "metadata"), rules, True, {}, frozenset())
    for name in _LISTS:
        for container in asked.spec.structs(name):
            yield from validate_container_resources(container, asked)
    yield from validate_pod_resources(asked)


def is_hugepage_resource_name(name: str) -> bool:
    """Whether it is huge pages of some size."""
    return name.startswith(HUGEPAGES_PREFIX)


def is_hugepage_value_divisible(name: str, amount: Quantity) -> bool:
    """Whether an amount is a whole number of huge pages; false as well where the size of a page cannot be read."""
    try:
        page = Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX))
    except QuantityError:
        return False
    whole = page.sign > 0 and page.milli_value % _THOUSAND == 0 and page.value != 0
    return whole and amount.value % page.value == 0


def is_extended_resource_name(name: str, rules: Rules) -> bool:
    """Whether it is a resource that another component adds, such as a device."""
    if is_native_resource(name) or name.startswith(_REQUESTS):
        return False
    return not qualified_name(f"{_REQUESTS}{name}", rules)


def is_standard_quota_resource_name(name: str) -> bool:
    """Whether a quota may have it by a name without a domain."""
    return name in _QUOTA or name.startswith((HUGEPAGES_PREFIX, _REQUESTS + HUGEPAGES_PREFIX))


def stored_amounts(struct: View, name: str) -> ResourceList:
    """A map of amounts as the API server stores them: in whole thousandths."""
    return rounded_list(struct.amounts(name))


def validate_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules that hold everywhere."""
    problems = qualified_name(name, rules)
    yield from malformed(path, TypedText(name), problems)
    if not problems and "/" not in name and name != "storage" and not is_standard_quota_resource_name(name):
        yield invalid(path, TypedText(name), "must be a standard resource type or fully qualified")


def validate_container_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for containers."""
    yield from validate_resource_name(name, path, rules)
    if "/" not in name:
        if name not in _CONTAINER and not is_hugepage_resource_name(name):
            yield invalid(path, TypedText(name), "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource_name(name, rules):
        yield invalid(path, TypedText(name), "doesn't follow extended resource name standard")


def validate_pod_resource_name(name: str, path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold a resource's name against the rules for the resources of a pod as a whole."""
    problems = tuple(validate_resource_name(name, path, rules))
    yield from problems
    if not problems and not is_supported_pod_level_resource(name):
        yield unsupported(path, name, (CPU, HUGEPAGES_PREFIX, MEMORY))


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
    if (name in _COUNTED or is_extended_resource_name(name, rules)) and amount.milli_value % _THOUSAND:
        yield invalid(path, amount, "must be an integer")
