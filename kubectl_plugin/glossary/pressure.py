"""Nodes that run short, and the reaction of their kubelets."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_NODE: Final = "kubectl qos node NODE"
_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_MANAGER: Final = "pkg/kubelet/eviction/eviction_manager.go"
_HELPERS: Final = "pkg/kubelet/eviction/helpers.go"

ENTRIES: Final = (
    Entry(
        name="Evicted",
        also=(
            *("Evicting", "eviction", "node-pressure eviction", "node pressure", "The node was low on resource"),
            *("kubelet eviction", "out of resource", "eviction order", "eviction ranking", "eviction manager", "evict"),
        ),
        pattern=r"Eviction manager: (pod is evicted successfully|unable to evict any pods from the node)"
        r"|The node was low on resource: .*|Threshold quantity: \S+, available: .*"
        r"|(Container|Pod) \S+ was using \S+, request is \S+, has larger consumption of .*",
        means="The kubelet ended the pod because its node ran short of memory, disk or process ids.",
        rule=(
            "Never by QoS class. Memory: pods above their requests, then lower priority, then the most above.",
            "Disk: the same order, by usage. Process ids: lower priority, then most processes.",
            "Critical pods are exempt: static and mirror pods, and every pod with a priority of 2000000000 or more.",
            "The object stays as Failed with its message, until it is deleted or collected.",
            "Unable to evict any pods: each one is critical or could not be stopped in time, and the node stays short.",
        ),
        do=("Request the usage: a pod below its requests is evicted after all pods above theirs.",),
        commands=(_NODE, "kubectl qos explain pod/NAME"),
        source=(_MANAGER, _HELPERS),
        see=("eviction threshold", "critical pod", "eviction API", "OOMKilled"),
    ),
    Entry(
        name="headroom",
        also=("near an eviction", "NearEviction"),
        means="What a node has left of memory, disk, inodes or process ids above the threshold of an eviction.",
        rule=(
            "It is the available amount less the threshold; the signal nearest to its threshold comes first.",
            "Available memory is the capacity less the working set; what pods request does not count.",
        ),
        commands=(_NODE,),
        source=(_MANAGER, _HELPERS),
        see=("eviction threshold", "working set", "Evicted"),
    ),
    Entry(
        name="working set",
        also=("rss", "resident memory", "file cache", "page cache"),
        means="The kubelet's measure of used memory: all memory charged to a cgroup, except inactive file cache.",
        rule=(
            "It includes active file cache. At a container's memory limit the kernel drops that first, then kills.",
            "rss is the memory of processes without file cache: the kernel's OOM order counts rss, swap and adj.",
            "So a container may be near its limit by its working set, and well below it by rss.",
        ),
        commands=(_NODE, _EXPLAIN),
        source=("pkg/kubelet/stats/helper.go", _HELPERS, "linux mm/memcontrol.c", "linux mm/oom_kill.c"),
        see=("headroom", "OOMKilled", "Evicted"),
    ),
    Entry(
        name="allocatable",
        also=(
            *("status.allocatable", "node allocatable", "kubeReserved", "systemReserved", "capacity"),
            *("status.capacity", "enforceNodeAllocatable", "NodeAllocatableEnforced", "reservedSystemCPUs"),
            *("Reserve Compute Resources for System Daemons", "RequestsOverAllocatable"),
        ),
        means="What pods may request on a node: its capacity less the system's reservation and the hard threshold.",
        rule=(
            "Reserved are kubeReserved, systemReserved and, for memory and disk, evictionHard.",
            "enforceNodeAllocatable names the cgroups that get limits: pods (default), kube-reserved, system-reserved.",
            "The scheduler compares the sum of requests with it; usage does not count.",
        ),
        commands=("kubectl qos explain node/NODE -o wide",),
        source=(
            "pkg/kubelet/cm/node_container_manager_linux.go",
            "pkg/scheduler/framework/plugins/noderesources/fit.go",
        ),
        see=("overcommit", "Insufficient resource", "eviction threshold"),
    ),
    Entry(
        name="overcommit",
        also=("overcommitted", "overcommitment", "overcommitting", "over-commit", "memory overcommit"),
        means="The limits of a node's pods add up to more than it has. That is allowed: only requests are counted.",
        rule=(
            "If all use their limits, the node runs short: the kubelet evicts, or the kernel kills.",
            "Huge pages and devices cannot be overcommitted: their request must equal the limit.",
        ),
        do=("Request the usage: pods below their memory request are evicted last.",),
        commands=("kubectl qos explain node/NODE", _NODE),
        source=(
            "pkg/scheduler/framework/plugins/noderesources/fit.go",
            "pkg/apis/core/validation/validation.go",
        ),
        see=("allocatable", "requests", "Evicted"),
    ),
    Entry(
        name="Windows",
        also=("windows node", "windows pod", "kubernetes.io/os: windows"),
        means="No oom_score_adj, no cgroup and no OOM killer there: only the Linux kubelet sets those of a container.",
        rule=(
            "A Windows kubelet evicts too: by default memory.available<500Mi, nodefs.available<10%, imagefs<15%.",
            "Its memory.available is the commit limit of the machine less what is committed, not free memory.",
            "This tool does not predict which pods it then evicts.",
        ),
        commands=(_EXPLAIN,),
        source=(
            "pkg/kubelet/kuberuntime/kuberuntime_container_windows.go",
            "pkg/kubelet/eviction/defaults_windows.go",
            "pkg/kubelet/eviction/helpers_windows.go",
        ),
        see=("oom_score_adj", "eviction threshold"),
    ),
    Entry(
        name="eviction threshold",
        also=(
            *("eviction signal", "imagefs.inodesFree", "allocatableMemory.available", "eviction monitoring interval"),
            *("memory.available", "nodefs.available", "inode", "nodefs.inodesFree", "pid.available"),
            *("imagefs.available", "containerfs.available", "containerfs.inodesFree", "kernelMemcgNotification"),
        ),
        means="Below it the kubelet evicts: hard at once, soft after its own grace period.",
        rule=(
            "Defaults on Linux: memory.available<100Mi, nodefs.available<10%, imagefs.available<15%; inodesFree<5%.",
            "Hard: the pod gets no grace period of its own; a container still has 2 s.",
            "Soft: the smaller of evictionMaxPodGracePeriod and the pod's own period.",
            "The kubelet checks every 10 s, so the kernel kills first after a quick leak.",
        ),
        commands=(f"{_NODE} -o wide",),
        source=(_MANAGER, _HELPERS, "pkg/kubelet/eviction/defaults_linux.go"),
        see=("hard eviction", "soft eviction", "Evicted", "MemoryPressure"),
    ),
    Entry(
        name="MemoryPressure",
        also=(
            *("DiskPressure", "PIDPressure", "pressure", "node condition", "node.kubernetes.io/memory-pressure"),
            *("node.kubernetes.io/disk-pressure", "kubelet has insufficient memory available"),
            *("KubeletHasInsufficientMemory", "kubelet has disk pressure", "node.kubernetes.io/pid-pressure"),
            *("kubelet has insufficient PID available", "KubeletHasInsufficientPID", "Node Status"),
        ),
        pattern=r"Node \S+ status is now: NodeHas(Insufficient|Disk).*",
        means="A condition of the node: an eviction threshold was crossed; it lasts until 5 minutes after that.",
        rule=(
            "The node gets a NoSchedule taint of that name: only pods with a toleration fit, such as a DaemonSet's.",
            "Only with PodTolerationRestriction (off by default) do all but BestEffort pods tolerate memory-pressure.",
            "The kubelet refuses too: BestEffort under memory pressure, all under another; critical pods never.",
        ),
        commands=(_NODE,),
        source=(_MANAGER, "pkg/controller/nodelifecycle/node_lifecycle_controller.go"),
        see=("eviction threshold", "The node had condition"),
    ),
    Entry(
        name="The node had condition",
        pattern=r"(Pod )?The node had condition: .*",
        means="The kubelet refused a pod that was bound to it, because it is under pressure.",
        rule=("The pod fails at once with reason Evicted; its owner creates another.",),
        commands=(_NODE,),
        source=(_MANAGER, "pkg/kubelet/lifecycle/handlers.go"),
        see=("MemoryPressure", "Evicted"),
    ),
    Entry(
        name="OutOfmemory",
        also=("OutOfcpu", "OutOfpods", "OutOfephemeral-storage", "NodeRefuses", "Rejected"),
        pattern=r"OutOf(hugepages-\S+|[\w.-]+/\S+)|Node didn't have enough resource: .*",
        means="The kubelet refused the pod on arrival: by its own count, it no longer fits on the node.",
        rule=(
            "The kubelet repeats the scheduler's filters for resources, node affinity, node name, ports and taints.",
            "The pod stays Failed; its owner creates another. A pod without an owner is lost.",
            "A critical pod makes the kubelet preempt others instead.",
        ),
        do=("Check for static pods, or a second scheduler, that the scheduler did not count.",),
        commands=("kubectl qos explain node/NODE",),
        source=("pkg/kubelet/lifecycle/predicate.go", "pkg/kubelet/preemption/preemption.go"),
        see=("Insufficient resource", "UnexpectedAdmissionError"),
    ),
    Entry(
        name="UnexpectedAdmissionError",
        also=("SMTAlignmentError",),
        pattern=r"(Allocate|Update plugin resources) failed due to .*|SMT Alignment Error: .*|\[memorymanager\] .*"
        r"|Unexpected error while attempting to recover from admission failure: .*"
        r"|(.*; )?cannot allocate un\w+ devices? .*"
        r"|requested number of devices unavailable for .*|pod rejected, (sum of exclusive|pod has shared) .*",
        means="The kubelet refused the pod because a device, cpu or memory could not be reserved for it.",
        rule=("Mostly a device plugin that restarted, or that has no healthy device left. The pod stays Failed.",),
        do=("Check that the device plugin runs on the node; delete the pod if it has no owner.",),
        commands=("kubectl qos explain node/NODE",),
        source=("pkg/kubelet/cm/admission/errors.go", "pkg/kubelet/lifecycle/predicate.go"),
        see=("OutOfmemory", "TopologyAffinityError"),
    ),
    Entry(
        name="TopologyAffinityError",
        also=("topologyManagerPolicy", "NUMA", "topology manager"),
        pattern=r"(Pod Scope )?Resources cannot be allocated with Topology locality"
        r"|pod with pod-level resources failed admission .* topology manager",
        means="The kubelet's topology manager found no NUMA node, or set of them, for all requests of the pod.",
        rule=("Only with topologyManagerPolicy restricted or single-numa-node; the scheduler does not consider it.",),
        source=("pkg/kubelet/cm/topologymanager/topology_manager.go",),
        see=("UnexpectedAdmissionError",),
    ),
    Entry(
        name="the node cannot run this pod",
        also=("PodOSNotSupported", "SysctlForbidden", "SupplementalGroupsPolicyNotSupported"),
        pattern=r"Failed to admit pod as the .* doesn't match node.*|Cannot enforce AppArmor: .*|forbidden sysctl: .*"
        r"|SupplementalGroupsPolicy=\w+ is not supported in this node|Kubelet cannot get node info\."
        r"|pod-level resources are not supported on .*|PodLevelResources feature gate is disabled",
        means="The kubelet rejected the pod on arrival: its machine does not support a field of the pod.",
        rule=("The scheduler does not check these fields, so the next pod may be placed on such a node again.",),
        do=("Label the nodes that support it, and select them; or remove the field that the text names.",),
        source=("pkg/kubelet/lifecycle/predicate.go", "pkg/kubelet/lifecycle/handlers.go"),
        see=("Predicate failed",),
    ),
    Entry(
        name="hard eviction",
        also=(
            *("evictionHard", "hard threshold", "hard eviction threshold", "hard eviction grace"),
            "mergeDefaultEvictionSettings",
        ),
        means="Below an evictionHard threshold the kubelet evicts at once: 1 s of grace, 2 s at the container.",
        rule=(
            "Older texts say 0 s, true before 1.22; from 1.22 to 1.30 that 0 fell back to the pod's own grace period.",
            "Since 1.31 it is 1 s; terminationGracePeriodSeconds and evictionMaxPodGracePeriod do not count.",
            "Signals that evictionHard omits have no threshold, unless mergeDefaultEvictionSettings (1.33) is true.",
        ),
        commands=(f"{_EXPLAIN} --timeline=evict-hard", _NODE),
        source=(_MANAGER, "pkg/kubelet/pod_workers.go"),
        see=("eviction threshold", "soft eviction", "minimumGracePeriodInSeconds"),
    ),
    Entry(
        name="soft eviction",
        also=(
            *("evictionSoft", "soft threshold", "soft eviction threshold", "soft eviction grace"),
            "evictionSoftGracePeriod",
        ),
        means="An evictionSoft threshold evicts only after it was crossed for evictionSoftGracePeriod without a break.",
        rule=(
            "The pod then gets the smaller of evictionMaxPodGracePeriod and its own period; by default 0, so 2 s.",
            "No signal has a soft threshold by default.",
        ),
        commands=(f"{_EXPLAIN} --timeline=evict-soft", _NODE),
        source=(_MANAGER, _HELPERS),
        see=("hard eviction", "evictionMaxPodGracePeriod"),
    ),
    Entry(
        name="evictionMaxPodGracePeriod",
        also=("--eviction-max-pod-grace-period",),
        means="The longest grace period, in seconds, of a pod that a soft threshold evicts; a hard one ignores it.",
        rule=(
            "Default 0: such pods get 1 s, 2 s at the container. Until 1.30 that 0 meant the pod's own period.",
            "Before 1.32 it also replaced a shorter period of the pod; today the smaller of the two counts.",
        ),
        commands=(f"{_EXPLAIN} --timeline=evict-soft",),
        source=(_MANAGER, "pkg/kubelet/pod_workers.go"),
        see=("soft eviction", "gracePeriodOverride"),
    ),
    Entry(
        name="evictionMinimumReclaim",
        also=("--eviction-minimum-reclaim", "minimum reclaim", "minimum eviction reclaim"),
        means="How far above its threshold a signal must be before the kubelet stops evicting; the default is 0.",
        rule=("memory.available<100Mi with 200Mi to reclaim: evictions begin below 100Mi and end at 300Mi.",),
        source=(_HELPERS,),
    ),
    Entry(
        name="evictionPressureTransitionPeriod",
        also=("--eviction-pressure-transition-period",),
        means="How long a pressure condition stays after its threshold was last crossed: 5 minutes by default.",
        rule=("Its taint keeps new pods away meanwhile; no pod is evicted for it.",),
        source=(_MANAGER, "pkg/kubelet/apis/config/v1beta1/defaults.go"),
        see=("MemoryPressure",),
    ),
    Entry(
        name="gracePeriodOverride",
        also=("PodTerminationGracePeriodSecondsOverride",),
        means="A grace period that the kubelet sets itself, instead of the pod's: for an eviction or a node shutdown.",
        rule=("It only shortens, to at least 1 s. To make room for a critical pod, the pod's own period counts.",),
        source=("pkg/kubelet/pod_workers.go", _MANAGER, "pkg/kubelet/preemption/preemption.go"),
        see=("hard eviction", "soft eviction", "minimumGracePeriodInSeconds"),
    ),
    Entry(
        name="minimumGracePeriodInSeconds",
        also=("minimum grace period", "2 seconds"),
        means="A container has at least 2 s between its stop signal and SIGKILL, even if preStop used up the period.",
        source=("pkg/kubelet/kuberuntime/kuberuntime_container.go", "pkg/kubelet/kuberuntime/kuberuntime_manager.go"),
        see=("terminationGracePeriodSeconds", "preStop", "hard eviction"),
    ),
    Entry(
        name="KubeletConfiguration",
        also=("kubelet configuration", "kubelet config", "configz", "--kubelet-config"),
        means="The kubelet's file: eviction thresholds, reserved memory, grace periods, swap; configz shows them.",
        commands=("kubectl get --raw /api/v1/nodes/NODE/proxy/configz", f"{_NODE} -o wide"),
        source=("pkg/kubelet/apis/config/types.go", "pkg/kubelet/apis/config/v1beta1/defaults.go"),
        see=("hard eviction", "soft eviction", "allocatable", "swap"),
    ),
    Entry(
        name="nodefs",
        also=("imagefs", "containerfs", "image filesystem", "image garbage collection", "imageGCHighThresholdPercent"),
        means="The node's disks: nodefs has volumes and logs, imagefs images, containerfs writable layers.",
        rule=("Unused images are removed from 85% on (imageGCHighThresholdPercent), and all before an eviction.",),
        source=(_HELPERS, _MANAGER),
        see=("eviction threshold", "ImageGCFailed", "ephemeral-storage"),
    ),
    Entry(
        name="podPidsLimit",
        also=("pid limit", "--pod-max-pids", "Process ID Limits And Reservations"),
        means="The most processes and threads of one pod: a field of the kubelet's configuration, by default none.",
        rule=("At the limit the pod's fork fails and no process ends; pid.available is the whole node's threshold.",),
        source=("pkg/kubelet/apis/config/v1beta1/defaults.go", "pkg/kubelet/apis/config/types.go"),
        see=("eviction threshold", "KubeletConfiguration"),
    ),
    Entry(
        name="ephemeral-storage",
        also=("local ephemeral storage", "requests.ephemeral-storage", "limits.ephemeral-storage"),
        means="A pod's logs, writable layers and emptyDir volumes on its node: requests are scheduled, a limit evicts.",
        rule=("A pod above its own limit is evicted, whatever the node has left. It does not affect the QoS class.",),
        source=(_MANAGER, "pkg/scheduler/framework/plugins/noderesources/fit.go"),
        see=("exceeded its local ephemeral storage limit", "nodefs"),
    ),
    Entry(
        name="Predicate failed",
        also=("Predicate NodeAffinity failed", "Predicate TaintToleration failed", "Predicate NodePorts failed"),
        pattern=r"Predicate \w+ failed(: .*)?|GeneralPredicates failed due to .*",
        means="The kubelet rejected the pod on arrival: its node does not fulfil node affinity, name, ports or taints.",
        rule=("It checks when it admits a pod, and again for each pod when it restarts. The pod stays Failed.",),
        do=("Compare the pod's nodeSelector, affinity and tolerations with the node's labels and taints.",),
        commands=("kubectl qos explain pod/NAME", "kubectl describe node NODE"),
        source=("pkg/kubelet/lifecycle/predicate.go", "pkg/kubelet/kubelet.go"),
        see=("OutOfmemory", "node(s) didn't match Pod's node affinity/selector"),
    ),
)
