"""oom_score_adj: the kernel adds it to a container's badness, and the kubelet sets it; with every term of the sum.

    node-critical pod          -997
    Guaranteed                 -997
    BestEffort                 1000
    Burstable                  1000 - 1000 * (request + share) / capacity, at least 3, at most 999

``request`` is the container's memory request, ``share`` its equal part of the remaining pod-level request, ``capacity``
the node's memory; the division drops the fraction. A sidecar gets at most the value of the app container with the
smallest request. Node-critical means class system-node-critical and static, mirror or priority >= 2000000000;
system-cluster-critical has no effect since 1.22. Older texts have -998 for Guaranteed and 2 for the floor.

Until 1.36, containers that request more than the pod had a negative share, and scores above 1000.

kube-proxy then writes a value for its own process: oomScoreAdj of its configuration or, without one, --oom-score-adj;
both are -999 by default. Neither is read here, since arguments of containers may hold secrets.

Source: pkg/kubelet/qos/{policy,helpers}.go at v1.36.3 and v1.37.1; KEP-2837 (pod-level resources), KEP-753 (sidecars);
cmd/kube-proxy/app/{server,options}.go, pkg/proxy/apis/config/v1alpha1/defaults.go and
cmd/kubeadm/app/phases/addons/proxy/manifests.go at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.pod import ContainerRef, Pod, PodQOSClass
from podrules.api.model.quantity import ZERO
from podrules.pod.priority import is_node_critical_pod
from podrules.pod.qos import get_pod_qos
from podrules.pod.resources import MEMORY, aggregate_container_requests, is_pod_level_requests_set

KUBELET_OOM_SCORE_ADJ: Final = -999
"""The score of the kubelet, kube-proxy and the container runtime."""
OOM_SCORE_ADJ_MIN: Final = -1000
"""The lowest value that the kernel accepts; it never kills such a process."""
GUARANTEED_OOM_SCORE_ADJ: Final = -997
BEST_EFFORT_OOM_SCORE_ADJ: Final = 1000
MIN_BURSTABLE_OOM_SCORE_ADJ: Final = 1000 + GUARANTEED_OOM_SCORE_ADJ
MAX_BURSTABLE_OOM_SCORE_ADJ: Final = BEST_EFFORT_OOM_SCORE_ADJ - 1
_KUBE_PROXY: Final = "kube-proxy"
_OF_OPENSHIFT: Final = "openshift-kube-proxy"
"""The name of its DaemonSet and of its namespace on OpenShift."""
_KUBE_PROXY_IMAGE: Final = r"(?:.*/)?kube-proxy(?:-(?:amd64|arm|arm64|ppc64le|s390x))?(?:[:@].*)?"


class OOMRule(Enum):
    """The line of the rule that decided the value."""

    NODE_CRITICAL = "NodeCritical"
    GUARANTEED = "Guaranteed"
    BEST_EFFORT = "BestEffort"
    BURSTABLE = "Burstable"
    BURSTABLE_SIDECAR = "BurstableSidecar"
    """Limited to the value of the app container with the smallest request."""
    BURSTABLE_FLOOR = "BurstableFloor"
    BURSTABLE_CEILING = "BurstableCeiling"


class OwnScore(Struct, frozen=True, rename="camel"):
    """A process that writes its own score: its default is assumed; its configuration, which may differ, is not read."""

    kubelet_value: int
    """The earlier value from the kubelet."""
    recognised_by: Literal["Image", "Label", "DaemonSet"]
    """The sign of kube-proxy: its image, the label k8s-app or component, the name of the DaemonSet."""


class OOMScoreAdj(Struct, frozen=True, rename="camel"):
    """One container's value and its terms; bytes are whole bytes."""

    container: str
    field: str
    is_sidecar: bool
    value: int
    rule: OOMRule
    """The line that decided the kubelet's value."""
    memory_request: int
    pod_level_share: int
    """The part of the pod-level request that no container requests, in bytes, divided among all containers."""
    memory_capacity: int | None
    """Bytes; None: the rule does not need it."""
    formula_value: int | None
    """The Burstable formula before the sidecar's cap, floor and ceiling; None for other classes, and if the request is
    so much more than the node's memory that it would be negative."""
    app_minimum: int | None = None
    """For a sidecar: the value of the app container with the smallest request, which it may not exceed."""
    own: OwnScore | None = None
    """Why the value is not the kubelet's; None: it is."""

    @property
    def in_range(self) -> bool:
        """Whether the kernel accepts the value; upstream limits its sum only at the lower end."""
        return OOM_SCORE_ADJ_MIN <= self.value <= BEST_EFFORT_OOM_SCORE_ADJ


