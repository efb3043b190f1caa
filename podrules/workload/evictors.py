"""Programs other than Kubernetes' own that end pods and remove nodes, and their signs in the API.

    pod event       names the program that evicted or deleted this pod
    state of a node a taint, condition, annotation, label or finalizer: the node is about to be removed, or to restart
    node event      gives the reason; alone it counts for 15 minutes, and only for a cloud's warning or an unschedulable
                    node
    pod annotation  a program manages the pod: it may have evicted the pod, and so may others

Each row names its source. Events with a reason that ends in Failed report no end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import Enum
from itertools import chain
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.event import Event
from podrules.api.model.instant import instant
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod

_RECENT: Final = timedelta(minutes=15)
_HOUR: Final = timedelta(hours=1)
_FAILED: Final = "Failed"
_DESCHEDULED: Final = "Descheduled"
_DESCHEDULER: Final = "sigs.k8s.io/descheduler"
_NOT_SET: Final = "NotSet"
"""The descheduler's reason if an eviction has no strategy."""
_HANDLER: Final = "aws-node-termination-handler"
_MACHINE_CONFIG: Final = "machineconfiguration.openshift.io"
_VM: Final = "VMEventScheduled"
_ANY: Final = "*"
"""Matches any reason of an event."""


class Agent(Enum):
    """A program that ends pods or removes nodes, by its own name."""

    KARPENTER = "Karpenter"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    VPA = "VPA"
    DESCHEDULER = "descheduler"
    KURED = "kured"
    DRAINO = "draino"
    NODE_TERMINATION_HANDLER = "aws-node-termination-handler"
    MACHINE_CONFIG = "machine-config-operator"
    MACHINE_CONTROLLER = "machine-controller-manager"
    GKE = "GKE"
    AKS = "AKS"
    CLOUD = "cloud-controller-manager"


class Purpose(Enum):
    """The program's purpose; among a node's signs the first of these counts."""

    INTERRUPTED = "Interrupted"
    """The cloud removes the machine: spot capacity, or maintenance."""
    REMOVES_NODE = "RemovesNode"
    DRAINS_NODE = "DrainsNode"
    RESTARTS_NODE = "RestartsNode"
    ANNOUNCES_RESTART = "AnnouncesRestart"
    """The machine will restart, and the program evicts no pod for that."""
    RESIZES_POD = "ResizesPod"
    MOVES_POD = "MovesPod"
    HELD_BACK = "HeldBack"
    """It tried to remove the node, and something prevents that."""


class Where(Enum):
    """The place of a sign."""

    POD_EVENT = "PodEvent"
    POD_ANNOTATION = "PodAnnotation"
    NODE_EVENT = "NodeEvent"
    TAINT = "Taint"
    CONDITION = "Condition"
    ANNOTATION = "Annotation"
    LABEL = "Label"
    FINALIZER = "Finalizer"


class Evictor(Struct, frozen=True, rename="camel"):
    """A program, its purpose, and the sign that shows it."""

    agent: Agent
    purpose: Purpose
    where: Where
    key: str
    """The taint, the annotation's key, the event's reason …"""
    says: str = ""
    """The event's or condition's message, or the value; of the descheduler, its strategy, if it names one."""
    at: str | None = None
    deletes: bool = False
    """Whether it deletes pods instead of evicting them, and so bypasses disruption budgets."""

    @property
    def evicts(self) -> bool:
        """Whether it ends pods itself, before their node is removed or restarts."""
        return self.purpose is not Purpose.ANNOUNCES_RESTART

    @property
    def is_announced(self) -> bool:
        """Whether only an event shows it: the Node object has no sign."""
        return self.where is Where.NODE_EVENT


