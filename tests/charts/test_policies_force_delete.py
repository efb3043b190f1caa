"""Force deletions in mode policy: every path, every mode, by kubectl on a real API server without a webhook."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podrules.workload.safety import OWNER_RISK, Guarantee
from tests.charts.policies import MIRROR, installed, messages, scoped
from tests.controlplane.client import Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_node
from tests.waiting import wait_for
from tests.webhook.asking import make_workload, path_of
from tests.webhook.forcing import ADMIN, CONFIRMATION, MODE, STRICTNESS, People, make_pod, strictest, thinned, undrained

pytestmark = pytest.mark.controlplane

NAME = "forced-policy"
CONFIGURED = {f"{NAME}-{mode}-{number}": mode for mode in STRICTNESS for number in range(5)}
"""Namespaces with a mode in the values."""
NO_GRACE = (
    "terminationGracePeriodSeconds: 0, so every deletion is a force deletion: the object is removed at once, "
    "and its processes may run on next to a replacement; 1 or more waits for them"
)
SERVICE_ACCOUNTS = ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
CONTROLLERS = (*(f"system:serviceaccount:kube-system:{name}" for name in SERVICE_ACCOUNTS),)
_NUMBERS = itertools.count(1)
_UNUSED = {mode: [name for name, configured in CONFIGURED.items() if configured == mode] for mode in STRICTNESS}


@pytest.fixture(scope="module")
def people(control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The policies with the modes of some namespaces in the values, and an exempt administrator."""
    values = scoped(NAME, forceDeletion={"namespaces": CONFIGURED, "exemptUsers": [ADMIN]})
    with installed(control_plane, helm, tmp_path_factory.mktemp("helm"), NAME, values):
        yield People(control_plane)


@pytest.fixture
def space(control_plane: ControlPlane, people: People) -> Iterator[Callable[..., str]]:
    """Makes a namespace with a mode as its label, and optionally one in the values; it has no pods after the test."""
    made = []

    def space(mode: str = "", *, configured: str = "") -> str:
        made.append(_UNUSED[configured].pop() if configured else f"{NAME}-{next(_NUMBERS)}")
        control_plane.create_namespace(made[-1], {"asked": NAME, **({MODE: mode} if mode else {})})
        return made[-1]

    yield space
    for name in made:
        control_plane.leave_namespace(name)


@pytest.fixture
def make(
    control_plane: ControlPlane, space: Callable[..., str], make_node: Callable[..., Object]
) -> Callable[..., Object]:
    """Makes a bare pod on its own node, in a namespace with a mode."""

    def make(mode: str = "", *, configured: str = "", node: bool = True, **spec: object) -> Object:
        bound = make_node()["metadata"]["name"] if node else ""
        return control_plane.api.create(make_pod("db", space(mode, configured=configured), bound, **spec))

    return make


def standing(pod: Object) -> str:
    """The text about a bare pod."""
    return f"db on {pod['spec']['nodeName']}: {OWNER_RISK[Guarantee.NOT_REPLACED]}"


def warning(path: str, pod: Object, *, dry_run: bool = False) -> str:
    """The warning of a path; the request of an eviction does not contain the pod."""
    check = "check first: kubectl qos explain" if dry_run else "check now: kubectl qos died"
    check = f"{check} pod/db -n {pod['metadata']['namespace']}"
    if path in {"eviction", "drain"}:
        return f"db: evicted without grace, its processes may run on next to a replacement; {check}"
    return f"{standing(pod)}; {check}"


# Warn


@pytest.mark.parametrize("path", ["delete", "collection", "eviction", "drain"])
def test_F1_policy_warns_once_on_every_path(people: People, make: Callable[..., Object], path: str) -> None:
    pod = make()
    if path == "drain":
        # The request is not a dry run; the Eviction in it is.
        asked = people.force(path, pod, dry_run=True)
        assert warning(path, pod, dry_run=True) in messages(asked.stderr)
        assert people.is_untouched(pod)
    done = people.force(path, pod)
    assert done.returncode == 0, done.stderr
    assert [line for line in messages(done.stderr) if "deleting Pods that declare no" not in line] == [
        warning(path, pod)
    ]
    assert people.is_deleted(path, pod)


