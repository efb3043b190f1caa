"""Timelines are compared with a real control plane: grace periods, replacements, and a node that is lost.

There is no kubelet: a test reports instead. Times are those that the components wrote, in whole seconds. An early time
is wrong; a late one is not, because the machine may stand still.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import robot
from tests.e2e.kubelets import UNREACHABLE, give_up, ready_condition
from tests.e2e.plugin import InProcess, KeptConnection, Qos
from tests.e2e.space import Space
from tests.objects import NOWHERE, raw_container, raw_object, raw_pod, raw_workload, unscheduled_pod
from tests.waiting import wait_for

pytestmark = pytest.mark.controlplane

DEFAULT_GRACE: Final = 50
GRACE: Final = 60
"""Seconds until the node lifecycle controller considers a node lost here; no node may be lost earlier by chance."""
TOLERATED: Final = 3
"""Seconds of the lost pods' own toleration of unreachable nodes."""
TAINT: Final = (UNREACHABLE, "NoExecute")
TOLERATION: Final = {"key": TAINT[0], "operator": "Exists", "effect": TAINT[1], "tolerationSeconds": TOLERATED}
OWNERS: Final = ("replicaset", "statefulset", "job", "job-failed")
BACK_OFF: Final = 10
"""A Job's, after the first failure."""


def timelines(qos: Qos, namespace: str, way: str) -> dict[str, Object]:
    """The plugin's timelines of one way, by pod; with ``events`` by their kind."""
    found = {}
    for item in qos.json("pods", "-n", namespace, f"--timeline={way}")["items"]:
        [entry] = item["timeline"]["ways"]
        events = {event["what"]: event for event in entry["events"]}
        found[item["name"]] = {**entry, "began": item["timeline"]["began"], "events": events}
    return found


def span(answer: Mapping[str, Any], what: str) -> tuple[int | None, int | None]:
    event = answer["events"][what]
    return event["earliest"], event["latest"]


def started(api: ControlPlane, pod: Mapping[str, Any]) -> None:
    """Reports that the pod runs, as its kubelet would."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    state = {
        "name": "app",
        "ready": True,
        "restartCount": 0,
        "image": "app:1",
        "imageID": "",
        "state": {"running": {"startedAt": now}},
    }
    api.set_pod_status(
        pod,
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [state]},
    )


def run_on(control_plane: ControlPlane, namespace: str, owner: str, node: str) -> Object:
    """Binds the pod that a workload made, and lets it run; its other pods stay pending."""
    pod = wait_for(lambda: pods_of(control_plane, namespace, owner), f"{owner} makes a pod")[0]
    control_plane.bind(pod, node)
    started(control_plane, pod)
    return control_plane.api.get("v1", "Pod", pod["metadata"]["name"], namespace)


def pods_of(control_plane: ControlPlane, namespace: str, owner: str) -> list[Object]:
    return control_plane.api.list_items("v1", "Pod", namespace, labelSelector=f"app={owner}")


def others(control_plane: ControlPlane, namespace: str, owner: str, pod: Mapping[str, Any]) -> list[Object]:
    """Pods of a workload beside this one, by uid: a StatefulSet's next one has the same name."""
    found = pods_of(control_plane, namespace, owner)
    return [entry for entry in found if entry["metadata"]["uid"] != pod["metadata"]["uid"]]


def another(control_plane: ControlPlane, namespace: str, owner: str, pod: Mapping[str, Any]) -> Object:
    """The pod that a workload makes beside this one."""
    return wait_for(lambda: others(control_plane, namespace, owner, pod), f"{owner} makes another")[0]


