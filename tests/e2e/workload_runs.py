"""Workloads that real controllers and the real scheduler get, and what each of the scheduler's attempts came to.

The scheduler takes one pod after the other and says so in its log: that is the order in which pods were there for the
next one. It hears of Services and controllers apart from pods, and may not know those of a pod yet. So workloads are
made without pods, and get them once the scheduler is seen to go by what was made after them (`await_known`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.scheduling import await_node, why_not
from tests.e2e.workloads import Case
from tests.objects import raw_object, raw_pod, raw_workload
from tests.waiting import wait_for

SCHEDULER_ARGS: Final = ("--v=3",)
"""With them the scheduler's log has each attempt."""
_ATTEMPT: Final = re.compile(r'"Attempting to schedule pod" pod="([^"/]+)/([^"]+)"')
_READ: Final = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("v1", "Service"),
    ("v1", "ReplicationController"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
)
"""What a cluster has beside pods."""
_LISTED: Final = ("Service", "ReplicaSet", "StatefulSet", "ReplicationController")
"""Kinds that the scheduler looks up for default spreading."""


class Attempt(Struct, frozen=True):
    """One look of the scheduler at a pod."""

    case: Case
    pod: Object
    """As it is in the end."""
    node: str
    """Where it was put; empty: nowhere fitted."""
    cluster: Sequence[Object]
    """What was there just before."""
    last: bool
    """Whether the scheduler looked at the pod no more."""


class Attempts:
    """Reads what the scheduler has done."""

    def __init__(self, plane: ControlPlane) -> None:
        """What was done before does not count."""
        self._plane = plane
        self._begin = plane.scheduler_log.stat().st_size

    def of(self, cases: Sequence[Case]) -> Iterator[Attempt]:
        """All attempts at the pods of workloads of one namespace, in their order."""
        namespace, by_name = cases[0].manifest["metadata"]["namespace"], {case.name: case for case in cases}
        order, pods = self._settled(namespace)
        known = {pod["metadata"]["name"]: pod for pod in pods if pod["metadata"]["labels"].get("app") in by_name}
        order = [name for name in order if name in known]
        last = {name: place for place, name in enumerate(order)}
        assert last.keys() == known.keys(), "an attempt at each pod"
        cluster = [obj for kind in _READ for obj in self._plane.api.list_items(*kind)]
        for place, name in enumerate(order):
            pod, final = known[name], place == last[name]
            node = pod["spec"].get("nodeName", "") if final else ""
            yield Attempt(by_name[pod["metadata"]["labels"]["app"]], pod, node, tuple(cluster), last=final)
            if node:
                cluster.append(pod)

    def _settled(self, namespace: str) -> tuple[list[str], list[Object]]:
        """The attempts at pods of a namespace, and these as they were when none of the attempts was under way."""

        def seen() -> tuple[list[str], list[Object]] | None:
            order, pods = self._order(namespace), self._plane.api.list_items("v1", "Pod", namespace)
            return (order, pods) if all(map(_is_settled, pods)) and order == self._order(namespace) else None

        return wait_for(seen, "the scheduler rests")

    def _order(self, namespace: str) -> list[str]:
        with self._plane.scheduler_log.open(encoding="utf-8", errors="replace") as log:
            log.seek(self._begin)
            return [name for space, name in _ATTEMPT.findall(log.read()) if space == namespace]


def create(plane: ControlPlane, cases: Iterable[Case]) -> None:
    """Makes workloads without pods, and their Services; each Deployment has its ReplicaSet afterwards."""
    for case in cases:
        for obj in (case.service, case.asleep):
            if obj is not None:
                plane.api.create(obj)
    for case in cases:
        if case.kind == "Deployment":
            namespace = case.manifest["metadata"]["namespace"]
            listed = partial(plane.api.list_items, "apps/v1", "ReplicaSet", namespace, labelSelector=f"app={case.name}")
            wait_for(listed, f"{case.name} has its ReplicaSet")


