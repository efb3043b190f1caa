"""Each deletion that docs/webhook/force-deletion.md calls never refused, in mode deny, on a real API server."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.charts.chart import CHART, NODE_CONTROLLERS
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_node, raw_object
from tests.waiting import wait_for
from tests.webhook.forcing import ADMIN, Cluster, make_pod, serving, thinned, warnings

pytestmark = pytest.mark.controlplane

NAME = "never-refused"
RELEASE = f"{NAME}-system"
PAGE = CHART.parents[1] / "docs" / "webhook" / "force-deletion.md"
KUBE_SYSTEM = "system:serviceaccount:kube-system"
CONTROLLERS = (
    *(
        f"{KUBE_SYSTEM}:{name}"
        for name in ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
    ),
    "system:kube-controller-manager",
)
NODE_CONTROLLERS_BY_NAME = [
    pytest.param(username, id=username.removeprefix("system:serviceaccount:"))
    for usernames in NODE_CONTROLLERS.values()
    for username in usernames
]
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Force deletions are forbidden everywhere, also for Nodes with pods of the release's own namespace."""
    folder = tmp_path_factory.mktemp("helm")
    settings = {"mode": "deny", "namespaces": {RELEASE: "deny"}, "exemptUsers": [ADMIN, "fencer"]}
    with serving(control_plane, helm, folder, namespace=RELEASE, force_deletion=settings) as running:
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace that has no pods after the test."""
    name = f"{NAME}-{next(_NUMBERS)}"
    control_plane.create_namespace(name)
    yield name
    control_plane.leave_namespace(name)


@pytest.fixture
def make(control_plane: ControlPlane, namespace: str, make_node: Callable[..., Object]) -> Callable[..., Object]:
    """Makes a bare pod on its own node."""

    def make(*, place: str = namespace, **spec: object) -> Object:
        # Cordoned, because the scheduler also runs, and other pods would cause warnings.
        node = make_node(unschedulable=True)["metadata"]["name"]
        return control_plane.api.create(make_pod("db", place, node, **spec))

    return make


def mirror_pod(name: str, namespace: str, node: str) -> Object:
    annotations = {"kubernetes.io/config.mirror": "0123456789abcdef", "kubernetes.io/config.source": "file"}
    return make_pod(name, namespace, node, metadata={"annotations": annotations})


def goes(cluster: Cluster, path: str, pod: Object, *, user: str = "jane") -> list[str]:
    """The warnings of an allowed, real force deletion."""
    done = cluster.force(path, pod, user=user)
    assert done.returncode == 0, done.stderr
    assert cluster.is_deleted(path, pod)
    return warnings(done)


def is_refused(cluster: Cluster, path: str, pod: Object, *, user: str = "jane") -> bool:
    """Whether the webhook refuses it."""
    done = cluster.force(path, pod, user=user, dry_run=True)
    assert done.returncode == 0 or "admission webhook" in done.stderr, done.stderr
    return done.returncode != 0


def test_F2_page_names_what_is_tested_here() -> None:
    """Each point of the page has a test of its name, and vice versa."""
    (section,) = re.findall(r"\n## Never refused\n(.*)\Z", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    points = {name.lower().replace(" ", "_") for name in re.findall(r"^- \*\*(.+?)\*\*", section, re.MULTILINE)}
    tests = {name.removeprefix("test_F2_never_refused_") for name in globals() if name.startswith("test_F2_never_")}
    assert points == tests


def test_F2_never_refused_kubelets(cluster: Cluster, make: Callable[..., Object]) -> None:
    """The real identity, with its client certificate: pods of its node, and not those of another."""
    pod = make()
    node, namespace = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
    line = ("delete", "pod", "db", "-n", namespace, "--grace-period=0", "--force", "--wait=false")
    assert is_refused(cluster, "delete", pod)
    other = cluster.control_plane.kubeconfig_for_client_certificate("system:node:another", ["system:nodes"])
    refused = cluster.control_plane.kubectl(*line, kubeconfig=other, check=False)
    assert refused.returncode == 1
    assert "can only delete pods with spec.nodeName set to itself" in refused.stderr

    kubelet = cluster.control_plane.kubeconfig_for_client_certificate(f"system:node:{node}", ["system:nodes"])
    cluster.control_plane.api.delete(pod)

    def deleted() -> bool:
        done = cluster.control_plane.kubectl(*line, kubeconfig=kubelet, check=False)
        assert "admission webhook" not in done.stderr
        assert warnings(done) == []
        return done.returncode == 0

    wait_for(deleted, "the authorizer knows that the pod is the node's")
    assert cluster.pod(pod) is None


def test_F2_node_identity_ends_pods_of_its_own_node_alone(
    cluster: Cluster, namespace: str, make: Callable[..., Object], make_node: Callable[..., Object]
) -> None:
    """The API server limits an account with a node's credentials, which is exempt here."""
    own, elsewhere = make(), make_node(unschedulable=True)["metadata"]["name"]
    other = cluster.control_plane.api.create(make_pod("other", namespace, elsewhere))
    node = own["spec"]["nodeName"]
    eviction = raw_object("Eviction", "other", namespace, apiVersion="policy/v1")
    api = cluster.control_plane.client_for(f"system:node:{node}", ["system:nodes"])

    def refusal(ask: Callable[[], object]) -> str:
        with pytest.raises(ApiError) as error:
            ask()
        return error.value.message

    def ended(pod: Object) -> Object:
        return api.patch(pod, {"status": {"phase": "Succeeded"}}, subresource="status")

    with closing(api):
        wait_for(lambda: "spec.nodeName set to itself" in refusal(lambda: ended(other)), "NodeRestriction knows it")
        assert "spec.nodeName set to itself" in refusal(lambda: api.delete(other, grace_period_seconds=0))
        evicting = {**eviction, "deleteOptions": {"gracePeriodSeconds": 0}}
        path = api.path("v1", "Pod", namespace, "other", "eviction")
        assert "spec.nodeName set to itself" in refusal(lambda: api.request("POST", path, evicting))
        mirror = mirror_pod("mirror", namespace, elsewhere)
        assert "spec.nodeName set to itself" in refusal(lambda: api.create(mirror))
        assert "cannot delete resource" in refusal(lambda: api.delete(raw_node(node)))
        assert cluster.is_untouched(other)
        # Its own pod counts as finished then, so every user who may delete it may do that without grace.
        ended(own)
    assert goes(cluster, "delete", own) == []