def make_owners(control_plane: ControlPlane, namespace: str, **spec: Any) -> None:
    """A workload of each kind with its own way of replacement."""
    pod_spec = {"schedulerName": NOWHERE, "containers": [raw_container()], "terminationGracePeriodSeconds": 30, **spec}
    finite = {**pod_spec, "restartPolicy": "Never"}
    for workload in (
        raw_workload("ReplicaSet", "replicaset", namespace, pod_spec=pod_spec, replicas=1),
        raw_workload("StatefulSet", "statefulset", namespace, pod_spec=pod_spec, replicas=1, serviceName="none"),
        raw_workload("Job", "job", namespace, pod_spec=finite),
        raw_workload("Job", "job-failed", namespace, pod_spec=finite, podReplacementPolicy="Failed"),
    ):
        control_plane.api.create(workload)


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def deleted_at(pod: Mapping[str, Any]) -> float:
    """The time of the DELETE: deletionTimestamp is the end of the grace period."""
    meta = pod["metadata"]
    return instant(meta["deletionTimestamp"]) - float(meta["deletionGracePeriodSeconds"])


def test_T5_grace_period_matches_the_timeline(space: Space) -> None:
    node, api = space.node(), space.plane.api
    graces = {f"{way}-{grace}": grace for way in ("delete", "drain") for grace in (0, 1, 45)}
    for name, grace in graces.items():
        manifest = unscheduled_pod(space.name, name, nodeName=node, terminationGracePeriodSeconds=grace)
        started(space.plane, api.create(manifest))
    said = {
        name: entry
        for way in ("delete", "drain")
        for name, entry in timelines(space.qos, space.name, way).items()
        if name.startswith(way)
    }
    assert {name: entry["graceSeconds"] for name, entry in said.items()} == graces

    for name in graces:
        if name.startswith("delete"):
            api.delete(raw_pod(name, space.name))
            continue
        api.evict(raw_pod(name, space.name))

    left = {pod["metadata"]["name"]: pod for pod in api.list_items("v1", "Pod", space.name)}
    # A pod with grace 0 is deleted at once, and its processes have 2 s.
    assert set(left) == {name for name, entry in said.items() if span(entry, "ObjectGone") != (0, 0)}
    assert {name: pod["metadata"]["deletionGracePeriodSeconds"] for name, pod in left.items()} == {
        name: grace for name, grace in graces.items() if grace
    }
    after = timelines(space.qos, space.name, "delete")
    for name, pod in left.items():
        assert after[name]["standing"] == "UnderWay"
        assert instant(after[name]["began"]) == deleted_at(pod)
        assert span(after[name], "SIGKILL") == span(said[name], "SIGKILL")


def test_T5_deleted_pod_is_replaced_on_time(space: Space) -> None:
    node = space.node()
    make_owners(space.plane, space.name)
    pods = {name: run_on(space.plane, space.name, name, node) for name in OWNERS}
    by_pod = timelines(space.qos, space.name, "delete")
    said = {name: by_pod[pod["metadata"]["name"]] for name, pod in pods.items()}
    assert span(said["replicaset"], "Replaced") == (0, 0)
    assert span(said["statefulset"], "Replaced") == span(said["statefulset"], "ObjectGone") == (0, 32)
    assert span(said["job"], "Replaced") == (BACK_OFF, BACK_OFF)
    assert span(said["job-failed"], "Replaced") == (BACK_OFF, 30 + BACK_OFF)

    for pod in pods.values():
        space.plane.api.delete(pod)

    # The old ones remain: only their kubelet could end them.
    for name, reached in (("replicaset", 0), ("job", BACK_OFF)):
        new = another(space.plane, space.name, name, pods[name])
        old = space.plane.api.get("v1", "Pod", pods[name]["metadata"]["name"], space.name)
        assert instant(new["metadata"]["creationTimestamp"]) - deleted_at(old) >= reached - 1
    # Ten seconds after the others: these two wait for the end itself.
    assert not others(space.plane, space.name, "statefulset", pods["statefulset"])
    assert not others(space.plane, space.name, "job-failed", pods["job-failed"])

    stateful = pods["statefulset"]
    space.plane.api.delete(stateful, grace_period_seconds=0)
    assert another(space.plane, space.name, "statefulset", stateful)["metadata"]["name"] == "statefulset-0"


