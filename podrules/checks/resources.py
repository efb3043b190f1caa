"""Requests and limits: what the API server refuses, and which QoS class a pod gets.

Source: pkg/apis/core/validation/validation.go (validateResourceRequirements, validatePodResourceConsistency) and
pkg/apis/core/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from podrules.checks.finding import PODS, QOS, Finding, Level, LintRule
from podrules.checks.objects import PodCase
from podrules.checks.refused import negative_amounts
from podrules.defaults import stored_pod
from podrules.model.pod import Pod, PodQOSClass, ResourceRequirements
from podrules.model.quantity import Quantity
from podrules.platform import Platform, pod_platform
from podrules.qos import explain_qos
from podrules.resources import (
    HUGEPAGES_PREFIX,
    MEMORY,
    aggregate_container_limits,
    aggregate_container_requests,
    is_overcommit_allowed,
)

__all__ = [
    "AlmostGuaranteed",
    "BestEffort",
    "InvalidPodResources",
    "LimitWithoutRequest",
    "NegativeNumber",
    "RequestOverLimit",
    "RequestWithoutLimit",
    "check_resources",
]


def check_resources(case: PodCase) -> Iterator[Finding]:
    """Every finding in a pod's requests and limits."""
    for number in negative_amounts(case.pod):
        yield NegativeNumber(*case.at(number.field), number.value)
    stored = stored_pod(case.pod, features=case.features)
    for ref in stored.containers():
        yield from _over_limit(case, f"{ref.field}.resources", ref.container.resources)
    own = stored.spec.resources if case.features.pod_level_resources else None
    if own is not None:
        yield from _over_limit(case, "spec.resources", own)
        yield from _inconsistent(case, stored, own)
    yield from _class(case, stored)
    if own is None:
        yield from _half_set(case)


def _over_limit(case: PodCase, path: str, own: ResourceRequirements) -> Iterator[Finding]:
    for name, request in own.requests.items():
        limit = own.limits.get(name)
        may_differ = is_overcommit_allowed(name)
        if (limit is None and not may_differ) or (
            limit is not None and (request > limit or (request != limit and not may_differ))
        ):
            yield RequestOverLimit(*case.at(f"{path}.requests.{name}"), name, request, limit)


def _inconsistent(case: PodCase, stored: Pod, own: ResourceRequirements) -> Iterator[Finding]:
    for name, total in aggregate_container_requests(stored).items():
        request = own.requests.get(name)
        if request is not None and total > request:
            yield InvalidPodResources(*case.at(f"spec.resources.requests.{name}"), "request", request, total)
    for name, total in aggregate_container_limits(stored).items():
        limit = own.limits.get(name)
        if name.startswith(HUGEPAGES_PREFIX) and limit is not None and total > limit:
            yield InvalidPodResources(*case.at(f"spec.resources.limits.{name}"), "limit", limit, total)
    for index, container in enumerate(stored.spec.containers):
        for name, amount in container.resources.limits.items():
            limit = own.limits.get(name)
            if limit is not None and amount > limit:
                field = f"spec.containers[{index}].resources.limits.{name}"
                yield InvalidPodResources(*case.at(field), "limit", limit, amount, container.name)


def _class(case: PodCase, stored: Pod) -> Iterator[Finding]:
    if not stored.spec.containers:
        return
    explained = explain_qos(stored, features=case.features)
    if explained.qos_class is PodQOSClass.BEST_EFFORT and pod_platform(stored, None) is Platform.LINUX:
        yield BestEffort(*case.at("spec.containers[0].resources"))
    blockers = [blocker for blocker in explained.blockers if blocker.container in explained.spoiled_by]
    if blockers:
        missing = dict.fromkeys(blocker.field.rpartition(".resources.")[2] for blocker in blockers)
        yield AlmostGuaranteed(*case.at(blockers[0].field), tuple(explained.spoiled_by), tuple(missing))


def _half_set(case: PodCase) -> Iterator[Finding]:
    for ref in case.pod.containers():
        own, path, name = ref.container.resources, f"{ref.field}.resources", ref.container.name
        request, limit = own.requests.get(MEMORY), own.limits.get(MEMORY)
        if limit is not None and request is None:
            yield LimitWithoutRequest(*case.at(f"{path}.limits.memory"), name, limit)
        elif request is not None and request.sign > 0 and limit is None:
            yield RequestWithoutLimit(*case.at(f"{path}.requests.memory"), name, request)


