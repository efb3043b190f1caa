"""The risk of a deletion without grace (F1-F4), and the outcome of a deletion (F2)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from kubectl_plugin.reports import API_VERSION
from kubectl_plugin.reports.steps import Refusal, Step, StepOutcome
from podrules.ending.deleted_pod import StopPlan
from podrules.ending.deletion import Members
from podrules.ending.volumes import WriterGuard
from podrules.node.reachability import NodeReach
from podrules.pod.reading import UnreadInput
from podrules.pod.versions import VersionNote
from podrules.workload.budget_risk import BudgetRisk
from podrules.workload.safety import ForceSafety, OwnerGuarantee


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
