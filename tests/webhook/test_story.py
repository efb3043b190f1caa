"""The whole story, with real helm and kubectl: install the chart, create pods, force delete them, upgrade, uninstall.

The container's own command runs here with a token of its ServiceAccount: a missing permission fails a test.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_condition, raw_node, raw_object, raw_pod, raw_priority_class, raw_workload
from tests.waiting import wait_for
from tests.webhook.asking import (
    Asked,
    make_pod,
    make_service,
    make_workload,
    path_of,
    priority_of,
    released,
    with_labels,
)
from tests.webhook.balancer import Balancer
from tests.webhook.forcing import warnings
from tests.webhook.installation import ZONE, Installation, chart_values

pytestmark = pytest.mark.controlplane

RELEASE_NAMESPACE = "qos-system"
HOST = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
SILENT_SINCE = "2026-01-01T03:02:56Z"
WEB_RISK = "ReplicaSet web may start a replacement while it still runs"
DB_RISK = "StatefulSet db promises at most one, but a second may start while it still runs"


class Story(Asked):
    """An installed chart and its running replica."""

    def __init__(self, control_plane: ControlPlane, installation: Installation, balancer: Balancer) -> None:
        super().__init__(control_plane, "story")
        self.installation = installation
        self.balancer = balancer

    def constraints(self, pod: Object) -> list[Object]:
        """The constraints that a pod would get; nothing is stored."""
        return list(self.tried(pod)["spec"].get("topologySpreadConstraints", ()))

    def run(self, kind: str, name: str, namespace: str, **pod_spec: Any) -> str:
        """The name of a workload's pod, once the scheduler has bound it to the only possible node."""
        spec = raw_pod(nodeSelector={"test": namespace}, **pod_spec)["spec"]
        service = name if kind == "StatefulSet" else None
        self.control_plane.apply([raw_workload(kind, name, namespace, pod_spec=spec, replicas=1, serviceName=service)])

        def bound() -> str | None:
            pods = self.pods_of(namespace, name)
            return pods[0]["metadata"]["name"] if pods[0]["spec"].get("nodeName") else None

        return wait_for(bound, f"a bound pod of {name}")

    def force(self, pod: str, namespace: str, *flags: str) -> list[str]:
        """``kubectl delete --grace-period=0 --force``: its warnings, without kubectl's own."""
        line = ("delete", "pod", pod, "-n", namespace, "--grace-period=0", "--force", "--wait=false", *flags)
        return warnings(self.control_plane.kubectl(*line))


@pytest.fixture(scope="module")
def classes(control_plane: ControlPlane) -> Iterator[None]:
    """Two classes of the shop, which exist when the replica starts."""
    made = [raw_priority_class("shop-high", 1000, preemptionPolicy="Never"), raw_priority_class("shop-low", 10)]
    with control_plane.holding(made):
        yield


