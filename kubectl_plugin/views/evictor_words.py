"""The sentences about programs that evict pods and remove nodes: which one, why, and how to prevent it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.words import when_words
from podrules.workload.evictors import Agent, Evictor, Purpose, Where

_MOST: Final = 160
"""The most characters of a message."""
_DRAINING: Final = "FailedDraining"
"""The reason that Karpenter reports while pods are left."""
_VERBS: Final = {
    Purpose.INTERRUPTED: "{agent} reports that the cloud takes {node} away",
    Purpose.REMOVES_NODE: "{agent} removes {node}",
    Purpose.DRAINS_NODE: "{agent} drains {node}",
    Purpose.RESTARTS_NODE: "{agent} restarts {node}",
    Purpose.ANNOUNCES_RESTART: "{agent} announces a restart of {node}",
}
_WHY: Final = {
    Purpose.INTERRUPTED: ": the cloud takes {node} away",
    Purpose.REMOVES_NODE: " to remove {node}",
    Purpose.RESIZES_POD: " to apply its recommendation",
    Purpose.MOVES_POD: " to move it",
}
"""For events about a pod; a spot interruption explains an event of Karpenter."""
_AHEAD: Final = {
    Purpose.INTERRUPTED: "About to go: the cloud takes the machine away ({agent}: {sign})",
    Purpose.REMOVES_NODE: "About to go: {agent} evicts its pods and removes it ({sign})",
    Purpose.DRAINS_NODE: "{agent} drains it: its pods are evicted ({sign})",
    Purpose.RESTARTS_NODE: "About to restart: {agent} evicts its pods first ({sign})",
    Purpose.ANNOUNCES_RESTART: "About to restart: {agent} announces it, and evicts no pod for it ({sign})",
}
_RESTARTING: Final = frozenset({Purpose.RESTARTS_NODE, Purpose.ANNOUNCES_RESTART})
_EVICTED: Final = "Evicted pod: "
"""The text before the reason in Karpenter's event."""
_FORCEFUL: Final = {
    "Expired": "raise expireAfter of the NodePool: it overrides annotations and budgets",
    "NodeRepair": "see why the node was unhealthy: Karpenter repairs it despite annotations and budgets",
    "Forceful Termination": "drain the node before it is deleted, or raise terminationGracePeriod of the NodePool",
}
"""The remedy by Karpenter's reason, if karpenter.sh/do-not-disrupt does not help (its docs, concepts/disruption)."""
_REMEDIES: Final = {
    Agent.KARPENTER: 'annotation karpenter.sh/do-not-disrupt: "true" on the pod, or a NodePool budget, keeps its node',
    Agent.CLUSTER_AUTOSCALER: 'annotation cluster-autoscaler.kubernetes.io/safe-to-evict: "false" keeps its node',
    Agent.VPA: "updateMode Initial or Off changes new pods only; InPlaceOrRecreate resizes in place where it can",
    Agent.DESCHEDULER: "exclude the pod in the descheduler's policy: by namespace, labelSelector or priorityThreshold",
    Agent.KURED: "kured restarts nodes within its time window (--start-time, --end-time, --reboot-days)",
    Agent.DRAINO: "check the node's conditions: draino drains nodes with the conditions of its command line",
    Agent.MACHINE_CONFIG: "a MachineConfig changed; a paused MachineConfigPool restarts no node",
}
_SPOT: Final = "spot machines end at short notice: run replicas on several nodes, or use on-demand machines"


def sign_words(evictor: Evictor) -> str:
    """``taint karpenter.sh/disrupted:NoSchedule``."""
    return f"{evictor.where.value.lower().removeprefix('pod').removeprefix('node')} {evictor.key}"


def evicted_words(evictor: Evictor, node: str) -> str:
    """Which program evicted a pod and why; ``probably`` if only its node or its annotation shows that."""
    agent, where = evictor.agent.value, _node(node)
    if evictor.where is Where.POD_EVENT:
        verb = "deleted" if evictor.deletes else "evicted"
        why = _WHY[evictor.purpose].format(node=where)
        reason = evictor.says if evictor.purpose is Purpose.MOVES_POD else _karpenter_reason(evictor)
        return f"{agent} {verb} the pod{why}{f' ({_cut(reason)})' if reason else ''}"
    if evictor.where is Where.POD_ANNOTATION:
        return f"the pod was evicted through the eviction API, perhaps by {agent}, which manages it"
    why = f"{node_words(evictor, node)} ({sign_words(evictor)})"
    return f"the pod was evicted through the eviction API, probably because {why}"


def node_words(evictor: Evictor, node: str) -> str:
    """``Karpenter removes node n1``."""
    return _VERBS[evictor.purpose].format(agent=evictor.agent.value, node=_node(node))


def removed_words(evictor: Evictor, node: str) -> str:
    """``Karpenter removed node n1``."""
    if evictor.agent is Agent.CLOUD:
        return "its machine no longer exists in the cloud"
    taken = ": the cloud took it away" if evictor.purpose is Purpose.INTERRUPTED else ""
    return f"{evictor.agent.value} removed {_node(node)}{taken}"


def evictor_remedies(evictor: Evictor) -> Iterator[str]:
    """How to keep the program from it."""
    reason = _karpenter_reason(evictor)
    if evictor.purpose is Purpose.INTERRUPTED or "Spot" in reason:
        yield _SPOT
    elif reason in _FORCEFUL:
        yield _FORCEFUL[reason]
    elif evictor.agent in _REMEDIES:
        yield _REMEDIES[evictor.agent]


def _karpenter_reason(evictor: Evictor) -> str:
    """``Expired``; empty: the event gives none."""
    return evictor.says.partition(_EVICTED)[2].strip() if evictor.agent is Agent.KARPENTER else ""


def going_verdict(evictor: Evictor, now: datetime | None) -> Verdict:
    """Says that a node is about to be removed or restarted, with the event.

    An event alone gives no code: if events cannot be read, an answer may lack the sentence without being wrong.
    """
    said = _AHEAD[evictor.purpose].format(agent=evictor.agent.value, sign=sign_words(evictor))
    when = when_words(evictor.at, now)
    lines = [f"{said}{f', {when}' if when else ''}."]
    if evictor.says:
        lines.append(f"{evictor.agent.value} says: {_cut(evictor.says)}.")
    if evictor.is_announced:
        return Verdict(VerdictCode.READY, Severity.FINE, tuple(lines))
    return Verdict(VerdictCode.NODE_GOING, Severity.NOTICE, tuple(lines))


def ahead_words(evictor: Evictor) -> str:
    """``about to go`` or ``about to restart``: what the node does next."""
    return "about to restart" if evictor.purpose in _RESTARTING else "about to go"


def going_word(evictor: Evictor) -> str:
    """``about to go (Karpenter)``, for a row."""
    return f"{ahead_words(evictor)} ({evictor.agent.value})"


def held_words(evictor: Evictor, now: datetime | None) -> str:
    """Why a program did not remove a node."""
    when, does = when_words(evictor.at, now), "waits" if evictor.key == _DRAINING else "did not remove it"
    return f"{evictor.agent.value} {does} ({evictor.key}{f', {when}' if when else ''}): {_cut(evictor.says)}"


def _node(node: str) -> str:
    return f"node {node}" if node else "its node"


def _cut(text: str) -> str:
    said = text.strip().rstrip(".")
    return said if len(said) <= _MOST else f"{said[: _MOST // 2]} … {said[-_MOST // 2 :]}"
