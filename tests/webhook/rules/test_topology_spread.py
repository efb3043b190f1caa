"""The default topology spread constraints of new pods."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from cluster_io.demo import demo_objects
from podrules.api.model.decode import from_object
from podrules.api.model.workload import ConfigMap
from podrules.qos_webhook.defaults import CONSTRAINTS_ANNOTATION
from podrules.qos_webhook.rules import PodRules
from tests.controlplane.client import Object
from tests.objects import raw_object
from tests.webhook.clusters import SilentSource, make_class, make_cluster, make_namespace, pod_rules
from tests.webhook.review_objects import controlled_by, create_review, mutated, patched, pod_object, update_review
from webhook.cluster.cached import SpreadDefaults
from webhook.cluster.view import Cluster
from webhook.reviews.admission_review import decode_review
from webhook.reviews.response import ALLOWED
from webhook.rules import mutate

ANYWAY = "ScheduleAnyway"
CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
- schedulerName: strict
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeAffinityPolicy: Ignore,
         nodeTaintsPolicy: Honor, matchLabelKeys: [pod-template-hash]}
- schedulerName: nothing
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List}
- schedulerName: system
"""
LABELS = {"app": "web", "pod-template-hash": "5f6c"}


def make_service(selector: Mapping[str, str] | None, namespace: str = "shop") -> Object:
    return raw_object("Service", "web", namespace, spec={"selector": selector})


def make_owner(kind: str, selector: Mapping[str, Any], *, uid: str = "1") -> Object:
    api_version = "v1" if kind == "ReplicationController" else "apps/v1"
    return raw_object(
        kind, "web-5f6c", "shop", apiVersion=api_version, metadata={"uid": uid}, spec={"selector": selector}
    )


OF_REVISION, OF_APP = {"matchLabels": LABELS}, {"matchLabels": {"app": "web"}}
REPLICA_SET = make_owner("ReplicaSet", OF_REVISION)
SERVICE = make_service({"app": "web"})


def make_owned(owner: Mapping[str, Any] | None = REPLICA_SET, **spec: Any) -> Object:
    """A pod as it is sent on CREATE: owned by ``owner``, without a name."""
    return pod_object(labels=LABELS, owner=None if owner is None else controlled_by(owner), **spec)


def _constraints(pod: Object, cluster: Cluster) -> Any:
    """The admitted pod; a second mutation changes nothing."""
    after = patched(pod, mutated(pod, cluster))
    assert mutated(after, cluster) == ALLOWED
    given = after["spec"].pop("topologySpreadConstraints", None)
    assert after["spec"] == {key: value for key, value in pod["spec"].items() if key != "topologySpreadConstraints"}
    return given


def by_zone(selector: Mapping[str, Any]) -> list[Object]:
    """The constraint of the default profile."""
    zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": ANYWAY}
    return [{**zone, "labelSelector": dict(selector)}]


def _term(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


BY_REVISION = by_zone(OF_REVISION)
EXPRESSIONS = {"matchExpressions": [_term("app", "In", "web", "api"), _term("canary", "DoesNotExist")]}


@pytest.mark.parametrize(
    ("objects", "selector"),
    [
        pytest.param([REPLICA_SET], OF_REVISION, id="a ReplicaSet"),
        pytest.param([SERVICE], OF_APP, id="a Service alone"),
        pytest.param([SERVICE, REPLICA_SET], OF_REVISION, id="a Service and a ReplicaSet"),
        pytest.param([make_owner("StatefulSet", OF_APP)], OF_APP, id="a StatefulSet"),
        pytest.param([make_owner("ReplicationController", {"app": "web"})], OF_APP, id="a ReplicationController"),
        pytest.param([make_owner("ReplicaSet", EXPRESSIONS)], EXPRESSIONS, id="a ReplicaSet with expressions"),
    ],
)
def test_S4_the_selector_is_deduced(objects: Sequence[Object], selector: Mapping[str, Any]) -> None:
    """Of the last object if that owns the pod."""
    owner = objects[-1] if objects[-1] is not SERVICE else None
    cluster = make_cluster([make_namespace(), *objects], scheduler_config=CONFIG)
    assert _constraints(make_owned(owner), cluster) == by_zone(selector)


RACK = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
POLICIES = {"minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        pytest.param("default-scheduler", BY_REVISION, id="the usual one"),
        pytest.param(None, BY_REVISION, id="none named"),
        pytest.param("strict", [{**RACK, **POLICIES, "labelSelector": OF_REVISION}], id="another profile"),
        pytest.param("nothing", None, id="an empty List"),
        pytest.param("system", None, id="System, which the scheduler applies by itself"),
        pytest.param("another-scheduler", None, id="a scheduler that the configuration does not name"),
    ],
)
def test_S4_each_scheduler_has_its_own(scheduler: str | None, expected: Sequence[Object] | None) -> None:
    cluster = make_cluster([make_namespace(), REPLICA_SET], scheduler_config=CONFIG)
    assert _constraints(make_owned(schedulerName=scheduler), cluster) == expected


