"""The class that a namespace gives to pods without one, and the classes that it allows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.pod.priority import ResolvedPriority, admit_pod_create
from podrules.qos_webhook.rules import PodRules
from tests.controlplane.client import Object
from tests.webhook.clusters import SilentSource, in_doubt, make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.review_objects import create_review, mutated, patched, pod_object, said, validated
from webhook.cluster.view import Cluster
from webhook.reviews.response import ALLOWED, Answer

PREEMPT = "PreemptLowerPriority"
LOW, HIGH = make_class("low", -10, policy="Never"), make_class("high", 1000)
USUAL = make_class("usual", 100, default=True)
CLASSES = [LOW, HIGH, USUAL]
LABELLED = make_namespace(default_priority_class="low")
PLAIN = make_namespace()
UNRESOLVED: Object = {"priority": None, "preemptionPolicy": None}
GLOBAL: Object = {"priorityClassName": "usual", "priority": 100}
AS_LOW, AS_HIGH, AS_USUAL = ("low", -10, "Never"), ("high", 1000, PREEMPT), ("usual", 100, PREEMPT)


def rules(default: str = "", allowed: Sequence[str] | None = None, **more: str) -> PodRules:
    """Rules for namespace shop."""
    defaults = {"shop": default} if default else {}
    limits = {} if allowed is None else {"shop": [*allowed]}
    return pod_rules(priorityClasses={"defaults": defaults, "allowed": limits, **more})


def noted(pod: Object, *fields: str) -> Object:
    """The pod with the API server's record of the fields that its author wrote."""
    entry = {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1"}
    spec: Object = {f"f:{name}": {} for name in ("containers", *fields)}
    managed = [{**entry, "fieldsV1": {"f:metadata": {}, "f:spec": spec}}]
    return {**pod, "metadata": {**pod["metadata"], "managedFields": managed}}


RAW = pod_object(**UNRESOLVED)
BY_GLOBAL = noted(pod_object(**GLOBAL))


def filled_in(pod: Object, cluster: Cluster) -> tuple[tuple[Any, Any, Any], tuple[str, ...]]:
    """Class, priority and policy after the mutation, and the warnings; a second mutation changes nothing more.

    Fields that the API server's plugin had resolved are resolved again after a mutation, before the check.
    """
    answer = mutated(pod, cluster)
    after = patched(pod, answer)
    if "priority" in pod["spec"] and "priority" not in after["spec"]:
        resolved = admit_pod_create(from_object(after, Pod), cluster.priority_classes())
        assert isinstance(resolved, ResolvedPriority)
        after["spec"] |= {"priority": resolved.priority, "preemptionPolicy": resolved.preemption_policy}
    assert mutated(noted(after), cluster).patch == ()
    spec = after["spec"]
    return (spec.get("priorityClassName"), spec.get("priority"), spec.get("preemptionPolicy")), answer.warnings


ONLY_HIGH = rules(default="high", allowed=("high",))


@pytest.mark.parametrize(
    ("namespace", "options", "expected"),
    [
        pytest.param(LABELLED, pod_rules(), AS_LOW, id="the label's"),
        pytest.param(PLAIN, rules(default="high"), AS_HIGH, id="the configuration's"),
        pytest.param(LABELLED, rules(default="high"), AS_LOW, id="the label comes first"),
        pytest.param(LABELLED, ONLY_HIGH, AS_HIGH, id="a label that names what is not allowed does not count"),
        pytest.param(PLAIN, rules(allowed=()), AS_USUAL, id="none: the global default"),
    ],
)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(RAW, id="not resolved"),
        pytest.param(noted(RAW), id="not resolved, noted"),
        pytest.param(BY_GLOBAL, id="resolved to the global default"),
    ],
)
def test_P1_default_of_the_namespace(pod: Object, namespace: Object, options: PodRules, expected: Any) -> None:
    assert filled_in(pod, make_cluster([*CLASSES, namespace], options=options)) == (expected, ())


MISSING = "namespace shop: its default class is not given: no PriorityClass with name low was found"


@pytest.mark.parametrize(
    ("pod", "cached", "live", "expected", "warnings"),
    [
        # The API server's plugin has written priority 0 if there is no global default.
        pytest.param(pod_object(), [LOW, HIGH, LABELLED], None, AS_LOW, (), id="resolved without a class"),
        pytest.param(RAW, [HIGH, USUAL, LABELLED], None, AS_USUAL, (MISSING,), id="the class does not exist"),
        pytest.param(pod_object(), [], [LABELLED, LOW], AS_LOW, (), id="nothing is cached yet"),
    ],
)
def test_P1_default_class_that_is_missing_or_not_cached(
    pod: Object, cached: list[Object], live: list[Object] | None, expected: Any, warnings: tuple[str, ...]
) -> None:
    assert filled_in(pod, make_cluster(cached, live=live)) == (expected, warnings)