def test_T5_evicted_pod_is_replaced_on_time(space: Space) -> None:
    node = space.node()
    make_owners(space.plane, space.name)
    pods = {name: run_on(space.plane, space.name, name, node) for name in ("replicaset", "statefulset")}
    by_pod = timelines(space.qos, space.name, "evict-hard")
    for name, pod in pods.items():
        said = by_pod[pod["metadata"]["name"]]
        stays = span(said, "ObjectGone") == (None, None)
        assert stays is (name == "replicaset")
        assert span(said, "Replaced") == span(said, "Failed")

        space.plane.set_pod_status(pod, {"phase": "Failed", "reason": "Evicted"})

        another(space.plane, space.name, name, pod)
        uids = {entry["metadata"]["uid"] for entry in pods_of(space.plane, space.name, name)}
        assert (pod["metadata"]["uid"] in uids) is stays


def test_T5_missing_rights_leave_unknown_times(space: Space) -> None:
    started(space.plane, space.pod(nodeName=space.node()))
    kubeconfig = robot(space.plane, space.name, {"pods": ["get"]})
    text = space.text("pod/web", "--timeline", kubeconfig=kubeconfig, code=11)
    assert "Deleted now: SIGTERM at once, SIGKILL at 30 s, object gone by 32 s" in text
    assert "whether a PodDisruptionBudget refuses a drain" in text
    assert "the kubelet's configuration is unknown: its defaults are assumed" in text


def test_T5_lost_node_matches_the_timeline(space: Space) -> None:
    space.make_node()
    with Heartbeat(space.plane, f"lost-{space.name}") as lost:
        assert_lost_as_predicted(space.plane, space.qos, space.name, lost, lambda: give_up(space.plane, lost.name))