class MemoryTooLow(Struct, frozen=True, rename="camel"):
    """A memory request that the API server rejects, and for which the kubelet's sum is above 1000."""

    field: str
    """``spec.resources.requests.memory``, or a container's."""
    value: str
    least: str
    """The required minimum: the sum of the containers' requests; for a container 0."""


def memory_too_low(pod: Pod, *, features: Features = REFERENCE) -> MemoryTooLow | None:
    """Why a value is out of range: a negative request of a container, or a pod's request below its containers' sum.

    Source: pkg/kubelet/qos/helpers.go (remainingPodMemReqPerContainer) accepts the latter without a lower limit;
    pkg/apis/core/validation/validation.go (validatePodResourceConsistency) rejects it, at v1.36.3.
    """
    for ref in pod.containers():
        request = ref.container.resources.requests.get(MEMORY, ZERO)
        if request.sign < 0:
            return MemoryTooLow(f"{ref.field}.resources.requests.memory", str(request), str(ZERO))
    if not features.pod_level_resources or pod.spec.resources is None:
        return None
    own, together = pod.spec.resources.requests.get(MEMORY), aggregate_container_requests(pod).get(MEMORY, ZERO)
    if own is None or own >= together:
        return None
    return MemoryTooLow("spec.resources.requests.memory", str(own), str(together))


def pod_oom_score_adjs(
    pod: Pod, memory_capacity: int | None, *, features: Features = REFERENCE
) -> tuple[OOMScoreAdj, ...] | None:
    """The value of every container and init container, in the order of `Pod.containers` (GetContainerOOMScoreAdjust).

    For kube-proxy it is the value of its process. The pod has the resources that the kubelet allocated to it.
    None if it depends on a capacity (MachineInfo.MemoryCapacity, ``status.capacity.memory``) that is not known.
    """
    fixed = _fixed(pod, features)
    if fixed is not None:
        return _with_own(pod, tuple(_fixed_score(ref, *fixed, memory_capacity) for ref in pod.containers()))
    if not memory_capacity:
        return None
    share = _pod_level_share(pod, features)
    smallest = min((one.resources.requests.get(MEMORY, ZERO).value for one in pod.spec.containers), default=None)
    return _with_own(pod, tuple(_burstable_score(ref, share, smallest, memory_capacity) for ref in pod.containers()))


def _with_own(pod: Pod, scores: tuple[OOMScoreAdj, ...]) -> tuple[OOMScoreAdj, ...]:
    """The scores, with the value that kube-proxy writes for itself."""
    containers = pod.spec.containers
    found = [one.name for one in containers if re.fullmatch(_KUBE_PROXY_IMAGE, one.image)]
    by: Literal["Image", "Label", "DaemonSet"] = "Image"
    if not found and pod.metadata.namespace in {"kube-system", _OF_OPENSHIFT}:
        owner = pod.metadata.controller
        labelled = _KUBE_PROXY in map(pod.metadata.labels.get, ("k8s-app", "component"))
        if labelled or (owner is not None and owner.kind == "DaemonSet" and owner.name in {_KUBE_PROXY, _OF_OPENSHIFT}):
            by = "Label" if labelled else "DaemonSet"
            found = [one.name for one in containers if len(containers) == 1 or one.name == _KUBE_PROXY]
    return tuple(
        replace(one, value=KUBELET_OOM_SCORE_ADJ, own=OwnScore(one.value, by)) if one.container in found else one
        for one in scores
    )


