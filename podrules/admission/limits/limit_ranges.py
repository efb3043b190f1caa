"""LimitRanger: whether a pod meets the minimums, the maximums and the ratios of its namespace's LimitRanges.

    type Container   applies to every container and init container; the message names none of them
    type Pod         applies to the sums of containers, or to spec.resources if it sets cpu or memory; no overhead

    min     a request is required, and neither it nor the limit is smaller
    max     a limit is required, and neither it nor the request is larger
    ratio   both are required, and the limit is at most the ratio times the request

The first rejecting LimitRange is named; upstream evaluates them in any order, and also lists the problems of one in any
order.

Source: plugin/pkg/admission/limitranger/admission.go (PodValidateLimitFunc) at v1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from podrules.admission.admitted_pod import LimitRangeBound, forbidden
from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import ResourceList
from podrules.api.model.pod import Pod, ResourceRequirements
from podrules.api.model.policy import LimitRange, LimitRangeItem
from podrules.api.model.quantity import ZERO, Quantity
from podrules.pod.resources import CPU, MEMORY, aggregate_container_limits, aggregate_container_requests

_MAX_MILLI_VALUE: Final = (2**63 - 1) // 1000
"""Larger amounts exceed an int64 in thousandths, and are compared in whole units."""
_POD_LEVEL: Final = frozenset({CPU, MEMORY})
"""The resources that ``spec.resources`` sets here; huge pages, which count elsewhere, are not included."""


def limit_range_refusal(pod: Pod, limit_ranges: Iterable[LimitRange], *, features: Features = REFERENCE) -> str | None:
    """Upstream's message if a LimitRange rejects the pod; None: all accept it.

    Args:
        pod: The pod as the API server would store it.
        limit_ranges: The stored LimitRanges of its namespace.
        features: The feature gates.
    """
    for limit_range in limit_ranges:
        problems = list(dict.fromkeys(_problems(pod, limit_range, features)))
        if problems:
            return forbidden(pod, problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return None


def limit_below_request(pod: Pod, limit_ranges: Sequence[LimitRange]) -> LimitRangeBound | None:
    """The default limit that is below the request of a container; None: no LimitRange sets one.

    A template that sets such a limit itself is rejected earlier.

    Args:
        pod: The pod as the API server would store it.
        limit_ranges: The stored LimitRanges of its namespace.
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
    for item in limit_range.spec.limits:
        if item.type == "Container":
            for ref in pod.containers():
                yield from _broken(item, ref.container.resources)
        elif item.type == "Pod":
            yield from _broken(item, _of_pod(pod, features))


def _of_pod(pod: Pod, features: Features) -> ResourceRequirements:
    requests, limits = aggregate_container_requests(pod), aggregate_container_limits(pod)
    own = pod.spec.resources
    if features.pod_level_resources and own is not None:
        requests |= _pod_level(own.requests)
        limits |= _pod_level(own.limits)
    return ResourceRequirements(requests=requests, limits=limits)


def _pod_level(amounts: ResourceList) -> ResourceList:
    return {name: amount for name, amount in amounts.items() if name in _POD_LEVEL}


def _broken(item: LimitRangeItem, own: ResourceRequirements) -> Iterator[str]:
    for name, least in item.min.items():
        problem = _too_little(least, own.requests.get(name), own.limits.get(name))
        if problem:
            yield f"minimum {name} usage per {item.type} is {least}{problem}"
    for name, most in item.max.items():
        problem = _too_much(most, own.requests.get(name), own.limits.get(name))
        if problem:
            yield f"maximum {name} usage per {item.type} is {most}{problem}"
    for name, ratio in item.max_limit_request_ratio.items():
        problem = _too_far(ratio, own.requests.get(name), own.limits.get(name))
        if problem:
            yield f"{name} max limit to request ratio per {item.type} is {ratio}, but {problem}"


def _too_little(least: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if request is None:
        return ".  No request is specified"
    asked, limited, bound = _comparable(request, limit, least)
    if asked < bound:
        return f", but request is {request}"
    if limit is not None and limited < bound:
        return f", but limit is {limit}"
    return ""


def _too_much(most: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    if limit is None:
        return ".  No limit is specified"
    asked, limited, bound = _comparable(request, limit, most)
    if limited > bound:
        return f", but limit is {limit}"
    if request is not None and asked > bound:
        return f", but request is {request}"
    return ""


def _too_far(most: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    asked, limited, _ = _comparable(request, limit, most)
    if asked == 0:
        return "no request is specified or request is 0"
    if limited == 0:
        return "no limit is specified or limit is 0"
    ratio = float(limited) / float(asked)
    precise = most.value <= _MAX_MILLI_VALUE
    if (ratio * 1000 if precise else ratio) > float(most.milli_value if precise else most.value):
        return f"provided ratio is {ratio:f}"
    return ""


def _comparable(request: Quantity | None, limit: Quantity | None, bound: Quantity) -> tuple[int, int, int]:
    """The three in thousandths, or in whole units if one is too large (requestLimitEnforcedValues)."""
    three = (request or ZERO, limit or ZERO, bound)
    if max(amount.value for amount in three) <= _MAX_MILLI_VALUE:
        return three[0].milli_value, three[1].milli_value, three[2].milli_value
    return three[0].value, three[1].value, three[2].value
