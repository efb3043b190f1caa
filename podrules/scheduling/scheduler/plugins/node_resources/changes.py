"""What would make room for a pod: pods that move away; a larger node where those that can go request less.

Sets of a few pods that request enough are tried, the smallest first, then whatever frees as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Final

from msgspec.structs import replace

from podrules.api.model.base import ResourceList
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.pod_reference import on_its_node, reference
from podrules.api.model.quantity import Quantity
from podrules.pod.resources import CPU
from podrules.scheduling.scheduler.framework.candidate_change import CandidateChange, ChangeKind
from podrules.scheduling.scheduler.framework.planned_pods import is_planned
from podrules.scheduling.scheduler.framework.pod_on_cluster import AppliedChange, S
from podrules.scheduling.scheduler.plugins.node_resources.columns import InsufficientResource
from podrules.workload.safety import OF_ONE_NODE, owner_guarantee

_MAX_MOVED: Final = 3
_TRIED_SETS: Final = 6
"""For each number of pods."""
_LARGEST: Final = 12


def room_made(
    situation: S, row: int, short: Sequence[InsufficientResource], movable: Sequence[tuple[Pod, Mapping[str, int]]]
) -> Iterator[AppliedChange[S]]:
    """The changes that make room.

    Args:
        situation: The pod and the cluster as they are.
        row: Of the table.
        short: What the node has too little of.
        movable: The pods that can leave the node, with what each requests, by resource: no more can be freed.
    """
    name = situation.table.names[row]
    amounts = {fact.resource: fact.short for fact in short}
    roomier = situation.with_node(name, lambda node: _with_room(node, amounts))
    in_all = {resource: sum(requested[resource] for _, requested in movable) for resource in amounts}
    if any(fact.too_large or fact.short > in_all[fact.resource] for fact in short):
        asks = {fact.resource: fact.requested for fact in short}
        yield AppliedChange(CandidateChange(ChangeKind.ENLARGE, node=name, amounts=amounts, asks=asks), roomier)
        return
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
    for pods in _enough(amounts, movable):
        yield AppliedChange(replace(change, pods=tuple(map(on_its_node, pods))), situation.without_pods(pods))
    yield AppliedChange(change, roomier, 1)


def _enough(amounts: Mapping[str, int], movable: Sequence[tuple[Pod, Mapping[str, int]]]) -> Iterator[tuple[Pod, ...]]:
    """Sets of pods that request as much, without one that is not needed; the fewest pods first, then the least."""

    def parts(chosen: Sequence[tuple[Pod, Mapping[str, int]]]) -> list[float]:
        return [sum(requested[name] for _, requested in chosen) / max(amount, 1) for name, amount in amounts.items()]

    known = [one for one in movable if one[0].metadata.uid and one[0].metadata.deletion_timestamp is None]
    for count in range(1, _MAX_MOVED + 1):
        found = [chosen for chosen in combinations(known, count) if min(parts(chosen)) >= 1]
        for chosen in islice(sorted(found, key=lambda one: max(parts(one))), _TRIED_SETS):
            yield tuple(pod for pod, _ in chosen)
        alone = {pod.metadata.uid for (pod, _), *more in found if not more}
        left = [one for one in known if one[0].metadata.uid not in alone]
        known = sorted(left, key=lambda one: -max(parts([one])))[:_LARGEST]


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
