"""The repeated warning of a component while a pod does not start, does not end or gets no volume.

    start     bound, no process yet, and its containers' states do not show why: volumes, sandbox and network come
              first. Once its sandbox exists (PodReadyToStartContainers), no warning of these steps applies any longer
    end       deleted, and a minute late
    volume    no node yet, and claims
    current   the last event is less than 10 min old: the kubelet waits up to 2 min 2 s between two tries, and after 25
              events about one object a component sends one in five minutes. The attach-detach controller reports once
              that a volume is in use elsewhere: that stays current until it reports that it has attached it
              A later step (Pulling …) also ends it
    about     the pod itself, then its claims, then its node: from a node only warnings that block pods
    long      five minutes: two of the kubelet's longest waits

A pod that no scheduler has processed has no PodScheduled condition: kube-scheduler sets it after the first try, or once
the pod's volumes are bound.

Source, at v1.36.3: pkg/kubelet/events/event.go, pkg/kubelet/kubelet.go (SyncPod, SyncTerminatingPod),
pkg/util/goroutinemap/exponentialbackoff/exponential_backoff.go, pkg/kubelet/volumemanager/volume_manager.go,
pkg/volume/util/operationexecutor/operation_generator.go, pkg/controller/volume/attachdetach/reconciler/reconciler.go
(reportMultiAttachError), pkg/scheduler/schedule_one.go (handleSchedulingFailure), k8s.io/client-go/tools/record/
events_cache.go (EventSourceObjectSpamFilter).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct

from podrules.api.model.event import Event
from podrules.api.model.instant import instant, later
from podrules.api.model.pod import DEFAULT_SCHEDULER_NAME, Pod
from podrules.ending.deleted_pod import PATIENCE, pod_ending
from podrules.ending.volumes import claimed_volumes
from podrules.pod.container_state import with_process
from podrules.pod.health import PASSES
from podrules.pod.platform import scheduling_group
from podrules.pod.priority import CONFIG_MIRROR

_LONG: Final = timedelta(minutes=5)
_HOLDS: Final = timedelta(minutes=10)
_BINDING: Final = timedelta(minutes=10)
_SOON: Final = timedelta(minutes=1)
"""Events are read for pods that have waited longer than this."""
_WARNING: Final = "Warning"
_ATTACH: Final = "FailedAttachVolume"
_ATTACHED: Final = "SuccessfulAttachVolume"
PROVISIONING_FAILED: Final = "ProvisioningFailed"
_STEPS: Final = frozenset(
    {
        *(_ATTACH, "FailedMount", "FailedMapVolume", "FailedMountOnFilesystemMismatch", "VolumeResizeFailed"),
        *("FailedCreatePodSandBox", "FailedPodSandBoxStatus", "FailedCreatePodContainer", "NetworkNotReady"),
        *("FailedPrepareDynamicResources", "FailedKillPod", "FailedUnMount", PROVISIONING_FAILED, "FailedSync"),
    }
)
"""The reasons of Kubernetes' own steps: they take precedence over others."""
PROVISIONING: Final = "ExternalProvisioning"
"""The PV controller's repeated event, not a warning, while a provisioner has not created a claim's volume."""
_OF_NODES: Final = frozenset(
    {
        *("CIDRNotAvailable", "CIDRAssignmentFailed", "FailedToCreateRoute", "FailedNodeAllocatableEnforcement"),
        *("KubeletSetupFailed", "ContainerGCFailed", "FreeDiskSpaceFailed", "FilesystemIsReadOnly", "TaskHung"),
    }
)
"""The warnings about a node that block starts or ends of pods; the last two are node-problem-detector's."""
_PULLS: Final = "FailedToRetrieveImagePullSecret"
READ_WARNINGS: Final = _STEPS | _OF_NODES | {_PULLS, PROVISIONING}
"""The reasons of the events with messages that are read."""
_OTHER: Final = frozenset(
    {
        *("Unhealthy", "ProbeWarning", "BackOff", "Failed", "InspectFailed", "ErrImageNeverPull", "FailedScheduling"),
        *("DNSConfigForming", "MissingClusterDNS", "FailedToRetrieveImagePullSecret", "NodeNotReady", "CgroupV1"),
        *("PossibleMemoryBackedVolumesOnDisk", "AlreadyMountedVolume", "PolicyViolation", "Evicted", "Preempted"),
        *("FailedPostStartHook", "FailedPreStopHook", "ExceededGracePeriod", "FailedBinding", "NodeRebooted"),
    }
)
"""Warnings that block nothing, or that the states of containers show better."""
_SCALERS: Final = {
    "cluster-autoscaler": frozenset({"NotTriggerScaleUp", "TriggeredScaleUp", "FailedScaleUp"}),
    "karpenter": frozenset({"FailedScheduling", "Nominated"}),
}
"""The reasons of autoscalers' events about pods that fit no node.

Source: kubernetes/autoscaler cluster-autoscaler/processors/status/eventing_scale_up_processor.go and clusterstate;
kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/events.go.
"""
_SUMMARIES: Final = ("Unable to attach or mount volumes", "Unable to mount volumes", "unmounted volumes=")
"""The volume manager lists the missing volumes every two minutes; the warning of the volume itself has the reason."""
_MOVES: Final = frozenset({"Pulling", "Pulled", "Created", "Started"})
"""Later steps: an earlier blocker no longer applies."""
_VOLUME: Final = r'volume "[^"]{1,300}"'
_COMBINED: Final = "(combined from similar events): "


