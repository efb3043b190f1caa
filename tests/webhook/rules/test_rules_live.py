"""Rules of namespaces, templates and constraints on a real API server: two releases of the chart with other values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.client import ApiError, Object
from tests.controlplane.control_plane import ControlPlane
from tests.e2e.access import robot
from tests.e2e.plugin import InProcess, KeptConnection
from tests.kubectl_plugin.running import run
from tests.objects import raw_priority_class
from tests.waiting import wait_for
from tests.webhook.asking import (
    WORKLOADS,
    Asked,
    make_pod,
    make_service,
    make_workload,
    path_of,
    priority_of,
    released,
    template_of,
    with_labels,
)
from tests.webhook.installation import ZONE, Installation, chart_values

pytestmark = pytest.mark.controlplane

DEFAULT_CLASS = "kubectl-qos.io/default-priority-class"
PREEMPT = "PreemptLowerPriority"
RACK = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
HOST = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
MISSING = "namespace usual-gone: its default class is not given: no PriorityClass with name rules-gone was found"
USUAL_VALUES: Object = {
    "priorityClasses": {
        "defaults": {"usual-configured": "rules-low", "usual-gone": "rules-gone"},
        "allowed": {"usual-limited*": ["rules-low", "rules-never"], "usual-limited-free": ["*"]},
    },
    "lint": {"topologyKeys": True},
}
STRICT_VALUES = {
    "priorityClasses": {"allowed": {"strict-limited": ["rules-low"]}, "templates": "deny"},
    "lint": {"spreadSelectors": False},
    "warnings": "verbose",
}
LENIENT_VALUES = {
    "priorityClasses": {"allowed": {"lenient-limited*": ["rules-low"]}, "disallowed": "warn", "templates": "deny"}
}


@pytest.fixture(scope="module")
def classes(control_plane: ControlPlane) -> Iterator[None]:
    """Three classes."""
    made = (
        raw_priority_class("rules-low", 10),
        raw_priority_class("rules-never", 20, preemptionPolicy="Never"),
        raw_priority_class("rules-high", 1000),
    )
    with control_plane.holding(made):
        yield


@pytest.fixture(scope="module")
def install(
    control_plane: ControlPlane, helm: Path, classes: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, Callable[[int], Object]], Asked]]:
    """Install the chart for namespaces with its label, and start a replica."""
    with ExitStack() as stack:

        def install(name: str, values: Callable[[int], Object]) -> Asked:
            def given(port: int) -> Object:
                found = values(port)
                matched = {"key": "asked", "operator": "In", "values": [name]}
                return {**found, "webhook": {**found["webhook"], "namespaceMatchExpressions": [matched]}}

            control_plane.create_namespace(f"{name}-system")
            folder = tmp_path_factory.mktemp(name)
            installation = Installation(control_plane, helm, folder, namespace=f"{name}-system", release=name)
            asked = Asked(control_plane, name)
            probe = make_pod(asked.namespace("probe", labels={DEFAULT_CLASS: "rules-low"}), "probe")
            is_called = partial(asked.answers, probe, lambda spec: spec["priority"] == 10)
            stack.enter_context(released(installation, given, is_called))
            return asked

        yield install


@pytest.fixture(scope="module")
def usual(install: Callable[..., Asked]) -> Asked:
    """With rules for namespaces, and defaults of type List."""
    zone = {**ZONE, "matchLabelKeys": ["pod-template-hash"]}

    def values(port: int) -> Object:
        given = chart_values(port, zone, **USUAL_VALUES)
        given["clusterDefaultConstraints"]["namespaces"] = {"usual-racks*": [RACK], "usual-plain*": []}
        return given

    return install("usual", values)


@pytest.fixture(scope="module")
def strict(install: Callable[..., Asked]) -> Asked:
    """Templates are refused, defaults are reported, those of type System are written, without the hash."""
    constraints = {"writeSystemDefaults": True, "leaveOutTemplateHash": True}
    own = {**STRICT_VALUES, "clusterDefaultConstraints": constraints}
    return install("strict", lambda port: {**chart_values(port), **own})


@pytest.fixture(scope="module")
def lenient(install: Callable[..., Asked]) -> Asked:
    """Classes that are not allowed cause only warnings."""
    return install("lenient", lambda port: {**chart_values(port), **LENIENT_VALUES})


@pytest.fixture(scope="module")
def qos(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """``kubectl qos explain`` in this process."""
    with KeptConnection(tmp_path_factory.mktemp("kept")) as kept:
        yield InProcess(control_plane, tmp_path_factory.mktemp("run"), kept)


# The class of pods that name none


@pytest.mark.parametrize(
    ("name", "label", "said", "expected"),
    [
        ("labelled", "rules-low", "", ("rules-low", 10, PREEMPT)),
        ("never", "rules-never", "", ("rules-never", 20, "Never")),
        ("gone", None, f"Warning: {MISSING}\n", (None, 0, PREEMPT)),
    ],
)
def test_P1_label_of_the_namespace_gives_the_default_class(
    usual: Asked, name: str, label: str | None, said: str, expected: tuple[str | None, int, str]
) -> None:
    pod = make_pod(usual.namespace(name, labels={DEFAULT_CLASS: label} if label else {}))
    assert usual.create(pod) == said
    assert priority_of(usual.stored(pod)) == expected


def test_P1_default_class_comes_from_configuration_or_label(usual: Asked) -> None:
    namespace = usual.namespace("configured")
    pod, named = make_pod(namespace), make_pod(namespace, "named", priorityClassName="rules-high")
    usual.create(pod, named)
    assert priority_of(usual.stored(pod)) == ("rules-low", 10, PREEMPT)
    assert priority_of(usual.stored(named)) == ("rules-high", 1000, PREEMPT)

    usual.control_plane.kubectl("label", "namespace", namespace, f"{DEFAULT_CLASS}=rules-never")
    following = make_pod(namespace, "next")
    expected = ("rules-never", 20, "Never")
    wait_for(lambda: priority_of(usual.tried(following)["spec"]) == expected, "the label is seen")


def test_P1_default_class_of_a_controllers_pods(usual: Asked) -> None:
    namespace = usual.namespace("owned", labels={DEFAULT_CLASS: "rules-low"})
    usual.create(make_workload("Deployment", namespace, replicas=1))
    assert [priority_of(pod["spec"])[:2] for pod in usual.pods_of(namespace)] == [("rules-low", 10)]


@pytest.fixture
def global_default(control_plane: ControlPlane) -> Iterator[str]:
    """A global default, for a time as short as possible: it is shared."""
    made = raw_priority_class("rules-global", 5, globalDefault=True)
    control_plane.apply([made])

    def priority() -> int:
        found: int = Asked(control_plane, "").tried(make_pod("default", "probe"))["spec"]["priority"]
        return found

    wait_for(lambda: priority() == 5, "the API server uses the global default")
    yield "rules-global"
    control_plane.api.delete(made)
    wait_for(lambda: priority() == 0, "the global default is forgotten")


def test_P1_default_of_the_namespace_comes_before_the_global_one(usual: Asked, global_default: str) -> None:
    labelled = usual.namespace("before", labels={DEFAULT_CLASS: "rules-low"})
    other = usual.namespace("other")
    first, named = make_pod(labelled), make_pod(labelled, "named", priorityClassName=global_default)
    pods = (first, named, make_pod(other))
    # Until the webhook knows the new global default, it takes it for the author's choice.
    wait_for(lambda: priority_of(usual.tried(first)["spec"])[0] == "rules-low", "the webhook knows the global default")
    usual.create(*pods)
    stored = [priority_of(usual.stored(pod))[:2] for pod in pods]
    assert stored == [("rules-low", 10), (global_default, 5), (global_default, 5)]


def test_P1_new_class_is_set(usual: Asked) -> None:
    for number in range(5):
        made = raw_priority_class(f"rules-new-{number}", 30 + number)
        usual.control_plane.apply([made])
        pod = make_pod(usual.namespace(f"new-{number}", labels={DEFAULT_CLASS: f"rules-new-{number}"}))
        assert usual.create(pod) == ""
        assert priority_of(usual.stored(pod))[:2] == (f"rules-new-{number}", 30 + number)
        usual.control_plane.api.delete(made)


# Allowed classes


def test_P1_class_that_the_namespace_does_not_allow_is_refused(usual: Asked) -> None:
    pod = make_pod(usual.namespace("limited"), priorityClassName="rules-high")
    assert (
        'admission webhook "pods.validate.kubectl-qos.io" denied the request: pods "web" is forbidden: PriorityClass '
        "rules-high is not allowed in namespace usual-limited (allowed: rules-low, rules-never)"
    ) in usual.create(pod, check=False)
    pod["spec"]["priorityClassName"] = "rules-never"
    assert usual.create(pod) == ""


def test_P1_disallowed_class_only_warns_if_configured(lenient: Asked) -> None:
    """Templates are not refused either, because their pods are not."""
    namespace = lenient.namespace("limited")
    pod = make_pod(namespace, priorityClassName="rules-high")
    problem = f"PriorityClass rules-high is not allowed in namespace {namespace} (allowed: rules-low)"
    assert lenient.create(pod) == f"Warning: spec.priorityClassName: {problem}\n"
    assert priority_of(lenient.stored(pod))[:2] == ("rules-high", 1000)
    for kind in WORKLOADS:
        said = _dry_run(lenient, make_workload(kind, namespace, priorityClassName="rules-high"))
        assert said == f"Warning: {path_of(kind)}.priorityClassName: {problem}\n"
    unknown = make_workload("Deployment", namespace, priorityClassName="rules-gone")
    assert "denied the request" in _dry_run(lenient, unknown, check=False)


def test_P1_most_specific_list_counts(usual: Asked) -> None:
    free = make_pod(usual.namespace("limited-free"), priorityClassName="rules-high")
    assert usual.create(free) == ""
    said = usual.create(make_pod(usual.namespace("limited-more"), priorityClassName="rules-high"), check=False)
    assert "not allowed in namespace usual-limited-more" in said


def test_P1_label_cannot_name_a_class_that_is_not_allowed(usual: Asked) -> None:
    pod = make_pod(usual.namespace("limited-label", labels={DEFAULT_CLASS: "rules-high"}))
    usual.create(pod)
    assert priority_of(usual.stored(pod)) == (None, 0, PREEMPT)


def test_P1_pods_of_a_template_with_warning_are_refused(usual: Asked) -> None:
    """The warning is correct: the ReplicaSet creates no pod, and reports why."""
    namespace = usual.namespace("limited-owned")
    workload = make_workload("Deployment", namespace, replicas=1, priorityClassName="rules-high")
    assert usual.create(workload) == (
        "Warning: spec.template.spec.priorityClassName: PriorityClass rules-high is not allowed in namespace "
        "usual-limited-owned (allowed: rules-low, rules-never), its pods will be refused\n"
    )

    def is_reported() -> bool:
        events = usual.control_plane.api.list_items("v1", "Event", namespace)
        reasons = [event["message"] for event in events if event["reason"] == "FailedCreate"]
        return any("PriorityClass rules-high is not allowed" in reason for reason in reasons)

    wait_for(is_reported, "the event of the ReplicaSet")
    assert usual.control_plane.api.list_items("v1", "Pod", namespace) == []


# Quotas


def test_P1_quota_counts_the_class_that_was_filled_in(usual: Asked) -> None:
    namespace = usual.namespace("quota", labels={DEFAULT_CLASS: "rules-low"})
    for name in ("rules-low", "rules-high"):
        usual.limit(namespace, name, 0)
    usual.raise_limit(namespace, "rules-low", 1)
    wait_for(lambda: usual.refuses_more(namespace, "rules-high"), "the other quota holds")
    usual.create(make_pod(namespace))
    assert usual.used(namespace, "rules-low") == "1"
    assert "exceeded quota: rules-low" in usual.create(make_pod(namespace, "second"), check=False)
    assert "exceeded quota: rules-high" in usual.create(
        make_pod(namespace, priorityClassName="rules-high"), check=False
    )


def test_P1_refusal_uses_no_quota(usual: Asked) -> None:
    namespace = usual.namespace("limited-quota")
    usual.limit(namespace, "rules-high", 5)
    said = usual.create(make_pod(namespace, priorityClassName="rules-high"), check=False)
    assert "PriorityClass rules-high is not allowed" in said
    assert usual.used(namespace, "rules-high") == "0"


# Templates


@pytest.mark.parametrize("kind", WORKLOADS)
def test_P1_template_with_disallowed_class_warns(usual: Asked, kind: str) -> None:
    namespace = usual.namespace(f"limited-{kind.lower()}")
    workload = make_workload(kind, namespace, priorityClassName="rules-hihg")
    unknown = (
        f"Warning: {path_of(kind)}.priorityClassName: no PriorityClass with name rules-hihg was found, "
        "its pods will be refused; did you mean rules-high or rules-low?\n"
    )
    not_allowed = (
        f"Warning: {path_of(kind)}.priorityClassName: PriorityClass rules-high is not allowed in namespace {namespace} "
        "(allowed: rules-low, rules-never), its pods will be refused\n"
    )
    assert usual.create(workload) == unknown
    if kind == "Job":
        # Its template cannot change.
        workload["metadata"]["name"] = "next"
    template_of(workload)["spec"]["priorityClassName"] = "rules-high"
    assert (usual.create if kind == "Job" else usual.apply)(workload) == not_allowed
    if kind != "Job":
        template_of(workload)["spec"]["priorityClassName"] = "rules-low"
        assert usual.apply(workload) == ""


@pytest.mark.parametrize("kind", WORKLOADS)
def test_P1_template_is_refused_if_configured(strict: Asked, kind: str) -> None:
    namespace = strict.namespace(f"templates-{kind.lower()}")
    workload = make_workload(kind, namespace, priorityClassName="rules-hihg")
    refusal = (
        f'admission webhook "workloads.kubectl-qos.io" denied the request: {WORKLOADS[kind][1]} "web" is forbidden: '
        f"{path_of(kind)}.priorityClassName: no PriorityClass with name rules-hihg was found, "
        "its pods will be refused; did you mean rules-high or rules-low?"
    )
    assert refusal in strict.create(workload, check=False)
    template_of(workload)["spec"]["priorityClassName"] = "rules-low"
    assert strict.create(workload) == ""
    if kind != "Job":
        template_of(workload)["spec"]["priorityClassName"] = "rules-hihg"
        assert refusal in strict.apply(workload, check=False)


def test_P1_stored_template_can_be_scaled_changed_and_deleted(strict: Asked) -> None:
    """The class is deleted later: cleaning up must still work, especially the removal of finalizers."""
    control_plane = strict.control_plane
    namespace = strict.namespace("stored")
    made = raw_priority_class("rules-passing", 40)
    control_plane.apply([made])
    workload = make_workload("Deployment", namespace, priorityClassName="rules-passing")
    workload["metadata"]["finalizers"] = ["example.com/keep"]
    strict.create(workload)
    control_plane.api.delete(made)
    template_of(workload)["spec"]["containers"][0]["image"] = "y"

    said = wait_for(lambda: strict.apply(workload), "the class is forgotten")
    assert "no PriorityClass with name rules-passing" in said
    control_plane.kubectl("scale", "deployment", "web", "-n", namespace, "--replicas=1")
    control_plane.kubectl("delete", "deployment", "web", "-n", namespace, "--wait=false")
    unkept = '{"metadata": {"finalizers": null}}'
    control_plane.kubectl("patch", "deployment", "web", "-n", namespace, "--type=merge", "-p", unkept)


def test_P1_template_without_a_class_is_judged_by_its_default(strict: Asked, global_default: str) -> None:
    workload = make_workload("Deployment", strict.namespace("limited"))
    said = wait_for(lambda: _dry_run(strict, workload, check=False), "the webhook knows the global default")
    assert f"PriorityClass {global_default} is not allowed in namespace strict-limited (allowed: rules-low)" in said


# Default constraints


def test_S4_match_label_keys_of_a_default_are_not_written(usual: Asked) -> None:
    """The selector contains pod-template-hash already, and the API server accepts no key in both."""
    namespace = usual.namespace("keys")
    usual.create(make_workload("Deployment", namespace, replicas=1))
    (pod,) = usual.pods_of(namespace)
    labels = pod["metadata"]["labels"]
    assert {*labels} == {"app", "pod-template-hash"}
    assert pod["spec"]["topologySpreadConstraints"] == [with_labels(ZONE, labels)]
    both = {**with_labels(ZONE, labels), "matchLabelKeys": ["pod-template-hash"]}
    refused = make_pod(namespace, "both", topologySpreadConstraints=[both])
    refused["metadata"]["labels"] = labels
    assert "exists in both matchLabelKeys and labelSelector" in usual.create(refused, check=False)


def test_S4_system_defaults_are_written_without_template_hash(strict: Asked) -> None:
    namespace = strict.namespace("revisions")
    workload = make_workload("Deployment", namespace, replicas=1)
    strict.create(workload)
    strict.pods_of(namespace)
    template_of(workload)["spec"]["containers"][0]["image"] = "y"
    strict.apply(workload)
    wait_for(lambda: len(strict.pods_of(namespace)) == 2, "a pod of the next revision")
    pods = strict.pods_of(namespace)
    assert len({pod["metadata"]["labels"]["pod-template-hash"] for pod in pods}) == 2
    for pod in pods:
        assert pod["spec"]["topologySpreadConstraints"] == [
            with_labels({**HOST, "maxSkew": 3}, {"app": "web"}),
            with_labels({**ZONE, "maxSkew": 5}, {"app": "web"}),
        ]


def test_S4_configuration_sets_constraints_of_a_namespace(usual: Asked) -> None:
    racks, plain = usual.namespace("racks"), usual.namespace("plain-old")
    usual.create(make_service(plain), make_service(racks))
    # The last one that was created: then it knows both.
    wait_for(lambda: _eventually(usual, racks, RACK), "the Services are known")
    usual.create(make_pod(racks), make_pod(plain))
    assert usual.stored(make_pod(racks))["topologySpreadConstraints"] == [with_labels(RACK, {"app": "web"})]
    assert "topologySpreadConstraints" not in usual.stored(make_pod(plain))


def _eventually(asked: Asked, namespace: str, expected: Object | None, warning: str = "") -> bool:
    """Whether a new pod of the namespace gets this constraint, with this warning."""
    found = asked.tried(make_pod(namespace, "next"))["spec"].get("topologySpreadConstraints")
    warned = not warning or any(text.startswith(warning) for text in asked.control_plane.api.warnings)
    return warned and found == (None if expected is None else [with_labels(expected, {"app": "web"})])


def test_S4_annotation_takes_precedence_and_label_disables(usual: Asked) -> None:
    annotation = "kubectl-qos.io/default-topology-spread-constraints"
    namespace = usual.namespace("annotated", annotations={annotation: json.dumps([HOST])})
    usual.create(make_service(namespace))
    wait_for(lambda: _eventually(usual, namespace, HOST), "the annotation is seen")

    usual.control_plane.kubectl("annotate", "namespace", namespace, "--overwrite", f'{annotation}=[{{"maxSkew": 0}}]')
    warning = f"namespace {namespace}: annotation {annotation} is ignored: defaultConstraints[0].maxSkew"
    wait_for(lambda: _eventually(usual, namespace, ZONE, warning), "a report, and the cluster's defaults")

    usual.control_plane.kubectl("label", "namespace", namespace, "kubectl-qos.io/topology-spread=disabled")
    wait_for(lambda: _eventually(usual, namespace, None), "the label is seen")


# Warnings


def _dry_run(asked: Asked, entry: Object, *, check: bool = True) -> str:
    """The standard error of kubectl about an object that is not stored."""
    refusal = ""
    try:
        asked.tried(entry)
    except ApiError as error:
        if check:
            raise
        refusal = f"Error from server: {error.message}\n"
    return "".join(f"Warning: {text}\n" for text in asked.control_plane.api.warnings) + refusal


def _said(asked: Asked, entry: Object, expected: str) -> None:
    """Wait until an object causes exactly this output: the webhook's knowledge comes from watches."""
    wait_for(lambda: _dry_run(asked, entry) == expected, f"{asked.name}: {expected}")


