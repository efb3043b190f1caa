"""Nodes drained one after the other: who leaves in which round, and where the replacements go.

round       the pods that budgets let go leave the node together; their replacements, and what else is asked for, are
            placed by priority. Those that find a place count as Ready again: the budgets let as many more go
held        what budgets hold when a round changes nothing: kubectl drain asks again without end
one by one  a node is back before the next one is cordoned: what has found no place goes there, what moved there moves
            again
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.disruption import recounted
from podrules.model.base import Condition
from podrules.model.pod import Pod, PodStatus
from podrules.model.snapshot import ClusterSnapshot
from podrules.placement.devices import devices_freed
from podrules.placement.drain import HELD, Drain, DrainPlan, cordoned_node, drain_plan
from podrules.placement.plan import Demand, Placing, queue_key
from podrules.placement.planned import PlannedSpec, Unmoved
from podrules.reachability import NodeReach
from podrules.scheduler.framework.node_table import NodeTable
from podrules.scheduler.framework.planned_pods import is_planned, planned_uid

__all__ = ["Drained", "place_drained"]

_UNSCHEDULABLE: Final = PodStatus(conditions=(Condition("PodScheduled", "False", "Unschedulable"),))


class Drained(Struct, frozen=True):
    """What becomes of the pods of drained nodes, and of what is placed with them."""

    specs: dict[int, PlannedSpec]
    """By index of the demand, in the order in which they are placed first."""
    unmoved: tuple[Unmoved, ...]
    stuck: dict[str, int]
    """By node that does not answer, how many pods stay Terminating."""
    pods: tuple[Pod, ...]
    """Of the cluster, that are left where they were."""


def place_drained(
    demands: Sequence[Demand], drain: Drain, table: NodeTable, snapshot: ClusterSnapshot, *, preemption: bool
) -> Drained:
    """Drain the nodes and place all of the demands.

    Args:
        demands: One for each pod that may be evicted (`Demand.replaces`), and what else is asked for.
        drain: The nodes; unless they are drained one by one, they are cordoned in table and snapshot.
        table: Of the snapshot.
        snapshot: With all pods still there.
        preemption: Whether pods of lower priority may have to go.
    """
    found = _Rounds(demands, drain, table, snapshot, preemption=preemption).run()
    if preemption and any(spec.victims for spec in list(found.specs.values())[:-1]):
        # As in `plan`: the victims of one leave room to the next, or the pods that they yield to take it.
        alone = _Rounds(demands, drain, table, snapshot, preemption=False).run().specs
        specs = {index: _with_unaided(spec, alone.get(index)) for index, spec in found.specs.items()}
        return replace(found, specs=specs)
    return found


def _with_unaided(spec: PlannedSpec, alone: PlannedSpec | None) -> PlannedSpec:
    if alone is None:
        return replace(spec, without_preemption=0, nodes_unaided={})
    return replace(spec, without_preemption=alone.placed, nodes_unaided=alone.nodes)


class _Rounds:
    """One run over all nodes."""

    def __init__(
        self, demands: Sequence[Demand], drain: Drain, table: NodeTable, snapshot: ClusterSnapshot, *, preemption: bool
    ) -> None:
        self._demands, self._drain = demands, drain
        self._placing = Placing(table, snapshot, demands, preemption=preemption)
        self._of_pod = {demand.replaces: index for index, demand in enumerate(demands) if demand.replaces}
        asked = [index for index, demand in enumerate(demands) if not demand.replaces]
        self._asked = [index for index in asked if demands[index].origin != "autoscaler"]
        self._last = [index for index in asked if demands[index].origin == "autoscaler"]
        self._specs: dict[int, PlannedSpec] = {}
        self._pending: dict[int, Pod] = {}
        """Evicted pods that no replacement runs for: none has a place."""

    def run(self) -> Drained:
        unmoved: list[Unmoved] = []
        stuck: dict[str, int] = {}
        for node in self._drain.nodes:
            name, table = node.name, self._placing.table
            if self._drain.one_by_one:
                self._placing.table = table.with_nodes({name: cordoned_node(table.nodes[table.index[name]])})
            steps = list(self._rounds(node))
            unmoved += (entry for step in steps for entry in step.unmoved if entry.reason != HELD)
            unmoved += (entry for entry in steps[-1].unmoved if entry.reason == HELD)
            if terminating := sum(step.stuck for step in steps):
                stuck[name] = terminating
            if self._drain.one_by_one:
                self._placing.table = self._placing.table.with_nodes({name: table.nodes[table.index[name]]})
                self._place_late(name)
        for index in self._last:
            self._specs[index] = self._placing.place(self._demands[index])
        return Drained(self._specs, tuple(unmoved), stuck, self._placing.snapshot.pods)

    def _rounds(self, node: NodeReach) -> Iterator[DrainPlan]:
        """Evict what is on a node until nothing is left, or budgets hold the rest."""
        own = self._pods_on(node.name)
        waits = False
        while True:
            others = [pod for pod in self._placing.snapshot.pods if pod.spec.node_name != node.name]
            pods = [*own, *others, *map(_unscheduled, self._pending.values())]
            step = drain_plan(pods, self._placing.budgets, node.name, node, self._drain.at)
            yield step
            gone = [pod for pod in own if pod.metadata.uid in step.left]
            self._remove(gone, step)
            evicted = [pod for pod in gone if pod.metadata.deletion_timestamp is None and not pod.finished]
            self._placing.budgets = recounted(self._placing.budgets, gone=evicted)
            self._place(step, waits=waits)
            came = [pod for pod in step.moved if pod in evicted and self._has_place(pod)]
            self._placing.budgets = recounted(self._placing.budgets, came=came)
            held = {(entry.pod.namespace, entry.pod.name) for entry in step.unmoved if entry.reason == HELD}
            own = [pod for pod in own if pod.metadata.place in held]
            if not own or not gone:
                return
            waits = True

    def _pods_on(self, name: str) -> list[Pod]:
        """The pods of a node that were not preempted, and the replacements that have come there."""
        table = self._placing.table
        bound = {pod.metadata.uid: pod for pod in table.pods.on(table.index[name])}
        found = [pod for pod in self._placing.snapshot.pods if pod.spec.node_name == name]
        moved = [pod for uid, pod in bound.items() if is_planned(pod) and uid in self._of_pod]
        return [*(pod for pod in found if pod.finished or pod.metadata.uid in bound), *moved]

    def _remove(self, gone: Sequence[Pod], step: DrainPlan) -> None:
        """Take pods off their node; where it does not answer they stay there, Terminating."""
        placing, uids = self._placing, frozenset(pod.metadata.uid for pod in gone)
        stay = [pod for pod in step.left.values() if pod is not None]
        placing.table = placing.table.without_pods(uids).with_pods((pod, step.node) for pod in stay)
        pods = (*(pod for pod in placing.snapshot.pods if pod.metadata.uid not in uids), *stay)
        left = [pod for pod in gone if step.left[pod.metadata.uid] is None]
        placing.snapshot = devices_freed(replace(placing.snapshot, pods=pods), left)

    def _place(self, step: DrainPlan, *, waits: bool) -> None:
        """Place the replacements of a round; with the first what else is asked for, one by one with the last."""
        indexes = [self._of_pod[pod.metadata.uid] for pod in step.moved if pod.metadata.uid in self._of_pod]
        if not self._drain.one_by_one or step.node == self._drain.names[-1]:
            indexes, self._asked = [*self._asked, *indexes], []
        evicted = {self._of_pod.get(pod.metadata.uid): pod for pod in step.moved}
        for index in sorted(indexes, key=lambda one: self._key(self._demands[one])):
            demand, before, uid = self._demands[index], self._specs.get(index), planned_uid(self._placing.count, 0)
            spec = self._placing.place(demand)
            if index in evicted:
                self._of_pod[uid] = index
                earlier = before.leaves if before is not None else ()
                victims = before.victims if before is not None else ()
                back = before.until_back if before is not None else ""
                victims = (*victims, *spec.victims)
                spec = replace(spec, leaves=(*earlier, step.node), victims=victims, waits=waits, until_back=back)
                if not spec.placed:
                    self._pending[index] = evicted[index]
            self._specs[index] = spec

    def _place_late(self, back: str) -> None:
        """Place what had no place, now that a drained node is back."""
        for index in sorted(self._pending, key=lambda one: self._key(self._demands[one])):
            uid, late = planned_uid(self._placing.count, 0), self._placing.place(self._demands[index])
            if late.placed:
                self._of_pod[uid] = index
                pod, spec = self._pending.pop(index), self._specs[index]
                self._placing.budgets = recounted(self._placing.budgets, came=[pod])
                victims = (*spec.victims, *late.victims)
                self._specs[index] = replace(
                    spec, placed=late.placed, nodes=late.nodes, zones=late.zones, victims=victims, until_back=back
                )

    @staticmethod
    def _key(demand: Demand) -> tuple[bool, int]:
        return queue_key(demand.origin, demand.situation.pod)

    def _has_place(self, pod: Pod) -> bool:
        """Whether a replacement runs elsewhere; of a pod that is not placed here, that is taken as so."""
        index = self._of_pod.get(pod.metadata.uid)
        return index is None or self._specs[index].placed > 0


def _unscheduled(pod: Pod) -> Pod:
    """The replacement of an evicted pod, without a place."""
    return replace(pod, spec=replace(pod.spec, node_name=""), status=_UNSCHEDULABLE)
