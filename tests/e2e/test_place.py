"""The answers of ``kubectl qos place`` about five specs, compared with the real scheduler's placement of 200 replicas.

Only what the rules decide is compared: the choice among equal nodes is the scheduler's. Zones have different sizes,
and one has an earlier revision of a spec. Then a sixth spec preempts others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest
import yaml
from msgspec import Struct

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import InProcess, KeptConnection, Qos
from tests.objects import raw_container, raw_pod, raw_priority_class, raw_workload
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
NAMESPACE: Final = "shop"
POOLS: Final[Mapping[str, tuple[Mapping[str, str], tuple[int, int, int]]]] = {
    "plain": ({"cpu": "4", "memory": "4Gi"}, (9, 7, 4)),
    "ssd": ({"cpu": "8", "memory": "16Gi"}, (5, 4, 3)),
    "large": ({"cpu": "16", "memory": "28Gi"}, (2, 3, 4)),
    "gpu": ({"cpu": "32", "memory": "128Gi"}, (1, 2, 1)),
}
"""The resources of each node of a pool, and the numbers of nodes in the zones a, b and c."""
PRIORITIES: Final = {"edge": 500, "agent": 400, "trainer": 300, "cache": 200, "batch": 100, "urgent": 1000}
REPLICAS: Final = {"edge": 60, "agent": 16, "trainer": 24, "cache": 36, "batch": 64, "urgent": 3}
FIRST: Final = ("edge", "agent", "trainer", "cache", "batch")
GPU: Final = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
OLD: Final = 5
"""Pods of an earlier revision, all in zone a."""
HASH_LABEL: Final = "pod-template-hash"


class Placed(Struct, frozen=True):
    """The nodes of one spec's replicas."""

    nodes: Counter[str]
    zones: Counter[str]
    unschedulable: int
    message: str
    """Why the first one fits nowhere."""


class Run(Struct, frozen=True):
    """The plan and the outcome, by spec; ``victims`` by node."""

    planned: Mapping[str, Placed]
    real: Mapping[str, Placed]
    planned_victims: Sequence[Mapping[str, Any]]
    real_victims: Mapping[str, int]


@pytest.fixture(scope="module")
def run(control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Plans and then creates five specs, and after these the sixth."""
    # No controllers: only the scheduler acts, and victims are not replaced.
    settings = {"percentageOfNodesToScore": 100}
    with ControlPlane(control_plane_binaries, controllers=False, scheduler_config=settings) as plane:
        zones = _create_cluster(plane)
        with KeptConnection(tmp_path_factory.mktemp("kept")) as kept:
            place = InProcess(plane, tmp_path_factory.mktemp("run"), kept, command="place")
            said = _plan(place, FIRST, code=7)
            _create_replicas(plane, FIRST)
            pods = _settled(plane, FIRST)
            urgent = _plan(place, ("urgent",), code=0)
        _create_replicas(plane, ("urgent",))
        after = _settled(plane, ("urgent", "batch"))
        real = {name: _real(found, zones) for name, found in (*pods.items(), ("urgent", after["urgent"]))}
        yield Run(
            planned={spec["name"].removeprefix("deployment/"): _planned(spec) for spec in (*said, *urgent)},
            real=real,
            planned_victims=urgent[0]["victims"],
            real_victims=real["batch"].nodes - _real(after["batch"], zones).nodes,
        )


def _create_cluster(plane: ControlPlane) -> Mapping[str, str]:
    """Returns each node's zone when the scheduler knows all of them."""
    plane.create_namespace(NAMESPACE)
    plane.apply([raw_priority_class(name, value) for name, value in PRIORITIES.items()])
    nodes = [
        plane.create_node(
            f"{pool}-{zone}{number}", capacity, {ZONE: zone, "pool": pool}, taints=[GPU] if pool == "gpu" else []
        )
        for pool, (capacity, numbers) in POOLS.items()
        for zone, count in zip("abc", numbers, strict=True)
        for number in range(count)
    ]
    # The scheduler gets nodes in their order: if it knows the last one, it knows all.
    # Not every taint is tolerated: the not-ready taint is removed last.
    there: Object = {"tolerations": [GPU], "nodeSelector": {HOST: nodes[-1]["metadata"]["name"]}}
    known = _pod("known", {}, _spec(**there))
    plane.api.create(known)
    wait_for(
        lambda: plane.api.get("v1", "Pod", "known", NAMESPACE)["spec"].get("nodeName"),
        "the scheduler knows all nodes",
    )
    for number in range(OLD):
        old = _pod(f"edge-old-{number}", {"app": "edge", HASH_LABEL: "old"}, _spec(nodeName="plain-a0"))
        plane.api.create(old)
    return {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in nodes}


def _plan(place: Qos, names: Sequence[str], *, code: int) -> Sequence[Mapping[str, Any]]:
    """The plugin's answer about specs that do not exist yet."""
    # The order of the file is not that of the queue.
    specs = [
        raw_workload("Deployment", name, NAMESPACE, pod_spec=_template(name), replicas=REPLICAS[name]) for name in names
    ]
    ran = place("-f", "-", "-o", "json", stdin=yaml.safe_dump_all(reversed(specs)))
    assert (ran.code, ran.err) == (code, ""), ran
    found: Sequence[Mapping[str, Any]] = json.loads(ran.out)["specs"]
    assert [spec["name"] for spec in found] == [f"deployment/{name}" for name in names]
    return found


def _create_replicas(plane: ControlPlane, names: Sequence[str]) -> None:
    """One after the other, in the queue's order."""
    for name in names:
        for number in range(REPLICAS[name]):
            plane.api.create(_pod(f"{name}-{number:02}", {"app": name, HASH_LABEL: "new"}, _template(name)))


def _settled(plane: ControlPlane, names: Sequence[str]) -> Mapping[str, Sequence[Object]]:
    """The pods of each spec in order, once the scheduler has bound each or has given up; victims end at once."""

    def settled() -> list[Object] | None:
        pods = plane.api.list_items("v1", "Pod", NAMESPACE, labelSelector=f"{HASH_LABEL}=new")
        going = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
        for pod in going:
            plane.api.delete(pod, grace_period_seconds=0)
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName") and (_is_nominated(pod) or not _why_not(pod))]
        return pods if not going and not waiting else None

    pods = wait_for(settled, "the scheduler has looked at all pods")
    return {name: [pod for pod in pods if pod["metadata"]["labels"]["app"] == name] for name in names}


def _is_nominated(pod: Object) -> bool:
    return bool(pod["status"].get("nominatedNodeName"))


def _why_not(pod: Object) -> str:
    conditions = pod["status"].get("conditions", ())
    return next((entry["message"] for entry in conditions if entry.get("reason") == "Unschedulable"), "")


def _planned(spec: Mapping[str, Any]) -> Placed:
    return Placed(
        nodes=Counter(spec["nodes"]),
        zones=Counter(spec["zones"]),
        unschedulable=spec["wanted"] - spec["placed"],
        message=spec["stopped"]["message"] if spec["stopped"] else "",
    )


def _real(pods: Sequence[Object], zones: Mapping[str, str]) -> Placed:
    names = [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
    messages = [_why_not(pod) for pod in pods if not pod["spec"].get("nodeName")]
    return Placed(
        nodes=Counter(names),
        zones=Counter(zones[name] for name in names),
        unschedulable=len(messages),
        message=messages[0] if messages else "",
    )


# Specs


def _template(name: str) -> Object:
    """The pod of a spec.

    Pods of 6Gi come last; the earlier ones are so small that their nodes do not change the room for these.
    """
    selector = {"labelSelector": {"matchLabels": {"app": name}}}
    hard = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **selector}
    by_zone = {"topologyKey": ZONE, **hard, "matchLabelKeys": [HASH_LABEL]}
    own: Mapping[str, Object] = {
        "edge": _spec(topologySpreadConstraints=[by_zone]),
        "agent": _spec(
            nodeSelector={"pool": "ssd"},
            affinity={
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, **selector}],
                }
            },
        ),
        "trainer": _spec(
            {"cpu": "6", "memory": "8Gi"},
            tolerations=[{"key": "dedicated", "operator": "Exists"}],
            affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _in_pool("gpu")}},
        ),
        "cache": _spec(
            topologySpreadConstraints=[{"topologyKey": HOST, **hard}],
            affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _in_pool("large")}},
        ),
        "batch": _spec({"cpu": "100m", "memory": "6Gi"}),
        "urgent": _spec({"cpu": "100m", "memory": "6Gi"}, topologySpreadConstraints=[by_zone]),
    }
    return {**own[name], "priorityClassName": name}