class Wait(Enum):
    """The goal for which a pod waits."""

    START = "Start"
    END = "End"
    VOLUME = "Volume"


class Stuck(Struct, frozen=True, rename="camel"):
    """A repeated warning that is current."""

    reason: str
    message: str
    times: int
    first: str | None
    last: str | None
    long: bool
    """Whether it has repeated for five minutes."""
    about: str = ""
    """``persistentvolumeclaim/data-0``, ``node/n1``; empty: the pod itself."""
    also: tuple[str, ...] = ()
    """The messages about other volumes with the same failing step."""


class AutoscalerWord(Struct, frozen=True, rename="camel"):
    """An autoscaler's last event about a waiting pod."""

    component: str
    reason: str
    message: str
    at: str | None


class UnprocessedPod(Struct, frozen=True, rename="camel"):
    """A pod that no scheduler has processed."""

    scheduler: str
    """``spec.schedulerName``."""
    since: str | None
    binds: bool
    """Whether a scheduler may be waiting for its volumes or devices: up to 10 min (bindTimeoutSeconds)."""

    def is_long(self, at: datetime | None) -> bool:
        """Whether it has waited for five minutes, plus the time for its volumes."""
        since = instant(self.since)
        patience = _LONG + (_BINDING if self.binds else timedelta())
        return at is not None and since is not None and at - since >= patience


def waits(pod: Pod, at: datetime | None, *, quiet: bool = False) -> Wait | None:
    """For what a pod has waited more than a minute, if events may show why; None: nothing, or its node is silent."""
    made = instant(pod.metadata.creation_timestamp)
    if at is None or quiet or made is None or at - made < _SOON:
        return None
    if pod.metadata.deletion_timestamp is not None:
        ending = pod_ending(pod)
        if not pod.spec.node_name or ending.static or ending.deleted_at is None or ending.holders:
            return None
        over = ending.ends_by or later(ending.deleted_at, ending.grace.longest)
        return Wait.END if at > later(over, PATIENCE.total_seconds()) else None
    if pod.finished:
        return None
    if not pod.spec.node_name:
        return Wait.VOLUME if claimed_volumes(pod) and not pod.spec.scheduling_gates else None
    sandbox, statuses = pod.status.condition("PodReadyToStartContainers"), pod.status.of_containers
    held = (one.state.waiting is not None and one.state.waiting.reason not in PASSES for one in statuses)
    ran = any(one.latest_end is not None for one in statuses)
    there = sandbox.status == "True" if sandbox is not None else ran
    runs = bool(statuses) and any(True for _ in with_process(pod))
    starts = pod.status.phase == "Pending" or sandbox is not None
    return None if there or runs or any(held) or not starts else Wait.START


