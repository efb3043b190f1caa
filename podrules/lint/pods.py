"""What a pod asks for: requests, limits and the QoS class that results, how it ends, and its priority.

Source: pkg/apis/core/v1/helper/qos/qos.go, pkg/apis/core/v1/defaults.go,
pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer), pkg/controller/tainteviction/taint_eviction.go
(getMinTolerationTime) and plugin/pkg/admission/priority/admission.go at v1.36.3, the last as restated in
`podrules.pod.priority`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.api.model.node import Taint
from podrules.api.model.pod import PodQOSClass
from podrules.api.model.quantity import Quantity
from podrules.lint.finding import PRIORITY, QOS, Finding, Level, LintRule
from podrules.lint.objects import Objects, PodCase
from podrules.pod.defaults import default_grace_period, stored_pod
from podrules.pod.platform import Platform, pod_platform
from podrules.pod.priority import (
    SYSTEM_PRIORITY_CLASSES,
    PriorityMismatch,
    UnknownPriorityClass,
    is_reserved_class_name,
    priority_mismatch,
    resolve_priority,
)
from podrules.pod.qos import explain_qos
from podrules.pod.resources import MEMORY
from podrules.pod.tolerations import tolerates_taint

_SILENT: Final = (
    Taint(key="node.kubernetes.io/unreachable", effect="NoExecute"),
    Taint(key="node.kubernetes.io/not-ready", effect="NoExecute"),
)


def check_resources(case: PodCase) -> Iterator[Finding]:
    """Every finding in a pod's requests and limits."""
    stored = stored_pod(case.pod, features=case.features)
    if stored.spec.containers:
        explained = explain_qos(stored, features=case.features)
        if explained.qos_class is PodQOSClass.BEST_EFFORT and pod_platform(stored, None) is Platform.LINUX:
            yield BestEffort(*case.at("spec.containers[0].resources"))
        blockers = [blocker for blocker in explained.blockers if blocker.container in explained.spoiled_by]
        if blockers:
            missing = dict.fromkeys(blocker.field.rpartition(".resources.")[2] for blocker in blockers)
            yield AlmostGuaranteed(*case.at(blockers[0].field), tuple(explained.spoiled_by), tuple(missing))
    if not case.features.pod_level_resources or stored.spec.resources is None:
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


def check_ending(case: PodCase) -> Iterator[Finding]:
    """Every finding in how a pod ends."""
    seconds = default_grace_period(case.pod).spec.termination_grace_period_seconds or 0
    if not seconds:
        yield GraceZero(*case.at("spec.terminationGracePeriodSeconds"))
    for ref in case.pod.containers():
        hook = ref.container.lifecycle.pre_stop if ref.container.lifecycle else None
        if hook is None or hook.sleep is None:
            continue
        sleep, field = hook.sleep.seconds, f"{ref.field}.lifecycle.preStop.sleep.seconds"
        if sleep == seconds > 0:
            yield PreStopTakesGrace(*case.at(field), sleep)
    # The DaemonSet controller writes such tolerations itself.
    if case.owner.kind != "DaemonSet":
        # Tolerations that keep the pod on a silent node; the first match of a taint counts (GetMatchingTolerations).
        kept: dict[int, list[str]] = {}
        for taint in _SILENT:
            tolerations = enumerate(case.pod.spec.tolerations)
            first = next(((index, one) for index, one in tolerations if tolerates_taint(one, taint)), None)
            if first is not None and first[1].toleration_seconds is None:
                kept.setdefault(first[0], []).append(taint.key)
        for index, taints in kept.items():
            yield StaysOnSilentNode(*case.at(f"spec.tolerations[{index}]"), tuple(taints))


class GraceZero(Finding, frozen=True):
    """A deletion is a force deletion: the object is removed before the processes end."""

    rule = LintRule(
        name="grace-zero",
        level=Level.WARNING,
        about="The grace period is 0.",
        remedy="Remove the field (30 s), or set 1 to stop at once and still wait for the kubelet.",
        source="pkg/registry/core/pod/strategy.go (CheckGracefulDelete)",
        term="force deletion",
        check_pod=check_ending,
    )

    def __str__(self) -> str:
        return (
            "With terminationGracePeriodSeconds 0 each deletion is a force deletion: "
            "a replacement may start while this pod runs."
        )