def test_P1_deleted_but_cached_default_warns_and_is_ignored() -> None:
    cluster = in_doubt(make_cluster([*CLASSES, LABELLED], live=[HIGH, USUAL]))
    assert filled_in(BY_GLOBAL, cluster) == (AS_USUAL, (MISSING,))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(pod_object(priorityClassName="high", priority=1000), id="another class"),
        pytest.param(noted(pod_object(priorityClassName="high", priority=1000)), id="another class, of a webhook"),
        pytest.param(noted(pod_object(**GLOBAL), "priorityClassName"), id="the global default, by name"),
        pytest.param(pod_object(**GLOBAL), id="the global default without managedFields"),
        pytest.param(pod_object(priorityClassName="low", priority=-10, preemptionPolicy="Never"), id="the default"),
    ],
)
def test_P1_chosen_class_is_kept(pod: Object) -> None:
    assert mutated(pod, make_cluster([*CLASSES, LABELLED])) == ALLOWED


def test_P1_api_server_resolves_a_replaced_default_class() -> None:
    """It refuses a value that differs from the class's, and the cache may be old."""
    answer = mutated(BY_GLOBAL, make_cluster([*CLASSES, LABELLED], live=SilentSource()))
    assert [(step.op, step.path) for step in answer.patch] == [
        ("add", "/spec/priorityClassName"),
        ("remove", "/spec/priority"),
        ("remove", "/spec/preemptionPolicy"),
    ]


def test_P1_unreadable_default_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert filled_in(RAW, make_cluster([HIGH, USUAL, LABELLED], live=SilentSource())) == (AS_USUAL, ())
    assert "a pod in shop gets no default class: low cannot be read" in caplog.text


def test_P1_unreadable_namespace_gets_the_configured_rules(caplog: pytest.LogCaptureFixture) -> None:
    cluster = make_cluster(CLASSES, live=SilentSource(), options=rules(default="high"))
    with caplog.at_level(logging.WARNING):
        assert filled_in(RAW, cluster) == (AS_HIGH, ())
    assert "Namespace shop cannot be read and is treated as unlabelled" in caplog.text


@pytest.mark.parametrize(
    ("namespace", "pod", "filled"),
    [
        pytest.param(LABELLED, RAW, "low (priority -10, Never)|the default of shop", id="the namespace's default"),
        pytest.param(PLAIN, RAW, f"usual (priority 100, {PREEMPT})|the cluster's default", id="the cluster's default"),
        pytest.param(PLAIN, pod_object(priorityClassName="low", **UNRESOLVED), "", id="a class that was named"),
        pytest.param(PLAIN, BY_GLOBAL, "", id="nothing is filled in"),
    ],
)
def test_A_filled_in_defaults_are_reported_if_configured(namespace: Object, pod: Object, filled: str) -> None:
    verbose = make_cluster([*CLASSES, namespace], options=pod_rules(warnings="verbose"))
    line = f"spec.priorityClassName: {filled.replace('|', ' is filled in, ')}"
    assert filled_in(pod, verbose)[1] == ((line,) if filled else ())
    assert filled_in(pod, make_cluster([*CLASSES, namespace]))[1] == ()


# Allowed classes


def judged(spec: Mapping[str, Any], options: PodRules) -> Answer:
    pod = pod_object(name="web", **spec)
    return said(validated(pod, make_cluster([LOW, HIGH], options=options)))


HIGH_SPEC: Object = {"priorityClassName": "high", "priority": 1000}
NOT_ALLOWED = "PriorityClass high is not allowed in namespace shop (allowed: {})"


@pytest.mark.parametrize(("allowed", "named"), [(("low",), "low"), (("usual", "low"), "usual, low"), ((), "none")])
def test_P1_disallowed_class_is_refused_or_warns(allowed: tuple[str, ...], named: str) -> None:
    options = rules(allowed=allowed)
    problem = NOT_ALLOWED.format(named)
    assert judged(HIGH_SPEC, options) == Answer(denial=f'pods "web" is forbidden: {problem}')
    warning = rules(allowed=allowed, disallowed="warn")
    assert judged(HIGH_SPEC, warning) == Answer(warnings=(f"spec.priorityClassName: {problem}",))


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        pytest.param(HIGH_SPEC, pod_rules(), id="no list"),
        pytest.param(HIGH_SPEC, rules(allowed=("low", "high")), id="on the list"),
        pytest.param(HIGH_SPEC, rules(allowed=("*",)), id="any"),
        pytest.param({}, rules(allowed=("low",)), id="a pod of no class"),
    ],
)
def test_P1_allowed_pods(spec: Mapping[str, Any], options: PodRules) -> None:
    assert judged(spec, options) == ALLOWED


def test_P1_missing_class_is_reported_first() -> None:
    answer = judged({"priorityClassName": "hihg"}, rules(allowed=("low",)))
    assert answer.denial == 'pods "web" is forbidden: no PriorityClass with name hihg was found; did you mean high?'


def test_P1_mirror_pods_of_kubelets_are_allowed() -> None:
    """But no others: any client can set the annotation."""
    mirror = {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}
    pod = pod_object(name="etcd", annotations=mirror, **HIGH_SPEC)
    cluster = make_cluster(CLASSES, options=rules(allowed=()))
    assert validated(create_review(pod, groups=("system:nodes",)), cluster) == ALLOWED
    assert "PriorityClass high is not allowed" in validated(pod, cluster).denial
