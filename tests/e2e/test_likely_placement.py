"""The plugin's likely placement, compared with the messages and decisions of the real kube-scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import Object
from tests.e2e.access import robot
from tests.e2e.plugin import flat
from tests.e2e.space import Space
from tests.objects import raw_object, raw_priority_class, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

SCHEDULED: Mapping[str, Any] = {"schedulerName": "default-scheduler"}
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def is_going(space: Space, name: str) -> bool:
    """Whether a pod is being deleted."""
    return "deletionTimestamp" in space.get(name)["metadata"]


def suggested_change(space: Space, plugin: str) -> tuple[Mapping[str, Any], str]:
    """The one change that is suggested for the nodes that a plugin rejects, and the node that fits then."""
    space.refusal()
    groups = space.json()["placement"]["rejected"]
    remedy = next(group["remedy"] for group in groups if group["plugin"] == plugin)
    [change] = remedy["changes"]
    return change, remedy["node"]


def configuration(**profile: Any) -> str:
    """A scheduler's configuration with one profile."""
    made = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    return yaml.safe_dump(made)


def test_pending_pod_shows_scheduler_message_and_cause(space: Space) -> None:
    small = space.known_node(capacity={"cpu": "1"})
    space.known_node(taints=[TAINT])
    space.pod(requests={"cpu": "2"}, **SCHEDULED)
    said = space.refusal()

    placement, text = space.json()["placement"], space.page()

    assert said.startswith(placement["message"])
    assert placement["told"]["agrees"] is True
    assert "Pending for" in text
    assert (
        f"0 of 2 nodes fit. Of 2 nodes, 1 lacks cpu and 1 has taint {TAINT['key']} that it does not tolerate." in text
    )
    assert f"{small} lacks 1 cpu: 1 of 1 free, asks 2" in text
    assert f"kube-scheduler said the same: {flat(said)}" in text


def test_suggested_uncordon_lets_the_pod_bind(space: Space) -> None:
    space.known_node(unschedulable=True)
    space.pod(**SCHEDULED)

    change, node = suggested_change(space, "NodeUnschedulable")

    assert change["kind"] == "Uncordon"
    space.plane.kubectl("uncordon", change["node"])
    assert space.chosen() == node


def test_suggested_label_lets_the_pod_bind(space: Space) -> None:
    space.known_node()
    space.pod(nodeSelector={"disk": "ssd"}, **SCHEDULED)

    change, node = suggested_change(space, "NodeAffinity")

    assert (change["kind"], change["value"]) == ("LabelNode", "disk=ssd")
    space.plane.kubectl("label", "node", change["node"], change["value"])
    assert space.chosen() == node


def test_suggested_toleration_lets_the_pod_bind(space: Space) -> None:
    space.known_node(taints=[TAINT])
    space.pod(**SCHEDULED)

    change, node = suggested_change(space, "TaintToleration")

    assert (change["kind"], change["value"]) == ("Tolerate", "dedicated=gpu:NoSchedule")
    space.pod("tolerant", tolerations=[TAINT], **SCHEDULED)
    assert space.chosen("tolerant") == node


def test_manifest_names_the_node_that_is_chosen(space: Space) -> None:
    space.known_node(capacity={"cpu": "2"})
    space.known_node(capacity={"cpu": "64", "memory": "256Gi"})
    pod = unscheduled_pod(space.name, requests={"cpu": "1", "memory": "1Gi"}, **SCHEDULED)

    placement = space.qos.json("-f", "-", stdin=yaml.safe_dump(pod))["placement"]

    space.plane.apply([pod])
    assert [space.chosen()] == placement["best"]
    assert placement["feasible"] == 2


def test_running_pod_is_judged_anew_when_asked(space: Space) -> None:
    node = space.known_node()
    space.pod(**SCHEDULED)
    assert space.chosen() == node
    space.plane.kubectl("cordon", node)

    assert space.json()["placement"] is None
    text = space.text("pod/web", "--placement")

    assert f"{node}, where it runs, would not be chosen again: NodeUnschedulable: node(s) were unschedulable" in text