@pytest.mark.parametrize(
    ("user", "path"),
    thinned(
        CONTROLLERS,
        ("delete", "collection", "eviction", "node"),
        held_by="the other cases, test_F2_exempt_clients_are_never_refused of the handlers",
    ),
)
def test_F2_never_refused_controllers_of_kubernetes(
    cluster: Cluster, make: Callable[..., Object], user: str, path: str
) -> None:
    """tests/webhook/rules/test_forced_by_controllers.py has their own deletions."""
    pod = make()
    for other in ("job-controller", "default", "pod-garbage-collector-2"):
        assert is_refused(cluster, path, pod, user=f"{KUBE_SYSTEM}:{other}")
    assert goes(cluster, path, pod, user=user) == []


@pytest.mark.parametrize("user", NODE_CONTROLLERS_BY_NAME)
def test_F2_never_refused_node_controllers(cluster: Cluster, make: Callable[..., Object], user: str) -> None:
    pod = make()
    assert is_refused(cluster, "node", pod, user=f"{user}-2")
    assert goes(cluster, "node", pod, user=user) == []


def test_F2_node_controllers_are_exempt_for_nodes_by_full_name(cluster: Cluster, make: Callable[..., Object]) -> None:
    pod = make()
    for path in ("delete", "collection", "eviction"):
        assert is_refused(cluster, path, pod, user=f"{KUBE_SYSTEM}:karpenter")
    for user in (f"{KUBE_SYSTEM}:default", "system:serviceaccount:default:karpenter", "karpenter"):
        assert is_refused(cluster, "node", pod, user=user)


@pytest.mark.parametrize("path", ["delete", "collection", "eviction", "node"])
def test_F2_never_refused_exempt_users(cluster: Cluster, make: Callable[..., Object], path: str) -> None:
    pod = make()
    assert is_refused(cluster, path, pod, user="fencer2")
    assert goes(cluster, path, pod, user="fencer") == []


@pytest.mark.parametrize(
    ("path", "state"),
    thinned(
        ("delete", "collection", "eviction"),
        ("Succeeded", "Failed", "never scheduled"),
        held_by="the other cases, test_F2_exempt_pods_are_never_refused of the handlers",
    ),
)
def test_F2_never_refused_pods_without_processes(
    cluster: Cluster, namespace: str, make: Callable[..., Object], path: str, state: str
) -> None:
    if state == "never scheduled":
        # The API server may evict it later, when it runs.
        path = "delete" if path == "eviction" else path
        pod = cluster.control_plane.api.create(make_pod("db", namespace, "", nodeSelector={"nowhere": "at-all"}))
    else:
        pod = make()
        assert is_refused(cluster, path, pod)
        cluster.control_plane.set_pod_status(pod, {"phase": state})
    assert goes(cluster, path, pod) == []


@pytest.mark.parametrize("path", ["delete", "collection", "eviction"])
def test_F2_never_refused_mirror_pods(
    cluster: Cluster, namespace: str, make_node: Callable[..., Object], path: str
) -> None:
    pod = mirror_pod("db", namespace, make_node()["metadata"]["name"])
    assert "deleting it stops nothing" in goes(cluster, path, cluster.control_plane.api.create(pod))[0]