def may_be_stuck(pod: Pod, at: datetime | None, *, quiet: bool = False) -> bool:
    """Whether events may show that a pod is stuck for long, if nothing else shows why it waits."""
    wait = waits(pod, at, quiet=quiet)
    began, scheduled = _began(pod, wait), pod.status.condition("PodScheduled")
    if wait is None or at is None or began is None or at - began < _LONG:
        return False
    return wait is not Wait.VOLUME or scheduled is None


def event_subjects(pod: Pod) -> list[tuple[str, str]]:
    """The objects with events that may show why it waits, by kind and name: itself, three of its claims, its node."""
    claims = [("PersistentVolumeClaim", one.claim) for one in claimed_volumes(pod)[:3]]
    return [("Pod", pod.metadata.name), *claims, *([("Node", pod.spec.node_name)] if pod.spec.node_name else [])]


def _began(pod: Pod, wait: Wait | None) -> datetime | None:
    return (pod_ending(pod).deleted_at if wait is Wait.END else None) or instant(pod.metadata.creation_timestamp)


def stuck_by(pod: Pod, wait: Wait, events: Iterable[Event], at: datetime) -> Stuck | None:
    """The warning that shows why a pod waits, from events about it, its claims or its node; None: none does."""
    began = _began(pod, wait)
    known = [one for one in events if began is None or (last := instant(one.last)) is None or last >= began]
    attached = [one for one in known if one.reason == _ATTACHED]
    moved = max((one.last or "" for one in known if one.reason in _MOVES and _is_of(one, pod)), default="")
    families: dict[tuple[int, bool, bool], list[Event]] = {}
    for one in known:
        if (rank := _rank(one, pod)) is not None:
            families.setdefault(rank, []).append(one)
    for rank in sorted(families):
        holding = [one for one in families[rank] if _holds(one, at, attached) and (one.last or "") >= moved]
        newest = max(holding, key=lambda event: event.last or "", default=None)
        if newest is None:
            continue
        alike = [one for one in families[rank] if _step(one) == _step(newest)]
        others = {_step(one): one.message.removeprefix(_COMBINED) for one in holding if one.reason == newest.reason}
        others.pop(_step(newest))
        times, first = sum(one.times for one in alike), min(one.first or "" for one in alike)
        if times > 1 or newest.reason == _ATTACH:
            since, about = instant(first), newest.involved_object
            return Stuck(
                newest.reason,
                newest.message.removeprefix(_COMBINED),
                times,
                first or None,
                newest.last,
                since is not None and at - since >= _LONG,
                f"{about.kind.lower()}/{about.name}" if rank[0] else "",
                tuple(others.values()),
            )
    return None


def hints(pod: Pod, at: datetime | None) -> tuple[str, ...]:
    """The reasons of warnings that add to a pod's container states: why it is not Ready, or gets no image."""
    pulls = [one.state.waiting for one in pod.status.of_containers if one.state.waiting is not None]
    pulls = [one for one in pulls if one.reason in {"ImagePullBackOff", "ErrImagePull"}]
    if pulls:
        # Older kubelets do not include the registry's response in the state.
        return (_PULLS, *(() if any("ErrImagePull:" in one.message for one in pulls) else ("Failed",)))
    ready = pod.status.condition("Ready")
    since = instant(ready.last_transition_time) if ready is not None and ready.status == "False" else None
    runs = pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
    return ("Unhealthy",) if runs and since is not None and at is not None and at - since >= _SOON else ()