def test_A_filled_in_defaults_are_reported_only_if_configured(usual: Asked, strict: Asked) -> None:
    for asked in (usual, strict):
        asked.create(make_service(asked.namespace("reported", labels={DEFAULT_CLASS: "rules-low"})))
    expected = (
        "Warning: spec.priorityClassName: rules-low (priority 10, PreemptLowerPriority) is filled in, "
        "the default of strict-reported\n"
        "Warning: spec.topologySpreadConstraints: 2 constraints are filled in, the cluster's defaults\n"
    )
    _said(strict, make_pod("strict-reported"), expected)
    _said(usual, make_pod("usual-reported"), "")


def test_A_constraint_that_misses_its_own_pod_warns(usual: Asked, make_node: Callable[..., Object]) -> None:
    make_node(labels={"topology.kubernetes.io/zone": "a"})
    namespace = usual.namespace("lint-selector")
    mistyped = [with_labels(ZONE, {"app": "wbe"})]
    words = (
        "topologySpreadConstraints[0].labelSelector: app=wbe does not match the pod's own labels: "
        "it is not counted, and copies of it may all go to one place\n"
    )

    pod = make_pod(namespace, topologySpreadConstraints=mistyped)
    _said(usual, pod, f"Warning: spec.{words}")
    for kind in WORKLOADS:
        workload = make_workload(kind, namespace, topologySpreadConstraints=mistyped)
        assert _dry_run(usual, workload) == f"Warning: {path_of(kind)}.{words}"
    keys = [{**with_labels(ZONE, {"app": "web"}), "matchLabelKeys": ["pod-template-hash"]}]
    assert _dry_run(usual, make_workload("Deployment", namespace, topologySpreadConstraints=keys)) == ""


