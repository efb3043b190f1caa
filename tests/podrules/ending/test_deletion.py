"""Force deletions, and the remaining members without the pod."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Container, Pod
from podrules.ending.deletion import CONFIRMATION, Members, is_confirmed, is_force_deletion, members
from tests.objects import make_pod
from tests.podrules.node.lost import make_lost_pod
from tests.table import table

RUNNING = make_pod(nodeName="n", terminationGracePeriodSeconds=30, status={"phase": "Running"})


def _answers(_: str) -> bool:
    return True


@table(
    "pod, seconds, forced",
    {
        "its own period": (RUNNING, None, False),
        "0": (RUNNING, 0, True),
        "1 s is a grace period": (RUNNING, 1, False),
        "its own is 0": (
            make_pod(nodeName="n", terminationGracePeriodSeconds=0, status={"phase": "Running"}),
            None,
            True,
        ),
        "on no node: nothing runs": (make_pod(status={"phase": "Pending"}), 0, False),
        "finished: nothing runs": (make_pod(nodeName="n", status={"phase": "Succeeded"}), 0, False),
    },
)
def test_F2_deletions_that_need_confirmation(pod: Pod, seconds: int | None, forced: bool) -> None:
    assert is_force_deletion(pod, seconds) is forced


def test_F2_confirmation_is_of_one_object() -> None:
    meta = ObjectMeta(uid="a", annotations={CONFIRMATION: "a"})
    assert is_confirmed(meta)
    assert not is_confirmed(replace(meta, uid="b"))
    assert not is_confirmed(ObjectMeta(uid="", annotations={CONFIRMATION: ""}))


def test_F3_members_and_majority() -> None:
    pod = make_lost_pod("db-1")
    siblings = [
        make_lost_pod("db-0", "a"),
        pod,
        make_lost_pod("db-2", "b", ready=False),
        make_lost_pod("db-3", "c", deleted="2026-11-21T03:08:30Z"),
        make_lost_pod("db-4", "d"),
        make_lost_pod("web-1", "e", owner="ReplicaSet/web"),
    ]
    assert members(pod, 5, siblings, _answers) == Members("db", 5, ("db-0", "db-4"), ("db-2", "db-3"), majority=3)


@pytest.mark.parametrize(("replicas", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_F3_majority_is_more_than_half(replicas: int, majority: int) -> None:
    found = members(make_lost_pod(), replicas, [], _answers)
    assert found is not None
    assert found.majority == majority


@pytest.mark.parametrize("owner", ["", "ReplicaSet/web", "Job/job"])
def test_F3_only_stateful_sets_have_members(owner: str) -> None:
    assert members(make_lost_pod(owner=owner), 3, [], _answers) is None


@pytest.mark.parametrize(
    ("image", "votes", "removal"),
    [
        ("registry.k8s.io/etcd:3.6.1-0", True, "etcdctl member remove MEMBER-ID"),
        ("quay.io:5000/bitnami/etcd@sha256:0123", True, "etcdctl member remove MEMBER-ID"),
        ("rabbitmq:4-management", True, "rabbitmqctl forget_cluster_node NODE"),
        ("example.com/etcd-backup:1", None, ""),
        ("docker.elastic.co/elasticsearch/elasticsearch:6.8.23", False, ""),
        ("prom/prometheus", False, ""),
        # Kafka with ZooKeeper, or before 3.9, has no such command.
        ("bitnami/kafka:2.8.1", None, ""),
        # With three nodes and three replicas of each range, a decommissioning never ends.
        ("cockroachdb/cockroach:v25.1", None, ""),
        ("", None, ""),
    ],
)
def test_F3_member_removal_command_by_image(image: str, votes: bool | None, removal: str) -> None:
    pod = make_lost_pod("db-1")
    pod = replace(pod, spec=replace(pod.spec, containers=(Container(name="app", image=image),)))
    found = members(pod, 3, [], _answers)
    assert found is not None
    assert (found.votes, found.removal) == (votes, removal)


def test_F3_member_removal_command_by_label() -> None:
    pod = make_lost_pod("db-1")
    pod = replace(pod, metadata=replace(pod.metadata, labels={"app.kubernetes.io/name": "rabbitmq"}))
    found = members(pod, 3, [], _answers)
    assert found is not None
    assert found.removal == "rabbitmqctl forget_cluster_node NODE"


def test_F3_readiness_on_silent_node_is_unknown() -> None:
    siblings = [make_lost_pod("db-0", "a"), make_lost_pod("db-2", "z")]
    found = members(make_lost_pod("db-1"), 3, siblings, lambda node: node != "z")
    assert found is not None
    assert (found.live, found.down, found.unknown) == (("db-0",), (), ("db-2",))
    assert not found.may_remove


@pytest.mark.parametrize(
    ("replicas", "live", "may"),
    [(1, 0, False), (1, 1, False), (2, 1, False), (3, 1, False), (3, 2, True), (5, 3, True)],
)
def test_F3_majority_removes_a_member(replicas: int, live: int, may: bool) -> None:
    siblings = [make_lost_pod(f"db-{number}", f"n{number}") for number in range(2, 2 + live)]
    found = members(make_lost_pod("db-1"), replicas, siblings, _answers)
    assert found is not None
    assert found.may_remove is may
