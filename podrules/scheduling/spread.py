"""The spread of pods over zones: the nodes of each zone, and the skew of each workload.

    a zone      the value of topology.kubernetes.io/zone; nodes without it form a zone without a name
    counted     pods on a node that have not finished and are not being deleted
    workloads   controllers with identical pods: ReplicaSets, ReplicationControllers, StatefulSets
    skew now    for a constraint of the pods: most pods in a domain less the fewest of any counted domain, or less 0 if
                there are fewer domains than minDomains

A constraint is evaluated only when a pod is placed: removed pods, lost nodes and ScheduleAnyway constraints leave skews
that no new placement would create.

Source: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering}.go at v1.36.3, as in
`podrules.scheduling.scheduler.plugins.pod_topology_spread`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from podrules.api.features import REFERENCE, Features
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO
from podrules.api.model.selectors import SelectorError
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.pod.resources import CPU, MEMORY
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.framework.node_table import ABSENT, NodeTable
from podrules.scheduling.scheduler.plugins.pod_topology_spread.filtering import (
    Spread,
    SpreadState,
    constraints_in_force,
    included_nodes,
    spread_state,
)
from podrules.scheduling.skew import ConstraintSkew, UncountedNodes, UncountedReason, WorkloadSpread
from podrules.workload.safety import Guarantee, owner_guarantee

ZONE: Final = "topology.kubernetes.io/zone"
_HARD: Final = "DoNotSchedule"
_SOFT: Final = "ScheduleAnyway"
_KEPT_ALIKE: Final = frozenset({Guarantee.AVAILABILITY_FIRST, Guarantee.AT_MOST_ONE})


class ZoneNodes(Struct, frozen=True, rename="camel"):
    """The nodes of one zone."""

    zone: str
    """The zone's name; empty: nodes without the label."""
    nodes: int
    ready: int
    cpu: int
    """The allocatable cpu in thousandths."""
    memory: int
    """The allocatable memory in bytes."""


def zone_of(node: Node) -> str:
    """A node's zone; empty: it has none."""
    return node.metadata.labels.get(ZONE, "")


def zone_nodes(nodes: Iterable[Node]) -> tuple[ZoneNodes, ...]:
    """All zones, by name."""
    zones: dict[str, list[Node]] = {}
    for node in nodes:
        zones.setdefault(zone_of(node), []).append(node)
    return tuple(
        ZoneNodes(
            zone,
            len(own),
            sum(node.ready is not None and node.ready.status == "True" for node in own),
            sum(node.status.allocatable.get(CPU, ZERO).milli_value for node in own),
            sum(node.status.allocatable.get(MEMORY, ZERO).value for node in own),
        )
        for zone, own in sorted(zones.items())
    )


def workload_spreads(
    nodes: Sequence[Node], pods: Iterable[Pod], *, features: Features = REFERENCE
) -> tuple[WorkloadSpread, ...]:
    """The spread of every workload, by namespace and name.

    The pods are all of the cluster, or of the requested namespaces; the nodes are always all.
    """
    zones = {node.metadata.name: zone_of(node) for node in nodes}
    placed = [pod for pod in pods if pod.spec.node_name in zones and not pod.finished]
    alike: dict[tuple[str, str, str], list[Pod]] = {}
    for pod in placed:
        owner = owner_guarantee(pod)
        if owner.guarantee in _KEPT_ALIKE and pod.metadata.deletion_timestamp is None:
            alike.setdefault((pod.metadata.namespace, owner.kind, owner.name), []).append(pod)
    spread = any(own[0].spec.topology_spread_constraints for own in alike.values())
    table = NodeTable(nodes, placed) if spread else None
    return tuple(
        WorkloadSpread(
            *key,
            dict(sorted(Counter(zones[pod.spec.node_name] for pod in own).items())),
            () if table is None else tuple(_skews(own[0], table, features)),
        )
        for key, own in sorted(alike.items())
    )


def spreads_of(
    own: Iterable[Pod], nodes: Sequence[Node], pods: Iterable[Pod], *, features: Features = REFERENCE
) -> tuple[WorkloadSpread, ...]:
    """The spread of some pods' controllers: a Deployment's ReplicaSets, each with the constraints of its pods.

    `own` are the pods of one workload, `pods` all of their namespace: constraints may count others.
    """
    owners = {
        (pod.metadata.namespace, owner.kind, owner.name)
        for pod in own
        if (owner := pod.metadata.controller) is not None
    }
    found = workload_spreads(nodes, pods, features=features)
    return tuple(spread for spread in found if (spread.namespace, spread.kind, spread.name) in owners)


def _skews(pod: Pod, table: NodeTable, features: Features) -> Iterator[ConstraintSkew]:
    """The constraints of one pod; constraints with an invalid selector are left out."""
    if not pod.spec.topology_spread_constraints:
        return
    context = CycleContext(pod, table, ClusterSnapshot(), features, {}, {})
    for action in (_HARD, _SOFT):
        try:
            state = spread_state(context, constraints_in_force(context, action))
        except SelectorError:
            return
        for spread in state.spreads:
            if not spread.domains_num:
                continue
            constraint, counts = spread.constraint, spread.match_num[spread.known]
            names = [name for name, known in zip(spread.labels.values, spread.known, strict=True) if known]
            enough = spread.domains_num >= constraint.min_domains
            yield ConstraintSkew(
                constraint.field,
                constraint.topology_key,
                action == _HARD,
                spread.domains_num,
                int(counts.max()),
                spread.min_match_num,
                constraint.max_skew,
                names[int(counts.argmax())],
                names[int(counts.argmin())] if enough else None,
                tuple(_uncounted(context, state, spread)) if spread.domains_num == 1 else (),
            )


def _uncounted(context: CycleContext, state: SpreadState, spread: Spread) -> Iterator[UncountedNodes]:
    """The nodes that a constraint does not count, by the first reason."""
    table, constraint = context.table, spread.constraint
    keys = dict.fromkeys(one.constraint.topology_key for one in state.spreads)
    counted = (
        *((UncountedReason.LACKS_KEY, key, table.label(key).codes != ABSENT) for key in keys),
        (UncountedReason.NODE_AFFINITY, "", included_nodes(context, (replace(constraint, node_taints_policy=""),))[0]),
        (UncountedReason.TAINT, "", included_nodes(context, (constraint,))[0]),
    )
    left = np.ones(len(table), np.bool_)
    for why, key, mask in counted:
        rows = np.flatnonzero(left & ~mask)
        left &= mask
        if len(rows):
            yield UncountedNodes(why, len(rows), table.names[int(rows[0])], key)
