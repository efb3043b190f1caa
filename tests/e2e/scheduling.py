"""A cluster in which the real scheduler gets pods one by one: its creation, reading and waiting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from cluster_io.gather import Gatherer
from cluster_io.live.client import ClientTransport
from cluster_io.live.live_source import LiveSource
from podrules.api.features import REFERENCE, Features
from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.profile import read_profiles
from podrules.scheduling.scheduler.runtime import PLUGIN_ARGS, Framework, new_framework
from tests.controlplane.client import ApiClient, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import on, raw_pod, unscheduled_pod
from tests.waiting import wait_for

ALL_NODES: Final[Object] = {
    "percentageOfNodesToScore": 100,
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "DefaultPreemption",
                    "args": {
                        "apiVersion": "kubescheduler.config.k8s.io/v1",
                        "kind": "DefaultPreemptionArgs",
                        "minCandidateNodesPercentage": 100,
                    },
                }
            ]
        }
    ],
}
"""Only the choice among equal nodes is random."""

_LAST: Final = {"example.com/last": "true"}
"""The label of the node that is created after all others."""
_THREADS: Final = 4


def make_framework(features: Features = REFERENCE) -> Framework:
    """The plugins of the scheduler that is configured so."""
    configuration = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    profiles = read_profiles(configuration | ALL_NODES, PLUGIN_ARGS)
    return new_framework(profiles["default-scheduler"], features)


def create_nodes(plane: ControlPlane, nodes: Sequence[Mapping[str, Any]], namespace: str) -> None:
    """Create nodes from arguments of `ControlPlane.create_node`; returns when the scheduler knows all of them.

    The last one is made one that every pod may go to, and a pod is left on it.
    """
    *most, last = nodes

    def create(some: Sequence[Mapping[str, Any]]) -> None:
        try:
            for node in some:
                plane.create_node(**node)
        finally:
            plane.api.close()

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(create, (most[first::_THREADS] for first in range(_THREADS))))
    plane.create_node(**{**last, "labels": last["labels"] | _LAST, "unschedulable": False, "taints": []})
    # Nodes come to the scheduler in their order: where the last one is known, all are.
    first = plane.api.create(raw_pod("first", namespace, nodeSelector=_LAST))
    wait_for(
        lambda: plane.api.get("v1", "Pod", first["metadata"]["name"], namespace)["spec"].get("nodeName"),
        "the scheduler knows all nodes",
    )


def await_node(plane: ControlPlane, node: Mapping[str, Any], namespace: str) -> None:
    """Returns when the scheduler knows a ready node as it is, and what was done to nodes before.

    It learns about nodes and pods separately. A pod that arrives first is judged with the previous nodes, and its
    message stays: when a node of an earlier test is deleted, no pod is retried.
    """
    keys = ["node.kubernetes.io/unschedulable", *(taint["key"] for taint in node["spec"].get("taints", ()))]
    # Not just any taint: the not-ready taint is removed last.
    tolerations = [{"key": key, "operator": "Exists"} for key in keys]
    spec: Object = {"nodeSelector": on(node), "tolerations": tolerations, "schedulerName": "default-scheduler"}
    probe = plane.api.create(unscheduled_pod(namespace, "probe", **spec))
    wait_for(
        lambda: plane.api.get("v1", "Pod", "probe", namespace)["spec"].get("nodeName"), "the scheduler knows the node"
    )
    plane.api.delete(probe, grace_period_seconds=0)


def read_cluster(
    plane: ControlPlane, pods: Sequence[Object], *, budgets: bool = False
) -> tuple[ClusterSnapshot, Features]:
    """The cluster as the product reads it for these pods."""
    transport = ClientTransport(kubeconfig=str(plane.admin_kubeconfig), request_timeout=60)
    try:
        gatherer = Gatherer(LiveSource(transport, namespace=None))
        cluster = gatherer.snapshot([from_object(pod, Pod) for pod in pods], budgets=budgets)
        features = gatherer.versions.scheduler
    finally:
        transport.close()
    assert cluster.snapshot is not None, cluster.unread
    return cluster.snapshot, features


def settled(api: ApiClient, pod: Object) -> Object:
    """The created pod, once the scheduler has bound it or has given up."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]

    def judged() -> Object | None:
        now = api.get("v1", "Pod", name, namespace)
        return now if now["spec"].get("nodeName") or why_not(now) else None

    return wait_for(judged, f"the scheduler has looked at {json.dumps(pod)}")


def why_not(pod: Object) -> str:
    """The message of a PodScheduled condition that is False; empty when there is none."""
    for condition in pod["status"].get("conditions", ()):
        if (condition["type"], condition["status"]) == ("PodScheduled", "False"):
            message: str = condition["message"]
            return message if condition["reason"] == "Unschedulable" else f"{condition['reason']}: {message}"
    return ""
