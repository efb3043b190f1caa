"""A node that runs short, and what its kubelet then does."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_NODE: Final = "kubectl qos node NODE"
_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_MANAGER: Final = "pkg/kubelet/eviction/eviction_manager.go"
_HELPERS: Final = "pkg/kubelet/eviction/helpers.go"

ENTRIES: Final = (
    Entry(
        name="Evicted",
        also=("Evicting", "eviction", "node-pressure eviction", "The node was low on resource"),
        pattern=r"The node was low on resource: .*|Threshold quantity: \S+, available: .*"
        r"|(Container|Pod) \S+ was using \S+, request is \S+, has larger consumption of .*",
        means="The kubelet ended the pod because its node ran short of memory, disk or process ids.",
        rule=(
            "Never by QoS class. Memory: who uses more than requested, then lower priority, then most over it.",
            "Disk: the same order, by usage. Process ids: lower priority, then most processes.",
            "Critical pods are spared: static and mirror pods, and every pod with a priority of 2000000000 or more.",
            "The object stays as Failed with its message, until it is deleted or collected.",
        ),
        do=("Request what it uses: a pod below its requests goes after all that are above theirs.",),
        commands=(_NODE, "kubectl qos explain pod/NAME"),
        source=(_MANAGER, _HELPERS),
        see=("eviction threshold", "critical pod", "eviction API", "OOMKilled"),
    ),
    Entry(
        name="headroom",
        also=("near an eviction",),
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
        means="What the kubelet counts as used memory: all that is charged to a cgroup, but inactive file cache.",
        rule=(
            "It holds active file cache. At a container's memory limit the kernel drops that first, then kills.",
            "rss is the memory of processes without file cache: the kernel's OOM order goes by rss, swap and adj.",
            "So a container may be near its limit by its working set, and well below it by rss.",
        ),
        commands=(_NODE, _EXPLAIN),
        source=("pkg/kubelet/stats/helper.go", _HELPERS, "linux mm/memcontrol.c", "linux mm/oom_kill.c"),
        see=("headroom", "OOMKilled", "Evicted"),
    ),
    Entry(
        name="allocatable",
        also=("status.allocatable", "node allocatable", "kube-reserved", "system-reserved"),
        means="What pods may request of a node: its capacity less what is kept for the system and the hard threshold.",
        rule=(
            "Kept are kubeReserved, systemReserved and, of memory and disk, evictionHard.",
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
        also=("overcommitted", "overcommitment", "over-commit"),
        means="The limits of a node's pods add up to more than it has. That is allowed: only requests are counted.",
        rule=(
            "When all use what they may, the node runs short: the kubelet evicts, or the kernel kills.",
            "Huge pages and devices cannot be overcommitted: their request has to equal the limit.",
        ),
        do=("Request what is used; give a memory limit equal to the request to what must not be hurt.",),
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
            "This tool does not say which pods it then evicts.",
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
            "evictionHard",
            "evictionSoft",
            "eviction signal",
            "memory.available",
            "nodefs.available",
            "imagefs.available",
            "nodefs.inodesFree",
            "imagefs.inodesFree",
            "containerfs.available",
            "pid.available",
        ),
        means="Below it the kubelet evicts: hard at once, soft after its own grace period.",
        rule=(
            "Defaults on Linux: memory.available<100Mi, nodefs.available<10%, imagefs.available<15%; inodesFree<5%.",
            "Hard: the pod gets no grace period of its own; a container still has 2 s.",
            "Soft: the smaller of evictionMaxPodGracePeriod and the pod's own period.",
            "The kubelet looks every 10 s, so a quick leak meets the kernel first.",
        ),
        commands=(f"{_NODE} -o wide",),
        source=(_MANAGER, _HELPERS, "pkg/kubelet/eviction/defaults_linux.go"),
        see=("Evicted", "MemoryPressure", "OOMKilled"),
    ),
    Entry(
        name="MemoryPressure",
        also=(
            *("DiskPressure", "PIDPressure"),
            *("node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure"),
            *("kubelet has insufficient memory available", "KubeletHasInsufficientMemory"),
            *("kubelet has disk pressure", "KubeletHasDiskPressure"),
            *("kubelet has insufficient PID available", "KubeletHasInsufficientPID"),
        ),
        pattern=r"Node \S+ status is now: NodeHas(Insufficient|Disk).*",
        means="A condition of the node: an eviction threshold was crossed; it stays 5 minutes after that is over.",
        rule=(
            "The node gets a NoSchedule taint of that name. Under memory pressure only BestEffort pods are kept out.",
            "Under disk and process-id pressure all are, critical ones excepted.",
        ),
        commands=(_NODE,),
        source=(_MANAGER, "pkg/controller/nodelifecycle/node_lifecycle_controller.go"),
        see=("eviction threshold", "The node had condition"),
    ),
    Entry(
        name="The node had condition",
        pattern=r"The node had condition: .*",
        means="The kubelet refused a pod that was bound to it, because it is under pressure.",
        rule=("The pod fails at once with reason Evicted; its owner makes another.",),
        commands=(_NODE,),
        source=(_MANAGER, "pkg/kubelet/lifecycle/handlers.go"),
        see=("MemoryPressure", "Evicted"),
    ),
    Entry(
        name="OutOfmemory",
        also=("OutOfcpu", "OutOfpods", "OutOfephemeral-storage"),
        pattern=r"OutOf(hugepages-\S+|[\w.-]+/\S+)|Node didn't have enough resource: .*",
        means="The kubelet refused the pod on arrival: by its own count it does not fit on the node any more.",
        rule=(
            "The kubelet asks the scheduler's filters for resources, node affinity, node name, ports and taints again.",
            "The pod stays Failed; its owner makes another. A pod without an owner is lost.",
            "A critical pod makes the kubelet preempt others instead.",
        ),
        do=("Look for static pods, or a second scheduler, that the first one did not count.",),
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
        means="The kubelet refused the pod because a device, cpu or memory could not be set apart for it.",
        rule=("Mostly a device plugin that restarted, or that has no healthy device left. The pod stays Failed.",),
        do=("See that the device plugin runs on the node; delete the pod if nothing owns it.",),
        commands=("kubectl qos explain node/NODE",),
        source=("pkg/kubelet/cm/admission/errors.go", "pkg/kubelet/lifecycle/predicate.go"),
        see=("OutOfmemory", "TopologyAffinityError"),
    ),
    Entry(
        name="TopologyAffinityError",
        pattern=r"(Pod Scope )?Resources cannot be allocated with Topology locality"
        r"|pod with pod-level resources failed admission .* topology manager",
        means="The kubelet's topology manager found no NUMA node, or set of them, that gives the pod all it asks.",
        rule=("Only with topologyManagerPolicy restricted or single-numa-node; the scheduler does not know of it.",),
        source=("pkg/kubelet/cm/topologymanager/topology_manager.go",),
        see=("UnexpectedAdmissionError",),
    ),
    Entry(
        name="the node cannot run this pod",
        also=("PodOSNotSupported", "SysctlForbidden", "AppArmor", "SupplementalGroupsPolicyNotSupported"),
        pattern=r"Failed to admit pod as the .* doesn't match node.*|Cannot enforce AppArmor: .*|forbidden sysctl: .*"
        r"|SupplementalGroupsPolicy=\w+ is not supported in this node|Kubelet cannot get node info\."
        r"|pod-level resources are not supported on .*|PodLevelResources feature gate is disabled",
        means="The kubelet rejected the pod on arrival: its machine lacks what a field of the pod needs.",
        rule=("The scheduler does not check these fields, so the next pod may come to such a node again.",),
        do=("Label the nodes that can, and select them; or drop the field that the text names.",),
        source=("pkg/kubelet/lifecycle/predicate.go", "pkg/kubelet/lifecycle/handlers.go"),
        see=("Predicate failed",),
    ),
    Entry(
        name="Predicate failed",
        also=("Predicate NodeAffinity failed", "Predicate TaintToleration failed", "Predicate NodePorts failed"),
        pattern=r"Predicate \w+ failed(: .*)?|GeneralPredicates failed due to .*",
        means="The kubelet rejected the pod on arrival: its node does not fulfil node affinity, name, ports or taints.",
        rule=("It asks when it admits a pod, and again for each pod when it restarts. The pod stays Failed.",),
        do=("Compare the pod's nodeSelector, affinity and tolerations with the node's labels and taints.",),
        commands=("kubectl qos explain pod/NAME", "kubectl describe node NODE"),
        source=("pkg/kubelet/lifecycle/predicate.go", "pkg/kubelet/kubelet.go"),
        see=("OutOfmemory", "node(s) didn't match Pod's node affinity/selector"),
    ),
)
