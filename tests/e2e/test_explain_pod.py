"""One pod in each common state, as the real cluster stores it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.plugin import Qos, flat
from tests.e2e.scheduling import await_node
from tests.objects import on, raw_container, raw_priority_class, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

MakeNode = Callable[..., Object]
LARGE = {"cpu": "500m", "memory": "1Gi"}


@pytest.fixture
def explained(control_plane: ControlPlane, qos: Qos, namespace: str) -> Callable[..., str]:
    """Creates the pod ``web`` and returns the text of its explanation."""

    def explain(**spec: Any) -> str:
        control_plane.apply([unscheduled_pod(namespace, **spec)])
        return qos.text("pod/web", "-n", namespace, "-o", "wide")

    return explain


# QoS class, requests and OOM score


def test_Q1_bare_pod_of_no_class(
    explained: Callable[..., str], control_plane: ControlPlane, namespace: str, make_node: MakeNode
) -> None:
    node = make_node(capacity={"memory": "8Gi"}, allocatable={"memory": "7Gi"})["metadata"]["name"]

    text = explained(nodeName=node, requests={"memory": "1Gi"})

    assert text.startswith(f"pod/web in namespace {namespace}, on {node} Pending for ")
    assert ": its kubelet has not reported its containers yet. Burstable: " in text
    assert 'QoS class Burstable: container "app" has no cpu limit (spec.containers[0].resources.limits.cpu)' in text
    assert f"OOM score 875 app 1000 - 1000 x 1Gi / 8Gi ({node})" in text
    assert f"Requests memory 1Gi of 7Gi allocatable on {node} no limits" in text
    assert "Priority 0 (no PriorityClass): preempts lower pods when it fits nowhere else" in text
    assert "Stops grace 30 s after a delete (spec.terminationGracePeriodSeconds)" in text
    assert "Force delete no promise is broken: its processes may run on, and no controller replaces it" in text
    assert "Owner" not in text
    assert "Unknown" not in text
    uid = control_plane.api.get("v1", "Pod", "web", namespace)["metadata"]["uid"]
    assert f"kubepods-burstable-pod{uid.replace('-', '_')}.slice" in text


def test_Q1_limits_only_manifest_is_stored_as_guaranteed(explained: Callable[..., str], make_node: MakeNode) -> None:
    text = explained(nodeName=make_node()["metadata"]["name"], limits=LARGE)

    assert "QoS class Guaranteed: every container limits cpu and memory, and requests equal limits" in text
    assert "OOM score -997 all containers oom_score_adj of every Guaranteed pod" in text
    assert "Requests cpu 500m of 4 and memory 1Gi of 8Gi allocatable" in text


def test_Q1_native_sidecar_spoils_the_class(explained: Callable[..., str], make_node: MakeNode) -> None:
    proxy = raw_container("proxy", {"cpu": "100m", "memory": "128Mi"}, restartPolicy="Always")

    text = explained(nodeName=make_node()["metadata"]["name"], requests=LARGE, limits=LARGE, initContainers=[proxy])

    assert 'Burstable: only "proxy" keeps it from Guaranteed.' in text
    assert "Guaranteed if proxy sets limits.cpu = 100m and limits.memory = 128Mi, in a new pod" in text
    assert "Requests cpu 600m of 4 and memory 1.1Gi of 8Gi" in text
    assert "proxy SIGTERM once the containers before it ended, at 30 s at the latest; SIGKILL by 32 s" in text


def test_Q1_pod_level_resources_decide_alone(explained: Callable[..., str], make_node: MakeNode) -> None:
    own = {"requests": LARGE, "limits": LARGE}

    text = explained(nodeName=make_node()["metadata"]["name"], requests={"cpu": "100m"}, resources=own)

    assert "QoS class Guaranteed: spec.resources, which alone decides, limits cpu and memory" in text


# Priority


def test_P1_pod_of_a_class(
    control_plane: ControlPlane, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    meek = raw_priority_class(f"{namespace}-meek", 1234, preemptionPolicy="Never")
    control_plane.apply([meek])

    text = explained(nodeName=make_node()["metadata"]["name"], priorityClassName=f"{namespace}-meek")

    control_plane.api.delete(meek)
    assert (
        f'Priority 1234 (class "{namespace}-meek"): queues ahead of lower pods, preempts none (preemptionPolicy Never)'
    ) in text


def test_P1_class_that_was_deleted(
    control_plane: ControlPlane, qos: Qos, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    name = f"{namespace}-vip"
    control_plane.apply([raw_priority_class(name, 5000)])
    before = explained(nodeName=make_node()["metadata"]["name"], priorityClassName=name)

    control_plane.kubectl("delete", "priorityclass", name)
    after = qos.text("pod/web", "-n", namespace, "-o", "wide")

    words = f'class "{name}" no longer exists: this pod keeps 5000, new ones are rejected'
    assert words not in before
    assert f'Priority 5000 (class "{name}"): preempts lower pods when it fits nowhere else {words}' in after


def test_P1_class_that_was_made_anew(
    control_plane: ControlPlane, qos: Qos, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    name = f"{namespace}-vip"
    control_plane.apply([raw_priority_class(name, 5000)])
    explained(nodeName=make_node()["metadata"]["name"], priorityClassName=name)

    control_plane.api.delete(raw_priority_class(name, 5000))
    control_plane.apply([raw_priority_class(name, 70)])
    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    control_plane.api.delete(raw_priority_class(name, 70))
    assert f'class "{name}" is 70 now: pods keep the value they were made with' in text


def test_Q2_node_critical_pod(explained: Callable[..., str], make_node: MakeNode) -> None:
    text = explained(nodeName=make_node()["metadata"]["name"], priorityClassName="system-node-critical")

    assert "Node-critical: among the last to be killed and never evicted, though its class is BestEffort." in text
    assert "OOM score -997 all containers class system-node-critical and priority >= 2000000000" in text
    assert 'Priority 2000001000 (class "system-node-critical")' in text


# Pending


def test_pending_pod_quotes_the_scheduler(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    node = make_node(capacity={"memory": "1Gi"}, labels={"zone": "a"})
    last = make_node(labels={"zone": "b"}, taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])
    await_node(control_plane, last, namespace)
    asks = {"memory": "2Gi"}
    pod = unscheduled_pod(namespace, schedulerName="default-scheduler", nodeSelector=on(node), requests=asks)
    control_plane.apply([pod])
    message = scheduler_says(control_plane, namespace)

    ran = qos("pod/web", "-n", namespace, "-o", "wide")

    assert "1 Insufficient memory" in message
    assert ran.code == 0
    assert "no node fits." in ran.out
    assert f"kube-scheduler said the same: {message}" in flat(ran.out)
    assert qos.json("pod/web", "-n", namespace)["status"]["unschedulable"] == message
    assert "Stops at once: it is on no node yet (spec.nodeName is empty)" in flat(ran.out)
    assert "Force delete safe: it is on no node yet" in flat(ran.out)


def test_pending_pod_that_breaks_topology_spread(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    nodes = [make_node(labels={"spread": namespace, "zone": zone}) for zone in "ab"]
    await_node(control_plane, nodes[-1], namespace)
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "nodeAffinityPolicy": "Ignore",
    }
    running = unscheduled_pod(namespace, "first", nodeName=nodes[0]["metadata"]["name"])
    running["metadata"]["labels"] = {"app": "web"}
    # It may be placed only in zone a, where one more would exceed the skew by two.
    spec: Object = {"affinity": pod_stays_away_from(nodes[1]), "topologySpreadConstraints": [constraint]}
    control_plane.apply([running, unscheduled_pod(namespace, schedulerName="default-scheduler", **spec)])
    message = scheduler_says(control_plane, namespace)

    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    assert "node(s) didn't match pod topology spread constraints" in message
    assert f"kube-scheduler said the same: {message}" in text
    assert "QoS class BestEffort" in text


def test_placed_pod_with_topology_spread(
    control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode
) -> None:
    node = make_node(labels={"zone": "a"})
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    spec: Object = {"nodeSelector": on(node), "topologySpreadConstraints": [constraint]}
    control_plane.apply([unscheduled_pod(namespace, schedulerName="default-scheduler", **spec)])
    wait_for(
        lambda: control_plane.api.get("v1", "Pod", "web", namespace)["spec"].get("nodeName"), "the pod is scheduled"
    )

    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    title = f"pod/web in namespace {namespace}, on {node['metadata']['name']}"
    assert text.startswith(f"{title} Pending for ")
    assert ": its kubelet has not reported its containers yet. BestEffort: " in text


def test_P3_scheduling_gate_keeps_the_pod_out(explained: Callable[..., str]) -> None:
    gates = [{"name": "example.com/quota"}, {"name": "example.com/licence"}]

    text = explained(schedulerName="default-scheduler", schedulingGates=gates)

    assert "Pending for " in text
    assert (
        'the scheduler does not look at it until scheduling gates "example.com/quota" and "example.com/licence" are '
        "removed (spec.schedulingGates)."
    ) in text


def test_pod_that_no_scheduler_has_seen(explained: Callable[..., str]) -> None:
    said = explained()

    assert ': its placement is not modelled, because spec.schedulerName "no-scheduler" has no profile in ' in said


# Being deleted


def test_T1_being_deleted_on_a_node(
    control_plane: ControlPlane, qos: Qos, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    explained(nodeName=make_node()["metadata"]["name"], terminationGracePeriodSeconds=300)

    control_plane.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    # The day is named unless it is today: a minute before midnight both are seen.
    text = re.sub(r"\d{4}-\d\d-\d\d (?=\d\d:)", "", qos.text("pod/web", "-n", namespace, "-o", "wide"))

    stamp = control_plane.api.get("v1", "Pod", "web", namespace)["metadata"]["deletionTimestamp"]
    due = datetime.fromisoformat(stamp)
    started = due - timedelta(seconds=300)
    assert f"Being deleted since {started:%H:%M:%S} UTC, grace 300 s: it ends by {due:%H:%M:%S} UTC." in text
    assert f"Stops marked for deletion at {started:%H:%M:%S} UTC, with 300 s; a second delete may shorten that" in text
    assert f"processes may live until {due:%H:%M:%S} UTC" in text


def test_T1_overdue_because_no_kubelet_confirms(
    control_plane: ControlPlane, qos: Qos, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    # With its own period: a shorter one that is asked for may be a second delete's, which ends no stop in flight.
    explained(nodeName=make_node()["metadata"]["name"], terminationGracePeriodSeconds=1)
    control_plane.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")

    def overdue() -> str | None:
        text = qos.text("pod/web", "-n", namespace, "-o", "wide")
        return text if "overdue since" in text else None

    text = wait_for(overdue, "a second is over")
    assert "The kubelet has not confirmed yet that its processes are gone." in text


# Nodes that do not answer


def test_F5_running_on_a_silent_node(
    control_plane: ControlPlane, qos: Qos, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    node = make_node()
    explained(nodeName=node["metadata"]["name"])
    control_plane.set_pod_status({"apiVersion": "v1", "kind": "Pod", **named("web", namespace)}, {"phase": "Running"})
    silence(control_plane, node)

    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    place = node["metadata"]["name"]
    assert f"Its node {place} is silent since 2026-01-02 03:04:05 UTC: its last known phase is Running" in text
    assert "It is unknown whether its processes still run." in text
    assert f"{place} is silent since 2026-01-02 03:04:05 UTC; make sure that the machine is off first" in text
    assert "Next kubectl qos partitions" in text
    assert f"kubectl qos fence node/{place}" in text


def test_F5_stuck_on_a_silent_node(
    control_plane: ControlPlane, qos: Qos, explained: Callable[..., str], namespace: str, make_node: MakeNode
) -> None:
    node = make_node()
    explained(nodeName=node["metadata"]["name"])
    silence(control_plane, node)
    control_plane.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")

    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    place = node["metadata"]["name"]
    assert f"grace 30 s: stuck, because {place} is silent since 2026-01-02 03:04:05 UTC." in text
    assert f"It stays Terminating until {place} answers again, or its Node is deleted or declared out" in text


def test_node_that_was_deleted(control_plane: ControlPlane, qos: Qos, namespace: str, make_node: MakeNode) -> None:
    node = make_node()
    control_plane.apply([unscheduled_pod(namespace, nodeName=node["metadata"]["name"], requests=LARGE)])
    control_plane.api.delete(node)

    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    assert f"Its node {node['metadata']['name']} has no Node object any more" in text
    assert "OOM score 1000 - 1000 x memory request / node memory, from 3 to 999: unknown without a node" in text


# After the end


def test_finished_and_failed(
    control_plane: ControlPlane, qos: Qos, namespace: str, explained: Callable[..., str], make_node: MakeNode
) -> None:
    explained(nodeName=make_node()["metadata"]["name"])
    pod = {"apiVersion": "v1", "kind": "Pod", **named("web", namespace)}

    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    control_plane.set_pod_status(pod, evicted)
    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    assert "Failed (Evicted): The node was low on resource: memory." in text
    assert "Stops no process of it runs any more (status.phase): a delete removes the object at once" in text


def test_Q3_killed_by_the_kernel(
    control_plane: ControlPlane, qos: Qos, namespace: str, explained: Callable[..., str], make_node: MakeNode
) -> None:
    explained(nodeName=make_node()["metadata"]["name"], requests=LARGE)
    end = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-01-02T03:04:05Z"}
    status = {
        "name": "app",
        "image": "app",
        "imageID": "",
        "ready": True,
        "restartCount": 4,
        "state": {"running": {"startedAt": "2026-01-02T03:04:06Z"}},
        "lastState": {"terminated": end},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", **named("web", namespace)}
    control_plane.set_pod_status(pod, {"phase": "Running", "containerStatuses": [status]})

    text = qos.text("pod/web", "-n", namespace, "-o", "wide")

    assert '"app" 4 restarts, last exit 137 (OOMKilled, no memory limit) ' in text
    assert f"kubectl logs web -c app --previous -n {namespace}" in text


def named(name: str, namespace: str) -> Object:
    return {"metadata": {"name": name, "namespace": namespace}}


def pod_stays_away_from(node: Object) -> Object:
    term = {
        "matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [node["metadata"]["name"]]}
        ]
    }
    mine = {"matchExpressions": [{"key": "spread", "operator": "Exists"}, *term["matchExpressions"]]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [mine]}}}


def scheduler_says(control_plane: ControlPlane, namespace: str) -> str:
    """The message that the real scheduler leaves in the pod's PodScheduled condition."""

    def message() -> str | None:
        conditions = control_plane.api.get("v1", "Pod", "web", namespace)["status"].get("conditions", ())
        return next((entry["message"] for entry in conditions if entry["type"] == "PodScheduled"), None)

    return wait_for(message, "the scheduler has judged the pod")


def silence(control_plane: ControlPlane, node: Object) -> None:
    """The conditions that the node lifecycle controller writes for a silent kubelet."""
    ready = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastHeartbeatTime": "2026-01-02T03:03:25Z",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    control_plane.api.patch(node, {"status": {"conditions": [ready]}}, subresource="status")
