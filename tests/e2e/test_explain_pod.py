"""One pod in each common state, as the real cluster stores it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.e2e.plugin import flat
from tests.e2e.scheduling import await_node
from tests.e2e.space import Space
from tests.objects import on, raw_condition, raw_container, raw_node, raw_priority_class, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

LARGE = {"cpu": "500m", "memory": "1Gi"}
SCHEDULED: Mapping[str, Any] = {"schedulerName": "default-scheduler"}
SILENT_SINCE = "2026-01-02 03:04:05 UTC"


# QoS class, requests and OOM score


def test_Q1_bare_pod_of_no_class(space: Space) -> None:
    node = space.node(capacity={"memory": "8Gi"}, allocatable={"memory": "7Gi"})

    text = space.explained(nodeName=node, requests={"memory": "1Gi"})

    assert text.startswith(f"pod/web in namespace {space.name}, on {node} ! Pending for ")
    assert ": its kubelet has not reported its containers yet. " in text
    assert 'QoS class Burstable: container "app" has no cpu limit (spec.containers[0].resources.limits.cpu)' in text
    assert f"OOM score 875 app 1000 - 1000 x 1Gi / 8Gi ({node})" in text
    assert f"Requests memory 1Gi of 7Gi allocatable on {node} no limits" in text
    assert "Priority 0 (no PriorityClass): preempts lower pods when it fits nowhere else" in text
    assert "Stops grace 30 s after a delete (spec.terminationGracePeriodSeconds)" in text
    assert "Force delete no promise is broken: its processes may run on, and no controller replaces it" in text
    assert "Owner" not in text
    assert "Unknown" not in text
    uid = space.get()["metadata"]["uid"]
    assert f"kubepods-burstable-pod{uid.replace('-', '_')}.slice" in text


PROXY = raw_container("proxy", {"cpu": "100m", "memory": "128Mi"}, restartPolicy="Always")
CLASSES: Mapping[str, tuple[Mapping[str, Any], Sequence[str]]] = {
    "limits only": (
        {"limits": LARGE},
        (
            "QoS class Guaranteed: every container limits cpu and memory, and requests equal limits",
            "OOM score -997 all containers oom_score_adj of every Guaranteed pod",
            "Requests cpu 0.5 of 4 and memory 1Gi of 8Gi allocatable",
        ),
    ),
    "native sidecar": (
        {"requests": LARGE, "limits": LARGE, "initContainers": [PROXY]},
        (
            'QoS class Burstable: container "proxy" has no cpu limit',
            "Guaranteed if proxy sets limits.cpu = 100m and limits.memory = 128Mi, in a new pod",
            "Requests cpu 0.6 of 4 and memory 1.1Gi of 8Gi",
            "proxy SIGTERM once the containers before it ended, at 30 s at the latest; SIGKILL by 32 s",
        ),
    ),
    "pod-level resources": (
        {"requests": {"cpu": "100m"}, "resources": {"requests": LARGE, "limits": LARGE}},
        ("QoS class Guaranteed: spec.resources, which alone decides, limits cpu and memory",),
    ),
}


@pytest.mark.parametrize(("spec", "words"), CLASSES.values(), ids=CLASSES)
def test_Q1_class_of_a_stored_pod(space: Space, spec: Mapping[str, Any], words: Sequence[str]) -> None:
    text = space.explained(nodeName=space.node(), **spec)

    assert [part for part in words if part not in text] == []


# Priority


def test_P1_pod_of_a_class(space: Space) -> None:
    name = f"{space.name}-meek"
    with space.plane.holding([raw_priority_class(name, 1234, preemptionPolicy="Never")]):
        text = space.explained(nodeName=space.node(), priorityClassName=name)

    meek = "queues ahead of lower pods, preempts none (preemptionPolicy Never)"
    assert f'Priority 1234 (class "{name}"): {meek}' in text


def test_P1_class_that_was_deleted_and_recreated(space: Space) -> None:
    name = f"{space.name}-vip"
    with space.plane.holding([raw_priority_class(name, 5000)]):
        before = space.explained(nodeName=space.node(), priorityClassName=name)
    after = space.page()
    with space.plane.holding([raw_priority_class(name, 70)]):
        recreated = space.page()

    words = f'class "{name}" no longer exists: this pod keeps 5000, new ones are rejected'
    assert words not in before
    assert f'Priority 5000 (class "{name}"): preempts lower pods when it fits nowhere else {words}' in after
    assert f'class "{name}" is 70 now: pods keep the value they were made with' in recreated


def test_Q2_node_critical_pod(space: Space) -> None:
    text = space.explained(nodeName=space.node(), priorityClassName="system-node-critical")

    assert "Node-critical: among the last to be killed and never evicted, though its class is BestEffort." in text
    assert "OOM score -997 all containers class system-node-critical and priority >= 2000000000" in text
    assert 'Priority 2000001000 (class "system-node-critical")' in text


# Pending


def test_pending_pod_quotes_the_scheduler(space: Space) -> None:
    node = space.make_node(capacity={"memory": "1Gi"}, labels={"zone": "a"})
    space.known_node(labels={"zone": "b"}, taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])
    space.pod(nodeSelector=on(node), requests={"memory": "2Gi"}, **SCHEDULED)
    message = space.refusal()

    ran = space.qos("pod/web", "-n", space.name, "-o", "wide")

    assert "1 Insufficient memory" in message
    assert ran.code == 0
    assert re.search(r" x Pending for \S+ \S+: 0 of \d+ nodes fit\. ", flat(ran.out))
    assert f"kube-scheduler said the same: {message}" in flat(ran.out)
    assert space.json()["status"]["unschedulable"] == message
    assert "Stops at once: it is on no node yet (spec.nodeName is empty)" in flat(ran.out)
    assert "Force delete safe: it is on no node yet" in flat(ran.out)


def test_pending_pod_that_breaks_topology_spread(space: Space) -> None:
    first, last = (space.make_node(labels={"spread": space.name, "zone": zone}) for zone in "ab")
    await_node(space.plane, last, space.name)
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "nodeAffinityPolicy": "Ignore",
    }
    running = unscheduled_pod(space.name, "first", nodeName=first["metadata"]["name"])
    running["metadata"]["labels"] = {"app": "web"}
    space.plane.apply([running])
    # It may be placed only in zone a, where one more would exceed the skew by two.
    space.pod(affinity=_stays_away_from(last), topologySpreadConstraints=[constraint], **SCHEDULED)
    message = space.refusal()

    text = space.page()

    assert "node(s) didn't match pod topology spread constraints" in message
    assert f"kube-scheduler said the same: {message}" in text
    assert "QoS class BestEffort" in text


def _stays_away_from(node: Object) -> Object:
    name = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [node["metadata"]["name"]]}
    term = {"matchExpressions": [{"key": "spread", "operator": "Exists"}, name]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_placed_pod_with_topology_spread(space: Space) -> None:
    node = space.make_node(labels={"zone": "a"})
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    space.pod(nodeSelector=on(node), topologySpreadConstraints=[constraint], **SCHEDULED)
    place = space.chosen()

    text = space.page()

    assert text.startswith(f"pod/web in namespace {space.name}, on {place} ! Pending for ")
    assert place == node["metadata"]["name"]
    assert ": its kubelet has not reported its containers yet. BestEffort: " in text


def test_P3_scheduling_gate_keeps_the_pod_out(space: Space) -> None:
    gates = [{"name": "example.com/quota"}, {"name": "example.com/licence"}]

    text = space.explained(schedulingGates=gates, **SCHEDULED)

    assert "Pending for " in text
    assert (
        'the scheduler does not look at it until scheduling gates "example.com/quota" and "example.com/licence" are '
        "removed (spec.schedulingGates)."
    ) in text


def test_pod_that_no_scheduler_has_seen(space: Space) -> None:
    not_modelled = 'its placement is not modelled, because spec.schedulerName "no-scheduler" has no profile in '
    assert f": {not_modelled}" in space.explained()


# Being deleted


def _delete(space: Space) -> None:
    space.plane.kubectl("delete", "pod", "web", "-n", space.name, "--wait=false")


def test_T1_being_deleted_on_a_node(space: Space) -> None:
    space.pod(nodeName=space.node(), terminationGracePeriodSeconds=300)

    _delete(space)
    # The day is named unless it is today: a minute before midnight both are seen.
    text = re.sub(r"\d{4}-\d\d-\d\d (?=\d\d:)", "", space.page())

    due = datetime.fromisoformat(space.get()["metadata"]["deletionTimestamp"])
    started = due - timedelta(seconds=300)
    assert f"Being deleted since {started:%H:%M:%S} UTC, grace 300 s: it ends by {due:%H:%M:%S} UTC." in text
    assert f"Stops marked for deletion at {started:%H:%M:%S} UTC, with 300 s; a second delete may shorten that" in text
    assert f"processes may live until {due:%H:%M:%S} UTC" in text


def test_T1_overdue_because_no_kubelet_confirms(space: Space) -> None:
    # With its own period: a shorter one that is asked for may be a second delete's, which ends no stop in flight.
    space.pod(nodeName=space.node(), terminationGracePeriodSeconds=1)
    _delete(space)

    text = wait_for(lambda: text if "overdue since" in (text := space.page()) else "", "a second is over")
    assert "The kubelet has not confirmed yet that its processes are gone." in text


# Nodes that do not answer


def _silent_node(space: Space) -> str:
    """A node with the pod, and with the condition that the node lifecycle controller writes for a silent kubelet."""
    name = space.node()
    space.pod(nodeName=name)
    ready = raw_condition(
        "Ready",
        "Unknown",
        reason="NodeStatusUnknown",
        message="Kubelet stopped posting node status.",
        lastHeartbeatTime="2026-01-02T03:03:25Z",
        lastTransitionTime="2026-01-02T03:04:05Z",
    )
    space.plane.api.patch(raw_node(name), {"status": {"conditions": [ready]}}, subresource="status")
    return name


def test_F5_running_on_a_silent_node(space: Space) -> None:
    node = _silent_node(space)
    space.report({"phase": "Running"})

    text = space.page()

    assert f"Its node {node} is silent since {SILENT_SINCE}: its last known phase is Running" in text
    assert "It is unknown whether its processes still run." in text
    assert f"{node} is silent; make sure that the machine is off first" in text
    assert "Next kubectl qos partitions" in text
    assert f"kubectl qos fence node/{node}" in text


def test_F5_stuck_on_a_silent_node(space: Space) -> None:
    node = _silent_node(space)
    _delete(space)

    text = space.page()

    assert f"grace 30 s: stuck, because {node} is silent since {SILENT_SINCE}." in text
    assert f"It stays Terminating until {node} answers again, or its Node is deleted or declared out" in text


def test_node_that_was_deleted(space: Space) -> None:
    node = space.node()
    space.pod(nodeName=node, requests=LARGE)
    space.plane.api.delete(raw_node(node))

    text = space.page()

    assert f"Its node {node} has no Node object any more" in text
    assert "OOM score 1000 - 1000 x memory request / node memory, from 3 to 999: unknown without a node" in text


# After the end


def test_finished_and_failed(space: Space) -> None:
    space.pod(nodeName=space.node())
    space.report({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."})

    text = space.page()

    assert "Failed (Evicted): The node was low on resource: memory." in text
    assert "Stops no process of it runs any more (status.phase): a delete removes the object at once" in text


def test_Q3_killed_by_the_kernel(space: Space) -> None:
    space.pod(nodeName=space.node(), requests=LARGE)
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
    space.report({"phase": "Running", "containerStatuses": [status]})

    text = space.page()

    assert '"app" 4 restarts, last exit 137 (OOMKilled, no memory limit) ' in text
    assert f"kubectl logs web -c app --previous -n {space.name}" in text