class PreStopTakesGrace(Finding, frozen=True):
    """A sleep as long as the grace period: the kubelet leaves 2 s between SIGTERM and SIGKILL."""

    rule = LintRule(
        name="prestop-takes-grace",
        level=Level.WARNING,
        about="A preStop sleep takes the whole grace period.",
        remedy="Raise terminationGracePeriodSeconds by the time that the process needs to stop.",
        source="pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)",
        term="preStop",
        check_pod=check_ending,
    )
    seconds: int
    """The seconds of the sleep, and of the grace period."""

    def __str__(self) -> str:
        both = self.seconds
        return f"preStop sleeps {both} s of {both} s grace period: the process gets 2 s between SIGTERM and SIGKILL."


class StaysOnSilentNode(Finding, frozen=True):
    """Taint-based eviction never moves the pod away from a node that is not ready or unreachable."""

    rule = LintRule(
        name="stays-on-silent-node",
        level=Level.WARNING,
        about="A toleration without tolerationSeconds keeps pods on nodes that do not respond.",
        remedy="Set tolerationSeconds, or remove the toleration: the default is 300 s.",
        source="pkg/controller/tainteviction/taint_eviction.go",
        term="tolerationSeconds",
        check_pod=check_ending,
    )
    taints: tuple[str, ...]

    def __str__(self) -> str:
        taints = " and ".join(self.taints)
        return f"It tolerates {taints} forever: the pod is not replaced if its node stops responding."


def check_priority(objects: Objects) -> Iterator[Finding]:
    """Every finding in the priorities of pods."""
    known = SYSTEM_PRIORITY_CLASSES | {entry.metadata.name: entry for _, entry in objects.classes}
    for case in objects.cases:
        name = case.pod.spec.priority_class_name
        resolved = resolve_priority(name, known)
        if isinstance(resolved, UnknownPriorityClass):
            kind = NoSuchSystemClass if is_reserved_class_name(name) else UnknownClass
            yield kind(*case.at("spec.priorityClassName"), name)
            continue
        mismatch = priority_mismatch(case.pod, resolved)
        if mismatch is not None:
            differs = PriorityDiffers if name else PriorityWithoutClass
            yield differs(*case.at(f"spec.{mismatch.field}"), mismatch)


def check_classes(objects: Objects) -> Iterator[Finding]:
    """Every finding in PriorityClasses."""
    defaults = [manifest for manifest, entry in objects.classes if entry.global_default]
    for manifest in defaults[1:]:
        yield SeveralDefaultClasses(*manifest.at("globalDefault"), defaults[0].name, len(defaults))


class PriorityDiffers(Finding, frozen=True):
    """spec.priority or spec.preemptionPolicy differs from the named class."""

    rule = LintRule(
        name="priority-differs",
        level=Level.ERROR,
        about="Priority or preemptionPolicy differs from the named class.",
        remedy="Remove the field: the class decides.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    mismatch: PriorityMismatch

    def __str__(self) -> str:
        return f"{self.mismatch}."


class PriorityWithoutClass(Finding, frozen=True):
    """The API server rejects the pod unless the cluster's default class has the same value."""

    rule = LintRule(
        name="priority-without-class",
        level=Level.WARNING,
        about="A pod sets a priority or preemptionPolicy without a class.",
        remedy="Name a PriorityClass instead.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    mismatch: PriorityMismatch

    def __str__(self) -> str:
        return f"Rejected unless the cluster's default class has the same value: {self.mismatch}."


class NoSuchSystemClass(Finding, frozen=True):
    """Names that begin with system- are reserved, and only two exist."""

    rule = LintRule(
        name="no-such-system-class",
        level=Level.ERROR,
        about="A class name begins with system- and is not one of Kubernetes' own.",
        remedy="Use one of these, or your own class.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    name: str

    def __str__(self) -> str:
        return f"Class {self.name} does not exist: system- names are system-node-critical and system-cluster-critical."


class UnknownClass(Finding, frozen=True):
    """The API server rejects the pod unless the cluster has the class."""

    rule = LintRule(
        name="unknown-priority-class",
        level=Level.NOTICE,
        about="The files do not contain the named PriorityClass.",
        remedy="Check the name, or apply the class first.",
        source=f"{PRIORITY} (admitPod)",
        term="PriorityClass",
        check_objects=check_priority,
    )
    name: str

    def __str__(self) -> str:
        return f"PriorityClass {self.name} is in none of these files: without it in the cluster the pod is rejected."


class SeveralDefaultClasses(Finding, frozen=True):
    """The API server rejects every default class after the first."""

    rule = LintRule(
        name="several-default-classes",
        level=Level.WARNING,
        about="More than one PriorityClass is the default.",
        remedy="Keep globalDefault: true on one class only.",
        source=f"{PRIORITY} (validatePriorityClass)",
        term="PriorityClass",
        check_objects=check_classes,
    )
    first: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} classes are the default; {self.first} already is, and the API server rejects another."
