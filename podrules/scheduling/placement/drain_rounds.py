"""Nodes drained one after the other: which pods leave in which round, and where their replacements are placed.

round       the pods that budgets allow leave the node together, and their replacements are placed by priority. Those
            that find a place count as Ready again: the budgets let as many more go
held        pods that budgets still protect when a round evicts no pod: kubectl drain retries without end
one by one  a node is back before the next one is cordoned: pods without a place go there; pods that moved there move
            again
then        all else that is asked for is placed
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.base import Condition
from podrules.api.model.pod import Pod, PodStatus
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.node.reachability import NodeReach
from podrules.scheduling.placement.binding import devices_freed
from podrules.scheduling.placement.drain import HELD, Drain, DrainPlan, cordoned_node, drain_plan, is_silent
from podrules.scheduling.placement.plan import PlacementRequest, Placing, PlanCluster, with_unaided
from podrules.scheduling.placement.planned import PlannedSpec, UnmovedPod
from podrules.scheduling.scheduler.framework.interface import is_planned
from podrules.workload.disruption import recounted

_UNSCHEDULABLE: Final = PodStatus(conditions=(Condition("PodScheduled", "False", "Unschedulable"),))


class DrainResult(Struct, frozen=True):
    """The result for the pods of drained nodes, and for the pods that are placed after them."""

    specs: dict[int, PlannedSpec]
    """By the request's index."""
    unmoved: tuple[UnmovedPod, ...]
    stuck: dict[str, int]
    """By silent node, how many pods stay Terminating; 0 if budgets protect all of them."""
    kept: dict[str, tuple[str, ...]]
    """Evicted pods, and the finalizers that keep them."""
    slow: dict[str, int]
    """Evicted pods that may take minutes to stop, and their grace in seconds."""
    snapshot: ClusterSnapshot
    """The cluster without the pods that left; it does not have the placed pods."""


def place_all(
    requests: Sequence[PlacementRequest], drain: Drain, cluster: PlanCluster, *, preemption: bool
) -> DrainResult:
    """Drain the nodes, if any are to be drained, and place all requests.

    The nodes are cordoned before unless they are drained one by one.
    The requests have one of origin ``drain`` for each pod that may be evicted; the cluster has all pods still there.
    """
    found = _Rounds(requests, drain, Placing(cluster, requests, preemption=preemption)).run()
    alone = Placing(cluster, requests, preemption=False)
    return replace(found, specs=with_unaided(found.specs, lambda: _Rounds(requests, drain, alone).run().specs))