@pytest.mark.long("test_T5_lost_node_matches_the_timeline, where the test writes that the node is given up")
def test_T5_node_is_lost_on_time(
    control_plane_binaries: Binaries, runtime: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flags = (f"--node-monitor-grace-period={GRACE}s",)
    with (
        ControlPlane(control_plane_binaries, scheduler=False, controller_manager_args=flags) as plane,
        KeptConnection(tmp_path_factory.mktemp("kept")) as kept,
    ):
        plane.create_namespace("lost")
        with Heartbeat(plane, "well"), Heartbeat(plane, "lost") as lost:

            def given_up() -> None:
                wait_for(
                    lambda: ready_condition(plane.api.get("v1", "Node", "lost"))["status"] == "Unknown",
                    "the node is given up",
                    timeout=GRACE + 90,
                )

            said, heartbeat = assert_lost_as_predicted(plane, InProcess(plane, runtime, kept), "lost", lost, given_up)
            by_itself = plane.api.get("v1", "Node", "lost")
            when = instant(ready_condition(by_itself)["lastTransitionTime"])
            earliest, _ = span(said, "NodeUnknown")
            assert earliest is not None
            assert when - heartbeat >= earliest - DEFAULT_GRACE + GRACE - 1
            assert_written_alike(plane, by_itself)


def assert_lost_as_predicted(
    plane: ControlPlane, qos: Qos, namespace: str, lost: Heartbeat, be_given_up: Callable[[], None]
) -> tuple[dict[str, Any], float]:
    """Compares the fate of a lost node's pods with their timelines.

    If no node answered, no pod would be evicted: another node has to exist.

    Returns:
        The timeline of the ReplicaSet's pod, and the time of the last heartbeat.
    """
    api = plane.api
    make_owners(plane, namespace, tolerations=[TOLERATION])
    pods = {name: run_on(plane, namespace, name, lost.name) for name in OWNERS}
    by_pod = timelines(qos, namespace, "node-lost")
    said = {name: by_pod[pod["metadata"]["name"]] for name, pod in pods.items()}
    heartbeat = lost.stop()
    be_given_up()
    deleted = {name: wait_deleted(plane, pod) for name, pod in pods.items()}
    [taint] = [
        entry
        for entry in api.get("v1", "Node", lost.name)["spec"]["taints"]
        if (entry["key"], entry["effect"]) == TAINT
    ]
    tainted = instant(taint["timeAdded"])
    for name, pod in deleted.items():
        # The toleration is the pod's own, and counts from the taint.
        assert between(said[name], "Tainted", "Deleted") == TOLERATED
        assert deleted_at(pod) - tainted >= TOLERATED - 1
    for name in ("replicaset", "job"):
        new = another(plane, namespace, name, pods[name])
        after = instant(new["metadata"]["creationTimestamp"]) - deleted_at(deleted[name])
        assert after >= between(said[name], "Deleted", "Replaced") - 1
    # By now the Job has waited for 10 s: pods that are never replaced have no replacement.
    for name in ("statefulset", "job-failed"):
        assert span(said[name], "Replaced") == span(said[name], "ObjectGone") == (None, None)
        assert not others(plane, namespace, name, pods[name])
        assert wait_deleted(plane, pods[name])
    after_all = timelines(qos, namespace, "node-lost")["statefulset-0"]
    assert after_all["events"]["Deleted"]["rule"] == "DeletedBefore"
    assert instant(after_all["began"]) == pytest.approx(heartbeat, abs=0.001)
    return said["replicaset"], heartbeat


def assert_written_alike(plane: ControlPlane, by_itself: Object) -> None:
    """The tests write the same about a lost node as the controller, except for the time."""
    node = plane.create_node("written-by-the-test")
    plane.apply([unscheduled_pod("lost", "on-it", nodeName="written-by-the-test")])
    started(plane, plane.api.get("v1", "Pod", "on-it", "lost"))
    give_up(plane, node["metadata"]["name"])
    written = plane.api.get("v1", "Node", node["metadata"]["name"])

    def words(node: Object) -> Object:
        return {key: text for key, text in ready_condition(node).items() if not key.endswith("Time")}

    def readiness(node: str) -> set[str]:
        found = plane.api.list_items("v1", "Pod", "lost", fieldSelector=f"spec.nodeName={node}")
        conditions = [entry for pod in found for entry in pod["status"]["conditions"]]
        return {entry["status"] for entry in conditions if entry["type"] == "Ready"}

    assert words(written) == words(by_itself)
    assert readiness("lost") == readiness("written-by-the-test") == {"False"}


class Heartbeat:
    """A node with a kubelet that renews its Lease and reports Ready until it is stopped."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        self._control_plane = control_plane
        self.name = name
        self._silent = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._last = 0.0

    def __enter__(self) -> Self:
        self._node = self._control_plane.create_node(self.name)
        self._beat()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._control_plane.api.delete(self._node)

    def stop(self) -> float:
        """Go silent; returns the time of the last heartbeat."""
        self._silent.set()
        self._thread.join()
        return self._last

    def _run(self) -> None:
        while not self._silent.wait(0.5):
            # If a heartbeat is lost, the node sends the next one.
            with contextlib.suppress(ApiError, OSError):
                self._beat()
        self._control_plane.api.close()

    def _beat(self) -> None:
        now = time.time()
        renewed = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": renewed}
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"{renewed[:19]}Z"}
        self._control_plane.api.patch(self._node, {"status": {"conditions": [ready]}}, subresource="status")
        # Last, so that no part of the node is newer than its Lease.
        self._control_plane.apply([raw_object("Lease", self.name, "kube-node-lease", spec=spec)])
        self._last = now


def between(answer: Mapping[str, Any], first: str, second: str) -> int:
    """The least time between two events of a timeline."""
    (one, _), (other, _) = span(answer, first), span(answer, second)
    assert one is not None
    assert other is not None
    return other - one


def wait_deleted(control_plane: ControlPlane, pod: Mapping[str, Any]) -> Object:
    """The pod once it is being deleted."""
    meta = pod["metadata"]

    def look() -> Object | None:
        found = control_plane.api.get("v1", "Pod", meta["name"], meta["namespace"])
        return found if found["metadata"].get("deletionTimestamp") else None

    return wait_for(look, f"{meta['name']} is deleted")