@pytest.fixture(scope="module")
def story(
    control_plane: ControlPlane, helm: Path, classes: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """The chart, installed once for all tests; each test creates its own objects."""
    control_plane.create_namespace(RELEASE_NAMESPACE)
    control_plane.apply([make_service("default", "probe")])
    installation = Installation(control_plane, helm, tmp_path_factory.mktemp("helm"), namespace=RELEASE_NAMESPACE)
    asked, probe = Asked(control_plane, "story"), make_pod("default", "probe", app="probe")
    with released(
        installation,
        lambda port: chart_values(port, ZONE, HOST),
        lambda: asked.answers(probe, lambda spec: "topologySpreadConstraints" in spec),
    ) as (balancer, _):
        yield Story(control_plane, installation, balancer)


@pytest.fixture
def service(story: Story, namespace: str) -> None:
    """A Service of pods labelled app=web, which the webhook knows."""
    story.create(make_service(namespace))
    wait_for(lambda: story.constraints(make_pod(namespace)), "the Service is known")


# Creating


def test_P1_class_of_a_pod_is_resolved_or_refused(story: Story, namespace: str) -> None:
    pod = make_pod(namespace, priorityClassName="shop-high")
    story.create(pod)
    assert priority_of(story.stored(pod)) == ("shop-high", 1000, "Never")
    said = story.create(make_pod(namespace, "next", priorityClassName="shop-hihg"), check=False)
    assert 'pods "next" is forbidden: no PriorityClass with name shop-hihg was found' in said


def test_S4_pod_of_nothing_gets_none(story: Story, namespace: str) -> None:
    pod = make_pod(namespace)
    story.create(pod)
    assert "topologySpreadConstraints" not in story.stored(pod)


def test_S4_pod_of_a_service_gets_the_default_constraints(
    story: Story, namespace: str, service: None, make_node: Callable[..., Object]
) -> None:
    """But no pod with its own constraints, and no mirror pod; none at all if the namespace opts out."""
    own = [with_labels({**ZONE, "maxSkew": 7}, {"app": "other"})]
    usual, different = make_pod(namespace), make_pod(namespace, "own", topologySpreadConstraints=own)
    mirror = make_pod(namespace, "mirror", nodeName=make_node()["metadata"]["name"])
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "0"}
    story.create(usual, different, mirror)
    defaults = [with_labels(ZONE, {"app": "web"}), with_labels(HOST, {"app": "web"})]
    assert story.stored(usual)["topologySpreadConstraints"] == defaults
    assert story.stored(different)["topologySpreadConstraints"] == own
    assert "topologySpreadConstraints" not in story.stored(mirror)

    story.control_plane.kubectl("label", "namespace", namespace, "kubectl-qos.io/topology-spread=disabled")
    wait_for(lambda: not story.constraints(make_pod(namespace, "next")), "the label is seen")


def test_S4_pod_of_a_deployment_is_spread_with_its_revision(story: Story, namespace: str) -> None:
    story.create(make_workload("Deployment", namespace, replicas=1, priorityClassName="shop-low"))
    (pod,) = story.pods_of(namespace)
    labels = {"app": "web", "pod-template-hash": pod["metadata"]["labels"]["pod-template-hash"]}
    assert pod["spec"]["topologySpreadConstraints"] == [with_labels(ZONE, labels), with_labels(HOST, labels)]
    assert priority_of(pod["spec"])[:2] == ("shop-low", 10)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "CronJob"])
def test_P1_unknown_class_of_a_workload_warns(story: Story, namespace: str, kind: str) -> None:
    assert story.create(make_workload(kind, namespace, priorityClassName="shop-hihg")) == (
        f"Warning: {path_of(kind)}.priorityClassName: no PriorityClass with name shop-hihg was found, "
        "its pods will be refused; did you mean shop-high?\n"
    )


# Force deleting


@pytest.fixture
def own_node(make_node: Callable[..., Object], namespace: str) -> str:
    """A node that pods of this test select."""
    name: str = make_node(labels={"test": namespace})["metadata"]["name"]
    return name


def check(name: str, namespace: str, node: str, begin: str = "Check") -> str:
    """The advice about a force deletion that has happened."""
    died = f"kubectl qos died pod/{name} -n {namespace}"
    return f"{begin} now whether container app still runs on {node}: {died}; kubectl qos node {node}"


@pytest.mark.parametrize(("kind", "name", "risk"), [("StatefulSet", "db", DB_RISK), ("ReplicaSet", "web", WEB_RISK)])
def test_F1_pod_of_a_workload(story: Story, namespace: str, own_node: str, kind: str, name: str, risk: str) -> None:
    pod = story.run(kind, name, namespace)
    assert story.force(pod, namespace) == [f"{pod} on {own_node}: {risk}", check(pod, namespace, own_node)]


def test_F4_read_write_once_on_nfs(story: Story, namespace: str, own_node: str) -> None:
    both: Object = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    source: Object = {"nfs": {"server": "nas.example.com", "path": "/data"}, "capacity": {"storage": "1Gi"}}
    volume = raw_object("PersistentVolume", namespace, spec={**both, **source})
    needed: Object = {"volumeName": namespace, "resources": {"requests": {"storage": "1Gi"}}}
    story.control_plane.apply([volume, raw_object("PersistentVolumeClaim", "data", namespace, spec={**both, **needed})])
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    story.run("StatefulSet", "db", namespace, volumes=[mounted])
    guard = "nothing keeps a second writer off volume data (claim data, NFS, ReadWriteOnce)"
    assert story.force("db-0", namespace) == [
        f"db-0 on {own_node}: {DB_RISK}",
        f"{guard}; {check('db-0', namespace, own_node, 'check')}",
    ]
    story.control_plane.api.delete(volume)