class _Rounds:
    """One run over all nodes."""

    def __init__(self, requests: Sequence[PlacementRequest], drain: Drain, placing: Placing) -> None:
        self._requests, self._drain, self._placing = requests, drain, placing
        pods = [request.pod.metadata.place if request.origin == "drain" else None for request in requests]
        self._of_pod = {place: index for index, place in enumerate(pods) if place is not None}
        self._others = [index for index, place in enumerate(pods) if place is None]
        self._specs: dict[int, PlannedSpec] = {}

    def run(self) -> DrainResult:
        unmoved: list[UnmovedPod] = []
        stuck: dict[str, int] = {}
        kept: dict[str, tuple[str, ...]] = {}
        slow: dict[str, int] = {}
        for node in self._drain.nodes:
            table = self._placing.table
            before = {node.name: table.nodes[table.index[node.name]]}
            if self._drain.one_by_one:
                self._placing.table = table.with_nodes({node.name: cordoned_node(before[node.name])})
            steps = list(self._rounds(node))
            unmoved += (one for step in steps for one in step.unmoved if one.reason != HELD or step is steps[-1])
            for step in steps:
                kept.update(step.kept)
                slow.update(step.slow)
            terminating = sum(step.stuck for step in steps)
            if terminating or (is_silent(node) and any(one.reason == HELD for one in steps[-1].unmoved)):
                stuck[node.name] = terminating
            if self._drain.one_by_one:
                self._placing.table = self._placing.table.with_nodes(before)
                # The node is back: pods without a place may go there.
                pending = self._pending()
                self._place(pending)
                for index in set(pending).difference(self._pending()):
                    self._specs[index] = replace(self._specs[index], until_back=node.name)
                    back = [self._requests[index].pod]
                    self._placing.budgets = recounted(self._placing.budgets, came=back)
        self._place(self._others)
        return DrainResult(self._specs, tuple(unmoved), stuck, kept, slow, self._placing.snapshot)

    def _rounds(self, node: NodeReach) -> Iterator[DrainPlan]:
        """Evict a node's pods until none is left, or budgets protect the rest."""
        own, waits = self._pods_on(node.name), False
        while True:
            pending = (replace(self._requests[index].pod, status=_UNSCHEDULABLE) for index in self._pending())
            others = (pod for pod in self._placing.snapshot.pods if pod.spec.node_name != node.name)
            step = drain_plan([*own, *others, *pending], self._placing.budgets, node.name, node, self._drain.at)
            yield step
            gone = self._remove(own, step)
            taken = [pod for pod in gone if pod.metadata.deletion_timestamp is None and not pod.finished]
            self._placing.budgets = recounted(self._placing.budgets, gone=taken)
            indexes = {self._of_pod[at]: pod for pod in step.moved if (at := pod.metadata.place) in self._of_pod}
            self._place(indexes)
            for index in indexes:
                spec = self._specs[index]
                self._specs[index] = replace(spec, leaves=(*spec.leaves, node.name), waits=waits)
            # A pod that is not placed here is taken to run elsewhere.
            without = [pod for index, pod in indexes.items() if not self._specs[index].placed]
            came = [pod for pod in step.moved if pod in taken and pod not in without]
            self._placing.budgets = recounted(self._placing.budgets, came=came)
            held = {(one.pod.namespace, one.pod.name) for one in step.unmoved if one.reason == HELD}
            own, waits = [pod for pod in own if pod.metadata.place in held], True
            if not (own and gone):
                return

    def _pods_on(self, name: str) -> list[Pod]:
        """The pods of a node that were not preempted, and the replacements that have come there."""
        table = self._placing.table
        bound = {pod.metadata.uid: pod for pod in table.pods.on(table.index[name])}
        found = [pod for pod in self._placing.snapshot.pods if pod.spec.node_name == name]
        moved = [pod for pod in bound.values() if is_planned(pod) and pod.metadata.place in self._of_pod]
        return [*(pod for pod in found if pod.finished or pod.metadata.uid in bound), *moved]

    def _remove(self, own: Sequence[Pod], step: DrainPlan) -> list[Pod]:
        """Remove pods from their node; if it is silent they stay there, Terminating."""
        placing, uids = self._placing, frozenset(step.left)
        stay = [pod for pod in step.left.values() if pod is not None]
        placing.table = placing.table.without_pods(uids).with_pods((pod, step.node) for pod in stay)
        pods = (*(pod for pod in placing.snapshot.pods if pod.metadata.uid not in uids), *stay)
        gone = [pod for pod in own if pod.metadata.uid in uids]
        left = [pod for pod in gone if step.left[pod.metadata.uid] is None]
        placing.snapshot = devices_freed(replace(placing.snapshot, pods=pods), left)
        return gone

    def _place(self, indexes: Iterable[int]) -> None:
        """Place requests by priority; one that moves again keeps its earlier notes."""
        requests = self._requests
        for index in sorted(indexes, key=lambda one: requests[one].queue_key):
            spec, before = self._placing.place(requests[index]), self._specs.get(index)
            if before is not None:
                said = {"leaves": before.leaves, "waits": before.waits, "until_back": before.until_back}
                stopped, victims = spec.stopped or before.stopped, (*before.victims, *spec.victims)
                spec = replace(spec, stopped=stopped, victims=victims, **said)
            self._specs[index] = spec

    def _pending(self) -> list[int]:
        return [index for index, spec in self._specs.items() if spec.leaves and not spec.placed]
