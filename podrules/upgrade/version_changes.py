"""The effects of a version change on a pod: both versions' rules, side by side.

Each rule is evaluated twice, and equal results are left out. A pod keeps the class in its status, so classes and their
effects apply to pods that are created after the change; scores and cgroups of a container are written when its kubelet
starts it. If a kubelet's configuration decides, each version's defaults are used: an upgrade may change them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.admission.admitted_pod import AdmittedPod
from podrules.api.features import CHANGES, GATES, Change, Features
from podrules.api.model.kubelet import KubeletConfiguration
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.pod.cgroup import ResourceConfig, container_resource_config, pod_resource_config
from podrules.pod.memory_qos import MemoryQoS, container_memory_qos, memory_settings, pod_memory_qos
from podrules.pod.oom import container_oom_score_adjs
from podrules.pod.platform import Platform, pod_platform
from podrules.pod.qos import compute_pod_qos, with_class
from podrules.pod.resources import CPU, EPHEMERAL_STORAGE, MEMORY, allocated_pod, scheduler_request
from podrules.pod.versions import KUBELET_RULES, RULES_OF_ALL, Component, Versions, concerns


class PodChangeKind(Enum):
    """The aspect of a pod that changes."""

    QOS_CLASS = "QoSClass"
    REQUESTS = "Requests"
    OOM_SCORE = "OOMScore"
    CGROUP = "Cgroup"
    PLACEMENT = "Placement"
    """Its placement: only for assumed gates."""


class VersionChange(Struct, frozen=True, rename="camel"):
    """One value of a pod that differs between the versions."""

    kind: PodChangeKind
    field: str
    """The resource, or the cgroup's value; empty: the kind has only one value."""
    container: str
    """The container's name; empty: the value of the pod."""
    before: str
    """The value in the unit of the field, thousandths for cpu; empty: no value."""
    after: str


def changed_rules(before: Mapping[Component, Collection[Features]], after: Features) -> tuple[Change, ...]:
    """The changes for any component, even without an effect on a pod; the oldest change first.

    Args:
        before: The components' current rules.
        after: The rules of all components after the change.
    """

    def differs(field: str, change: Change) -> bool:
        then = getattr(after, field)
        return any(
            getattr(rules, field) != then
            for component, several in before.items()
            if concerns(change, component)
            for rules in several
        )

    found = (change for field, change in CHANGES.items() if differs(field, change))
    return tuple(sorted(found, key=lambda one: one.since))


def pod_changes(pod: Pod, node: Node | None, before: Versions, after: Versions) -> tuple[VersionChange, ...]:
    """The changes for one pod.

    Args:
        pod: A pod of the cluster, or a planned pod.
        node: Its node; None: it has none, and values that need the node's memory are left out.
        before: The rules of its cluster.
        after: The rules of the other version.
    """
    return tuple(_differences(_values(pod, node, before), _values(pod, node, after)))


class AssumedGate(Struct, frozen=True, rename="camel"):
    """A feature gate with a deciding default; its actual setting is not known."""

    name: str
    on: bool
    """The default of the version."""
    changes: tuple[PodChangeKind, ...]
    """The changes with the other setting."""


def assumed_gates(
    pod: Pod,
    node: Node | None,
    versions: Versions,
    config: KubeletConfiguration | None = None,
    *,
    admitted: AdmittedPod | None = None,
) -> tuple[AssumedGate, ...]:
    """The gates that decide a pod's class, requests, scores and cgroups, and that the user did not name.

    Args:
        pod: As for `pod_changes`.
        node: As for `pod_changes`.
        versions: The rules of its cluster.
        config: The configuration of the node's kubelet, which sets its own gates; None: it was not read.
        admitted: For a planned pod, its admission: some gates decide about that.
    """
    named = {field for field, _ in versions.stated.gates}
    if config is not None:
        named |= {field for field, change in GATES.items() if change.rule in KUBELET_RULES}
    kubelet = versions.kubelet(node)
    found, today = [], None
    for field, change in GATES.items():
        if field in named or not _may_decide(field, change, pod):
            continue
        holders = (kubelet,) if change.rule in KUBELET_RULES else (versions.api_server, versions.scheduler, kubelet)
        holder = next((one for one in holders if change.can_be_set(one.gates_of)), None)
        if holder is None:
            continue
        on = bool(getattr(holder, field))
        other = versions.with_gate(field, on=not on)
        stored = pod
        if admitted is not None and change.rule == _DEFAULTED:
            stored = admitted.by(other.api_server)
        today = today or _values(pod, node, versions)
        kinds = dict.fromkeys(one.kind for one in _differences(today, _values(stored, node, other)))
        if kinds:
            found.append(AssumedGate(change.gate, on, tuple(kinds)))
    return tuple(found)