def test_workload_names_the_node_of_its_next_pod(space: Space) -> None:
    node = space.known_node()
    spec = unscheduled_pod(space.name, **SCHEDULED)["spec"]
    space.plane.apply([raw_workload("Deployment", "web", space.name, pod_spec=spec, replicas=0)])

    assert space.json("deployment/web")["template"]["placement"] is None
    assert space.json("deployment/web", "--placement")["template"]["placement"]["best"] == [node]


def test_missing_rights_to_the_cluster_are_named(space: Space) -> None:
    # No node has that: the scheduler may know one of another test yet that is gone by now.
    space.pod(nodeSelector={"disk": space.name}, **SCHEDULED)

    text = space.text(kubeconfig=robot(space.plane, space.name), code=11)

    assert "Placement unknown: nodes, poddisruptionbudgets.policy, pods could not be read" in text
    assert "nodes: you may not list them (kubectl auth can-i list nodes)" in text


def test_pod_of_another_scheduler_is_not_guessed_about(space: Space, tmp_path: Path) -> None:
    node = space.known_node()
    space.pod(schedulerName="volcano")

    assert 'not modelled: spec.schedulerName "volcano" has no profile' in space.text()

    file = tmp_path / "scheduler.yaml"
    file.write_text(configuration(schedulerName="volcano"))
    placement = space.json("pod/web", "--scheduler-config", file)["placement"]
    assert (placement["schedulerName"], placement["best"]) == ("volcano", [node])


def test_disabled_plugin_of_the_cluster_is_ignored(space: Space) -> None:
    space.known_node(taints=[TAINT])
    config = configuration(plugins={"multiPoint": {"disabled": [{"name": "TaintToleration"}]}})
    space.plane.apply([raw_object("ConfigMap", "scheduler", space.name, data={"config.yaml": config})])
    space.pod(**SCHEDULED)
    space.refusal()

    where = f"configmap/{space.name}"
    text = space.text("pod/web", "--scheduler-config", f"{where}/scheduler")

    assert "not yet bound: 1 of 1 node fits now." in text
    assert space.qos("pod/web", "-n", space.name, "--scheduler-config", f"{where}/none").code == 3


def low_and_high(space: Space) -> Object:
    """A pod of low priority takes the whole node; returns one of high priority, which is not created."""
    space.plane.apply([raw_priority_class(f"{space.name}-{name}", value) for name, value in (("low", 5), ("high", 10))])
    whole: Mapping[str, Any] = {"requests": {"cpu": "2"}, **SCHEDULED}
    space.pod("low", priorityClassName=f"{space.name}-low", **whole)
    space.chosen("low")
    return unscheduled_pod(space.name, "high", priorityClassName=f"{space.name}-high", **whole)


def test_P4_P5_P6_preemption_is_predicted(space: Space) -> None:
    node = space.known_node(capacity={"cpu": "2"})
    high = low_and_high(space)

    predicted = space.qos.json("-f", "-", "-n", space.name, stdin=yaml.safe_dump(high))["placement"]["preemption"]

    assert predicted["nodes"] == [node]
    assert [victim["pod"]["name"] for victim in predicted["victims"]] == ["low"]
    space.plane.apply([high])
    wait_for(lambda: space.get("high")["status"].get("nominatedNodeName"), "kube-scheduler nominates the node")
    # The nomination is written at once, and the victims are deleted in parallel.
    wait_for(lambda: is_going(space, "low"), "the victim goes")
    waiting = space.text("pod/high")
    assert f"preemption made room on {node}: it is tried first" in waiting
    assert f"waits for {space.name}/low (by " in waiting
    assert f"for {space.name}/high, which still waits for {node}." in space.text("pod/low")

    space.plane.api.delete(space.get("low"), grace_period_seconds=0)
    assert space.chosen("high") == node


def test_P6_needless_preemption_is_reported(space: Space) -> None:
    node = space.known_node(capacity={"cpu": "2"})
    space.plane.apply([low_and_high(space)])
    wait_for(lambda: is_going(space, "low"), "the victim goes")
    # Another node comes while the victim is still on its way out.
    better = space.known_node(capacity={"cpu": "8"})
    assert space.chosen("high") == better

    text = space.text("pod/low")

    assert f"for {space.name}/high, without effect: that pod runs on {better}." in text
    assert node != better