def test_F5_silent_node(story: Story, namespace: str, own_node: str) -> None:
    """As the node lifecycle controller reports it."""
    story.run("StatefulSet", "db", namespace)
    unknown = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting", "lastHeartbeatTime": SILENT_SINCE}
    condition = raw_condition("Ready", "Unknown", lastTransitionTime=SILENT_SINCE, **unknown)
    story.control_plane.api.patch(raw_node(own_node), {"status": {"conditions": [condition]}}, subresource="status")
    line = f"db-0 on {own_node}, silent since 2026-01-01 03:02:56 UTC: {DB_RISK}"
    wait_for(lambda: story.force("db-0", namespace, "--dry-run=server")[0] == line, "the silence is seen")
    assert story.force("db-0", namespace)[0] == line


def test_F1_forcing_what_is_already_terminating(story: Story, namespace: str, own_node: str) -> None:
    story.run("StatefulSet", "db", namespace)
    story.control_plane.kubectl("delete", "pod", "db-0", "-n", namespace, "--wait=false")
    first, second = story.force("db-0", namespace)
    assert first.startswith(f"db-0 on {own_node} is already stopping and may run until ")
    assert "forcing does not stop it sooner; StatefulSet db promises at most one" in first
    assert second == check("db-0", namespace, own_node)


def test_F1_collection_delete_warns_for_each_pod(story: Story, namespace: str, own_node: str) -> None:
    """A dry run warns and keeps the pods; a plain deletion does not warn."""
    names = ("web-0", "web-1", "plain")
    story.create(*(make_pod(namespace, name, nodeName=own_node) for name in names))
    assert len(story.force("web-0", namespace, "--dry-run=server")) == 2
    stored = story.control_plane.api.list_items("v1", "Pod", namespace)
    assert [pod["metadata"].get("deletionTimestamp") for pod in stored] == [None] * 3
    plain = story.control_plane.kubectl("delete", "pod", "plain", "-n", namespace, "--wait=false")
    assert plain.stderr == ""
    path = f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0"
    said = story.control_plane.kubectl("delete", "--raw", path).stderr
    for name in ("web-0", "web-1"):
        risk = "its processes may run on, and no controller replaces it"
        assert said.count(f"Warning: {name} on {own_node}: {risk}\n") == 1


# Upgrading, uninstalling


def test_upgrade_takes_effect_and_keeps_the_webhook_trusted(story: Story, namespace: str, service: None) -> None:
    story.installation.upgrade(chart_values(story.balancer.port, ZONE))

    def constraints() -> list[Object]:
        pod = make_pod(namespace, f"web-{time.monotonic_ns()}")
        story.create(pod)
        found: list[Object] = story.stored(pod).get("topologySpreadConstraints", [])
        # Never without the patch: an upgrade must not remove the certificate's authority from the configuration.
        assert found
        return found

    wait_for(lambda: constraints() == [with_labels(ZONE, {"app": "web"})], "the new defaults are written")
    story.installation.upgrade(chart_values(story.balancer.port, ZONE, HOST))
    wait_for(lambda: len(constraints()) == 2, "the old defaults are written again")


def test_cluster_works_after_uninstall(story: Story, helm: Path, tmp_path: Path, namespace: str) -> None:
    installation = Installation(story.control_plane, helm, tmp_path, namespace=namespace, release="second")
    with released(installation, lambda port: chart_values(port, ZONE), lambda: True):
        pass
    story.create(make_pod(namespace))
    kinds = "secrets,configmaps,deployments,services,roles,rolebindings,serviceaccounts"
    cluster_wide = "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations"
    for what in ((kinds, "-n", namespace), (cluster_wide,)):
        assert "second" not in story.control_plane.kubectl("get", *what, "-o", "name").stdout
