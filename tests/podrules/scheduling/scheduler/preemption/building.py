"""Builders of small clusters as JSON, and the result for a pod that fits nowhere in them.

Upstream's tests use small, medium, large and very large pods: one, two, three and five fifths of a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.features import REFERENCE, Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.preemption import Candidate, PostFilter, Preemption, preempt
from podrules.scheduling.scheduler.runtime import Framework
from tests.objects import raw_node, raw_pod
from tests.podrules.scheduling.building import HOST, Json, bound_claim, mounted
from tests.scheduling import DEFAULT_FRAMEWORK

NEGATIVE, LOW, MID, HIGH, VERY_HIGH = -100, 0, 100, 1000, 10000
SMALL, MEDIUM, LARGE, VERY_LARGE = "100m", "200m", "300m", "500m"


def make_node(name: str, cpu: str = VERY_LARGE, *, pods: int = 32, labels: Json | None = None, **spec: Any) -> Json:
    """A node with room for one very large pod."""
    own = {HOST: name, **(labels or {})}
    return raw_node(name, own, allocatable={"cpu": cpu, "memory": "8Gi", "pods": str(pods)}, **spec)


def make_pod(
    name: str,
    cpu: str = "0",
    priority: int | None = None,
    *,
    on: str = "",
    start: int | None = None,
    labels: Json | None = None,
    namespace: str = "default",
    nominated: str = "",
    deleted: bool = False,
    conditions: Sequence[Json] = (),
    **spec: Any,
) -> Json:
    """A pod; ``start`` is a second of its start time."""
    started = None if start is None else f"2026-01-01T00:00:{start:02}Z"
    return raw_pod(
        name,
        namespace,
        uid=name,
        labels=labels,
        metadata={"deletionTimestamp": "2026-01-01T01:00:00Z"} if deleted else None,
        requests={"cpu": cpu},
        status={"nominatedNodeName": nominated, "conditions": conditions, "startTime": started},
        nodeName=on,
        priority=priority,
        **spec,
    )


def csi_node(name: str, limit: int) -> Json:
    """A node to which the driver ``csi`` attaches so many volumes."""
    driver = {"name": "csi", "nodeID": "1", "allocatable": {"count": limit}}
    return {"metadata": {"name": name}, "spec": {"drivers": [driver]}}


def csi_volume(name: str) -> Json:
    """A volume of the driver ``csi``."""
    return {"metadata": {"name": name}, "spec": {"csi": {"driver": "csi", "volumeHandle": name}}}


SINGLE = {"accessModes": ["ReadWriteOncePod"]}
USES_DATA = [mounted("data")]
DATA: Mapping[str, Any] = {
    "persistentVolumeClaims": [bound_claim("data", "pv", **SINGLE)],
    "persistentVolumes": [{"metadata": {"name": "pv"}, "spec": SINGLE}],
}
"""A claim for a single pod; ``USES_DATA`` are the volumes of a pod that uses it."""


def cycle(
    pod: Json,
    nodes: Sequence[Json],
    pods: Sequence[Json] = (),
    *,
    framework: Framework = DEFAULT_FRAMEWORK,
    features: Features = REFERENCE,
    **lists: Any,
) -> FilterResult:
    """The verdicts on all nodes."""
    snapshot = from_object({"nodes": nodes, "pods": pods, **lists}, ClusterSnapshot)
    table = NodeTable(snapshot.nodes, snapshot.pods)
    return filter_nodes(from_object(pod, Pod), table, snapshot, features=features, framework=framework)


def preempted(pod: Json, nodes: Sequence[Json], pods: Sequence[Json] = (), **given: Any) -> PostFilter:
    """The result for the pod, which must fit nowhere."""
    filtered = cycle(pod, nodes, pods, **given)
    assert not len(filtered.feasible)
    return preempt(filtered, filtered.context.snapshot.pod_disruption_budgets)


def looked_at(found: PostFilter) -> Preemption:
    """DefaultPreemption's part."""
    assert found.preemption is not None
    return found.preemption


def candidates_of(found: PostFilter) -> dict[str, Candidate]:
    """By node."""
    return {candidate.node: candidate for candidate in looked_at(found).candidates}


def victims_of(found: PostFilter) -> dict[str, list[str]]:
    """Names of each candidate's victims, in order."""
    return {
        node: [victim.pod.metadata.name for victim in candidate.victims]
        for node, candidate in candidates_of(found).items()
    }
