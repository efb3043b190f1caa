"""Messages of a node's kubelet and runtime."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_NODE: Final = "kubectl qos node NODE"
_EVENTS: Final = "kubectl describe node NODE"
_SETTERS: Final = "pkg/kubelet/nodestatus/setters.go"

ENTRIES: Final = (
    Entry(
        name="KubeletNotReady",
        also=(
            *("PLEG is not healthy", "container runtime is down", "container runtime not ready"),
            "node.kubernetes.io/not-ready",
        ),
        pattern=r"(.*[,:[] ?)?(pleg (was last seen active \S+ ago|has yet to be successful)|container runtime is down"
        r"|container runtime (network )?not ready"
        r"|container runtime status check may not have completed yet)([;,:\]].*)?",
        means="The kubelet answers and reports that it is not ready: Ready is False, not Unknown.",
        rule=(
            "The condition's message names what is missing: the runtime, the network, or a list of containers in time.",
            "The node gets the taint node.kubernetes.io/not-ready: its pods are deleted after tolerationSeconds.",
        ),
        do=("Check the container runtime and the load of that machine.",),
        commands=(_EVENTS, "kubectl qos partitions"),
        source=(_SETTERS, "pkg/kubelet/runtime.go", "pkg/kubelet/pleg/generic.go"),
        see=("node.kubernetes.io/unreachable", "NetworkNotReady", "tolerationSeconds"),
    ),
    Entry(
        name="KubeletReady",
        also=(
            *("Ready", "NodeReady", "NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"),
            *("KubeletHasSufficientMemory", "KubeletHasNoDiskPressure", "KubeletHasSufficientPID"),
            *("kubelet has sufficient memory available", "kubelet has no disk pressure", "NodeSchedulable"),
            *("kubelet has sufficient PID available", "kubelet is posting ready status"),
        ),
        pattern=r"Node \S+ status is now: Node(Ready|Has(Sufficient|No).*|Schedulable)"
        r"|Registered Node \S+ in Controller",
        means="No problem: the node reports that it is ready, or not short of resources.",
        commands=(_NODE,),
        source=(_SETTERS,),
        see=("MemoryPressure",),
    ),
    Entry(
        name="Rebooted",
        pattern=r"Node \S+ has been rebooted, boot id: .*",
        means="The node's machine was restarted: all processes that ran on it have ended.",
        rule=("Its pods keep their objects; containers start again as restartPolicy says, which counts as a restart.",),
        commands=(_EVENTS,),
        source=(_SETTERS,),
        see=("SandboxChanged", "ContainerStatusUnknown"),
    ),
    Entry(
        name="NodeNotReady",
        also=("NotReady",),
        pattern=r"Node \S+ status is now: NodeNotReady|Node is not ready",
        means="The node's Ready is no longer True: its kubelet reports that (False), or is silent (Unknown).",
        rule=(
            "From kubelet: it answers, and its Ready condition names what is missing, mostly runtime or network.",
            "From node-controller: False or Unknown alike. Unknown: no renewed Lease for 50 s (40 s before 1.32).",
            "Both taint the node: pods are deleted when their tolerationSeconds are over, 300 s by default.",
        ),
        do=("Read status and message of the Ready condition before you act on the node.",),
        commands=(_EVENTS, "kubectl qos partitions"),
        source=(_SETTERS, "pkg/controller/nodelifecycle/node_lifecycle_controller.go"),
        see=("KubeletNotReady", "node.kubernetes.io/unreachable", "tolerationSeconds"),
    ),
    Entry(
        name="SystemOOM",
        also=("global OOM", "kernel OOM", "node OOM", "NodeOOMKill", "NodeOutOfMemory", "systemd-oomd", "PSI"),
        pattern=r"System OOM encountered.*|(.*[\]:] )?(Out of memory: Kill(ed)? process .*"
        r"|oom-kill:constraint=CONSTRAINT_NONE,.*)",
        means="The kernel of the node ran out of memory as a whole, and killed a process: no container's own limit.",
        rule=(
            "The process with the most points is killed: usage and oom_score_adj count, not the QoS class.",
            "systemd-oomd kills sooner, a whole cgroup, by PSI (time lost to shortage): exit code 137, not OOMKilled.",
        ),
        do=("Check what is killed first there now, and which pods use more than they request.",),
        commands=(_NODE,),
        source=("pkg/kubelet/oom/oom_watcher_linux.go",),
        see=("OOMKilled", "oom_score_adj", "overcommit"),
    ),
    Entry(
        name="OOMKilling",
        pattern=r"(.*[\]:] )?(\S+ invoked oom-killer|oom-kill:constraint=|Killed process \d+ \().*",
        means="The kernel killed a process for memory; only its text says whether a limit or the node ran out.",
        rule=("Memory cgroup or CONSTRAINT_MEMCG: the limit of a container or pod. CONSTRAINT_NONE: the node.",),
        commands=(_NODE,),
        source=("linux mm/oom_kill.c",),
        see=("OOMKilled", "SystemOOM"),
    ),
    Entry(
        name="EvictionThresholdMet",
        pattern=r"Attempting to reclaim (memory|ephemeral-storage|inodes|pids|nodefs|imagefs)"
        r"|Eviction manager: (must evict pod\(s\)|attempting) to reclaim",
        means="The node crossed an eviction threshold: its kubelet frees what it can, then evicts pods.",
        rule=("Short of disk, it first removes dead containers and unused images; short of memory, it evicts.",),
        commands=(_NODE,),
        source=("pkg/kubelet/eviction/eviction_manager.go",),
        see=("Evicted", "eviction threshold", "MemoryPressure"),
    ),
    Entry(
        name="ImageGCFailed",
        also=("FreeDiskSpaceFailed",),
        pattern=r"Failed to garbage collect required amount of images.*|Insufficient free disk space on the node's .*"
        r"|wanted to free \d+ bytes, but freed \d+ bytes.*",
        means="The kubelet could not free enough disk by removing unused images.",
        rule=("Other data fill the disk: images in use, logs, writable layers, emptyDir volumes.",),
        do=("Check the disk of that node before the kubelet starts to evict.",),
        commands=(_NODE,),
        source=("pkg/kubelet/images/image_gc_manager.go",),
        see=("eviction threshold", "Evicted"),
    ),
    Entry(
        name="InvalidDiskCapacity",
        pattern=r"invalid capacity 0 on image filesystem",
        means="The container runtime reported an image filesystem of 0 bytes: mostly the kubelet has just started.",
        rule=("Nothing was removed, and it does not mean that a disk is full. The kubelet checks again every 5 min.",),
        do=("If it lasts for more than 10 min, check that the container runtime of the node answers.",),
        commands=(_NODE,),
        source=("pkg/kubelet/images/image_gc_manager.go",),
        see=("ImageGCFailed", "KubeletNotReady"),
    ),
    Entry(
        name="ContainerGCFailed",
        means="The kubelet could not remove dead containers: mostly the container runtime of the node does not answer.",
        rule=("The text is the runtime's own: check that it runs. The kubelet tries again every minute.",),
        commands=(_NODE,),
        source=("pkg/kubelet/kubelet.go",),
        see=("KubeletNotReady", "ImageGCFailed"),
    ),
    Entry(
        name="exceeded its local ephemeral storage limit",
        also=("ephemeral storage limit", "emptyDir sizeLimit", "sizeLimit"),
        pattern=r"Container .* exceeded its local ephemeral storage limit.*"
        r"|Pod ephemeral local storage usage exceeds the total limit of containers.*"
        r"|Usage of EmptyDir volume .* exceeds the limit.*",
        means="The kubelet evicted only this pod: it wrote more than its own limit, whatever room the node has.",
        rule=("Counted are logs, the writable layer and emptyDir, against limits.ephemeral-storage or sizeLimit.",),
        do=("Raise that limit, or write less: to a volume, or with logs that rotate.",),
        commands=("kubectl qos explain pod/NAME",),
        source=("pkg/kubelet/eviction/eviction_manager.go", "pkg/kubelet/eviction/helpers.go"),
        see=("Evicted",),
    ),
    Entry(
        name="MaintenancePlanned",
        also=("MaintenanceInProgress", "DrainInProgress", "GracefulNodeShutdownInProgress"),
        means="An admin announces a drain, a shutdown or maintenance of the node (alpha in 1.37, off by default).",
        rule=("It does not keep pods away; a cordon or a taint does.",),
        source=("pkg/features/kube_features.go",),
    ),
)
