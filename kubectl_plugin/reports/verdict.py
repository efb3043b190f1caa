"""The headline of an answer: its sentences, their severity, and a code of a closed list for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from podrules.pod.reading import UnreadInput

K = TypeVar("K", bound=Enum)

_FEW: Final = 3


class Severity(Enum):
    """The severity of a page or a row; shown as a mark and its colour, in addition to the words."""

    FINE = "fine"
    NOTICE = "notice"
    TROUBLE = "trouble"

    @property
    def urgency(self) -> int:
        """The rank: higher is more urgent."""
        return list(Severity).index(self)

    @property
    def mark(self) -> str:
        """The mark in text."""
        return ("ok", "!", "x")[self.urgency]


def most_urgent(severities: Iterable[Severity]) -> Severity:
    """The worst of several; FINE without any."""
    return max(severities, key=lambda severity: severity.urgency, default=Severity.FINE)


class _Judged(Protocol):
    @property
    def severity(self) -> Severity: ...


J = TypeVar("J", bound=_Judged)


def worst_few(worst_first: Sequence[J]) -> Sequence[J]:
    """The rows that a list links to: up to three in trouble, or else the worst one."""
    return [row for row in worst_first if row.severity is Severity.TROUBLE][:_FEW] or worst_first[:1]


def trouble_until(last: K) -> dict[K, Severity]:
    """The severity of each member of an enum with the worst first: TROUBLE up to a member, then NOTICE.

    Args:
        last: The last that is trouble.
    """
    kinds = tuple(type(last))
    end = kinds.index(last)
    return {kind: Severity.TROUBLE if place <= end else Severity.NOTICE for place, kind in enumerate(kinds)}


class VerdictCode(Enum):
    """The code of a verdict, for scripts. docs/formats.md explains each code."""

    # A pod on a node.
    RUNNING = "Running"
    STARTING = "Starting"
    INITIALIZING = "Initializing"
    STUCK = "Stuck"
    WAITING_FOR_VOLUME = "WaitingForVolume"
    NOT_READY = "NotReady"
    CONTAINER_WAITING = "ContainerWaiting"
    CONTAINER_ENDED = "ContainerEnded"
    OOM_KILLED = "OOMKilled"
    RESTARTED = "Restarted"
    PHASE_UNKNOWN = "PhaseUnknown"
    RESIZE_PENDING = "ResizePending"
    NO_GRACE_PERIOD = "NoGracePeriod"
    # Its node.
    NODE_NOT_READY = "NodeNotReady"
    NODE_TAINT_EVICTS = "NodeTaintEvicts"
    NODE_PRESSURE = "NodePressure"
    NODE_OOM_KILL = "NodeOOMKill"
    NODE_SILENT = "NodeSilent"
    NODE_OUT_OF_SERVICE = "NodeOutOfService"
    NODE_REMOVED = "NodeGone"
    NODE_REFUSES = "NodeRefuses"
    NEAR_MEMORY_LIMIT = "NearMemoryLimit"
    # A node.
    READY = "Ready"
    CORDONED = "Cordoned"
    NODE_BACK = "NodeBack"
    NODE_RETURNING = "NodeReturning"
    NODE_GOING = "NodeGoing"
    NODE_FULL = "NodeFull"
    REQUESTS_OVER_ALLOCATABLE = "RequestsOverAllocatable"
    EVICTING = "Evicting"
    NEAR_EVICTION = "NearEviction"
    PODS_UNREAD = "PodsUnread"
    # A pod without a node.
    PLANNED = "Planned"
    ADMISSION_REFUSED = "AdmissionRefused"
    SCHEDULING_GATED = "SchedulingGated"
    UNSCHEDULABLE = "Unschedulable"
    AWAITING_PREEMPTION = "AwaitingPreemption"
    NO_SCHEDULER = "NoScheduler"
    NOT_YET_BOUND = "NotYetBound"
    PLACEMENT_NOT_MODELLED = "PlacementNotModelled"
    # A pod that ends or has ended.
    TERMINATING = "Terminating"
    TERMINATING_LATE = "TerminatingLate"
    TERMINATING_STUCK = "TerminatingStuck"
    DISRUPTED = "Disrupted"
    PREEMPTED = "Preempted"
    FAILED = "Failed"
    SUCCEEDED = "Succeeded"
    # The pods of a workload.
    ALL_READY = "AllReady"
    PODS_STARTING = "PodsStarting"
    PODS_NOT_READY = "PodsNotReady"
    PODS_MISSING = "PodsMissing"
    PODS_PENDING = "PodsPending"
    PODS_UNSCHEDULABLE = "PodsUnschedulable"
    PODS_BROKEN = "PodsBroken"
    PODS_UNREACHABLE = "PodsUnreachable"
    PODS_STUCK = "PodsStuck"
    PODS_REFUSED = "PodsRefused"
    ROLLOUT_STUCK = "RolloutStuck"
    ROLLOUT_PAUSED = "RolloutPaused"
    ROLLOUT_PARTIAL = "RolloutPartial"
    SPEC_NOT_OBSERVED = "SpecNotObserved"
    SCHEDULED = "Scheduled"
    SUSPENDED = "Suspended"
    JOB_RUNNING = "JobRunning"
    JOB_COMPLETE = "JobComplete"
    JOB_FAILED = "JobFailed"
    # A claim, a disruption budget, a quota, a priority class.
    CLAIM_BOUND = "ClaimBound"
    CLAIM_UNBOUND = "ClaimUnbound"
    CLAIM_WAITS_FOR_POD = "ClaimWaitsForPod"
    CLAIM_LOST = "ClaimLost"
    CLAIM_TERMINATING = "ClaimTerminating"
    CLAIM_NO_NODE = "ClaimNoNode"
    CLAIM_CONTENDED = "ClaimContended"
    CLAIM_RESIZING = "ClaimResizing"
    BUDGET_ALLOWS = "BudgetAllows"
    BUDGET_BLOCKS_NOW = "BudgetBlocksNow"
    BUDGET_BLOCKS_ALWAYS = "BudgetBlocksAlways"
    BUDGET_SELECTS_NOTHING = "BudgetSelectsNothing"
    QUOTA_HAS_ROOM = "QuotaHasRoom"
    QUOTA_FULL = "QuotaFull"
    QUOTA_REFUSES = "QuotaRefuses"
    QUOTA_NOT_COUNTED = "QuotaNotCounted"
    CLASS_IN_USE = "ClassInUse"
    CLASS_UNUSED = "ClassUnused"
    CLASS_DEFAULTS = "ClassDefaults"
    # A plan of place.
    FITS = "Fits"
    DOES_NOT_FIT = "DoesNotFit"
    FIT_UNKNOWN = "FitUnknown"
    # The nodes of partitions.
    ALL_NODES_ANSWER = "AllNodesAnswer"
    NODES_LOST = "NodesLost"
    NODES_UNREAD = "NodesUnread"
    # What ended.
    END_CERTAIN = "EndCertain"
    END_LIKELY = "EndLikely"
    END_SEVERAL = "EndSeveral"
    END_UNKNOWN = "EndUnknown"
    NOTHING_ENDED = "NothingEnded"
    # A delete, fence or unfence: as its outcome.
    NOT_CONFIRMED = "NotConfirmed"
    NOT_POSSIBLE = "NotPossible"
    REFUSED = "Refused"
    NOTHING_AT_STAKE = "NothingAtStake"
    DRY_RUN = "DryRun"
    DONE = "Done"
    UNDER_WAY = "UnderWay"
    INTERRUPTED = "Interrupted"
    # A comparison of versions.
    NOTHING_CHANGES = "NothingChanges"
    ANSWERS_CHANGE = "AnswersChange"
    VERSIONS_LISTED = "VersionsListed"
    # What lint found.
    NOTHING_FOUND = "NothingFound"
    FINDINGS = "Findings"
    UNREADABLE = "Unreadable"


class VerdictReport(Struct, frozen=True):
    """A verdict as data."""

    text: str
    """The page's first sentences, in one line."""
    severity: Severity
    code: VerdictCode
    lacks: tuple[str, ...] = ()
    """Unread resources that may change the verdict: ``poddisruptionbudgets.policy``."""