def test_A_constraint_with_unknown_key_warns(usual: Asked, strict: Asked, make_node: Callable[..., Object]) -> None:
    make_node(labels={"topology.kubernetes.io/zone": "a"})
    constraint = {**with_labels(ZONE, {"app": "web"}), "topologyKey": "topology.kubernetes.io/zoen"}

    for when, consequence in (("DoNotSchedule", "the pod fits nowhere"), ("ScheduleAnyway", "it spreads over nothing")):
        own = [{**constraint, "whenUnsatisfiable": when}]
        words = (
            "Warning: spec.topologySpreadConstraints[0].topologyKey: no node has label topology.kubernetes.io/zoen: "
            f"{consequence}; did you mean topology.kubernetes.io/zone"
        )
        pod = make_pod("usual-probe", priorityClassName="rules-low", topologySpreadConstraints=own)

        wait_for(lambda: _dry_run(usual, pod).startswith(words), "the node is seen, and its labels")  # noqa: B023
        said = _dry_run(strict, make_pod("strict-probe", priorityClassName="rules-low", topologySpreadConstraints=own))
        assert said == ""


# Predictions of `kubectl qos explain`


WEBHOOKS = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
WRITTEN = ("topologySpreadConstraints", "priorityClassName", "priority", "preemptionPolicy")


