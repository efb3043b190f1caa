"""Reports of changes: a deletion (F1-F4), a node out of service (F6), and the steps of both, printed as they happen."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final, Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.node.node_report import ON_NODES
from podrules.ending.deleted_pod import StopPlan
from podrules.ending.deletion import Members
from podrules.ending.volumes import WriterGuard
from podrules.node.reachability import NodeReach
from podrules.pod.reading import Access, UnreadInput
from podrules.pod.versions import VersionNote
from podrules.silent_node.fencing import FenceRemainder, FenceState
from podrules.silent_node.partitions import NodeDown
from podrules.workload.budget_risk import BudgetRisk
from podrules.workload.safety import ForceSafety, OwnerGuarantee


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


class Stakes(Struct, frozen=True, rename="camel"):
    """The risk of a force deletion."""

    owner: OwnerGuarantee
    members: Members | None
    """The members of its StatefulSet; None without one, or if it cannot be read."""
    node: NodeReach
    renewed: datetime | None
    """The node's last heartbeat."""
    volumes: tuple[WriterGuard, ...]
    eviction_refused: str | None
    """Why the API server would not evict it, in its words; a deletion skips this check. None: it would, or unknown."""
    eviction_hold: BudgetRisk | None
    """What would allow the eviction, if it is refused."""
    deleted: datetime | None
    """When it was deleted before; None: it was not."""
    safety: ForceSafety
    """The verdict on all of this: whether the deletion is safe."""
    collected_by: datetime | None
    """When pod garbage collection removes its object at the latest; None: it does not, or unknown."""
    stays: bool
    """It tolerates the out-of-service taint and the other taints of its node for ever: a fence does not delete it."""
    may_run_until: datetime | None
    """When its kubelet kills the remaining processes, if it is being deleted; None also if its node does not answer."""
    eviction_way: str = ""
    """What would allow the eviction of a pod if the budget requires all pods."""


class DeletionReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="PodDeletion"):
    """The deletion of one pod."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    namespace: str
    uid: str
    source: str
    rules_version: str
    server_version: str | None
    forced: bool
    """The deletion removes the object of a pod that may still run."""
    grace_of_its_own: bool
    """Whether a deletion without an explicit grace period grants it some seconds."""
    dry_run: bool
    plan: StopPlan
    finalizers: tuple[str, ...]
    """What keeps the object, whatever the grace period."""
    stakes: Stakes | None
    """None: the deletion is not forced."""
    steps: tuple[Step, ...]
    outcome: StepOutcome
    refusal: Refusal | None
    """The reason for the outcome Refused."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions for which the rules were not verified, including its kubelet's."""
    unread: tuple[UnreadInput, ...]


class FenceReport(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Fencing"):
    """One node."""

    api_version: Literal["kubectl-qos/v1"] = API_VERSION
    name: str
    undo: bool
    """The node is taken back into service."""
    source: str
    rules_version: str
    server_version: str | None
    dry_run: bool
    state: FenceState
    node: NodeDown | None
    """None: the node answers."""
    left: FenceRemainder
    denied: tuple[Access, ...]
    """The permissions that you lack, among those that this needs."""
    steps: tuple[Step, ...]
    outcome: StepOutcome
    refusal: Refusal | None
    """The reason for the outcome Refused."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions for which the rules were not verified, including the node's kubelet."""
    unread: tuple[UnreadInput, ...]

    @property
    def lacks(self) -> tuple[UnreadInput, ...]:
        """Resources that could not be read, and may still have to be removed."""
        down = self.node is not None and not self.undo
        return tuple(one for one in self.unread if down and one.may_exist and one.resource in ON_NODES)
