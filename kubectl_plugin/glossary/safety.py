"""Silent nodes, volumes and force deletion."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_PARTITIONS: Final = "kubectl qos partitions"
_LIFECYCLE: Final = "pkg/controller/nodelifecycle/node_lifecycle_controller.go"
_RECONCILER: Final = "pkg/controller/volume/attachdetach/reconciler/reconciler.go"

ENTRIES: Final = (
    Entry(
        name="force deletion",
        also=("--force", "force delete", "grace 0", "--grace-period=0", "Immediate deletion does not wait"),
        pattern=r"(warning: )?Immediate deletion does not wait for confirmation.*",
        means="The object is removed at once; nobody waits for the processes, which may run on.",
        rule=(
            "A StatefulSet then makes the same name again: two may write to the same data.",
            "A pod that is already Terminating does not stop sooner by it: only its name is free.",
        ),
        do=("Make sure that the machine is off first, or wait for the grace period.",),
        commands=("kubectl qos delete pod/NAME --grace-period=0", "kubectl qos explain pod/NAME"),
        source=("pkg/registry/core/pod/strategy.go", "pkg/kubelet/pod_workers.go"),
        see=("Terminating", "out-of-service", "StatefulSet"),
    ),
    Entry(
        name="StatefulSet",
        also=("at most one", "statefulset guarantee", "ordinal"),
        means="At most one pod of each name: a new one is made only when the old object is gone.",
        rule=("So a pod on a silent node blocks its ordinal until somebody proves that it is dead.",),
        commands=(_PARTITIONS, "kubectl qos explain pod/NAME"),
        source=("pkg/controller/statefulset/stateful_set_control.go",),
        see=("force deletion", "out-of-service"),
    ),
    Entry(
        name="node.kubernetes.io/unreachable",
        also=("unreachable", "NodeLost", "NotReady", "node.kubernetes.io/not-ready", "Unknown", "NodeNotReady"),
        means="The node's kubelet has not renewed its Lease for 50 s: Ready is Unknown, and the node is tainted.",
        rule=(
            "Its pods go on running, or not: nobody can tell.",
            "Pods are deleted when their tolerationSeconds are over, 300 s by default; they then stay Terminating.",
            "When most nodes of a zone go silent, deletions slow down or stop.",
        ),
        do=("Reach the machine; or prove that it is off, and fence it.",),
        commands=(_PARTITIONS, "kubectl qos fence node/NODE"),
        source=(_LIFECYCLE, "pkg/controller/tainteviction/taint_eviction.go"),
        see=("Terminating", "out-of-service", "tolerationSeconds"),
    ),
    Entry(
        name="tolerationSeconds",
        also=("TaintManagerEviction", "taint eviction"),
        pattern=r"Marking for deletion Pod .*",
        means="How long a pod stays on a node with a NoExecute taint before it is deleted.",
        rule=(
            "300 s for not-ready and unreachable is added to each pod at creation; a DaemonSet's pods stay for ever.",
        ),
        commands=("kubectl qos explain pod/NAME --timeline=node-lost",),
        source=(
            "pkg/controller/tainteviction/taint_eviction.go",
            "plugin/pkg/admission/defaulttolerationseconds/admission.go",
        ),
        see=("node.kubernetes.io/unreachable",),
    ),
    Entry(
        name="out-of-service",
        also=("node.kubernetes.io/out-of-service", "non-graceful node shutdown", "fence", "fencing"),
        means="A taint by which you vouch that a machine is off: its pods are removed, its volumes detached at once.",
        rule=("Nothing checks it. On a machine that runs, two pods write to one volume.",),
        do=("Take the taint off again when the node comes back: kubectl qos unfence node/NODE.",),
        commands=("kubectl qos fence node/NODE",),
        source=("pkg/controller/podgc/gc_controller.go", _RECONCILER, "KEP-2268"),
        see=("force deletion", "Multi-Attach error"),
    ),
    Entry(
        name="Multi-Attach error",
        also=("FailedAttachVolume", "volume is already exclusively attached"),
        pattern=r"Multi-Attach error for volume .*",
        means="The volume is still attached to another node, and it may be attached to one only.",
        rule=(
            "It is detached when the other pod's object is gone and its kubelet has unmounted it.",
            "From an unhealthy node it is forced after 6 minutes, counted from when no pod wants it there.",
        ),
        do=("See who holds it; a pod that is Terminating on a silent node holds it without end.",),
        commands=("kubectl qos explain pod/NAME", _PARTITIONS),
        source=(_RECONCILER, "pkg/volume/util/operationexecutor/operation_generator.go"),
        see=("out-of-service", "access modes"),
    ),
    Entry(
        name="FailedMount",
        also=("MountVolume.SetUp failed", "Unable to attach or mount volumes"),
        pattern=r"(MountVolume\.\w+ failed|Unable to attach or mount volumes).*",
        means="The kubelet could not mount a volume; it tries again, after up to 2 minutes.",
        do=("A Secret or ConfigMap that is missing, or a volume that is not attached yet: read the text's end.",),
        commands=("kubectl qos explain pod/NAME",),
        source=(
            "pkg/volume/util/operationexecutor/operation_generator.go",
            "pkg/kubelet/volumemanager/volume_manager.go",
        ),
        see=("Multi-Attach error",),
    ),
    Entry(
        name="access modes",
        also=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "RWO", "RWX", "ROX", "accessModes"),
        means="Who may use it: ReadWriteOnce one node, all its pods, ReadWriteMany any, ReadWriteOncePod one pod.",
        rule=("ReadWriteOnce keeps two writers apart only if the backend locks: a disk does, NFS does not.",),
        commands=("kubectl qos explain pod/NAME",),
        source=("pkg/volume/util/util.go", "KEP-2485"),
        see=("Multi-Attach error", "ReadWriteOncePod in use"),
    ),
)
