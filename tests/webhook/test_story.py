"""The whole story, with real helm and kubectl: install the chart, create pods, force delete them, upgrade, uninstall.

The container's own command runs here with a token of its ServiceAccount: a missing permission fails a test.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.processes import stop_all
from tests.objects import raw_node, raw_pod, raw_priority_class, raw_workload
from tests.waiting import wait_for
from tests.webhook.balancer import Balancer
from tests.webhook.installation import ZONE, Installation, Replica, chart_values

pytestmark = [pytest.mark.controlplane, pytest.mark.usefixtures("story")]

RELEASE_NAMESPACE = "qos-system"
HOST = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
SILENT_SINCE = "2026-01-01T03:02:56Z"
HOW = (
    "check now whether container app still runs on {node}: "
    "kubectl qos died pod/{name} -n {namespace}; kubectl qos node {node}"
)


def _pod(name: str, namespace: str, **spec: Any) -> Object:
    return raw_pod(name, namespace, labels={"app": name}, **spec)


def _service(name: str, namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]},
    }


def _workload(kind: str, name: str, namespace: str, **pod_spec: Any) -> Object:
    pod_spec = raw_pod(**pod_spec)["spec"]
    service = name if kind == "StatefulSet" else None
    return raw_workload(kind, name, namespace, pod_spec=pod_spec, replicas=1, serviceName=service)


class Story:
    """An installed chart and its running replica."""

    def __init__(self, control_plane: ControlPlane, installation: Installation, balancer: Balancer) -> None:
        self.control_plane = control_plane
        self.installation = installation
        self.balancer = balancer

    def answers(self, namespace: str = "default") -> bool:
        """Whether the API server calls both: a pod of a Service would be patched, and one without grace warns."""
        constraints = _tried(self.control_plane, _pod("probe", namespace, terminationGracePeriodSeconds=0))
        warned = any("terminationGracePeriodSeconds: 0" in text for text in self.control_plane.api.warnings)
        return bool(constraints) and warned


def _tried(control_plane: ControlPlane, pod: Object) -> list[Object]:
    """The constraints that a pod would get; nothing is stored."""
    path = control_plane.api.path("v1", "Pod", pod["metadata"]["namespace"])
    made = control_plane.api.request("POST", path, pod, query={"dryRun": "All"})
    return list(made["spec"].get("topologySpreadConstraints", ()))


def yaml_of(*objects: Object) -> str:
    """The input of kubectl: JSON is YAML."""
    return "\n---\n".join(json.dumps(entry) for entry in objects)


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
    control_plane.apply([_service("probe", "default")])
    installation = Installation(
        control_plane, helm, tmp_path_factory.mktemp("helm"), namespace=RELEASE_NAMESPACE, release="qos"
    )
    replicas: list[Replica] = []
    with Balancer() as balancer:
        installation.install(chart_values(balancer.port, ZONE, HOST))
        try:
            replicas.append(installation.start_replica())
            balancer.add(replicas[0].port)
            story = Story(control_plane, installation, balancer)
            wait_for(story.answers, "the webhook is called")
            yield story
        finally:
            installation.uninstall()
            stop_all([replica.process for replica in replicas], timeout=2)


@pytest.fixture
def create(control_plane: ControlPlane) -> Callable[..., str]:
    """The standard error of ``kubectl create``."""

    def create(*objects: Object, check: bool = True) -> str:
        return control_plane.kubectl("create", "-f", "-", input=yaml_of(*objects), check=check).stderr

    return create


@pytest.fixture
def service(control_plane: ControlPlane, namespace: str, create: Callable[..., str]) -> None:
    """A Service of pods labelled app=web, which the webhook knows."""
    create(_service("web", namespace))
    wait_for(lambda: _tried(control_plane, _pod("web", namespace)), "the Service is known")


def _stored(control_plane: ControlPlane, pod: Object) -> Object:
    spec: Object = control_plane.api.get("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])["spec"]
    return spec


def _pod_of(control_plane: ControlPlane, namespace: str, app: str) -> Object:
    """The pod that a controller has created, once it has."""

    def found() -> Object | None:
        pods = control_plane.api.list_items("v1", "Pod", namespace, labelSelector=f"app={app}")
        return pods[0] if pods else None

    return wait_for(found, f"a pod of {app}")


def _with(constraint: Object, labels: dict[str, str]) -> Object:
    return {**constraint, "labelSelector": {"matchLabels": labels}}


# Creating


def test_P1_pod_with_a_class_has_class_priority_and_policy(
    control_plane: ControlPlane, namespace: str, classes: None, create: Callable[..., str]
) -> None:
    pod = _pod("web", namespace, priorityClassName="shop-high")
    create(pod)
    spec = _stored(control_plane, pod)
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("shop-high", 1000, "Never")


def test_S4_pod_of_a_service_gets_the_default_constraints(
    control_plane: ControlPlane, namespace: str, service: None, create: Callable[..., str]
) -> None:
    pod = _pod("web", namespace)
    create(pod)
    assert _stored(control_plane, pod)["topologySpreadConstraints"] == [
        _with(ZONE, {"app": "web"}),
        _with(HOST, {"app": "web"}),
    ]


def test_S4_pod_of_nothing_gets_none(control_plane: ControlPlane, namespace: str, create: Callable[..., str]) -> None:
    pod = _pod("web", namespace)
    create(pod)
    assert "topologySpreadConstraints" not in _stored(control_plane, pod)


def test_S4_own_constraints_stay(
    control_plane: ControlPlane, namespace: str, service: None, create: Callable[..., str]
) -> None:
    own = [_with({**ZONE, "maxSkew": 7}, {"app": "other"})]
    pod = _pod("web", namespace, topologySpreadConstraints=own)
    create(pod)
    assert _stored(control_plane, pod)["topologySpreadConstraints"] == own


def test_S4_pod_of_a_deployment_is_spread_with_its_revision(
    control_plane: ControlPlane, namespace: str, classes: None, create: Callable[..., str]
) -> None:
    create(_workload("Deployment", "web", namespace, priorityClassName="shop-low"))
    pod = _pod_of(control_plane, namespace, "web")
    labels = {"app": "web", "pod-template-hash": pod["metadata"]["labels"]["pod-template-hash"]}
    assert pod["spec"]["topologySpreadConstraints"] == [_with(ZONE, labels), _with(HOST, labels)]
    assert (pod["spec"]["priorityClassName"], pod["spec"]["priority"]) == ("shop-low", 10)


def test_S4_namespace_can_opt_out(control_plane: ControlPlane, namespace: str, service: None) -> None:
    control_plane.kubectl("label", "namespace", namespace, "kubectl-qos.io/topology-spread=disabled")
    wait_for(lambda: not _tried(control_plane, _pod("web", namespace)), "the label is seen")


def test_mirror_pods_are_never_touched(
    control_plane: ControlPlane,
    namespace: str,
    service: None,
    make_node: Callable[..., Object],
    create: Callable[..., str],
) -> None:
    node = make_node()["metadata"]["name"]
    mirror = _pod("web", namespace, nodeName=node)
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "0"}
    create(mirror)
    assert "topologySpreadConstraints" not in _stored(control_plane, mirror)


def test_P1_unknown_class_of_a_pod_is_refused(namespace: str, create: Callable[..., str], classes: None) -> None:
    said = create(_pod("web", namespace, priorityClassName="shop-hihg"), check=False)
    assert 'pods "web" is forbidden: no PriorityClass with name shop-hihg was found' in said


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        pytest.param("Deployment", "spec.template.spec", id="Deployment"),
        pytest.param("StatefulSet", "spec.template.spec", id="StatefulSet"),
        pytest.param("CronJob", "spec.jobTemplate.spec.template.spec", id="CronJob"),
    ],
)
def test_P1_unknown_class_of_a_workload_warns(
    namespace: str, create: Callable[..., str], classes: None, kind: str, path: str
) -> None:
    workload = _workload(kind, "web", namespace, priorityClassName="shop-hihg")
    if kind == "CronJob":
        template = workload["spec"]["template"]
        template["spec"]["restartPolicy"] = "Never"
        workload["spec"] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    assert create(workload) == (
        f"Warning: {path}.priorityClassName: no PriorityClass with name shop-hihg was found, "
        "its pods will be refused; did you mean shop-high?\n"
    )


# Force deleting


@pytest.fixture
def force(control_plane: ControlPlane) -> Callable[..., list[str]]:
    """``kubectl delete --grace-period=0 --force``: its warnings, without kubectl's own."""

    def force(pod: str, namespace: str, *flags: str) -> list[str]:
        done = control_plane.kubectl(
            "delete", "pod", pod, "-n", namespace, "--grace-period=0", "--force", "--wait=false", *flags
        )
        lines = [line.removeprefix("Warning: ") for line in done.stderr.splitlines() if line.startswith("Warning: ")]
        return [line for line in lines if not line.startswith("Immediate deletion does not wait")]

    return force


