"""Topology spread constraints."""

from __future__ import annotations

from typing import Final

from kubectl_plugin.glossary.entry import Entry

_EXPLAIN: Final = "kubectl qos explain pod/NAME"
_PLUGIN: Final = "pkg/scheduler/framework/plugins/podtopologyspread"

ENTRIES: Final = (
    Entry(
        name="node(s) didn't match pod topology spread constraints",
        means="With this pod, the node's domain would exceed maxSkew of a DoNotSchedule constraint.",
        rule=(
            "skew = matching pods in the domain + 1 (if the pod matches itself) - the fewest in any domain.",
            "Ending pods and other namespaces do not count. All constraints must be satisfied.",
            "Domains with no room for the pod still count for the minimum: an empty, full zone blocks all others.",
        ),
        do=(
            "Free room in the domain with the fewest pods; or a larger maxSkew, or ScheduleAnyway.",
            "nodeTaintsPolicy: Honor leaves out domains of nodes that the pod does not tolerate.",
        ),
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/filtering.go",),
        see=("skew", "maxSkew", "minDomains", "nodeTaintsPolicy"),
    ),
    Entry(
        name="node(s) didn't match pod topology spread constraints (missing required label)",
        means="The node lacks the topologyKey label of a DoNotSchedule constraint.",
        rule=("Such nodes never fit, and their pods do not count; preemption cannot help.",),
        do=("Label the nodes, or use a key that they have.",),
        commands=(_EXPLAIN, "kubectl get nodes -L KEY"),
        source=(f"{_PLUGIN}/filtering.go",),
        see=("topologyKey",),
    ),
    Entry(
        name="topologySpreadConstraints",
        also=("topology spread", "pod topology spread", "spread", "PodTopologySpread", "constraint"),
        means="Rules that spread the pods of one selector evenly over domains such as zones or nodes.",
        rule=(
            "They apply when a pod is placed: no pod moves afterwards, so scaling down can leave a skew.",
            "DoNotSchedule rules nodes out; ScheduleAnyway only scores them, with weight 2.",
        ),
        commands=(_EXPLAIN, "kubectl qos place -f FILE"),
        source=(f"{_PLUGIN}/plugin.go", "KEP-895"),
        see=("skew", "maxSkew", "whenUnsatisfiable", "default constraints"),
    ),
    Entry(
        name="EvenPodsSpread",
        also=("EvenPodsSpreadPriority",),
        means="The first name of topology spread: its feature gate and its rule in old scheduler policies.",
        rule=(
            "The plugin is now called PodTopologySpread; the gate is gone, and the constraints always apply.",
            "A configuration that names EvenPodsSpread is of a scheduler before 1.19.",
        ),
        source=("KEP-895", f"{_PLUGIN}/plugin.go"),
        see=("topologySpreadConstraints",),
    ),
    Entry(
        name="skew",
        means="Matching pods in a domain minus the fewest matching pods in any eligible domain.",
        rule=("Eligible are nodes that match the pod's node affinity (nodeAffinityPolicy) and have each topologyKey.",),
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/filtering.go",),
        see=("maxSkew", "minDomains"),
    ),
    Entry(
        name="topology domain",
        also=("domain", "topology", "eligible domain", "global minimum", "failure domain", "topologies"),
        means="All nodes with the same value of topologyKey, such as one zone: skew is counted between domains.",
        rule=(
            "The global minimum is the count of the eligible domain with the fewest matching pods.",
            "Eligible: the pod's node affinity allows one of its nodes, and that node has every topologyKey.",
        ),
        commands=(_EXPLAIN, "kubectl get nodes -L topology.kubernetes.io/zone"),
        source=(f"{_PLUGIN}/filtering.go", f"{_PLUGIN}/common.go"),
        see=("skew", "topologyKey", "minDomains", "nodeTaintsPolicy"),
    ),
    Entry(
        name="labelSelector",
        also=("selector", "matchLabels", "matchExpressions", "label selector", "namespaceSelector"),
        means="Which pods a constraint or affinity term counts: those with these labels, in the pod's own namespace.",
        rule=(
            "A missing selector matches no pod; an empty one ({}) every pod in an affinity term, none in a constraint.",
            "The pod itself counts only if its own labels match; else it never raises the skew.",
            "Affinity terms can name other namespaces (namespaces, namespaceSelector); constraints cannot.",
        ),
        source=(f"{_PLUGIN}/common.go", f"{_PLUGIN}/filtering.go"),
        see=("topologySpreadConstraints", "matchLabelKeys", "node(s) didn't match pod affinity rules"),
    ),
    Entry(
        name="maxSkew",
        means="How far a domain may be above the fewest; with ScheduleAnyway it only affects the score.",
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/filtering.go", f"{_PLUGIN}/scoring.go"),
        see=("skew",),
    ),
    Entry(
        name="minDomains",
        pattern=r"can only use minDomains if whenUnsatisfiable=.*",
        means="With fewer eligible domains than this, the fewest counts as 0, so maxSkew caps each domain.",
        rule=("Only with DoNotSchedule. It makes a cluster autoscaler add nodes in new domains.",),
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/filtering.go", "KEP-3022"),
        see=("skew",),
    ),
    Entry(
        name="whenUnsatisfiable",
        also=("DoNotSchedule", "ScheduleAnyway"),
        means="DoNotSchedule keeps the pod pending rather than break maxSkew; ScheduleAnyway prefers less skew.",
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/filtering.go", f"{_PLUGIN}/scoring.go"),
        see=("maxSkew",),
    ),
    Entry(
        name="topologyKey",
        also=(
            *("topology.kubernetes.io/zone", "kubernetes.io/hostname", "zone", "region"),
            "topology.kubernetes.io/region",
        ),
        means="The node label with the domains as values: nodes without it are in no domain.",
        commands=("kubectl get nodes -L topology.kubernetes.io/zone",),
        source=(f"{_PLUGIN}/common.go",),
        see=("node(s) didn't match pod topology spread constraints (missing required label)",),
    ),
    Entry(
        name="matchLabelKeys",
        also=("pod-template-hash", "mismatchLabelKeys"),
        pattern=r"exists in both matchLabelKeys and \w+|must not be specified when labelSelector is not set",
        means="Label keys with pod values that are added to the selector: pod-template-hash spreads each revision.",
        rule=("The API server writes them into labelSelector at creation since 1.34. A key may not be in both.",),
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/common.go", "KEP-3243"),
        see=("topologySpreadConstraints",),
    ),
    Entry(
        name="nodeTaintsPolicy",
        also=("nodeAffinityPolicy", "node inclusion policy", "Honor", "NodeInclusionPolicy"),
        means="Whether nodes that the pod may not use count as domains: Honor leaves them out, Ignore counts them.",
        rule=("nodeAffinityPolicy is Honor by default, nodeTaintsPolicy is Ignore.",),
        do=("A tainted, empty zone blocks a spread by zone: nodeTaintsPolicy: Honor frees it.",),
        commands=(_EXPLAIN,),
        source=(f"{_PLUGIN}/common.go", "KEP-3094"),
        see=("skew",),
    ),
    Entry(
        name="default constraints",
        also=(
            *("defaultingType", "cluster default constraints", "internal default constraints"),
            *("cluster-level default constraints", "PodTopologySpreadArgs"),
        ),
        means="The scheduler's constraints for pods without their own, but with a Service or controller.",
        rule=(
            "Without configuration: hostname maxSkew 3 and zone maxSkew 5, both ScheduleAnyway.",
            "The selector is built from the Services, ReplicaSet, ReplicationController and StatefulSet of the pod.",
            "They are never written into the pod; the admission webhook can do that.",
        ),
        commands=(f"{_EXPLAIN} --scheduler-config=configmap/NAMESPACE/NAME",),
        source=(f"{_PLUGIN}/common.go", "pkg/scheduler/framework/plugins/helper/spread.go", "KEP-1258"),
        see=("topologySpreadConstraints",),
    ),
)
