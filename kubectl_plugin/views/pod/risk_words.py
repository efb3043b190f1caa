"""The risks of pods in the words of a list, and how urgent each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity, trouble_until
from podrules.node.pressure.usage import NEAR_LIMIT_PERCENT

RISK_WORDS: Final = {
    PodRisk.NODE_DOWN: "node silent",
    PodRisk.UNSCHEDULABLE: "no node fits",
    PodRisk.HELD_UP: "container does not run",
    PodRisk.OOM_KILLED: "OOMKilled",
    PodRisk.STUCK: "stuck: a warning persists",
    PodRisk.TERMINATING_LATE: "should have ended",
    PodRisk.TAINTED: "deleted by a taint",
    PodRisk.UNBOUND_CLAIM: "claim stays unbound",
    PodRisk.VOLUME_HELD: "silent node has its volume",
    PodRisk.NEVER_STARTED: "not started in 10 min",
    PodRisk.NO_SCHEDULER: "not seen by a scheduler",
    PodRisk.DISRUPTED: "disrupted",
    PodRisk.FAILED: "failed",
    PodRisk.NEAR_LIMIT: "near the memory limit",
    PodRisk.OVER_REQUEST: "over memory request",
    PodRisk.NOT_READY: "not Ready",
    PodRisk.RESTARTED: "restarted in the last hour",
    PodRisk.NOT_STARTED: "not started",
    PodRisk.PHASE_UNKNOWN: "phase Unknown",
    PodRisk.NOT_MODELLED: "waiting, not modelled",
    PodRisk.AWAITING_PREEMPTION: "waiting for preemption",
    PodRisk.SCHEDULING_GATED: "has a scheduling gate",
    PodRisk.NOT_BOUND: "not yet bound",
    PodRisk.KEPT: "kept by a finalizer",
    PodRisk.TERMINATING: "being deleted, nothing worse",
    PodRisk.RESIZE_PENDING: "resize not done",
    PodRisk.NO_GRACE_PERIOD: "no grace period",
    PodRisk.BEST_EFFORT: "BestEffort, nothing worse",
}
"""The words are the same for one pod and for many. If a pod has several risks, the worst counts."""
RISK_MEANINGS: Final = {
    PodRisk.UNSCHEDULABLE: "",
    PodRisk.HELD_UP: (
        "The kubelet tried to start it, and waits longer each time: ImagePullBackOff, CrashLoopBackOff and so on."
    ),
    PodRisk.OOM_KILLED: "A container's limit, or its node's memory, was too small.",
    PodRisk.STUCK: "A step fails for 5 min or more; nothing shows that it was done. The pod's page has the message.",
    PodRisk.TERMINATING_LATE: "The grace period is over, and the kubelet has not confirmed it.",
    PodRisk.TAINTED: (
        "The node's taint is not tolerated, or only for a time: kube-controller-manager deletes once that is over."
    ),
    PodRisk.UNBOUND_CLAIM: (
        "Its provisioner creates no volume, or spec.nodeName bypasses the scheduler: the pod's page says which."
    ),
    PodRisk.VOLUME_HELD: "A silent node has one of its volumes. The pod's page says what helps.",
    PodRisk.NEVER_STARTED: "A node is chosen, and the containers do not start by themselves.",
    PodRisk.NO_SCHEDULER: "Pending for 5 min or more without a PodScheduled condition: see spec.schedulerName.",
    PodRisk.DISRUPTED: "Condition DisruptionTarget is True: an eviction or preemption is under way.",
    PodRisk.FAILED: "A failed pod does not restart by itself; its owner may have made another.",
    PodRisk.NEAR_LIMIT: f"Working set at {NEAR_LIMIT_PERCENT}% or more: at the limit the kernel kills it.",
    PodRisk.OVER_REQUEST: "Evicted first if their node runs short, in every QoS class.",
    PodRisk.NOT_READY: "Services that select only ready pods send it no traffic.",
    PodRisk.RESTARTED: "A container ended, and runs again.",
    PodRisk.NOT_STARTED: "A node is chosen, and the containers do not run yet.",
    PodRisk.PHASE_UNKNOWN: "The state could not be read.",
    PodRisk.NOT_MODELLED: ("A pod of a group or of another scheduler: unknown here whether a node fits."),
    PodRisk.AWAITING_PREEMPTION: "The scheduler has preempted other pods, and waits until those have ended.",
    PodRisk.SCHEDULING_GATED: "The scheduler does not consider it until spec.schedulingGates is empty.",
    PodRisk.NOT_BOUND: "Nothing says that no node fits.",
    PodRisk.KEPT: "The processes have ended; the owner of the finalizer has not removed it.",
    PodRisk.TERMINATING: "The grace period is not over, or no process is left.",
    PodRisk.RESIZE_PENDING: "The kubelet has not applied the new resources.",
    PodRisk.NO_GRACE_PERIOD: "A plain delete is a force delete.",
    PodRisk.BEST_EFFORT: "Nothing is reserved.",
}
"""The meaning of each risk in the summary; the summary names silent nodes one by one."""
RISK_SEVERITY: Final = trouble_until(PodRisk.FAILED)
"""How urgent each risk is, as in the explanation of the pod."""


def urgency_words(severities: Iterable[Severity]) -> str:
    """``4 trouble, 14 notice``: how many there are of each, the worst first."""
    counts = Counter(severities)
    return ", ".join(f"{counts[one]:,} {one.value}" for one in reversed(Severity) if counts[one])