@pytest.fixture
def bound(control_plane: ControlPlane, make_node: Callable[..., Object]) -> Callable[..., Object]:
    """The pod of a controller, once the scheduler has bound it to the only possible node."""

    def bound(workload: Object) -> Object:
        name, namespace = workload["metadata"]["name"], workload["metadata"]["namespace"]
        control_plane.apply([workload])

        def found() -> Object | None:
            pods = control_plane.api.list_items("v1", "Pod", namespace, labelSelector=f"app={name}")
            return pods[0] if pods and pods[0]["spec"].get("nodeName") else None

        return wait_for(found, f"a bound pod of {name}")

    return bound


@pytest.fixture
def own_node(make_node: Callable[..., Object], namespace: str) -> str:
    """A node that pods of this test select."""
    name: str = make_node(labels={"test": namespace})["metadata"]["name"]
    return name


def test_F1_stateful_set_pod(
    namespace: str, own_node: str, bound: Callable[..., Object], force: Callable[..., list[str]]
) -> None:
    bound(_workload("StatefulSet", "db", namespace, nodeSelector={"test": namespace}))
    assert force("db-0", namespace) == [
        f"db-0 on {own_node}: StatefulSet db promises at most one, but a second may start while it still runs",
        f"C{HOW[1:]}".format(name="db-0", namespace=namespace, node=own_node),
    ]


