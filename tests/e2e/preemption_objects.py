"""An over-full cluster and the pods that preempt in it, drawn from a seed: varied enough for every rule of preemption.

Pools of nodes, each kept apart by a taint:

    (none)  nodes of all kinds, filled with pods of all kinds
    twins   nodes alike in all but when their pods have started
    shapes  nodes that each differ from the first in another criterion

No two pods of a node have the same priority and start time: their order of importance would be undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, Final

from msgspec import Struct

from tests.controlplane.client import Object
from tests.objects import raw_container as container
from tests.objects import raw_object, raw_pod
from tests.objects import raw_priority_class as make_class

NAMESPACES: Final[Mapping[str, Mapping[str, str]]] = {"shop": {"team": "web"}, "data": {"team": "storage"}}
"""With their labels."""

_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ZONES: Final = ("a", "b", "c", "d")
_RACKS: Final = 14
_NODES: Final = 44
_TWINS: Final = tuple(f"twin-{number}" for number in range(6))
_SHAPES: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "usual": [("low", "1")],
    # The lowest possible priority adds nothing to the sum of priorities.
    "more": [("low", "500m"), ("nothing", "500m")],
    "sum": [("low", "500m"), ("low", "500m")],
    "top": [("usual", "1")],
    "guarded": [("idle", "1")],
}
"""Priorities and requests of the pods on each node of the pool; those of the last one have a budget."""
_PICKS: Final = (("usual", "more"), ("usual", "sum"), ("usual", "top"), ("usual", "guarded"), ("guarded",))
_APPS: Final = ("web", "api", "db", "cache", "queue", "mail")
_DEDICATED: Final = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
_VALUES: Final[Mapping[str, int]] = {
    "nothing": -(2**31),
    "idle": -10,
    "low": 10,
    "usual": 100,
    "mid": 1000,
    "high": 5000,
    "top": 10_000,
}
_PREEMPTING: Final = ("mid", "high", "top")


class Filler(Struct, frozen=True):
    """A pod that is on its node from the beginning."""

    pod: Object
    start: str | None
    """Its ``status.startTime``."""
    going: bool = False
    """Whether it is already being deleted."""


def make_classes() -> Sequence[Object]:
    """The PriorityClasses; each preempting class has a counterpart that never preempts."""
    patient = [make_class(f"{name}-patient", _VALUES[name], preemptionPolicy="Never") for name in _PREEMPTING]
    return [*(make_class(name, value) for name, value in _VALUES.items()), *patient]


# Nodes


def make_nodes(random: Random) -> Sequence[dict[str, Any]]:
    """The arguments of `ControlPlane.create_node` for each node."""
    pools = [_pool_node("twins", name, 4) for name in _TWINS] + [_pool_node("shapes", name, 1) for name in _SHAPES]
    return [*pools, *(_node(random, number) for number in range(_NODES))]


def _node(random: Random, number: int) -> dict[str, Any]:
    labels = {"rack": f"r{number % _RACKS}", "disk": random.choice(("ssd", "hdd"))}
    if _chance(random, 0.93):
        labels[_ZONE] = random.choice(_ZONES)
    return {
        "name": f"node-{number:02}",
        "capacity": {
            "cpu": random.choice(("2", "4", "4", "8")),
            "memory": random.choice(("8Gi", "16Gi")),
            "pods": random.choice(("5", "110", "110", "110")),
        },
        "labels": labels,
        "taints": [_DEDICATED] if _chance(random, 0.1) else [],
        "unschedulable": _chance(random, 0.05),
    }


def _pool_node(pool: str, name: str, cores: int) -> dict[str, Any]:
    taint = {"key": "pool", "value": pool, "effect": "NoSchedule"}
    return {"name": name, "capacity": {"cpu": str(cores)}, "labels": {"pool": pool}, "taints": [taint]}


# What is there


def make_guards() -> Sequence[tuple[Object, Object]]:
    """PodDisruptionBudgets, each with the status that its controller would write."""
    queue = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["queue", "mail"]}]}
    given: Sequence[tuple[str, str, Object, int, Sequence[str]]] = (
        ("shop", "web", {"matchLabels": {"app": "web"}}, 1, ()),
        ("shop", "front", {"matchLabels": {"tier": "front"}}, 0, ()),
        ("shop", "db", {"matchLabels": {"app": "db"}}, 0, ()),
        ("shop", "guarded", {"matchLabels": {"app": "guarded"}}, 0, ()),
        ("data", "db", {"matchLabels": {"app": "db"}}, 0, [f"db-{number}" for number in range(0, 400, 3)]),
        ("data", "queue", queue, 1, ()),
        ("data", "back", {"matchLabels": {"tier": "back"}}, 0, ()),
        ("data", "everything", {}, 0, ()),
    )
    return [
        (
            raw_object("PodDisruptionBudget", name, namespace, spec={"minAvailable": 1, "selector": selector}),
            {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed,
                "currentHealthy": 3,
                "desiredHealthy": 1,
                "expectedPods": 3,
                "disruptedPods": dict.fromkeys(disrupted, _at(0)),
            },
        )
        for namespace, name, selector, allowed, disrupted in given
    ]


def make_fillers(random: Random, nodes: Sequence[Mapping[str, Any]]) -> Sequence[Filler]:
    """Pods that leave little room on the nodes, and on some less than none."""
    numbers = count()
    found: list[Filler] = []
    for node in nodes:
        name = node["name"]
        if name in _TWINS:
            found += _pool_fillers(random, name, numbers, [("low", "1")] * 4)
        elif name in _SHAPES:
            found += _pool_fillers(random, name, numbers, _SHAPES[name])
        else:
            found += _fillers(random, node, numbers)
    return found


def _pool_fillers(
    random: Random, node: str, numbers: Iterator[int], shape: Sequence[tuple[str, str]]
) -> Sequence[Filler]:
    minutes = random.sample(range(len(shape) + 1), len(shape))
    return [
        Filler(
            _pod("shop", "guarded" if node == "guarded" else "pool", next(numbers), _on(node, priority, cpu)),
            _at(minute),
        )
        for (priority, cpu), minute in zip(shape, minutes, strict=True)
    ]


def _fillers(random: Random, node: Mapping[str, Any], numbers: Iterator[int]) -> Iterator[Filler]:
    left = 1000 * int(node["capacity"]["cpu"]) + (500 if _chance(random, 0.1) else 0)
    minutes = random.sample(range(60), 60)
    starts: list[str | None] = [_at(minute) for minute in minutes]
    if _chance(random, 0.3):
        starts[0] = None
    going = random.choice(starts[:5]) if _chance(random, 0.1) else _at(0, 1)
    ports = [8080, 9100]
    for start in starts[: int(node["capacity"]["pods"])]:
        amounts = [amount for amount in (250, 250, 500, 500, 1000, 2000) if amount <= left]
        if not amounts:
            break
        amount = random.choice(amounts)
        left -= amount
        # The dry run takes a terminating pod off a spread that does not count it, so that it must be in none: the
        # preemptor would fit no better when it is gone.
        app = "leaving" if start == going else random.choice(_APPS)
        spec = _on(node["name"], random.choice(("idle", "", "low", "low", "usual")), f"{amount}m")
        if ports and _chance(random, 0.12):
            spec["containers"][0]["ports"] = [_host_port(ports.pop())]
        if _chance(random, 0.06):
            spec["affinity"] = {"podAntiAffinity": {_REQUIRED: [_term(random.choice(_APPS), random)]}}
        pod = _pod(random.choice(sorted(NAMESPACES)), app, next(numbers), spec)
        pod["metadata"]["labels"] |= {"tier": random.choice(("front", "back"))}
        # One at most: with several ending one by one, the best victims would change meanwhile.
        yield Filler(pod, start, going=start == going)


def _on(node: str, priority: str, cpu: str) -> Object:
    spec: Object = {"nodeName": node, "containers": [container(requests={"cpu": cpu, "memory": "128Mi"})]}
    return spec | {"priorityClassName": priority} if priority else spec


# What comes


def make_preemptor(random: Random, number: int, at_most: int | None = None) -> Object:
    """A pod that usually fits nowhere; its number decides its kind.

    Args:
        random: Where its fields come from.
        number: It is part of the name.
        at_most: The greatest priority that it may have.
    """
    app = random.choice(_APPS)
    names = [name for name in _PREEMPTING if at_most is None or _VALUES[name] <= at_most]
    spec: Object = {
        "containers": [container(requests={"cpu": random.choice(("500m", "1", "1", "1500m", "2", "3", "4"))})],
        "priorityClassName": random.choice(names),
    }
    before, kind = divmod(number, 20)
    match kind:
        case 0:
            picked = random.sample(_TWINS, (len(_TWINS), 1, 3)[before % 3])
            _send(random, spec, "twins", picked, ("1", "2"))
        case 1 | 6 | 11:
            _send(random, spec, "shapes", _PICKS[(3 * before + kind // 5) % len(_PICKS)], ("1",))
        case 2:
            spec["nodeSelector"] = {"rack": f"r{random.randrange(_RACKS)}"}
            spec["containers"] = [container(ports=[_host_port(8080), _host_port(9100)])]
        case 3 | 13:
            # More domains than there are: no more than the skew in any of them.
            spec["topologySpreadConstraints"] = [_spread(random.randrange(2, 6), _ZONE, app) | {"minDomains": 9}]
        case 4 | 14:
            spec["containers"] = [container()]
            terms = [_term(other, random) for other in random.sample(_APPS, random.choice((3, 4, 5)))]
            spec["affinity"] = {"podAntiAffinity": {_REQUIRED: terms}}
        case 5:
            _constrain(random, spec, app)
            spec["priorityClassName"] += "-patient"
        case 7:
            spec["containers"] = [container()]
        case 8:
            # No pod has a lower priority.
            spec["priorityClassName"] = "nothing"
        case 9:
            _constrain(random, spec, app)
            spec["containers"] = [container(requests={"cpu": random.choice(("7", "90"))})]
        case _:
            _constrain(random, spec, app)
    pod = _pod(random.choice(sorted(NAMESPACES)), f"{app}-above", number, spec)
    pod["metadata"]["labels"] = {"app": app, "tier": random.choice(("front", "back"))}
    return pod


def _send(random: Random, spec: Object, pool: str, names: Sequence[str], cores: Sequence[str]) -> None:
    """Restrict a pod to some nodes of a pool."""
    expression = {"key": _HOST, "operator": "In", "values": list(names)}
    spec["containers"] = [container(requests={"cpu": random.choice(cores)})]
    spec["tolerations"] = [{"key": "pool", "value": pool}]
    spec["affinity"] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def _constrain(random: Random, spec: Object, app: str) -> None:
    if _chance(random, 0.45):
        spec["nodeSelector"] = random.choice(
            ({_ZONE: random.choice(_ZONES)}, {"disk": "ssd"}, *[{"rack": f"r{random.randrange(_RACKS)}"}] * 3)
        )
    if _chance(random, 0.2):
        spec["tolerations"] = [_DEDICATED]
    if _chance(random, 0.12):
        spec["containers"][0]["ports"] = [_host_port(random.choice((8080, 9100)))]
    if _chance(random, 0.15):
        spec["topologySpreadConstraints"] = [_spread(random.choice((1, 2)), random.choice((_ZONE, _ZONE, _HOST)), app)]
    affinity = {
        "podAntiAffinity": {_REQUIRED: [_term(random.choice((app, *_APPS)), random)]} if _chance(random, 0.2) else None,
        "podAffinity": {_REQUIRED: [_term(random.choice(_APPS), random)]} if _chance(random, 0.12) else None,
    }
    spec["affinity"] = {kind: given for kind, given in affinity.items() if given}


def _term(app: str, random: Random) -> Object:
    return {"topologyKey": random.choice((_HOST, _HOST, _ZONE)), "labelSelector": {"matchLabels": {"app": app}}}


def _spread(skew: int, key: str, app: str) -> Object:
    selector = {"matchLabels": {"app": app}}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}


def _host_port(port: int) -> Object:
    return {"containerPort": port, "hostPort": port}


def _pod(namespace: str, app: str, number: int, spec: Object) -> Object:
    return raw_pod(f"{app}-{number}", namespace, labels={"app": app}, **spec)


def _at(minute: int, second: int = 0) -> str:
    return f"2026-03-01T08:{minute:02}:{second:02}Z"


def _chance(random: Random, probability: float) -> bool:
    return random.random() < probability