def _in_pool(pool: str) -> Object:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": [pool]}]}]}


def _spec(requests: Mapping[str, str] | None = None, **more: Any) -> Object:
    return {"containers": [raw_container(requests=requests or {"cpu": "20m", "memory": "16Mi"})], **more}


def _pod(name: str, labels: Mapping[str, str], spec: Object) -> Object:
    return raw_pod(name, NAMESPACE, labels=labels, **spec)


# Tests


def test_unschedulable_count_matches_the_plan(run: Run) -> None:
    said = {name: found.unschedulable for name, found in run.planned.items()}

    assert {name: found.unschedulable for name, found in run.real.items()} == said
    assert said == {"edge": 0, "agent": 4, "trainer": 4, "cache": 0, "batch": 4, "urgent": 0}


def test_zone_counts_match_the_plan(run: Run) -> None:
    said = {name: found.zones for name, found in run.planned.items()}

    assert {name: found.zones for name, found in run.real.items()} == said
    assert said["edge"] == {"a": 20, "b": 20, "c": 20}
    assert said["batch"] == {"a": 18, "b": 20, "c": 22}


@pytest.mark.parametrize("name", ["agent", "trainer", "cache", "batch"])
def test_node_counts_match_the_plan(run: Run, name: str) -> None:
    """Compare specs for which the rules decide the node."""
    assert run.real[name].nodes == run.planned[name].nodes


@pytest.mark.parametrize("name", ["agent", "trainer", "batch"])
def test_stop_reason_matches_the_scheduler(run: Run, name: str) -> None:
    """The scheduler's message also has the result of preemption."""
    assert run.planned[name].message
    assert run.real[name].message.startswith(run.planned[name].message)


def test_victim_count_matches_the_plan(run: Run) -> None:
    """Each leaves the node of its preemptor; the node within a zone is the scheduler's choice."""
    said = Counter(victim["node"] for victim in run.planned_victims)

    assert said == run.planned["urgent"].nodes
    assert run.real_victims == run.real["urgent"].nodes
    assert said.total() == REPLICAS["urgent"]
    assert {victim["pod"]["name"].partition("-")[0] for victim in run.planned_victims} == {"batch"}