def hinted_by(pod: Pod, reasons: Sequence[str], events: Iterable[Event], at: datetime) -> Stuck | None:
    """The newest warning with the first of these reasons in the last 10 min; None: none came."""
    known = [one for one in events if one.type == _WARNING and _is_of(one, pod) and _holds(one, at, ())]
    for reason in reasons:
        own = [one for one in known if one.reason == reason and not one.message.startswith("Error: ")]
        if own:
            newest = max(own, key=lambda event: event.last or "")
            times = sum(one.times for one in own if one.message == newest.message)
            return Stuck(reason, newest.message.removeprefix(_COMBINED), times, newest.first, newest.last, long=False)
    return None


def _step(event: Event) -> tuple[str, str]:
    """The failing step, and its volume: messages of one step differ in ids."""
    volume = re.search(_VOLUME, event.message)
    return event.reason, volume[0] if volume is not None else ""


def is_of_autoscaler(event: Event) -> bool:
    """Whether an event is an autoscaler's about a pod that fits no node."""
    return event.reason in _SCALERS.get(event.component, ())


def autoscaler_word(pod: Pod, events: Iterable[Event], at: datetime) -> AutoscalerWord | None:
    """An autoscaler's last event about a pod within the last hour; None: none came."""
    own = [one for one in events if is_of_autoscaler(one) and _is_of(one, pod)]
    newest = max(own, key=lambda one: one.last or "", default=None)
    last = instant(newest.last) if newest is not None else None
    if newest is None or last is None or at - last > timedelta(hours=1):
        return None
    return AutoscalerWord(newest.component, newest.reason, newest.message, newest.last)


def _rank(event: Event, pod: Pod) -> tuple[int, bool, bool] | None:
    """Its subject, whether it is not a step of Kubernetes, and whether it is a summary; None: it blocks no pod."""
    place, summary = _place(event, pod), event.message.removeprefix(_COMBINED).startswith(_SUMMARIES)
    return None if place is None else (place, event.reason not in _STEPS, summary)


def _place(event: Event, pod: Pod) -> int | None:
    """0: about the pod, 1: about one of its claims, 2: about its node; None: it does not block the pod."""
    if event.reason != PROVISIONING and (event.type != _WARNING or event.reason in _OTHER):
        return None
    about = event.involved_object
    if about.kind == "Pod":
        return 0 if _is_of(event, pod) else None
    if about.kind == "PersistentVolumeClaim" and about.namespace == pod.metadata.namespace:
        return 1 if any(one.claim == about.name for one in claimed_volumes(pod)) else None
    return 2 if about.kind == "Node" and about.name == pod.spec.node_name and event.reason in _OF_NODES else None


def _is_of(event: Event, pod: Pod) -> bool:
    about, uids = event.involved_object, {"", pod.metadata.uid, pod.metadata.annotations.get(CONFIG_MIRROR)}
    return about.kind == "Pod" and about.uid in uids and (about.namespace, about.name) == pod.metadata.place


def _holds(event: Event, at: datetime, attached: Sequence[Event]) -> bool:
    last, volume = instant(event.last), re.search(_VOLUME, event.message)
    if event.reason == _ATTACH and volume is not None:
        return not any(volume[0] in one.message and (one.last or "") >= (event.last or "") for one in attached)
    return last is not None and at - last <= _HOLDS


def unseen(pod: Pod) -> UnprocessedPod | None:
    """A pod that no scheduler has processed yet; None: one has, or none needs to.

    A scheduler of groups may first wait for the rest of a group.
    """
    asked = not (pod.spec.node_name or pod.finished or pod.metadata.deletion_timestamp or pod.spec.scheduling_gates)
    seen = pod.status.condition("PodScheduled") is not None or bool(pod.status.nominated_node_name)
    if not asked or seen or scheduling_group(pod) is not None:
        return None
    binds = bool(claimed_volumes(pod) or pod.spec.resource_claims)
    return UnprocessedPod(pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME, pod.metadata.creation_timestamp, binds)