def test_F1_replica_set_pod(
    namespace: str, own_node: str, bound: Callable[..., Object], force: Callable[..., list[str]]
) -> None:
    pod = bound(_workload("ReplicaSet", "web", namespace, nodeSelector={"test": namespace}))["metadata"]["name"]
    assert force(pod, namespace) == [
        f"{pod} on {own_node}: ReplicaSet web may start a replacement while it still runs",
        f"C{HOW[1:]}".format(name=pod, namespace=namespace, node=own_node),
    ]


def test_F4_read_write_once_on_nfs(
    control_plane: ControlPlane,
    namespace: str,
    own_node: str,
    bound: Callable[..., Object],
    force: Callable[..., list[str]],
) -> None:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "storageClassName": "",
            "nfs": {"server": "nas.example.com", "path": "/data"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "volumeName": namespace,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    control_plane.apply([volume, claim])
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    bound(_workload("StatefulSet", "db", namespace, nodeSelector={"test": namespace}, volumes=mounted))
    assert force("db-0", namespace) == [
        f"db-0 on {own_node}: StatefulSet db promises at most one, but a second may start while it still runs",
        f"nothing keeps a second writer off volume data (claim data, NFS, ReadWriteOnce); {HOW}".format(
            name="db-0", namespace=namespace, node=own_node
        ),
    ]
    control_plane.api.delete(volume)


@pytest.fixture
def silence(control_plane: ControlPlane, own_node: str) -> Callable[[], None]:
    """Make the node silent, as the node lifecycle controller reports it."""

    def silence() -> None:
        ready = {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting",
        }
        conditions = [{**ready, "lastTransitionTime": SILENT_SINCE, "lastHeartbeatTime": SILENT_SINCE}]
        control_plane.api.patch(raw_node(own_node), {"status": {"conditions": conditions}}, subresource="status")

    return silence


def test_F5_silent_node(
    control_plane: ControlPlane,
    namespace: str,
    own_node: str,
    silence: Callable[[], None],
    bound: Callable[..., Object],
    force: Callable[..., list[str]],
) -> None:
    bound(_workload("StatefulSet", "db", namespace, nodeSelector={"test": namespace}))
    silence()
    line = (
        f"db-0 on {own_node}, silent since 2026-01-01 03:02:56 UTC: "
        "StatefulSet db promises at most one, but a second may start while it still runs"
    )
    wait_for(lambda: force("db-0", namespace, "--dry-run=server")[0] == line, "the silence is seen")
    assert force("db-0", namespace)[0] == line


def test_F1_forcing_what_is_already_terminating(
    control_plane: ControlPlane,
    namespace: str,
    own_node: str,
    bound: Callable[..., Object],
    force: Callable[..., list[str]],
) -> None:
    workload = _workload("StatefulSet", "db", namespace, nodeSelector={"test": namespace})
    bound(workload)
    control_plane.kubectl("delete", "pod", "db-0", "-n", namespace, "--wait=false")
    first, second = force("db-0", namespace)
    assert first.startswith(f"db-0 on {own_node} is already stopping and may run until ")
    assert "forcing does not stop it sooner; StatefulSet db promises at most one" in first
    assert second == f"C{HOW[1:]}".format(name="db-0", namespace=namespace, node=own_node)


def test_F1_dry_run_warns_and_keeps_the_pod(
    control_plane: ControlPlane, namespace: str, own_node: str, force: Callable[..., list[str]]
) -> None:
    control_plane.apply([_pod("web", namespace, nodeName=own_node)])
    assert len(force("web", namespace, "--dry-run=server")) == 2
    assert control_plane.api.get("v1", "Pod", "web", namespace)["metadata"].get("deletionTimestamp") is None


def test_F1_collection_delete_warns_for_each_pod(control_plane: ControlPlane, namespace: str, own_node: str) -> None:
    control_plane.apply([_pod(name, namespace, nodeName=own_node) for name in ("web-0", "web-1")])
    said = control_plane.kubectl("delete", "--raw", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0").stderr
    for name in ("web-0", "web-1"):
        risk = "its processes may run on, and no controller replaces it"
        assert said.count(f"Warning: {name} on {own_node}: {risk}\n") == 1


def test_plain_delete_does_not_warn(control_plane: ControlPlane, namespace: str, own_node: str) -> None:
    control_plane.apply([_pod("web", namespace, nodeName=own_node)])
    assert control_plane.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false").stderr == ""


# Upgrading, uninstalling


def test_upgrade_takes_effect_and_keeps_the_webhook_trusted(
    control_plane: ControlPlane, story: Story, namespace: str, service: None, create: Callable[..., str]
) -> None:
    story.installation.upgrade(chart_values(story.balancer.port, ZONE))

    def constraints() -> list[Object]:
        pod = _pod(f"web-{time.monotonic_ns()}", namespace)
        pod["metadata"]["labels"] = {"app": "web"}
        create(pod)
        found: list[Object] = _stored(control_plane, pod).get("topologySpreadConstraints", [])
        # Never without the patch: an upgrade must not remove the certificate's authority from the configuration.
        assert found
        return found

    wait_for(lambda: constraints() == [_with(ZONE, {"app": "web"})], "the new defaults are written")
    story.installation.upgrade(chart_values(story.balancer.port, ZONE, HOST))
    wait_for(lambda: len(constraints()) == 2, "the old defaults are written again")


def test_cluster_works_after_uninstall(control_plane: ControlPlane, helm: Path, tmp_path: Path, namespace: str) -> None:
    installation = Installation(control_plane, helm, tmp_path, namespace=namespace, release="second")
    with Balancer() as balancer:
        installation.install(chart_values(balancer.port, ZONE))
        replica = installation.start_replica()
        balancer.add(replica.port)
        installation.uninstall()
        stop_all([replica.process], timeout=2)
    pod = _pod("web", namespace)
    control_plane.kubectl("create", "-f", "-", input=yaml_of(pod))
    left = control_plane.kubectl(
        "get",
        "secrets,configmaps,deployments,services,roles,rolebindings,serviceaccounts",
        "-n",
        namespace,
        "-o",
        "name",
    ).stdout.split()
    assert [name for name in left if "second" in name] == []
    wide = control_plane.kubectl(
        "get",
        "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations",
        "-o",
        "name",
    ).stdout.split()
    assert [name for name in wide if "second" in name] == []
