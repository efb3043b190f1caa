"""Warnings about the pods that a Node's deletion force deletes, and the pods that may prevent it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.controlplane.client import Object
from tests.objects import raw_condition, raw_node, raw_object
from tests.webhook.clusters import SilentSource, make_cluster, make_namespace
from tests.webhook.review_objects import controlled_by, in_a_dry_run, node_deletion_review, pod_object, said, validated
from webhook.reviews.response import ALLOWED, Answer
from webhook.settings import ForceDeletion, ForceDeletionMode

UID = "2c5b1f9e-0a43-4f2e-9d3c-2b1c5f3d7e10"
CONFIRM = "kubectl-qos.io/confirm-force-delete"
WITHOUT = "without the Node, pod garbage collection force deletes"
DRAIN = "rain it first: kubectl drain node-1 --ignore-daemonsets"
KEEP = (
    "To keep its pods, restart its kubelet within 40 s: that registers the Node again; "
    "check now: kubectl qos died node/node-1"
)
MACHINE = "Check now whether its machine is off, because replacements may start: kubectl qos died node/node-1"
OFF = (
    "nce node-1 is off for certain: kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
)


def make_node(
    *, ready: str = "True", annotations: Mapping[str, str] | None = None, finalizers: Iterable[str] = ()
) -> Object:
    return raw_node(
        "node-1",
        metadata={"uid": UID, "annotations": annotations, "finalizers": list(finalizers)},
        conditions=[raw_condition("Ready", ready, lastTransitionTime="2026-11-21T03:02:56Z")],
    )


def make_pod(name: str, kind: str = "", *, phase: str = "Running", **given: Any) -> Object:
    group = "batch/v1" if kind == "Job" else "apps/v1"
    owner = controlled_by(raw_object(kind, "owner", apiVersion=group, metadata={"uid": "1"})) if kind else None
    pod = pod_object(name=name, owner=owner, **{"nodeName": "node-1", **given})
    pod["status"]["phase"] = phase
    return pod


def answer_to(
    *pods: Object,
    node: Object | None = None,
    modes: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    user: str = "jane",
    groups: tuple[str, ...] = (),
    dry_run: bool = False,
) -> Answer:
    """The answer to a Node's deletion, with these modes by namespace in the configuration and as labels."""
    node = node or make_node()
    spaces = [make_namespace(name, force_delete=mode) for name, mode in (labels or {}).items()]
    configured = ForceDeletion(
        namespaces={name: ForceDeletionMode(mode) for name, mode in (modes or {}).items()},
        exempt_users=frozenset({"fencer"}),
        exempt_node_controllers=frozenset({"reaper"}),
    )
    cluster = make_cluster([*spaces, node, *pods], force_deletion=configured)
    review = node_deletion_review(node, user=user, groups=groups)
    return said(validated(in_a_dry_run(review) if dry_run else review, cluster))


@pytest.mark.parametrize(("dry_run", "remedy"), [(True, f"D{DRAIN}"), (False, KEEP)])
def test_F1_node_deletion_names_its_pods_and_the_remedy(remedy: str, *, dry_run: bool) -> None:
    """The warning arrives once the Node is deleted, except after a dry run."""
    answer = answer_to(make_pod("web", "ReplicaSet"), make_pod("db-0", "StatefulSet"), dry_run=dry_run)
    line = f"node-1: {WITHOUT} 2 pods that may still run: shop/db-0 (StatefulSet, at most one), shop/web"
    assert answer == Answer(warnings=(line, remedy))


def test_F1_node_deletion_names_three_pods_at_most() -> None:
    (line, _) = answer_to(*(make_pod(f"web-{number}") for number in range(5))).warnings
    assert line.endswith("5 pods that may still run: shop/web-0, shop/web-1, shop/web-2 and 2 more")


def test_F1_node_deletion_with_the_longest_names_is_short() -> None:
    pods = [make_pod(f"{number}" + "p" * 200, namespace="s" * 63) for number in range(3)]
    (line, _) = answer_to(*pods).warnings
    assert line == f"node-1: {WITHOUT} 3 pods that may still run"


@pytest.mark.parametrize(("dry_run", "expected"), [(True, f"O{OFF}"), (False, MACHINE)])
def test_F1_silent_node(expected: str, *, dry_run: bool) -> None:
    (line, remedy) = answer_to(make_pod("web"), node=make_node(ready="Unknown"), dry_run=dry_run).warnings
    assert line == f"node-1, silent since 03:02:56 UTC: {WITHOUT} 1 pod that may still run: shop/web"
    assert remedy == expected


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no pods"),
        pytest.param([make_pod("agent", "DaemonSet")], id="a DaemonSet's"),
        pytest.param([make_pod("job", "Job", phase="Succeeded")], id="finished"),
        pytest.param([make_pod("web", nodeName="node-2")], id="of another node"),
        pytest.param([make_pod("etcd", annotations={"kubernetes.io/config.mirror": "0"})], id="a mirror pod"),
    ],
)
def test_F1_drained_node_causes_no_warning(pods: Iterable[Object]) -> None:
    assert answer_to(*pods, modes={"shop": "deny"}) == ALLOWED


