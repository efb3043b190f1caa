"""The plugin's likely placement, compared with the messages and decisions of the real kube-scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import robot
from tests.e2e.plugin import Qos, flat
from tests.e2e.scheduling import await_node
from tests.objects import raw_priority_class, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

MakeNode = Callable[..., Object]
SCHEDULED: Mapping[str, Any] = {"schedulerName": "default-scheduler"}
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


@pytest.fixture
def make_node(control_plane: ControlPlane, namespace: str, make_node: MakeNode) -> MakeNode:
    """Makes nodes that kube-scheduler knows, because its messages are compared."""

    def make(**arguments: Any) -> Object:
        node = make_node(**arguments)
        await_node(control_plane, node, namespace)
        return node

    return make


def refusal(control_plane: ControlPlane, namespace: str, name: str = "web") -> str:
    """kube-scheduler's message, once it has tried the pod."""

    def message() -> str | None:
        pod = control_plane.api.get("v1", "Pod", name, namespace)
        conditions = pod.get("status", {}).get("conditions", [])
        return next((entry["message"] for entry in conditions if entry.get("reason") == "Unschedulable"), None)

    return wait_for(message, f"kube-scheduler refuses {name}")


def chosen(control_plane: ControlPlane, namespace: str, name: str = "web") -> str:
    """The node that kube-scheduler has chosen; waits for it."""

    def bound() -> str | None:
        node: str | None = control_plane.api.get("v1", "Pod", name, namespace)["spec"].get("nodeName")
        return node

    return wait_for(bound, f"kube-scheduler binds {name}")


def is_going(control_plane: ControlPlane, namespace: str, name: str) -> bool:
    """Whether a pod is being deleted."""
    return "deletionTimestamp" in control_plane.api.get("v1", "Pod", name, namespace)["metadata"]


def remedy(placement: Mapping[str, Any], plugin: str) -> Mapping[str, Any]:
    """The remedy for the nodes that a plugin rejects."""
    found: Mapping[str, Any] = next(group["remedy"] for group in placement["rejected"] if group["plugin"] == plugin)
    return found


def test_pending_pod_shows_scheduler_message_and_cause(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    small = make_node(capacity={"cpu": "1"})["metadata"]["name"]
    make_node(taints=[TAINT])
    control_plane.apply([unscheduled_pod(namespace, requests={"cpu": "2"}, **SCHEDULED)])
    said = refusal(control_plane, namespace)

    placement = qos.json("pod/web", "-n", namespace)["placement"]
    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    assert said.startswith(placement["message"])
    assert placement["told"]["agrees"] is True
    assert "Pending for" in text
    assert f"no node fits. Of 2 nodes, 1 lacks cpu and 1 has taint {TAINT['key']} that it does not tolerate." in text
    assert f"{small} lacks 1 cpu: 1 of 1 free, asks 2" in text
    assert f"kube-scheduler said the same: {flat(said)}" in text


def test_suggested_uncordon_lets_the_pod_bind(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    make_node(unschedulable=True)
    control_plane.apply([unscheduled_pod(namespace, **SCHEDULED)])
    refusal(control_plane, namespace)

    suggested = remedy(qos.json("pod/web", "-n", namespace)["placement"], "NodeUnschedulable")

    [change] = suggested["changes"]
    assert change["kind"] == "Uncordon"
    control_plane.kubectl("uncordon", change["node"])
    assert chosen(control_plane, namespace) == suggested["node"]


def test_suggested_label_lets_the_pod_bind(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    make_node()
    control_plane.apply([unscheduled_pod(namespace, nodeSelector={"disk": "ssd"}, **SCHEDULED)])
    refusal(control_plane, namespace)

    suggested = remedy(qos.json("pod/web", "-n", namespace)["placement"], "NodeAffinity")

    [change] = suggested["changes"]
    assert (change["kind"], change["value"]) == ("LabelNode", "disk=ssd")
    control_plane.kubectl("label", "node", change["node"], change["value"])
    assert chosen(control_plane, namespace) == suggested["node"]


def test_suggested_toleration_lets_the_pod_bind(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    make_node(taints=[TAINT])
    control_plane.apply([unscheduled_pod(namespace, **SCHEDULED)])
    refusal(control_plane, namespace)

    suggested = remedy(qos.json("pod/web", "-n", namespace)["placement"], "TaintToleration")

    [change] = suggested["changes"]
    assert (change["kind"], change["value"]) == ("Tolerate", "dedicated=gpu:NoSchedule")
    toleration = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    control_plane.apply([unscheduled_pod(namespace, "tolerant", tolerations=[toleration], **SCHEDULED)])
    assert chosen(control_plane, namespace, "tolerant") == suggested["node"]


def test_manifest_names_the_node_that_is_chosen(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    make_node(capacity={"cpu": "2"})
    make_node(capacity={"cpu": "64", "memory": "256Gi"})
    pod = unscheduled_pod(namespace, requests={"cpu": "1", "memory": "1Gi"}, **SCHEDULED)

    placement = qos.json("-f", "-", stdin=yaml.safe_dump(pod))["placement"]

    control_plane.apply([pod])
    assert [chosen(control_plane, namespace)] == placement["best"]
    assert placement["feasible"] == 2


def test_running_pod_is_judged_anew_when_asked(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    node = make_node()["metadata"]["name"]
    control_plane.apply([unscheduled_pod(namespace, **SCHEDULED)])
    assert chosen(control_plane, namespace) == node
    control_plane.kubectl("cordon", node)

    assert qos.json("pod/web", "-n", namespace)["placement"] is None
    text = qos.text("pod/web", "-n", namespace, "--placement")

    assert f"{node}, where it runs, would not be chosen again: NodeUnschedulable: node(s) were unschedulable" in text


def test_workload_names_the_node_of_its_next_pod(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    node = make_node()["metadata"]["name"]
    spec = unscheduled_pod(namespace, **SCHEDULED)["spec"]
    control_plane.apply([raw_workload("Deployment", "web", namespace, pod_spec=spec, replicas=0)])

    assert qos.json("deployment/web", "-n", namespace)["template"]["placement"] is None
    assert qos.json("deployment/web", "-n", namespace, "--placement")["template"]["placement"]["best"] == [node]


def test_missing_rights_to_the_cluster_are_named(control_plane: ControlPlane, qos: Qos, namespace: str) -> None:
    # No node has that: the scheduler may know one of another test yet that is gone by now.
    control_plane.apply([unscheduled_pod(namespace, nodeSelector={"disk": namespace}, **SCHEDULED)])

    text = qos.text("pod/web", "-n", namespace, kubeconfig=robot(control_plane, namespace), code=11)

    assert "Placement unknown: nodes, poddisruptionbudgets.policy, pods could not be read" in text
    assert "nodes: you may not list them (kubectl auth can-i list nodes)" in text


def test_pod_of_another_scheduler_is_not_guessed_about(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode, tmp_path: Path
) -> None:
    node = make_node()["metadata"]["name"]
    control_plane.apply([unscheduled_pod(namespace, schedulerName="volcano")])

    assert 'not modelled: spec.schedulerName "volcano" has no profile' in qos.text("pod/web", "-n", namespace)

    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "volcano"}],
    }
    file = tmp_path / "scheduler.yaml"
    file.write_text(yaml.safe_dump(configuration))
    placement = qos.json("pod/web", "-n", namespace, "--scheduler-config", file)["placement"]
    assert (placement["schedulerName"], placement["best"]) == ("volcano", [node])


def test_disabled_plugin_of_the_cluster_is_ignored(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    make_node(taints=[TAINT])
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "TaintToleration"}]}}}],
    }
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "scheduler", "namespace": namespace},
        "data": {"config.yaml": yaml.safe_dump(configuration)},
    }
    control_plane.apply([config_map, unscheduled_pod(namespace, **SCHEDULED)])
    refusal(control_plane, namespace)

    where = f"configmap/{namespace}/scheduler"
    text = qos.text("pod/web", "-n", namespace, "--scheduler-config", where)

    assert "not yet bound: 1 of 1 node fits now." in text
    assert qos("pod/web", "-n", namespace, "--scheduler-config", f"configmap/{namespace}/none").code == 3


