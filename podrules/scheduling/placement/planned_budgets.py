"""How many of the pods to come PodDisruptionBudgets allow to be evicted, once all placed pods are Ready.

    a manifest's pods   as many as it asks for, labelled as their controller makes them; those that the workload has
                        already are gone by then
    other pods          of the cluster, which a budget selects beside them: they count as they are. What their
                        controllers want is not known here
    several budgets     a pod that more than one selects is never evicted

Left out: what an autoscaler may add, and workloads that make no pods for now.

Source: as of `podrules.workload.disruption`; pkg/registry/core/pod/storage/eviction.go (Create) for pods of several
budgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from podrules.api.controllers import INDEX_LABEL
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.scheduling.placement.planned import Budgets, HeldPods, PlannedBudget, PlannedSpec
from podrules.workload.disruption import CoveredPods, SelectingBudgets, budget_room
from podrules.workload.made_pod import replica

_KINDS: Final = {
    "pod": "",
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "replicationcontroller": "ReplicationController",
    "daemonset": "DaemonSet",
    "job": "Job",
    "cronjob": "CronJob",
}


class PodGroup(Struct, frozen=True):
    """Pods that the same budgets select: their labels are alike."""

    name: str
    """``deployment/web``; empty: they are other pods of the cluster."""
    pod: Pod
    """One of them."""
    covered: CoveredPods
    full: int = 0
    """How many there are once all of a manifest's are made."""
    may_grow: bool = False
    """Whether an autoscaler may make more of them."""


def made_groups(
    name: str,
    pod: Pod,
    wanted: int | None,
    *,
    first: int = 0,
    made: int | None = None,
    ready: int | None = None,
    may_grow: bool = False,
) -> Iterator[PodGroup]:
    """The pods of a manifest, as their controller makes them.

    Args:
        name: ``deployment/web``.
        pod: Of the template, named as the workload.
        wanted: How many; None: it is not known.
        first: The number of the first: ``ordinals.start`` of a StatefulSet.
        made: How many are made; None: all.
        ready: How many have a place; None: all.
        may_grow: Whether an autoscaler may make more of them.
    """
    singular = name.partition("/")[0]
    kind, key = _KINDS[singular], f"{pod.metadata.namespace}/{name}"
    ready = (wanted or 0) if ready is None else ready
    made = wanted if made is None else made
    if wanted is not None and (singular == "statefulset" or INDEX_LABEL in pod.metadata.labels):
        # Each has labels of its own.
        for number in range(wanted):
            own, is_made = replica(pod, singular, first + number, uid=""), made is None or number < made
            yield PodGroup(name, own, CoveredPods(kind, key, int(is_made), int(number < ready), wanted), 1, may_grow)
        return
    alike = replica(pod, singular, first, uid="")
    yield PodGroup(name, alike, CoveredPods(kind, key, made, ready, wanted), wanted or 0, may_grow)


def spec_groups(planned: PlannedSpec, pod: Pod, there: Sequence[Pod], first: int) -> Iterator[PodGroup]:
    """The pods of a placed spec, those that are placed Ready; nothing where none are made for now.

    `pod` is its next pod, named as the workload; `there` are those that it has now; `first` is the number of the first.
    """
    wanted = planned.placed if planned.wanted is None else planned.wanted
    match planned.origin:
        case "manifest" if not planned.suspended:
            ready, grows = planned.placed, planned.autoscaler is not None and planned.autoscaler.max_replicas > wanted
            if planned.daemon is not None:
                passed_over = {node.node for group in planned.daemon.without for node in group.nodes}
                kept = passed_over.intersection(planned.daemon.kept)
                missing = wanted - ready + sum(own.spec.node_name in kept and not own.is_ready for own in there)
                wanted = planned.daemon.eligible + len(kept)
                ready = wanted - missing
            made = wanted if planned.quota is None else min(wanted, planned.quota.pods)
            # A StatefulSet with OrderedReady makes none after the one that stays pending.
            made = planned.placed + 1 if planned.holds_back else made
            if wanted:
                yield from made_groups(planned.name, pod, wanted, first=first, made=made, ready=ready, may_grow=grows)
        case "autoscaler":
            return
        case _:
            yield PodGroup("", pod, _of_owner(pod, wanted, planned.placed))


def cluster_groups(pods: Iterable[Pod]) -> Iterator[PodGroup]:
    """Pods of the cluster as they are."""
    for pod in pods:
        healthy = pod.is_ready and pod.metadata.deletion_timestamp is None
        yield PodGroup("", pod, _of_owner(pod, 1, int(healthy)))


def _of_owner(pod: Pod, pods: int, healthy: int) -> CoveredPods:
    """Pods of the cluster like this one; what their controller wants is not known."""
    owner = pod.metadata.controller
    kind, key = (owner.kind, owner.uid or owner.name) if owner else ("", "")
    return CoveredPods(kind, key, pods, healthy, None)


def planned_budgets(
    coming: Sequence[PodGroup], there: Iterable[PodGroup], budgets: Sequence[PodDisruptionBudget]
) -> Budgets:
    """The budgets that select some of the pods to come, besides other pods, which stay.

    The budgets are the cluster's, as the files change them.
    """
    selecting = SelectingBudgets(budgets)
    chosen = {id(budget) for group in coming for budget in selecting.of(group.pod)}
    if not chosen:
        return Budgets()
    near = [(group, selecting.of(group.pod)) for group in (*coming, *there)]
    selected = [(group, own) for group, own in near if any(id(budget) in chosen for budget in own)]
    made = Counter[tuple[str, str]]()
    for group in coming:
        made[group.pod.metadata.namespace, group.name] += group.full
    # The pods that several budgets select, of each spec and of the cluster.
    counts: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for group, own in selected:
        if len(own) > 1:
            names = tuple(sorted(budget.metadata.written_name for budget in own))
            counts[group.pod.metadata.namespace, group.name, names] += group.full or group.covered.pods or 0
    return Budgets(
        tuple(_planned(budget, selected, made) for budget in budgets if id(budget) in chosen),
        tuple(
            HeldPods(namespace, name, pods, made.get((namespace, name), pods), names)
            for (namespace, name, names), pods in counts.items()
        ),
    )


Selected = tuple[PodGroup, Sequence[PodDisruptionBudget]]


def _planned(
    budget: PodDisruptionBudget, selected: Sequence[Selected], made: Mapping[tuple[str, str], int]
) -> PlannedBudget:
    own = [(group, others) for group, others in selected if any(other is budget for other in others)]
    groups = [group for group, _ in own]
    coming = [group for group in groups if group.name]
    namespace, specs = budget.metadata.namespace, tuple(dict.fromkeys(group.name for group in coming))
    return PlannedBudget(
        namespace=namespace,
        name=budget.metadata.written_name,
        min_available=budget.spec.min_available,
        max_unavailable=budget.spec.max_unavailable,
        specs=specs,
        pods_of_specs=sum(made[namespace, name] for name in specs),
        placed=sum(group.covered.healthy for group in coming),
        others=sum(group.covered.pods or 0 for group in groups if not group.name),
        pods=sum(max(group.full, group.covered.pods or 0) for group in groups),
        held=sum(group.covered.pods or 0 for group, others in own if len(others) > 1),
        may_grow=any(group.may_grow for group in coming),
        room=budget_room(budget, [group.covered for group in groups]),
    )
