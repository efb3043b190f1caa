"""Jobs, Deployments with a HorizontalPodAutoscaler, and PodDisruptionBudgets, by their real controllers.

Each is compared with `kubectl qos place -f`.

No metrics are served: an autoscaler then only keeps between its minimum and its maximum. Each workload comes alone to
nodes of different sizes, so there are no ties: the number of pods and their nodes are compared. Some pods of Jobs
succeed afterwards, and the remaining pods are compared, too. The pods of StatefulSets become Ready one by one. For
budgets, the allowed disruptions are compared once all pods with a node are Ready.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from msgspec import Struct

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import InProcess, KeptConnection
from tests.e2e.scheduling import await_node, why_not
from tests.e2e.workload_predictions import has_ties
from tests.e2e.workloads import Case, different_nodes
from tests.objects import raw_pod, raw_workload
from tests.waiting import answer_in_the_end, wait_for

pytestmark = pytest.mark.controlplane

JOBS: Final = 8
SCALED: Final = 6
ORDERED: Final = 4
BUDGETS: Final = 12
_NAMESPACE: Final = "sized"
_CONTROLLERS: Final = (
    "deployment",
    "replicaset",
    "job",
    "statefulset",
    "daemonset",
    "disruption",
    "horizontal-pod-autoscaler",
    "namespace",
)
_KINDS: Final = (
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
)
_COVERED: Final = ("Deployment", "Deployment", "StatefulSet", "ReplicaSet", "Job", "DaemonSet")
"""A budget has at most one of those without a scale: the controller's choice between two would be random."""
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


class Compared(Struct, frozen=True):
    """A workload: the plan and the outcome."""

    objects: Sequence[Object]
    said: Mapping[str, Any]
    """The planned values, by name."""
    real: Mapping[str, Any]
    """The real values, by name."""