def await_known(plane: ControlPlane, namespace: str) -> None:
    """Returns when the scheduler knows all Services and controllers that have been made so far.

    It hears of the objects of a kind in their order. Of two pods of the last one of a kind the second goes where the
    first is not only if the scheduler knows what makes them one: by itself it would go to the same node, which both
    prefer. The nodes are gone afterwards.
    """
    nodes = [plane.create_node(f"known-{name}", labels={"known": "yes", "preferred": name}) for name in "ab"]
    await_node(plane, nodes[-1], namespace)
    for kind in _LISTED:
        made = _two_pods(kind, namespace)
        for obj in made:
            plane.api.create(obj)
        wait_for(partial(_are_apart, plane, kind, namespace, made), f"the scheduler knows each {kind}")
        for obj in made:
            plane.api.delete(obj)
        _sweep(plane, namespace)
    for node in nodes:
        plane.api.delete(node)


def settle(plane: ControlPlane, case: Case) -> None:
    """Has a workload make its pods; returns when the scheduler has looked at all of them."""
    plane.api.patch(case.manifest, case.awake)

    def looked_at() -> bool:
        pods = _pods(plane, case)
        return len(pods) == case.count and all(map(_is_settled, pods))

    wait_for(looked_at, f"the scheduler has looked at the pods of {case.manifest}")


def swept(plane: ControlPlane, case: Case) -> None:
    """Takes a workload's pods away for good."""
    plane.api.patch(case.manifest, {"spec": {key: case.asleep["spec"][key] for key in case.awake["spec"]}})

    def given_up() -> bool:
        return all("deletionTimestamp" in pod["metadata"] for pod in _pods(plane, case))

    wait_for(given_up, f"{case.name} lets its pods go")
    _sweep(plane, case.manifest["metadata"]["namespace"])
    wait_for(lambda: not _pods(plane, case), f"the pods of {case.name} are gone")


def with_nodes(plane: ControlPlane, nodes: Sequence[Mapping[str, Any]], namespace: str) -> list[Object]:
    """Creates nodes; returns when the scheduler knows all of them."""
    made = [plane.create_node(**node) for node in nodes]
    await_node(plane, made[-1], namespace)
    return made


def _pods(plane: ControlPlane, case: Case) -> list[Object]:
    namespace = case.manifest["metadata"]["namespace"]
    return plane.api.list_items("v1", "Pod", namespace, labelSelector=f"app={case.name}")


def _is_settled(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName") or why_not(pod))


def _sweep(plane: ControlPlane, namespace: str) -> None:
    """No kubelet confirms that pods stopped."""
    plane.api.request("DELETE", plane.api.path("v1", "Pod", namespace), query={"gracePeriodSeconds": "0"})


def _two_pods(kind: str, namespace: str) -> list[Object]:
    """Something of a kind that has two pods; they can go to either of two nodes, and prefer the first."""
    name = f"known-{kind.lower()}"
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
        for weight, key, value in ((100, "known", "yes"), (50, "preferred", "a"))
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    spec = raw_pod(affinity=affinity, nodeSelector={"known": "yes"})["spec"]
    if kind == "Service":
        pods = [raw_pod(f"{name}-{number}", namespace, labels={"app": name}) | {"spec": spec} for number in range(2)]
        own: Object = {"selector": {"app": name}, "ports": [{"port": 80}], "clusterIP": "None"}
        return [raw_object("Service", name, namespace, spec=own), *pods]
    more: Object = {"podManagementPolicy": "Parallel", "serviceName": name} if kind == "StatefulSet" else {}
    workload = raw_workload(kind, name, namespace, pod_spec=spec, replicas=2, **more)
    if kind == "ReplicationController":
        workload = {**workload, "apiVersion": "v1", "spec": {**workload["spec"], "selector": {"app": name}}}
    return [workload]


def _are_apart(plane: ControlPlane, kind: str, namespace: str, made: Sequence[Object]) -> bool:
    pods = plane.api.list_items("v1", "Pod", namespace, labelSelector=f"app=known-{kind.lower()}")
    nodes = [pod["spec"].get("nodeName") for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    if len(nodes) < 2 or None in nodes:
        return False
    if len(set(nodes)) == 2:
        return True
    _sweep(plane, namespace)
    for obj in made[1:]:
        # Nothing recreates these.
        plane.api.create(obj)
    return False