def test_F1_policy_warns_once_about_forcing_a_stopping_pod(people: People, make: Callable[..., Object]) -> None:
    pod = make()
    people.control_plane.api.delete(pod)
    (said,) = messages(people.force("delete", pod).stderr)
    place, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
    assert re.fullmatch(
        rf"db on {node} is already stopping, until [-0-9T:]+Z if its node answers: forcing does not stop it sooner; "
        rf"its processes may run on, and no controller replaces it; check now: kubectl qos died pod/db -n {place}",
        said,
    )
    assert people.pod(pod) is None


OWNERS = {
    "StatefulSet": Guarantee.AT_MOST_ONE,
    "ReplicaSet": Guarantee.AVAILABILITY_FIRST,
    "ReplicationController": Guarantee.AVAILABILITY_FIRST,
    "DaemonSet": Guarantee.ONE_PER_NODE,
    "Job": Guarantee.RUNS_TO_COMPLETION,
}


@pytest.mark.parametrize("kind", OWNERS)
def test_F3_policy_names_the_owners_promise(
    people: People, space: Callable[..., str], make_node: Callable[..., Object], kind: str
) -> None:
    namespace, node = space(), make_node()["metadata"]["name"]
    workload = make_workload(kind, namespace, nodeName=node)
    if kind not in {"DaemonSet", "Job"}:
        workload["spec"]["replicas"] = 1
    api = people.control_plane.api
    api.create(workload)
    (pod,) = wait_for(lambda: api.list_items("v1", "Pod", namespace), "its pod")
    name = pod["metadata"]["name"]
    (said,) = messages(people.force("delete", pod, dry_run=True).stderr)
    risk = OWNER_RISK[OWNERS[kind]].format(owner=f"{kind} web")
    assert said == f"{name} on {node}: {risk}; check first: kubectl qos explain pod/{name} -n {namespace}"


