"""The models of a kubelet's answers: measurements (``/stats/summary``) and its configuration (``/configz``).

Fields that are not measured are absent: None, never 0.

Source: k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go and k8s.io/kubelet/config/v1beta1/types.go at v0.36.3.
"""

from __future__ import annotations

from msgspec import field

from podrules.api.model.base import Model, ResourceList, Time


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
    """Billionths of a CPU, averaged over a short time before the request."""


class MemoryStats(Model, frozen=True):
    """``memory``; bytes."""

    time: Time = ""
    available_bytes: int | None = None
    """Memory left before the limit, on a node or in a cgroup with a limit."""
    working_set_bytes: int | None = None
    """Used memory without the inactive file cache."""
    rss_bytes: int | None = None
    """Anonymous memory."""
    psi: PSIStats | None = None


class SwapStats(Model, frozen=True):
    """``swap``; bytes."""

    swap_available_bytes: int | None = None
    swap_usage_bytes: int | None = None


class FsStats(Model, frozen=True):
    """A filesystem, or the part of one that a container or volume uses."""

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
    """A container, or a system cgroup."""

    name: str = ""
    memory: MemoryStats | None = None
    rootfs: FsStats | None = None
    logs: FsStats | None = None
    swap: SwapStats | None = None


class StatsPodReference(Model, frozen=True):
    """``podRef``."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    """A static pod has its own uid here; its mirror pod has that uid as an annotation."""


class PodStats(Model, frozen=True):
    """``pods[]``."""

    pod_ref: StatsPodReference = field(default_factory=StatsPodReference)
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
        """The system cgroup of that name, if measured."""
        return next((entry for entry in self.system_containers if entry.name == name), None)


class Summary(Model, frozen=True):
    """``/stats/summary``."""

    node: NodeStats = field(default_factory=NodeStats)
    pods: tuple[PodStats, ...] = ()


class MemorySwapConfiguration(Model, frozen=True):
    """``memorySwap``."""

    swap_behavior: str = ""


class ShutdownGracePeriodByPodPriority(Model, frozen=True):
    """``shutdownGracePeriodByPodPriority[]``: for pods of at least this priority, up to the next entry's."""

    priority: int = 0
    shutdown_grace_period_seconds: int = 0


class KubeletConfiguration(Model, frozen=True):
    """The kubelet's configuration; ``/configz`` has the defaults filled in."""

    feature_gates: dict[str, bool] = {}
    """Those that it sets, by name; the others have their defaults."""

    eviction_hard: dict[str, str] | None = None
    """None: not set, so the operating system's defaults apply."""
    eviction_soft: dict[str, str] = {}
    eviction_soft_grace_period: dict[str, str] = {}
    eviction_minimum_reclaim: dict[str, str] = {}
    eviction_max_pod_grace_period: int = 0
    """Seconds."""
    eviction_pressure_transition_period: str = "5m0s"
    merge_default_eviction_settings: bool = False
    cgroup_root: str = ""
    """``/a/b``: the parent of kubepods; empty: none."""
    cgroups_per_qos: bool = field(default=True, name="cgroupsPerQOS")
    qos_reserved: dict[str, str] = {}
    """``memory: 50%``; it counts with the feature gate QOSReserved alone."""
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    kube_reserved: ResourceList = {}
    system_reserved: ResourceList = {}
    oom_score_adj: int = field(default=-999, name="oomScoreAdj")
    """The score of the kubelet's own process."""
    single_process_oom_kill: bool | None = field(default=None, name="singleProcessOOMKill")
    fail_cgroup_v1: bool | None = field(default=None, name="failCgroupV1")
    """None: not set, or the kubelet is older than the field: the version's default applies."""
    memory_swap: MemorySwapConfiguration = field(default_factory=MemorySwapConfiguration)
    memory_throttling_factor: float | None = None
    """Above 0, at most 1. None: not set, so the version's default applies."""
    memory_reservation_policy: str = ""
    """``None``, ``TieredReservation``; empty: the kubelet is older than the field."""
    local_storage_capacity_isolation: bool = True
    shutdown_grace_period: str = "0s"
    shutdown_grace_period_critical_pods: str = "0s"
    """The part of ``shutdownGracePeriod`` that is reserved for critical pods."""
    shutdown_grace_period_by_pod_priority: tuple[ShutdownGracePeriodByPodPriority, ...] = ()
    """Replaces the two fields above."""

    @property
    def root_parts(self) -> tuple[str, ...]:
        """``cgroupRoot`` by its parts."""
        return tuple(filter(None, self.cgroup_root.split("/")))


class KubeletFile(KubeletConfiguration, frozen=True):
    """The configuration in a file, which may leave out what has a default."""

    file: str = ""
    """The file's path, as it was typed."""


class Configz(Model, frozen=True):
    """``/configz``."""

    kubeletconfig: KubeletConfiguration = field(default_factory=KubeletConfiguration)
