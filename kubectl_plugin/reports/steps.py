"""The steps of a command that changes something: printed as they happen, and kept for its report."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final

from msgspec import Struct

__all__ = ["Refusal", "RefusedBy", "Step", "StepEvent", "StepKind", "StepOutcome"]


class StepOutcome(Enum):
    """How a change ended."""

    NOT_CONFIRMED = "NotConfirmed"
    """Nothing was changed: a confirmation is missing."""
    NOT_POSSIBLE = "NotPossible"
    """Nothing was changed: the object is not in a state for it, or not the one that was looked at."""
    REFUSED = "Refused"
    """Nothing was changed: somebody does not let it be, and the refusal says who."""
    NOTHING_AT_STAKE = "NothingAtStake"
    """Nothing was changed: a confirmation is missing, though a deletion without grace would risk nothing."""
    DRY_RUN = "DryRun"
    DONE = "Done"
    UNDER_WAY = "UnderWay"
    """It was changed, and what follows from that is not over."""
    FAILED = "Failed"
    """It broke off, or nobody answered; the steps tell what was done."""
    INTERRUPTED = "Interrupted"


class RefusedBy(Enum):
    """Who refused a change."""

    RIGHTS = "Rights"
    """The user may not make it, or not read what it needs."""
    ADMISSION = "Admission"
    """A webhook or a policy of the cluster."""
    API_SERVER = "APIServer"
    COMMAND = "Command"
    """The command itself: what was asked of it cannot be done."""


class Refusal(Struct, frozen=True, rename="camel"):
    """Why a change was not made."""

    by: RefusedBy
    message: str
    """Who, what and why, in one sentence without its end."""
    verb: str = ""
    """The verb of the right that is missing; empty: none is."""
    resource: str = ""
    """``pods``, ``volumeattachments.storage.k8s.io``."""
    namespace: str = ""
    """Empty: all, or none for what has no namespace."""


class StepKind(Enum):
    """What happened, or is about to happen."""

    DRY_RUN = "DryRun"
    """The API server took what was asked and stored nothing."""
    DELETING = "Deleting"
    DELETED = "Deleted"
    """The API server took it; the object stays for its grace period."""
    DELETED_BEFORE = "DeletedBefore"
    """It was being deleted already: its termination goes on unchanged."""
    CONFIRMING = "Confirming"
    CONFIRMED = "Confirmed"
    WARNING = "Warning"
    """The API server's, or a webhook's."""
    CONTAINER_ENDED = "ContainerEnded"
    KEPT_BY_FINALIZERS = "KeptByFinalizers"
    OVERDUE = "Overdue"
    NODE_SILENT = "NodeSilent"
    REPLACED = "Replaced"
    """A pod of the same name is there, and is another."""
    GONE = "Gone"
    NO_ANSWER = "NoAnswer"
    """For a moment; it is asked again."""
    FENCE_COMMAND = "FenceCommand"
    FENCE_COMMAND_DONE = "FenceCommandDone"
    FENCE_COMMAND_FAILED = "FenceCommandFailed"
    FENCE_COMMAND_LEFT_OUT = "FenceCommandLeftOut"
    """A dry run does not run it."""
    VOUCHED = "Vouched"
    TAINTING = "Tainting"
    TAINTED = "Tainted"
    ALREADY_FENCED = "AlreadyFenced"
    UNTAINTING = "Untainting"
    UNTAINTED = "Untainted"
    ALREADY_UNFENCED = "AlreadyUnfenced"
    GOING_ON = "GoingOn"
    """An earlier run has declared it out of service."""
    WAITING = "Waiting"
    POD_GONE = "PodGone"
    DETACHED = "Detached"
    ALL_GONE = "AllGone"
    STAYING = "Staying"
    NODE_BACK = "NodeBack"

    @property
    def changes(self) -> bool:
        """Whether this step changes something in the cluster or at a machine."""
        return self in _CHANGES


_CHANGES: Final = frozenset(
    {
        StepKind.DELETED,
        StepKind.CONFIRMED,
        StepKind.FENCE_COMMAND,
        StepKind.TAINTED,
        StepKind.UNTAINTED,
        StepKind.GOING_ON,
    }
)


class StepEvent(Struct, frozen=True):
    """A step as it happens. Views word it, and `Step` is its record in a report."""

    kind: StepKind
    subject: str = ""
    """See `Step`."""
    detail: str = ""
    """See `Step`; empty where there are names."""
    number: int | None = None
    """See `Step`."""
    names: tuple[str, ...] = ()
    """Pods or finalizers, for the kinds that are about several."""

    def record(self, at: datetime) -> Step:
        """The step as reports keep it, with the names in one text."""
        return Step(at, self.kind, self.subject, self.detail or ", ".join(self.names), self.number)


class Step(Struct, frozen=True, rename="camel"):
    """One step of a report."""

    at: datetime
    kind: StepKind
    subject: str = ""
    """What it is about: ``pod/db-1``, a container, a volume."""
    detail: str = ""
    """Whatever else the kind has to say: a node, a uid, somebody's words."""
    number: int | None = None
    """Seconds, an exit code, or how many."""
