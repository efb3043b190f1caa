"""The events of a timeline, each with the rule and the field that decided its time."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, Flag, auto
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import replace


class Way(Enum):
    """A way in which a pod, or one of its containers, ends; the value is its name on the command line."""

    DELETE = "delete"
    DRAIN = "drain"
    PREEMPT = "preempt"
    EVICT_HARD = "evict-hard"
    EVICT_SOFT = "evict-soft"
    PROBE = "probe"
    SHUTDOWN = "shutdown"
    NODE_LOST = "node-lost"


class EventKind(Enum):
    """The kind of an event."""

    LAST_HEARTBEAT = "LastHeartbeat"
    NODE_UNKNOWN = "NodeUnknown"
    """The node's Ready condition becomes Unknown, and the pod's own Ready condition False."""
    TAINTED = "Tainted"
    """The node gets the taint node.kubernetes.io/unreachable:NoExecute."""
    DELETED = "Deleted"
    """The object gets a deletionTimestamp."""
    PROBE_FAILED = "ProbeFailed"
    """The probe has failed often enough."""
    PRE_STOP = "PreStop"
    """A container's preStop hook starts."""
    SIGTERM = "SIGTERM"
    SIGKILL = "SIGKILL"
    """The kubelet kills a container that has not ended by then."""
    KILL_TIMEOUT = "KillTimeout"
    """The kubelet stops waiting for the kill and may choose another pod."""
    PROCESSES_ENDED = "ProcessesEnded"
    RESTARTED = "Restarted"
    """The kubelet restarts the container in the same pod."""
    FAILED = "Failed"
    """The object's phase is Failed; Succeeded if every process exited with 0."""
    MACHINE_OFF = "MachineOff"
    """The kubelet lets the shutdown continue."""
    OBJECT_REMOVED = "ObjectGone"
    REPLACED = "Replaced"
    """Its owner creates another pod."""
    VOLUME_FREE = "VolumeFree"
    """A volume can be attached to another node."""


class RuleTrait(Flag):
    """What rules have in common."""

    RECORDED = auto()
    """The pod or its node records that the event has happened."""
    AFTER_END = auto()
    """The event follows the end of the pod's processes."""
    AFTER_OBJECT = auto()
    """The event follows the end of the pod's object."""
    UNKNOWN = auto()
    """Whether and when the event happens is not known."""
    UNFENCED = auto()
    """From the event on a second writer to the volume is possible."""


_NONE: Final = RuleTrait(0)


