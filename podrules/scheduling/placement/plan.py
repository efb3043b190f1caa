"""What-if: places several specs one replica after the other; each sees the ones before.

    order       by priority, the highest first, then as given: as the scheduling queue has them (PrioritySort); last
                what an autoscaler may ask for
    a replica   one scheduling cycle; among the nodes with the highest score, the cluster's first is chosen, while
                kube-scheduler takes any of them
    no node     preemption, where it is allowed: the victims are gone and the replica takes their place, as if they had
                ended at once; budgets allow less for each victim that was ready. Controllers make new pods for
                victims; those are not placed here
    the end     the first replica that fits nowhere ends its spec: the others are like it. So does a cycle that fails,
                and a pod that is held back is not placed at all
    DaemonSet   a pod for each node that its controller chooses; one that does not fit there keeps no other
                (`daemon_sets`)
    nodeName    a pod that names its node itself is its kubelet's to take or refuse (`named`)
    claims      each replica has its own of templates and of ephemeral volumes; what was to be bound is bound once it is
                placed (`binding`), and devices are taken (`device_claims`)

Source: pkg/scheduler/framework/plugins/queuesort/priority_sort.go and pkg/scheduler/schedule_one.go at v1.36.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.admission.admitted_pod import QuotaRoom
from podrules.api.model.event import Event
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.selectors import SelectorError
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim
from podrules.api.model.workload import Workload
from podrules.node.reachability import NodeReach
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.binding import Placed, best_row, make_room, with_pod
from podrules.scheduling.placement.claims import with_claims, with_claims_of
from podrules.scheduling.placement.controllers import ControlledPod, OwnPods
from podrules.scheduling.placement.daemon_sets import DaemonSet, Existing, place_daemons
from podrules.scheduling.placement.device_claims import with_device_claims
from podrules.scheduling.placement.likely import likely_placement, named_placement
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.scheduling.placement.planned import (
    AchievedSpread,
    Autoscaler,
    AwaitedPod,
    JobSize,
    Origin,
    PlannedSpec,
    PlannedVictim,
)
from podrules.scheduling.placement.remedies import SHOWN_LEFT_OUT
from podrules.scheduling.placement.situation import NODES, MissingKinds, Situation, known_part, missing_of
from podrules.scheduling.scheduler.cycle import pre_enqueue
from podrules.scheduling.scheduler.framework.interface import CycleContext, planned_uid
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.default_preemption import priority_of
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    constraints_in_force,
    domains,
    left_out,
    spread_state,
)
from podrules.scheduling.scheduler.runtime import Framework
from podrules.workload.made_pod import new_numbers, replica

ZONE: Final = "topology.kubernetes.io/zone"
MAX_REPLICAS: Final = 100_000
"""For a spec with no number: as many as fit are wanted."""


class PlanCluster(Struct, frozen=True):
    """The cluster on which a plan places pods."""

    table: NodeTable
    snapshot: ClusterSnapshot
    now: datetime | None = None
    is_list: bool = False
    """Whether the objects are of a plain List, which may lack single objects of the kinds that it has."""
    node_events: Mapping[str, Sequence[Event]] = {}
    """By node, where one is cordoned."""

    @classmethod
    def of(cls, situation: Situation) -> PlanCluster:
        """The cluster of a pod's situation."""
        return cls(situation.table, situation.snapshot, situation.now, situation.is_list, situation.node_events)


