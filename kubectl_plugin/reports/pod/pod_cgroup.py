"""A pod's cgroups (Q5)."""

from __future__ import annotations

from msgspec import Struct

from podrules import cgroup
from podrules.features import Features
from podrules.model.pod import Pod
from podrules.qos import get_pod_qos

__all__ = ["CgroupReport", "ContainerCgroup", "pod_cgroup"]


class ContainerCgroup(Struct, frozen=True, rename="camel"):
    """Values that the kubelet asks of the runtime for one container."""

    container: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, libcontainer's conversion."""


class CgroupReport(Struct, frozen=True, rename="camel"):
    """The pod's cgroups (Q5)."""

    cgroupfs: str | None
    """None for a pod that does not exist yet: its name holds the uid."""
    systemd: str | None
    parent: str
    config: cgroup.ResourceConfig
    cpu_weight: int | None
    """cgroup v2, the kubelet's conversion."""
    containers: tuple[ContainerCgroup, ...]


def pod_cgroup(pod: Pod, features: Features) -> CgroupReport:
    """The cgroups of a pod with the requests that its kubelet has granted."""
    config = cgroup.pod_resource_config(pod, features=features)
    name = cgroup.pod_cgroup_name(pod, features=features) if pod.metadata.uid else None
    containers = [
        (ref.container.name, cgroup.container_resource_config(pod, ref, features=features)) for ref in pod.containers()
    ]
    return CgroupReport(
        cgroupfs=name.to_cgroupfs() if name else None,
        systemd=name.to_systemd() if name else None,
        parent=cgroup.qos_cgroup_name(get_pod_qos(pod, features=features)).to_cgroupfs(),
        config=config,
        cpu_weight=None if config.cpu_shares is None else cgroup.cpu_weight(config.cpu_shares),
        containers=tuple(
            ContainerCgroup(
                container,
                values,
                None if values.cpu_shares is None else cgroup.cpu_weight_libcontainer(values.cpu_shares),
            )
            for container, values in containers
        ),
    )