def _written(pod: Object) -> Object:
    """The fields that the webhook and the Priority plugin write, with any hash of the revision."""
    labels = pod["metadata"].get("labels", {})
    text = json.dumps({name: pod["spec"].get(name) for name in WRITTEN}, sort_keys=True)
    found: Object = json.loads(text.replace(labels.get("pod-template-hash", "planned-web"), "HASH"))
    return found


def _predicted(report: Object, name: str = "planned-web") -> Object:
    """The same with a report."""
    priority, webhook = report["priority"], report["webhook"]
    constraints = [
        {key: value for key, value in one.items() if value not in (None, [])}
        | {"labelSelector": {key: value for key, value in one["labelSelector"].items() if value}}
        for one in webhook["topologySpreadConstraints"]
    ]
    spec = {
        "topologySpreadConstraints": constraints or None,
        "priorityClassName": priority["className"] or None,
        "priority": priority["priority"],
        "preemptionPolicy": priority["preemptionPolicy"],
    }
    return _written({"metadata": {"labels": {"pod-template-hash": name}}, "spec": spec})


@pytest.mark.parametrize("name", ["racks-foretold", "plain-label", "foretold", "configured-x"])
def test_S4_explain_predicts_what_is_written(usual: Asked, qos: InProcess, tmp_path: Path, name: str) -> None:
    label = {} if name == "racks-foretold" else {DEFAULT_CLASS: "rules-never"}
    namespace = usual.namespace(name, labels=label)
    usual.create(make_service(namespace))
    workload = make_workload("Deployment", namespace, replicas=1)
    file = tmp_path / "web.json"
    file.write_text(json.dumps(workload))
    before = qos.json("-f", file)
    usual.create(workload)
    (pod,) = usual.pods_of(namespace)
    assert _predicted(before) == _written(pod)
    assert before["webhook"]["unknown"] == []
    # Another pod of the existing revision.
    report = qos.json("deployment/web", "-n", namespace)
    assert _predicted(report["template"], pod["metadata"]["labels"]["pod-template-hash"]) == _written(pod)


