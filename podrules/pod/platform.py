"""The platform that decides the rules for a pod: a Linux kubelet, a Windows kubelet, or an unknown provider.

Platform
    virtual kubelet     the node has the label type=virtual-kubelet or a taint virtual-kubelet.io/provider: there is no
                        kubelet and no machine, and the provider has its own rules
    Windows             the node has the label kubernetes.io/os=windows or reports it in status.nodeInfo; a pod without
                        a node declares it in spec.os.name, in its nodeSelector or in every required term
    Linux               all others
    Only a Linux kubelet sets oom_score_adj and creates cgroups, and only a Linux kernel kills by them. A Windows
    kubelet evicts by other defaults, based on the commit memory of the machine.
Scheduling
    pods of a group     spec.schedulingGroup (1.36 on), spec.workloadRef (1.35): the scheduler places them together
    another scheduler   spec.schedulerName names no profile of kube-scheduler
    Neither is modelled: kube-scheduler's rules for a single pod would give a wrong answer.

Source: pkg/kubelet/kuberuntime/kuberuntime_container_linux.go and kuberuntime_container_windows.go,
pkg/kubelet/eviction/defaults_windows.go and helpers_windows.go, pkg/kubelet/cm/container_manager_windows.go,
pkg/scheduler/schedule_one_podgroup.go at v1.36.3; virtual-kubelet's own node, with its label and its default taint.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from enum import Enum
from typing import Final

from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME, Pod
from podrules.api.model.selectors import NodeSelectorTerm

_OS: Final = "kubernetes.io/os"
OS_LABELS: Final = frozenset({_OS, "beta.kubernetes.io/os"})
"""Labels with a node's operating system; the kubelet sets the first, older ones set both."""
_WINDOWS: Final = "windows"
_VIRTUAL_LABEL: Final = ("type", "virtual-kubelet")
_VIRTUAL_TAINT: Final = "virtual-kubelet.io/provider"


class Platform(Enum):
    """The kind of kubelet, which decides the rules once a pod runs."""

    LINUX = "Linux"
    WINDOWS = "Windows"
    VIRTUAL_KUBELET = "VirtualKubelet"
    """A provider with unknown rules runs the pods."""


class NotModelled(Enum):
    """Why a pod's placement cannot be predicted."""

    POD_GROUP = "PodGroup"
    OTHER_SCHEDULER = "OtherScheduler"


def node_platform(node: Node) -> Platform:
    """The platform of a node."""
    labels = node.metadata.labels
    key, value = _VIRTUAL_LABEL
    if labels.get(key) == value or has_provider_taint(node.spec.taints):
        return Platform.VIRTUAL_KUBELET
    systems = {labels.get(label) for label in OS_LABELS} | {node.status.node_info.operating_system}
    return Platform.WINDOWS if _WINDOWS in systems else Platform.LINUX


def has_provider_taint(taints: Iterable[Taint]) -> bool:
    """Whether a node's taints show that it is a virtual kubelet."""
    return any(taint.key == _VIRTUAL_TAINT for taint in taints)


def pod_platform(pod: Pod, node: Node | None) -> Platform:
    """The platform of a pod.

    Args:
        pod: The pod.
        node: The node to which it is or would be bound; None: the pod's spec decides.
    """
    there = node_platform(node) if node is not None else Platform.LINUX
    if there is Platform.LINUX and _asks_for_windows(pod):
        return Platform.WINDOWS
    if node is None and pod.spec.node_selector.get(_VIRTUAL_LABEL[0]) == _VIRTUAL_LABEL[1]:
        return Platform.VIRTUAL_KUBELET
    return there


def _asks_for_windows(pod: Pod) -> bool:
    spec = pod.spec
    if spec.os is not None and spec.os.name:
        return spec.os.name == _WINDOWS
    if any(spec.node_selector.get(label) == _WINDOWS for label in OS_LABELS):
        return True
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    return bool(terms) and all(map(_is_for_windows, terms))


def _is_for_windows(term: NodeSelectorTerm) -> bool:
    return any(
        entry.key in OS_LABELS and entry.operator == "In" and set(entry.values) == {_WINDOWS}
        for entry in term.match_expressions
    )


def scheduling_group(pod: Pod) -> tuple[str, str] | None:
    """The field with a pod's group, and the group's name; None: it belongs to no group."""
    if pod.spec.scheduling_group is not None:
        return "spec.schedulingGroup", pod.spec.scheduling_group.pod_group_name or ""
    if pod.spec.workload_ref is not None:
        return "spec.workloadRef", pod.spec.workload_ref.name
    return None


def not_modelled(pod: Pod, profiles: Container[str]) -> NotModelled | None:
    """Why a pod's placement cannot be predicted; None: it can.

    Args:
        pod: The pod.
        profiles: The names of kube-scheduler's profiles.
    """
    if (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) not in profiles:
        return NotModelled.OTHER_SCHEDULER
    return NotModelled.POD_GROUP if scheduling_group(pod) is not None else None