def _fixed_score(ref: ContainerRef, rule: OOMRule, value: int, memory_capacity: int | None) -> OOMScoreAdj:
    request = ref.container.resources.requests.get(MEMORY, ZERO).value
    return OOMScoreAdj(
        ref.container.name, ref.field, ref.is_sidecar, value, rule, request, 0, memory_capacity, formula_value=None
    )


def _burstable_score(ref: ContainerRef, share: int, smallest: int | None, memory_capacity: int) -> OOMScoreAdj:
    """One container's value; a sidecar's is at most that of the app container with the smallest request."""
    request = ref.container.resources.requests.get(MEMORY, ZERO).value
    formula = _formula(request + share, memory_capacity)
    value, rule, app_minimum = formula, OOMRule.BURSTABLE, None
    if ref.is_sidecar and smallest is not None:
        app_minimum = max(_formula(smallest + share, memory_capacity), MIN_BURSTABLE_OOM_SCORE_ADJ)
        if app_minimum < formula:
            value, rule = app_minimum, OOMRule.BURSTABLE_SIDECAR
    if value < MIN_BURSTABLE_OOM_SCORE_ADJ:
        value, rule = MIN_BURSTABLE_OOM_SCORE_ADJ, OOMRule.BURSTABLE_FLOOR
    elif value == BEST_EFFORT_OOM_SCORE_ADJ:
        value, rule = MAX_BURSTABLE_OOM_SCORE_ADJ, OOMRule.BURSTABLE_CEILING
    return OOMScoreAdj(
        ref.container.name,
        ref.field,
        ref.is_sidecar,
        value,
        rule,
        request,
        share,
        memory_capacity,
        formula if formula >= 0 else None,
        app_minimum,
    )


def container_oom_score_adjs(
    pod: Pod, memory_capacity: int | None, *, features: Features = REFERENCE
) -> Mapping[str, OOMScoreAdj]:
    """The values by `ContainerRef.field`; empty if `pod_oom_score_adjs` knows none."""
    return {score.field: score for score in pod_oom_score_adjs(pod, memory_capacity, features=features) or ()}


def _fixed(pod: Pod, features: Features) -> tuple[OOMRule, int] | None:
    if is_node_critical_pod(pod):
        return OOMRule.NODE_CRITICAL, GUARANTEED_OOM_SCORE_ADJ
    match get_pod_qos(pod, features=features):
        case PodQOSClass.GUARANTEED:
            return OOMRule.GUARANTEED, GUARANTEED_OOM_SCORE_ADJ
        case PodQOSClass.BEST_EFFORT:
            return OOMRule.BEST_EFFORT, BEST_EFFORT_OOM_SCORE_ADJ
        case _:
            return None


def _formula(request: int, capacity: int) -> int:
    return 1000 - divide(1000 * request, capacity)


def _pod_level_share(pod: Pod, features: Features) -> int:
    """The bytes of the remaining pod-level request for each container (remainingPodMemReqPerContainer)."""
    if not features.pod_level_resources or pod.spec.resources is None or not is_pod_level_requests_set(pod):
        return 0
    containers = len(pod.spec.containers) + len(pod.spec.init_containers)
    if not containers:
        return 0
    pod_request = pod.spec.resources.requests.get(MEMORY, ZERO)
    if pod_request.is_zero:
        return 0
    left_over = pod_request.value - aggregate_container_requests(pod).get(MEMORY, ZERO).value
    if features.oom_share_not_negative:
        left_over = max(left_over, 0)
    return divide(left_over, containers)


def divide(dividend: int, divisor: int) -> int:
    """Integer division towards zero, as in Go and C; Python rounds down."""
    quotient = abs(dividend) // divisor
    return quotient if dividend >= 0 else -quotient
