"""Modes of force deletion, by namespace: the refused clients, the remedies, and the requests that are never refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.objects import raw_condition, raw_node
from tests.webhook.clusters import SilentSource, make_cluster, make_namespace
from tests.webhook.review_objects import delete_review, eviction_review, pod_object, said, validated
from tests.webhook.rules.test_stakes import FRESH, make_lease
from webhook.reviews.response import ALLOWED, Answer
from webhook.settings import ForceDeletion, ForceDeletionMode

UID = "6f1c1f9e-0a43-4f2e-9d3c-2b1c5f3d7e10"
CONFIRM = "kubectl-qos.io/confirm-force-delete"
READY = [raw_condition("Ready")]
NODE = raw_node("node-1", conditions=READY)
SILENT = raw_node("node-1", conditions=[raw_condition("Ready", "Unknown")])
TAINTS = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
OUT_OF_SERVICE = raw_node("node-1", conditions=[raw_condition("Ready", "Unknown")], taints=TAINTS)
BACK = raw_node("node-1", conditions=READY, taints=TAINTS)
RISK = "db on node-1: its processes may run on, and no controller replaces it"
CHECK = "Check now whether container app still runs on node-1: kubectl qos died pod/db -n shop; kubectl qos node node-1"
COMMAND = f"kubectl annotate pod db -n shop {CONFIRM}={UID} --overwrite"
EXEMPT = [
    pytest.param("system:node:node-1", ("system:nodes",), id="kubelet"),
    pytest.param("system:kube-controller-manager", (), id="all controllers as one user"),
    *(
        pytest.param(f"system:serviceaccount:kube-system:{name}", (), id=name)
        for name in ("pod-garbage-collector", "generic-garbage-collector", "namespace-controller", "node-controller")
    ),
    pytest.param("fencer", (), id="named in the configuration"),
]


STOPPING: Object = {"deletionTimestamp": "2026-11-21T03:11:20Z", "deletionGracePeriodSeconds": 30}


def make_pod(*, phase: str = "Running", metadata: Object | None = None, **spec: Any) -> Object:
    pod = pod_object(name="db", **{"nodeName": "node-1", **spec})
    pod["metadata"] |= {"uid": UID, **(metadata or {})}
    pod["status"]["phase"] = phase
    return pod


def annotated(**annotations: str) -> Object:
    return make_pod(metadata={"annotations": annotations})


CONFIRMED = annotated(**{CONFIRM: UID})


def answer_to(
    pod: Object,
    mode: str | None,
    *,
    node: Object = NODE,
    default: ForceDeletionMode = ForceDeletionMode.WARN,
    named: ForceDeletionMode | None = None,
    user: str = "jane",
    groups: Sequence[str] = (),
) -> Answer:
    """The answer to a force deletion in a namespace with this label, in a cluster with these settings."""
    labels = {} if mode is None else {"force_delete": mode}
    settings = ForceDeletion(
        mode=default,
        namespaces={} if named is None else {"shop": named},
        exempt_users=frozenset({"fencer"}),
        exempt_node_controllers=frozenset({"reaper"}),
    )
    cluster = make_cluster([make_namespace(**labels), node, pod], force_deletion=settings)
    return said(validated(delete_review(pod, user=user, groups=tuple(groups)), cluster))


NO_GRACE: Object = {"terminationGracePeriodSeconds": 0}
WITHOUT_GRACE = make_pod(**NO_GRACE)
LONGER: Object = {"deletionTimestamp": "2026-11-21T03:00:00Z", "deletionGracePeriodSeconds": 60}


@pytest.mark.parametrize(
    ("pod", "mode"),
    [
        pytest.param(make_pod(), None, id="by default"),
        pytest.param(CONFIRMED, "confirm", id="confirmed"),
        # The plain deletes of its controllers have 0, too.
        pytest.param(WITHOUT_GRACE, "confirm", id="zero grace, confirm"),
        pytest.param(WITHOUT_GRACE, "deny", id="zero grace, deny"),
    ],
)
def test_F2_allowed_force_deletion_warns(pod: Object, mode: str | None) -> None:
    answer = answer_to(pod, mode)
    assert answer.allowed
    assert answer.warnings[0] == RISK


@pytest.mark.parametrize("named", [None, *ForceDeletionMode])
@pytest.mark.parametrize("default", ForceDeletionMode)
@pytest.mark.parametrize("label", [None, "warn", "confirm", "deny", "denny", "Deny", ""])
def test_F2_label_may_only_tighten_the_configuration(
    label: str | None, named: ForceDeletionMode | None, default: ForceDeletionMode
) -> None:
    configured = default if named is None else named
    strictness = ("warn", "confirm", "deny")
    wished = label if label in strictness else "warn"
    expected = max(configured.value, wished, key=strictness.index)
    plain = answer_to(make_pod(), label, named=named, default=default)
    confirmed = answer_to(CONFIRMED, label, named=named, default=default)
    assert {(True, True): "warn", (False, True): "confirm", (False, False): "deny"}[
        plain.allowed, confirmed.allowed
    ] == expected


def test_F2_confirm_names_the_command() -> None:
    denial = f"{RISK}; namespace shop requires a confirmation: {COMMAND}"
    assert answer_to(make_pod(), "confirm") == Answer(denial=denial)


def test_F2_confirmation_is_of_one_pod_and_not_against_deny() -> None:
    assert not answer_to(annotated(**{CONFIRM: "0-0"}), "confirm").allowed
    assert not answer_to(CONFIRMED, "deny").allowed


FORBIDDEN = "namespace shop forbids force deletions"
TAINT = "kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
GRACE = "delete it with grace: kubectl delete pod db -n shop"
OFF = f"once node-1 is off for certain: {TAINT}"


@pytest.mark.parametrize(
    ("node", "stopping", "remedy"),
    [
        pytest.param(NODE, False, GRACE, id="the node answers"),
        pytest.param(NODE, True, "wait until it has stopped", id="it is stopping"),
        pytest.param(SILENT, False, OFF, id="the node is silent"),
        pytest.param(SILENT, True, OFF, id="it is stopping on a silent node"),
        pytest.param(OUT_OF_SERVICE, True, "pod garbage collection removes it by itself", id="out of service"),
        pytest.param(OUT_OF_SERVICE, False, GRACE, id="out of service, not deleted: garbage collection keeps it"),
        pytest.param(BACK, True, "wait until it has stopped", id="back in service: garbage collection keeps it"),
    ],
)
def test_F2_deny_names_the_alternative(node: Object, stopping: bool, remedy: str) -> None:
    denial = answer_to(make_pod(metadata=STOPPING if stopping else None), "deny", node=node).denial
    assert denial.startswith("db on node-1")
    assert denial.endswith(f"; {FORBIDDEN}; {remedy}")


@pytest.mark.parametrize(
    ("finalizers", "kept"),
    [(["example.com/backup"], True), (["a.example/x", "orphan"], True), (["batch.kubernetes.io/job-tracking"], False)],
)
def test_finalizers_keep_what_garbage_collection_deletes(finalizers: list[str], kept: bool) -> None:
    pod = make_pod(metadata={**STOPPING, "finalizers": finalizers})
    denial = answer_to(pod, "deny", node=OUT_OF_SERVICE).denial
    words = "pod garbage collection deletes it by itself, and finalizers keep the object until their owners remove them"
    assert denial.endswith(words) is kept


def test_F2_deny_suggests_no_deletion_on_back_not_ready_node() -> None:
    node = raw_node("node-1", conditions=[raw_condition("Ready", "False")], taints=TAINTS)
    cluster = make_cluster([make_namespace(force_delete="deny"), node, make_lease(FRESH), make_pod()])
    denial = validated(delete_review(make_pod()), cluster).denial
    remedy = "first take its node back: until it is Ready, pod garbage collection removes pods deleted there"
    assert denial.endswith(f"; {FORBIDDEN}; {remedy}")


@pytest.mark.parametrize("mode", ["confirm", "deny"])
@pytest.mark.parametrize(("user", "groups"), EXEMPT)
def test_F2_exempt_clients_are_never_refused(mode: str, user: str, groups: Sequence[str]) -> None:
    assert answer_to(make_pod(), mode, user=user, groups=groups) == ALLOWED


def test_F2_node_controllers_are_not_exempt_for_pods() -> None:
    assert not answer_to(make_pod(), "deny", user="reaper").allowed


@pytest.mark.parametrize("mode", ["confirm", "deny"])
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(nodeName=None), id="not scheduled"),
        pytest.param(make_pod(phase="Succeeded"), id="succeeded"),
        pytest.param(make_pod(phase="Failed"), id="failed"),
    ],
)
def test_F2_exempt_pods_are_never_refused(mode: str, pod: Object) -> None:
    assert answer_to(pod, mode) == ALLOWED


@pytest.mark.parametrize(
    ("pod", "warns"),
    [
        pytest.param(WITHOUT_GRACE, True, id="own period 0"),
        pytest.param(make_pod(terminationGracePeriodSeconds=30), False, id="own period 30"),
        pytest.param(make_pod(), False, id="no period of its own"),
        pytest.param(make_pod(**NO_GRACE, metadata=LONGER), False, id="on its way for longer: nothing changes"),
        pytest.param(make_pod(**NO_GRACE, nodeName=None), False, id="not scheduled"),
    ],
)
def test_F1_collection_without_period_uses_each_pods_own(pod: Object, *, warns: bool) -> None:
    """The API server fills in none, unlike for one pod."""
    answer = validated(delete_review(pod, seconds=None), make_cluster([make_namespace(), NODE, pod]))
    assert answer.allowed
    assert answer.warnings[:1] == ((RISK,) if warns else ())


@pytest.mark.parametrize("mode", ["confirm", "deny"])
def test_F2_mirror_pods_only_warn(mode: str) -> None:
    assert answer_to(annotated(**{"kubernetes.io/config.mirror": "0"}), mode).allowed


def test_F2_an_annotation_makes_no_static_pod() -> None:
    assert not answer_to(annotated(**{"kubernetes.io/config.source": "file"}), "deny").allowed


@pytest.mark.parametrize("label", ["denny", "Deny", ""])
def test_F2_label_that_is_no_mode_lifts_nothing_and_is_said(label: str) -> None:
    assert not answer_to(make_pod(), label, default=ForceDeletionMode.DENY).allowed
    assert not answer_to(make_pod(), label, named=ForceDeletionMode.CONFIRM).allowed
    for mode in (ForceDeletionMode.WARN, ForceDeletionMode.CONFIRM):
        answer = answer_to(CONFIRMED, label, default=mode)
        assert answer.warnings[0] == RISK
        wrong = f"Namespace shop: label kubectl-qos.io/force-delete={label} is none of warn, confirm, deny"
        assert answer.warnings[2] == f"{wrong}: the configured mode counts, {mode.value}"


@pytest.mark.parametrize("mode", ForceDeletionMode)
def test_F2_configured_mode_counts_for_unreadable_namespace(mode: ForceDeletionMode) -> None:
    cluster = make_cluster([NODE], live=SilentSource(), force_deletion=ForceDeletion(mode=mode))
    answer = validated(delete_review(make_pod()), cluster)
    assert answer.allowed == (mode is ForceDeletionMode.WARN)
    assert (answer.denial or answer.warnings[0]).startswith("db on node-1")
    if answer.allowed:
        assert answer.warnings[2] == "Namespace shop cannot be read: the configured mode counts, warn"


def test_F2_a_namespace_newer_than_the_cache_is_read() -> None:
    cluster = make_cluster([NODE], live=[make_namespace(force_delete="deny")])
    assert not validated(delete_review(make_pod()), cluster).allowed


def test_F2_longest_names_do_not_truncate_the_command() -> None:
    name = ".".join(["p" * 60] * 5)[:253]
    pod = make_pod(nodeName="n" * 253, metadata={"name": name, "namespace": "s" * 63})
    cluster = make_cluster([make_namespace("s" * 63, force_delete="confirm")])
    denial = validated(delete_review(pod), cluster).denial
    assert len(denial) <= 1024
    assert denial.endswith(f"kubectl annotate pod {name} -n {'s' * 63} {CONFIRM}={UID} --overwrite")
    live = [make_namespace("s" * 63, force_delete="confirm"), raw_node("n" * 253, conditions=READY), pod]
    review = eviction_review(name, "s" * 63, {"gracePeriodSeconds": 0})
    denial = validated(review, make_cluster(live, knows_clients=False)).denial
    assert len(denial) <= 1024
    assert EVICT in denial
    assert denial.endswith('-o jsonpath={.metadata.uid})" --overwrite')


# Evictions


EVICT = (
    "evict it with grace: drain again without --grace-period=0, or leave deleteOptions.gracePeriodSeconds out of the "
    "Eviction"
)


FORCED = {"gracePeriodSeconds": 0}
EVICTION = eviction_review("db", "shop", FORCED)


def evicted(options: Object | None, *, user: str = "jane", mode: str = "warn", pod: Object | None = None) -> Answer:
    stored = make_pod() if pod is None else pod
    settings = ForceDeletion(exempt_users=frozenset({"fencer"}))
    cluster = make_cluster([make_namespace(force_delete=mode), NODE, stored], force_deletion=settings)
    return validated(eviction_review("db", "shop", options, user=user), cluster)


def test_F1_eviction_without_grace_warns() -> None:
    answer = evicted(FORCED)
    assert answer.allowed
    assert answer.warnings == (RISK, CHECK)


@pytest.mark.parametrize("mode", ["warn", "confirm", "deny"])
def test_F1_eviction_is_a_dry_run_by_its_own_options_too(mode: str) -> None:
    """Like ``kubectl drain --dry-run=server``: the request has no dryRun, its Eviction has."""
    answer = evicted({**FORCED, "dryRun": ["All"]}, mode=mode)
    assert answer.allowed is (mode == "warn")
    assert answer.forced is None
    assert answer.warnings[1:] == (("Check first: kubectl qos explain pod/db -n shop",) if answer.allowed else ())


def test_F2_confirm_suggests_no_eviction_of_stopping_or_silent() -> None:
    cluster = make_cluster([make_namespace(force_delete="confirm"), SILENT, make_pod()])
    assert validated(EVICTION, cluster).denial.endswith(f"; namespace shop requires a confirmation: {COMMAND}")


@pytest.mark.parametrize("options", [None, {}, {"gracePeriodSeconds": 1}, {"gracePeriodSeconds": None}])
def test_F1_eviction_with_grace_causes_no_warning(options: Object | None) -> None:
    assert evicted(options, mode="deny") == ALLOWED


def test_F2_eviction_by_exempt_clients_or_of_ended_is_allowed() -> None:
    assert evicted(FORCED, mode="deny", user="fencer") == ALLOWED
    assert evicted(FORCED, mode="deny", pod=make_pod(phase="Failed")) == ALLOWED
    assert validated(EVICTION, make_cluster([make_namespace(force_delete="deny")])) == ALLOWED, "a missing pod"


def test_F2_eviction_is_refused_as_a_deletion_is() -> None:
    denial = evicted(FORCED, mode="confirm").denial
    assert denial == f"{RISK}; namespace shop requires a confirmation; {EVICT}, or: {COMMAND}"
    assert FORBIDDEN in evicted(FORCED, mode="deny").denial
    assert evicted(FORCED, mode="confirm", pod=CONFIRMED).allowed


@pytest.mark.parametrize("node", [NODE, OUT_OF_SERVICE, SILENT, BACK])
@pytest.mark.parametrize("stopping", [False, True])
@pytest.mark.parametrize("knows_clients", [False, True])
def test_F2_a_refused_eviction_advises_no_deletion(node: Object, *, stopping: bool, knows_clients: bool) -> None:
    """A deletion bypasses PodDisruptionBudgets."""
    pod = make_pod(metadata=STOPPING if stopping else None)
    cluster = make_cluster([make_namespace(force_delete="deny"), node, pod], knows_clients=knows_clients)
    denial = validated(EVICTION, cluster).denial
    assert FORBIDDEN in denial
    assert "kubectl delete" not in denial
    assert denial.endswith(f"; {EVICT}") is (not stopping and node is not SILENT)


@pytest.mark.parametrize("mode", ForceDeletionMode)
@pytest.mark.parametrize(
    ("preconditions", "is_pinned"),
    [({}, False), ({"uid": UID}, False), ({"resourceVersion": "6"}, False), ({"resourceVersion": "7"}, True)],
)
def test_F2_eviction_of_a_pod_on_no_node_names_its_version(
    mode: ForceDeletionMode, preconditions: Object, *, is_pinned: bool
) -> None:
    """Otherwise the API server may evict it later, when it runs."""
    pod = make_pod(nodeName=None, metadata={"resourceVersion": "7"})
    answer = evicted({**FORCED, "preconditions": preconditions}, mode=mode.value, pod=pod)
    if is_pinned or mode is ForceDeletionMode.WARN:
        assert answer == ALLOWED
    else:
        assert answer.denial.startswith("db: the pod is on no node, but may run when it is evicted, and namespace shop")
        assert answer.denial.endswith(f"{EVICT}: on no node it is removed at once")


@pytest.mark.parametrize("mode", ForceDeletionMode)
@pytest.mark.parametrize("how", ["by label", "by configuration"])
def test_F2_eviction_of_unreadable_pod_is_allowed_only_by_warn(mode: ForceDeletionMode, how: str) -> None:
    """Otherwise a client that keeps the API server busy could force it."""
    label = {"force_delete": mode.value} if how == "by label" else {}
    configured = mode if how == "by configuration" else ForceDeletionMode.WARN
    settings = ForceDeletion(mode=configured)
    answer = validated(EVICTION, make_cluster([make_namespace(**label)], live=SilentSource(), force_deletion=settings))
    unread = "db: the pod cannot be read, "
    if mode is ForceDeletionMode.WARN:
        assert said(answer) == Answer(warnings=(f"{unread}so the risk of its force deletion is unknown",))
    else:
        rule = f"{unread}and namespace shop does not allow all force deletions; "
        assert said(answer) == Answer(denial=f"{rule}try again, or {EVICT}")