class NegativeNumber(Finding, frozen=True):
    """An amount, or a number of pods, below 0."""

    rule = LintRule(
        name="negative-number",
        level=Level.ERROR,
        about="A request, a limit or a number of pods is below 0.",
        remedy="Write a number that is not below 0.",
        source=f"{PODS} (ValidateNonnegativeField, ValidateNonnegativeQuantity)",
        check_pod=check_resources,
    )
    value: str

    def __str__(self) -> str:
        return f"{self.value}: must be greater than or equal to 0."


class RequestOverLimit(Finding, frozen=True):
    """A request above its limit, or different from it where overcommitting is not allowed."""

    rule = LintRule(
        name="request-over-limit",
        level=Level.ERROR,
        about="A request is above its limit, or differs where both must be the same.",
        remedy="Lower the request or raise the limit.",
        source=f"{PODS} (validateResourceRequirements)",
        term="requests",
        check_pod=check_resources,
    )
    resource: str
    request: Quantity
    limit: Quantity | None

    def __str__(self) -> str:
        if self.limit is None:
            limit, problem = "not set", "cannot be overcommitted: the limit has to be the same"
        elif self.request > self.limit:
            limit, problem = str(self.limit), "it may not be more"
        else:
            limit, problem = str(self.limit), "cannot be overcommitted: both have to be the same"
        return f"{self.resource} request {self.request}, limit {limit}: {problem}."


class InvalidPodResources(Finding, frozen=True):
    """Containers need more than the pod-level resources give."""

    rule = LintRule(
        name="invalid-pod-resources",
        level=Level.ERROR,
        about="Pod-level resources and those of the containers contradict each other.",
        remedy="Raise the pod's amount or lower the containers'.",
        source=f"{PODS} (validatePodResourceConsistency)",
        check_pod=check_resources,
    )
    kind: Literal["request", "limit"]
    amount: Quantity
    """The pod's."""
    needed: Quantity
    """By all containers together, or by the named one."""
    container: str = ""

    def __str__(self) -> str:
        if self.container:
            needed = f"container {self.container} alone {self.kind}s {self.needed}"
        else:
            needed = f"its containers {self.kind} {self.needed} together"
        return f"The pod's {self.kind} is {self.amount}, and {needed}."


class BestEffort(Finding, frozen=True):
    """A pod without requests and limits, on Linux."""

    rule = LintRule(
        name="best-effort",
        level=Level.WARNING,
        about="No container requests or limits cpu or memory.",
        remedy="Request memory and cpu for every container.",
        source=f"{QOS} (ComputePodQOS)",
        term="BestEffort",
        check_pod=check_resources,
    )

    def __str__(self) -> str:
        return "The pod is BestEffort: killed first when the node's memory is gone, and nothing is kept free for it."


class AlmostGuaranteed(Finding, frozen=True):
    """The first container, and perhaps others, would make the pod Guaranteed; the named ones do not."""

    rule = LintRule(
        name="almost-guaranteed",
        level=Level.NOTICE,
        about="Other containers than the first keep the pod from being Guaranteed.",
        remedy="Set limits of cpu and memory there, and requests equal to them.",
        source=f"{QOS} (ComputePodQOS)",
        term="Guaranteed",
        check_pod=check_resources,
    )
    containers: tuple[str, ...]
    missing: tuple[str, ...]
    """``limits.cpu``."""

    def __str__(self) -> str:
        without = f"Without {' and '.join(self.containers)} the pod would be Guaranteed"
        return f"{without}. Missing or different: {', '.join(self.missing)}."


class LimitWithoutRequest(Finding, frozen=True):
    """The API server copies the limit into the request: the scheduler keeps all of it free."""

    rule = LintRule(
        name="limit-without-request",
        level=Level.NOTICE,
        about="A memory limit has no request.",
        remedy="Write the request that is meant.",
        source="pkg/apis/core/v1/defaults.go (SetDefaults_Pod)",
        term="requests",
        check_pod=check_resources,
    )
    container: str
    limit: Quantity

    def __str__(self) -> str:
        return f"Container {self.container} limits memory to {self.limit} and requests none: it requests all of that."


class RequestWithoutLimit(Finding, frozen=True):
    """The container may grow until the node runs short of memory."""

    rule = LintRule(
        name="request-without-limit",
        level=Level.NOTICE,
        about="A memory request has no limit.",
        remedy="Set a memory limit.",
        source="pkg/kubelet/qos/policy.go",
        term="OOMKilled",
        check_pod=check_resources,
    )
    container: str
    request: Quantity

    def __str__(self) -> str:
        return f"Container {self.container} requests {self.request} of memory and may use all that the node has."
