"""Parse what Kubernetes' components write about an end: in a pod's status, in its conditions, in events.

    Evicted        "The node was low on resource: memory. Threshold quantity: …, available: …. Container … was using …"
                   names the scarce resource and the containers above their requests; three other texts name a limit of
                   the pod itself. "The node had condition: …" is not an eviction: the kubelet rejected the pod
    Killing        "Container web failed liveness probe, will be restarted"; "Stopping container web" gives no reason
    Pod was rejected: …   the kubelet rejected it; the reason is OutOfcpu, NodeAffinity and so on
    DisruptionTarget      reason: who deletes the pod

Source, at v1.36.3: pkg/kubelet/eviction/{helpers,eviction_manager}.go (…MessageFmt), pkg/kubelet/kuberuntime/
kuberuntime_manager.go (computePodActions), kuberuntime_container.go (killContainer, startContainer),
pkg/kubelet/preemption/preemption.go, pkg/kubelet/nodeshutdown/nodeshutdown_manager.go, pkg/kubelet/active_deadline.go,
pkg/kubelet/kubelet.go (rejectPod), pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go,
pkg/scheduler/framework/preemption/executor.go, pkg/registry/core/pod/storage/eviction.go,
pkg/controller/tainteviction/taint_eviction.go, pkg/controller/podgc/gc_controller.go.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from podrules.ending.died.cause import Cause

EVICTED: Final = "Evicted"
_LOW: Final = "The node was low on resource: "
_RESOURCES: Final = {cause.rule.resource: cause for cause in Cause if cause.rule.resource}
_LIMITS: Final = tuple((cause.rule.limit, cause) for cause in Cause if cause.rule.limit)
_REJECTED: Final = "Pod was rejected: "
_OUT_OF: Final = "OutOf"
_ADMISSION: Final = frozenset(
    {
        *("NodeAffinity", "NodeName", "NodePorts", "UnexpectedAdmissionError", "PodOSNotSupported", "NodeShutdown"),
        *("PodOSSelectorNodeLabelDoesNotMatch", "SysctlForbidden", "AppArmor", "TopologyAffinityError"),
        *("PodLevelResourcesNotSupported", "PodFeatureUnsupported", "InitContainerRestartPolicyForbidden"),
        *("SupplementalGroupsPolicyNotSupported", "VolumeAttachmentLimitExceeded", "SMTAlignmentError"),
        *(
            "UnexpectedPredicateFailureType",
            "MatchNodeSelector",
            "HostName",
            "PodFitsHostPorts",
            "PodToleratesNodeTaints",
            "InvalidNodeInfo",
        ),
    }
)
"""The reasons of a kubelet that rejects a pod; older kubelets write no common text."""
_OLD_REJECTED: Final = "Pod "
CONDITION: Final = "The node had condition: "
_SHUTDOWN: Final = "Pod was terminated in response to imminent node shutdown."
_OLD_SHUTDOWN: Final = "Node is shutting"
_CRITICAL: Final = "Pod was preempted by Kubelet to accommodate a critical pod."
_KILLS: Final = tuple((cause.rule.killing, cause) for cause in Cause if cause.rule.killing)
_STOPPING: Final = "Stopping container "
_USED: Final = r"(Container|Pod) (\S+) was using (\S+), request is (\S+), has larger consumption of [\w-]+\. "
_MET: Final = r"Threshold quantity: (\S+), available: (\S+)\. "
_LIMIT: Final = r'(?:storage limit|exceeds the limit|total limit of containers) "?([^"\s]+?)"?\. ?$'
_NAMED: Final = r'(?:Container|EmptyDir volume) "?([^"\s]+)"? exceed'
_DELETED: Final = r"(?:Deleted pod: |[Dd]elete Pod )(\S+)"

DISRUPTIONS: Final = {reason: cause for cause in Cause for reason in cause.rule.disruptions}
"""The reasons of condition DisruptionTarget with which a component deletes the pod."""
DISRUPTION: Final = "DisruptionTarget"
"""The condition of a pod that a component deletes or ends."""
BY_KUBELET: Final = "TerminationByKubelet"
"""Its reason if the kubelet ends the pod itself."""
TAINTED: Final = frozenset(Cause.TAINT_EVICTION.rule.events)
"""The reasons of the taint managers' events that they delete a pod, or no longer do so."""
FORCE_ALLOWED: Final = Cause.FORCE_DELETED.rule.events[0]
"""The reason of the webhook's event that it allowed a force deletion, right before that happens."""
EVENT_CAUSES: Final = {reason: cause for cause in Cause for reason in cause.rule.events}
"""The reasons of events about a pod that name the cause; for Evicted, the message names it."""
_STATUS_CAUSES: Final = {cause.rule.status: cause for cause in Cause if cause.rule.status}
_FORCED_BY: Final = r"A force deletion by (\S{1,128}) was allowed "
UNHEALTHY: Final = {cause: f"{cause.rule.probe.capitalize()} probe" for cause in Cause if cause.rule.probe}
"""The first words of the message of event Unhealthy."""
CLEANED_UP: Final = frozenset(
    {"FailedDaemonPod", "SucceededDaemonPod", "RecreatingFailedPod", "RecreatingTerminatedPod"}
)
"""The reasons of a controller's events that it deletes an ended pod: DaemonSets, and StatefulSets of older
versions."""
PRESSURE_REASONS: Final = frozenset({"EvictionThresholdMet", "FreeDiskSpaceFailed", "ImageGCFailed"})
"""The reasons of a kubelet's events about a node that is short of a resource."""
READ_REASONS: Final = frozenset(
    {
        *PRESSURE_REASONS,
        *EVENT_CAUSES,
        *CLEANED_UP,
        EVICTED,
        "Killing",
        "SandboxChanged",
        "Scheduled",
        "SuccessfulDelete",
    }
    | {"SystemOOM", "OOMKilling", "ScalingReplicaSet", "SuccessfulRescale"}
)
"""The reasons of the events with messages that are read."""
NEVER_RAN: Final = {reason: cause for cause in Cause for reason in cause.rule.waits}
"""The reasons of a waiting or ended container that never ran, or was stopped as it started."""


