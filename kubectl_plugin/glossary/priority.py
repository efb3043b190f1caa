"""Priority and preemption."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_PREEMPTION: Final = "pkg/scheduler/framework/preemption/preemption.go"
_DEFAULT: Final = "pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go"
_ADMISSION: Final = "plugin/pkg/admission/priority/admission.go"

ENTRIES: Final = (
    Entry(
        name="priority",
        also=("spec.priority", "priorityClassName", "PriorityClass", "PriorityClasses", "pod priority"),
        means="A number from the pod's PriorityClass: it orders the queue, preemption and evictions.",
        rule=(
            "No class named: the globalDefault class, of several the one with the lowest value; without one: 0.",
            "It is copied at creation: changing or deleting the class does not change existing pods.",
            "It is independent of the QoS class.",
        ),
        commands=(_EXPLAIN, "kubectl get priorityclasses"),
        source=(_ADMISSION, "pkg/apis/scheduling/types.go"),
        see=("preemption", "preemptionPolicy", "no PriorityClass with name"),
    ),
    Entry(
        name="no PriorityClass with name",
        pattern=r".*no PriorityClass with name \S+ was found.*",
        means="The pod names a class that does not exist: the API server refuses it, and its controller tries again.",
        do=("Create the class, or correct priorityClassName in the pod template.",),
        commands=("kubectl get priorityclasses",),
        source=(_ADMISSION,),
        see=("priority",),
    ),
    Entry(
        name="priority must not be provided",
        pattern=r".*the (integer value of priority|string value of PreemptionPolicy) \(\S+\) must not be provided .*",
        means="spec.priority or spec.preemptionPolicy is given, and the priority admission computed another value.",
        do=("Set a priorityClassName and leave both out; a webhook must patch them together with it.",),
        commands=("kubectl get priorityclasses",),
        source=(_ADMISSION,),
        see=("priority",),
    ),
    Entry(
        name="preemptionPolicy",
        also=("PreemptLowerPriority", "Never", "non-preempting", "non-preempting PriorityClass"),
        pattern=r"not eligible due to preemptionPolicy=Never\.?",
        means="Never: the pod is ahead in the queue and preempts no pod; it can still be preempted.",
        commands=(_EXPLAIN,),
        source=(_DEFAULT, "KEP-902"),
        see=("preemption",),
    ),
    Entry(
        name="preemption",
        also=(
            *("preempt", "Preempted", "victim", "PreemptionByScheduler", "preemptor", "priority and preemption"),
            *("victim's grace period", "victims' grace", "grace of victims", "Pod Priority and Preemption"),
        ),
        pattern=r"Preempted by (\w+ [\da-f-]{36}|(a )?pod(group)?( \S+)?|[\w.-]+/[\w.-]+) on node .*"
        r"|\S+: preempting to accommodate a higher priority .*|Preemptor Pod preempted victim Pod",
        means="Deletes pods of lower priority, gracefully, to make room for a pending pod.",
        rule=(
            "A node qualifies if the pod fits without all lower pods; then as many as possible are spared.",
            "Chosen is the node with the fewest violated PDBs, the lowest top victim, smallest sum, fewest, youngest.",
            "It prefers victims without a PodDisruptionBudget, and breaks a budget only if nothing else is enough.",
            "Victims keep their own grace period, and the pod waits for them: a shorter one makes preemption quicker.",
        ),
        do=("A pod is certainly spared with a priority that is not lower. The QoS class does not count.",),
        commands=(_EXPLAIN, "kubectl qos explain pod/VICTIM"),
        source=(_PREEMPTION, _DEFAULT),
        see=("nominatedNodeName", "PodDisruptionBudget", "Preemption is not helpful for scheduling"),
    ),
    Entry(
        name="globalDefault",
        also=("default PriorityClass", "global default"),
        pattern=r".*PriorityClass \S+ is already marked as default\. Only one default can exist.*",
        means="The PriorityClass of pods that name none; without such a class their priority is 0.",
        rule=(
            "The API server refuses a second one; if several exist nevertheless, the lowest value counts.",
            "Existing pods keep the priority that they were created with.",
        ),
        commands=("kubectl get priorityclasses",),
        source=(_ADMISSION, "pkg/apis/scheduling/types.go"),
        see=("priority",),
    ),
    Entry(
        name="critical pod",
        also=(
            *("critical", "critical pod annotation", "Pod was preempted by Kubelet to accommodate a critical pod."),
            *("CriticalPod", "scheduler.alpha.kubernetes.io/critical-pod", "Preempted in order to admit critical pod"),
            *("node-critical", "node-critical pod", "cluster-critical", "Preempting", "KubeletPreemption"),
        ),
        means="A static pod, a mirror pod, or one with a priority of 2000000000 or more: its kubelet never evicts it.",
        rule=(
            "If it does not fit on arrival, the kubelet ends other pods to make room for it.",
            "Only system-node-critical (node-critical) gets oom_score_adj -997, in every QoS class.",
            "Older texts: until 1.21 all critical pods got the value of Guaranteed; their annotation ended with 1.16.",
            "It can be deleted and preempted like any other pod.",
        ),
        commands=(_EXPLAIN,),
        source=(
            "pkg/kubelet/types/pod_update.go",
            "pkg/kubelet/eviction/eviction_manager.go",
            "pkg/kubelet/qos/policy.go",
        ),
        see=("system-cluster-critical", "Evicted", "oom_score_adj"),
    ),
    Entry(
        name="system-cluster-critical",
        also=("system-node-critical", "system PriorityClass", "2000000000", "2000001000", "1000000000"),
        pattern=r"maximum allowed value of a user defined priority is \d+"
        r"|priority class names with 'system-' prefix are .*",
        means="The two built-in classes: system-cluster-critical is 2000000000, system-node-critical 2000001000.",
        rule=(
            "Both make a pod critical: the kubelet does not evict it, the scheduler preempts nearly all others for it.",
            "Only system-node-critical changes oom_score_adj (-997); a system-cluster-critical pod has its class's.",
            "Custom classes reach at most 1000000000.",
        ),
        commands=("kubectl get priorityclasses", _EXPLAIN),
        source=("pkg/apis/scheduling/types.go", "pkg/kubelet/qos/policy.go", "pkg/kubelet/types/pod_update.go"),
        see=("critical pod", "priority"),
    ),
    Entry(
        name="disablePreemption",
        also=("disable preemption", "preemption disabled", "turn off preemption"),
        means="A field of old scheduler configurations; today a profile disables the plugin DefaultPreemption.",
        rule=(
            "profiles[].plugins.postFilter.disabled: [{name: DefaultPreemption}] turns it off for that profile's pods.",
            "For one class of pods: preemptionPolicy Never.",
        ),
        commands=(f"{_EXPLAIN} --scheduler-config=FILE",),
        source=("pkg/scheduler/apis/config/v1/default_plugins.go", _DEFAULT),
        see=("preemption", "preemptionPolicy"),
    ),
    Entry(
        name="Preemption is not helpful for scheduling",
        pattern=r"no candidate node for preemption",
        means="Removing pods would not make these nodes fit: the node or the pod itself rules them out.",
        rule=("Such as taints, labels, names, zones and requests above the whole node; counts of pods are different.",),
        commands=(_EXPLAIN,),
        source=(_PREEMPTION,),
        see=("No preemption victims found for incoming pod",),
    ),
    Entry(
        name="No preemption victims found for incoming pod",
        pattern=r"No preemption victims found for incoming preemptor",
        means="No pod on these nodes has a lower priority than this pod.",
        do=("Give the pod a higher class, if its owner intends that.",),
        commands=(_EXPLAIN, "kubectl get priorityclasses"),
        source=(_DEFAULT,),
        see=("priority", "preemption"),
    ),
    Entry(
        name="not eligible due to terminating pods on the nominated node",
        pattern=r"not eligible due to (a )?terminating pods? on the nominated node\.?"
        r"|ongoing preemption on nominated nodes|waiting for the preemption for this pod( group)? to be finished",
        means="The pod has already preempted: its victims are being deleted, and it waits until they are removed.",
        do=("Wait for their grace periods; a victim that hangs is named by the command below.",),
        commands=(_EXPLAIN,),
        source=(_DEFAULT,),
        see=("nominatedNodeName",),
    ),
    Entry(
        name="nominatedNodeName",
        also=("nomination", "status.nominatedNodeName", "nominated", "nominated node", "nominator"),
        means="A reservation, not a guarantee: the expected node of the pod; the scheduler may choose another.",
        rule=(
            "After a preemption: victims are ending there. Lower pods do not use the room; a higher one may take it.",
            "Since 1.35 also without any: the pod has its place, and waits for Permit or PreBind, such as its volumes.",
        ),
        commands=(_EXPLAIN,),
        source=(_PREEMPTION, "pkg/scheduler/backend/queue/nominator.go", "pkg/scheduler/schedule_one.go"),
        see=("preemption",),
    ),
    Entry(
        name="DisruptionTarget",
        also=("EvictionByEvictionAPI", "DeletionByTaintManager", "DeletionByPodGC", "TerminationByKubelet"),
        pattern=r"Eviction API: evicting|DeletionByDeviceTaintManager"
        r"|Device Taint manager: deleting due to NoExecute taint",
        means="The pod's condition with the cause of its end; its reason names the rule.",
        rule=(
            "PreemptionByScheduler: a pod of higher priority. EvictionByEvictionAPI: a drain or another eviction.",
            "DeletionByTaintManager: a NoExecute taint of its node. DeletionByDeviceTaintManager: one of its device.",
            "DeletionByPodGC: its node was removed, or is out of service.",
            "TerminationByKubelet: node pressure, a node shutdown, or room for a critical pod.",
        ),
        do=("A Job's podFailurePolicy can ignore failures with this condition.",),
        commands=(_EXPLAIN,),
        source=("KEP-3329", "pkg/registry/core/pod/storage/eviction.go", "pkg/controller/podgc/gc_controller.go"),
        see=("preemption", "eviction API", "Evicted"),
    ),
    Entry(
        name="cross-node preemption",
        also=("preemption across nodes",),
        means="Removing a pod on one node so that a pod fits on another: the scheduler does not do that.",
        rule=(
            "It tries each node only with that node's own victims; anti-affinity or spread by zone may need others.",
            "Only for a PodGroup (1.37, gate GenericWorkload, off by default) it selects victims on several nodes.",
        ),
        do=("Find the blocking pod elsewhere. An eviction checks its budget, a delete does not.",),
        commands=(_EXPLAIN,),
        source=(_PREEMPTION, _DEFAULT),
        see=("preemption", "Preemption is not helpful for scheduling"),
    ),
    Entry(
        name="preempted for nothing",
        also=("preemptor not scheduled", "pods are preempted unnecessarily"),
        means="The victims are removed and the preemptor waits: a higher pod got the room, or another node has room.",
        rule=(
            "nominatedNodeName is not a guarantee, and victims need their grace period.",
            "A higher pod is evicted before a lower one if the lower ones make no room, or a budget protects them.",
        ),
        commands=(_EXPLAIN, "kubectl qos explain pod/VICTIM"),
        source=(_PREEMPTION, "pkg/scheduler/backend/queue/nominator.go"),
        see=("preemption", "nominatedNodeName"),
    ),
)