@pytest.mark.parametrize("path", ["delete", "collection", "eviction", "node"])
def test_F2_never_refused_pods_without_grace(cluster: Cluster, make: Callable[..., Object], path: str) -> None:
    pod = make(terminationGracePeriodSeconds=0)
    assert len(goes(cluster, path, pod)) == 2


def test_F2_eviction_without_period_ignores_zero_grace_pods(cluster: Cluster, make: Callable[..., Object]) -> None:
    pod = make(terminationGracePeriodSeconds=0)
    namespace = pod["metadata"]["namespace"]
    body = raw_object("Eviction", "db", namespace, apiVersion="policy/v1")
    path = f"/api/v1/namespaces/{namespace}/pods/db/eviction"
    done = cluster.kubectl("create", "--raw", path, "-f", "-", body=body)
    assert (done.returncode, warnings(done)) == (0, []), done.stderr
    assert cluster.pod(pod) is None


def test_F2_never_refused_nodes_without_pods(cluster: Cluster, namespace: str, make: Callable[..., Object]) -> None:
    """A DaemonSet's pods belong to the node, like mirror pods."""
    pod = make()
    cluster.control_plane.api.create(mirror_pod("etcd", namespace, pod["spec"]["nodeName"]))
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "0-0", "controller": True}
    agent = make_pod("agent", namespace, pod["spec"]["nodeName"], metadata={"ownerReferences": [owner]})
    cluster.control_plane.api.create(agent)
    assert is_refused(cluster, "node", pod)
    cluster.control_plane.set_pod_status(pod, {"phase": "Succeeded"})
    assert goes(cluster, "node", pod) == []


def test_F2_never_refused_nodes_with_finalizers(cluster: Cluster, make: Callable[..., Object]) -> None:
    """Like Karpenter's."""
    pod = make()
    node = raw_node(pod["spec"]["nodeName"])
    assert is_refused(cluster, "node", pod)
    cluster.control_plane.api.patch(node, {"metadata": {"finalizers": ["karpenter.sh/termination"]}})
    done = cluster.force("node", pod)
    assert done.returncode == 0, done.stderr
    (said,) = warnings(done)
    assert "once its finalizers are removed, pods that still run there are force deleted" in said
    cluster.control_plane.api.patch(node, {"metadata": {"finalizers": None}})


def test_F2_never_refused_excluded_namespaces(cluster: Cluster, make: Callable[..., Object]) -> None:
    """The configuration names the release's own, but not kube-system."""
    for place, keeps_its_node in ((RELEASE, True), ("kube-system", False)):
        pod = make(place=place)
        assert is_refused(cluster, "node", pod) is keeps_its_node
        for path in ("delete", "eviction"):
            done = cluster.force(path, pod, dry_run=True)
            assert (done.returncode, warnings(done)) == (0, []), done.stderr
        cluster.control_plane.api.delete(pod, grace_period_seconds=0)


@contextmanager
def without_permissions(cluster: Cluster) -> Iterator[None]:
    """The program has no read permissions until the block ends."""
    api = cluster.control_plane.api
    bindings = [
        entry
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for entry in api.list_items("rbac.authorization.k8s.io/v1", kind)
        if any(subject.get("namespace") == RELEASE for subject in entry.get("subjects", ()))
    ]
    for entry in bindings:
        api.delete(entry)
    try:
        yield
    finally:
        for entry in bindings:
            entry["metadata"] = {key: entry["metadata"].get(key) for key in ("name", "namespace", "labels")}
            api.create(entry)


def test_F2_unreadable_objects_are_refused(cluster: Cluster, make: Callable[..., Object]) -> None:
    """A Node, because of its pods, and the eviction of a pod."""
    pod = make()
    node = pod["spec"]["nodeName"]
    unread = (
        f"{node}: the pods that its deletion would force delete cannot be read, and the configuration does not allow"
    )
    with without_permissions(cluster):
        wait_for(lambda: unread in cluster.force("node", pod, dry_run=True).stderr, "nothing can be read any more")
        assert is_refused(cluster, "node", pod)
        assert "db: the pod cannot be read" in cluster.force("eviction", pod, dry_run=True).stderr
        assert is_refused(cluster, "eviction", pod)
        # The review of a DELETE contains the pod.
        assert "forbids force deletions" in cluster.force("delete", pod, dry_run=True).stderr
    wait_for(lambda: unread not in cluster.force("node", pod, dry_run=True).stderr, "it can be read again")


def test_F2_never_refused_an_absent_webhook(cluster: Cluster, make: Callable[..., Object]) -> None:
    """With failurePolicy Fail: tests/charts/test_on_api_server.py."""
    pod = make()
    assert is_refused(cluster, "delete", pod)
    with cluster.without_webhook():
        # An answer may be under way.
        wait_for(lambda: not is_refused(cluster, "delete", pod), "the webhook is unreachable")
        for path in ("eviction", "node"):
            assert goes(cluster, path, pod) == []