def test_P1_explain_predicts_what_is_refused(usual: Asked, lenient: Asked, qos: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "pod.json"
    refused = make_pod(usual.namespace("limited-foretold"), priorityClassName="rules-high")
    file.write_text(json.dumps(refused))
    report = qos.json("-f", file, code=6)
    assert report["refusal"]["message"] in usual.create(refused, check=False)
    warned = make_pod(lenient.namespace("limited-foretold"), priorityClassName="rules-high")
    file.write_text(json.dumps(warned))
    (warning,) = qos.json("-f", file)["webhook"]["warnings"]
    assert lenient.create(warned) == f"Warning: {warning}\n"


def test_P1_explain_names_missing_permissions(usual: Asked, qos: InProcess, tmp_path: Path) -> None:
    namespace = usual.namespace("unread", labels={DEFAULT_CLASS: "rules-low"})
    user = robot(usual.control_plane, namespace)
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(make_pod(namespace)))
    report = qos.json("-f", file, kubeconfig=user, code=11)
    assert report["webhook"]["unknown"] == [f"{WEBHOOKS} could not be read"]
    assert WEBHOOKS in {one["resource"] for one in report["lacks"]}


def test_P1_snapshot_keeps_what_explain_predicts(usual: Asked, qos: InProcess, tmp_path: Path) -> None:
    namespace = usual.namespace("captured", labels={DEFAULT_CLASS: "rules-low"})
    usual.create(make_service(namespace), make_workload("Deployment", namespace))
    live = qos.json("deployment/web", "-n", namespace)["template"]["webhook"]
    file = str(tmp_path / "cluster.qos")
    assert qos.also("snapshot")("-o", file).code == 0
    captured = run("explain", "deployment/web", "-n", namespace, "--snapshot", file, "-o", "json")
    assert json.loads(captured.out)["template"]["webhook"] == live
    assert (live["priorityClassName"], live["unknown"]) == ("rules-low", [])
