"""Random DaemonSets and nodes for them, the same for the same seed.

Nodes with labels, taints of each effect and cordons; some are full, or have a host port in use. DaemonSets with node
selectors, node affinity, tolerations, host ports, and one that is more important than what fills the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from tests.controlplane.client import Object
from tests.objects import raw_container, raw_pod, raw_workload

HIGH: Final = "urgent"
"""The PriorityClass above all others."""
_PORT: Final = 9100
_TAINTS: Final = (
    {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
    {"key": "leaving", "value": "", "effect": "NoExecute"},
    {"key": "slow", "value": "disk", "effect": "PreferNoSchedule"},
)
_TOLERATIONS: Final = (
    {"key": "gpu", "operator": "Exists"},
    {"key": "gpu", "operator": "Equal", "value": "no"},
    {"key": "leaving", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600},
    {"operator": "Exists"},
)


def daemon_nodes(random: Random, prefix: str) -> list[Object]:
    """Arguments of `ControlPlane.create_node`; the last node takes every pod."""
    nodes = [_node(random, f"{prefix}-{number}") for number in range(random.randint(7, 10))]
    return [*nodes, {"name": f"{prefix}-last", "labels": {"disk": "ssd"}, "capacity": {"cpu": "8"}}]


def _node(random: Random, name: str) -> Object:
    taints = [taint for taint in _TAINTS if random.random() < 0.2]
    capacity = {"cpu": f"{random.randint(1, 6)}", "memory": f"{random.randint(1, 6)}Gi"}
    labels = {"disk": random.choice(("ssd", "hdd"))}
    return {
        "name": name,
        "labels": labels,
        "capacity": capacity,
        "taints": taints,
        "unschedulable": random.random() < 0.15,
    }


def fillers(random: Random, nodes: list[Object], namespace: str) -> Iterator[Object]:
    """Pods that take most of a node, or its host port."""
    for node in nodes[:-1]:
        if random.random() < 0.5:
            ports = [{"containerPort": _PORT, "hostPort": _PORT}] if random.random() < 0.4 else None
            container = raw_container(requests={"cpu": f"{random.randint(5, 10)}00m"}, ports=ports)
            tolerations = [{"operator": "Exists"}]
            yield raw_pod(
                f"fills-{node['name']}",
                namespace,
                containers=[container],
                nodeName=node["name"],
                tolerations=tolerations,
                terminationGracePeriodSeconds=3600,
            )


def random_daemon_set(random: Random, name: str, namespace: str) -> Object:
    """A DaemonSet."""
    requests = {"cpu": f"{random.randint(1, 30)}00m", "memory": f"{random.randint(1, 30)}00Mi"}
    port = random.random() < 0.3
    container = raw_container(requests=requests, ports=[{"containerPort": _PORT, "hostPort": _PORT}] if port else None)
    more: Object = {}
    if random.random() < 0.25:
        more["nodeSelector"] = {"disk": random.choice(("ssd", "tape"))}
    if random.random() < 0.3:
        more["affinity"] = {"nodeAffinity": _affinity(random)}
    if random.random() < 0.5:
        more["tolerations"] = random.sample(_TOLERATIONS, random.randint(1, 2))
    if random.random() < 0.2:
        more["topologySpreadConstraints"] = [_spread(name)]
    if random.random() < 0.3:
        more["priorityClassName"] = HIGH
    spec = raw_pod(containers=[container], **more)["spec"]
    return raw_workload("DaemonSet", name, namespace, pod_spec=spec)


def _affinity(random: Random) -> Object:
    operator = random.choice(("In", "NotIn"))
    required = [{"matchExpressions": [{"key": "disk", "operator": operator, "values": ["hdd"]}]}]
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": required},
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }


def _spread(name: str) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
