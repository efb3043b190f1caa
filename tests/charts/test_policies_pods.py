"""New pods and workloads in mode policy, on a real API server: two releases of the chart, with different values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.selectors import LabelSelector, Selector
from tests.charts.policies import GROUP, KINDS, MIRROR, dry_run, installed, messages, mirror_pod_refusal, scoped
from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.objects import raw_priority_class as make_class
from tests.waiting import wait_for
from tests.webhook.asking import (
    WORKLOADS,
    Asked,
    make_pod,
    make_workload,
    path_of,
    priority_of,
    template_of,
    with_labels,
)
from tests.webhook.installation import ZONE, chart_values

pytestmark = pytest.mark.controlplane

USUAL, STRICT = "usual-policy", "strict-policy"
RACK = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}
HOST = {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
DEFAULT_CLASS = "kubectl-qos.io/default-priority-class"
ANNOTATION = "kubectl-qos.io/default-topology-spread-constraints"
CONFIGURATION = chart_values(0, {**ZONE, "matchLabelKeys": ["pod-template-hash"]})["clusterDefaultConstraints"]
UNSCHEDULABLE: Object = {"nodeSelector": {"nowhere": "at-all"}}
"""The nodes belong to other tests."""
SHAPES = ("Deployment", "ReplicationController", "Job", "CronJob")
"""Workloads with different paths of their template."""
USUAL_VALUES = scoped(
    USUAL,
    priorityClasses={
        "defaults": {
            f"{USUAL}-configured": "policy-low",
            f"{USUAL}-gone": "policy-gone",
            f"{USUAL}-b*": "policy-never",
            f"{USUAL}-only*": "policy-low",
        },
        "allowed": {
            f"{USUAL}-limited*": ["policy-low", "policy-never"],
            f"{USUAL}-limited-free": ["*"],
            f"{USUAL}-only*": ["policy-low"],
        },
    },
    clusterDefaultConstraints={
        **CONFIGURATION,
        "namespaces": {f"{USUAL}-racks": [RACK], f"{USUAL}-plain*": []},
    },
)
STRICT_VALUES = scoped(
    STRICT,
    priorityClasses={
        "defaults": {f"{STRICT}-reported": "policy-low"},
        "allowed": {f"{STRICT}-limited": ["policy-low"]},
        "templates": "deny",
    },
    clusterDefaultConstraints={"writeSystemDefaults": True, "leaveOutTemplateHash": True},
    lint={"spreadSelectors": False},
    warnings="verbose",
)


@pytest.fixture(scope="module")
def classes(control_plane: ControlPlane) -> Iterator[None]:
    """Three classes."""
    made = (
        make_class("policy-low", 10),
        make_class("policy-never", 20, preemptionPolicy="Never"),
        make_class("policy-high", 1_000_000_000),
    )
    with control_plane.holding(made):
        yield


@pytest.fixture(scope="module")
def usual(control_plane: ControlPlane, helm: Any, classes: None, tmp_path_factory: Any) -> Iterator[Asked]:
    """With rules for namespaces, and defaults of type List."""
    with installed(control_plane, helm, tmp_path_factory.mktemp("usual"), USUAL, USUAL_VALUES):
        yield Asked(control_plane, USUAL)


@pytest.fixture(scope="module")
def strict(control_plane: ControlPlane, helm: Any, classes: None, tmp_path_factory: Any) -> Iterator[Asked]:
    """Templates are refused, defaults are reported, those of type System are written, without the hash."""
    with installed(control_plane, helm, tmp_path_factory.mktemp("strict"), STRICT, STRICT_VALUES):
        yield Asked(control_plane, STRICT)


@pytest.fixture(scope="module")
def limited(strict: Asked) -> str:
    """The namespace of the strict release in which only one class is allowed."""
    return strict.namespace("limited")


@pytest.fixture(scope="module")
def linted(usual: Asked) -> str:
    """A namespace in which nothing is stored."""
    return usual.namespace("lint")


def admitted(asked: Asked, pod: Object) -> Object:
    """The spec of a pod as it would be stored."""
    path = asked.control_plane.api.path("v1", "Pod", pod["metadata"]["namespace"])
    spec: Object = asked.control_plane.api.request("POST", path, pod, query={"dryRun": "All"})["spec"]
    return spec


# The policies themselves


@pytest.mark.parametrize("release", [USUAL, STRICT])
def test_A_type_checker_has_nothing_to_say(usual: Asked, strict: Asked, release: str) -> None:
    api = usual.control_plane.api

    def checked() -> list[Object]:
        found = api.list_items(GROUP, KINDS[2], labelSelector=f"app.kubernetes.io/instance={release}")
        done = [entry for entry in found if "typeChecking" in entry.get("status", {})]
        return found if len(done) == len(found) else []

    policies = wait_for(checked, "the policies are checked")
    assert len(policies) >= 8
    assert [entry["status"]["typeChecking"] for entry in policies] == [{}] * len(policies)


# The class of pods that name none


@pytest.mark.parametrize(
    ("name", "value", "preempts"),
    [("policy-high", 1_000_000_000, "PreemptLowerPriority"), ("policy-never", 20, "Never")],
)
def test_P1_P2_policy_sets_the_class_of_the_label(usual: Asked, name: str, value: int, preempts: str) -> None:
    pod = make_pod(usual.namespace(f"labelled-{name}", labels={DEFAULT_CLASS: name}))
    assert usual.create(pod) == ""
    assert priority_of(usual.stored(pod)) == (name, value, preempts)


def test_P1_policy_sets_class_from_values_or_from_label(usual: Asked) -> None:
    namespace = usual.namespace("configured")
    pod = make_pod(namespace)
    assert priority_of(admitted(usual, pod))[:2] == ("policy-low", 10)
    assert priority_of(admitted(usual, make_pod(usual.namespace("beginning"))))[:2] == ("policy-never", 20)
    pod["spec"]["priorityClassName"] = "policy-high"
    assert priority_of(admitted(usual, pod))[0] == "policy-high"
    del pod["spec"]["priorityClassName"]
    usual.control_plane.kubectl("label", "namespace", namespace, f"{DEFAULT_CLASS}=policy-never")
    wait_for(lambda: priority_of(admitted(usual, pod))[0] == "policy-never", "the label is seen")


def test_P1_policy_sets_the_class_of_a_controllers_pods(usual: Asked) -> None:
    namespace = usual.namespace("owned", labels={DEFAULT_CLASS: "policy-low"})
    workload = make_workload("Deployment", namespace, **UNSCHEDULABLE)
    workload["spec"]["replicas"] = 1
    usual.create(workload)
    assert [priority_of(pod["spec"])[:2] for pod in usual.pods_of(namespace)] == [("policy-low", 10)]


def test_P1_policy_prefers_namespace_default_to_global_default(usual: Asked) -> None:
    control_plane = usual.control_plane
    labelled = usual.namespace("before", labels={DEFAULT_CLASS: "policy-low"})
    other = usual.namespace("other")
    made = make_class("policy-global", 5, globalDefault=True)
    control_plane.apply([made])
    try:
        wait_for(
            lambda: priority_of(admitted(usual, make_pod(other)))[0] == "policy-global", "it is the global default"
        )
        assert priority_of(admitted(usual, make_pod(labelled)))[:2] == ("policy-low", 10)
        assert priority_of(admitted(usual, make_pod(labelled, priorityClassName="policy-global")))[:2] == (
            "policy-global",
            5,
        )
    finally:
        control_plane.api.delete(made)
        wait_for(lambda: priority_of(admitted(usual, make_pod(other)))[0] is None, "the global default is forgotten")


def test_P1_policy_warns_about_a_missing_default_class(usual: Asked) -> None:
    pod = make_pod(usual.namespace("gone"))
    assert messages(usual.create(pod)) == [
        f"namespace {USUAL}-gone: its default class is not given: no PriorityClass with name policy-gone was found"
    ]
    assert priority_of(usual.stored(pod)) == (None, 0, "PreemptLowerPriority")


def test_P1_policy_sets_a_new_class(usual: Asked) -> None:
    namespace = usual.namespace("new", labels={DEFAULT_CLASS: "policy-new"})
    made = make_class("policy-new", 30)
    usual.control_plane.apply([made])
    wait_for(lambda: priority_of(admitted(usual, make_pod(namespace)))[:2] == ("policy-new", 30), "the class is given")
    usual.control_plane.api.delete(made)


def test_P1_policy_ignores_mirror_pods(
    usual: Asked, control_plane: ControlPlane, make_node: Callable[..., Object]
) -> None:
    namespace = usual.namespace("limited-mirror", labels={DEFAULT_CLASS: "policy-low"})
    pod = make_pod(namespace, nodeName=make_node()["metadata"]["name"])
    pod["metadata"]["annotations"] = MIRROR
    assert priority_of(admitted(usual, pod))[0] is None
    pod["spec"]["priorityClassName"] = "policy-high"
    assert mirror_pod_refusal(control_plane, pod) == ""
    # Any client can set the annotation, and refusals apply.
    with pytest.raises(ApiError, match="is not allowed in namespace"):
        admitted(usual, pod)


# Allowed classes


def test_P1_policy_refuses_a_disallowed_class(usual: Asked) -> None:
    pod = make_pod(usual.namespace("limited"), priorityClassName="policy-high")
    assert (
        f"pods \"web\" is forbidden: ValidatingAdmissionPolicy '{USUAL}-qos-webhook.{USUAL}-system.class' with binding "
        f"'{USUAL}-qos-webhook.{USUAL}-system.class' denied request: "
        f"PriorityClass policy-high is not allowed in namespace {USUAL}-limited (allowed: policy-low, policy-never)"
    ) in usual.create(pod, check=False)
    pod["spec"]["priorityClassName"] = "policy-never"
    assert dry_run(usual.control_plane, pod) == []
    del pod["spec"]["priorityClassName"]
    assert dry_run(usual.control_plane, pod) == []


def test_P1_quota_counts_the_policys_class_but_no_refusal(usual: Asked) -> None:
    namespace = usual.namespace("limited-quota", labels={DEFAULT_CLASS: "policy-low"})
    usual.limit(namespace, "policy-low", 0)
    usual.limit(namespace, "policy-high", 5)
    usual.raise_limit(namespace, "policy-low", 1)
    usual.create(make_pod(namespace, **UNSCHEDULABLE))
    assert usual.used(namespace, "policy-low") == "1"
    assert "exceeded quota: policy-low" in usual.create(make_pod(namespace, "second"), check=False)
    high = make_pod(namespace, "high", priorityClassName="policy-high")
    assert "is not allowed in namespace" in usual.create(high, check=False)
    assert usual.used(namespace, "policy-high") == "0"


def test_P1_policy_warns_about_a_disallowed_class_if_configured(
    control_plane: ControlPlane, helm: Any, classes: None, tmp_path: Path
) -> None:
    """Templates are not refused either, because their pods are not."""
    name = "lenient-policy"
    rules = {"allowed": {f"{name}-limited": ["policy-low"]}, "disallowed": "warn", "templates": "deny"}
    with installed(control_plane, helm, tmp_path, name, scoped(name, priorityClasses=rules)):
        asked = Asked(control_plane, name)
        namespace = asked.namespace("limited")
        problem = f"PriorityClass policy-high is not allowed in namespace {namespace} (allowed: policy-low)"
        pod = make_pod(namespace, priorityClassName="policy-high", **UNSCHEDULABLE)
        assert messages(asked.create(pod)) == [f"spec.priorityClassName: {problem}"]
        assert priority_of(asked.stored(pod))[0] == "policy-high"
        for kind in WORKLOADS:
            said = dry_run(control_plane, make_workload(kind, namespace, priorityClassName="policy-high"))
            assert said == [f"{path_of(kind)}.priorityClassName: {problem}"]


def test_P1_policy_uses_the_most_specific_list(usual: Asked) -> None:
    free = make_pod(usual.namespace("limited-free"), priorityClassName="policy-high")
    assert dry_run(usual.control_plane, free) == []
    more = make_pod(usual.namespace("limited-more"), priorityClassName="policy-high")
    assert "not allowed in namespace" in "".join(dry_run(usual.control_plane, more))


@pytest.mark.parametrize("label", ["policy-never", "policy-high"], ids=["in the values", "nowhere else"])
def test_P1_policy_ignores_a_label_with_a_disallowed_class(usual: Asked, label: str) -> None:
    pod = make_pod(usual.namespace(f"only-{label}", labels={DEFAULT_CLASS: label}))
    assert dry_run(usual.control_plane, pod) == []
    assert priority_of(admitted(usual, pod))[:2] == ("policy-low", 10)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_P1_policy_warns_about_a_template_with_refused_pods(usual: Asked, kind: str) -> None:
    namespace = usual.namespace(f"limited-{kind.lower()}")
    workload = make_workload(kind, namespace, priorityClassName="policy-high")
    words = (
        f"{path_of(kind)}.priorityClassName: PriorityClass policy-high is not allowed in namespace {namespace} "
        "(allowed: policy-low, policy-never), its pods will be refused"
    )
    assert messages(usual.create(workload)) == [words]
    if kind != "Job":
        template_of(workload)["spec"]["priorityClassName"] = "policy-low"
        assert usual.apply(workload) == ""


@pytest.mark.parametrize("kind", SHAPES)
def test_P1_policy_refuses_a_template_if_configured(strict: Asked, limited: str, kind: str) -> None:
    workload = make_workload(kind, limited, priorityClassName="policy-high")
    workload["metadata"]["name"] = f"web-{kind.lower()}"
    refusal = (
        f"denied request: {path_of(kind)}.priorityClassName: PriorityClass policy-high is not allowed in namespace "
        f"{limited} (allowed: policy-low), its pods will be refused"
    )
    said = "\n".join(dry_run(strict.control_plane, workload))
    assert refusal in said
    assert f'{WORKLOADS[kind][1]} "web-{kind.lower()}" is forbidden' in said
    assert "Warning" not in said
    template_of(workload)["spec"]["priorityClassName"] = "policy-low"
    assert strict.create(workload) == ""
    if kind != "Job":
        template_of(workload)["spec"]["priorityClassName"] = "policy-high"
        assert refusal in strict.apply(workload, check=False)


def test_P1_policy_ignores_workloads_of_controllers(strict: Asked, limited: str) -> None:
    workload = make_workload("ReplicaSet", limited, priorityClassName="policy-high", terminationGracePeriodSeconds=0)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "0-0", "controller": True}
    workload["metadata"]["ownerReferences"] = [owner]
    assert dry_run(strict.control_plane, workload) == []
    owner["controller"] = False
    assert "is not allowed" in "".join(dry_run(strict.control_plane, workload))


def test_P1_policy_allows_changes_to_stored_workloads(strict: Asked, limited: str) -> None:
    """A later rule must not block cleaning up, especially not the removal of finalizers."""
    control_plane = strict.control_plane
    workload = make_workload("Deployment", limited, priorityClassName="policy-high")
    workload["metadata"] |= {"name": "stored", "finalizers": ["example.com/keep"]}
    control_plane.kubectl("label", "namespace", limited, "asked-")
    wait_for(lambda: dry_run(strict.control_plane, workload) == [], "the rule is off")
    strict.create(workload)
    control_plane.kubectl("label", "namespace", limited, f"asked={STRICT}")
    workload["metadata"]["name"] = "probe"
    wait_for(lambda: dry_run(strict.control_plane, workload), "the rule is on")

    workload["metadata"]["name"] = "stored"
    template_of(workload)["spec"]["containers"][0]["image"] = "y"
    assert "is not allowed in namespace" in strict.apply(workload)
    at = ("-n", limited)
    control_plane.kubectl("scale", "deployment", "stored", "--replicas=1", *at)
    control_plane.kubectl("delete", "deployment", "stored", "--wait=false", *at)
    patch = '{"metadata": {"finalizers": null}}'
    control_plane.kubectl("patch", "deployment", "stored", "--type=merge", "-p", patch, *at)


# Default constraints


def _running(asked: Asked, namespace: str, kind: str) -> list[Object]:
    """The pods of a workload with two replicas."""
    workload = make_workload(kind, namespace, **UNSCHEDULABLE)
    workload["spec"]["replicas"] = 2
    workload["spec"] |= {"podManagementPolicy": "Parallel"} if kind == "StatefulSet" else {}
    asked.create(workload)
    return wait_for(lambda: pods if len(pods := asked.pods_of(namespace)) == 2 else [], f"two pods of the {kind}")


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"])
def test_S4_policy_sets_constraints_that_count_the_owners_pods(usual: Asked, kind: str) -> None:
    namespace = usual.namespace(f"spread-{kind.lower()}")
    other = make_workload("Deployment", namespace, **UNSCHEDULABLE)
    other["metadata"]["name"] = "other"
    other["spec"] |= {"replicas": 1, "selector": {"matchLabels": {"app": "other"}}}
    template_of(other)["metadata"]["labels"] = {"app": "other"}
    usual.create(other)
    (stranger,) = usual.pods_of(namespace, "other")
    pods = _running(usual, namespace, kind)
    for pod in pods:
        (constraint,) = pod["spec"]["topologySpreadConstraints"]
        selector = Selector.from_label_selector(from_object(constraint.pop("labelSelector"), LabelSelector))
        assert constraint == ZONE
        assert all(selector.matches(each["metadata"]["labels"]) for each in pods)
        assert not selector.matches(stranger["metadata"]["labels"])


def _owned(namespace: str, kind: str = "ReplicaSet", api_version: str = "apps/v1", **spec: Any) -> Object:
    """A pod as a controller would create it."""
    pod = make_pod(namespace, **spec)
    pod["metadata"]["labels"] |= {"pod-template-hash": "abc"}
    owner = {"apiVersion": api_version, "kind": kind, "name": "web", "uid": "0-0", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def test_S4_policy_skips_pods_without_such_a_controller(usual: Asked) -> None:
    namespace = usual.namespace("spread-no-controller")
    plain = _owned(namespace)
    plain["metadata"]["ownerReferences"][0]["controller"] = False
    others = [("DaemonSet", "apps/v1"), ("Job", "batch/v1"), ("ReplicaSet", "example.com/v1")]
    for pod in (plain, make_pod(namespace), *(_owned(namespace, *owner) for owner in others)):
        assert "topologySpreadConstraints" not in admitted(usual, pod)


def test_S4_policy_sets_constraints_of_a_namespace_or_none(usual: Asked) -> None:
    labels = {"app": "web", "pod-template-hash": "abc"}
    racks = admitted(usual, _owned(usual.namespace("racks")))
    assert racks["topologySpreadConstraints"] == [with_labels(RACK, labels)]
    for name, more in (("plain-old", {}), ("off", {"kubectl-qos.io/topology-spread": "disabled"})):
        spec = admitted(usual, _owned(usual.namespace(name, labels=more)))
        assert "topologySpreadConstraints" not in spec, name


def test_S4_policy_skips_pods_with_constraints_node_or_scheduler(usual: Asked) -> None:
    namespace = usual.namespace("alone")
    own = [with_labels(RACK, {"app": "web"})]
    assert admitted(usual, _owned(namespace, topologySpreadConstraints=own))["topologySpreadConstraints"] == own
    for spec in ({"nodeName": "nowhere"}, {"schedulerName": "another"}):
        assert "topologySpreadConstraints" not in admitted(usual, _owned(namespace, **spec))
    assert "topologySpreadConstraints" in admitted(usual, _owned(namespace))


def test_S4_policy_writes_system_defaults_without_template_hash(strict: Asked) -> None:
    host, zone = admitted(strict, _owned(strict.namespace("revisions")))["topologySpreadConstraints"]
    assert host == with_labels(HOST, {"app": "web"})
    assert zone == with_labels({**ZONE, "maxSkew": 5}, {"app": "web"})


def test_S4_policy_warns_about_an_ignored_annotation(usual: Asked) -> None:
    namespace = usual.namespace("annotated", annotations={ANNOTATION: json.dumps([HOST])})
    words = (
        f"namespace {namespace}: annotation {ANNOTATION} is ignored: a policy cannot read it; "
        "use clusterDefaultConstraints.namespaces"
    )
    wait_for(lambda: dry_run(usual.control_plane, _owned(namespace)) == [words], "the annotation causes a warning")
    own = _owned(namespace, topologySpreadConstraints=[with_labels(ZONE, {"app": "web"})])
    assert dry_run(usual.control_plane, own) == []


# Warnings


def test_A_policy_names_filled_in_defaults_if_configured(usual: Asked, strict: Asked) -> None:
    filled_in = "policy-low (priority 10, PreemptLowerPriority) is filled in"
    assert dry_run(strict.control_plane, _owned(strict.namespace("reported"))) == [
        f"spec.priorityClassName: {filled_in}, the default of {STRICT}-reported",
        "spec.topologySpreadConstraints: 2 constraints are filled in, the defaults",
    ]
    assert dry_run(strict.control_plane, make_pod(f"{STRICT}-reported", priorityClassName="policy-low")) == []
    assert dry_run(usual.control_plane, _owned(usual.namespace("untold", labels={DEFAULT_CLASS: "policy-low"}))) == []


def _constraint(**selector: Any) -> Object:
    return {**ZONE, "labelSelector": selector}


def _terms(*terms: str) -> Object:
    """A constraint with expressions: each has a key, an operator, and values."""
    parts = [term.split() for term in terms]
    found = [{"key": key, "operator": operator, "values": values or None} for key, operator, *values in parts]
    return _constraint(matchExpressions=[{name: part for name, part in one.items() if part} for one in found])


ONE_PLACE = "does not match the pod's own labels: it is not counted, and copies of it may all go to one place"
LINTS = [
    pytest.param(_constraint(matchLabels={"app": "wbe"}), f"[0].labelSelector: app=wbe {ONE_PLACE}", id="value"),
    pytest.param(_constraint(matchLabels={"ap": "web"}), f"[0].labelSelector: ap=web {ONE_PLACE}", id="key"),
    pytest.param(_terms("app In a b"), f"[0].labelSelector: app in (a,b) {ONE_PLACE}", id="in"),
    pytest.param(_terms("app NotIn web"), f"[0].labelSelector: app notin (web) {ONE_PLACE}", id="not in"),
    pytest.param(_terms("tier Exists"), f"[0].labelSelector: tier {ONE_PLACE}", id="exists"),
    pytest.param(_terms("app DoesNotExist"), f"[0].labelSelector: !app {ONE_PLACE}", id="does not exist"),
    pytest.param(ZONE, "[0]: without labelSelector it counts no pods, so it spreads nothing", id="no selector"),
    pytest.param(_constraint(), "[0].labelSelector: an empty one counts no pods, so it spreads nothing", id="empty"),
    pytest.param(_constraint(matchLabels={"app": "web"}), "", id="matches"),
    pytest.param({**_constraint(), "matchLabelKeys": ["app"]}, "", id="matchLabelKeys alone"),
    pytest.param(_terms("app In web", "app NotIn db", "app Exists", "tier DoesNotExist"), "", id="all operators match"),
]


@pytest.mark.parametrize(("constraint", "words"), LINTS)
def test_A_policy_warns_about_a_constraint_that_misses_its_pod(
    usual: Asked, linted: str, constraint: Object, words: str
) -> None:
    said = dry_run(usual.control_plane, make_pod(linted, topologySpreadConstraints=[constraint]))
    # The API server has its own warning about constraints without selector.
    own = [line for line in said if "a null labelSelector results in matching no pod" not in line]
    assert own == ([f"spec.topologySpreadConstraints{words}"] if words else [])


@pytest.mark.parametrize("kind", SHAPES)
def test_A_policy_warns_of_the_constraints_of_a_template(usual: Asked, linted: str, kind: str) -> None:
    labels = ({"app": "web"}, {"app": "wbe"}, {"pod-template-hash": "x"}, {"tier": "web"})
    own = [{**_constraint(matchLabels=each), "topologyKey": f"key-{index}"} for index, each in enumerate(labels)]
    field = f"{path_of(kind)}.topologySpreadConstraints"
    words = f"{field}[1].labelSelector: app=wbe {ONE_PLACE}; {field}[3].labelSelector: tier=web {ONE_PLACE}"
    assert dry_run(usual.control_plane, make_workload(kind, linted, topologySpreadConstraints=own)) == [words]


def test_A_policy_does_not_warn_controllers_about_constraints(usual: Asked, linted: str) -> None:
    pod = _owned(linted, topologySpreadConstraints=[_constraint(matchLabels={"app": "wbe"})])
    assert dry_run(usual.control_plane, pod) == []


def test_A_policy_does_not_lint_if_disabled(strict: Asked) -> None:
    pod = make_pod(strict.namespace("lint"), topologySpreadConstraints=[_constraint(matchLabels={"app": "wbe"})])
    assert dry_run(strict.control_plane, pod) == []


def test_A_largest_pod_stays_within_the_cost_budget(usual: Asked, strict: Asked, limited: str) -> None:
    """Above the API server's budget for an expression, a warning would be omitted, and every request refused."""
    terms = [{"key": f"label-{number}", "operator": "In", "values": ["a", "b", "c"]} for number in range(20)]
    many = [
        {**_constraint(matchExpressions=terms), "topologyKey": f"example.com/level-{number}"} for number in range(100)
    ]
    many[-1]["labelSelector"] = {"matchLabels": {"app": "wbe"}}
    labels = {f"label-{number}": "a" for number in range(200)}
    containers = [{"name": f"app-{number}", "image": "x"} for number in range(200)]
    pod = make_pod(usual.namespace("large"), containers=containers, topologySpreadConstraints=many)
    pod["metadata"]["labels"] |= labels
    assert dry_run(usual.control_plane, pod) == [
        f"spec.topologySpreadConstraints[99].labelSelector: app=wbe {ONE_PLACE}"
    ]

    owned = _owned(f"{USUAL}-large", containers=containers)
    owned["metadata"]["labels"] |= labels
    (constraint,) = admitted(usual, owned)["topologySpreadConstraints"]
    assert constraint["labelSelector"]["matchLabels"] == owned["metadata"]["labels"]
    owned["metadata"]["namespace"] = limited
    owned["spec"]["priorityClassName"] = "policy-low"
    assert priority_of(admitted(strict, owned))[0] == "policy-low"