def test_F3_policy_names_no_promise_of_unknown_owners(
    people: People, space: Callable[..., str], make_node: Callable[..., Object]
) -> None:
    pod = make_pod("db", space(), make_node()["metadata"]["name"])
    owner = {"apiVersion": "example.com/v1", "kind": "StatefulSet", "name": "shop", "uid": "0-0", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    people.control_plane.api.create(pod)
    (said,) = messages(people.force("delete", pod, dry_run=True).stderr)
    assert OWNER_RISK[Guarantee.UNKNOWN].format(owner="StatefulSet shop") in said


def test_F1_policy_warns_of_a_collection_pod_by_pod(people: People, make: Callable[..., Object]) -> None:
    pod = make()
    node, namespace = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
    people.control_plane.api.create(make_pod("web", namespace, node))
    said = messages(people.force("collection", pod).stderr)
    assert sorted(said) == [warning("collection", pod).replace("db", name) for name in ("db", "web")]


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
def test_F1_policy_warns_of_a_period_of_0(people: People, space: Callable[..., str], kind: str) -> None:
    namespace = space()
    if kind == "Pod":
        made, path = make_pod("db", namespace, "", terminationGracePeriodSeconds=0), "spec"
    else:
        made, path = make_workload(kind, namespace, terminationGracePeriodSeconds=0), path_of(kind)
    assert messages(people.kubectl("create", "-f", "-", body=made).stderr) == [f"{path}.{NO_GRACE}"]


@pytest.mark.parametrize("mode", ["", "deny"])
@pytest.mark.parametrize("path", ["delete", "collection"])
def test_F1_policy_warns_about_plain_deletion_of_zero_grace_pods(
    people: People, make: Callable[..., Object], path: str, mode: str
) -> None:
    pod = make(mode, terminationGracePeriodSeconds=0)
    namespace = pod["metadata"]["namespace"]
    graceful = people.control_plane.api.create(make_pod("web", namespace, pod["spec"]["nodeName"]))
    words = ("pod", "db", "-n", namespace, "--wait=false")
    of_all = ("--raw", f"/api/v1/namespaces/{namespace}/pods")
    done = people.kubectl("delete", *(of_all if path == "collection" else words))
    assert done.returncode == 0, done.stderr
    assert messages(done.stderr) == [warning(path, pod)]
    assert people.pod(pod) is None
    stopping = people.pod(graceful)
    assert stopping is not None
    assert stopping["metadata"].get("deletionGracePeriodSeconds") == (30 if path == "collection" else None)


@pytest.mark.parametrize("mode", ["", "confirm", "deny"])
def test_F1_policy_ignores_graceful_deletions(people: People, make: Callable[..., Object], mode: str) -> None:
    pod = make(mode)
    namespace, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
    drained = people.kubectl("drain", node, "--force", "--dry-run=server")
    assert drained.returncode == 0, drained.stderr
    assert [line for line in messages(drained.stderr) if "deleting Pods that declare no" not in line] == []
    done = people.kubectl("delete", "pod", "db", "-n", namespace, "--wait=false")
    assert (done.returncode, done.stderr) == (0, "")


# Confirm


@pytest.mark.parametrize("path", ["delete", "collection", "eviction", "drain"])
def test_F2_policy_refuses_until_its_own_command_was_typed(
    people: People, make: Callable[..., Object], path: str
) -> None:
    """An eviction cannot be confirmed, and the message suggests no deletion: that bypasses budgets."""
    pod = make("confirm")
    refused = people.force(path, pod)
    assert refused.returncode == 1
    if path in {"eviction", "drain"}:
        assert "evict it with grace: drain again without --grace-period=0" in refused.stderr
        assert "kubectl delete" not in refused.stderr
        path = "delete"
        refused = people.force(path, pod)
    assert standing(pod) in refused.stderr
    assert people.is_untouched(pod)

    command = re.search(rf"kubectl annotate .* {CONFIRMATION}=[-0-9a-f]{{36}} --overwrite", refused.stderr)
    assert command is not None, refused.stderr
    people.run(command[0])
    done = people.force(path, pod)
    assert done.returncode == 0, done.stderr
    assert messages(done.stderr) == [warning(path, pod)]
    assert people.is_deleted(path, pod)


def test_F2_policy_limits_a_confirmation_to_one_pod(people: People, make: Callable[..., Object]) -> None:
    pod = make("confirm")
    annotated = make_pod("db", pod["metadata"]["namespace"], pod["spec"]["nodeName"])
    annotated["metadata"]["annotations"] = {CONFIRMATION: pod["metadata"]["uid"]}
    people.control_plane.api.delete(pod, grace_period_seconds=0)
    again = people.control_plane.api.create(annotated)
    assert people.force("delete", again).returncode == 1
    assert people.is_untouched(again)


# Deny


@pytest.mark.parametrize("path", ["delete", "collection", "eviction", "drain"])
def test_F2_policy_refuses_and_names_the_alternative(people: People, make: Callable[..., Object], path: str) -> None:
    pod = make("deny")
    people.control_plane.api.patch(pod, {"metadata": {"annotations": {CONFIRMATION: pod["metadata"]["uid"]}}})
    namespace = pod["metadata"]["namespace"]
    refused = people.force(path, pod)
    assert refused.returncode == 1
    if path in {"eviction", "drain"}:
        assert f"db: namespace {namespace} forbids force deletions; evict it with grace: drain again" in refused.stderr
        assert "kubectl delete" not in refused.stderr
    else:
        remedy = f"delete it with grace: kubectl delete pod db -n {namespace}"
        assert f"{standing(pod)}; namespace {namespace} forbids force deletions; {remedy}" in refused.stderr
    assert "Warning: Validation" not in refused.stderr
    assert people.is_untouched(pod)


def test_F2_policy_names_the_fencing_command(people: People, make: Callable[..., Object]) -> None:
    pod = make("deny")
    people.control_plane.api.delete(pod)
    node = pod["spec"]["nodeName"]
    taint = f"kubectl taint nodes {node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    said = people.force("delete", pod).stderr
    assert f"wait until it has stopped, or once {node} is off for certain: {taint}" in said


@pytest.mark.parametrize(
    ("configured", "label"),
    thinned(
        STRICTNESS,
        ("deny", "confirm", "warn", "denny", ""),
        held_by="the other cases, test_F2_policy_warns_about_a_label_without_a_mode",
    ),
)
def test_F2_label_may_only_tighten_the_values(
    people: People, make: Callable[..., Object], configured: str, label: str
) -> None:
    """The same as the webhook: tests/webhook/rules/test_forced_paths.py."""
    pod = make(label, configured=configured)
    namespace = pod["metadata"]["namespace"]
    mode = strictest(configured, label)
    for path in ("delete", "collection", "eviction"):
        done = people.force(path, pod, dry_run=True)
        assert (done.returncode == 0) == (mode == "warn")
        match mode:
            case "warn":
                assert messages(done.stderr)[0] == warning(path, pod, dry_run=True)
            case "confirm":
                assert re.search(rf"namespace {namespace} requires a confirmation", done.stderr)
            case _:
                assert f"namespace {namespace} forbids force deletions" in done.stderr


@pytest.mark.parametrize("path", ["delete", "eviction"])
def test_F2_policy_warns_about_a_label_without_a_mode(people: People, make: Callable[..., Object], path: str) -> None:
    pod = make("denny")
    done = people.force(path, pod)
    assert done.returncode == 0, done.stderr
    wrong = f"Namespace {pod['metadata']['namespace']}: label {MODE}=denny is none of warn, confirm, deny"
    assert messages(done.stderr) == [warning(path, pod), f"{wrong}: the configured mode counts, warn"]


@pytest.mark.parametrize(
    ("path", "mode"), [("delete", ""), ("delete", "confirm"), ("delete", "deny"), ("eviction", "")]
)
def test_F2_policy_answers_a_dry_run_as_the_real_one(
    people: People, make: Callable[..., Object], path: str, mode: str
) -> None:
    pod = make(mode)
    tried = people.force(path, pod, dry_run=True)
    assert people.is_untouched(pod)
    done = people.force(path, pod)
    # The advice to check differs once it has happened.
    said = tried.stderr.replace("check first: kubectl qos explain", "check now: kubectl qos died")
    assert (tried.returncode, said) == (done.returncode, done.stderr)


# Exempt clients and pods


@pytest.mark.parametrize("user", ["system:kube-controller-manager", *CONTROLLERS, ADMIN])
def test_F2_policy_neither_refuses_nor_warns_controllers(
    people: People, make: Callable[..., Object], user: str
) -> None:
    pod = make("deny")
    paths = ("collection", "node", "eviction", "delete") if user == "system:kube-controller-manager" else ("delete",)
    for path in paths:
        done = people.force(path, pod, user=user, dry_run=True)
        assert (done.returncode, messages(done.stderr)) == (0, []), path
    assert people.force("delete", pod, user=user).returncode == 0
    assert people.pod(pod) is None


@pytest.mark.parametrize("mode", ["", "deny"])
def test_F2_policy_neither_refuses_nor_warns_kubelets(people: People, make: Callable[..., Object], mode: str) -> None:
    pod = make(mode)
    node, namespace = pod["spec"]["nodeName"], pod["metadata"]["namespace"]
    kubelet = people.control_plane.kubeconfig_for_client_certificate(f"system:node:{node}", ["system:nodes"])
    people.control_plane.api.delete(pod)
    line = ("delete", "pod", "db", "-n", namespace, "--grace-period=0", "--force", "--wait=false")

    def deleted() -> bool:
        done = people.control_plane.kubectl(*line, kubeconfig=kubelet, check=False)
        assert "AdmissionPolicy" not in done.stderr
        return done.returncode == 0

    wait_for(deleted, "the authorizer has learnt that the pod is the node's")
    assert people.pod(pod) is None


def test_F2_policy_does_not_refuse_the_deletion_of_a_mirror_pod(
    people: People, space: Callable[..., str], make_node: Callable[..., Object]
) -> None:
    pod = make_pod("db", space("deny"), make_node()["metadata"]["name"])
    pod["metadata"]["annotations"] = MIRROR
    people.control_plane.api.create(pod)
    done = people.force("delete", pod)
    assert done.returncode == 0, done.stderr
    (said,) = messages(done.stderr)
    assert OWNER_RISK[Guarantee.KUBELET_OWNED] in said


@pytest.mark.parametrize("state", ["Succeeded", "Failed", "unscheduled"])
def test_F2_policy_ignores_pods_without_processes(people: People, make: Callable[..., Object], state: str) -> None:
    """For an eviction the policy cannot know this, and an eviction with grace also removes them at once."""
    unscheduled = state == "unscheduled"
    pod = make("deny", **({"node": False, "nodeSelector": {"nowhere": "at-all"}} if unscheduled else {}))

    def finish() -> None:
        if not unscheduled:
            people.control_plane.set_pod_status(pod, {"phase": state})

    finish()
    assert people.force("eviction", pod).returncode == 1
    namespace = pod["metadata"]["namespace"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "db", "namespace": namespace}}
    path = f"/api/v1/namespaces/{namespace}/pods/db/eviction"
    assert people.kubectl("create", "--raw", path, "-f", "-", body=body).returncode == 0
    assert people.pod(pod) is None
    for path in ("delete", "collection"):
        again = make_pod("db", namespace, pod["spec"].get("nodeName", ""), nodeSelector=pod["spec"].get("nodeSelector"))
        people.control_plane.api.create(again)
        finish()
        done = people.force(path, pod)
        assert (done.returncode, messages(done.stderr)) == (0, [])
        assert people.pod(pod) is None


