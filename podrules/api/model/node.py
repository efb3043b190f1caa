"""The models of Nodes, their Leases and their CSINodes, and a metrics server's measurements: CPU and working sets.

Source: k8s.io/api/core/v1/types.go and k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import field

from podrules.api.model.base import Condition, KubeObject, Model, ResourceList, Time


class Taint(Model, frozen=True):
    """``spec.taints[]``."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None

    @property
    def text(self) -> str:
        """The taint as kubectl writes it: ``key=value:effect``, or ``key:effect``."""
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


class NodeSpec(Model, frozen=True):
    """``spec``."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeSwapStatus(Model, frozen=True):
    """``status.nodeInfo.swap``."""

    capacity: int | None = None
    """Bytes."""


class NodeSystemInfo(Model, frozen=True):
    """``status.nodeInfo``."""

    kubelet_version: str = ""
    kernel_version: str = ""
    container_runtime_version: str = ""
    os_image: str = ""
    operating_system: str = ""
    swap: NodeSwapStatus | None = None


class ContainerImage(Model, frozen=True):
    """``status.images[]``."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class AttachedVolume(Model, frozen=True):
    """``status.volumesAttached[]``."""

    name: str = ""


class NodeStatus(Model, frozen=True):
    """``status``."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    node_info: NodeSystemInfo = field(default_factory=NodeSystemInfo)
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    """Volumes that the kubelet has mounted or will mount: they are not safe to detach."""
    volumes_attached: tuple[AttachedVolume, ...] = ()
    """Volumes that the attach/detach controller has attached to the node."""


class Node(KubeObject, frozen=True):
    """A node."""

    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)

    @property
    def ready(self) -> Condition | None:
        """The Ready condition: True, False, or Unknown when the kubelet no longer reports."""
        return ready_condition(self.status.conditions)

    @property
    def unready_message(self) -> str:
        """Why it is not Ready, in its kubelet's words; empty: it is Ready, or does not answer."""
        return self.ready.message if self.ready is not None and self.ready.status == "False" else ""


def ready_condition(conditions: Iterable[Condition]) -> Condition | None:
    """The Ready condition among a node's conditions."""
    return next((condition for condition in conditions if condition.type == "Ready"), None)


class LeaseSpec(Model, frozen=True):
    """``spec``."""

    renew_time: Time | None = None


class Lease(KubeObject, frozen=True):
    """A coordination.k8s.io Lease; a node's heartbeat is the Lease with its name in namespace kube-node-lease."""

    spec: LeaseSpec = field(default_factory=LeaseSpec)


class LeaseCandidateSpec(Model, frozen=True):
    """``spec``; versions have no leading ``v``."""

    lease_name: str = ""
    binary_version: str = ""
    emulation_version: str = ""


class LeaseCandidate(KubeObject, frozen=True):
    """A coordination.k8s.io LeaseCandidate: a component that can lead, and its version."""

    spec: LeaseCandidateSpec = field(default_factory=LeaseCandidateSpec)


class VolumeNodeResources(Model, frozen=True):
    """``spec.drivers[].allocatable`` of a CSINode."""

    count: int | None = None


class CSINodeDriver(Model, frozen=True):
    """``spec.drivers[]``."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Model, frozen=True):
    """``spec``."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True):
    """A CSINode: the CSI drivers of the node with the same name."""

    spec: CSINodeSpec = field(default_factory=CSINodeSpec)


class ContainerMetrics(Model, frozen=True):
    """``containers[]``; ``memory`` is the working set."""

    name: str = ""
    usage: ResourceList = {}


class PodMetrics(KubeObject, frozen=True):
    """A pod's usage."""

    containers: tuple[ContainerMetrics, ...] = ()


class NodeMetrics(KubeObject, frozen=True):
    """A node's usage."""

    usage: ResourceList = {}