class TimeRule(Enum):
    """The rule that decides the time of an event; `TimelineEvent.seconds` is the value of the rule's field."""

    traits: RuleTrait

    def __new__(cls, code: str, traits: RuleTrait = _NONE) -> Self:
        """Only the code is the value."""
        rule = object.__new__(cls)
        rule._value_ = code
        rule.traits = traits
        return rule

    START = "Start", RuleTrait.RECORDED
    """The way begins with this event."""
    AFTER_PRE_STOP = "AfterPreStop"
    SIDECAR_TURN = "SidecarTurn"
    """After the containers that stop first, or at the end of the grace period."""
    GRACE_PERIOD = "GracePeriod"
    SHORTENED = "Shortened"
    """A second delete shortened the object's grace period, but not the stop in progress."""
    MINIMUM_GRACE_PERIOD = "MinimumGracePeriod"
    """2 s between SIGTERM and SIGKILL, whatever the grace period."""
    KILL_TIMEOUT = "KillTimeout"
    STOPPED = "Stopped", RuleTrait.AFTER_END
    """The last container has ended."""
    ENDED_BEFORE = "EndedBefore", RuleTrait.RECORDED
    """Every container has ended, as the status shows."""
    KUBELET_CONFIRMS = "KubeletConfirms"
    """The kubelet has observed the end of every process, and cleaned up."""
    GRACE_ZERO = "GraceZero"
    """The API server removes the object at once, even if containers still run."""
    SECOND_DELETE = "SecondDelete"
    """A second delete with grace period 0 removes the object, even if containers still run."""
    FINALIZERS = "Finalizers"
    """The object stays until its finalizers are removed."""
    REQUESTED_BEFORE = "SchedulerMessage"
    """The kubelet may have received the deletion before it went silent; whether it acted is unknown."""
    DELETED_BEFORE = "DeletedBefore", RuleTrait.RECORDED
    """The pod is already deleted."""
    KUBELET_SILENT = "KubeletSilent"
    """Only the kubelet of the node can do it, and it does not respond."""
    KUBELET_GOES_TOO = "KubeletGoesToo"
    """Only the kubelet of the node can do it, and it stops with the machine."""
    PROBE_FOUND = "ProbeFound"
    """The kubelet stops the container as soon as its probe has reached its failure threshold."""
    PROBE_PERIODS = "ProbePeriods"
    RESTART_POLICY = "RestartPolicy"
    SHUTDOWN_GROUPS = "ShutdownGroups"
    """Pods with lower priority stop first, each group with its own time."""
    NOT_BY_KUBELET = "NotByKubelet", RuleTrait.UNKNOWN
    """The machine's own init system decides."""
    NODE_MONITOR_GRACE = "NodeMonitorGrace"
    TAINT_RATE = "TaintRate"
    NODE_SHOWS = "NodeTells", RuleTrait.RECORDED
    """It has happened: this field of the Node has its time."""
    TOLERATION_SECONDS = "TolerationSeconds"
    NOT_TOLERATED = "NotTolerated"
    TOLERATED_FOR_EVER = "ToleratedForEver"
    POD_GC = "PodGC"
    """Pod garbage collection removes pods on a node that does not exist."""
    POD_GC_OUT_OF_SERVICE = "PodGCOutOfService"
    """It removes pods that are being deleted on an out-of-service node that is not Ready."""
    OBJECT_STAYS = "ObjectStays"
    """A finished pod's object stays until a client deletes it."""
    OWNER_DELETES = "OwnerDeletes"
    """The controller deletes the finished pod, which removes it at once."""
    POD_STAYS = "PodStays"
    """Only a container is restarted."""
    MIRROR = "Mirror"
    """The object is the mirror pod of a static pod, and the kubelet recreates it."""
    INACTIVE = "Inactive"
    """ReplicaSet: a pod with a deletionTimestamp, or a finished one, no longer counts."""
    AFTER_OBJECT = "AfterObject", RuleTrait.AFTER_OBJECT
    """StatefulSet, DaemonSet: once the object of the old pod is gone."""
    SURGE = "Surge"
    """DaemonSet with maxSurge: at the deletionTimestamp."""
    JOB_TERMINATING_OR_FAILED = "JobTerminatingOrFailed"
    JOB_FAILED = "JobFailed", RuleTrait.AFTER_END
    NOT_REPLACED = "NotReplaced"
    OWNER_DECIDES = "OwnerDecides", RuleTrait.UNKNOWN
    """The rules of the controller are not known."""
    UNMOUNTED = "Unmounted", RuleTrait.AFTER_END
    """The kubelet has unmounted it and reported so in status.volumesInUse."""
    FORCE_DETACH = "ForceDetach", RuleTrait.AFTER_OBJECT
    """6 min after the object is gone, from a node that is not Ready."""
    FORCE_DETACH_UNFENCED = "ForceDetachUnfenced", RuleTrait.AFTER_OBJECT | RuleTrait.UNFENCED
    """The same for a volume with a detach that does not stop the writer: from then on a second writer is possible."""
    NOT_IN_USE = "NotInUse", RuleTrait.AFTER_OBJECT
    """As soon as the object is gone, from such a node: its status.volumesInUse does not list the volume."""
    NOT_IN_USE_UNFENCED = "NotInUseUnfenced", RuleTrait.AFTER_OBJECT | RuleTrait.UNFENCED
    NOT_LOCKED = "NotLocked", RuleTrait.UNFENCED
    """No guard prevents a second writer."""
    VOLUME_UNKNOWN = "VolumeUnknown", RuleTrait.UNKNOWN


