"""Requests and limits, and the QoS class of a pod that results from them.

Source: pkg/apis/core/v1/helper/qos/qos.go and pkg/apis/core/v1/defaults.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from podrules.api.model.pod import Pod, PodQOSClass
from podrules.api.model.quantity import Quantity
from podrules.lint.finding import QOS, Finding, Level, LintRule
from podrules.lint.objects import PodCase
from podrules.pod.defaults import stored_pod
from podrules.pod.platform import Platform, pod_platform
from podrules.pod.qos import explain_qos
from podrules.pod.resources import MEMORY


def check_resources(case: PodCase) -> Iterator[Finding]:
    """Every finding in a pod's requests and limits."""
    stored = stored_pod(case.pod, features=case.features)
    yield from _class(case, stored)
    if not case.features.pod_level_resources or stored.spec.resources is None:
        yield from _half_set(case)


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
        return "The pod is BestEffort: killed first if the node runs out of memory, and no room is reserved for it."


class AlmostGuaranteed(Finding, frozen=True):
    """The first container, and perhaps others, would make the pod Guaranteed; the named ones prevent it."""

    rule = LintRule(
        name="almost-guaranteed",
        level=Level.NOTICE,
        about="Containers other than the first prevent class Guaranteed.",
        remedy="Set limits for cpu and memory there, and requests equal to them.",
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
    """The API server copies the limit into the request: the scheduler reserves all of it."""

    rule = LintRule(
        name="limit-without-request",
        level=Level.NOTICE,
        about="A memory limit has no request.",
        remedy="Set the intended request.",
        source="pkg/apis/core/v1/defaults.go (SetDefaults_Pod)",
        term="requests",
        check_pod=check_resources,
    )
    container: str
    limit: Quantity

    def __str__(self) -> str:
        return f"Container {self.container} limits memory to {self.limit} without a request: its request is the same."


class RequestWithoutLimit(Finding, frozen=True):
    """The container may use memory until the node is short of it."""

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
        return f"Container {self.container} requests {self.request} of memory and may use all the memory of the node."
