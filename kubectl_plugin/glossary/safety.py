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
        also=(
            *("--force", "force delete", "grace 0", "--grace-period=0", "Immediate deletion does not wait"),
            *("forced pod termination", "forced deletion", "Force Delete StatefulSet Pods"),
        ),
        pattern=r"(warning: )?Immediate deletion does not wait for confirmation.*|kubectl delete (?=.*--force\b).*"
        r"|--force and --grace-period greater than 0 cannot be specified together",
        means="The object is removed at once, without waiting for the processes, which may continue to run.",
        rule=(
            "A StatefulSet then recreates the same name: two pods may write to the same data.",
            "A pod that is already Terminating does not stop sooner: only its name becomes free.",
            "NotSafe: a second copy or writer may start. NotSafeYet: its node is silent. Safe: no container runs.",
        ),
        do=("Make sure that the machine is off first, or wait for the grace period.",),
        commands=("kubectl qos delete pod/NAME --grace-period=0", "kubectl qos explain pod/NAME"),
        source=("pkg/registry/core/pod/strategy.go", "pkg/kubelet/pod_workers.go"),
        see=("Terminating", "out-of-service", "StatefulSet"),
    ),
    Entry(
        name="StatefulSet",
        also=(
            *("at most one", "at most once", "statefulset guarantee", "ordinal", "pod safety", "PetSet", "pet"),
            *("podManagementPolicy", "OrderedReady", "volumeClaimTemplates", "stable identity", "NoReplacement"),
        ),
        means="At most one pod of each name: a new one is created only after the old object is removed.",
        rule=(
            "So a pod on a silent node blocks its ordinal until it is proved that it has ended.",
            "With podManagementPolicy OrderedReady (default) higher ordinals wait meanwhile; not with Parallel.",
            "A new pod of an ordinal gets the same claims (volumeClaimTemplates).",
            "Older texts say PetSet: alpha in 1.3 and 1.4, renamed in 1.5.",
        ),
        commands=(_PARTITIONS, "kubectl qos explain pod/NAME"),
        source=("pkg/controller/statefulset/stateful_set_control.go",),
        see=("force deletion", "out-of-service"),
    ),
    Entry(
        name="node.kubernetes.io/unreachable",
        also=(
            *("unreachable", "node unreachable", "NodeStatusUnknown", "NodeStatusNeverUpdated"),
            *("Kubelet stopped posting node status", "Kubelet never posted node status."),
        ),
        means="Its kubelet has not renewed its Lease for 50 s (40 s before 1.32): Ready is Unknown, the node tainted.",
        rule=(
            "Unknown whether its pods still run.",
            "Pods are deleted when their tolerationSeconds are over, 300 s by default; they then stay Terminating.",
            "When most nodes of a zone go silent, deletions slow down or stop.",
        ),
        do=("Reach the machine; or prove that it is off, and fence it.",),
        commands=(_PARTITIONS, "kubectl qos fence node/NODE"),
        source=(_LIFECYCLE, "pkg/controller/tainteviction/taint_eviction.go"),
        see=("NodeNotReady", "Terminating", "out-of-service", "tolerationSeconds"),
    ),
    Entry(
        name="silent node",
        also=(
            *("silent", "node silent", "does not answer", "node does not answer", "NodeDown", "NodeLost", "lost node"),
            *("dead node", "NodesLost", "PodsUnreachable", "MissedHeartbeats", "Returning", "NodeReturning"),
        ),
        pattern=r"Node .* which was running pod .* is unresponsive",
        means="Its kubelet does not answer: its processes may still run, and the API cannot show whether they do.",
        rule=(
            "No process ends there automatically: pods are marked for deletion after 300 s, and stay Terminating.",
            "MissedHeartbeats, TooEarly to fence: Ready is not Unknown yet. Returning: the Lease is renewed again.",
            "A ReplicaSet then creates others; a StatefulSet waits until the old objects are removed.",
            "Older texts say NodeLost: until 1.26 a controller without taint evictions wrote that reason into pods.",
            "Today no one writes it; kubectl still shows Unknown for a Terminating pod that has it.",
        ),
        do=("Reach the machine; or make sure that it is off, and fence it.",),
        commands=(_PARTITIONS, "kubectl qos fence node/NODE"),
        source=(_LIFECYCLE, "pkg/util/node/node.go", "pkg/controller/util/node/controller_utils.go"),
        see=("node.kubernetes.io/unreachable", "partition", "out-of-service", "etcd member"),
    ),
    Entry(
        name="partition",
        also=("network partition", "split brain", "split-brain", "zone outage"),
        means="A node, or a zone, and the control plane cannot reach each other: its processes continue, unobserved.",
        rule=(
            "In the API it looks like a machine that is off: only the machine or its power supply shows which.",
            "With 55% of a zone silent its nodes are tainted more slowly, in a small cluster not at all.",
            "With every node silent, nothing is deleted.",
            "When it heals, the kubelet stops what was deleted meanwhile.",
        ),
        commands=(_PARTITIONS,),
        source=(_LIFECYCLE,),
        see=("silent node", "force deletion", "storage-side fencing"),
    ),
    Entry(
        name="deleted Node",
        also=(
            *("delete node", "kubectl delete node", "node deleted", "node registers again", "register-node", "gone"),
            "node gone",
        ),
        pattern=r"Removing Node \S+ from Controller|Deleting node \S+ because it does not exist in the cloud provider",
        means="Deleting a Node object does not stop the machine: its kubelet recreates the object at its next start.",
        rule=(
            "It registers only at its start; a running kubelet only fails to report until it is restarted.",
            "PodGC removes pods of a Node that has been missing for 40 s, without a grace period.",
            "A kubelet that answers then stops them; on an unreachable machine they continue to run.",
        ),
        do=("Drain it first, or make sure that it is off; a cloud provider deletes Nodes of removed machines.",),
        commands=("kubectl qos explain node/NODE", _PARTITIONS),
        source=("pkg/kubelet/kubelet_node_status.go", "pkg/controller/podgc/gc_controller.go"),
        see=("PodGC", "silent node", "out-of-service"),
    ),
    Entry(
        name="PodGC",
        also=("pod garbage collection", "pod garbage collector", "terminated-pod-gc-threshold", "orphaned pod"),
        pattern=r"PodGC: .*|PodGC is force deleting Pod",
        means="The controller that removes pods that nothing else removes, every 20 s and without a grace period.",
        rule=(
            "Pods of a Node that has been missing for 40 s; Terminating pods that never had a node.",
            "Terminating pods of a node that is not Ready and has the taint out-of-service.",
            "The oldest ended pods, once there are more than 12500.",
        ),
        commands=("kubectl qos explain pod/NAME --timeline=node-lost",),
        source=("pkg/controller/podgc/gc_controller.go", "pkg/controller/podgc/config/v1alpha1/defaults.go"),
        see=("deleted Node", "out-of-service", "DisruptionTarget"),
    ),
    Entry(
        name="etcd member",
        also=("etcd", "etcd on a lost node", "etcd member on a lost node", "etcd quorum"),
        means="For an etcd that runs as a static pod on a lost node: remove the member first, then replace the node.",
        rule=(
            "A lost member still counts for the quorum: three members with one lost tolerate no other loss.",
            "A new member that is added first makes four, and three of them must answer.",
            "Deleting its mirror pod or its Node changes nothing in etcd.",
        ),
        do=("etcdctl member list, then etcdctl member remove ID, from a member that answers; then join the new node.",),
        commands=("kubectl qos explain pod/ETCD -n kube-system", _PARTITIONS),
        source=(
            "cmd/kubeadm/app/phases/etcd/local.go",
            "cmd/kubeadm/app/cmd/phases/reset/removeetcdmember.go",
        ),
        see=("silent node", "deleted Node"),
    ),
    Entry(
        name="tolerationSeconds",
        also=(
            *("TaintManagerEviction", "taint eviction", "taint-based eviction", "taint manager"),
            "taint-eviction-controller",
        ),
        pattern=r"(Marking for|Cancelling) deletion (of )?Pod .*|Taint manager: deleting due to NoExecute taint"
        r"|effect must be 'NoExecute' when `tolerationSeconds` is set"
        r"|(--)?default-(not-ready|unreachable)-toleration-seconds(=\d+)?",
        means="How long a pod stays on a node with a NoExecute taint before it is deleted.",
        rule=("At creation each pod gets 300 s for not-ready and unreachable; a DaemonSet's pods stay for ever.",),
        commands=("kubectl qos explain pod/NAME --timeline=node-lost",),
        source=(
            "pkg/controller/tainteviction/taint_eviction.go",
            "plugin/pkg/admission/defaulttolerationseconds/admission.go",
        ),
        see=("node.kubernetes.io/unreachable",),
    ),
    Entry(
        name="out-of-service",
        also=(
            *("node.kubernetes.io/out-of-service", "node out of service", "non-graceful node shutdown", "fence"),
            *("fencing", "Non-graceful node shutdown handling"),
        ),
        means="A taint that confirms that a machine is off: its pods are removed, its volumes detached at once.",
        rule=("Nothing verifies it: on a running machine, two pods write to one volume. Back: it answers again.",),
        do=("Remove the taint when the node is back: kubectl qos unfence node/NODE.",),
        commands=("kubectl qos fence node/NODE",),
        source=("pkg/controller/podgc/gc_controller.go", _RECONCILER, "KEP-2268"),
        see=("force deletion", "Multi-Attach error", "storage-side fencing"),
    ),
    Entry(
        name="node.cloudprovider.kubernetes.io/shutdown",
        also=("shutdown taint", "InstanceShutdown"),
        means="A taint of a node that is not Ready: its cloud provider said that the machine is shut down.",
        rule=("It keeps pods away and evicts none. It stays until the node is Ready, also if the machine runs again.",),
        do=("Check in the provider's console that the machine is off, then fence the node.",),
        commands=(_PARTITIONS, "kubectl qos fence node/NODE"),
        source=("k8s.io/cloud-provider/controllers/nodelifecycle/node_lifecycle_controller.go",),
        see=("out-of-service", "silent node", "node.kubernetes.io/unreachable"),
    ),
    Entry(
        name="storage-side fencing",
        also=("storage fencing", "fencing at the storage", "SCSI reservation", "persistent reservation"),
        means="The storage itself refuses the old node's writes; Kubernetes neither requests nor detects it.",
        rule=(
            "A detach of a cloud disk is fencing: the old machine loses the disk.",
            "An NFS export, or an iSCSI or FC target, accepts writes from every client that reaches it.",
            "A Multi-Attach guard only keeps Kubernetes from attaching twice; it stops no process.",
        ),
        do=("Cut the old node off at the storage (export rules, initiator access, reservations), or power it off.",),
        commands=("kubectl qos explain pod/NAME",),
        source=(_RECONCILER, "pkg/volume/iscsi/attacher.go", "pkg/volume/fc/attacher.go", "KEP-2268"),
        see=("out-of-service", "Multi-Attach error", "access modes"),
    ),
    Entry(
        name="VolumeAttachment",
        also=("volumeattachments", "attach/detach controller", "attachdetach", "SuccessfulAttachVolume"),
        pattern=r"AttachVolume\.\w+ (failed|succeeded) for volume .*|volume \S+ is not yet in node's status"
        r"|Volume not attached according to node status.*|VerifyControllerAttachedVolume.* failed.*",
        means="The object that requests a CSI driver to attach a volume to a node; it is removed after the detach.",
        rule=(
            "The attach/detach controller creates and deletes it; the driver's external-attacher sets status.attached.",
            "Removed when no pod needs the volume there and the kubelet unmounted it; if not Ready, after 6 minutes.",
            "Deleting it by hand, or its finalizer, detaches nothing safely: a second node may then write.",
        ),
        commands=("kubectl get volumeattachments", "kubectl qos explain pod/NAME"),
        source=("pkg/volume/csi/csi_attacher.go", _RECONCILER),
        see=("Multi-Attach error", "access modes"),
    ),
    Entry(
        name="Multi-Attach error",
        also=("Multi-Attach", "volume is already exclusively attached", "Waiting for detach"),
        pattern=r"(Multi-Attach error|Waiting for detach) for volume .*|Volume is already used by (pod\(s\) .*"
        r"|\d+ pod\(s\) .*)"
        r"|Volume is already exclusively attached to one node.*",
        means="The volume is still attached to another node, and it may be attached to one only. Since 1.37 the event "
        'begins with "Waiting for detach".',
        rule=(
            "It is detached when the other pod's object is removed and its kubelet has unmounted it.",
            "A Terminating pod on a silent node keeps it attached until the node answers or is fenced.",
            "From an unhealthy node the detach is forced after 6 minutes, counted from when no pod needs it there.",
        ),
        do=(
            "If the node with the volume is silent, make sure that its machine is off, then fence it.",
            "If an older pod of its Deployment uses it, the update waits for itself: set Recreate (with a gap).",
        ),
        commands=("kubectl qos explain pod/NAME", _PARTITIONS),
        source=(_RECONCILER, "pkg/volume/util/operationexecutor/operation_generator.go"),
        see=("out-of-service", "access modes"),
    ),
    Entry(
        name="FailedMount",
        also=("MountVolume.SetUp failed", "Unable to attach or mount volumes", "FailedMapVolume", "mount"),
        pattern=r"(Mount|Map)Volume(\.\w+)?( check| initialization)? failed.*|Unable to attach or mount volumes: .*"
        r"|unmounted volumes=.*, unattached volumes=.*, failed to process volumes=.*",
        means="The kubelet could not mount a volume; it tries again, after up to 2 minutes.",
        rule=("The end of the text says why.",),
        commands=("kubectl qos explain pod/NAME",),
        source=(
            "pkg/volume/util/operationexecutor/operation_generator.go",
            "pkg/kubelet/volumemanager/volume_manager.go",
        ),
        see=("Multi-Attach error",),
    ),
    Entry(
        name="access modes",
        also=("two writers", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "RWO", "RWX", "ROX", "accessModes"),
        pattern=r"may not use ReadWriteOncePod with other access modes|at least 1 access mode is required",
        means="Who may use it: ReadWriteOnce one node, all its pods, ReadWriteMany any, ReadWriteOncePod one pod.",
        rule=("ReadWriteOnce keeps two writers apart only if the backend locks: a disk does, NFS does not.",),
        commands=("kubectl qos explain pod/NAME",),
        source=("pkg/volume/util/util.go", "KEP-2485"),
        see=("Multi-Attach error", "ReadWriteOncePod in use"),
    ),
    Entry(
        name="Lease",
        also=("heartbeat", "node lease", "kube-node-lease", "nodeLeaseDurationSeconds", "nodeStatusReportFrequency"),
        pattern=r"Failed to ensure lease exists, will retry",
        means="A node's heartbeat: its kubelet renews the Lease in kube-node-lease every 10 s (a quarter of 40 s).",
        rule=(
            "The node's status is a heartbeat, too: it is sent on a change, or every 5 min.",
            "After 50 s without either (40 s before 1.32) the node controller sets Ready to Unknown.",
        ),
        commands=(_PARTITIONS, "kubectl get lease -n kube-node-lease NODE"),
        source=("pkg/kubelet/kubelet.go", _LIFECYCLE),
        see=("node controller", "silent node"),
    ),
    Entry(
        name="node controller",
        also=(
            *("node lifecycle controller", "node-monitor-grace-period", "node-eviction-rate", "pod-eviction-timeout"),
            *("secondary-node-eviction-rate", "unhealthy-zone-threshold", "large-cluster-size-threshold"),
            *("zone disruption", "FullDisruption", "PartialDisruption"),
        ),
        pattern=r"Controller detected that zone is now in new state",
        means="It marks nodes without heartbeats Unknown and taints them; NoExecute taints then delete their pods.",
        rule=(
            "One node per 10 s is tainted; with 55% of a zone silent one per 100 s, with 50 nodes or fewer there none.",
            "FullDisruption: no node of a zone is Ready. PartialDisruption: at least 3, and 55% of them, are not.",
            "It never forces: the pods stay Terminating until the node answers.",
            "Older texts mention pod-eviction-timeout (removed in 1.27): today each pod's tolerationSeconds count.",
        ),
        commands=(_PARTITIONS,),
        source=(_LIFECYCLE, "cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go"),
        see=("Lease", "silent node", "tolerationSeconds", "partition"),
    ),
    Entry(
        name="kubelet",
        means="The agent of each node: it starts, probes, stops and evicts the node's pods, and reports them.",
        rule=("Only the kubelet confirms that processes have ended: without it, a Terminating pod stays.",),
        source=("pkg/kubelet/kubelet.go", "pkg/kubelet/pod_workers.go"),
        see=("kubelet restart", "Terminating", "Lease"),
    ),
    Entry(
        name="quorum",
        also=("majority", "raft"),
        means="The majority of a group's members, n / 2 + 1: with fewer, etcd and its like accept no writes.",
        do=("A member that lost its data counts until the application removes it: do that before its pod is back.",),
        source=("cmd/kubeadm/app/cmd/phases/reset/removeetcdmember.go",),
        see=("etcd member", "force deletion"),
    ),
    Entry(
        name="fencing controller",
        also=("fencing agent", "STONITH", "IPMI", "BMC", "power off", "node fencing"),
        means="A program that makes sure a silent machine cannot write: by power, hypervisor, cloud or storage.",
        rule=("Kubernetes has none: the taint out-of-service is how a person or program reports that it is done.",),
        commands=("kubectl qos fence node/NODE",),
        source=(_RECONCILER, "KEP-2268"),
        see=("out-of-service", "storage-side fencing", "partition"),
    ),
    Entry(
        name="PersistentVolume",
        also=(
            *("PV", "PVC", "PersistentVolumeClaim", "volume claim", "StorageClass", "storageClassName", "provisioner"),
            *("reclaim policy", "persistentVolumeReclaimPolicy", "Retain", "Recycle", "Released", "StorageClasses"),
            "volumeMode",
        ),
        means="A disk or share (PV); a pod uses it by a claim (PVC) in its namespace, which is bound to one volume.",
        rule=(
            "volumeMode Filesystem (default) mounts it, Block passes the raw device; claim and volume must agree.",
            "A pod starts only when its claims are bound. A claim in use is not removed (pvc-protection).",
            "The StorageClass names the driver that creates it, at once or for a placed pod (volumeBindingMode).",
            "After its claim is deleted, Delete (StorageClass's default) removes the disk, Retain keeps it: Released.",
        ),
        commands=("kubectl describe pvc CLAIM", "kubectl describe pv VOLUME"),
        source=("pkg/controller/volume/persistentvolume/pv_controller.go", "pkg/apis/core/types.go"),
        see=("access modes", "WaitForFirstConsumer", "attach"),
    ),
    Entry(
        name="attach",
        also=("attached", "volumesAttached", "CSI", "CSI driver", "external-attacher", "attachRequired"),
        means="Connecting a volume to a node before the kubelet mounts it: the attach/detach controller does it.",
        rule=(
            "CSI drivers get a VolumeAttachment, unless attachRequired is false; iSCSI and FC attach in name only.",
            "NFS, hostPath, emptyDir and local volumes are only mounted. Node.status.volumesAttached lists the others.",
        ),
        source=("pkg/controller/volume/attachdetach/attach_detach_controller.go", "pkg/volume/csi/csi_attacher.go"),
        see=("detach", "VolumeAttachment", "Multi-Attach error"),
    ),
    Entry(
        name="detach",
        also=("detached", "volumesInUse", "unmount", "force detach", "disable-force-detach-on-timeout"),
        means="Happens when no pod needs the volume on that node and its kubelet no longer lists it in volumesInUse.",
        rule=(
            "From a node that is not Ready it is forced after 6 minutes; with the taint out-of-service at once.",
            "--disable-force-detach-on-timeout turns the 6 minutes off.",
            "The old machine loses a cloud disk; for iSCSI and FC, only the controller's records change.",
        ),
        commands=(_PARTITIONS,),
        source=(_RECONCILER, "pkg/volume/iscsi/attacher.go"),
        see=("attach", "out-of-service", "Multi-Attach error", "storage-side fencing"),
    ),
    Entry(
        name="NFS",
        also=("nfs volume",),
        means="Never attached and never locked: every node that reaches the server can mount it and write.",
        rule=("ReadWriteOnce has no effect here. After a force deletion two pods may write at the same time.",),
        do=("Use a StatefulSet, do not force, and first remove the old node from the server's export.",),
        source=("pkg/volume/nfs/nfs.go", "pkg/volume/util/util.go"),
        see=("access modes", "storage-side fencing", "NFS mount failed"),
    ),
    Entry(
        name="iSCSI",
        also=("FC", "Fibre Channel", "iscsi volume"),
        means="iSCSI and FC targets take writes from every node that logs in; attach and detach are bookkeeping only.",
        rule=("A second node cannot use a ReadWriteOnce volume until its detach; the old machine still can then.",),
        do=("Cut the old node off at the target (initiator access, reservations) before you force or fence.",),
        source=("pkg/volume/iscsi/attacher.go", "pkg/volume/fc/attacher.go", _RECONCILER),
        see=("storage-side fencing", "detach", "access modes"),
    ),
    Entry(
        name="RBD",
        also=("Ceph RBD", "ceph", "CephFS", "GlusterFS"),
        means="Ceph's disk. The kubelet's own plugin was removed in 1.31: today a CSI driver attaches it.",
        rule=("CephFS was also removed in 1.31, GlusterFS in 1.26. A pod that names one itself does not start.",),
        source=("pkg/apis/core/types.go", "pkg/volume/csi/csi_attacher.go"),
        see=("VolumeAttachment", "access modes"),
    ),
    Entry(
        name="EBS",
        also=("AWS EBS", "GCE PD", "Cinder", "Azure Disk", "awsElasticBlockStore", "gcePersistentDisk", "cloud disk"),
        means="A cloud's disk: attached to one machine, unless it supports several; its detach stops the old writer.",
        rule=("Its CSI driver attaches it, even if a pod or volume has the old field (CSI migration).",),
        source=("pkg/volume/csimigration/plugin_manager.go", _RECONCILER),
        see=("attach", "detach", "Multi-Attach error"),
    ),
    Entry(
        name="hostPath",
        also=("local volume", "hostPath volume"),
        means="A folder of one node: a pod that is placed elsewhere does not find its data; nothing locks it.",
        rule=("A local PersistentVolume names its node, so its pod waits for that node; hostPath names none.",),
        source=("pkg/volume/hostpath/host_path.go", "pkg/volume/local/local.go"),
        see=("node(s) didn't match PersistentVolume's node affinity", "access modes"),
    ),
    Entry(
        name="emptyDir",
        also=("medium: Memory", "tmpfs", "Ephemeral Volumes"),
        means="A pod's scratch volume on its node: it is deleted with the pod, and survives restarts of containers.",
        rule=("medium: Memory counts for the container's memory limit; else it is ephemeral-storage (sizeLimit).",),
        source=("pkg/volume/emptydir/empty_dir.go", "pkg/kubelet/eviction/eviction_manager.go"),
        see=("ephemeral-storage", "exceeded its local ephemeral storage limit"),
    ),
)