class Standing(Enum):
    """Whether a way can happen to the pod in its current state."""

    APPLIES = "Applies"
    UNDER_WAY = "UnderWay"
    NOT_RUNNING = "NotRunning"
    """It is not on a node."""
    FINISHED = "Finished"
    STOPPING = "Stopping"
    """It is already being deleted: this changes nothing."""
    HIGHEST = "Highest"
    """No pod can have a higher priority than system-node-critical."""
    NO_PREEMPTION = "NoPreemption"
    """No profile of the scheduler has DefaultPreemption."""
    SILENT = "Silent"
    """Only its kubelet could do it, and it does not respond."""
    CRITICAL = "Critical"
    """The kubelet does not evict static, mirror and critical pods."""
    NO_PROBE = "NoProbe"
    PASSED_OVER = "PassedOver"
    """``kubectl drain`` skips pods of DaemonSets and mirror pods."""
    NEEDS_FORCE = "NeedsForce"
    """``kubectl drain`` rejects a pod without a controller unless --force is given."""
    NOT_MODELLED = "NotModelled"
    """The eviction rules of a Windows kubelet are not modelled."""
    PROVIDER = "Provider"
    """Its node is a virtual kubelet: what the provider does is not known."""
    HELD = "Held"
    """A PodDisruptionBudget currently blocks the eviction."""


class Span(Struct, frozen=True):
    """The earliest and the latest second from the start of a way; latest is None without a bound, both for never."""

    earliest: int | None
    latest: int | None

    def later(self, seconds: int, up_to: int | None = None) -> Span:
        """The span later by ``seconds``; its latest second is later by ``up_to``, if given."""
        most = seconds if up_to is None else up_to
        return Span(
            None if self.earliest is None else self.earliest + seconds,
            None if self.latest is None else self.latest + most,
        )

    def or_later(self, other: Span) -> Span:
        """The span in which both have happened."""

        def last(one: int | None, two: int | None) -> int | None:
            return None if one is None or two is None else max(one, two)

        return Span(last(self.earliest, other.earliest), last(self.latest, other.latest))

    def after(self, start: Span) -> Span:
        """The span relative to a start within ``start``."""
        return Span(
            None if self.earliest is None or start.earliest is None else start.earliest + self.earliest,
            None if self.latest is None or start.latest is None else start.latest + self.latest,
        )


AT_ONCE = Span(0, 0)
NEVER = Span(None, None)


class TimelineEvent(Struct, frozen=True, rename="camel", kw_only=True):
    """Something that happens, and when. Seconds count from the start of its way."""

    what: EventKind
    subject: str = ""
    """The container, the owner (``StatefulSet db``), the volume or the finalizers (``a, b``) that it is about."""
    earliest: int | None
    """None: never by itself; with a rule of trait `UNKNOWN`: not known."""
    latest: int | None
    """None, with an earliest second: there is no upper bound."""
    rule: TimeRule
    field: str = ""
    """The deciding field's path in the pod or in the kubelet's configuration, or a flag of a component."""
    seconds: int | None = None
    """The value of that field, if it is a time."""
    signal: str = ""
    """For SIGTERM, the signal: ``SIGTERM`` unless lifecycle.stopSignal sets another."""

    @classmethod
    def of(cls, what: EventKind, span: Span, rule: TimeRule, **more: Any) -> TimelineEvent:
        """An event within a span; ``more`` are further fields."""
        return cls(what=what, earliest=span.earliest, latest=span.latest, rule=rule, **more)

    @property
    def span(self) -> Span:
        """The earliest and the latest second of the event."""
        return Span(self.earliest, self.latest)

    def during(self, span: Span) -> TimelineEvent:
        """The same event at another time."""
        return replace(self, earliest=span.earliest, latest=span.latest)


