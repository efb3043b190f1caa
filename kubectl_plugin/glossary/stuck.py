"""Steps that a kubelet or a controller tries again and again, by the text that says why they fail."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

__all__ = ["ENTRIES"]

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_DESCRIBE: Final = "kubectl describe pod NAME"
_OPERATIONS: Final = "pkg/volume/util/operationexecutor/operation_generator.go"
_SANDBOX: Final = "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go"

ENTRIES: Final = (
    Entry(
        name="a volume's ConfigMap or Secret is missing",
        pattern=r"MountVolume\.SetUp failed for volume \"[^\"]*\" ?: ((configmap|secret) \".*\" not found"
        r"|references non-existent (config|secret) key: .*|object \".*\" not registered)",
        means="A volume of the pod is a ConfigMap or Secret that its namespace does not have, or lacks a key of it.",
        do=(
            "Create it in the pod's namespace, or set optional: true on the volume; the kubelet tries again by itself.",
        ),
        commands=(_EXPLAIN,),
        source=(_OPERATIONS, "pkg/volume/configmap/configmap.go", "pkg/volume/secret/secret.go"),
        see=("FailedMount",),
    ),
    Entry(
        name="CSI driver not registered",
        also=("not found in the list of registered CSI drivers",),
        pattern=r".*driver name .* not found in the list of registered CSI drivers.*",
        means="The CSI driver of the volume has no plugin on that node, or it has not registered with the kubelet.",
        do=("Look at the driver's DaemonSet: its pod on that node has to run, and tolerate the node's taints.",),
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
        name="AttachVolume.Attach failed",
        pattern=r"AttachVolume\.\w+ failed for volume(?!.*external-attacher).*",
        means="The attach-detach controller could not attach a volume to the pod's node, and tries again.",
        do=("Read the text's end: the storage says why, such as too many disks on that machine or another zone.",),
        commands=(_EXPLAIN, "kubectl get volumeattachments"),
        source=(_OPERATIONS, "pkg/controller/volume/attachdetach/reconciler/reconciler.go"),
        see=("Multi-Attach error", "FailedMount"),
    ),
    Entry(
        name="FailedUnMount",
        also=("UnmountVolume.TearDown failed", "device is busy", "target is busy"),
        pattern=r"UnmountVolume\.\w+ failed.*",
        means="The pod's processes have ended, and its kubelet cannot unmount a volume: the pod stays Terminating.",
        do=(
            "On the node, end what still uses the mount (fuser -vm), or restore the way to its server: it tries again.",
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
        means="The node's container runtime has no handler of the name that the pod's RuntimeClass has.",
        do=(
            "Configure the handler in that node's runtime, or correct runtimeClassName.",
            "scheduling.nodeSelector of the RuntimeClass keeps such pods on nodes that have it.",
        ),
        commands=("kubectl get runtimeclass",),
        source=(_SANDBOX, "pkg/kubelet/runtimeclass/runtimeclass_manager.go"),
        see=("FailedCreatePodSandBox",),
    ),
    Entry(
        name="no free pod address",
        also=("failed to assign an IP address to container",),
        pattern=r".*(failed to assign an IP address|no (available|free) IP|no IP addresses available|IP pool exhausted"
        r"|failed to allocate for range).*",
        means="The node's network plugin (CNI) has no address left for the pod's sandbox.",
        do=("Free addresses on that node or give its network plugin more: fewer pods, a larger range or subnet.",),
        commands=(_DESCRIBE,),
        source=(_SANDBOX,),
        see=("FailedCreatePodSandBox",),
    ),
)