class _Runner:
    """Runs workloads in a control plane."""

    def __init__(self, plane: ControlPlane, run: Path, kept: KeptConnection, random: Random) -> None:
        self._plane, self._random = plane, random
        self._place = InProcess(plane, run, kept, command="place")
        self._nodes = different_nodes(random, "n")
        self.compared: list[Compared] = []

    def start(self) -> None:
        """The nodes."""
        made = [self._plane.create_node(**node) for node in self._nodes]
        await_node(self._plane, made[-1], _NAMESPACE)

    def job(self, number: int) -> None:
        """A Job: its pods at once, and those after some have succeeded."""
        # Every third has no completions.
        case = self._untied(lambda: _random_job(self._random, f"job-{number}", counts=number % 3 != 0))
        said, name = self._said([case.manifest])[0], case.name
        self._plane.api.create(case.manifest)
        pods = self._settled(name, case.count)
        real = _counts(pods) | {"indices": _indices(pods)}
        planned = {"pods": said["wanted"], "nodes": said["nodes"], "indices": _said_indices(said["job"])}
        completions = case.manifest["spec"].get("completions")
        if completions is not None:
            self._succeed(pods[: self._random.randint(1, len(pods))], name)
            active = self._plane.api.get("batch/v1", "Job", name, _NAMESPACE)["status"].get("active", 0)
            # A Job that has ended is not placed.
            real["left"] = f"makes no other pod before one ends: it has {active} of {active} at once;" if active else ""
            ran = self._place.text(f"job/{name}", "-n", _NAMESPACE) if active else ""
            planned["left"] = real["left"] if real["left"] in ran else ran
        self.compared.append(Compared([case.manifest], planned, real))
        self._sweep()

    def scaled(self, number: int) -> None:
        """A Deployment with an autoscaler."""
        random, name = self._random, f"web-{number}"
        least = random.randint(1, 5)
        most, own = least + random.randint(0, 3), random.choice((None, 0, 1, 3, 9))
        count = 0 if own == 0 else max(least, min(most, own or 1))
        case = self._untied(lambda: _random_deployment(random, name, own, count))
        scaler = _autoscaler(name, least if least > 1 else random.choice((None, 1)), most)
        specs = self._said([case.manifest, scaler])
        for obj in (scaler, case.manifest):
            self._plane.api.create(obj)
        pods = self._settled(name, count)
        # Between its bounds the metrics decide.
        low, high = specs[0]["wanted"], sum(spec["wanted"] for spec in specs)
        planned: dict[str, Any] = {"pods": min(max(count, low), high)}
        real = _counts(pods)
        # Which of the surplus pods are deleted is partly random.
        if count == low and (own or 0) <= low:
            planned["nodes"] = specs[0]["nodes"]
        else:
            del real["nodes"]
        self.compared.append(Compared([case.manifest, scaler], planned, real))
        self._sweep()

    def one_by_one(self, number: int) -> None:
        """A StatefulSet that makes a pod once the one before is Ready."""
        random, name = self._random, f"db-{number}"
        first, count = random.randint(0, 4), random.randint(3, 8)
        case = self._untied(lambda: _random_stateful_set(random, name, first, count))
        (said,) = self._said([case.manifest])
        self._plane.api.create(case.manifest)
        pods: list[Object] = []
        while len(pods) < count and all(pod["spec"].get("nodeName") for pod in pods):
            pods = self._settled(name, len(pods) + 1)
            for pod in pods:
                if pod["spec"].get("nodeName"):
                    ready = {"type": "Ready", "status": "True"}
                    self._plane.set_pod_status(pod, {"phase": "Running", "conditions": [ready]})
        stuck = [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
        real = {
            "nodes": _counts(pods)["nodes"],
            "names": sorted(pod["metadata"]["name"] for pod in pods),
            "stuck": stuck,
        }
        made = said["placed"] + bool(said["holdsBack"])
        names = sorted(f"{name}-{first + ordinal}" for ordinal in range(made))
        planned = {"nodes": said["nodes"], "names": names, "stuck": [said["holdsBack"]] if said["holdsBack"] else []}
        self.compared.append(Compared([case.manifest], planned, real))
        self._sweep()

    def budget(self, number: int) -> None:
        """A budget over the pods of one or two workloads."""
        random, team = self._random, f"team-{number}"
        workloads = [_random_covered(random, f"first-{number}", team, _COVERED)]
        if random.choice((True, False, False)):
            workloads.append(_random_covered(random, f"second-{number}", team, ("Deployment", "StatefulSet")))
        budget = _random_budget(random, team)
        objects = [budget, *workloads]
        (said,) = self._reported(objects)["budgets"]["budgets"]
        for obj in objects:
            self._plane.api.create(obj)

        def ready() -> Sequence[Object] | None:
            pods = self._plane.api.list_items("v1", "Pod", _NAMESPACE, labelSelector=f"team={team}")
            wanted = sum(self._wanted(workload) for workload in workloads)
            looked_at = all(pod["spec"].get("nodeName") or why_not(pod) for pod in pods)
            return pods if looked_at and len(pods) == wanted else None

        pods = wait_for(ready, f"{team} has its pods")
        for pod in pods:
            if pod["spec"].get("nodeName"):
                self._plane.set_pod_status(
                    pod, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                )
        # The controller counts again for each pod that becomes Ready.
        planned = _room(said["room"])
        real = answer_in_the_end(lambda: self._counted(team), lambda counted: counted == planned, timeout=15)
        self.compared.append(Compared(objects, planned, real))
        self._sweep()

    def _wanted(self, workload: Object) -> int:
        spec = workload["spec"]
        return (
            len(self._nodes) if workload["kind"] == "DaemonSet" else int(spec.get("replicas", spec.get("parallelism")))
        )

    def _counted(self, team: str) -> dict[str, Any]:
        """The controller's count, or why it cannot count; empty: it has not counted yet."""
        status = self._plane.api.get("policy/v1", "PodDisruptionBudget", team, _NAMESPACE).get("status", {})
        if not status.get("conditions"):
            return {}
        (condition,) = status["conditions"]
        if condition["reason"] == "SyncFailed":
            return {"allowed": status["disruptionsAllowed"], "failure": condition["message"]}
        return {
            "expected": status["expectedPods"],
            "healthy": status["currentHealthy"],
            "desiredHealthy": status["desiredHealthy"],
            "allowed": status["disruptionsAllowed"],
        }

    def _untied(self, make: Any) -> Case:
        while True:
            case: Case = make()
            if not has_ties(case, self._nodes):
                return case

    def _said(self, objects: Sequence[Object]) -> Sequence[Mapping[str, Any]]:
        specs: Sequence[Mapping[str, Any]] = self._reported(objects)["specs"]
        return specs

    def _reported(self, objects: Sequence[Object]) -> Mapping[str, Any]:
        ran = self._place(
            "-f", "-", "-o", "json", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        )
        report: Mapping[str, Any] = json.loads(ran.out)
        return report

    def _pods(self, name: str) -> list[Object]:
        return self._plane.api.list_items("v1", "Pod", _NAMESPACE, labelSelector=f"app={name}")

    def _settled(self, name: str, count: int) -> list[Object]:
        """Its pods, once there are so many and the scheduler has tried them."""

        def seen() -> list[Object] | None:
            pods = [pod for pod in self._pods(name) if "deletionTimestamp" not in pod["metadata"]]
            looked_at = all(pod["spec"].get("nodeName") or why_not(pod) for pod in pods)
            return [*pods, {}] if looked_at and len(pods) == count and self._rests(count) else None

        return wait_for(seen, f"{name} has {count} pods")[:-1]

    def _rests(self, count: int) -> bool:
        """Whether the autoscaler has checked its workload, and keeps its size."""
        found = self._plane.api.list_items("autoscaling/v2", "HorizontalPodAutoscaler", _NAMESPACE)
        status = found[0].get("status", {}) if found else {}
        known = {entry["type"] for entry in status.get("conditions", ())}
        if found and not known:
            return False
        deployments = self._plane.api.list_items("apps/v1", "Deployment", _NAMESPACE)
        return all(one["spec"]["replicas"] == count for one in deployments)

    def _succeed(self, pods: Sequence[Object], name: str) -> None:
        """Some pods succeed; returns when the Job has counted them and has made others."""
        for pod in pods:
            self._plane.set_pod_status(pod, {"phase": "Succeeded"})

        def counted() -> bool:
            job = self._plane.api.get("batch/v1", "Job", name, _NAMESPACE)
            spec, status = job["spec"], job["status"]
            left = max(0, min(spec["parallelism"], spec["completions"] - len(pods)))
            living = [pod for pod in self._pods(name) if pod["status"]["phase"] not in {"Succeeded", "Failed"}]
            looked_at = all(pod["spec"].get("nodeName") or why_not(pod) for pod in living)
            return (
                (status.get("succeeded"), status.get("active", 0)) == (len(pods), left)
                and len(living) == left
                and looked_at
            )

        wait_for(counted, f"{name} has counted {len(pods)} pods that succeeded")

    def _sweep(self) -> None:
        """Delete pods and ReplicaSets, because no kubelet confirms the stops and no garbage collector runs."""
        api = self._plane.api

        def gone() -> bool:
            for version, kind in (*_KINDS, ("v1", "Pod")):
                query = {"gracePeriodSeconds": "0", "propagationPolicy": "Background"}
                api.request("DELETE", api.path(version, kind, _NAMESPACE), query=query)
            return not any(api.list_items(*kind, _NAMESPACE) for kind in (*_KINDS, ("v1", "Pod")))

        wait_for(gone, "all is gone")


def _counts(pods: Sequence[Object]) -> dict[str, Any]:
    nodes = Counter(pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName"))
    return {"pods": len(pods), "nodes": dict(nodes)}


def _indices(pods: Sequence[Object]) -> list[int]:
    return sorted(int(pod["metadata"]["labels"][_INDEX]) for pod in pods if _INDEX in pod["metadata"]["labels"])


def _said_indices(job: Mapping[str, Any]) -> list[int]:
    return list(range(job["atOnce"])) if job["indexed"] else []


def _random_job(random: Random, name: str, *, counts: bool) -> Case:
    parallelism = random.randint(1, 6)
    completions = random.randint(1, 9) if counts else None
    mode = "NonIndexed" if completions is None else random.choice(("Indexed", "NonIndexed"))
    sizes: Object = {"parallelism": parallelism, "completions": completions, "completionMode": mode}
    manifest = raw_workload("Job", name, _NAMESPACE, pod_spec=_pod_spec(random, restartPolicy="Never"), **sizes)
    return Case(manifest, None, parallelism if completions is None else min(parallelism, completions))


def _random_deployment(random: Random, name: str, own: int | None, count: int) -> Case:
    manifest = raw_workload("Deployment", name, _NAMESPACE, pod_spec=_pod_spec(random), replicas=own)
    return Case(manifest, None, count)


def _random_stateful_set(random: Random, name: str, first: int, count: int) -> Case:
    spec = _pod_spec(random)
    spec["containers"][0]["resources"]["requests"]["cpu"] = f"{random.randint(15, 35)}00m"
    more: Object = {"ordinals": {"start": first}, "serviceName": name, "replicas": count}
    return Case(raw_workload("StatefulSet", name, _NAMESPACE, pod_spec=spec, **more), None, count)


def _random_covered(random: Random, name: str, team: str, kinds: Sequence[str]) -> Object:
    """A workload with pods that a budget selects by label; all of them fit, or none."""
    kind = random.choice(kinds)
    spec = _pod_spec(random, **({"restartPolicy": "Never"} if kind == "Job" else {}))
    spec["containers"][0]["resources"]["requests"] = {"cpu": random.choice(("10m", "10m", "1k"))}
    more: Object = {}
    if kind == "Job":
        more = {"parallelism": random.randint(1, 3)}
    elif kind != "DaemonSet":
        more = {"replicas": random.randint(1, 7)}
    if kind == "StatefulSet":
        more |= {"podManagementPolicy": "Parallel", "serviceName": name}
    workload = raw_workload(kind, name, _NAMESPACE, pod_spec=spec, **more)
    workload["spec"]["template"]["metadata"]["labels"]["team"] = team
    return workload


def _random_budget(random: Random, team: str) -> Object:
    setting = random.choice(("minAvailable", "minAvailable", "maxUnavailable"))
    value: int | str = random.choice((0, 1, 2, 3, 5, "0%", "34%", "50%", "100%"))
    spec = {setting: value, "selector": {"matchLabels": {"team": team}}}
    metadata = {"name": team, "namespace": _NAMESPACE}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def _room(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The compared values of a budget; if the controller cannot count, its message."""
    if said["failure"]:
        return {"allowed": said["allowed"], "failure": said["failure"]}
    return {key: value for key, value in said.items() if key != "failure"}


def _pod_spec(random: Random, **more: Any) -> Object:
    requests = {"cpu": f"{random.randint(3, 150) * 10}m", "memory": f"{random.randint(3, 150) * 10}Mi"}
    spec: Object = raw_pod(requests=requests, **more)["spec"]
    return spec


def _autoscaler(name: str, least: int | None, most: int) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec: Object = {"scaleTargetRef": target, "maxReplicas": most}
    if least is not None:
        spec["minReplicas"] = least
    metadata = {"name": name, "namespace": _NAMESPACE}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def compared(control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    """The workloads."""
    makers = f"--controllers={','.join(f'{name}-controller' for name in _CONTROLLERS)}"
    arguments = [makers, "--horizontal-pod-autoscaler-sync-period=1s"]
    with (
        ControlPlane(control_plane_binaries, controller_manager_args=arguments) as plane,
        KeptConnection(tmp_path_factory.mktemp("kept")) as kept,
    ):
        plane.create_namespace(_NAMESPACE)
        runner = _Runner(plane, tmp_path_factory.mktemp("run"), kept, Random(3))  # noqa: S311  # can be had again
        runner.start()
        for make, count in (
            (runner.job, JOBS),
            (runner.scaled, SCALED),
            (runner.one_by_one, ORDERED),
            (runner.budget, BUDGETS),
        ):
            for number in range(count):
                make(number)
        return runner.compared


def test_jobs_and_scaled_workloads_have_predicted_pods(compared: list[Compared]) -> None:
    wrong = [
        f"{json.dumps(one.objects)}: we said {one.said}, and it was {one.real}"
        for one in compared
        if one.said != one.real
    ]
    assert not wrong, "\n".join(wrong[:3])


def test_the_workloads_are_of_all_sorts(compared: list[Compared]) -> None:
    """Check that the random cases include every kind."""
    manifests = [one.objects[0] for one in compared]
    jobs = [manifest["spec"] for manifest in manifests if manifest["kind"] == "Job"]
    assert {spec["completionMode"] for spec in jobs} == {"Indexed", "NonIndexed"}
    assert any(spec.get("completions") is None for spec in jobs)
    assert any((spec.get("completions") or 0) > spec["parallelism"] for spec in jobs)
    assert any(one.real.get("left") for one in compared)
    scaled = [one for one in compared if one.objects[-1]["kind"] == "HorizontalPodAutoscaler"]
    assert any("minReplicas" not in one.objects[1]["spec"] for one in scaled)
    assert {0, None} <= {one.objects[0]["spec"].get("replicas") for one in scaled}
    ordered = [one.real["stuck"] for one in compared if "stuck" in one.real]
    assert any(ordered)
    assert sum(one.real.get("pods", 0) for one in compared) > 30
    budgets = [one for one in compared if one.objects[0]["kind"] == "PodDisruptionBudget"]
    assert {bool(one.real.get("failure")) for one in budgets} == {True, False}
    counts = [one.real for one in budgets if "expected" in one.real]
    assert any(one["allowed"] for one in counts)
    assert any(one["healthy"] < one["expected"] for one in counts)
    assert any(not one["allowed"] for one in counts)
