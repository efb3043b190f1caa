"""NodeResourcesFit: whether a node has room for what the pod asks for, and how full it would be.

    pods      pods on the node + 1 > allocatable pods                    Too many pods
    resource  request > 0 and request > allocatable - requested          Insufficient <resource>
    code      UnschedulableAndUnresolvable when some request is more than the whole node has (of resources, not of the
              number of pods), else Unschedulable

Resources are cpu, memory, ephemeral-storage, then extended resources, huge pages and attachable volumes, by name
(upstream: in no order). Extended resources that the arguments ignore, by name or by group, are passed over. The request
is the spec's alone: a pod that is not placed has nothing in its status. A resource that a DeviceClass stands for
(gate DRAExtendedResource) is left to DynamicResources on nodes that offer none of it.

Score: `scoringStrategy` (see `scoring`), where a container that asks for no cpu or memory counts as 100m and 200Mi, and
``spec.resources`` of the pod to be placed do not count, though those of pods on the node do.

Source: pkg/scheduler/framework/plugins/noderesources/fit.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.base import ResourceList
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, on_its_node, reference
from podrules.api.model.quantity import Quantity
from podrules.pod.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PodResourcesOptions,
    is_overcommit_allowed,
    is_scalar_resource_name,
    pod_requests,
)
from podrules.scheduling.scheduler.framework.answers import SUCCESS, CandidateChange, ChangeKind, Code, Status
from podrules.scheduling.scheduler.framework.interface import (
    AppliedChange,
    CycleContext,
    PreFilterResult,
    PreScoreResult,
    S,
    Verdicts,
    WithoutState,
    is_planned,
    nominated_rows,
)
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import classes_by_resource
from podrules.scheduling.scheduler.plugins.node_resources.columns import (
    PODS,
    Accounting,
    InsufficientResource,
    PodRequests,
    RequestsOf,
    allocatable,
)
from podrules.scheduling.scheduler.plugins.node_resources.scoring import (
    NodeResourcesFitArgs,
    allocations,
    requested_amounts,
    strategy_score,
    weighted,
)
from podrules.workload.safety import OF_ONE_NODE, owner_guarantee

_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class FitState(Struct, frozen=True):
    """What the pod needs room for."""

    requests: tuple[tuple[str, int], ...]
    """Resources that are asked for and not ignored, in the order of reasons; cpu in thousandths."""
    devices: frozenset[str] = frozenset()
    """Those of them that a DeviceClass stands for: where a node offers none, DynamicResources judges."""


class NodeResourcesFit:
    """Judges room; ranks by use."""

    name: Final = "NodeResourcesFit"
    fact_types = (InsufficientResource,)
    args_type = NodeResourcesFitArgs
    without_pre_filter = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    without_pre_score = WithoutState.COMPUTED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """What the pod needs room for (computePodResourceRequest)."""
        args = self._args(context)
        options = PodResourcesOptions(skip_pod_level_resources=not context.features.pod_level_resources)
        needs: dict[str, int] = {}
        for name, amount in pod_requests(context.pod, options).items():
            # Of extended resources alone some may be passed over.
            extended = "/" in name and not is_overcommit_allowed(name)
            named = name in args.ignored_resources or name.partition("/")[0] in args.ignored_resource_groups
            if name in _FIRST or (is_scalar_resource_name(name) and not (extended and named)):
                needs[name] = amount.milli_value if name == CPU else amount.value
        order = (*_FIRST, *sorted(needs.keys() - set(_FIRST)))
        requests = tuple((name, needs[name]) for name in order if needs.get(name, 0) > 0)
        classes = context.snapshot.device_classes if context.features.dra_extended_resource else ()
        devices = classes_by_resource(classes)
        return PreFilterResult(state=FitState(requests, frozenset(name for name, _ in requests if name in devices)))

    def filter(self, context: CycleContext, state: FitState) -> Verdicts:
        """Whether each node has room (fitsRequest)."""
        capacities = context.table.nodes.derived(allocatable)
        accounts = context.table.pods.derived(Accounting(context.features))
        crowded = accounts.pods + 1 > capacities.of(PODS)
        codes = np.where(crowded, Code.UNSCHEDULABLE, Code.SUCCESS).astype(np.int8)
        for name, amount in state.requests:
            capacity = capacities.of(name)
            short = amount > capacity - accounts.requested.of(name)
            if name in state.devices:
                short &= capacity > 0
            codes[short & (codes == Code.SUCCESS)] = Code.UNSCHEDULABLE
            codes[short & (amount > capacity)] = Code.UNSCHEDULABLE_AND_UNRESOLVABLE

        def reasons(row: int) -> tuple[str, ...]:
            return tuple(entry.reason for entry in self.explain(context, state, row))

        return Verdicts(codes, reasons)

    def explain(self, context: CycleContext, state: FitState, row: int) -> tuple[InsufficientResource, ...]:
        """What a node has too little of, with numbers, in the order of the reasons."""
        accounts = context.table.pods.derived(Accounting(context.features))
        used = (accounts.pods, *(accounts.requested.of(name) for name, _ in state.requests))
        return tuple(_insufficient(state, [int(column[row]) for column in used], _capacity(context, state, row)))

    def facts(self, context: CycleContext, state: FitState, row: int) -> Iterator[InsufficientResource]:
        """What a node has too little of, and which part of it is kept for nominated pods."""
        # Pods that were nominated to the node and that the cycle has put there: they are on no node yet.
        uids = {pod.metadata.uid for pod in nominated_rows(context).get(row, ())}
        nominated = tuple(pod for pod in context.table.pods.on(row) if pod.metadata.uid in uids) if uids else ()
        kept = self.requested_by(context, state, row, nominated) if nominated else {}
        names = tuple(map(reference, nominated))
        for entry in self.explain(context, state, row):
            amount = kept.get(entry.resource, 0)
            yield replace(entry, nominated=amount, nominated_pods=names) if amount else entry

    def requested_by(self, context: CycleContext, state: FitState, row: int, pods: Sequence[Pod]) -> Mapping[str, int]:
        """What some pods of a row's node are accounted for, by resource: pods, and what the cycle's pod asks for."""
        names = (PODS, *(name for name, _ in state.requests))
        return dict(zip(names, self.on_node(context, state, row, pods).used, strict=True))

    def on_node(self, context: CycleContext, state: FitState, row: int, pods: Sequence[Pod]) -> RoomOnNode:
        """The room of a row's node."""
        amounts = _PodAmounts(state, context.table.pods.derived(RequestsOf(context.features)))
        nothing = (0, *(0 for _ in state.requests))
        used = tuple(map(sum, zip(nothing, *map(amounts.of, pods), strict=True)))
        return RoomOnNode(state, used, _capacity(context, state, row), amounts)

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:  # noqa: ARG002 - Protocol
        """What the pod adds to each scored resource."""
        resources = weighted(self._args(context).strategy.resources)
        return PreScoreResult(state=requested_amounts(context, resources, use_requested=False))

    def score(self, context: CycleContext, state: tuple[int, ...], feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """The strategy's score of each feasible node."""
        strategy = self._args(context).strategy
        resources = weighted(strategy.resources)
        return strategy_score(strategy, allocations(context, resources, state, feasible, use_requested=False))

    def _args(self, context: CycleContext) -> NodeResourcesFitArgs:
        found: NodeResourcesFitArgs = context.args.get(self.name) or NodeResourcesFitArgs()
        return found

    def changes(self, situation: S, context: CycleContext, state: FitState, row: int) -> Iterator[AppliedChange[S]]:
        """Free what is missing, or take a larger node."""
        pods = [pod for pod in situation.table.pods.on(row) if can_go(pod)]
        movable = [(pod, self.requested_by(context, state, row, [pod])) for pod in pods]
        yield from room_made(situation, row, tuple(self.facts(context, state, row)), movable)


class RoomOnNode(Struct, frozen=True):
    """What the pods of one node leave; numbers are those of ``pods`` and then of what is asked for, in order."""

    state: FitState
    used: tuple[int, ...]
    capacity: tuple[int, ...]
    amounts: _PodAmounts

    def add_pod(self, pod: Pod) -> RoomOnNode:
        """With what the pod is accounted for."""
        return self._changed(pod, 1)

    def remove_pod(self, pod: Pod) -> RoomOnNode:
        """Without what the pod is accounted for."""
        return self._changed(pod, -1)

    def _changed(self, pod: Pod, sign: int) -> RoomOnNode:
        change = self.amounts.of(pod)
        used = tuple([before + sign * of_pod for before, of_pod in zip(self.used, change, strict=True)])
        return RoomOnNode(self.state, used, self.capacity, self.amounts)

    def status(self) -> Status:
        """Whether the rest is enough."""
        found = tuple(_insufficient(self.state, self.used, self.capacity))
        if not found:
            return SUCCESS
        unresolvable = any(entry.unresolvable for entry in found)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE
        return Status(code, tuple(entry.reason for entry in found))


def offered_nowhere(context: CycleContext) -> tuple[str, ...]:
    """The resources that the cycle's pod asks for and no node has any of, nor a DeviceClass stands for."""
    state, capacities = context.states.get(NodeResourcesFit.name), context.table.nodes.derived(allocatable)
    names = [name for name, _ in state.requests if name not in state.devices] if isinstance(state, FitState) else []
    return tuple(name for name in names if not capacities.of(name).any())


def _insufficient(state: FitState, used: Sequence[int], capacity: Sequence[int]) -> Iterator[InsufficientResource]:
    """What there is too little of; the numbers begin with those of ``pods``."""
    if used[0] + 1 > capacity[0]:
        yield InsufficientResource(PODS, 1, used[0], capacity[0])
    for (name, amount), taken, most in zip(state.requests, used[1:], capacity[1:], strict=True):
        if amount > most - taken and (most > 0 or name not in state.devices):
            yield InsufficientResource(name, amount, taken, most)


def _capacity(context: CycleContext, state: FitState, row: int) -> tuple[int, ...]:
    capacities = context.table.nodes.derived(allocatable)
    return tuple(int(capacities.of(name)[row]) for name in (PODS, *(name for name, _ in state.requests)))


class _PodAmounts:
    """What pods take of the node, each worked out once: it comes and goes."""

    def __init__(self, state: FitState, requests: PodRequests) -> None:
        self._names = tuple(name for name, _ in state.requests)
        self._requests = requests
        self._known: dict[int, tuple[Pod, tuple[int, ...]]] = {}
        """By identity, with the pod itself: it has to stay."""

    def of(self, pod: Pod) -> tuple[int, ...]:
        """One of ``pods``, and of what is asked for, in order."""
        known = self._known.get(id(pod))
        if known is None:
            request = self._requests.of(pod)
            fixed = {CPU: request.milli_cpu, MEMORY: request.memory, EPHEMERAL_STORAGE: request.ephemeral_storage}
            amounts = (fixed[name] if name in fixed else request.scalar.get(name, 0) for name in self._names)
            known = self._known[id(pod)] = pod, (1, *amounts)
        return known[1]


# What would make room for a pod: pods that move away; a larger node where those that can go request less.
#
# Sets of a few pods that request enough are tried, the smallest first, then whatever frees as much.

_MAX_MOVED: Final = 3
_TRIED_SETS: Final = 6
"""For each number of pods."""
_LARGEST: Final = 12


def room_made(
    situation: S, row: int, short: Sequence[InsufficientResource], movable: Sequence[tuple[Pod, Mapping[str, int]]]
) -> Iterator[AppliedChange[S]]:
    """The changes that make room where a node has too little of something.

    ``movable`` are the pods that can leave the node, with what each requests, by resource: no more can be freed.
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
        resizing=tuple(
            reference(pod)
            for pod in (situation.table.pods.on(row) if beyond else ())
            if (pending := pod.status.condition("PodResizePending")) is not None
            and (pending.status, pending.reason) == ("True", "Deferred")
        ),
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


def can_go(pod: Pod) -> bool:
    """Whether a pod can run elsewhere, or at least is one that exists."""
    return owner_guarantee(pod).guarantee not in OF_ONE_NODE and not is_planned(pod)


def _with_room(node: Node, amounts: Mapping[str, int]) -> Node:
    allocatable: ResourceList = dict(node.status.allocatable)
    for resource, amount in amounts.items():
        more = Quantity.parse(f"{amount}m" if resource == CPU else str(amount))
        allocatable[resource] = allocatable[resource] + more if resource in allocatable else more
    return replace(node, status=replace(node.status, allocatable=allocatable))
