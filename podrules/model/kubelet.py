"""What a kubelet says of itself: measurements (``/stats/summary``) and its configuration (``/configz``).

Fields that are not measured are absent: None, never 0.

Source: k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go and k8s.io/kubelet/config/v1beta1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.model.base import Model, ResourceList, Time

__all__ = [
    "CPUStats",
    "Configz",
    "ContainerStats",
    "FsStats",
    "KubeletConfiguration",
    "MemoryStats",
    "MemorySwapConfiguration",
    "NodeStats",
    "PSIData",
    "PSIStats",
    "PodReference",
    "PodStats",
    "ProcessStats",
    "RlimitStats",
    "RuntimeStats",
    "ShutdownGracePeriodByPodPriority",
    "Summary",
    "SwapStats",
    "VolumeStats",
]


class PSIData(Model, frozen=True):
    """Pressure stall information: percent of wall time in which tasks were stalled."""

    avg10: float = 0.0
    """Over the last 10 seconds."""
    avg60: float = 0.0
    avg300: float = 0.0


class PSIStats(Model, frozen=True):
    """``psi``; served with cgroup v2 only."""

    some: PSIData = field(default_factory=PSIData)
    """At least one task was stalled."""
    full: PSIData = field(default_factory=PSIData)
    """All tasks were stalled at once."""


class CPUStats(Model, frozen=True):
    """``cpu``."""

    usage_nano_cores: int | None = None
    """Over a short while before it was asked: billionths of a cpu."""


class MemoryStats(Model, frozen=True):
    """``memory``; bytes."""

    time: Time = ""
    available_bytes: int | None = None
    """Of the node or of a cgroup with a limit: what is left before it."""
    working_set_bytes: int | None = None
    """Used, less the file cache that has not been touched of late."""
    rss_bytes: int | None = None
    """Anonymous memory."""
    psi: PSIStats | None = None


class SwapStats(Model, frozen=True):
    """``swap``; bytes."""

    swap_available_bytes: int | None = None
    swap_usage_bytes: int | None = None


class FsStats(Model, frozen=True):
    """A filesystem, or what a container or volume uses of one."""

    time: Time = ""
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class VolumeStats(FsStats, frozen=True):
    """``volume[]`` of a pod."""

    name: str = ""


class RlimitStats(Model, frozen=True):
    """``rlimit``: process ids."""

    time: Time = ""
    max_pid: int | None = field(default=None, name="maxpid")
    num_of_running_processes: int | None = field(default=None, name="curproc")


class RuntimeStats(Model, frozen=True):
    """``runtime``: the container runtime's filesystems."""

    image_fs: FsStats | None = None
    container_fs: FsStats | None = None


class ProcessStats(Model, frozen=True):
    """``process_stats``."""

    process_count: int | None = field(default=None, name="process_count")


class ContainerStats(Model, frozen=True):
    """A container, or a cgroup of the system."""

    name: str = ""
    memory: MemoryStats | None = None
    rootfs: FsStats | None = None
    logs: FsStats | None = None
    swap: SwapStats | None = None


class PodReference(Model, frozen=True):
    """``podRef``."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    """A static pod's own, which its mirror in the API has as an annotation."""


class PodStats(Model, frozen=True):
    """``pods[]``."""

    pod_ref: PodReference = field(default_factory=PodReference)
    containers: tuple[ContainerStats, ...] = ()
    cpu: CPUStats | None = None
    memory: MemoryStats | None = None
    volume_stats: tuple[VolumeStats, ...] = field(default=(), name="volume")
    ephemeral_storage: FsStats | None = field(default=None, name="ephemeral-storage")
    process_stats: ProcessStats | None = field(default=None, name="process_stats")
    swap: SwapStats | None = None


class NodeStats(Model, frozen=True):
    """``node``."""

    system_containers: tuple[ContainerStats, ...] = ()
    """``kubelet``, ``runtime``, ``misc`` and ``pods``."""
    cpu: CPUStats | None = None
    memory: MemoryStats | None = None
    fs: FsStats | None = None
    runtime: RuntimeStats | None = None
    rlimit: RlimitStats | None = None
    swap: SwapStats | None = None

    def system_container(self, name: str) -> ContainerStats | None:
        """The system's cgroup of that name, if measured."""
        return next((entry for entry in self.system_containers if entry.name == name), None)


class Summary(Model, frozen=True):
    """``/stats/summary``."""

    node: NodeStats = field(default_factory=NodeStats)
    pods: tuple[PodStats, ...] = ()


class MemorySwapConfiguration(Model, frozen=True):
    """``memorySwap``."""

    swap_behavior: str = ""


class ShutdownGracePeriodByPodPriority(Model, frozen=True):
    """``shutdownGracePeriodByPodPriority[]``: the time of pods of this priority and more, up to the next entry's."""

    priority: int = 0
    shutdown_grace_period_seconds: int = 0


class KubeletConfiguration(Model, frozen=True):
    """The kubelet's configuration, with its defaults filled in when it is read from ``/configz``."""

    eviction_hard: dict[str, str] | None = None
    """None: not set, so that the defaults of the operating system hold."""
    eviction_soft: dict[str, str] = {}
    eviction_soft_grace_period: dict[str, str] = {}
    eviction_minimum_reclaim: dict[str, str] = {}
    eviction_max_pod_grace_period: int = 0
    """Seconds."""
    eviction_pressure_transition_period: str = "5m0s"
    merge_default_eviction_settings: bool = False
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    kube_reserved: ResourceList = {}
    system_reserved: ResourceList = {}
    oom_score_adj: int = field(default=-999, name="oomScoreAdj")
    """The kubelet's own."""
    single_process_oom_kill: bool | None = field(default=None, name="singleProcessOOMKill")
    fail_cgroup_v1: bool = field(default=True, name="failCgroupV1")
    memory_swap: MemorySwapConfiguration = field(default_factory=MemorySwapConfiguration)
    local_storage_capacity_isolation: bool = True
    shutdown_grace_period: str = "0s"
    shutdown_grace_period_critical_pods: str = "0s"
    """Of ``shutdownGracePeriod``, what is kept for critical pods."""
    shutdown_grace_period_by_pod_priority: tuple[ShutdownGracePeriodByPodPriority, ...] = ()
    """Instead of the two."""


class Configz(Model, frozen=True):
    """``/configz``."""

    kubeletconfig: KubeletConfiguration = field(default_factory=KubeletConfiguration)
