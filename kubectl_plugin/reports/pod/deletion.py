"""What a deletion without grace risks (F1-F4), and how a deletion ended (F2)."""

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
from podrules.pod.reading import Unread
from podrules.pod.versions import VersionNote
from podrules.workload.budget_risk import BudgetRisk
from podrules.workload.safety import ForceSafety, OwnerGuarantee

__all__ = ["DeletionReport", "Stakes"]


class Stakes(Struct, frozen=True, rename="camel"):
    """What a force deletion risks."""

    owner: OwnerGuarantee
    members: Members | None
    """The members of its StatefulSet; None without one, or when it cannot be read."""
    node: NodeReach
    renewed: datetime | None
    """The node's last heartbeat."""
    volumes: tuple[WriterGuard, ...]
    eviction_refused: str | None
    """Why the API server would not evict it, in its words; a deletion does not ask. None: it would, or nobody knows."""
    eviction_hold: BudgetRisk | None
    """What would let it go, where that is refused."""
    deleted: datetime | None
    """When it was deleted before; None: it was not."""
    safety: ForceSafety
    """Whether it is safe, of all that."""
    collected_by: datetime | None
    """When pod garbage collection should have removed its object at the latest; None: it does not, or not known."""
    stays: bool
    """It tolerates the out-of-service taint, and its node's others, for ever: a fence does not delete it."""
    may_run_until: datetime | None
    """Of one that is being deleted: when its kubelet kills what is left; None also where its node does not answer."""
    eviction_way: str = ""
    """What would let a pod go of the budget, where that needs all."""


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
    """It removes the object of a pod that may still run."""
    grace_of_its_own: bool
    """Whether a deletion that asks for no period gives it some seconds."""
    dry_run: bool
    plan: StopPlan
    finalizers: tuple[str, ...]
    """What keeps the object, whatever grace is asked for."""
    stakes: Stakes | None
    """None: it is not forced."""
    steps: tuple[Step, ...]
    outcome: StepOutcome
    refusal: Refusal | None
    """Of outcome Refused."""
    version_notes: tuple[VersionNote, ...] = ()
    """The versions that the rules were not held against, its kubelet's among them."""
    unread: tuple[Unread, ...]