_INTERRUPTED, _REMOVES, _DRAINS, _RESTARTS, _ANNOUNCES, _RESIZES, _MOVES, _HELD = Purpose
_POD_EVENT, _POD_ANNOTATION, _NODE_EVENT, _TAINT, _CONDITION, _ANNOTATION, _LABEL, _FINALIZER = Where
_SPOKEN: Final = frozenset({_CONDITION, _POD_ANNOTATION})
"""Signs with a readable text; others have a time or a flag."""
_DELETES: Final = "Disrupted"
_Sign = tuple[Agent, Purpose, Where, str, str]
_ROWS: Final[dict[str, tuple[_Sign, ...]]] = {
    "kubernetes-sigs/karpenter pkg/apis, pkg/events/reason.go, pkg/controllers/node/termination/terminator/events": (
        (Agent.KARPENTER, _REMOVES, _POD_EVENT, "Evicted", "Evicted pod"),
        (Agent.KARPENTER, _REMOVES, _POD_EVENT, _DELETES, "terminationTime"),
        (Agent.KARPENTER, _REMOVES, _TAINT, "karpenter.sh/disrupted karpenter.sh/disruption", ""),
        (Agent.KARPENTER, _REMOVES, _FINALIZER, "karpenter.sh/termination", ""),
        (Agent.KARPENTER, _REMOVES, _NODE_EVENT, "DisruptionTerminating", ""),
        (Agent.KARPENTER, _HELD, _NODE_EVENT, "DisruptionBlocked FailedDraining", ""),
    ),
    "aws/karpenter-provider-aws pkg/controllers/interruption/events/events.go": (
        (Agent.KARPENTER, _INTERRUPTED, _NODE_EVENT, "SpotInterrupted TerminatingOnInterruption", ""),
        (Agent.KARPENTER, _INTERRUPTED, _NODE_EVENT, "InstanceStopping InstanceTerminating", ""),
    ),
    "kubernetes/autoscaler cluster-autoscaler/core/scaledown/actuation, cluster-autoscaler/utils/taints/taints.go": (
        (Agent.CLUSTER_AUTOSCALER, _REMOVES, _POD_EVENT, "ScaleDown", "deleting pod for node scale down"),
        (Agent.CLUSTER_AUTOSCALER, _REMOVES, _TAINT, "ToBeDeletedByClusterAutoscaler", ""),
        (Agent.CLUSTER_AUTOSCALER, _REMOVES, _NODE_EVENT, "ScaleDown", ""),
        (Agent.CLUSTER_AUTOSCALER, _HELD, _NODE_EVENT, "ScaleDownFailed", ""),
    ),
    "kubernetes/autoscaler vertical-pod-autoscaler/pkg/updater/restriction, pkg/admission-controller/resource/pod": (
        (Agent.VPA, _RESIZES, _POD_EVENT, "EvictedByVPA", ""),
        (Agent.VPA, _RESIZES, _POD_ANNOTATION, "vpaUpdates", ""),
    ),
    "kubernetes-sigs/descheduler pkg/descheduler/evictions/evictions.go; the reason is the strategy": (
        (Agent.DESCHEDULER, _MOVES, _POD_EVENT, _ANY, _DESCHEDULER),
    ),
    "kubereboot/kured cmd/kured/main.go": (
        (Agent.KURED, _RESTARTS, _ANNOTATION, "weave.works/kured-reboot-in-progress", ""),
    ),
    "planetlabs/draino internal/kubernetes/eventhandler.go, drainSchedule.go": (
        (Agent.DRAINO, _DRAINS, _CONDITION, "DrainScheduled", ""),
        (Agent.DRAINO, _DRAINS, _NODE_EVENT, "DrainScheduled DrainStarting", "draino: "),
    ),
    "aws/aws-node-termination-handler pkg/node/node.go, pkg/observability/k8s-events.go": (
        *(
            (Agent.NODE_TERMINATION_HANDLER, _INTERRUPTED, _TAINT, f"{_HANDLER}/{key}", "")
            for key in ("spot-itn", "scheduled-maintenance", "asg-lifecycle-termination")
        ),
        *(
            (Agent.NODE_TERMINATION_HANDLER, _INTERRUPTED, _NODE_EVENT, reason, f"{_HANDLER}: ")
            for reason in ("SpotInterruption", "SQSTermination", "ASGLifecycle", "StateChange")
        ),
        # A rebalance recommendation is a risk and removes no machine; maintenance may be days ahead until the taint.
    ),
    "docs.cloud.google.com/kubernetes-engine/docs/how-to/handle-disruption-gpu-tpu": (
        (Agent.GKE, _INTERRUPTED, _TAINT, "cloud.google.com/impending-node-termination", ""),
        (Agent.GKE, _INTERRUPTED, _LABEL, "cloud.google.com/active-node-maintenance", "ONGOING"),
    ),
    "learn.microsoft.com/azure/aks: node-auto-drain, node-auto-repair, node-problem-detector, upgrade-aks-cluster": (
        (Agent.AKS, _DRAINS, _TAINT, "remediator.kubernetes.azure.com/unschedulable", ""),
        (Agent.AKS, _DRAINS, _TAINT, "remediator.aks.microsoft.com/unschedulable", ""),
        (Agent.AKS, _INTERRUPTED, _CONDITION, "PreemptScheduled TerminateScheduled RedeployScheduled", ""),
        (Agent.AKS, _ANNOUNCES, _CONDITION, "RebootScheduled", ""),
        *((Agent.AKS, _INTERRUPTED, _CONDITION, _VM, kind) for kind in ("Preempt", "Terminate", "Redeploy")),
        (Agent.AKS, _ANNOUNCES, _CONDITION, _VM, "Reboot"),
        (Agent.AKS, _DRAINS, _NODE_EVENT, "Drain", "upgrader: "),
    ),
    "openshift/machine-config-operator pkg/daemon/constants/constants.go": (
        (Agent.MACHINE_CONFIG, _RESTARTS, _ANNOTATION, f"{_MACHINE_CONFIG}/desiredDrain", "drain-"),
    ),
    "gardener/machine-controller-manager pkg/util/provider/machinecontroller/machine_util.go": (
        (Agent.MACHINE_CONTROLLER, _REMOVES, _CONDITION, "Terminating", ""),
    ),
    "k8s.io/cloud-provider controllers/nodelifecycle/node_lifecycle_controller.go": (
        (Agent.CLOUD, _INTERRUPTED, _NODE_EVENT, "DeletingNode", "does not exist in the cloud provider"),
    ),
}
"""By source, each sign: agent and purpose, its place, keys or reasons; and a text that ``component: message`` of an
event, ``reason: message`` of a condition or a value contains."""
_SIGNS: Final[dict[tuple[Where, str], list[tuple[Agent, Purpose, str]]]] = {}
for _agent, _purpose, _where, _keys, _words in chain.from_iterable(_ROWS.values()):
    for _key in _keys.split():
        _SIGNS.setdefault((_where, _key), []).append((_agent, _purpose, _words))
