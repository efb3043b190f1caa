"""Quality of service and memory."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_EXPLAIN: Final = "kubectl qos explain pod/NAME"

ENTRIES: Final = (
    Entry(
        name="QoS class",
        also=(
            *("qos", "quality of service", "status.qosClass", "QoS classes", "ephemeral container"),
            "Pod Quality of Service Classes",
        ),
        means="Guaranteed, Burstable or BestEffort: only requests and limits determine it.",
        rule=(
            "Containers and init containers count, ephemeral ones do not; only cpu and memory; a 0 is none.",
            "Limits without requests are copied to the requests first.",
            "Pod-level spec.resources decide alone when they are set.",
            "It is fixed at creation: a resize that would change it is refused.",
        ),
        do=("Read which field decided, and the smallest change that leads to Guaranteed.",),
        commands=(_EXPLAIN,),
        source=("pkg/apis/core/v1/helper/qos/qos.go",),
        see=("Guaranteed", "Burstable", "BestEffort", "oom_score_adj"),
    ),
    Entry(
        name="Guaranteed",
        also=("CPU manager", "cpuManagerPolicy", "exclusive cpus", "cpuset", "cpuset.cpus"),
        means="Every container has cpu and memory limits, and the requests of all of them equal the limits.",
        rule=("oom_score_adj is -997: killed last. Whole cpus are exclusive cores if cpuManagerPolicy is static.",),
        do=("An injected sidecar or an init container without limits makes the pod Burstable: give it limits too.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/qos/policy.go", "pkg/kubelet/cm/cpumanager/policy_static.go"),
        see=("QoS class", "oom_score_adj"),
    ),
    Entry(
        name="Burstable",
        also=("999", "oom_score_adj 999"),
        means="Some requests or limits are set, but not enough to be Guaranteed.",
        rule=("oom_score_adj is 1000 - 1000 x request / memory of the node, at least 3, at most 999.",),
        commands=(_EXPLAIN,),
        source=("pkg/apis/core/v1/helper/qos/qos.go", "pkg/kubelet/qos/policy.go"),
        see=("QoS class", "oom_score_adj"),
    ),
    Entry(
        name="BestEffort",
        also=("1000", "oom_score_adj 1000"),
        means="No container requests or limits any cpu or memory.",
        rule=("oom_score_adj is 1000: when the machine runs out of memory, the kernel kills it first.",),
        do=("Set a memory request near its usage.",),
        commands=(_EXPLAIN,),
        source=("pkg/apis/core/v1/helper/qos/qos.go", "pkg/kubelet/qos/policy.go"),
        see=("QoS class", "oom_score_adj"),
    ),
    Entry(
        name="oom_score_adj",
        also=(
            *("adj", "points", "oom score", "oom_score", "oomScoreAdj", "who sets oom_score_adj", "set oom_score_adj"),
            *("badness", "OOM score adjustment", "OOM order", "kernel OOM order"),
        ),
        pattern=r"(who|which (pod|container|process)) (is|gets) killed first\??",
        means="The kubelet's kill priority for each container in the kernel: a higher number is killed sooner.",
        rule=(
            "Node-critical pods and Guaranteed ones -997, BestEffort 1000, Burstable 1000 - 1000 x request / capacity.",
            "The kubelet sets it from QoS class, priority class and memory request: no field of a pod does.",
            "The kernel adds usage in thousandths of what ran out: usage and adj decide together, not the class.",
            "It is set when a container starts: a resize in place does not change it.",
        ),
        commands=(_EXPLAIN, "kubectl qos node NODE"),
        source=("pkg/kubelet/qos/policy.go", "linux mm/oom_kill.c"),
        see=("QoS class", "OOMKilled"),
    ),
    Entry(
        name="OOMKilled",
        also=("oom", "out of memory", "OOM kill", "OOM killer", "cgroup OOM"),
        pattern=r"(.*[\]:] )?(Memory cgroup out of memory: Kill(ed)? process|oom-kill:constraint=CONSTRAINT_MEMCG,).*",
        means="The kernel killed a process of the container: a cgroup's memory limit, or the machine, ran out.",
        rule=(
            "At a container's own limit the kernel drops its file cache, then kills, even if the node has memory left.",
            "When the node runs out, all processes are candidates: highest usage plus oom_score_adj first.",
            "On cgroup v2 the whole container is killed (memory.oom.group), unless singleProcessOOMKill is set.",
            "The exit code is mostly 137; after the kill of a child, a container can end with 0 and be OOMKilled.",
        ),
        do=(
            "At its own limit: raise the limit (of a Guaranteed pod the request, too), or use less.",
            "On a full node: raise the request to the usage, so that the scheduler counts it and adj falls.",
        ),
        commands=(_EXPLAIN, "kubectl qos node NODE"),
        source=("linux mm/oom_kill.c", "pkg/kubelet/qos/policy.go", "pkg/kubelet/cm/helpers_linux.go"),
        see=("oom_score_adj", "exit code 137", "Evicted"),
    ),
    Entry(
        name="exit code 137",
        also=("137", "exit 137", "exit status 137", "code 137", "SIGKILL", "signal 9", "kill -9"),
        means="The process was ended by SIGKILL (128 + 9): mostly out of memory, or its grace period was over.",
        rule=("The container's reason shows which: OOMKilled, or Error after a deletion, eviction or failed probe.",),
        do=("Killed while stopping: make it obey SIGTERM, or give it a longer terminationGracePeriodSeconds.",),
        commands=(_EXPLAIN, f"{_EXPLAIN} --timeline"),
        source=("pkg/kubelet/kuberuntime/kuberuntime_container.go", "linux mm/oom_kill.c"),
        see=("OOMKilled", "terminationGracePeriodSeconds"),
    ),
    Entry(
        name="cgroup",
        also=(
            *("cgroups", "cgroup v2", "cgroup v1", "kubepods", "QoS cgroup", "pod cgroup", "cgroup driver"),
            *("cgroupDriver", "systemd", "cgroupfs", "kubepods.slice", "cpu.weight", "cpu.shares", "failCgroupV1"),
        ),
        pattern=r"cgroup v1 support is in maintenance mode, .*|kubepods-(besteffort|burstable)\S*",
        means="The kernel's groups with limits: kubepods, then the QoS class, then the pod, then its containers.",
        rule=(
            "A cpu request becomes shares (v1) or weight (v2), a cpu limit a quota, a memory limit memory.max.",
            "Guaranteed pods are in kubepods itself, others in kubepods/burstable and kubepods/besteffort.",
            "Kubelets since 1.35 refuse to start on cgroup v1, unless failCgroupV1 is false.",
            "Kubelets since 1.37 set memory.high if memoryThrottlingFactor is set: above it, processes slow down.",
        ),
        commands=(f"{_EXPLAIN} -o wide",),
        source=("pkg/kubelet/cm/helpers_linux.go", "pkg/kubelet/cm/cgroup_manager_linux.go"),
        see=("QoS class", "CPU throttling"),
    ),
    Entry(
        name="CPU throttling",
        also=(
            *("throttled", "cfs quota", "throttling", "cpu limit", "limits.cpu", "resources.limits.cpu", "cpu.max"),
            *("cpuCFSQuota", "cpu quota", "nr_throttled"),
        ),
        means="A container with a cpu limit waits for the rest of each 100 ms once its quota is used up.",
        rule=("It is never killed for cpu. A request alone never throttles: it gives shares when cores are short.",),
        do=("Raise the cpu limit; in a Guaranteed pod the request, too, else it is Burstable (in place: refused).",),
        commands=(f"{_EXPLAIN} -o wide",),
        source=("pkg/kubelet/cm/helpers_linux.go",),
        see=("cgroup",),
    ),
    Entry(
        name="requests",
        also=(
            *("request", "resources.requests", "effective request", "promised", "promised memory", "promised cpu"),
            *("memory request", "cpu request", "requests.cpu", "requests.memory", "resource requests", "overhead"),
            *("pod overhead", "OverRequest"),
        ),
        means="What the scheduler reserves for a pod: the larger of its containers' sum and its init containers' peak.",
        rule=(
            "Sidecars count with the init containers that start after them, and with the containers.",
            "A RuntimeClass's overhead is added; pod-level resources replace the sum.",
        ),
        commands=(_EXPLAIN, "kubectl qos explain node/NODE"),
        source=("pkg/scheduler/framework/types.go", "KEP-753", "KEP-2837"),
        see=("Insufficient resource", "QoS class"),
    ),
    Entry(
        name="PodResizePending",
        also=(
            *("Deferred", "Infeasible", "resize", "in-place resize", "ResizeDeferred", "ResizeInfeasible"),
            *("ResizeStarted", "PodResizeInProgress", "resizePolicy", "allocatedResources", "DeferredPodScheduling"),
            *("ResizeError", "ResizePending"),
        ),
        pattern=r"node had resize preemption disabled|Node didn't have enough capacity: .*"
        r"|pod resize fits, waiting for Kubelet actuation|In-place resize of containers with swap is not supported\."
        r"|In-place pod(-level resources)? resize is not supported on .*|Resize is infeasible for .*"
        r"|InPlacePod\w+ is disabled|Memory-backed emptyDir volume resize is .*|cannot decrease memory limits: .*"
        r"|attempting to set (pod|container) .*memory limit \(\d+\) below current usage \(\d+\)",
        means="An unfinished resize in place: Deferred has no room on the node now, Infeasible never will there.",
        rule=(
            "Deferred ones are tried again: first without an increase, then by priority, QoS class, waiting time.",
            "A resize may not change the QoS class; oom_score_adj is unchanged until the container restarts.",
            "PodResizeInProgress: granted, in progress; resizePolicy says whether the container restarts for it.",
            "DeferredPodScheduling, with which the scheduler makes room for one, is alpha in 1.37 and off.",
        ),
        do=("Deferred: free room on the node. Infeasible: request less, or run a new pod elsewhere.",),
        commands=(_EXPLAIN,),
        source=("pkg/kubelet/allocation/allocation_manager.go", "KEP-1287"),
        see=("QoS class", "oom_score_adj"),
    ),
    Entry(
        name="limits",
        also=("limit", "resources.limits", "resource limit", "requests and limits", "compressible resource"),
        means="The most that a container may use: above a cpu limit it waits, at a memory limit it is killed.",
        rule=(
            "The scheduler counts requests only. A limit without a request becomes the request, too.",
            "So cpu is called compressible; memory and disk are not.",
        ),
        source=("pkg/apis/core/v1/defaults.go", "pkg/kubelet/cm/helpers_linux.go"),
        see=("memory limit", "CPU throttling", "requests", "overcommit"),
    ),
    Entry(
        name="memory limit",
        also=("limits.memory", "resources.limits.memory", "memory.max", "memory.limit_in_bytes"),
        means="memory.max of the container's cgroup: there the kernel drops file cache, then kills (OOMKilled).",
        rule=("It kills even if the node has free memory, and no eviction precedes it.",),
        commands=(_EXPLAIN, "kubectl qos node NODE"),
        source=("pkg/kubelet/cm/helpers_linux.go", "linux mm/oom_kill.c"),
        see=("OOMKilled", "limits", "singleProcessOOMKill"),
    ),
    Entry(
        name="oom_score_adj below 0",
        also=(
            *("-997", "-998", "-999", "-1000", "KubeletOOMScoreAdj", "PodInfraOOMAdj", "--oom-score-adj"),
            *("oom_score_adj -997", "oom_score_adj -998", "oom_score_adj -999", "pause container"),
        ),
        means="-997: Guaranteed and node-critical pods. -998: pause. -999: kubelet, kube-proxy. -1000: never chosen.",
        rule=(
            "Older texts say -998 for Guaranteed: kubelets before 1.20 set that; today it is -997.",
            "Until 1.21 every critical pod had that of Guaranteed; since 1.22 only the class system-node-critical.",
            "-998 is what containerd gives to a sandbox's pause process; no container of a pod has it.",
        ),
        commands=(_EXPLAIN, "kubectl qos node NODE -o wide"),
        source=("pkg/kubelet/qos/policy.go", "pkg/proxy/apis/config/v1alpha1/defaults.go", "linux mm/oom_kill.c"),
        see=("oom_score_adj", "Guaranteed", "critical pod", "kube-proxy"),
    ),
    Entry(
        name="kube-proxy",
        also=("KubeProxyOOMScoreAdj",),
        means="The node's service proxy: the process sets its own oom_score_adj to -999, whatever the container has.",
        rule=("oomScoreAdj of its configuration can differ. Its container starts at -997 if it is node-critical.",),
        source=("pkg/proxy/apis/config/v1alpha1/defaults.go", "cmd/kube-proxy/app/options.go"),
        see=("oom_score_adj below 0", "critical pod"),
    ),
    Entry(
        name="pod-level resources",
        also=("PodLevelResources", "spec.resources", "pod resources", "PodMemoryLimit"),
        pattern=r"pod level (request|limit) for \S+ is insufficient to cover the aggregated container and .*",
        means="Requests and limits of the pod as a whole (spec.resources): if set, only they decide the QoS class.",
        rule=(
            "On by default since 1.34. The scheduler counts them instead of the sum of the containers.",
            "For oom_score_adj, the rest that no container requests is shared equally among all containers.",
        ),
        source=("pkg/apis/core/v1/helper/qos/qos.go", "pkg/kubelet/qos/policy.go", "KEP-2837"),
        see=("requests", "QoS class"),
    ),
    Entry(
        name="extended resource",
        also=("device plugin", "nvidia.com/gpu", "gpu", "GPUs"),
        means="A countable device such as nvidia.com/gpu: request and limit must be equal whole numbers.",
        rule=("It does not decide the QoS class. Without its device plugin a node's allocatable is 0.",),
        source=("pkg/apis/core/validation/validation.go", "pkg/kubelet/cm/devicemanager/manager.go"),
        see=("Insufficient resource", "UnexpectedAdmissionError"),
    ),
    Entry(
        name="hugepages",
        also=("huge pages", "hugepages-2Mi", "hugepages-1Gi", "HugePages require cpu or memory"),
        means="Pages that a node reserves: their request equals their limit, and a memory limit does not count them.",
        rule=("They need a request or limit of cpu or memory next to them, and do not decide the QoS class.",),
        source=("pkg/apis/core/validation/validation.go", "pkg/kubelet/nodestatus/setters.go"),
        see=("limits", "allocatable", "QoS class"),
    ),
    Entry(
        name="swap",
        also=(
            *("memorySwap", "swapBehavior", "LimitedSwap", "NoSwap", "UnlimitedSwap", "NodeSwap", "failSwapOn"),
            *("swap memory", "memory.swap.max", "Swap memory management"),
        ),
        means="No container swaps unless the kubelet's memorySwap.swapBehavior is LimitedSwap (default NoSwap).",
        rule=(
            "LimitedSwap: for Burstable pods that are not critical, on cgroup v2: request / node memory x node swap.",
            "A container with no memory request, or with request = limit, gets none.",
            "A kubelet refuses to start on a node with swap while failSwapOn is true, its default.",
            "Older texts say that pods never swap. NodeSwap is on since 1.30, which also dropped UnlimitedSwap.",
        ),
        source=("pkg/kubelet/kuberuntime/kuberuntime_container_linux.go", "pkg/kubelet/cm/container_manager_linux.go"),
        see=("memory limit", "Burstable"),
    ),
    Entry(
        name="singleProcessOOMKill",
        also=("memory.oom.group", "oom group"),
        means="A kubelet setting: true kills one process at a memory limit, false the container (memory.oom.group).",
        rule=(
            "Default false on cgroup v2, always true on v1. It exists since 1.32; 1.28 to 1.31 behave as with false.",
        ),
        commands=("kubectl qos node NODE",),
        source=("pkg/kubelet/kubelet.go", "pkg/kubelet/kuberuntime/kuberuntime_container_linux.go"),
        see=("OOMKilled", "memory limit"),
    ),
    Entry(
        name="Memory QoS",
        also=("memory.high", "memory.low", "memory.min", "memoryThrottlingFactor", "memoryReservationPolicy"),
        means="memory.high slows a container down before its limit; memory.min and memory.low protect its request.",
        rule=(
            "The gate is on since 1.37; memory.high needs the kubelet's memoryThrottlingFactor, which has no default.",
            "memory.min (Guaranteed) and memory.low (Burstable) need memoryReservationPolicy TieredReservation.",
        ),
        source=("pkg/kubelet/kuberuntime/kuberuntime_container_linux.go", "KEP-2570"),
        see=("cgroup", "memory limit"),
    ),
    Entry(
        name="init container",
        also=("initContainers", "spec.initContainers", "app container"),
        means="A container that must end with success before the next one starts; it counts for the QoS class.",
        rule=("The pod requests the larger of the highest init container and the sum of the app containers.",),
        source=("pkg/apis/core/v1/helper/qos/qos.go", "pkg/kubelet/kuberuntime/kuberuntime_container.go"),
        see=("sidecar", "requests", "QoS class"),
    ),
)