class Reminder(Enum):
    """A surprising fact."""

    SECOND_DELETE = "SecondDelete"
    """A second delete may shorten the object's grace period, but not the stop in progress, which lasts ``seconds``."""
    NOT_LONGER = "NotLonger"
    """A second delete requests ``seconds``, and the pod has no more: it changes nothing."""
    SHORTER = "Shorter"
    """A second delete requests ``seconds``, and the pod has more: the object's grace period changes, not the stop."""
    ZERO_IS_FORCED = "ZeroIsForced"
    """kubectl requests grace period 0 only with --force."""
    EXITS_ZERO = "ExitsZero"
    """A pod ends Succeeded if all its processes exit with 0, even if it was evicted."""
    JOB_COUNTS_SUCCESS = "JobCountsSuccess"
    """The same for a Job: it counts the work as done."""
    BACK_OFF = "BackOff"
    """The first two restarts are immediate; later ones in quick succession wait ``seconds``, doubled up to 5 min."""
    NO_MAX_GRACE = "NoMaxGrace"
    """A soft eviction is as short as a hard one unless evictionMaxPodGracePeriod is set."""
    THRESHOLDS = "Thresholds"
    """The thresholds of its kubelet, listed in ``subject``; for a soft eviction only the soft ones."""
    NO_THRESHOLD = "NoThreshold"
    """Its kubelet has no such threshold: ``subject`` is the field that would set one."""
    KUBELET_NOT_READ = "KubeletNotRead"
    """The kubelet's configuration could not be read: its defaults are assumed."""
    THEN_NODE_LOST = "ThenNodeLost"
    """A machine that stops like this is a lost node; an end after ``seconds`` may come too late."""
    NODE_RETURNS = "NodeReturns"
    """One resolution: the kubelet responds again and then stops the pod."""
    NODE_RETURNS_LATE = "NodeReturnsLate"
    """The same for a pod that is already marked for deletion."""
    NODE_DELETED = "NodeDeleted"
    """One resolution: the Node object is deleted, and podgc removes the pod at most ``seconds`` later, unless
    finalizer ``subject`` keeps it."""
    OUT_OF_SERVICE = "OutOfService"
    """One resolution: the out-of-service taint; podgc removes the pod within ``seconds`` unless finalizer ``subject``
    keeps it, and volumes are detached at once."""
    VERSION_UNKNOWN = "VersionUnknown"
    """The version of the control plane is not known; it decides when a node becomes Unknown."""
    MAX_SILENT = "MostSilent"
    """Nodes are tainted more slowly or not at all if most of a zone is silent."""
    NOT_RUNNING = "NotRunning"
    """A container that does not run now and so does not have to stop."""
    STATIC_NOT_BACK = "StaticNotBack"
    """An evicted static pod does not return by itself."""


class Note(Struct, frozen=True, rename="camel"):
    """A reminder that applies to this pod."""

    reminder: Reminder
    seconds: int | None = None
    subject: str = ""


class WayTimeline(Struct, frozen=True, rename="camel", kw_only=True):
    """The timeline of one way."""

    way: Way
    standing: Standing
    reason: str = ""
    """The API server's message if it rejects an eviction."""
    grace_seconds: int | None = None
    """The grace period of the stop; None: no stop."""
    events: tuple[TimelineEvent, ...] = ()
    """The events in the order in which they happen; those that never happen are last."""
    notes: tuple[Note, ...] = ()
    began: datetime | None = None
    """When the way began, if it is under way: the DELETE, or the node's last heartbeat."""


class PodTimeline(Struct, frozen=True, rename="camel"):
    """The timelines of a pod in every way, the currently relevant one first."""

    ways: tuple[WayTimeline, ...]
    began: datetime | None
    """When the first way began; None: it is not under way."""
    silent: bool
    """Whether its node does not respond."""
    budgets_known: bool
