"""What is wrong with a pod, in the words of a list of many, and how urgent that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from kubectl_plugin.render.page import Severity
from kubectl_plugin.reports.pod_risk import PodRisk

__all__ = ["POD_FINDINGS", "RISK_SEVERITY", "RISK_WORDS", "urgency_words"]

RISK_WORDS: Final = {
    PodRisk.NODE_DOWN: "node does not answer",
    PodRisk.UNSCHEDULABLE: "has no place",
    PodRisk.HELD_UP: "does not run",
    PodRisk.OOM_KILLED: "was OOM-killed",
    PodRisk.TERMINATING_LATE: "does not end",
    PodRisk.TAINTED: "leaves by a taint",
    PodRisk.NEVER_STARTED: "does not start",
    PodRisk.DISRUPTED: "is disrupted",
    PodRisk.FAILED: "failed",
    PodRisk.OVER_REQUEST: "over its request",
    PodRisk.NOT_READY: "not Ready",
    PodRisk.RESTARTED: "restarted of late",
    PodRisk.NOT_STARTED: "not started",
    PodRisk.PHASE_UNKNOWN: "phase Unknown",
    PodRisk.NOT_MODELLED: "waits, not modelled",
    PodRisk.AWAITING_PREEMPTION: "waits for preemption",
    PodRisk.SCHEDULING_GATED: "held by a gate",
    PodRisk.NOT_BOUND: "not yet bound",
    PodRisk.KEPT: "kept by a finalizer",
    PodRisk.TERMINATING: "ends",
    PodRisk.RESIZE_PENDING: "resize not done",
    PodRisk.NO_GRACE_PERIOD: "no grace period",
    PodRisk.BEST_EFFORT: "nothing reserved",
}
POD_FINDINGS: Final = {
    PodRisk.UNSCHEDULABLE: ("no place", "The scheduler finds no node."),
    PodRisk.HELD_UP: (
        "with a container that does not run",
        "The kubelet tried to start it, and waits longer each time: ImagePullBackOff, CrashLoopBackOff and so on.",
    ),
    PodRisk.OOM_KILLED: ("killed for memory", "A container's limit, or its node's memory, was too small."),
    PodRisk.TERMINATING_LATE: ("should have ended", "The grace period is over, and the kubelet has not confirmed it."),
    PodRisk.TAINTED: (
        "deleted by a taint of the node",
        "It is not tolerated, or only for a time: kube-controller-manager deletes once that is over.",
    ),
    PodRisk.NEVER_STARTED: (
        "not started for more than 10 min",
        "A node is chosen, and the containers do not start by themselves.",
    ),
    PodRisk.DISRUPTED: ("disrupted", "Condition DisruptionTarget is True: an eviction or preemption is under way."),
    PodRisk.FAILED: ("failed", "A failed pod does not come back by itself; its owner may have made another."),
    PodRisk.OVER_REQUEST: (
        "over the memory request",
        "The kubelet evicts such pods first when their node runs short, whatever their QoS class.",
    ),
    PodRisk.NOT_READY: ("not Ready", "Services that want ready pods send nothing there."),
    PodRisk.RESTARTED: ("restarted within the last hour", "A container ended, and runs again."),
    PodRisk.NOT_STARTED: ("not started", "A node is chosen, and the containers do not run yet."),
    PodRisk.PHASE_UNKNOWN: ("in phase Unknown", "The state could not be read."),
    PodRisk.NOT_MODELLED: (
        "waiting, not modelled",
        "A pod of a group or of another scheduler: whether there is a place is not known here.",
    ),
    PodRisk.AWAITING_PREEMPTION: (
        "waiting for preemption",
        "The scheduler has preempted other pods, and waits until those have ended.",
    ),
    PodRisk.SCHEDULING_GATED: (
        "held by a scheduling gate",
        "The scheduler does not look until spec.schedulingGates is empty.",
    ),
    PodRisk.NOT_BOUND: ("not yet bound to a node", "Nothing says that no node fits."),
    PodRisk.KEPT: ("kept by a finalizer", "The processes have ended; whoever set the finalizer has not removed it."),
    PodRisk.TERMINATING: ("being deleted", "The grace period is not over, or no process is left."),
    PodRisk.RESIZE_PENDING: ("with a resize that is not done", "The kubelet has not applied the new resources."),
    PodRisk.NO_GRACE_PERIOD: ("without a grace period", "A plain delete is a force delete there."),
    PodRisk.BEST_EFFORT: ("BestEffort", "Nothing is reserved."),
}
"""What the summary says of such pods, and what it means; it speaks of one pod as of many."""
_TROUBLE: Final = frozenset(
    {
        PodRisk.NODE_DOWN,
        PodRisk.UNSCHEDULABLE,
        PodRisk.HELD_UP,
        PodRisk.OOM_KILLED,
        PodRisk.TERMINATING_LATE,
        PodRisk.TAINTED,
        PodRisk.NEVER_STARTED,
        PodRisk.DISRUPTED,
        PodRisk.FAILED,
    }
)
RISK_SEVERITY: Final = {risk: Severity.TROUBLE if risk in _TROUBLE else Severity.NOTICE for risk in PodRisk}
"""How urgent it is that this is wrong with a pod, as its explanation says."""


def urgency_words(severities: Iterable[Severity]) -> str:
    """``4 trouble, 14 notice``: how many there are of each, the worst first."""
    counts = Counter(severities)
    return ", ".join(f"{counts[one]:,} {one.value}" for one in reversed(Severity) if counts[one])
