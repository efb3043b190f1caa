"""The limits of a namespace that can reject a new pod: LimitRanges for each pod, ResourceQuotas for all pods together.

Both come after everything that changes a pod (`podrules.admission.admitted_pod`), and after its validation: pass the
pod as the API server would store it. LimitRanges come before quotas. The plugin LimitRanger:

    type Container   applies to every container and init container; the message names none of them
    type Pod         applies to the sums of containers, or to spec.resources if it sets cpu or memory; no overhead

    min     a request is required, and neither it nor the limit is smaller
    max     a limit is required, and neither it nor the request is larger
    ratio   both are required, and the limit is at most the ratio times the request

The first rejecting LimitRange is named; upstream evaluates them in any order, and also lists the problems of one in any
order. A quota applies to a pod if all its scopes match the pod, and its status has a hard amount of something that pods
use. First every such quota checks what a pod must specify, then whether it has room:

    cpu, memory, requests.*, limits.*    each container and init container must set the counted resources, unless
                                         spec.resources sets anything
    no ``used`` for a hard amount        rejected: the quota controller has not counted yet
    used + the pod's > hard              rejected, for each resource that the pod uses

Requests and limits are the pod's effective ones, with overhead. For extended resources only ``requests.<name>`` is
counted. The first rejecting quota in the given order is reported; upstream evaluates them in any order.

Not implemented: limited resources, which the API server's admission configuration would name; rejections by the earlier
validation (negative requests, operators and values of scope selectors).

Source: plugin/pkg/admission/limitranger/admission.go (PodValidateLimitFunc) and pkg/quota/v1/evaluator/core/pods.go at
v1.37.1; k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go (CheckRequest) and
k8s.io/apiserver/pkg/quota/v1/{resources.go,generic/evaluator.go} at v0.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.admission.admitted_pod import LimitRangeBound, QuotaRoom, QuotaShare, forbidden
from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Pod, PodQOSClass, ResourceRequirements
from podrules.api.model.policy import LimitRange, LimitRangeItem, ResourceQuota, ScopedResourceSelectorRequirement
from podrules.api.model.quantity import ZERO, Quantity, QuantityError
from podrules.api.refusals import RefusedFor, Refuser
from podrules.pod.qos import created_pod_qos
from podrules.pod.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PodResourcesOptions,
    aggregate_container_limits,
    aggregate_container_requests,
    is_extended_resource_name,
    is_native_resource,
    is_pod_level_resources_set,
    pod_limits,
    pod_requests,
)

_MAX_MILLI_VALUE: Final = (2**63 - 1) // 1000
"""Larger amounts exceed an int64 in thousandths, and are compared in whole units."""
_POD_LEVEL: Final = frozenset({CPU, MEMORY})
"""The resources that ``spec.resources`` sets here; huge pages, which count elsewhere, are not included."""
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_COUNT: Final = "count/pods"
_PODS: Final = "pods"
_ONE: Final = Quantity(1)
_NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_TRACKED: Final = frozenset(
    (_COUNT, _PODS, *(prefix + name for prefix in ("", _REQUESTS, _LIMITS) for name in _NATIVE))
)
_REQUIRED: Final = frozenset(prefix + name for prefix in ("", _REQUESTS, _LIMITS) for name in (CPU, MEMORY))
"""The resources that every container must set if a quota counts them."""
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_DEVICE_CLASSES_SINCE: Final = 35


def limit_range_refusal(pod: Pod, limit_ranges: Iterable[LimitRange], *, features: Features = REFERENCE) -> str | None:
    """Upstream's message if a stored LimitRange of its namespace rejects the pod; None: all accept it."""
    for limit_range in limit_ranges:
        problems = list(dict.fromkeys(_problems(pod, limit_range, features)))
        if problems:
            return forbidden(pod, problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return None


def limit_below_request(pod: Pod, limit_ranges: Sequence[LimitRange]) -> LimitRangeBound | None:
    """The default limit that is below the request of a container; None: no LimitRange sets one.

    A template that sets such a limit itself is rejected earlier.
    """
    owns = [ref.container.resources for ref in pod.containers()]
    short = [
        (name, own.requests[name], most) for own in owns for name, most in own.limits.items() if name in own.requests
    ]
    for name, request, limit in short:
        for one in limit_ranges if request > limit else ():
            items = [item for item in one.spec.limits if item.type == "Container"]
            if any(item.default.get(name) == limit for item in items):
                capped = any(name in item.max and item.max[name] < request for item in items)
                return LimitRangeBound(one.metadata.name, name, str(request), str(limit), capped)
    return None


def _problems(pod: Pod, limit_range: LimitRange, features: Features) -> Iterator[str]:
    requests, limits = aggregate_container_requests(pod), aggregate_container_limits(pod)
    own = pod.spec.resources
    if features.pod_level_resources and own is not None:
        requests |= {name: amount for name, amount in own.requests.items() if name in _POD_LEVEL}
        limits |= {name: amount for name, amount in own.limits.items() if name in _POD_LEVEL}
    parts = {
        "Container": [ref.container.resources for ref in pod.containers()],
        "Pod": [ResourceRequirements(requests=requests, limits=limits)],
    }
    for item in limit_range.spec.limits:
        for one in parts.get(item.type, ()):
            yield from _broken(item, one)


def _broken(item: LimitRangeItem, own: ResourceRequirements) -> Iterator[str]:
    for bound, what, first, second in (
        (item.min, "minimum", "request", "limit"),
        (item.max, "maximum", "limit", "request"),
    ):
        for name, most in bound.items():
            amounts = {"request": own.requests.get(name), "limit": own.limits.get(name)}
            words = f"{what} {name} usage per {item.type} is {most}"
            request, limit, compared = _comparable(amounts["request"], amounts["limit"], most)
            numbers = {"request": request, "limit": limit}
            if amounts[first] is None:
                yield f"{words}.  No {first} is specified"
                continue
            for side in (first, second):
                beyond = numbers[side] < compared if what == "minimum" else numbers[side] > compared
                if amounts[side] is not None and beyond:
                    yield f"{words}, but {side} is {amounts[side]}"
                    break
    for name, ratio in item.max_limit_request_ratio.items():
        request, limit, _ = _comparable(own.requests.get(name), own.limits.get(name), ratio)
        problem = ""
        if request == 0:
            problem = "no request is specified or request is 0"
        elif limit == 0:
            problem = "no limit is specified or limit is 0"
        else:
            actual = float(limit) / float(request)
            precise = ratio.value <= _MAX_MILLI_VALUE
            if (actual * 1000 if precise else actual) > float(ratio.milli_value if precise else ratio.value):
                problem = f"provided ratio is {actual:f}"
        if problem:
            yield f"{name} max limit to request ratio per {item.type} is {ratio}, but {problem}"


def _comparable(request: Quantity | None, limit: Quantity | None, bound: Quantity) -> tuple[int, int, int]:
    """The three in thousandths, or in whole units if one is too large (requestLimitEnforcedValues)."""
    three = (request or ZERO, limit or ZERO, bound)
    if max(amount.value for amount in three) <= _MAX_MILLI_VALUE:
        return three[0].milli_value, three[1].milli_value, three[2].milli_value
    return three[0].value, three[1].value, three[2].value


class _Charge(Struct, frozen=True):
    """A pod's usage of a quota that applies to it."""

    quota: ResourceQuota
    usage: ResourceList
    """The usage without zero amounts, and without resources that have no hard amount in the quota."""

    def room(self, name: str) -> int:
        """How many times the pod's amount of a resource still fits."""
        status = self.quota.status
        left, each = status.hard[name] - status.used[name], self.usage[name]
        exponent = min(left.exponent, each.exponent)
        whole, part = (one.unscaled * 10 ** (one.exponent - exponent) for one in (left, each))
        return max(int(whole // part), 0)


def quota_refusal(pod: Pod, quotas: Iterable[ResourceQuota], *, features: Features = REFERENCE) -> str | None:
    """Upstream's message if a quota rejects the pod; None: all accept it."""
    room = quota_room(pod, quotas, features=features)
    return None if room is None or room.pods else room.refusal


def quota_room(pod: Pod, quotas: Iterable[ResourceQuota], *, features: Features = REFERENCE) -> QuotaRoom | None:
    """How many pods like this one the quotas of its namespace accept, one after the other; None: they set no limit."""
    usage = _usage(pod, features)
    charges = []
    for quota in quotas:
        hard = quota.status.hard
        tracked = {name for name in hard if _is_tracked(name, features)}
        if not _counts(quota, pod, features):
            continue
        problem = _unspecified(pod, quota, tracked, features)
        if not problem and not tracked <= quota.status.used.keys():
            problem = f"status unknown for quota: {quota.metadata.name}, resources: {','.join(sorted(tracked))}"
        if problem:
            return QuotaRoom(pods=0, quota=quota.metadata.name, resources=(), refusal=forbidden(pod, problem))
        charges.append(_Charge(quota, {name: amount for name, amount in usage.items() if name in hard}))
    rooms = [min(map(charge.room, charge.usage)) for charge in charges if charge.usage]
    return _exceeded(pod, charges, min(rooms)) if rooms else None


def _exceeded(pod: Pod, charges: Iterable[_Charge], pods: int) -> QuotaRoom:
    """The rejection by the first quota that has room for exactly that many pods."""
    charge, names = next(
        (charge, names)
        for charge in charges
        if (names := sorted(name for name in charge.usage if charge.room(name) == pods))
    )
    name, status = charge.quota.metadata.name, charge.quota.status
    used = {name: _after(status.used[name], charge.usage[name], pods) for name in names}
    problem = (
        f"exceeded quota: {name}, requested: {_listed(charge.usage, names)}, used: {_listed(used, names)}, "
        f"limited: {_listed(status.hard, names)}"
    )
    return QuotaRoom(
        pods=pods,
        quota=name,
        resources=tuple(names),
        refusal=forbidden(pod, problem),
        shares=tuple(QuotaShare(one, str(used[one]), str(status.hard[one])) for one in names),
    )


def still_refused(said: Refuser, pod: Pod, quotas: Iterable[ResourceQuota]) -> tuple[str, ...]:
    """The resources for which a quota that rejected a workload's pod must reject the next one; empty: it need not.

    The pod is made from the template, to which webhooks and policies may add: more amounts, or containers that set
    none.
    """
    status = next((one.status for one in quotas if one.metadata.name == said.name), None)
    if status is None:
        return ()
    hard, used = status.hard, status.used
    if said.why is RefusedFor.QUOTA_EXCEEDED:
        asked = _amounts(said.detail.removeprefix("requested: ").partition(" ")[0].rstrip(","))
        return tuple(name for name, more in asked if name in hard and used.get(name, ZERO) + more > hard[name])
    if said.why is not RefusedFor.QUOTA_UNSPECIFIED:
        return ()
    own = {ref.container.name for ref in pod.containers()}
    parts = (part.partition(" for: ") for part in said.detail.split("; "))
    return tuple(name for name, _, them in parts if name in hard and not own.issuperset(them.split(",")))


def _amounts(listed: str) -> Iterator[tuple[str, Quantity]]:
    """The amounts of ``cpu=1,pods=1`` that can be parsed."""
    for name, _, text in (one.partition("=") for one in listed.split(",")):
        with suppress(QuantityError):
            yield name, Quantity.parse(text)


def with_pods(
    pod: Pod, pods: int, quotas: Iterable[ResourceQuota], *, features: Features = REFERENCE
) -> tuple[ResourceQuota, ...]:
    """The quotas after that many pods like this one were created; they have room for them."""
    usage = _usage(pod, features)
    found = []
    for quota in quotas:
        used = quota.status.used
        more = {name: _after(used[name], amount, pods) for name, amount in usage.items() if name in used}
        charged = replace(quota, status=replace(quota.status, used={**used, **more}))
        found.append(charged if _counts(quota, pod, features) else quota)
    return tuple(found)


def required_amounts(quota: ResourceQuota) -> tuple[str, ...]:
    """The resources that each container of a pod must set if the quota applies to the pod."""
    return tuple(sorted(_REQUIRED.intersection(quota.spec.hard)))


def _counts(quota: ResourceQuota, pod: Pod, features: Features) -> bool:
    """Whether all scopes of a quota match the pod."""
    scopes = [ScopedResourceSelectorRequirement(scope_name=one, operator="Exists") for one in quota.spec.scopes]
    if quota.spec.scope_selector is not None:
        scopes += quota.spec.scope_selector.match_expressions
    return all(_matches(pod, scope, features) for scope in scopes)


def _listed(amounts: Mapping[str, Quantity], names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)


def _after(used: Quantity, each: Quantity, times: int) -> Quantity:
    """The used amount after ``times`` pods were created."""
    return used + Quantity(each.unscaled * times, each.exponent, each.format) if times else used


def _usage(pod: Pod, features: Features) -> ResourceList:
    """The pod's usage of all counted resources, without zero amounts (PodUsageFunc)."""
    options = PodResourcesOptions(skip_pod_level_resources=not features.pod_level_resources)
    charged = _charged(pod_requests(pod, options), pod_limits(pod, options), features)
    usage = {_COUNT: _ONE, _PODS: _ONE, **dict(charged)}
    return {name: amount for name, amount in usage.items() if not amount.is_zero}


def _charged(requests: ResourceList, limits: ResourceList, features: Features) -> Iterator[tuple[str, Quantity]]:
    """Requests and limits under their names in quotas (podComputeUsageHelper)."""
    for name, amount in requests.items():
        if name in _NATIVE or name.startswith(HUGEPAGES_PREFIX):
            yield name, amount
            yield _REQUESTS + name, amount
        elif is_extended_resource_name(name) or _is_device_class(name, features):
            yield _REQUESTS + name, amount
    for name in _NATIVE:
        if name in limits:
            yield _LIMITS + name, limits[name]


def _is_device_class(name: str, features: Features) -> bool:
    return features.minor >= _DEVICE_CLASSES_SINCE and name.startswith(_DEVICE_CLASS)


def _is_tracked(name: str, features: Features) -> bool:
    """Whether pods count towards a quota's amount of it (podEvaluator.MatchingResources)."""
    if name in _TRACKED or name.startswith((HUGEPAGES_PREFIX, _REQUESTS + HUGEPAGES_PREFIX)):
        return True
    if not name.startswith(_REQUESTS):
        return False
    return not is_native_resource(name) or _is_device_class(name.removeprefix(_REQUESTS), features)


def _unspecified(pod: Pod, quota: ResourceQuota, tracked: Iterable[str], features: Features) -> str:
    """Why the pod does not specify enough for the quota; empty: it does (podEvaluator.Constraints)."""
    if features.pod_level_resources and is_pod_level_resources_set(pod):
        return ""
    missing: dict[str, list[str]] = {name: [] for name in sorted(_REQUIRED.intersection(tracked))}
    for ref in pod.containers() if missing else ():
        own = ref.container.resources
        there = {name for name, _ in _charged(own.requests, own.limits, features)}
        for name, containers in missing.items():
            if name not in there:
                containers.append(ref.container.name)
    problems = [f"{name} for: {','.join(sorted(containers))}" for name, containers in missing.items() if containers]
    return f"failed quota: {quota.metadata.name}: must specify {'; '.join(problems)}" if problems else ""


def _matches(pod: Pod, scope: ScopedResourceSelectorRequirement, features: Features) -> bool:
    """Whether a scope matches the pod; one that is not for pods never does (podMatchesScopeFunc)."""
    if scope.scope_name == "PriorityClass":
        name = pod.spec.priority_class_name
        match scope.operator:
            case "In":
                return bool(name) and name in scope.values
            case "NotIn":
                return name not in scope.values
            case "DoesNotExist":
                return not name
            case _:
                return bool(name)
    matches = _SCOPES.get(scope.scope_name)
    return matches is not None and matches(pod, features)


def _is_best_effort(pod: Pod, features: Features) -> bool:
    return created_pod_qos(pod, features=features) is PodQOSClass.BEST_EFFORT


def _is_terminating(pod: Pod) -> bool:
    seconds = pod.spec.active_deadline_seconds
    return seconds is not None and seconds >= 0


def _uses_other_namespaces(pod: Pod) -> bool:
    """Whether a term of its pod (anti-)affinity names namespaces, or selects them (usesCrossNamespacePodAffinity)."""
    affinity = pod.spec.affinity
    parts = () if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity)
    return any(
        term.namespaces or term.namespace_selector is not None
        for part in parts
        if part is not None
        for term in (
            *part.required_during_scheduling_ignored_during_execution,
            *(one.pod_affinity_term for one in part.preferred_during_scheduling_ignored_during_execution),
        )
    )


_SCOPES: Final[Mapping[str, Callable[[Pod, Features], bool]]] = {
    "BestEffort": _is_best_effort,
    "NotBestEffort": lambda pod, features: not _is_best_effort(pod, features),
    "Terminating": lambda pod, _: _is_terminating(pod),
    "NotTerminating": lambda pod, _: not _is_terminating(pod),
    "CrossNamespacePodAffinity": lambda pod, _: _uses_other_namespaces(pod),
}