def test_P4_P5_P6_preemption_is_predicted(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    node = make_node(capacity={"cpu": "2"})["metadata"]["name"]
    classes = [raw_priority_class(f"{namespace}-low", 5), raw_priority_class(f"{namespace}-high", 10)]
    low = unscheduled_pod(namespace, "low", requests={"cpu": "2"}, priorityClassName=f"{namespace}-low", **SCHEDULED)
    control_plane.apply([*classes, low])
    chosen(control_plane, namespace, "low")
    high = unscheduled_pod(namespace, "high", requests={"cpu": "2"}, priorityClassName=f"{namespace}-high", **SCHEDULED)

    predicted = qos.json("-f", "-", "-n", namespace, stdin=yaml.safe_dump(high))["placement"]["preemption"]

    assert predicted["nodes"] == [node]
    assert [victim["pod"]["name"] for victim in predicted["victims"]] == ["low"]
    control_plane.apply([high])
    wait_for(
        lambda: control_plane.api.get("v1", "Pod", "high", namespace)["status"].get("nominatedNodeName"),
        "kube-scheduler nominates the node",
    )
    # The nomination is written at once, and the victims are deleted in parallel.
    wait_for(lambda: is_going(control_plane, namespace, "low"), "the victim goes")
    waiting = qos.text("pod/high", "-n", namespace)
    assert f"preemption made room on {node}: it is tried first" in waiting
    assert f"waits for {namespace}/low (by " in waiting
    going = qos.text("pod/low", "-n", namespace)
    assert f"for {namespace}/high, which still waits for {node}." in going

    victim = control_plane.api.get("v1", "Pod", "low", namespace)
    control_plane.api.delete(victim, grace_period_seconds=0)
    assert chosen(control_plane, namespace, "high") == node


def test_P6_needless_preemption_is_reported(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    node = make_node(capacity={"cpu": "2"})["metadata"]["name"]
    classes = [raw_priority_class(f"{namespace}-low", 5), raw_priority_class(f"{namespace}-high", 10)]
    low = unscheduled_pod(namespace, "low", requests={"cpu": "2"}, priorityClassName=f"{namespace}-low", **SCHEDULED)
    control_plane.apply([*classes, low])
    chosen(control_plane, namespace, "low")
    high = unscheduled_pod(namespace, "high", requests={"cpu": "2"}, priorityClassName=f"{namespace}-high", **SCHEDULED)
    control_plane.apply([high])
    wait_for(lambda: is_going(control_plane, namespace, "low"), "the victim goes")
    # Another node comes while the victim is still on its way out.
    better = make_node(capacity={"cpu": "8"})["metadata"]["name"]
    assert chosen(control_plane, namespace, "high") == better

    text = qos.text("pod/low", "-n", namespace)

    assert f"for {namespace}/high, without effect: that pod runs on {better}." in text
    assert node != better