_DEGRADED: Final = {f"{_MACHINE_CONFIG}/desiredDrain": f"{_MACHINE_CONFIG}/reason"}
"""By sign, the annotation with the reason why the program makes no progress; it is empty while it does."""
READ_ANNOTATIONS: Final = frozenset(_DEGRADED.values()) | {
    key for where, key in _SIGNS if where in {_ANNOTATION, _POD_ANNOTATION}
}
"""The annotations that the rules read."""
_PURPOSES: Final = {purpose: place for place, purpose in enumerate(Purpose)}


def is_sign(event: Event) -> bool:
    """Whether an event is a sign, so that its message is read."""
    return any(_of_event(event, where) is not None for where in (_POD_EVENT, _NODE_EVENT))


def pod_evictor(event: Event) -> Evictor | None:
    """The program that ended a pod, by an event about the pod; None: the event reports no such end."""
    return _of_event(event, _POD_EVENT)


def manager_of(pod: Pod) -> Evictor | None:
    """The program that manages a pod and may evict it; None: no annotation names one."""
    entries = pod.metadata.annotations.items()
    return next((one for key, value in entries for one in _found(_POD_ANNOTATION, key, value, key)), None)


def going(node: Node, events: Iterable[Event], now: datetime | None) -> Evictor | None:
    """Why a node is about to be removed or to restart, with an event's reason; None: no sign shows that.

    Args:
        node: The node.
        events: The known events about it.
        now: The current time.
    """
    reported = [one for one in _from_events(events, node.metadata.creation_timestamp) if one.purpose is not _HELD]
    meta, state = node.metadata, list[Evictor]()
    for taint in node.spec.taints:
        state += _found(_TAINT, taint.key, taint.value, taint.text, taint.time_added)
    for one in node.status.conditions:
        if one.status == "True":
            state += _found(_CONDITION, one.type, f"{one.reason}: {one.message}", one.type, one.last_transition_time)
    for key, value in meta.annotations.items():
        says = meta.annotations.get(_DEGRADED.get(key, ""), "")
        state += (replace(sign, says=says) for sign in _found(_ANNOTATION, key, value, key))
    for key, value in meta.labels.items():
        state += _found(_LABEL, key, value, key)
    for key in meta.finalizers if meta.deletion_timestamp is not None else ():
        state += _found(_FINALIZER, key, "", key, meta.deletion_timestamp)
    # New events count alone if they are warnings of the cloud, or about an unschedulable node.
    recent = [event for event in reported if _is_within(event, now, _RECENT)]
    alone = [event for event in recent if event.purpose is _INTERRUPTED or node.spec.unschedulable]
    first = min(state or alone, key=_rank, default=None)
    if first is None or first.is_announced:
        return first
    warned = next((one for one in alone if one.purpose is _INTERRUPTED), None)
    reason = warned or next((one for one in reported if one.agent is first.agent), None)
    if reason is None:
        return first
    return replace(first, purpose=min(first, reason, key=_rank).purpose, says=reason.says, at=reason.at)


