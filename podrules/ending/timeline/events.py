"""What a timeline is made of: events, each with the rule and the field that decided when it comes."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

__all__ = [
    "AT_ONCE",
    "NEVER",
    "Cause",
    "Event",
    "Note",
    "PodTimeline",
    "Reminder",
    "Span",
    "Standing",
    "Way",
    "WayTimeline",
    "What",
]


class Way(Enum):
    """A way in which a pod, or one of its containers, ends; the value is what the command line calls it."""

    DELETE = "delete"
    DRAIN = "drain"
    PREEMPT = "preempt"
    EVICT_HARD = "evict-hard"
    EVICT_SOFT = "evict-soft"
    PROBE = "probe"
    SHUTDOWN = "shutdown"
    NODE_LOST = "node-lost"


class What(Enum):
    """What happens."""

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
    """A container's hook starts."""
    SIGTERM = "SIGTERM"
    SIGKILL = "SIGKILL"
    """For a container that has not ended by then."""
    KILL_TIMEOUT = "KillTimeout"
    """The kubelet waits no longer for the kill and may look for another pod."""
    PROCESSES_ENDED = "ProcessesEnded"
    RESTARTED = "Restarted"
    """The container, in the same pod."""
    FAILED = "Failed"
    """The object's phase is Failed; Succeeded when every process exited 0."""
    MACHINE_OFF = "MachineOff"
    """The kubelet lets the shutdown go on."""
    OBJECT_GONE = "ObjectGone"
    REPLACED = "Replaced"
    """Its owner makes another pod."""
    VOLUME_FREE = "VolumeFree"
    """A volume can be attached to another node."""


class Cause(Enum):
    """Why an event comes when it does; `Event.seconds` is the number that the rule's field holds."""

    START = "Start"
    """It is where this way begins."""
    AFTER_PRE_STOP = "AfterPreStop"
    SIDECAR_TURN = "SidecarTurn"
    """After the containers that go first, or when the grace period is over."""
    GRACE_PERIOD = "GracePeriod"
    SHORTENED = "Shortened"
    """A second delete shortened the object's period, not the stop in flight."""
    MINIMUM_GRACE_PERIOD = "MinimumGracePeriod"
    """2 s between SIGTERM and SIGKILL, whatever the grace period."""
    KILL_TIMEOUT = "KillTimeout"
    STOPPED = "Stopped"
    """When the last container has ended."""
    ENDED_BEFORE = "EndedBefore"
    """Every container has ended, as the kubelet has told."""
    KUBELET_CONFIRMS = "KubeletConfirms"
    """The kubelet has seen that every process ended, and cleaned up."""
    GRACE_ZERO = "GraceZero"
    """The API server removes the object at once, whatever still runs."""
    SECOND_DELETE = "SecondDelete"
    """A second delete without grace removes the object, whatever still runs."""
    FINALIZERS = "Finalizers"
    """The object stays until others have removed their finalizers."""
    TOLD_BEFORE = "ToldBefore"
    """The kubelet may have been told before it went silent; whether it has done it, nobody knows."""
    DELETED_BEFORE = "DeletedBefore"
    """It has been deleted already."""
    KUBELET_SILENT = "KubeletSilent"
    """Only the kubelet of the node can do it, and that does not answer."""
    KUBELET_GOES_TOO = "KubeletGoesToo"
    """Only the kubelet of the node can do it, and that goes down with the machine."""
    PROBE_FOUND = "ProbeFound"
    """The kubelet stops the container as soon as its probe has failed for the last time."""
    PROBE_PERIODS = "ProbePeriods"
    RESTART_POLICY = "RestartPolicy"
    SHUTDOWN_GROUPS = "ShutdownGroups"
    """Pods of lower priority go first, each group with its own time."""
    NOT_BY_KUBELET = "NotByKubelet"
    """The machine's own init system decides."""
    NODE_MONITOR_GRACE = "NodeMonitorGrace"
    TAINT_RATE = "TaintRate"
    NODE_TELLS = "NodeTells"
    """It has come: the Node has its time in this field."""
    TOLERATION_SECONDS = "TolerationSeconds"
    NOT_TOLERATED = "NotTolerated"
    TOLERATED_FOR_EVER = "ToleratedForEver"
    POD_GC = "PodGC"
    """Pod garbage collection removes what names a node that does not exist."""
    POD_GC_OUT_OF_SERVICE = "PodGCOutOfService"
    """It removes what is being deleted on a node that is declared out of service, and not Ready."""
    OBJECT_STAYS = "ObjectStays"
    """A finished pod's object stays until somebody deletes it."""
    OWNER_DELETES = "OwnerDeletes"
    """The controller deletes the finished pod, which removes it at once."""
    POD_STAYS = "PodStays"
    """Only a container is restarted."""
    MIRROR = "Mirror"
    """The object is a mirror of a static pod, which the kubelet makes again."""
    INACTIVE = "Inactive"
    """ReplicaSet: a pod with a deletionTimestamp, or a finished one, counts no more."""
    AFTER_OBJECT = "AfterObject"
    """StatefulSet, DaemonSet: when the object of the old pod is gone."""
    SURGE = "Surge"
    """DaemonSet with maxSurge: at the deletionTimestamp."""
    JOB_TERMINATING_OR_FAILED = "JobTerminatingOrFailed"
    JOB_FAILED = "JobFailed"
    NOT_REPLACED = "NotReplaced"
    OWNER_DECIDES = "OwnerDecides"
    """A controller whose rules are not known."""
    UNMOUNTED = "Unmounted"
    """The kubelet has unmounted it and said so in status.volumesInUse."""
    FORCE_DETACH = "ForceDetach"
    """6 min after the object is gone, from a node that is not Ready."""
    FORCE_DETACH_UNFENCED = "ForceDetachUnfenced"
    """The same of a volume whose detach fences nobody: from then on nothing keeps a second writer away."""
    NOT_IN_USE = "NotInUse"
    """As soon as the object is gone, from such a node: status.volumesInUse does not list it."""
    NOT_IN_USE_UNFENCED = "NotInUseUnfenced"
    NOT_LOCKED = "NotLocked"
    """Nothing keeps a second writer away."""
    VOLUME_UNKNOWN = "VolumeUnknown"


