"""How the API server validates the resources of containers and of a pod as a whole, and its overhead.

The defaults of a Pod are in place when it is validated: a request that is missing is the limit, and pod-level requests
and limits come from the containers' (`podrules.pod.defaults`). A template has none of them.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (validateResourceRequirements,
validateResourceClaimNames, validatePodResources, validatePodResourceConsistency, validateOverhead);
pkg/apis/core/v1/defaults.go (SetDefaults_Pod, SetDefaults_ResourceList).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import duplicate, forbidden, invalid, not_found, required
from podrules.admission.validation.formats import dns_label
from podrules.admission.validation.resource_names import (
    is_hugepage_resource_name,
    is_hugepage_value_divisible,
    stored_amounts,
    validate_container_resource_name,
    validate_pod_resource_name,
    validate_resource_value,
)
from podrules.admission.validation.view import PodContext, Rules, View
from podrules.api.features import Features
from podrules.api.model.base import ResourceList
from podrules.api.model.decode import from_object
from podrules.api.model.field_error import FieldError
from podrules.api.model.pod import Pod, ResourceRequirements
from podrules.api.model.quantity import Quantity
from podrules.pod.defaults import rounded_list, stored_pod
from podrules.pod.resources import (
    CPU,
    MEMORY,
    aggregate_container_limits,
    aggregate_container_requests,
    is_overcommit_allowed,
)

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
    typed = _typed(pod)
    stored = typed.spec.resources or ResourceRequirements()
    limits, requests = rounded_list(stored.limits), rounded_list(stored.requests)
    yield from _requirements(own.path, limits, requests, validate_pod_resource_name, pod.rules)
    yield from _claims(own, pod.claims)
    yield from _consistency(own, typed, limits, requests)


def _typed(pod: PodContext) -> Pod:
    """The pod with what decides about resources alone, as it is stored."""
    spec: dict[str, Any] = {"resources": _written(pod.spec)}
    for name in _LISTS:
        spec[name] = [
            {**{key: one.content.get(key) for key in ("name", "restartPolicy")}, "resources": _written(one)}
            for one in pod.spec.structs(name)
        ]
    typed = from_object({"spec": spec}, Pod)
    return stored_pod(typed, features=Features.of_minor(pod.rules.minor)) if pod.is_pod else typed


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
    for problem in dns_label(request) if request else ():
        yield invalid(f"{path}.request", request, problem)
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