def held_back(node: Node, events: Iterable[Event], now: datetime | None) -> Evictor | None:
    """Why a program did not remove a node within the last hour, by its newest event; None: no event says so."""
    newest = next(_from_events(events, node.metadata.creation_timestamp), None)
    return newest if newest is not None and newest.purpose is _HELD and _is_within(newest, now, _HOUR) else None


def remover(events: Iterable[Event]) -> Evictor | None:
    """The program that removed a node that no longer exists, by the events about it; None: no event names one.

    The cloud's controller removes the object of each node without a machine, even if an autoscaler removed the machine.
    """
    reported = [one for one in _from_events(events, None) if one.purpose is not _HELD]
    return min(reported, key=lambda one: (one.agent is Agent.CLOUD, _rank(one)), default=None)


def _rank(one: Evictor) -> int:
    return _PURPOSES[one.purpose]


def _of_event(event: Event, where: Where) -> Evictor | None:
    if where is _POD_EVENT and event.reason.endswith(_FAILED):
        return None
    reason, text, said = event.reason, f"{event.component}: {event.message}", event.message
    for agent, purpose, words in (*_SIGNS.get((where, reason), ()), *_SIGNS.get((where, _ANY), ())):
        if words in text:
            if agent is Agent.DESCHEDULER:
                # Older versions write the strategy at the end of the message, newer ones as the reason.
                strategy = said.rpartition(_DESCHEDULER)[2] if reason == _DESCHEDULED else reason
                said = "" if strategy == _NOT_SET else strategy
            return Evictor(agent, purpose, where, reason, said, event.last, reason == _DELETES)
    return None


def _from_events(events: Iterable[Event], since: str | None) -> Iterator[Evictor]:
    """The signs in events about a node, the newest first; events older than the node are about another."""
    made = instant(since)
    for event in sorted(events, key=lambda one: one.last or "", reverse=True):
        found, when = _of_event(event, _NODE_EVENT), instant(event.last)
        if found is not None and (when is None or made is None or when >= made):
            yield found


def _is_within(event: Evictor, now: datetime | None, limit: timedelta) -> bool:
    when = instant(event.at)
    return when is not None and now is not None and now - when <= limit


def _found(where: Where, key: str, says: str, shown: str, at: str | None = None) -> Iterator[Evictor]:
    for agent, purpose, words in _SIGNS.get((where, key), ()):
        if words in says:
            yield Evictor(agent, purpose, where, shown, says if where in _SPOKEN else "", at)
