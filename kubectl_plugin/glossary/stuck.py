"""Steps that a kubelet or a controller retries, by the text of their failure."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_DESCRIBE: Final = "kubectl describe pod NAME"
_OPERATIONS: Final = "pkg/volume/util/operationexecutor/operation_generator.go"
_SANDBOX: Final = "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go"

ENTRIES: Final = (
    Entry(
        name="a volume's ConfigMap or Secret is missing",
        pattern=r"MountVolume\.SetUp failed for volume \"[^\"]*\" ?: ((configmap|secret) \".*\" not found"
        r"|object \".*\" not registered)",
        means="A volume of the pod is a ConfigMap or Secret that its namespace does not have.",
        do=("Create it in the pod's namespace, or set optional: true on the volume; the kubelet tries again.",),
        commands=(_EXPLAIN,),
        source=(_OPERATIONS, "pkg/volume/configmap/configmap.go", "pkg/volume/secret/secret.go"),
        see=("FailedMount",),
    ),
    Entry(
        name="a key of a volume's ConfigMap or Secret is missing",
        pattern=r"MountVolume\.SetUp failed for volume .*references non-existent (config|secret) key: .*",
        means="The ConfigMap or Secret of a volume exists, but lacks a key that items of the volume name.",
        do=("Add that key to it, or correct items of the volume; the kubelet retries automatically.",),
        commands=(_EXPLAIN,),
        source=("pkg/volume/configmap/configmap.go", "pkg/volume/secret/secret.go"),
        see=("FailedMount",),
    ),
    Entry(
        name="CSI driver not registered",
        also=("not found in the list of registered CSI drivers",),
        pattern=r".*(driver name .* not found in the list of registered CSI drivers"
        r"|CSINode .* does not contain driver ).*|\S+ CSI driver is not installed on the node",
        means="The CSI driver of the volume has no plugin on that node, or it has not registered with the kubelet.",
        do=("Check the driver's DaemonSet: its pod on that node must run, and tolerate the node's taints.",),
        commands=("kubectl get csinode",),
        source=("pkg/volume/csi/csi_plugin.go",),
        see=("FailedMount",),
    ),
    Entry(
        name="NFS mount failed",
        also=("mount.nfs",),
        pattern=r"MountVolume\.\w+ failed for volume.*\bmount\.nfs.*",
        means="The node could not mount a share: mount.nfs of that node says why at the end of the text.",
        do=("Check the server and path of the volume, and that the server exports it to that node.",),
        commands=(_DESCRIBE,),
        source=("pkg/volume/nfs/nfs.go",),
        see=("FailedMount",),
    ),
    Entry(
        name="UnauthorizedOperation",
        pattern=r"AttachVolume\.\w+ failed for volume.*(Unauthorized|AccessDenied|[Nn]ot authorized|permission).*",
        means="The cloud denies the driver of the volume the permission to attach it.",
        do=("Give the volume's driver the permission that its cloud denies here.",),
        commands=(_DESCRIBE,),
        source=(_OPERATIONS,),
        see=("AttachVolume.Attach failed",),
    ),
    Entry(
        name="AttachVolume.Attach failed",
        also=("FailedAttachVolume",),
        pattern=r"AttachVolume\.\w+ failed for volume(?!.*external-attacher).*",
        means="The attach-detach controller could not attach a volume to the pod's node, and tries again.",
        rule=("The end of the text says why: rights, too many disks there, another zone, or attached elsewhere.",),
        commands=(_EXPLAIN, "kubectl get volumeattachments"),
        source=(_OPERATIONS, "pkg/controller/volume/attachdetach/reconciler/reconciler.go"),
        see=("Multi-Attach error", "FailedMount"),
    ),
    Entry(
        name="DetachVolume failed",
        also=("DetachVolume.Detach failed", "FailedDetachVolume"),
        pattern=r"DetachVolume(\.\w+)? failed.*|volume is still in use by node, according to Node status",
        means="The volume could not be detached from its old node, so no other node gets it; it is tried again.",
        do=("Check whether that node answers and its pods have ended; fence a node that is off.",),
        commands=("kubectl get volumeattachments", "kubectl qos partitions"),
        source=(_OPERATIONS,),
        see=("Multi-Attach error", "out-of-service"),
    ),
    Entry(
        name="FailedUnMount",
        also=("UnmountVolume.TearDown failed", "UnmountDevice failed", "device is busy", "target is busy"),
        pattern=r"Un(mount|map)(Volume|Device)(\.\w+)?( check)? failed.*|GetDeviceMountRefs check failed.*"
        r"|the device mount path .* is still mounted by other references .*"
        r"|the device is in use when it was no longer expected to be in use",
        means="The pod's processes have ended, and its kubelet cannot unmount a volume: the pod stays Terminating.",
        do=(
            "On the node, end processes that use the mount (fuser -vm), or restore the path to its server: it retries.",
            "A force delete leaves the mount.",
        ),
        commands=(_EXPLAIN,),
        source=(_OPERATIONS, "pkg/kubelet/volumemanager/volume_manager.go"),
        see=("Terminating", "FailedMount"),
    ),
    Entry(
        name="no runtime for a RuntimeClass",
        also=("no runtime is configured",),
        pattern=r".*(no runtime for \".*\" is configured|[Rr]untime [Hh]andler \"?.*\"? (is )?not (supported|found)).*",
        means="The node's container runtime has no handler with the name in the pod's RuntimeClass.",
        do=(
            "Configure the handler in that node's runtime, or correct runtimeClassName.",
            "scheduling.nodeSelector of the RuntimeClass keeps such pods on nodes that have it.",
        ),
        commands=("kubectl get runtimeclass",),
        source=(_SANDBOX, "pkg/kubelet/runtimeclass/runtimeclass_manager.go"),
        see=("FailedCreatePodSandBox",),
    ),
    Entry(
        name="failed to destroy network for sandbox",
        pattern=r".*KillPodSandboxError.*network.*",
        means="The network plugin (CNI) of the node does not remove the pod's sandbox: the pod stays Terminating.",
        do=("Check the network plugin's pod on that node, and its rights: the kubelet retries automatically.",),
        commands=(_DESCRIBE,),
        source=(_SANDBOX, "pkg/kubelet/container/sync_result.go"),
        see=("FailedKillPod",),
    ),
    Entry(
        name="no free pod address",
        also=("failed to assign an IP address to container",),
        pattern=r".*(sandbox|plugin).*(failed to assign an IP address|no (available|free) IP|no IP addresses available"
        r"|IP pool exhausted|failed to allocate for range).*",
        means="The node's network plugin (CNI) has no address left for the pod's sandbox.",
        do=("Free addresses on that node or give its network plugin more: fewer pods, a larger range or subnet.",),
        commands=(_DESCRIBE,),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox",),
    ),
    Entry(
        name="container init was OOM-killed",
        also=("memory limit too low",),
        pattern=r"(.*: )?container init was OOM-killed( \(.*)?",
        means="The memory limit is too small for the container runtime's own first steps: no process has run yet.",
        do=("Raise the memory limit: the runtime itself needs some MiB of it.",),
        commands=(_EXPLAIN,),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox", "OOMKilled"),
    ),
    Entry(
        name="cgroups used up",
        pattern=r".*/sys/fs/cgroup.*no space left on device.*",
        means="The node cannot create another cgroup. Its disk may have room.",
        do=("The node has no room for another cgroup: drain and restart it, or remove leftover cgroups.",),
        commands=("kubectl qos explain node/NODE",),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox",),
    ),
    Entry(
        name="no space left on device",
        pattern=r"Failed to create pod sandbox: .*no space left on device.*",
        means="A disk of the node is full: the runtime cannot create the files of a pod's sandbox.",
        do=("Free disk space or inodes on that node, in the directories that the text names.",),
        commands=("kubectl qos explain node/NODE",),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox", "MemoryPressure"),
    ),
    Entry(
        name="sandbox image",
        also=("pause image",),
        pattern=r"Failed to create pod sandbox: .*(sandbox image|\bpause[:@]).*",
        means="The node's runtime cannot pull its own image for sandboxes (pause): no new pod starts there.",
        do=("The node cannot pull the runtime's sandbox image (pause): check its connection to that registry.",),
        commands=(_DESCRIBE,),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox", "ImagePullBackOff"),
    ),
    Entry(
        name="sandbox name is reserved",
        also=("is reserved for",),
        pattern=r"Failed to create pod sandbox: .*name \".*\" is reserved for .*",
        means="An earlier attempt to create the sandbox has not ended in the node's runtime.",
        do=("An earlier attempt still holds the name in that node's runtime: check the load and disks of the node.",),
        commands=(_DESCRIBE,),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox",),
    ),
    Entry(
        name="failed to setup network for sandbox",
        pattern=r"Failed to create pod sandbox: .*(network|\bcni\b|plugin type=).*",
        means="The network plugin (CNI) of the node could not give the pod's sandbox its network.",
        do=("Check that node's network plugin (CNI): its pod there, its rights and its free addresses.",),
        commands=(_DESCRIBE, "kubectl qos explain node/NODE"),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox", "NetworkNotReady"),
    ),
)