def test_F2_confirm_names_the_command_for_the_node() -> None:
    answer = answer_to(make_pod("web"), modes={"shop": "confirm"})
    assert answer.denial == (
        f"node-1: {WITHOUT} 1 pod that may still run: shop/web; to be confirmed for namespace shop; d{DRAIN}; or, "
        f"to lose them: kubectl annotate node node-1 {CONFIRM}={UID} --overwrite"
    )


def test_F2_confirmed_node() -> None:
    answer = answer_to(make_pod("web"), node=make_node(annotations={CONFIRM: UID}), modes={"shop": "confirm"})
    assert answer.allowed
    assert len(answer.warnings) == 2


def test_F2_strictest_namespace_counts() -> None:
    pods = [make_pod("a", namespace="data"), make_pod("b", namespace="shop"), make_pod("c", namespace="web")]
    modes = {"data": "warn", "shop": "deny", "web": "confirm"}
    answer = answer_to(*pods, modes=modes, node=make_node(annotations={CONFIRM: UID}))
    assert answer.denial.endswith(f"data/a, shop/b, web/c; forbidden for namespace shop; d{DRAIN}")


def test_F2_zero_grace_pods_do_not_protect_a_node() -> None:
    answer = answer_to(make_pod("web", terminationGracePeriodSeconds=0), modes={"shop": "deny"})
    assert answer.allowed
    assert answer.warnings


def test_F2_node_with_finalizers_is_never_refused() -> None:
    """Their owner continues: Karpenter drains it then."""
    answer = answer_to(make_pod("web"), node=make_node(finalizers=["karpenter.sh/termination"]), modes={"shop": "deny"})
    line = "once its finalizers are removed, pods that still run there are force deleted, now 1 pod: shop/web"
    assert answer == Answer(warnings=(f"node-1: {line}",))


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        pytest.param("system:node:node-1", ("system:nodes",), id="kubelet"),
        pytest.param("system:kube-controller-manager", (), id="all controllers as one user"),
        pytest.param("system:serviceaccount:kube-system:node-controller", (), id="node controller"),
        pytest.param("fencer", (), id="named in the configuration"),
        pytest.param("reaper", (), id="named in the configuration, for Nodes"),
    ],
)
def test_F2_exempt_clients_may_delete_nodes(user: str, groups: tuple[str, ...]) -> None:
    assert answer_to(make_pod("web"), modes={"shop": "deny"}, user=user, groups=groups) == ALLOWED


@pytest.mark.parametrize("is_confirmed", [False, True])
@pytest.mark.parametrize("mode", ForceDeletionMode)
@pytest.mark.parametrize("everywhere", [False, True])
def test_F2_node_with_unreadable_pods(mode: ForceDeletionMode, *, everywhere: bool, is_confirmed: bool) -> None:
    """A tenant can make its pods so large that they are not read in time."""
    forced = ForceDeletion(mode=mode) if everywhere else ForceDeletion(namespaces={"shop": mode})
    cluster = make_cluster(live=SilentSource(), force_deletion=forced)
    node = make_node(annotations={CONFIRM: UID} if is_confirmed else None)
    answer = said(validated(node_deletion_review(node), cluster))
    unknown = "node-1: the pods that its deletion would force delete cannot be read"
    if mode is ForceDeletionMode.WARN or (mode is ForceDeletionMode.CONFIRM and is_confirmed):
        assert answer == Answer(warnings=(unknown,))
    else:
        assert answer.denial.startswith(f"{unknown}, and the configuration does not allow all force deletions; ")
        assert answer.denial.endswith("kubectl drain node-1 --ignore-daemonsets")


@pytest.mark.parametrize("label", ["confirm", "deny", "denny"])
def test_F2_label_does_not_protect_a_node(label: str) -> None:
    """Otherwise a tenant could keep all Nodes with its pods."""
    assert answer_to(make_pod("web"), labels={"shop": label}) == answer_to(make_pod("web"))


@pytest.mark.parametrize("mode", ["confirm", "deny"])
def test_F2_label_does_not_allow_a_node_deletion(mode: str) -> None:
    assert not answer_to(make_pod("web"), labels={"shop": "warn"}, modes={"shop": mode}).allowed
