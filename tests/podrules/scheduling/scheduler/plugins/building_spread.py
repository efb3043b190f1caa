"""Short forms for topology spread: nodes in two zones, pods by their labels, constraints on both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.workload import Service, Workload
from podrules.scheduling.scheduler.framework.interface import CycleContext
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import PodTopologySpreadArgs
from tests.objects import make_constraint, make_pod, raw_pod
from tests.podrules.scheduling.scheduler.plugins.building_nodes import (
    Json,
    make_cycle,
    make_requirement,
    node_of,
    requiring,
)

DO_NOT = "DoNotSchedule"
HOSTNAME = "kubernetes.io/hostname"
ZONES = {"a": "zone1", "b": "zone1", "x": "zone2", "y": "zone2"}
FOO: Json = {"matchExpressions": [{"key": "foo", "operator": "Exists"}]}
BAR: Json = {"matchExpressions": [{"key": "bar", "operator": "Exists"}]}
TAINT: Json = {"key": "taint-key", "value": "taint-value", "effect": "NoSchedule"}


ON_FOO: Json = {"nodeSelector": {"foo": ""}}
AFFINE_TO_FOO = requiring([make_requirement("foo", "In", "")])
DELETED: Json = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def labelled(text: str) -> dict[str, str]:
    """``foo+bar``: both labels, each with an empty value."""
    return dict.fromkeys(filter(None, text.split("+")), "")


def hard(max_skew: int, key: str, selector: Json | None = FOO, **fields: Any) -> TopologySpreadConstraint:
    """A DoNotSchedule constraint."""
    return make_constraint(max_skew, key, DO_NOT, selector, **fields)


def anyway(max_skew: int, key: str, selector: Json | None = FOO, **fields: Any) -> TopologySpreadConstraint:
    """A ScheduleAnyway constraint."""
    return make_constraint(max_skew, key, "ScheduleAnyway", selector, **fields)


def spread_node(letter: str, *, without: Sequence[str] = (), more: str = "", tainted: bool = False) -> Node:
    """``node-a`` with labels ``zone``, ``node`` and the hostname, except those in ``without``."""
    name = f"node-{letter}"
    labels = {"zone": ZONES.get(letter, f"zone-{letter}"), "node": name, HOSTNAME: name} | labelled(more)
    kept = {key: value for key, value in labels.items() if key not in without}
    return node_of(name, kept, spec={"taints": [TAINT] if tainted else []})


def spread_nodes(letters: str) -> list[Node]:
    """Nodes by letter, in order."""
    return [spread_node(letter) for letter in letters]


def spread_pods(**by_node: str) -> list[Pod]:
    """``a="foo foo+bar"``: two pods on node-a."""
    return [
        make_pod(f"p-{letter}{index}", labels=labelled(text), nodeName=f"node-{letter}")
        for letter, texts in by_node.items()
        for index, text in enumerate(texts.split())
    ]


def make_incoming(*constraints: TopologySpreadConstraint, labels: str = "foo", spec: Json | None = None) -> Pod:
    """The pod to be placed."""
    pod = from_object(raw_pod("p", "default", labels=labelled(labels), **(spec or {})), Pod)
    return replace(pod, spec=replace(pod.spec, topology_spread_constraints=constraints))


def make_spread_cycle(
    pod: Pod,
    nodes: Sequence[Node],
    pods: Sequence[Pod] = (),
    *,
    args: PodTopologySpreadArgs | None = None,
    services: Sequence[Service] = (),
    **controllers: Sequence[Workload],
) -> CycleContext:
    """A cycle over these nodes, pods, Services and, by their lists in a snapshot, controllers."""
    context = make_cycle(pod, nodes, pods, args={} if args is None else {"PodTopologySpread": args})
    return replace(context, snapshot=snapshot_of(*services, **controllers))


def snapshot_of(*services: Service, **controllers: Sequence[Any]) -> ClusterSnapshot:
    """Services and the controllers of each list."""
    return ClusterSnapshot(services=services, **{name: tuple(entries) for name, entries in controllers.items()})