def _may_decide(field: str, change: Change, pod: Pod) -> bool:
    """Whether the rules of `_values` read a gate for such a pod."""
    if field in _OF_POD_LEVEL:
        stored = pod.status
        return pod.spec.resources is not None or stored.resources is not None or bool(stored.allocated_resources)
    return change.rule in KUBELET_RULES | RULES_OF_ALL


_OF_POD_LEVEL: Final = frozenset(
    {
        "in_place_pod_level_resources_vertical_scaling",
        "pod_level_resources",
        "pod_level_resources_fix_defaulting",
        "pod_level_resources_fix_kubelet_qos_class",
    }
)
"""Gates that affect only pods with pod-level resources; a resize of these is in the status."""
_DEFAULTED: Final = "Pod-level resources"
"""The rule with which the API server sets ``spec.resources``."""
_Key = tuple[PodChangeKind, str, str]
_UNKNOWN: Final = "unknown"
"""A value that depends on unknown facts about a node or its kubelet: it is not compared."""


def _differences(before: Mapping[_Key, str], after: Mapping[_Key, str]) -> Iterator[VersionChange]:
    for key in dict.fromkeys([*before, *after]):
        was, will_be = before.get(key, ""), after.get(key, "")
        if was != will_be and _UNKNOWN not in {was, will_be}:
            yield VersionChange(*key, was, will_be)


def _values(pod: Pod, node: Node | None, versions: Versions) -> Mapping[_Key, str]:
    """All values of a pod that may differ between versions, as text."""
    qos_class = compute_pod_qos(pod, features=versions.api_server)
    found: list[tuple[_Key, str]] = [((PodChangeKind.QOS_CLASS, "", ""), qos_class.value)]
    request = scheduler_request(pod, versions.scheduler)
    amounts = {CPU: request.milli_cpu, MEMORY: request.memory, EPHEMERAL_STORAGE: request.ephemeral_storage}
    found += [((PodChangeKind.REQUESTS, name, ""), str(amount)) for name, amount in (amounts | request.scalar).items()]
    if pod_platform(pod, node) is Platform.LINUX:
        kubelet = versions.kubelet(node)
        found += _on_linux(allocated_pod(with_class(pod, qos_class), features=kubelet), node, kubelet)
    return dict(found)


def _on_linux(pod: Pod, node: Node | None, kubelet: Features) -> Iterator[tuple[_Key, str]]:
    """The values that the kubelet writes for a pod with its allocated resources."""
    capacity = node.status.capacity.get(MEMORY) if node is not None else None
    settings = memory_settings(node, None, kubelet)
    yield from _cgroup("", pod_resource_config(pod, features=kubelet))
    found = None if settings is None else pod_memory_qos(pod, settings, features=kubelet)
    yield from _memory_qos("", kubelet, found)
    scores = container_oom_score_adjs(pod, None if capacity is None else capacity.value, features=kubelet)
    for ref in pod.containers():
        name, score = ref.container.name, scores.get(ref.field)
        value = str(score.value) if score is not None else _UNKNOWN if capacity is None else ""
        yield (PodChangeKind.OOM_SCORE, "", name), value
        yield from _cgroup(name, container_resource_config(pod, ref, features=kubelet))
        found = None if settings is None else container_memory_qos(pod, ref, settings, features=kubelet)
        yield from _memory_qos(name, kubelet, found)


def _cgroup(container: str, config: ResourceConfig) -> Iterator[tuple[_Key, str]]:
    values = (
        ("cpu shares", config.cpu_shares),
        ("cpu quota", config.cpu_quota),
        ("cpu period", config.cpu_period),
        ("memory limit", config.memory),
    )
    for field, value in values:
        yield (PodChangeKind.CGROUP, field, container), str(value or "none")


def _memory_qos(container: str, kubelet: Features, found: MemoryQoS | None) -> Iterator[tuple[_Key, str]]:
    """The values of MemoryQoS with the kubelet's defaults; none while the gate is off."""
    known = found or (None if kubelet.memory_qos else MemoryQoS())
    for field in MemoryQoS.__struct_fields__:
        value = _UNKNOWN if known is None else str(getattr(known, field) or "none")
        yield (PodChangeKind.CGROUP, f"memory {field}", container), value
