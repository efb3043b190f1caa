"""A pod's cgroups (Q5)."""

from __future__ import annotations

from msgspec import Struct

from podrules.api.features import Features
from podrules.api.model.pod import ContainerRef, Pod
from podrules.pod import cgroup
from podrules.pod.memory_qos import MemoryQoS, MemorySettings, container_memory_qos, pod_memory_qos
from podrules.pod.qos import get_pod_qos


class ContainerCgroup(Struct, frozen=True, rename="camel"):
    """Values that the kubelet sends to the runtime for one container."""

    container: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, libcontainer's conversion."""
    memory_qos: MemoryQoS | None
    """cgroup v2, with the feature gate MemoryQoS; None: it is off, or unknown."""


class CgroupReport(Struct, frozen=True, rename="camel"):
    """The pod's cgroups (Q5)."""

    cgroupfs: str | None
    """None for a pod that does not exist yet: the name contains the uid."""
    systemd: str | None
    parent: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, the kubelet's conversion."""
    memory_qos: MemoryQoS | None
    """As for a container."""
    containers: tuple[ContainerCgroup, ...]
    as_on: str = ""
    """The node of the kubelet that would write these; empty: it has a node, or its kubelets have the same rules."""


def pod_cgroup(
    pod: Pod, features: Features, settings: MemorySettings | None, as_on: str = "", root: tuple[str, ...] = ()
) -> CgroupReport:
    """The cgroups of a pod with the requests that its kubelet has granted.

    ``settings`` are its node's settings of MemoryQoS; None: the gate is off, or unknown.
    """
    config = cgroup.pod_resource_config(pod, features=features)
    name = cgroup.pod_cgroup_name(pod, root, features=features) if pod.metadata.uid else None
    return CgroupReport(
        cgroupfs=name.to_cgroupfs() if name else None,
        systemd=name.to_systemd() if name else None,
        parent=cgroup.qos_cgroup_name(get_pod_qos(pod, features=features), root).to_cgroupfs(),
        config=config,
        cpu_weight=None if config.cpu_shares is None else cgroup.cpu_weight(config.cpu_shares),
        memory_qos=None if settings is None else pod_memory_qos(pod, settings, features=features),
        containers=tuple(_container(pod, ref, features, settings) for ref in pod.containers()),
        as_on=as_on,
    )


def _container(pod: Pod, ref: ContainerRef, features: Features, settings: MemorySettings | None) -> ContainerCgroup:
    config = cgroup.container_resource_config(pod, ref, features=features)
    return ContainerCgroup(
        container=ref.container.name,
        config=config,
        cpu_weight=None if config.cpu_shares is None else cgroup.cpu_weight_libcontainer(config.cpu_shares),
        memory_qos=None if settings is None else container_memory_qos(pod, ref, settings, features=features),
    )
