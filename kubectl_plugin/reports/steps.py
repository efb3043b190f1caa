"""The steps of a command that changes something: printed as they happen, and stored for its report."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final

from msgspec import Struct


class StepOutcome(Enum):
    """How a change ended."""

    NOT_CONFIRMED = "NotConfirmed"
    """Nothing was changed: a confirmation is missing."""
    NOT_POSSIBLE = "NotPossible"
    """Nothing was changed: the state of the object does not allow it, or it is not the object that was checked."""
    REFUSED = "Refused"
    """Nothing was changed: the change was refused, and the refusal names who refused it."""
    NOTHING_AT_STAKE = "NothingAtStake"
    """Nothing was changed: a confirmation is missing, though a deletion without grace would risk nothing."""
    DRY_RUN = "DryRun"
    DONE = "Done"
    UNDER_WAY = "UnderWay"
    """It was changed, but the effects are not complete."""
    FAILED = "Failed"
    """It was interrupted, or got no answer; the steps show what was done."""
    INTERRUPTED = "Interrupted"


class RefusedBy(Enum):
    """Who refused a change."""

    RIGHTS = "Rights"
    """The user may not make the change, or may not read the objects that it needs."""
    ADMISSION = "Admission"
    """A webhook or a policy of the cluster."""
    API_SERVER = "APIServer"
    COMMAND = "Command"
    """The command itself: the request cannot be fulfilled."""


class Refusal(Struct, frozen=True, rename="camel"):
    """Why a change was not made."""

    by: RefusedBy
    message: str
    """Who, what and why, in one sentence without a full stop."""
    verb: str = ""
    """The verb of the missing right; empty: none is missing."""
    resource: str = ""
    """``pods``, ``volumeattachments.storage.k8s.io``."""
    namespace: str = ""
    """Empty: all, or not namespaced."""


class StepKind(Enum):
    """A step that happened, or is about to happen."""

    DRY_RUN = "DryRun"
    """The API server accepted the request and stored nothing."""
    DELETING = "Deleting"
    DELETED = "Deleted"
    """The API server accepted the deletion; the object stays for its grace period."""
    DELETED_BEFORE = "DeletedBefore"
    """The object was already being deleted: its termination continues unchanged."""
    CONFIRMING = "Confirming"
    CONFIRMED = "Confirmed"
    WARNING = "Warning"
    """A warning of the API server, or of a webhook."""
    CONTAINER_ENDED = "ContainerEnded"
    KEPT_BY_FINALIZERS = "KeptByFinalizers"
    OVERDUE = "Overdue"
    NODE_SILENT = "NodeSilent"
    REPLACED = "Replaced"
    """Another pod of the same name exists."""
    GONE = "Gone"
    NO_ANSWER = "NoAnswer"
    """For a moment; the request is repeated."""
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
    POD_REMOVED = "PodGone"
    DETACHED = "Detached"
    ALL_REMOVED = "AllGone"
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
    """A step as it happens. Views put it into words, and `Step` is its record in a report."""

    kind: StepKind
    subject: str = ""
    """See `Step`."""
    detail: str = ""
    """See `Step`; empty if there are names."""
    number: int | None = None
    """See `Step`."""
    names: tuple[str, ...] = ()
    """Pods or finalizers, for the kinds that are about several."""

    def record(self, at: datetime) -> Step:
        """The step as reports store it, with the names in one text."""
        return Step(at, self.kind, self.subject, self.detail or ", ".join(self.names), self.number)


class Step(Struct, frozen=True, rename="camel"):
    """One step of a report."""

    at: datetime
    kind: StepKind
    subject: str = ""
    """The subject: ``pod/db-1``, a container, a volume."""
    detail: str = ""
    """Further data of the kind: a node, a uid, a message."""
    number: int | None = None
    """Seconds, an exit code, or how many."""
