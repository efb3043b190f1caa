"""The answers of ``kubectl qos`` about a drain of two nodes and pods without room, compared with a real cluster."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any, Final

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.kubelets import Kubelet
from tests.e2e.plugin import InProcess
from tests.e2e.storage import raw_claim
from tests.objects import raw_container, raw_node, raw_object, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

ZONE: Final = "topology.kubernetes.io/zone"
FIRST, SECOND, THIRD, FOURTH = NODES = tuple(f"drained-{number}" for number in range(1, 5))


def spec(cpu: str, **more: Any) -> Object:
    own = {"containers": [raw_container(requests={"cpu": cpu})], "nodeSelector": {ZONE: "drained"}}
    return {**own, "schedulerName": "default-scheduler", **more}


def test_drain_of_two_nodes_matches_the_plan(control_plane: ControlPlane, qos: InProcess, namespace: str) -> None:
    """A budget allows one eviction at a time, and the pod of the second node finds the room taken."""
    api = control_plane.api

    def nodes_of(app: str, count: int) -> list[str] | None:
        """The nodes of an app's pods; None: not as many are Ready yet."""
        pods = [
            pod for pod in api.list_items("v1", "Pod", namespace) if pod["metadata"].get("labels", {}).get("app") == app
        ]
        ready = [pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Running"]
        return sorted(ready) if len(ready) == len(pods) == count else None

    def budget_allows_one() -> bool:
        found = api.get("policy/v1", "PodDisruptionBudget", "web", namespace)
        return bool(found["status"].get("disruptionsAllowed") == 1)

    with ExitStack() as running:
        for name in NODES:
            running.enter_context(Kubelet(control_plane, name, zone="drained", cordoned=name != FIRST))
        api.create(raw_workload("Deployment", "web", namespace, pod_spec=spec("2"), replicas=2))
        budget = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        api.create(raw_object("PodDisruptionBudget", "web", namespace, spec=budget))
        api.create(unscheduled_pod(namespace, "filler", **spec("2", nodeName=FOURTH)))
        assert wait_for(lambda: nodes_of("web", 2), "web runs") == [FIRST, FIRST]
        control_plane.kubectl("uncordon", SECOND)
        api.create(raw_workload("Deployment", "big", namespace, pod_spec=spec("3"), replicas=1))
        assert wait_for(lambda: nodes_of("big", 1), "big runs") == [SECOND]
        control_plane.kubectl("uncordon", THIRD, FOURTH)
        wait_for(budget_allows_one, "the budget counts")

        place = qos.also("place")
        ran = place("--drain", f"{FIRST},{SECOND}", "-o", "json")
        plan = json.loads(ran.out)
        page = place("--drain", f"{FIRST},{SECOND}").out
        assert " ends, but 1 of 3 pods finds no place." in page
        assert (ran.code, plan["unmoved"], plan["flags"]) == (7, [], [])
        said = {pod["name"].split("/")[1].split("-")[0]: pod for pod in plan["specs"]}
        assert [pod["waits"] for pod in plan["specs"]] == [False, True, False]
        assert (said["big"]["placed"], said["big"]["leaves"]) == (0, [SECOND])
        assert all(set(pod["nodes"]) <= {THIRD, FOURTH} for pod in plan["specs"])
        # If the first node is back before, it takes the pod.
        ran = place("--drain", f"{FIRST},{SECOND}", "--one-by-one", "-o", "json")
        by_turns = {pod["name"].split("-")[0]: pod["nodes"] for pod in json.loads(ran.out)["specs"]}
        assert (ran.code, by_turns["pod/big"]) == (0, {FIRST: 1})

        done = control_plane.kubectl("drain", FIRST, SECOND, "--timeout=120s").stdout
        assert [line.split()[1] for line in done.splitlines() if line.endswith(("cordoned", "drained"))] == [
            "cordoned",
            "cordoned",
            "drained",
            "drained",
        ]
        found = wait_for(lambda: nodes_of("web", 2), "web runs again")
        assert set(found) <= {THIRD, FOURTH}
        (big,) = (pod for pod in api.list_items("v1", "Pod", namespace) if pod["metadata"]["name"].startswith("big"))
        wait_for(lambda: _unschedulable(api.get("v1", "Pod", big["metadata"]["name"], namespace)), "big stays pending")
        _explain_what_is_missing(qos, control_plane, namespace)
        _drain_that_fails(place, control_plane, namespace)
        api.delete(raw_workload("Deployment", "web", namespace, pod_spec=spec("2")))
        api.delete(raw_workload("Deployment", "big", namespace, pod_spec=spec("3")))
        wait_for(lambda: nodes_of("web", 0) == [] and nodes_of("big", 0) == [], "the pods are gone")
    for name in NODES:
        api.delete(raw_node(name))


def _drain_that_fails(place: InProcess, control_plane: ControlPlane, namespace: str) -> None:
    """Two budgets select a pod: kubectl drain does not wait for it, and drains the next node."""
    api = control_plane.api
    twice = unscheduled_pod(namespace, "twice", **spec("1", nodeName=FIRST))
    selects = {"minAvailable": 0, "selector": {"matchLabels": {"app": "twice"}}}
    budgets = [raw_object("PodDisruptionBudget", name, namespace, spec=selects) for name in ("one", "two")]
    with control_plane.holding([twice, *budgets]):
        wait_for(lambda: api.get("v1", "Pod", "twice", namespace)["status"]["phase"] == "Running", "twice runs")
        page = " ".join(place("--drain", f"{FIRST},{SECOND}").out.split())
        ran = control_plane.kubectl("drain", FIRST, SECOND, "--force", "--timeout=120s", check=False)
    assert (
        f"x Drain of {FIRST} and {SECOND} fails: kubectl drain does not retry 1 pod that PodDisruptionBudgets hold"
        in page
    )
    assert "then continues with the next node." in page
    assert "This pod has more than one PodDisruptionBudget" in page
    assert (ran.returncode, f"node/{SECOND} drained" in ran.stdout, "global timeout" in ran.stderr) == (1, True, False)
    assert "This pod has more than one PodDisruptionBudget" in ran.stderr


def _explain_what_is_missing(qos: InProcess, control_plane: ControlPlane, namespace: str) -> None:
    """Two nodes are cordoned, and the others are full."""

    def said(pod: Object) -> str:
        return " ".join(qos("-f", "-", stdin=json.dumps(pod)).out.split())

    large = unscheduled_pod(namespace, "large", **spec("62"))
    assert "Way out: add a node with 64 free CPU." in said(large)
    wants = unscheduled_pod(namespace, "wants", **spec("1"))
    wants["spec"]["containers"][0]["resources"]["limits"] = {"example.com/fpga": "1"}
    wants["spec"]["containers"][0]["resources"]["requests"]["example.com/fpga"] = "1"
    assert "No node offers example.com/fpga. Way out: add a node with " in said(wants)
    critical = unscheduled_pod("kube-system", "critical", **spec("3", priorityClassName="system-cluster-critical"))
    page = said(critical)
    assert f"No node fits now. The scheduler would preempt {namespace}/" in page
    assert page.index("would preempt") < page.index("Way")
    csi = {"driver": "csi.example.com", "volumeHandle": "x"}
    has = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "capacity": {"storage": "5Gi"}, "csi": csi}
    disk = f"{namespace}-disk"
    volume = raw_object("PersistentVolume", disk, metadata={"labels": {ZONE: "nowhere"}}, spec=has)
    claim = raw_claim("data", namespace, "", size="5Gi", volumeName=disk)
    with control_plane.holding([volume, claim]):
        wait_for(lambda: _is_bound(control_plane, namespace), "the claim is bound")
        mounts = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        page = said(unscheduled_pod(namespace, "db", **spec("1", nodeSelector={}, volumes=mounts)))
    assert (
        f'Volume "{namespace}-disk" of claim "data" (5Gi, Bound, csi.example.com) can be used only in zone nowhere'
        in page
    )
    assert "and no node is there. Way out: add a node in zone nowhere" in page


def _is_bound(control_plane: ControlPlane, namespace: str) -> bool:
    claim = control_plane.api.get("v1", "PersistentVolumeClaim", "data", namespace)
    return bool(claim["status"].get("phase") == "Bound")


def _unschedulable(pod: Object) -> bool:
    return any(entry.get("reason") == "Unschedulable" for entry in pod["status"].get("conditions", ()))
