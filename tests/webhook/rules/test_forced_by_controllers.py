"""The cluster's own controllers in a namespace that forbids force deletions.

First with an account for each, as kubeadm does, and then with one user for all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.controlplane.binaries import Binaries
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_condition, raw_node, raw_object, raw_workload
from tests.waiting import wait_for
from tests.webhook.forcing import Cluster, make_pod, serving

pytestmark = pytest.mark.controlplane

NAME = "by-controllers"
_NUMBERS = itertools.count(1)


@pytest.fixture(
    scope="module",
    params=[
        "own accounts",
        pytest.param(
            "one user",
            marks=pytest.mark.long("the other cases, test_F2_never_refused_controllers_of_kubernetes"),
        ),
    ],
)
def cluster(request: pytest.FixtureRequest, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that forbids force deletions unless a namespace has another mode."""
    with ExitStack() as stack:
        if request.param == "own accounts":
            control_plane: ControlPlane = request.getfixturevalue("control_plane")
        else:
            control_plane = stack.enter_context(_as_one_user(request.getfixturevalue("control_plane_binaries")))
        # After the webhook has ended, which would be called, and while the control plane still runs.
        stack.callback(_delete_what_is_left, control_plane)
        folder, mode = tmp_path_factory.mktemp("helm"), {"mode": "deny"}
        yield stack.enter_context(serving(control_plane, helm, folder, namespace=f"{NAME}-system", force_deletion=mode))


def _delete_what_is_left(control_plane: ControlPlane) -> None:
    for kind in ("Namespace", "Node"):
        for left in control_plane.api.list_items("v1", kind, labelSelector=f"of={NAME}"):
            control_plane.api.delete(left)


@contextmanager
def _as_one_user(binaries: Binaries) -> Iterator[ControlPlane]:
    arguments = ["--use-service-account-credentials=false"]
    with ControlPlane(binaries, controller_manager_args=arguments) as control_plane:
        # A cluster with one user for all controllers must grant that user the permissions of each.
        control_plane.kubectl(
            "create", "clusterrolebinding", "controllers", "--clusterrole=cluster-admin",
            "--user=system:kube-controller-manager",
        )  # fmt: skip
        yield control_plane


@pytest.fixture
def namespace(cluster: Cluster) -> str:
    """A namespace without a label that sets a mode."""
    name = f"{NAME}-{next(_NUMBERS)}"
    cluster.control_plane.create_namespace(name, {"of": NAME})
    return name


@pytest.fixture
def pod(cluster: Cluster, namespace: str) -> Object:
    """A bare pod on its own node; its force deletion is forbidden."""
    node = cluster.control_plane.create_node(f"{NAME}-{next(_NUMBERS)}", labels={"of": NAME})["metadata"]["name"]
    made = cluster.control_plane.api.create(make_pod("db", namespace, node))
    assert "forbids force deletions" in cluster.force("delete", made).stderr
    return made


@pytest.mark.long("test_F2_never_refused_controllers_of_kubernetes, test_F2_namespace_controller_ends_a_namespace")
def test_F2_pod_gc_ends_pods_on_out_of_service_nodes(cluster: Cluster, pod: Object) -> None:
    """It checks every 20 s."""
    api = cluster.control_plane.api
    node = raw_node(pod["spec"]["nodeName"], conditions=[raw_condition("Ready", "Unknown")])
    api.patch(node, {"status": node["status"]}, subresource="status")
    api.delete(pod)
    taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    cluster.kubectl("taint", "nodes", pod["spec"]["nodeName"], taint)
    wait_for(lambda: cluster.pod(pod) is None, "PodGC force deletes it")


def test_F2_namespace_controller_ends_a_namespace(cluster: Cluster, namespace: str, pod: Object) -> None:
    """Also for pods with a zero grace period, and for pods that wait for a node."""
    api, node = cluster.control_plane.api, pod["spec"]["nodeName"]
    api.create(make_pod("without-grace", namespace, node, terminationGracePeriodSeconds=0))
    api.create(make_pod("waiting", namespace, "", nodeSelector={"nowhere": "at-all"}))
    # No kubelet confirms that it stopped.
    cluster.control_plane.set_pod_status(pod, {"phase": "Succeeded"})
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")

    def gone() -> bool:
        return not api.list_items("v1", "Namespace", fieldSelector=f"metadata.name={namespace}")

    wait_for(gone, "the namespace is deleted")


def test_F2_no_pod_is_forced_in_a_namespace_that_was_finalized(cluster: Cluster, namespace: str, pod: Object) -> None:
    """An account with all permissions in a namespace may delete it under its pods: no label remains to match."""
    api = cluster.control_plane.api
    finalized = {**raw_object("Namespace", namespace), "spec": {}}
    api.delete(finalized)
    api.request("PUT", api.path("v1", "Namespace", name=namespace, subresource="finalize"), finalized)
    try:
        assert not api.list_items("v1", "Namespace", fieldSelector=f"metadata.name={namespace}")
        for path in ("delete", "collection", "eviction"):
            cluster.force(path, pod)
            assert cluster.pod(pod) is not None, path
    finally:
        cluster.control_plane.create_namespace(namespace, {"of": NAME})


def test_F2_garbage_collector_ends_orphaned_pods(
    cluster: Cluster, namespace: str, pod: Object, made_by: Callable[..., Object]
) -> None:
    waiting = made_by("waiting", nodeSelector={"nowhere": "at-all"})
    without_grace = made_by("without-grace", nodeName=pod["spec"]["nodeName"], terminationGracePeriodSeconds=0)
    cluster.kubectl("delete", "replicaset", "--all", "-n", namespace, "--cascade=background")
    wait_for(lambda: cluster.pod(waiting) is None and cluster.pod(without_grace) is None, "the garbage is collected")


@pytest.fixture
def made_by(cluster: Cluster, namespace: str) -> Callable[..., Object]:
    """Make a ReplicaSet; return its pod."""

    def made_by(name: str, **spec: object) -> Object:
        api, pod_spec = cluster.control_plane.api, make_pod(name, namespace, "", **spec)["spec"]
        api.create(raw_workload("ReplicaSet", name, namespace, pod_spec=pod_spec, replicas=1))
        pods = wait_for(lambda: api.list_items("v1", "Pod", namespace, labelSelector=f"app={name}"), f"a pod of {name}")
        return pods[0]

    return made_by


def test_F2_replica_set_scales_down_pods_without_grace(
    cluster: Cluster, namespace: str, pod: Object, made_by: Callable[..., Object]
) -> None:
    made = made_by("web", nodeName=pod["spec"]["nodeName"], terminationGracePeriodSeconds=0)
    cluster.kubectl("scale", "replicaset", "web", "-n", namespace, "--replicas=0")
    wait_for(lambda: cluster.pod(made) is None, "it is scaled down")