class OverUse(Struct, frozen=True, rename="camel"):
    """A container or pod that used more than it requested when the node was low on a resource."""

    name: str
    whole_pod: bool
    used: str
    """The quantity as the kubelet wrote it."""
    requested: str


class EvictionNumbers(Struct, frozen=True, rename="camel"):
    """The numbers of an eviction's message; empty fields: the message has none."""

    resource: str = ""
    """``memory``, ``ephemeral-storage``, ``inodes``, ``pids``; empty: a limit of the pod itself."""
    threshold: str = ""
    available: str = ""
    over: tuple[OverUse, ...] = ()
    name: str = ""
    """The container or volume that reached its own limit."""
    limit: str = ""
    set_by: str = ""
    """The kubelet's field with that threshold; empty: its configuration is not known, or both or none have it."""
    grace_seconds: int | None = None
    """The longest grace period of a soft threshold; None: none was met, or that is not known."""


def cause_of_status(reason: str, message: str) -> Cause | None:
    """The cause that a finished pod's status names (``status.reason`` and ``status.message``); None: it names none."""
    if is_rejection(reason, message):
        return Cause.REJECTED
    if reason == EVICTED:
        return cause_of_eviction(message)
    if reason in _STATUS_CAUSES:
        return _STATUS_CAUSES[reason]
    if message == _SHUTDOWN or (reason == "Shutdown" and message.startswith(_OLD_SHUTDOWN)):
        return Cause.NODE_SHUTDOWN
    return None


def is_rejection(reason: str, message: str = "") -> bool:
    """Whether a status or an event is that of a kubelet that rejected a pod."""
    if reason == EVICTED and cause_of_eviction(message) is Cause.REJECTED:
        return True
    return message.startswith(_REJECTED) or reason in _ADMISSION or reason.startswith(_OUT_OF)


def cause_of_condition(message: str) -> Cause | None:
    """The cause that condition DisruptionTarget names, if the kubelet set it; None: no known cause."""
    if message == _SHUTDOWN:
        return Cause.NODE_SHUTDOWN
    return Cause.KUBELET_PREEMPTION if message == _CRITICAL else cause_of_eviction(message)


def cause_of_eviction(message: str) -> Cause | None:
    """The cause that the message of an eviction names; None: the kubelet did not write it."""
    if message.removeprefix(_REJECTED).removeprefix(_OLD_REJECTED).startswith(CONDITION):
        return Cause.REJECTED
    if message.startswith(_LOW):
        return _RESOURCES.get(message.removeprefix(_LOW).partition(". ")[0].rstrip("."))
    return next((cause for pattern, cause in _LIMITS if re.match(pattern, message)), None)


def eviction_numbers(message: str) -> EvictionNumbers:
    """The numbers of an eviction's message."""
    met, limit = re.search(_MET, message), re.search(_LIMIT, message)
    named = re.match(_NAMED, message.removeprefix("Usage of "))
    resource = message.removeprefix(_LOW).partition(". ")[0].rstrip(".") if message.startswith(_LOW) else ""
    return EvictionNumbers(
        resource=resource,
        threshold=met[1] if met else "",
        available=met[2] if met else "",
        over=tuple(OverUse(name, what == "Pod", *amounts) for what, name, *amounts in re.findall(_USED, f"{message} ")),
        name=named[1] if named and not resource else "",
        limit=limit[1] if limit and not resource else "",
    )


def cause_of_kill(message: str) -> Cause | None:
    """Why the kubelet killed a container but not its pod, by the message of event Killing; None: it does not say."""
    return next((cause for words, cause in _KILLS if words in message), None)


def is_plain_stop(message: str) -> bool:
    """Whether event Killing gives no reason: the whole pod, or its sandbox, stops."""
    return message.startswith(_STOPPING)


def names_pod(message: str, name: str) -> bool:
    """Whether a controller's event names a pod, alone or after its namespace."""
    return any(word.rpartition("/")[2] == name for word in message.replace(",", " ").split())


def forced_by(message: str) -> str:
    """The user that requested a force deletion, by the webhook's event; empty: it names no user."""
    found = re.match(_FORCED_BY, message)
    return found[1] if found else ""


def deleted_name(message: str) -> str:
    """The pod that a controller's event SuccessfulDelete names; empty: none."""
    found = re.search(_DELETED, message)
    return found[1] if found else ""
