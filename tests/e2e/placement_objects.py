"""A random cluster and its pods, from a seed: varied enough for every rule of placement.

All pods have the same priority, so none preempts another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from tests.controlplane.client import Object
from tests.objects import raw_container as container
from tests.objects import raw_object, raw_pod
from tests.objects import raw_priority_class as make_class

NODES: Final = 300
NAMESPACES: Final[Mapping[str, Mapping[str, str]]] = {
    "shop": {"team": "web", "stage": "live"},
    "data": {"team": "storage", "stage": "live"},
    "lab": {"team": "web", "stage": "trial"},
}
"""With their labels."""

_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_ZONES: Final = ("a", "a", "b", "b", "c", "c", "d", "e")
_DISKS: Final = ("ssd", "ssd", "hdd", "nvme")
_APPS: Final = ("web", "api", "db", "cache", "queue", "search", "mail", "jobs", "auth", "logs")
_SERVED: Final = ("web", "api", "db", "cache", "queue")
"""Apps with default spreading for pods without their own constraints."""
_CLASSES: Final = ("", "", "usual", "same", "patient")
_GI: Final = 1 << 30
_IMAGES: Final[Mapping[str, int]] = {
    "registry.example.com/app:1": 30 << 20,
    "registry.example.com/web:2.4": 180 << 20,
    "registry.example.com/models:latest": 3 * _GI,
    "registry.example.com/java:21": 420 << 20,
    "registry.example.com:5000/tools:edge": 900 << 20,
    "docker.io/library/postgres:18": 640 << 20,
    "docker.io/library/redis@sha256:" + "ab" * 32: 120 << 20,
}
_WRITTEN_IMAGES: Final = (*_IMAGES, "registry.example.com/models", "registry.example.com/absent:1")
_DEDICATED: Final = {"key": "dedicated", "operator": "Equal"}


def make_surroundings() -> Sequence[Object]:
    """The objects that must exist before nodes and pods; the namespaces are created separately."""
    classes = [
        make_class("usual", 1000),
        make_class("same", 1000, globalDefault=True),
        make_class("patient", 1000, preemptionPolicy="Never"),
    ]
    services = [
        raw_object("Service", app, namespace, spec={"selector": {"app": app}, "ports": [{"port": 80}]})
        for namespace in ("shop", "data")
        for app in _SERVED
    ]
    tolerations = [{"key": "maintenance", "operator": "Exists"}]
    runtime = raw_object(
        "RuntimeClass",
        "sandboxed",
        apiVersion="node.k8s.io/v1",
        handler="sandboxed",
        overhead={"podFixed": {"cpu": "250m", "memory": "128Mi"}},
        scheduling={"nodeSelector": {"sandbox": "yes"}, "tolerations": tolerations},
    )
    return [*classes, *services, runtime]


# Nodes


def make_nodes(random: Random) -> Sequence[dict[str, Any]]:
    """The arguments of `ControlPlane.create_node` for each node."""
    return [_node(random, f"node-{number:03}") for number in range(NODES)]


def _node(random: Random, name: str) -> dict[str, Any]:
    labels = {
        "kubernetes.io/os": "linux",
        "disktype": random.choice(_DISKS),
        "generation": str(random.randrange(1, 10)),
        "rack": f"r{random.randrange(12)}",
    }
    if _chance(random, 0.94):
        labels[_ZONE] = random.choice(_ZONES)
    if _chance(random, 0.3):
        labels["sandbox"] = "yes"
    unschedulable = _chance(random, 0.06)
    cores, memory = random.choice(((1, 2), (2, 4), (2, 16), (4, 8), (4, 16), (8, 16), (8, 64), (16, 32), (32, 128)))
    capacity = {"cpu": str(cores), "memory": f"{memory}Gi", "pods": random.choice(("2", "8", "30", "110", "110"))}
    if _chance(random, 0.8):
        capacity["ephemeral-storage"] = random.choice(("5Gi", "40Gi", "200Gi"))
    if _chance(random, 0.2):
        capacity["example.com/gpu"] = random.choice(("1", "2", "8"))
    if _chance(random, 0.15):
        capacity["hugepages-2Mi"] = random.choice(("64Mi", "512Mi"))
    return {
        "name": name,
        "capacity": capacity,
        "allocatable": {"cpu": f"{cores * 1000 - random.choice((0, 60, 110))}m", "memory": f"{memory * 1000}Mi"},
        "labels": labels,
        "taints": _taints(random, unschedulable=unschedulable),
        "unschedulable": unschedulable,
        "status": {"images": _node_images(random)},
    }


def _taints(random: Random, *, unschedulable: bool) -> Sequence[Object]:
    taints: list[Object] = []
    if unschedulable and _chance(random, 0.5):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if _chance(random, 0.22):
        effect = random.choice(("NoSchedule", "NoExecute"))
        taints.append({"key": "dedicated", "value": random.choice(("gpu", "db")), "effect": effect})
    if _chance(random, 0.25):
        taints.append({"key": "spot", "value": "true", "effect": "PreferNoSchedule"})
    if _chance(random, 0.1):
        taints.append({"key": "old", "effect": "PreferNoSchedule"})
    if _chance(random, 0.06):
        taints.append({"key": "maintenance", "effect": "NoSchedule"})
    return taints


def _node_images(random: Random) -> Sequence[Object]:
    names = random.sample(sorted(_IMAGES), random.randrange(len(_IMAGES)))
    return [{"names": [name], "sizeBytes": _IMAGES[name]} for name in names]


# Pods


def make_placed_pod(random: Random, number: int) -> Object:
    """A pod for the scheduler; about one in six fits nowhere by its own requests, more because of earlier pods."""
    app = random.choice(_APPS)
    labels = {"app": app, "tier": random.choice(("front", "back")), "version": random.choice(("1", "2"))}
    spec: Object = {"containers": _containers(random), "tolerations": _tolerations(random)}
    if _chance(random, 0.25):
        spec["initContainers"] = [_init_container(random)]
    if _chance(random, 0.07):
        spec |= {
            "containers": [container(requests={"cpu": "100m"})],
            "initContainers": [],
            "resources": {"requests": {"cpu": "4", "memory": "5Gi"}},
        }
    if _chance(random, 0.06):
        spec["runtimeClassName"] = "sandboxed"
    if name := random.choice(_CLASSES):
        spec["priorityClassName"] = name
    if _chance(random, 0.2):
        spec["nodeSelector"] = random.choice(({"disktype": "ssd"}, {"disktype": "nvme", _ZONE: "a"}, {_ZONE: "e"}))
    if _chance(random, 0.35):
        spec["topologySpreadConstraints"] = _spread(random, app)
    affinity = {
        "nodeAffinity": _node_affinity(random) if _chance(random, 0.35) else None,
        "podAffinity": _pod_affinity(random, app) if _chance(random, 0.2) else None,
        "podAntiAffinity": _pod_anti_affinity(random, app) if _chance(random, 0.2) else None,
    }
    spec["affinity"] = {kind: given for kind, given in affinity.items() if given}
    if _chance(random, 0.1):
        _crowd(random, app, spec)
    if _chance(random, 0.14):
        _ask_too_much(random, spec)
    return raw_pod(f"{app}-{number}", random.choice(sorted(NAMESPACES)), labels=labels, **spec)


def _containers(random: Random) -> list[Object]:
    containers = [_container(random, f"c{index}") for index in range(random.choice((1, 1, 1, 2)))]
    if _chance(random, 0.12):
        containers[0]["ports"] = [_host_port(random)]
    return containers


def _container(random: Random, name: str) -> Object:
    requests = {}
    if _chance(random, 0.85):
        requests["cpu"] = random.choice(("50m", "100m", "250m", "500m", "1", "1500m", "3", "7"))
    if _chance(random, 0.85):
        requests["memory"] = random.choice(("32Mi", "100M", "256Mi", "1Gi", "3Gi", "10Gi"))
    if _chance(random, 0.1):
        requests["ephemeral-storage"] = random.choice(("1Gi", "8Gi"))
    limits = {}
    if _chance(random, 0.06):
        limits["example.com/gpu"] = random.choice(("1", "2"))
    if requests and _chance(random, 0.04):
        limits["hugepages-2Mi"] = "32Mi"
        requests.setdefault("cpu", "10m")
    return container(name, requests, limits) | {"image": random.choice(_WRITTEN_IMAGES)}


def _init_container(random: Random) -> Object:
    restarts = {"restartPolicy": "Always"} if _chance(random, 0.5) else {}
    return container("first", {"cpu": random.choice(("100m", "2", "6")), "memory": "200Mi"}) | restarts


def _host_port(random: Random) -> Object:
    port = random.choice((8080, 9100))
    where = {"hostIP": random.choice(("127.0.0.1", "10.0.0.7"))} if _chance(random, 0.3) else {}
    return {"containerPort": port, "hostPort": port, "protocol": random.choice(("TCP", "TCP", "UDP")), **where}


def _tolerations(random: Random) -> list[Object]:
    choices: Sequence[tuple[float, Object]] = (
        (0.15, _DEDICATED | {"value": "gpu", "effect": "NoSchedule"}),
        (0.15, _DEDICATED | {"value": "db"}),
        (0.2, {"key": "spot", "operator": "Exists", "effect": "PreferNoSchedule"}),
        (0.1, {"key": "old", "operator": "Exists"}),
        (0.05, {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}),
        (0.05, {"operator": "Exists"}),
    )
    return [dict(toleration) for probability, toleration in choices if _chance(random, probability)]


def _node_affinity(random: Random) -> Object:
    affinity: Object = {}
    if _chance(random, 0.6):
        terms = [_node_term(random) for _ in range(random.choice((1, 1, 2)))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not affinity or _chance(random, 0.5):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": random.randrange(1, 101), "preference": _node_term(random)}
            for _ in range(random.choice((1, 2, 3)))
        ]
    return affinity


def _node_term(random: Random) -> Object:
    expressions: Sequence[Object] = (
        {"key": "disktype", "operator": "In", "values": ["ssd", "nvme"]},
        {"key": "disktype", "operator": "NotIn", "values": ["hdd"]},
        {"key": _ZONE, "operator": "Exists"},
        {"key": "sandbox", "operator": "DoesNotExist"},
        {"key": "generation", "operator": "Gt", "values": [str(random.randrange(2, 8))]},
        {"key": "generation", "operator": "Lt", "values": [str(random.randrange(3, 9))]},
        {"key": _ZONE, "operator": "In", "values": random.sample(("a", "b", "c", "d", "e"), 2)},
    )
    term: Object = {"matchExpressions": random.sample(expressions, random.choice((1, 1, 2)))}
    if _chance(random, 0.08):
        operator = random.choice(("In", "NotIn"))
        term["matchFields"] = [
            {"key": "metadata.name", "operator": operator, "values": [f"node-{random.randrange(NODES):03}"]}
        ]
    return term


def _spread(random: Random, app: str) -> list[Object]:
    found = {}
    for _ in range(random.choice((1, 1, 2))):
        constraint: Object = {
            "maxSkew": random.choice((1, 1, 2, 5)),
            "topologyKey": random.choice((_ZONE, _ZONE, _HOST, "rack")),
            "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": random.choice((_selector(app), _selector(app), {"matchLabels": {"tier": "front"}})),
        }
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and _chance(random, 0.2):
            constraint["minDomains"] = random.choice((2, 6))
        if _chance(random, 0.2):
            constraint["nodeAffinityPolicy"] = random.choice(("Honor", "Ignore"))
        if _chance(random, 0.3):
            constraint["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
        if _chance(random, 0.15):
            constraint["matchLabelKeys"] = ["version"]
        found[constraint["topologyKey"], constraint["whenUnsatisfiable"]] = constraint
    return list(found.values())


def _pod_affinity(random: Random, app: str) -> Object:
    return _pod_terms(random, random.choice((app, app, random.choice(_APPS))), (_ZONE, _ZONE, "rack", _HOST))


def _pod_anti_affinity(random: Random, app: str) -> Object:
    return _pod_terms(random, random.choice((app, random.choice(_APPS))), (_HOST, _HOST, _HOST, "rack", _ZONE))


def _pod_terms(random: Random, app: str, keys: Sequence[str]) -> Object:
    required = [_pod_term(random, app, random.choice(keys)) for _ in range(random.choice((0, 1, 1)))]
    preferred = [
        {"weight": random.randrange(1, 101), "podAffinityTerm": _pod_term(random, random.choice(_APPS), key)}
        for key in random.sample((_ZONE, _HOST, "rack"), random.choice((0, 1, 2)))
    ]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }


def _pod_term(random: Random, app: str, key: str) -> Object:
    term: Object = {"topologyKey": key, "labelSelector": _selector(app)}
    match random.randrange(8):
        case 0:
            term["namespaces"] = ["data", "shop"]
        case 1:
            term["namespaceSelector"] = {"matchLabels": {"team": "web"}}
        case 2:
            term["namespaceSelector"] = {}
        case 3:
            term["matchLabelKeys"] = ["version"]
        case 4:
            term["mismatchLabelKeys"] = ["tier"]
        case _:
            pass
    return term


def _selector(app: str) -> Object:
    return {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]}


def _crowd(random: Random, app: str, spec: Object) -> None:
    """Restrict a pod to a few nodes, which other pods are also restricted to."""
    spec["nodeSelector"] = {"rack": "r0", "disktype": random.choice(_DISKS)}
    match random.randrange(4):
        case 0:
            spec["nodeSelector"]["disktype"] = "nvme"
            spec["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
        case 1:
            spec["topologySpreadConstraints"] = [_hard(_HOST, app)]
        case 2:
            spec["topologySpreadConstraints"] = [_hard(_ZONE, app), _hard(_HOST, app)]
        case _:
            term = _pod_term(random, random.choice(_APPS), random.choice((_ZONE, _HOST)))
            spec["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _hard(key: str, app: str) -> Object:
    what = {"topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _selector(app)}
    return {"maxSkew": 1, "nodeTaintsPolicy": "Honor", **what}


def _ask_too_much(random: Random, spec: Object) -> None:
    """Change a pod so that it fits nowhere."""
    spec.pop("resources", None)
    match random.randrange(6):
        case 0:
            spec["containers"][0] = container("large", {"cpu": "90"})
        case 1:
            spec["containers"][0] = container("large", {"memory": "100Gi"}, {"example.com/gpu": "4"})
        case 2:
            spec["nodeSelector"] = {"disktype": "tape"}
        case 3:
            spec["tolerations"] = []
            spec["nodeSelector"] = {"disktype": "nvme", "rack": f"r{random.randrange(12)}", _ZONE: "d"}
        case 4:
            spec["affinity"]["podAffinity"] = {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": _HOST, "labelSelector": {"matchLabels": {"app": "no-such-app"}}}
                ]
            }
        case _:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/absent",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"tier": "back"}},
                }
            ]


def _chance(random: Random, probability: float) -> bool:
    return random.random() < probability
