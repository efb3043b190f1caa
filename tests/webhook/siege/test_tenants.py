"""A tenant tries to get past each rule, by every way that the API server has; webhook and policies hold.

Each attack is made twice: with what a rule forbids, which must leave nothing behind, and with what it does not, which
must go through. An attack that fails by itself would prove nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import yaml

from tests.cluster.protobuf import message
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_container, raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asking import WORKLOADS, make_pod, make_workload, template_of
from tests.webhook.forcing import CONFIRMATION, MODE, thinned
from tests.webhook.siege.tenancy import CLASSES, HIGH, LOW, SIDES, Tenant, besieged, identity

pytestmark = pytest.mark.controlplane

NOT_ALLOWED = f"PriorityClass {HIGH} is not allowed in namespace"
FORBIDDEN = "forbids force deletions"
PODS = ("v1", "Pod")
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
OWNER: Object = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "controller": True}
HELD_BY = "the same attack on the other side, and each attack by one of these tests"
_NUMBERS = itertools.count(1)


def _name(value: object) -> str | None:
    """Of an attack; pytest names what is none."""
    return value.__name__.strip("_").replace("_", " ") if isinstance(value, FunctionType) else None


@pytest.fixture(scope="module")
def tenants(
    control_plane: ControlPlane, helm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Tenant]]:
    """One that meets the rules of the webhook, and one that meets those of the policies."""
    classes = [raw_priority_class(name, value) for name, value in CLASSES.items()]
    with control_plane.holding(classes), contextlib.ExitStack() as stack:
        yield {
            side: stack.enter_context(besieged(control_plane, helm, tmp_path_factory.mktemp("helm"), side))
            for side in SIDES
        }


@pytest.fixture
def tenant(tenants: Mapping[str, Tenant], request: pytest.FixtureRequest) -> Tenant:
    """The one of a side."""
    return tenants[request.param]


# Classes of pods


def _pod(tenant: Tenant, class_name: str, **metadata: Any) -> Object:
    pod = make_pod(tenant.limited, f"web-{next(_NUMBERS)}", priorityClassName=class_name, nodeName=tenant.node)
    pod["metadata"] |= {"labels": {"app": "db"}, **metadata}
    return pod


def _post(tenant: Tenant, body: Object | bytes, **how: Any) -> None:
    tenant.api.request("POST", tenant.api.path(*PODS, tenant.limited), body, **how)


def _as_yaml(tenant: Tenant, class_name: str) -> None:
    _post(tenant, yaml.safe_dump(_pod(tenant, class_name)).encode(), content_type=YAML)


def _as_protobuf(tenant: Tenant, class_name: str) -> None:
    container = message((1, "app"), (2, "registry.example.com/app:1"))
    metadata = message((1, f"web-{next(_NUMBERS)}"), (3, tenant.limited))
    pod = message((1, metadata), (2, message((2, container), (24, class_name))))
    _post(tenant, _unknown("v1", "Pod", pod), content_type=PROTOBUF)


def _unknown(api_version: str, kind: str, content: bytes) -> bytes:
    return b"k8s\0" + message((1, message((1, api_version), (2, kind))), (2, content))


def _with_generated_name(tenant: Tenant, class_name: str) -> None:
    pod = _pod(tenant, class_name, generateName="web-")
    del pod["metadata"]["name"]
    _post(tenant, pod)


def _applied(tenant: Tenant, class_name: str) -> None:
    pod = _pod(tenant, class_name)
    path = tenant.api.path(*PODS, tenant.limited, pod["metadata"]["name"])
    query = {"fieldManager": "someone", "force": "true"}
    tenant.api.request("PATCH", path, yaml.safe_dump(pod).encode(), content_type=APPLY, query=query)


def _after_a_dry_run(tenant: Tenant, class_name: str) -> None:
    pod = _pod(tenant, LOW)
    _post(tenant, pod, query={"dryRun": "All"})
    pod["spec"]["priorityClassName"] = class_name
    _post(tenant, pod)


def _named_twice(tenant: Tenant, class_name: str) -> None:
    """The last one of two equal keys counts."""
    text = json.dumps(_pod(tenant, "HERE"))
    _post(tenant, text.replace('"HERE"', f'"{LOW}", "priorityClassName": "{class_name}"').encode())


def _with_escaped_key(tenant: Tenant, class_name: str) -> None:
    text = json.dumps(_pod(tenant, class_name)).replace("priorityClassName", "priorityCl\\u0061ssN\\u0061me")
    _post(tenant, text.encode())


def _with_keys_of_other_cases(tenant: Tenant, class_name: str) -> None:
    """They are no fields, and are dropped."""
    pod = _pod(tenant, class_name)
    pod["spec"] |= {"PriorityClassName": LOW, "priorityclassname": LOW}
    _post(tenant, pod, query={"fieldValidation": "Ignore"})


def _with_commas(tenant: Tenant, class_name: str) -> None:
    _post(tenant, _pod(tenant, class_name, annotations={"example.com/list": "," * 100_001}))


def _with_escaped_text(tenant: Tenant, class_name: str) -> None:
    pod = _pod(tenant, class_name)
    pod["spec"]["containers"] = [raw_container(args=["<" * 1_250_000])]
    _post(tenant, pod)


def _with_our_own_words(tenant: Tenant, class_name: str) -> None:
    words = {MODE: "warn", CONFIRMATION: "any", "kubectl-qos.io/default-priority-class": HIGH}
    labels = {MODE: "warn", "kubectl-qos.io/topology-spread": "disabled", "app.kubernetes.io/managed-by": "Helm"}
    _post(tenant, _pod(tenant, class_name, annotations=words, labels=labels))


def _with_an_owner(tenant: Tenant, class_name: str) -> None:
    _post(tenant, _pod(tenant, class_name, ownerReferences=[_owner(tenant)]))


def _owner(tenant: Tenant) -> Object:
    """A reference to what exists, and is no controller."""
    found = tenant.api.get("v1", "ConfigMap", OWNER["name"], tenant.limited)
    return {**OWNER, "uid": found["metadata"]["uid"]}


def _as_if_it_were_deleted(tenant: Tenant, class_name: str) -> None:
    times = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    pod = _pod(tenant, class_name, finalizers=["example.com/kept"], **times)
    _post(tenant, pod)
    tenant.control_plane.api.patch(pod, {"metadata": {"finalizers": None}})


def _as_if_it_had_finished(tenant: Tenant, class_name: str) -> None:
    _post(tenant, {**_pod(tenant, class_name), "status": {"phase": "Succeeded"}})


def _with_gates_and_another_scheduler(tenant: Tenant, class_name: str) -> None:
    pod = _pod(tenant, class_name)
    del pod["spec"]["nodeName"]
    pod["spec"] |= {"schedulerName": "other", "schedulingGates": [{"name": "example.com/wait"}], "hostNetwork": True}
    _post(tenant, pod)


CREATIONS: tuple[Callable[[Tenant, str], None], ...] = (
    _as_yaml,
    _as_protobuf,
    _with_generated_name,
    _applied,
    _after_a_dry_run,
    _named_twice,
    _with_escaped_key,
    _with_keys_of_other_cases,
    _with_commas,
    _with_escaped_text,
    _with_our_own_words,
    _with_an_owner,
    _as_if_it_were_deleted,
    _as_if_it_had_finished,
    _with_gates_and_another_scheduler,
)


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
def test_class_of_a_stored_pod_stays(tenant: Tenant, subresource: str, how: str) -> None:
    pod = _pod(tenant, LOW)
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


# Classes of templates


def _workload(tenant: Tenant, kind: str, class_name: str) -> Object:
    workload = make_workload(kind, tenant.limited, priorityClassName=class_name)
    workload["metadata"]["name"] = f"web-{next(_NUMBERS)}"
    return workload


@pytest.mark.parametrize(
    ("kind", "tenant"), thinned(tuple(WORKLOADS), SIDES, held_by=HELD_BY), ids=_name, indirect=["tenant"]
)
def test_template_gets_no_class_that_is_not_allowed(tenant: Tenant, kind: str) -> None:
    """Neither when it is made nor when it is changed, by whatever kind of patch."""
    with pytest.raises(ApiError, match=NOT_ALLOWED):
        tenant.api.create(_workload(tenant, kind, HIGH))
    workload = tenant.api.create(_workload(tenant, kind, LOW))
    changed = json.loads(json.dumps(workload))
    # Its controller writes, too.
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


@pytest.mark.parametrize(
    ("kind", "tenant"),
    thinned(("ReplicaSet", "ReplicationController"), SIDES, held_by=HELD_BY),
    ids=_name,
    indirect=["tenant"],
)
def test_workload_with_a_forged_owner_makes_no_pods(tenant: Tenant, kind: str) -> None:
    """What a controller owns is passed over, as the documentation says: the limit is that of pods."""
    workload = _workload(tenant, kind, HIGH)
    workload["metadata"]["ownerReferences"] = [_owner(tenant)]
    workload["spec"]["replicas"] = 1
    before = _classes_of_pods(tenant)
    tenant.api.create(workload)
    name = workload["metadata"]["name"]

    def refusals() -> list[str]:
        selector = f"involvedObject.name={name},reason=FailedCreate"
        events = tenant.api.list_items("v1", "Event", tenant.limited, fieldSelector=selector)
        return [event["message"] for event in events]

    said = wait_for(refusals, "the controller's pods are refused")
    assert NOT_ALLOWED in said[0]
    assert HIGH not in _classes_of_pods(tenant)
    assert len(_classes_of_pods(tenant)) == len(before)


# Force deletions


def _delete(tenant: Tenant, pod: Object, body: Object | bytes | None, **how: Any) -> None:
    _, namespace, name = identity(pod)
    tenant.api.request("DELETE", tenant.api.path(*PODS, namespace, name), body, **how)


def _options(seconds: int | None = 0, *, api_version: str = "v1", **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": "DeleteOptions", "gracePeriodSeconds": seconds, **more}


def _by_options(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, _options())


def _by_options_of_another_group(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, _options(api_version="policy/v1"))


def _by_query(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, None, query={"gracePeriodSeconds": "0"})


def _by_yaml(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, yaml.safe_dump(_options()).encode(), content_type=YAML)


def _by_protobuf(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, _unknown("v1", "DeleteOptions", message((1, 0))), content_type=PROTOBUF)


def _by_the_last_of_two_keys(tenant: Tenant, pod: Object) -> None:
    text = json.dumps(_options(30)).replace("30", '30, "gracePeriodSeconds": 0')
    _delete(tenant, pod, text.encode())


def _with_a_precondition(tenant: Tenant, pod: Object) -> None:
    uid = {"uid": pod["metadata"]["uid"]}
    _delete(tenant, pod, _options(preconditions=uid, propagationPolicy="Background"))


def _with_its_dependents_kept(tenant: Tenant, pod: Object) -> None:
    """Orphaning takes a finalizer; the object goes when the garbage collector has done its work."""
    _delete(tenant, pod, _options(propagationPolicy="Orphan"))


def _after_a_plain_deletion(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, _options(None))
    _delete(tenant, pod, _options())


def _after_a_second_of_grace(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, _options(1))
    _delete(tenant, pod, _options())


def _after_a_dry_run_of_grace(tenant: Tenant, pod: Object) -> None:
    _delete(tenant, pod, _options(30, dryRun=["All"]))
    _delete(tenant, pod, _options())


def _by_its_collection(tenant: Tenant, pod: Object) -> None:
    _, namespace, name = identity(pod)
    query = {"gracePeriodSeconds": "0", "fieldSelector": f"metadata.name={name}"}
    tenant.api.request("DELETE", tenant.api.path(*PODS, namespace), query=query)


def _by_its_collections_options(tenant: Tenant, pod: Object) -> None:
    _, namespace, name = identity(pod)
    query = {"fieldSelector": f"metadata.name={name}"}
    tenant.api.request("DELETE", tenant.api.path(*PODS, namespace), _options(), query=query)


def _evict(tenant: Tenant, pod: Object, api_version: str = "policy/v1", **metadata: Any) -> Object:
    _, namespace, name = identity(pod)
    metadata |= {"name": name, "namespace": namespace}
    return {
        "apiVersion": api_version,
        "kind": "Eviction",
        "metadata": metadata,
        "deleteOptions": {"gracePeriodSeconds": 0},
    }


def _post_eviction(tenant: Tenant, pod: Object, body: Object | bytes, **how: Any) -> None:
    _, namespace, name = identity(pod)
    tenant.api.request("POST", tenant.api.path(*PODS, namespace, name, "eviction"), body, **how)


def _by_eviction(tenant: Tenant, pod: Object) -> None:
    _post_eviction(tenant, pod, _evict(tenant, pod))


def _by_eviction_of_the_old_version(tenant: Tenant, pod: Object) -> None:
    _post_eviction(tenant, pod, _evict(tenant, pod, "policy/v1beta1"))


def _by_eviction_in_yaml(tenant: Tenant, pod: Object) -> None:
    _post_eviction(tenant, pod, yaml.safe_dump(_evict(tenant, pod)).encode(), content_type=YAML)


def _by_eviction_without_a_namespace(tenant: Tenant, pod: Object) -> None:
    body = _evict(tenant, pod)
    del body["metadata"]["namespace"]
    _post_eviction(tenant, pod, body)


def _by_eviction_with_much_text(tenant: Tenant, pod: Object) -> None:
    annotations = {"example.com/text": "<" * 250_000}
    _post_eviction(tenant, pod, _evict(tenant, pod, annotations=annotations))


def _of_a_pod_with_a_finalizer(tenant: Tenant, pod: Object) -> None:
    tenant.api.patch(pod, {"metadata": {"finalizers": ["example.com/kept"]}})
    try:
        _delete(tenant, pod, _options())
    finally:
        tenant.api.patch(pod, {"metadata": {"finalizers": None}})


def _of_a_pod_with_another_label_and_owner(tenant: Tenant, pod: Object) -> None:
    labels = {MODE: "warn", "app": "other"}
    annotations = {MODE: "warn", CONFIRMATION: pod["metadata"]["uid"], "kubernetes.io/config.source": "file"}
    owner = {**_owner(tenant), "apiVersion": "v1", "kind": "Node", "controller": False}
    tenant.api.patch(pod, {"metadata": {"labels": labels, "annotations": annotations, "ownerReferences": [owner]}})
    _delete(tenant, pod, _options())


def _while_the_namespace_says_warn(tenant: Tenant, pod: Object) -> None:
    _, namespace, _ = identity(pod)
    entry = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    tenant.api.patch(entry, {"metadata": {"labels": {MODE: "warn"}}})
    try:
        _delete(tenant, pod, _options())
    finally:
        tenant.api.patch(entry, {"metadata": {"labels": {MODE: None}}})


FORCED: tuple[Callable[[Tenant, Object], None], ...] = (
    _by_options,
    _by_options_of_another_group,
    _by_query,
    _by_yaml,
    _by_protobuf,
    _by_the_last_of_two_keys,
    _with_a_precondition,
    _with_its_dependents_kept,
    _after_a_plain_deletion,
    _after_a_second_of_grace,
    _after_a_dry_run_of_grace,
    _by_its_collection,
    _by_its_collections_options,
    _by_eviction,
    _by_eviction_of_the_old_version,
    _by_eviction_in_yaml,
    _by_eviction_without_a_namespace,
    _by_eviction_with_much_text,
    _of_a_pod_with_a_finalizer,
    _of_a_pod_with_another_label_and_owner,
    _while_the_namespace_says_warn,
)


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


def _waits_for_its_kubelet(pod: Mapping[str, Any] | None) -> bool:
    """Whether a pod is there and somebody still has to say that its processes have ended."""
    return pod is not None and pod["metadata"].get("deletionGracePeriodSeconds") != 0


@pytest.mark.parametrize(
    ("seconds", "tenant"), thinned((1, -1, 2**31), SIDES, held_by=HELD_BY), ids=_name, indirect=["tenant"]
)
def test_any_grace_waits_for_the_kubelet(tenant: Tenant, seconds: int) -> None:
    """A second is no force deletion: the object stays until the kubelet says that the processes have ended."""
    for namespace in (tenant.limited, tenant.free):
        pod = tenant.running_pod(namespace)
        _delete(tenant, pod, _options(seconds))
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
    """The API server lets nobody change what exempts a pod, or it has no effect."""
    pod = tenant.running_pod(tenant.asking)
    with contextlib.suppress(ApiError):
        tenant.api.patch(pod, CHANGES[change], subresource=subresource or None)
    with pytest.raises(ApiError, match="wants it confirmed"):
        _delete(tenant, pod, _options())


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_pod_is_not_confirmed_before_it_has_its_uid(tenant: Tenant) -> None:
    pod = tenant.running_pod(tenant.asking, uid="0-0", annotations={CONFIRMATION: "0-0"})
    assert pod["metadata"]["uid"] != "0-0"
    with pytest.raises(ApiError, match="wants it confirmed"):
        _delete(tenant, pod, _options())


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_who_may_write_the_status_of_pods_ends_them_without_grace(tenant: Tenant) -> None:
    """As docs/webhook.md says: of a pod that is said to have finished even a plain deletion is one without grace."""
    for options in (_options(), _options(None)):
        pod = tenant.running_pod(tenant.limited)
        tenant.api.patch(pod, {"status": {"phase": "Succeeded"}}, subresource="status")
        _delete(tenant, pod, options)
        assert tenant.stored(pod) is None


def test_usual_roles_do_not_let_people_write_the_status_of_pods(control_plane: ControlPlane) -> None:
    for role in ("admin", "edit"):
        rules = control_plane.api.get("rbac.authorization.k8s.io/v1", "ClusterRole", role)["rules"]
        verbs = {verb for rule in rules if "pods/status" in rule["resources"] for verb in rule["verbs"]}
        assert verbs == {"get", "list", "watch"}


@pytest.mark.parametrize("tenant", SIDES, indirect=True)
def test_no_node_is_deleted_by_a_tenant(tenant: Tenant) -> None:
    with pytest.raises(ApiError, match="cannot delete resource"):
        tenant.api.request("DELETE", tenant.api.path("v1", "Node", None, tenant.node))