class PlacementRequest(Struct, frozen=True):
    """Pods of one spec that are to be placed."""

    name: str
    """``deployment/web``: what makes the pods, which labels each of them (`replica`), and its name."""
    controlled: ControlledPod
    """The next pod, as it will be stored, with its controller."""
    framework: Framework
    replicas: int | None
    """None: as many as fit."""
    first: int = 0
    """The number of the first: ``ordinals.start`` of a StatefulSet."""
    claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    """StatefulSets only."""
    origin: Origin = "manifest"
    """Why they are wanted."""
    suspended: bool = False
    """Whether its controller currently makes no pods."""
    quota: QuotaRoom | None = None
    """The quota that allows fewer than are wanted; None: no quota does."""
    stateful_set: Workload | None = None
    """The StatefulSet of the cluster that gets more pods."""
    ordered: bool = False
    """Whether its StatefulSet makes a pod only once the one before is Ready."""
    job: JobSize | None = None
    """How many pods a Job or CronJob makes; None: it is neither."""
    autoscaler: Autoscaler | None = None
    """The autoscaler of the files that decides about its replicas; None: none does."""
    existing: Existing | None = None
    """What happens to the existing pods of a DaemonSet, which has a pod on each node that it chooses, whatever
    `replicas` says; None: another kind."""
    own: OwnPods | None = None
    """Finds the pods that it has already; None: they do not count."""

    # The cluster decides the rest.
    unread: tuple[UnreadInput, ...] = ()
    """The kinds that a cycle of its pods reads and that could not be read."""
    reach: NodeReach | None = None
    """Whether the node answers that its pods name themselves; None: not known, or they name none."""
    there: int = 0
    """How many pods it has already."""
    daemons: tuple[Pod, ...] = ()
    """The existing pods of a DaemonSet that have not finished."""
    awaited: AwaitedPod | None = None
    """Which pod its StatefulSet waits for."""

    @property
    def pod(self) -> Pod:
        """The next pod, as it will be stored."""
        return self.controlled.pod

    @property
    def first_pod(self) -> Pod:
        """The first pod with all its volumes named: it decides what must be read."""
        return with_claims_of(self.pod, self.claim_templates)[0]

    @property
    def queue_key(self) -> tuple[bool, int]:
        """The order in which the scheduler takes pods: an autoscaler asks for more once the others exist."""
        return self.origin == "autoscaler", -priority_of(self.pod)

    def on(self, cluster: PlanCluster, table: NodeTable, snapshot: ClusterSnapshot) -> Situation:
        """The next pod on a cluster as it is by then."""
        return Situation(
            self.pod,
            table,
            snapshot,
            self.framework,
            cluster.now,
            unread=self.unread,
            is_list=cluster.is_list,
            node_events=cluster.node_events,
        )


def plan(requests: Sequence[PlacementRequest], cluster: PlanCluster, *, preemption: bool) -> tuple[PlannedSpec, ...]:
    """Place all of them, in the order of the queue; with `preemption`, pods of lower priority may have to go."""
    order = sorted(requests, key=lambda one: one.queue_key)

    def placed(*, preemption: bool) -> dict[int, PlannedSpec]:
        placing = Placing(cluster, requests, preemption=preemption)
        return {index: placing.place(request) for index, request in enumerate(order)}

    return tuple(with_unaided(placed(preemption=preemption), lambda: placed(preemption=False)).values())


def with_unaided(specs: dict[int, PlannedSpec], alone: Callable[[], dict[int, PlannedSpec]]) -> dict[int, PlannedSpec]:
    """The specs with how many are placed without preemption: by themselves, or as `alone` finds it."""
    if not any(spec.victims for spec in list(specs.values())[:-1]):
        return specs
    # The victims of one leave room to the next, or the pods that they yield to take it.
    others = {index: (spec.placed, spec.nodes) for index, spec in alone().items()}
    for index, spec in specs.items():
        placed, nodes = others.get(index, (0, {}))
        specs[index] = replace(spec, without_preemption=placed, nodes_unaided=nodes)
    return specs


class Placing:
    """The cluster as it becomes with each spec that is placed."""

    def __init__(self, cluster: PlanCluster, requests: Sequence[PlacementRequest], *, preemption: bool) -> None:
        """Start with the cluster as it is."""
        self.table, self.snapshot = cluster.table, cluster.snapshot
        self.budgets: Sequence[PodDisruptionBudget] = cluster.snapshot.pod_disruption_budgets
        self._cluster = cluster
        self._count = 0
        self._preemption = preemption
        self._scheduled = tuple(request.pod for request in requests if not request.pod.spec.node_name)
        self._moving: tuple[UnreadInput, ...] = ()

    def place(self, request: PlacementRequest) -> PlannedSpec:
        """Place a spec in the room that the earlier ones left."""
        # Specs may share a name: their position distinguishes their pods.
        replicas = _Replicas(request, self._cluster, self._count, self._scheduled)
        self._count += 1
        before = request.on(self._cluster, self.table, self.snapshot)
        missing = missing_of(first := replicas.before(request.first, before))
        known = replace(before, framework=known_part(first, missing).framework)
        placed = _place(replicas, known, self.budgets, preemption=self._preemption)
        then = placed.situation
        if placed.rows:
            self._moving += tuple(missing.moving(victims=any(not one.leaving for one in placed.victims)))
        self.table, self.snapshot, self.budgets = then.table, then.snapshot, placed.budgets
        return _planned(replicas, placed, missing, self._moving)


