"""Builders of small clusters as JSON, and the placement of a pod in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.placement.controllers import ControlledPod
from podrules.scheduling.placement.likely import likely_placement
from podrules.scheduling.placement.outcome import Placement, RejectedGroup, Remedy
from podrules.scheduling.placement.plan import PlacementRequest
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.framework.answers import CandidateChange
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_condition, raw_node, raw_pod
from tests.podrules.scheduling.building import HOST, ZONE, Json
from tests.scheduling import DEFAULT_FRAMEWORK


def make_node(
    name: str, *, cpu: str = "4", memory: str = "8Gi", pods: str = "110", labels: Json | None = None, **spec: Any
) -> Json:
    """A node of the API; ``spec`` has ``unschedulable`` and ``taints``."""
    return raw_node(name, labels, allocatable={"cpu": cpu, "memory": memory, "pods": pods}, **spec)


def zoned(name: str, zone: str, **more: Any) -> Json:
    """A node with its zone and its hostname as labels."""
    return make_node(name, labels={ZONE: zone, HOST: name}, **more)


def make_host(name: str, **more: Any) -> Json:
    """A node with its hostname as label."""
    return make_node(name, labels={HOST: name}, **more)


def make_taint(key: str, value: str = "", effect: str = "NoSchedule") -> Json:
    """One of ``spec.taints``."""
    return {"key": key, "value": value, "effect": effect}


def make_pod(
    name: str = "web",
    *,
    on: str = "",
    cpu: str = "1",
    memory: str = "1Gi",
    labels: Json | None = None,
    message: str = "",
    status: Json | None = None,
    **more: Any,
) -> Json:
    """A pod of the API; with a message its PodScheduled condition is False; ``more`` has its metadata and spec."""
    condition = raw_condition("PodScheduled", "False", reason="Unschedulable", message=message)
    return raw_pod(
        name,
        "default",
        uid=name,
        labels=labels,
        requests={"cpu": cpu, "memory": memory},
        status={"conditions": [condition]} if message else status,
        nodeName=on,
        **more,
    )


def situation(pod: Json, nodes: Sequence[Json], pods: Sequence[Json] = (), **lists: Any) -> Situation:
    """The pod with its cluster."""
    snapshot = from_object({"nodes": nodes, "pods": pods, **lists}, ClusterSnapshot)
    return Situation(
        pod=from_object(pod, Pod),
        table=NodeTable(snapshot.nodes, snapshot.pods),
        snapshot=snapshot,
        framework=DEFAULT_FRAMEWORK,
        now=None,
    )


def place(
    pod: Json, nodes: Sequence[Json], pods: Sequence[Json] = (), *, every_node: bool = False, **lists: Any
) -> Placement:
    """The likely placement of the pod."""
    return likely_placement(situation(pod, nodes, pods, **lists), every_node=every_node)


def group_of(placement: Placement, plugin: str) -> RejectedGroup:
    """The only group of a plugin."""
    (found,) = (group for group in placement.rejected if group.plugin == plugin)
    return found


def remedy_of(placement: Placement, plugin: str) -> Remedy:
    """What would help a plugin's nodes."""
    remedy = group_of(placement, plugin).remedy
    assert remedy is not None
    return remedy


def only_change(placement: Placement, plugin: str) -> CandidateChange:
    """The only change that would help a plugin's nodes."""
    (change,) = remedy_of(placement, plugin).changes
    return change


def placement_request(name: str, wanted: Situation, replicas: int | None, **fields: Any) -> PlacementRequest:
    """A request for pods like that of a situation."""
    fields = {"unread": wanted.unread, **fields}
    return PlacementRequest(name, ControlledPod(wanted.pod), wanted.framework, replicas, **fields)
