"""Random workloads and clusters for them, the same for the same seed.

Deployments, ReplicaSets, StatefulSets, ReplicationControllers and Jobs; with and without a Service, topology spread,
affinity to pods and against them, node selectors and tolerations. Some cannot fit, as a whole or in part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from msgspec import Struct

from tests.controlplane.client import Object
from tests.objects import raw_pod, raw_workload

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
DEDICATED: Final = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
SLOW: Final = {"key": "slow", "value": "disk", "effect": "PreferNoSchedule"}
_KINDS: Final = ("Deployment", "Deployment", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job")


class Case(Struct, frozen=True):
    """A workload as its author wrote it."""

    manifest: Object
    service: Object | None
    count: int
    """Pods that it makes."""

    @property
    def name(self) -> str:
        """Its name, also the ``app`` label of its pods."""
        name: str = self.manifest["metadata"]["name"]
        return name

    @property
    def kind(self) -> str:
        """``Deployment``."""
        kind: str = self.manifest["kind"]
        return kind

    @property
    def asleep(self) -> Object:
        """The workload without pods yet; a Job, which is not scaled, is suspended."""
        none = {"suspend": True} if self.kind == "Job" else {"replicas": 0}
        return {**self.manifest, "spec": {**self.manifest["spec"], **none}}

    @property
    def awake(self) -> Object:
        """The change that has it make its pods."""
        return {"spec": {"suspend": False} if self.kind == "Job" else {"replicas": self.count}}

    def into(self, namespace: str) -> Case:
        """The same in another namespace."""
        service = None if self.service is None else _into(self.service, namespace)
        return Case(_into(self.manifest, namespace), service, self.count)


def random_case(random: Random, name: str, namespace: str, others: Sequence[str]) -> Case:
    """A workload.

    Args:
        random: Decides everything.
        name: Its name.
        namespace: Its namespace.
        others: Names of workloads that may be there already.
    """
    kind = random.choice(_KINDS)
    count = random.randint(1, 7)
    spec = _pod_spec(random, name, [name, *others], by_revision=kind == "Deployment")
    more: Object = {"completions": count, "parallelism": count} if kind == "Job" else {"replicas": count}
    if kind == "Job":
        spec["restartPolicy"] = "Never"
        more["completionMode"] = random.choice(("Indexed", "NonIndexed"))
    if kind == "StatefulSet":
        # Nothing gets ready here, and the next pod would wait for it.
        more |= {"podManagementPolicy": "Parallel", "serviceName": name}
    manifest = raw_workload(kind, name, namespace, pod_spec=spec, **more)
    if kind == "ReplicationController":
        manifest["apiVersion"] = "v1"
        manifest["spec"]["selector"] = {"app": name}
    service = random.random() < 0.4
    return Case(manifest, _service(name, namespace) if service else None, count)


def different_nodes(random: Random, prefix: str) -> list[Object]:
    """Arguments of `ControlPlane.create_node` for nodes of different sizes."""
    sizes = random.sample(range(8), random.randint(5, 7))
    return [
        _node(random, f"{prefix}-{number}", cpu=2300 + 737 * size, memory=3100 + 1471 * ((size * 3) % 8))
        for number, size in enumerate(sizes)
    ]


def mixed_nodes(random: Random, prefix: str) -> list[Object]:
    """The same for nodes that are partly alike; some have taints, one may have no zone."""
    equal = [_node(random, f"{prefix}-e{number}", cpu=4000, memory=8192) for number in range(random.randint(3, 5))]
    nodes = [*equal, *different_nodes(random, f"{prefix}-d")[:4]]
    for node, taint in zip(random.sample(nodes, 2), (DEDICATED, SLOW), strict=True):
        node["taints"] = [taint]
    if random.random() < 0.5:
        del random.choice(nodes)["labels"][ZONE]
    return nodes


def _node(random: Random, name: str, *, cpu: int, memory: int) -> Object:
    labels = {ZONE: random.choice("abc"), "disk": random.choice(("ssd", "hdd"))}
    return {"name": name, "capacity": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}, "labels": labels}


def _pod_spec(random: Random, name: str, near: Sequence[str], *, by_revision: bool) -> Object:
    requests = {"cpu": f"{random.randint(3, 90) * 10}m", "memory": f"{random.randint(3, 150) * 10}Mi"}
    more: Object = {}
    if random.random() < 0.08:
        requests["cpu"] = "64"
    if random.random() < 0.3:
        more["topologySpreadConstraints"] = [
            _constraint(random, name, key, by_revision=by_revision)
            for key in random.sample((ZONE, HOST), random.randint(1, 2))
        ]
    if random.random() < 0.35:
        more["affinity"] = _affinity(random, near)
    if random.random() < 0.15:
        more["nodeSelector"] = {"disk": random.choice(("ssd", "hdd", "tape"))}
    if random.random() < 0.25:
        more["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    spec: Object = raw_pod(requests=requests, **more)["spec"]
    return spec


def _constraint(random: Random, name: str, key: str, *, by_revision: bool) -> Object:
    constraint: Object = {
        "maxSkew": random.randint(1, 2),
        "topologyKey": key,
        "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": name}},
    }
    if by_revision and random.random() < 0.5:
        constraint["matchLabelKeys"] = ["pod-template-hash"]
    if random.random() < 0.3:
        constraint["nodeTaintsPolicy"] = "Honor"
    return constraint


def _affinity(random: Random, names: Sequence[str]) -> Mapping[str, Any]:
    term = {
        "topologyKey": random.choice((ZONE, HOST)),
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [random.choice(names)]}]},
    }
    rule = random.choice(("podAffinity", "podAntiAffinity"))
    if random.random() < 0.5:
        return {rule: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    preferred = {"weight": random.randint(1, 100), "podAffinityTerm": term}
    return {rule: {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}


def _service(name: str, namespace: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    spec = {"selector": {"app": name}, "ports": [{"port": 80}], "clusterIP": "None"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _into(obj: Object, namespace: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