def configured_by(text: str) -> ConfigMap:
    return from_object({"metadata": {"namespace": "kube-system", "name": "own"}, "data": {"a.yaml": text}}, ConfigMap)


REFUSED = {
    "a removed field": (f"{CONFIG}disablePreemption: true\n", 'unknown field "disablePreemption" (true)'),
    "a field of arguments": (CONFIG.replace("defaultingType", "defaultType"), "args.defaultType"),
    "a field twice": (f"{CONFIG}profiles: []\n", "profiles is a duplicate of line 3"),
    "an old version": (CONFIG.replace("/v1", "/v1beta3"), "write kubescheduler.config.k8s.io/v1 "),
    "a wrong type": (CONFIG.replace("maxSkew: 1", "maxSkew: one"), "defaultConstraints[0].maxSkew"),
}


@pytest.mark.parametrize(("text", "field"), REFUSED.values(), ids=list(REFUSED))
def test_S4_refused_configuration_keeps_the_last_valid_one(
    text: str, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    noted: list[bool] = []
    spread = SpreadDefaults(write_system_defaults=False, note=noted.append)
    spread.take(configured_by(CONFIG))
    good = spread.of("default-scheduler")
    spread.take(configured_by(text))
    assert (spread.of("default-scheduler"), spread.missing, noted) == (good, False, [True, False])
    assert field in caplog.text
    assert "ConfigMap kube-system/own is refused, the last valid one stays in force: " in caplog.text
    spread.take(configured_by(CONFIG.replace("maxSkew: 1", "maxSkew: 7")))
    assert [one.max_skew for one in spread.of("default-scheduler") or ()] == [7]
    assert noted == [True, False, True]


@pytest.mark.parametrize(("text", "field"), REFUSED.values(), ids=list(REFUSED))
def test_S4_a_replica_without_a_good_configuration_misses_one(
    text: str, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    spread = SpreadDefaults(write_system_defaults=False)
    missing = [spread.missing]
    for one in (text, CONFIG, text):
        spread.take(configured_by(one))
        missing.append(spread.missing)
    assert missing == [False, True, False, False]
    assert field in caplog.text
    assert "ConfigMap kube-system/own is refused, not ready until it is corrected: " in caplog.text


@pytest.mark.parametrize("config", [pytest.param("", id="no configuration"), pytest.param(CONFIG, id="named")])
def test_S4_system_defaults_are_written_on_demand(config: str) -> None:
    cluster = make_cluster([REPLICA_SET], scheduler_config=config, write_system_defaults=True)
    pod = make_owned(schedulerName="system" if config else "default-scheduler")
    selector = {"labelSelector": {"matchLabels": LABELS}, "whenUnsatisfiable": ANYWAY}
    assert _constraints(pod, cluster) == [
        {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", **selector},
        {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", **selector},
    ]
    assert _constraints(pod, make_cluster([REPLICA_SET], scheduler_config=config)) is None


OWN = [{"maxSkew": 4, "topologyKey": "rack", "whenUnsatisfiable": ANYWAY}]
MIRROR: Object = {"annotations": {"kubernetes.io/config.mirror": "x"}, "name": "etcd-node-a1"}
BY_JOB = make_owned({**make_owner("Job", {}), "apiVersion": "batch/v1"})


@pytest.mark.parametrize(
    ("objects", "pod"),
    [
        pytest.param([REPLICA_SET], make_owned(nodeName="node-a1"), id="bound already"),
        pytest.param([REPLICA_SET], make_owned(None), id="it belongs to nothing"),
        pytest.param([make_service({"app": "api"})], make_owned(None), id="a Service of others"),
        pytest.param([make_service(None)], make_owned(None), id="a Service without a selector"),
        pytest.param([make_service({"app": "web"}, "other")], make_owned(None), id="another namespace"),
        pytest.param([], make_owned(), id="its owner is missing"),
        pytest.param([make_owner("Job", OF_REVISION)], BY_JOB, id="a Job's"),
        pytest.param([REPLICA_SET], make_owned(**MIRROR), id="a mirror pod"),
        pytest.param([make_namespace(topology_spread="disabled"), REPLICA_SET], make_owned(), id="opted out"),
    ],
)
def test_S4_pods_without_defaults(objects: Iterable[Object], pod: Object) -> None:
    assert _constraints(pod, make_cluster(objects, scheduler_config=CONFIG)) is None


def test_S4_constraints_of_its_own_stay() -> None:
    cluster = make_cluster([REPLICA_SET], scheduler_config=CONFIG)
    assert _constraints(make_owned(topologySpreadConstraints=OWN), cluster) == OWN


@pytest.mark.parametrize("value", ["enabled", "", "Disabled"])
def test_S4_other_values_of_the_label_do_not_opt_out(value: str) -> None:
    cluster = make_cluster([make_namespace(topology_spread=value), REPLICA_SET], scheduler_config=CONFIG)
    assert _constraints(make_owned(), cluster) == BY_REVISION


@pytest.mark.parametrize("constraints", [[], None])
def test_S4_an_empty_list_is_none_of_its_own(constraints: Any) -> None:
    pod = make_owned()
    pod["spec"]["topologySpreadConstraints"] = constraints
    cluster = make_cluster([REPLICA_SET], scheduler_config=CONFIG)
    assert _constraints(pod, cluster) == BY_REVISION


def test_updates_and_subresources_are_ignored() -> None:
    cluster = make_cluster([REPLICA_SET], scheduler_config=CONFIG)
    assert mutate(decode_review(update_review(make_owned(name="web-1"))), cluster) == ALLOWED
    assert mutate(decode_review(create_review(make_owned(), sub_resource="binding")), cluster) == ALLOWED


NEWER, FORGED = (make_owner("ReplicaSet", selector, uid="2") for selector in (OF_APP, OF_REVISION))


@pytest.mark.parametrize(
    ("cached", "live", "owner", "expected"),
    [
        pytest.param([], [REPLICA_SET], REPLICA_SET, BY_REVISION, id="the owner is not cached yet: it is read live"),
        pytest.param([REPLICA_SET], [NEWER], NEWER, by_zone(OF_APP), id="an older one of the same name is cached"),
        pytest.param([REPLICA_SET], SilentSource(), REPLICA_SET, BY_REVISION, id="cached: no API server is needed"),
        # A client that forges a pod must not learn the selector of the object with that name.
        pytest.param([REPLICA_SET], [REPLICA_SET], FORGED, None, id="forged, and one of the name is cached"),
        pytest.param([], [REPLICA_SET], FORGED, None, id="forged"),
    ],
)
def test_S4_selector_is_of_the_owner_with_the_pods_uid(
    cached: Sequence[Object], live: Any, owner: Object, expected: Any
) -> None:
    cluster = make_cluster([make_namespace(), *cached], live=live, scheduler_config=CONFIG)
    assert _constraints(make_owned(owner), cluster) == expected


@pytest.mark.parametrize(
    "cached",
    [
        pytest.param([SERVICE], id="the owner is not cached"),
        pytest.param([SERVICE, REPLICA_SET], id="one of the same name is"),
    ],
)
def test_S4_unreadable_owner_leaves_the_pod_unchanged(
    cached: Iterable[Object], caplog: pytest.LogCaptureFixture
) -> None:
    """The Service alone would give another selector than the scheduler's."""
    cluster = make_cluster(cached, live=SilentSource(), scheduler_config=CONFIG)
    with caplog.at_level(logging.WARNING):
        assert _constraints(make_owned(NEWER), cluster) is None
    assert "web- in shop gets no default constraints: its owner cannot be read" in caplog.text


def test_S4_priority_and_constraints_come_in_one_patch() -> None:
    pod = make_owned(priority=None, preemptionPolicy=None)
    cluster = make_cluster([REPLICA_SET, make_class("usual", 7, default=True)], scheduler_config=CONFIG)
    after = patched(pod, mutated(pod, cluster))
    assert after["spec"]["priority"] == 7
    assert after["spec"]["topologySpreadConstraints"] == BY_REVISION


def test_S4_a_pod_of_the_demo_cluster(demo_cluster: Cluster) -> None:
    pod = next(e for e in demo_objects() if e["kind"] == "Pod" and e["metadata"]["name"] == "db-0")
    new = {**pod, "spec": {key: value for key, value in pod["spec"].items() if key != "nodeName"}}
    selector = {"labelSelector": {"matchLabels": {"app": "db"}}, "whenUnsatisfiable": ANYWAY}
    assert _constraints(new, demo_cluster) == [
        {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", **selector},
        {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", **selector},
    ]


# A namespace's own constraints, and warnings

RACKS = json.dumps([{**RACK, "matchLabelKeys": ["app"]}])
BY_RACK = [{**RACK, "labelSelector": OF_REVISION}]


def of_the_namespace(text: str, **labels: str) -> Object:
    namespace = make_namespace(**labels)
    namespace["metadata"]["annotations"] = {CONSTRAINTS_ANNOTATION: text, "example.com/other": "x"}
    return namespace


def configured(text: str) -> PodRules:
    return pod_rules(clusterDefaultConstraints={"namespaces": {"shop": json.loads(text)}, "annotations": True})


@pytest.mark.parametrize(
    ("namespace", "options", "expected"),
    [
        pytest.param(of_the_namespace(RACKS), pod_rules(), BY_RACK, id="the annotation's"),
        pytest.param(make_namespace(), configured(RACKS), BY_RACK, id="the configuration's"),
        pytest.param(of_the_namespace(RACKS), configured("[]"), BY_RACK, id="the annotation comes first"),
        pytest.param(of_the_namespace("[]"), configured(RACKS), None, id="none by annotation"),
        pytest.param(make_namespace(), configured("[]"), None, id="none by configuration"),
        pytest.param(
            of_the_namespace(RACKS, topology_spread="disabled"),
            configured(RACKS),
            None,
            id="the label switches all off",
        ),
    ],
)
def test_S4_a_namespace_may_have_its_own(namespace: Object, options: PodRules, expected: Any) -> None:
    for config in (CONFIG, ""):
        cluster = make_cluster([REPLICA_SET, namespace], scheduler_config=config, options=options)
        assert _constraints(make_owned(), cluster) == expected
        assert _constraints(make_owned(schedulerName="another-scheduler"), cluster) is None


def test_S4_wrong_annotation_warns_and_the_next_source_counts() -> None:
    objects = [REPLICA_SET, of_the_namespace("[{}]")]
    cluster = make_cluster(objects, scheduler_config=CONFIG)
    answer = mutated(make_owned(), cluster)
    (warning,) = answer.warnings
    assert warning.startswith(f"namespace shop: annotation {CONSTRAINTS_ANNOTATION} is ignored: defaultConstraints[0]")
    assert patched(make_owned(), answer)["spec"]["topologySpreadConstraints"] == BY_REVISION
    answer = mutated(make_owned(), make_cluster(objects, scheduler_config=CONFIG, options=configured(RACKS)))
    assert patched(make_owned(), answer)["spec"]["topologySpreadConstraints"] == BY_RACK


def test_S4_wrong_annotation_warns_if_nothing_is_filled_in() -> None:
    answer = mutated(make_owned(), make_cluster([REPLICA_SET, of_the_namespace("[{}]")], options=configured("[]")))
    assert not answer.patch
    assert answer.warnings
    assert all("defaultConstraints[0]" in warning for warning in answer.warnings)


def test_S4_annotation_warns_without_configured_constraints() -> None:
    options = PodRules()
    answer = mutated(make_owned(), make_cluster([REPLICA_SET, of_the_namespace(RACKS)], options=options))
    assert not answer.patch
    assert answer.warnings == (
        f"namespace shop: annotation {CONSTRAINTS_ANNOTATION} is ignored: the webhook gives no default constraints",
    )


def with_many(number: int) -> Object:
    """A namespace with so many own constraints."""
    own = [{**RACK, "topologyKey": f"k{each}"} for each in range(number)]
    return of_the_namespace(json.dumps(own, separators=(",", ":")))


@pytest.mark.parametrize(("number", "are_added"), [(55, False), (2, True)])
def test_S4_too_long_constraints_are_omitted(number: int, *, are_added: bool) -> None:
    """A tenant chooses their number and the selector's length: up to 60 times 1.5 MB."""
    labels = {f"{each}".ljust(60, "k"): "v" for each in range(100)}
    pod = pod_object(labels=labels)
    answer = mutated(pod, make_cluster([make_service(labels), with_many(number)], scheduler_config=CONFIG))
    given = patched(pod, answer)["spec"].get("topologySpreadConstraints", ())
    if are_added:
        assert (len(given), answer.warnings) == (number, ())
    else:
        (warning,) = answer.warnings
        assert not given
        assert warning.startswith("spec.topologySpreadConstraints: the namespace's defaults are left out: with the")
        assert warning.endswith(" bytes; at most 16384 are added")


def test_S4_omitted_constraints_cost_no_more_than_one() -> None:
    """They would take 40 MB; a replica that writes them before it checks their length answers no request."""
    terms = [{"key": "app", "operator": "In", "values": ["web"]}] * 13_500
    owner = make_owner("ReplicaSet", {"matchExpressions": terms})

    def seconds(number: int) -> float:
        cluster = make_cluster([owner, with_many(number)], scheduler_config=CONFIG)
        review = create_review(make_owned(owner))
        began = time.process_time()
        (warning,) = mutate(decode_review(review), cluster).warnings
        assert "are left out" in warning
        return time.process_time() - began

    assert min(seconds(55) for _ in range(3)) < 5 * min(seconds(1) for _ in range(3))


HASH = _term("pod-template-hash", "In", "5f6c")
EXISTS = _term("app", "Exists")
BOTH, ALONE = (make_owner("ReplicaSet", {"matchExpressions": terms}) for terms in ([EXISTS, HASH], [HASH]))


@pytest.mark.parametrize(
    ("owner", "selector"),
    [
        pytest.param(REPLICA_SET, OF_APP, id="as a label"),
        pytest.param(BOTH, {"matchExpressions": [EXISTS]}, id="as an expression"),
        pytest.param(ALONE, None, id="nothing else: no constraints"),
    ],
)
def test_S4_template_hash_can_be_omitted(owner: Object, selector: Any) -> None:
    cluster = make_cluster(
        [owner],
        scheduler_config=CONFIG,
        options=pod_rules(clusterDefaultConstraints={"annotations": True, "leaveOutTemplateHash": True}),
    )
    assert _constraints(make_owned(owner), cluster) == (None if selector is None else by_zone(selector))


@pytest.mark.parametrize(
    ("namespace", "options", "warning"),
    [
        (make_namespace(), pod_rules(warnings="verbose"), "1 constraint is filled in, the cluster's defaults"),
        (with_many(2), pod_rules(warnings="verbose"), "2 constraints are filled in, the namespace's defaults"),
        (make_namespace(), pod_rules(), ""),
    ],
    ids=["1", "2", "not enabled"],
)
def test_A_filled_in_constraints_are_reported_if_configured(namespace: Object, options: PodRules, warning: str) -> None:
    cluster = make_cluster([REPLICA_SET, namespace], scheduler_config=CONFIG, options=options)
    warnings = mutated(make_owned(), cluster).warnings
    assert warnings == ((f"spec.topologySpreadConstraints: {warning}",) if warning else ())