class _Replicas(Struct, frozen=True):
    """The pods of a request."""

    request: PlacementRequest
    cluster: PlanCluster
    """As it is before anything is placed."""
    place: int
    """The request's index among all."""
    scheduled: tuple[Pod, ...]
    """The pods of all requests that the scheduler places: with them claims are bound."""

    @property
    def wanted(self) -> int:
        """How many a quota allows."""
        most = MAX_REPLICAS if self.request.replicas is None else self.request.replicas
        return most if self.request.quota is None else min(most, self.request.quota.pods)

    def numbers(self) -> Iterator[int]:
        request, kind = self.request, self.request.name.partition("/")[0]
        return islice(new_numbers(request.pod, kind, request.first, self.cluster.snapshot.pods), self.wanted)

    def before(self, number: int, situation: Situation) -> Situation:
        """One of them with its claims, in a cluster."""
        request, kind = self.request, self.request.name.partition("/")[0]
        made = replica(request.pod, kind, number, uid=planned_uid(self.place, number))
        named, claims = with_claims_of(made, request.claim_templates)
        pod, snapshot = with_device_claims(named, with_claims(situation.snapshot, claims))
        return replace(situation, pod=pod, snapshot=snapshot)


def _place(
    replicas: _Replicas, situation: Situation, budgets: Sequence[PodDisruptionBudget], *, preemption: bool
) -> Placed:
    request = replicas.request
    if request.existing is not None:
        daemons = DaemonSet(request.daemons, request.existing, request.reach, replicas.before)
        return place_daemons(daemons, situation, budgets, preemption=preemption)
    taken: list[int] = []
    victims: list[PlannedVictim] = []
    unaided: int | None = None
    stopped = None
    first = replicas.before(request.first, situation)
    if first.pod.spec.node_name:
        return _place_named(replicas, situation, budgets)
    if not pre_enqueue(first.pod, first.snapshot, first.framework, features=first.features).ok:
        return Placed(first, budgets, stopped=likely_placement(first))
    for number in replicas.numbers():
        situation = replicas.before(number, situation)
        filtered = situation.filtered()
        row = best_row(filtered)
        if row is None:
            room = make_room(situation, filtered, budgets) if preemption else None
            if room is None:
                waiting = max(1, replicas.wanted - len(taken)) if request.replicas is not None else 1
                stopped = likely_placement(replace(situation, waiting=waiting, is_extra=request.origin == "more"))
                break
            row, situation, budgets = room.row, room.situation, room.budgets
            victims += room.victims
            unaided = len(taken) if unaided is None else unaided
        taken.append(row)
        situation = with_pod(situation, filtered, row)
    alone = len(taken) if unaided is None else unaided
    return Placed(situation, budgets, tuple(taken), alone, tuple(victims), stopped)


def _place_named(replicas: _Replicas, situation: Situation, budgets: Sequence[PodDisruptionBudget]) -> Placed:
    """Pods that name their node themselves: its kubelet takes one after the other."""
    rows: list[int] = []
    stopped = None
    for number in replicas.numbers():
        situation = replicas.before(number, situation)
        pods = (*situation.snapshot.pods, *replicas.scheduled)
        with_others = replace(situation, snapshot=replace(situation.snapshot, pods=pods))
        found = named_placement(with_others, replicas.request.reach)
        if not found.best:
            stopped = found
            break
        rows.append(situation.table.index[found.best[0]])
        situation = replace(situation, table=situation.table.with_pods([(situation.pod, found.best[0])]))
    return Placed(situation, budgets, tuple(rows), len(rows), stopped=stopped)


