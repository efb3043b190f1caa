"""Requests and limits: what the API server refuses, and what they make of a pod's class.

    negative-number         a request, a limit, or a number of pods below 0
    request-over-limit      a request above its limit; where overcommitting is not allowed: other than it
    invalid-pod-resources   pod-level requests below the sum of containers; a container's limit above the pod's
    best-effort             no request and no limit: evicted and killed first, on Linux
    almost-guaranteed       the first container and perhaps others would make it Guaranteed, the named ones do not
    limit-without-request   the API server copies the limit: the scheduler keeps all of it free
    request-without-limit   the container may grow until the node runs short

Source: pkg/apis/core/validation/validation.go (validateResourceRequirements, validatePodResourceConsistency) and
pkg/apis/core/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.checks.finding import Finding
from podrules.checks.objects import PodCase
from podrules.checks.refused import negative_amounts
from podrules.defaults import default_pod
from podrules.model.pod import Pod, PodQOSClass, ResourceRequirements
from podrules.platform import Platform, pod_platform
from podrules.qos import explain_qos
from podrules.resources import (
    HUGEPAGES_PREFIX,
    MEMORY,
    aggregate_container_limits,
    aggregate_container_requests,
    is_overcommit_allowed,
)

__all__ = ["check_resources"]


def check_resources(case: PodCase) -> Iterator[Finding]:
    """All that is told of a pod's resources."""
    for number in negative_amounts(case.pod):
        yield case.finding("negative-number", number.field, value=number.value)
    stored = default_pod(case.pod)
    for ref in stored.containers():
        yield from _over_limit(case, f"{ref.field}.resources", ref.container.resources)
    own = stored.spec.resources
    if own is not None:
        yield from _over_limit(case, "spec.resources", own)
        yield from _inconsistent(case, stored, own)
    yield from _class(case, stored)
    if own is None:
        yield from _half_set(case)


def _over_limit(case: PodCase, path: str, own: ResourceRequirements) -> Iterator[Finding]:
    for name, request in own.requests.items():
        limit = own.limits.get(name)
        if limit is None:
            if not is_overcommit_allowed(name):
                problem = "cannot be overcommitted: the limit has to be the same"
                yield _request(case, path, name, request=request, limit="not set", problem=problem)
        elif request > limit:
            yield _request(case, path, name, request=request, limit=limit, problem="it may not be more")
        elif request != limit and not is_overcommit_allowed(name):
            problem = "cannot be overcommitted: both have to be the same"
            yield _request(case, path, name, request=request, limit=limit, problem=problem)


def _request(case: PodCase, path: str, name: str, **values: object) -> Finding:
    return case.finding("request-over-limit", f"{path}.requests.{name}", resource=name, **values)


def _inconsistent(case: PodCase, stored: Pod, own: ResourceRequirements) -> Iterator[Finding]:
    rule = "invalid-pod-resources"
    for name, total in aggregate_container_requests(stored).items():
        request = own.requests.get(name)
        if request is not None and total > request:
            problem = f"its containers request {total} together"
            yield case.finding(rule, f"spec.resources.requests.{name}", amount=request, what="request", problem=problem)
    for name, total in aggregate_container_limits(stored).items():
        limit = own.limits.get(name)
        if name.startswith(HUGEPAGES_PREFIX) and limit is not None and total > limit:
            problem = f"its containers limit {total} together"
            yield case.finding(rule, f"spec.resources.limits.{name}", amount=limit, what="limit", problem=problem)
    for index, container in enumerate(stored.spec.containers):
        for name, amount in container.resources.limits.items():
            limit = own.limits.get(name)
            if limit is not None and amount > limit:
                problem = f"container {container.name} alone limits {amount}"
                field = f"spec.containers[{index}].resources.limits.{name}"
                yield case.finding(rule, field, amount=limit, what="limit", problem=problem)


def _class(case: PodCase, stored: Pod) -> Iterator[Finding]:
    if not stored.spec.containers:
        return
    explained = explain_qos(stored)
    if explained.qos_class is PodQOSClass.BEST_EFFORT and pod_platform(stored, None) is Platform.LINUX:
        yield case.finding("best-effort", "spec.containers[0].resources")
    blockers = [blocker for blocker in explained.blockers if blocker.container in explained.spoiled_by]
    if blockers:
        missing = dict.fromkeys(blocker.field.rpartition(".resources.")[2] for blocker in blockers)
        names = " and ".join(explained.spoiled_by)
        yield case.finding("almost-guaranteed", blockers[0].field, containers=names, missing=", ".join(missing))


def _half_set(case: PodCase) -> Iterator[Finding]:
    for ref in case.pod.containers():
        own, path = ref.container.resources, f"{ref.field}.resources"
        request, limit = own.requests.get(MEMORY), own.limits.get(MEMORY)
        if limit is not None and request is None:
            field = f"{path}.limits.memory"
            yield case.finding("limit-without-request", field, container=ref.container.name, limit=limit)
        elif request is not None and request.sign > 0 and limit is None:
            field = f"{path}.requests.memory"
            yield case.finding("request-without-limit", field, container=ref.container.name, request=request)