def test_F2_policy_ignores_the_releases_own_namespace(people: People, make_node: Callable[..., Object]) -> None:
    namespace = f"{NAME}-system"
    people.kubectl("label", "namespace", namespace, f"asked={NAME}", f"{MODE}=deny")
    pod = people.control_plane.api.create(make_pod("db", namespace, make_node()["metadata"]["name"]))
    done = people.force("delete", pod)
    assert (done.returncode, messages(done.stderr)) == (0, [])


def test_F2_policy_allows_the_end_of_a_namespace(people: People, make: Callable[..., Object]) -> None:
    """The real controller: also for pods with a zero grace period, and for pods that wait for a node."""
    pod = make("deny")
    api, namespace = people.control_plane.api, pod["metadata"]["namespace"]
    api.create(make_pod("without-grace", namespace, pod["spec"]["nodeName"], terminationGracePeriodSeconds=0))
    api.create(make_pod("waiting", namespace, "", nodeSelector={"nowhere": "at-all"}))
    # No kubelet confirms that it stopped.
    people.control_plane.set_pod_status(pod, {"phase": "Succeeded"})
    people.kubectl("delete", "namespace", namespace, "--wait=false")

    def gone() -> bool:
        return not api.list_items("v1", "Namespace", fieldSelector=f"metadata.name={namespace}")

    wait_for(gone, "the namespace is deleted")