def _planned(
    replicas: _Replicas, placed: Placed, missing: MissingKinds, moving: tuple[UnreadInput, ...]
) -> PlannedSpec:
    """The result; `moving` unread objects may move the placed pods, and all before them, to other nodes."""
    request, cluster, pod = replicas.request, replicas.cluster, replicas.request.pod
    table = placed.situation.table
    names, zones = table.names, table.label(ZONE)
    by_zone = Counter(zones.values[code] if (code := zones.codes[row]) >= 0 else "" for row in placed.rows)
    condition = pod.status.condition("PodScheduled")
    wanted = request.replicas if placed.daemon is None else placed.wanted
    assumed, proven = _assumed(placed, wanted, missing, moving)
    holds_back = ""
    if request.ordered and placed.stopped is not None:
        # The pod after those that are placed.
        number = next(islice(replicas.numbers(), len(placed.rows), None), request.first)
        holds_back = f"{pod.metadata.name}-{number}"
    end = replicas.before(request.first, request.on(cluster, table, cluster.snapshot))
    return PlannedSpec(
        name=request.name,
        namespace=pod.metadata.namespace,
        priority=priority_of(pod),
        wanted=wanted,
        placed=len(placed.rows),
        without_preemption=placed.unaided,
        nodes=dict(Counter(names[row] for row in placed.rows).most_common()),
        nodes_unaided=dict(Counter(names[row] for row in placed.rows[: placed.unaided]).most_common()),
        zones=dict(sorted(by_zone.items())),
        # The pod of a DaemonSet has no domain but its node.
        spread=() if placed.daemon is not None else tuple(_achieved(end)),
        victims=placed.victims,
        stopped=placed.stopped,
        limit=MAX_REPLICAS if request.replicas is None and len(placed.rows) == MAX_REPLICAS else None,
        there=request.there,
        suspended=request.suspended,
        awaited=request.awaited,
        daemon=placed.daemon,
        holds_back=holds_back,
        job=request.job,
        autoscaler=request.autoscaler,
        origin=request.origin,
        quota=request.quota,
        assumed=assumed,
        proven=proven,
        scheduler_message=condition.message if condition is not None and condition.status == "False" else "",
    )


def _assumed(
    placed: Placed, wanted: int | None, missing: MissingKinds, moving: tuple[UnreadInput, ...]
) -> tuple[tuple[UnreadInput, ...], bool]:
    """The unread objects that may change the answer, and whether it is proved in spite of them."""
    stopped = placed.stopped
    if placed.daemon is not None and NODES in missing.resources:
        return missing.unread, False
    # If no replica failed, a quota allows fewer than are wanted.
    if wanted is not None and len(placed.rows) < wanted and stopped is not None:
        proven = stopped.proven and stopped.outcome is not PlacementOutcome.UNKNOWN
        # There may be room for the others if those before them are elsewhere.
        return tuple(dict.fromkeys((*stopped.assumed, *moving))), proven and not moving
    if not placed.rows:
        return (), True
    found = missing.moving(victims=any(not one.leaving for one in placed.victims))
    return tuple(found), not any(map(missing.decides_fit, missing.unread))


def _achieved(end: Situation) -> Iterator[AchievedSpread]:
    """The final domains of the pods that match a replica's constraints."""
    context = CycleContext(end.pod, end.table, end.snapshot, end.features, end.framework.args, {}, end.now)
    for action in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
        try:
            constraints = constraints_in_force(context, action)
        except SelectorError:
            return  # No replica was placed: the cycle's error says why.
        for constraint, spread in zip(constraints, spread_state(context, constraints).spreads, strict=True):
            found = domains(spread)
            minimum = spread.min_match_num if found else 0
            yield AchievedSpread(
                field=constraint.field,
                topology_key=constraint.topology_key,
                when_unsatisfiable=action,
                max_skew=constraint.max_skew,
                minimum=minimum,
                skew=max((domain.matching for domain in found), default=0) - minimum,
                domains=found,
                left_out=left_out(spread)[:SHOWN_LEFT_OUT],
                left_out_count=len(left_out(spread)),
            )