class Standing(Enum):
    """Whether a way can happen to the pod as it is."""

    APPLIES = "Applies"
    UNDER_WAY = "UnderWay"
    NOT_RUNNING = "NotRunning"
    """It is on no node."""
    FINISHED = "Finished"
    STOPPING = "Stopping"
    """It is being deleted already: this changes nothing."""
    HIGHEST = "Highest"
    """Nobody has a higher priority than system-node-critical."""
    NO_PREEMPTION = "NoPreemption"
    """No profile of the scheduler has DefaultPreemption."""
    SILENT = "Silent"
    """Its kubelet, which would have to do it, does not answer."""
    CRITICAL = "Critical"
    """The kubelet does not evict static, mirror and critical pods."""
    NO_PROBE = "NoProbe"
    PASSED_OVER = "PassedOver"
    """``kubectl drain`` leaves pods of DaemonSets and mirror pods alone."""
    NEEDS_FORCE = "NeedsForce"
    """``kubectl drain`` refuses a pod without a controller unless --force is given."""
    NOT_MODELLED = "NotModelled"
    """The rules of a Windows kubelet's evictions are not restated here."""
    PROVIDER = "Provider"
    """Its node is a virtual kubelet: what the provider does is not known."""
    HELD = "Held"
    """A PodDisruptionBudget refuses the eviction now."""


class Span(Struct, frozen=True):
    """Seconds from the start of a way, at the earliest and at the latest; no end is None, and never is None twice."""

    earliest: int | None
    latest: int | None

    def later(self, seconds: int, up_to: int | None = None) -> Span:
        """The same so much later; at the latest by ``up_to``, where that is given."""
        most = seconds if up_to is None else up_to
        return Span(
            None if self.earliest is None else self.earliest + seconds,
            None if self.latest is None else self.latest + most,
        )

    def or_later(self, other: Span) -> Span:
        """When both are over."""

        def last(one: int | None, two: int | None) -> int | None:
            return None if one is None or two is None else max(one, two)

        return Span(last(self.earliest, other.earliest), last(self.latest, other.latest))

    def after(self, start: Span) -> Span:
        """The same, begun within ``start``."""
        return Span(
            None if self.earliest is None or start.earliest is None else start.earliest + self.earliest,
            None if self.latest is None or start.latest is None else start.latest + self.latest,
        )


AT_ONCE = Span(0, 0)
NEVER = Span(None, None)


