"""Who is warned of a force deletion, of what, and who is never bothered."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.cluster.demo import demo_objects
from tests.webhook.reviews import delete_review
from webhook.handlers import validate
from webhook.response import ALLOWED
from webhook.review import decode_review

PODS = {entry["metadata"]["name"]: entry for entry in demo_objects() if entry["kind"] == "Pod"}


def _warnings(name: str, **how: Any) -> tuple[str, ...]:
    answer = validate(decode_review(delete_review(PODS[name], **how)))
    assert answer.allowed
    return answer.warnings


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("db-0", "db-0 on node-b2: StatefulSet db keeps at most one db-0, but a second may start while this one"),
        ("checkout-mv9cgvs6p-m2n4z", "ReplicaSet checkout-mv9cgvs6p may start a replacement while"),
        ("log-agent-vqkbz", "DaemonSet log-agent may start the next copy on node-a1 while"),
        ("nightly-index-q7n2s", "Job nightly-index may start the work again while"),
        ("etcd-cp-a1", "etcd-cp-a1 mirrors a static pod of cp-a1: deleting it stops nothing"),
        ("price-feed", "nobody replaces price-feed, and its processes may run on"),
    ],
)
def test_F3_force_deletion_warns_of_what_the_owner_no_longer_keeps(name: str, words: str) -> None:
    first, second = _warnings(name)
    assert words in first
    assert second == f"Check first: kubectl qos explain pod/{name} -n {PODS[name]['metadata']['namespace']}"


def test_forcing_a_pod_that_is_stopping_stops_nothing_sooner() -> None:
    first, _ = _warnings("db-1")
    assert first.startswith("db-1 is already stopping on node-c3: forcing frees its name and stops nothing sooner;")


@pytest.mark.parametrize(
    "name", ["checkout-mv9cgvs6p-x2x7p", "nightly-report-29870100-wm6rq", "report-export-kjj87m522-zr4gw"]
)
def test_nothing_is_at_stake_where_nothing_runs(name: str) -> None:
    assert _warnings(name) == ()


@pytest.mark.parametrize("seconds", [1, 30, None])
def test_graceful_deletion_is_no_concern(seconds: int | None) -> None:
    assert _warnings("db-0", seconds=seconds) == ()


@pytest.mark.parametrize(
    "user",
    [
        "system:serviceaccount:kube-system:pod-garbage-collector",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
        "system:kube-controller-manager",
    ],
)
def test_controllers_are_never_bothered(user: str) -> None:
    assert _warnings("db-0", user=user) == ()


def test_the_kubelets_last_delete_is_never_bothered() -> None:
    assert _warnings("db-0", user="system:node:node-b2", groups=("system:nodes",)) == ()


def test_a_name_alone_makes_no_kubelet() -> None:
    assert _warnings("db-0", user="system:node:node-b2") != ()


def test_the_second_review_of_one_command_says_nothing() -> None:
    pod = PODS["db-0"] | {"metadata": PODS["db-0"]["metadata"] | {"deletionGracePeriodSeconds": 0}}
    assert validate(decode_review(delete_review(pod))) == ALLOWED