class Verdict(Struct, frozen=True):
    """The decisive fact of an answer, with its words."""

    code: VerdictCode
    severity: Severity
    sentences: tuple[str, ...]
    """The first one determines code and severity."""
    more: int = 0
    """How many other findings that are not fine it contains."""
    lead: str = ""
    """The beginning of the first sentence, if it only names the state: a list has a column for it."""

    @property
    def detail(self) -> str:
        """The first sentence without its lead; empty if nothing else remains."""
        return self.sentences[0].removeprefix(self.lead).lstrip(".,:; ")

    def as_data(self, lacks: Iterable[UnreadInput] = ()) -> VerdictReport:
        """The same for a program.

        Args:
            lacks: Unread resources that may change it.
        """
        resources = tuple(dict.fromkeys(one.resource for one in lacks))
        return VerdictReport(" ".join(self.sentences), self.severity, self.code, resources)


def lacking(found: Verdict, lacks: Iterable[str]) -> Verdict:
    """A verdict that missing data may change: it ends with the sentences that say so, and is not fine.

    Args:
        found: The verdict by the known data.
        lacks: The sentences.
    """
    said = tuple(lacks)
    if not said:
        return found
    return replace(found, sentences=(*found.sentences, *said), severity=most_urgent((found.severity, Severity.NOTICE)))


def joined_verdict(parts: Sequence[Verdict]) -> Verdict:
    """The worst verdict, the first of equals, with the sentences of the others after its own.

    Args:
        parts: At least one.
    """
    worst = max(parts, key=lambda part: part.severity.urgency)
    ordered = (worst, *(part for part in parts if part is not worst))
    sentences = dict.fromkeys(sentence for part in ordered for sentence in part.sentences)
    found = sum(part.more + (part.severity is not Severity.FINE) for part in parts)
    return Verdict(worst.code, worst.severity, tuple(sentences), max(found - 1, 0), worst.lead or parts[0].lead)