# Nodes: policies do not know their pods


def test_F2_policy_refuses_deletion_of_an_undrained_node(people: People, make: Callable[..., Object]) -> None:
    """The values forbid force deletions in a namespace; policies do not know whether it has pods there."""
    pod = make()
    node = pod["spec"]["nodeName"]

    def delete(user: str = "jane") -> tuple[int, list[str]]:
        done = people.kubectl("delete", "node", node, "--dry-run=server", user=user)
        return done.returncode, messages(done.stderr)

    refused, (said,) = delete()
    assert refused == 1
    forbidden = "the configuration forbids that in some namespaces"
    assert said.endswith(f"{undrained(node)}; {forbidden}; drain it first: kubectl drain {node} --ignore-daemonsets")
    stored = raw_node(node)
    api = people.control_plane.api
    uid = api.get("v1", "Node", node)["metadata"]["uid"]
    api.patch(stored, {"metadata": {"annotations": {CONFIRMATION: uid}}})
    assert delete()[0] == 1
    for user in ("system:cloud-controller-manager", "system:serviceaccount:kube-system:karpenter", ADMIN):
        assert delete(user) == (0, [])
    for user in ("system:serviceaccount:kube-system:default", "system:serviceaccount:default:karpenter"):
        assert delete(user)[0] == 1
    api.patch(stored, {"metadata": {"finalizers": ["example.com/drain"]}})
    assert delete() == (0, [])
    api.patch(stored, {"metadata": {"finalizers": None}})
    vouched = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    api.patch(stored, {"spec": {"taints": [vouched]}})
    assert delete() == (0, [])
    api.patch(stored, {"spec": {"taints": None}})
    assert delete()[0] == 1
    people.kubectl("cordon", node)
    assert delete() == (0, [])
