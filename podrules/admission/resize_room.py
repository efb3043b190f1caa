"""An in-place resize that the kubelet defers: what is short on the node, and which pods would have to leave.

    room      the node's allocatable, less the amounts allocated to the other unfinished pods there
    request   the pod's requests by its spec; cpu and memory can be resized
    deferred  the request exceeds the room, but not the node's allocatable; else the resize is infeasible
    retry     the kubelet retries whenever a pod ends or another resize is allocated. Only for a critical pod does it
              evict others

Users decide which pods leave. The answer names as few as suffice, those with the lowest priority first; never static
pods, nor pods of DaemonSets, which come back.

Source: pkg/kubelet/allocation/allocation_manager.go (handlePodResourcesResize, canAdmitPod) and
pkg/kubelet/lifecycle/predicate.go (Admit, InsufficientResourceError) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from podrules.api.features import Features
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodReference, reference
from podrules.api.model.quantity import ZERO
from podrules.pod.priority import is_mirror_pod, is_static_pod
from podrules.pod.resources import CPU, MEMORY, PodResourcesOptions, allocated_pod, pod_requests, scheduler_options

_REPORTED: Final = (
    r"enough resource: (cpu|memory), requested: ([0-9]{1,19}), used: ([0-9]{1,19}), capacity: ([0-9]{1,19})"
)
"""The kubelet's own numbers: cpu in thousandths, memory in bytes."""

_Amounts = Mapping[str, int]


class ResizeRoom(Struct, frozen=True, rename="camel"):
    """What a deferred resize waits for."""

    lacks: dict[str, int]
    """The missing amounts on the node; cpu in thousandths, memory in bytes."""
    leaving: tuple[PodReference, ...]
    """Pods on the node that are being deleted, and free some of it at their end."""
    pods: tuple[PodReference, ...]
    """Other pods that would also have to leave; empty: the leaving ones are enough, or no choice is."""
    enough: bool
    """Whether all these free the missing amounts."""


class _Holder(NamedTuple):
    pod: Pod
    amounts: _Amounts

    def covers(self, lacks: _Amounts) -> bool:
        """Whether nothing is missing without this pod."""
        return all(self.amounts[name] >= lack for name, lack in lacks.items())

    def share(self, lacks: _Amounts) -> float:
        """Its share of the missing amounts."""
        return sum(min(self.amounts[name] / lack, 1.0) for name, lack in lacks.items())


def resize_room(
    pod: Pod, node: Node, pods: Sequence[Pod], message: str, *, features: Features, complete: bool
) -> ResizeRoom | None:
    """Why a deferred resize waits; None: there is room, as far as is known.

    The pod has its new resources. Unless the pods are all of the node, the numbers in the kubelet's message are used if
    they are larger.
    """
    options = PodResourcesOptions(skip_pod_level_resources=scheduler_options(features).skip_pod_level_resources)
    holders = [
        _Holder(other, _amounts(allocated_pod(other, features=features), options))
        for other in pods
        if other.metadata.place != pod.metadata.place and not other.finished
    ]
    asked = _amounts(pod, options)
    has = {
        CPU: node.status.allocatable.get(CPU, ZERO).milli_value,
        MEMORY: node.status.allocatable.get(MEMORY, ZERO).value,
    }
    lacks = {name: asked[name] + sum(one.amounts[name] for one in holders) - has[name] for name in has}
    reported = None if complete else re.search(_REPORTED, message)
    if reported is not None:
        name, wanted, used, whole = reported.groups()
        lacks[name] = max(lacks[name], int(wanted) + int(used) - int(whole))
    lacks = _left(lacks, ())
    if not lacks:
        return None
    leaving = [one for one in holders if one.pod.metadata.deletion_timestamp and one.share(lacks)]
    left = _left(lacks, leaving)
    staying = [one for one in holders if one.pod.metadata.deletion_timestamp is None and _may_go(one.pod)]
    going = _chosen(left, [one for one in staying if one.share(left)]) if left else []
    return ResizeRoom(
        lacks,
        tuple(reference(one.pod) for one in leaving),
        tuple(reference(one.pod) for one in going),
        enough=not _left(left, going),
    )


def _amounts(pod: Pod, options: PodResourcesOptions) -> _Amounts:
    requests = pod_requests(pod, options)
    return {CPU: requests.get(CPU, ZERO).milli_value, MEMORY: requests.get(MEMORY, ZERO).value}


def _left(lacks: _Amounts, gone: Sequence[_Holder]) -> dict[str, int]:
    left = {name: lack - sum(one.amounts[name] for one in gone) for name, lack in lacks.items()}
    return {name: lack for name, lack in left.items() if lack > 0}


def _may_go(pod: Pod) -> bool:
    controller = pod.metadata.controller
    in_daemon_set = controller is not None and controller.kind == "DaemonSet"
    return not (is_static_pod(pod) or is_mirror_pod(pod) or in_daemon_set)


def _chosen(lacks: _Amounts, holders: Sequence[_Holder]) -> list[_Holder]:
    """The pods that would free enough room; empty if all of them are not enough."""

    def priority(one: _Holder) -> int:
        return one.pod.spec.priority or 0

    alone = [one for one in holders if one.covers(lacks)]
    if alone:
        return [min(alone, key=lambda one: (priority(one), sum(one.amounts[name] for name in lacks)))]
    chosen: list[_Holder] = []
    for one in sorted(holders, key=lambda one: (priority(one), -one.share(lacks))):
        if left := _left(lacks, chosen):
            chosen += [one] if one.share(left) else []
    if _left(lacks, chosen):
        return []
    for one in tuple(chosen):
        others = [other for other in chosen if other is not one]
        chosen = chosen if _left(lacks, others) else others
    return chosen
