"""What would make room for a pod: so much freed on the node; a larger one where the pods that can go request less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from podrules.model.base import ResourceList
from podrules.model.node import Node
from podrules.model.pod import Pod
from podrules.model.pod_reference import reference
from podrules.model.quantity import Quantity
from podrules.resources import CPU
from podrules.safety import OF_ONE_NODE, owner_guarantee
from podrules.scheduler.framework.candidate_change import CandidateChange, ChangeKind
from podrules.scheduler.framework.planned_pods import is_planned
from podrules.scheduler.framework.pod_on_cluster import Applied, S
from podrules.scheduler.plugins.node_resources.shortage import InsufficientResource

__all__ = ["can_go", "room_made"]


def room_made(situation: S, row: int, short: Sequence[InsufficientResource], movable: Mapping[str, int]) -> Applied[S]:
    """The change that makes room.

    Args:
        situation: The pod and the cluster as they are.
        row: Of the table.
        short: What the node has too little of.
        movable: What the pods that can go from there request, by resource: nobody frees more.
    """
    name = situation.table.names[row]
    amounts = {fact.resource: fact.short for fact in short}
    roomier = situation.with_node(name, lambda node: _with_room(node, amounts))
    if any(fact.too_large or fact.short > movable[fact.resource] for fact in short):
        return Applied(CandidateChange(ChangeKind.ENLARGE, node=name, amounts=amounts), roomier)
    beyond = [fact for fact in short if fact.used > fact.allocatable]
    change = CandidateChange(
        ChangeKind.FREE,
        node=name,
        amounts=amounts,
        promised={fact.resource: fact.used for fact in beyond},
        nominated={fact.resource: fact.nominated for fact in beyond if fact.nominated},
        nominated_pods=next((fact.nominated_pods for fact in beyond if fact.nominated), ()),
        resizing=tuple(reference(pod) for pod in situation.table.pods.on(row) if beyond and _waits_for_resize(pod)),
    )
    return Applied(change, roomier)


def _waits_for_resize(pod: Pod) -> bool:
    pending = pod.status.condition("PodResizePending")
    return pending is not None and pending.status == "True" and pending.reason == "Deferred"


def can_go(pod: Pod) -> bool:
    """Whether a pod can run elsewhere, or at least is one that exists."""
    return owner_guarantee(pod).guarantee not in OF_ONE_NODE and not is_planned(pod)


def _with_room(node: Node, amounts: Mapping[str, int]) -> Node:
    allocatable: ResourceList = dict(node.status.allocatable)
    for resource, amount in amounts.items():
        more = Quantity.parse(f"{amount}m" if resource == CPU else str(amount))
        allocatable[resource] = allocatable[resource] + more if resource in allocatable else more
    return replace(node, status=replace(node.status, allocatable=allocatable))