class Event(Struct, frozen=True, rename="camel", kw_only=True):
    """Something that happens, and when. Seconds count from the start of its way."""

    what: What
    subject: str = ""
    """The container, the owner (``StatefulSet db``), the volume or the finalizers (``a, b``) that it is about."""
    earliest: int | None
    """None: never by itself, or, of rules `OWNER_DECIDES`, `NOT_BY_KUBELET` and `VOLUME_UNKNOWN`, not known."""
    latest: int | None
    """None, with an earliest second: nothing says when at the latest."""
    rule: Cause
    field: str = ""
    """Path of what decided: of the pod, of the kubelet's configuration, or a flag of a component."""
    seconds: int | None = None
    """What that field holds, where it is a time."""
    signal: str = ""
    """Of SIGTERM: which signal it is, ``SIGTERM`` unless lifecycle.stopSignal says otherwise."""

    @classmethod
    def of(cls, what: What, span: Span, rule: Cause, **more: Any) -> Event:
        """An event within a span; ``more`` are further fields."""
        return cls(what=what, earliest=span.earliest, latest=span.latest, rule=rule, **more)

    @property
    def span(self) -> Span:
        """When it happens."""
        return Span(self.earliest, self.latest)

    def during(self, span: Span) -> Event:
        """The same at another time."""
        return replace(self, earliest=span.earliest, latest=span.latest)


class Reminder(Enum):
    """Something that people are surprised by."""

    SECOND_DELETE = "SecondDelete"
    """A second delete may shorten the period of the object, and not the stop in flight, which lasts ``seconds``."""
    NOT_LONGER = "NotLonger"
    """A second delete asks for ``seconds``, and the pod has no more: it changes nothing."""
    SHORTER = "Shorter"
    """A second delete asks for ``seconds``, and the pod has more: the object's period changes, not the stop."""
    ZERO_IS_FORCED = "ZeroIsForced"
    """kubectl asks for no grace only if it is forced to."""
    EXITS_ZERO = "ExitsZero"
    """A pod whose processes all exit 0 ends Succeeded, also when it was evicted."""
    JOB_COUNTS_SUCCESS = "JobCountsSuccess"
    """The same of a Job: it counts the work as done."""
    BACK_OFF = "BackOff"
    """The first two restarts are at once; later ones so soon after another wait ``seconds``, doubled up to 5 min."""
    NO_MAX_GRACE = "NoMaxGrace"
    """A soft eviction is as short as a hard one unless evictionMaxPodGracePeriod is set."""
    THRESHOLDS = "Thresholds"
    """The thresholds of its kubelet, which ``subject`` lists; for a soft eviction those that are soft."""
    NO_THRESHOLD = "NoThreshold"
    """Its kubelet has none: ``subject`` is the field that would set them."""
    KUBELET_NOT_READ = "KubeletNotRead"
    """The kubelet's configuration could not be read: its defaults are assumed."""
    THEN_NODE_LOST = "ThenNodeLost"
    """A machine that goes off like this is a lost node; what ends after ``seconds`` may come too late."""
    NODE_RETURNS = "NodeReturns"
    """What ends it: the kubelet answers again, and stops the pod then."""
    NODE_RETURNS_LATE = "NodeReturnsLate"
    """The same of a pod that was marked for deletion already."""
    NODE_DELETED = "NodeDeleted"
    """What ends it: the Node object is deleted, and podgc removes the pod ``seconds`` later at the latest, unless
    finalizer ``subject`` keeps it."""
    OUT_OF_SERVICE = "OutOfService"
    """What ends it: the out-of-service taint; podgc removes the pod within ``seconds`` unless finalizer ``subject``
    keeps it, volumes go at once."""
    VERSION_UNKNOWN = "VersionUnknown"
    """The control plane's version, which decides when a node becomes Unknown, is not known."""
    MAX_SILENT = "MostSilent"
    """Nodes are tainted more slowly or not at all when most of a zone is silent."""
    NOT_RUNNING = "NotRunning"
    """A container that does not run now, so that nothing of it has to stop."""
    STATIC_NOT_BACK = "StaticNotBack"
    """A static pod that was evicted does not come back by itself."""


class Note(Struct, frozen=True, rename="camel"):
    """A surprise that matters to this pod."""

    reminder: Reminder
    seconds: int | None = None
    subject: str = ""


class WayTimeline(Struct, frozen=True, rename="camel", kw_only=True):
    """What happens to the pod in one way."""

    way: Way
    standing: Standing
    reason: str = ""
    """Why the API server refuses an eviction, in its own words."""
    grace_seconds: int | None = None
    """The grace period of the stop; None when there is none."""
    events: tuple[Event, ...] = ()
    """In the order in which they come; what never comes is last."""
    notes: tuple[Note, ...] = ()
    began: datetime | None = None
    """When it began, if it is under way: the DELETE, or the node's last heartbeat."""


class PodTimeline(Struct, frozen=True, rename="camel"):
    """What happens to a pod in every way, the one that matters now first."""

    ways: tuple[WayTimeline, ...]
    began: datetime | None
    """When the first of these ways began; None: it is not under way."""
    silent: bool
    """Whether its node does not answer."""
    budgets_known: bool
