"""When a node may be declared out of service, and which pods and volumes this removes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.node.lost_node import TAINT, goes
from podrules.silent_node.fencing import FenceState, fence_state, kept_volumes, left_to_go, without_taint
from podrules.silent_node.partitions import PartitionFacts, partitions
from tests.podrules.node.lost import (
    HEARTBEAT,
    NOW,
    OUT_OF_SERVICE,
    TOLERATES,
    UNREACHABLE,
    make_attachment,
    make_claim,
    make_lost_pod,
    make_volume,
    make_zone_node,
    tolerating,
)
from tests.table import table

FRESH = NOW - timedelta(seconds=3)


def node(ready: str, *taints: dict[str, str]) -> Node:
    return make_zone_node("lost", ready=ready, taints=taints)


@table(
    "looked, renewed, expected",
    {
        "silent": (node("Unknown", UNREACHABLE), HEARTBEAT, FenceState.POSSIBLE),
        "silent, without a Lease": (node("Unknown"), None, FenceState.POSSIBLE),
        "ready": (node("True"), FRESH, FenceState.ANSWERS),
        "coming back: its machine is on": (node("Unknown", UNREACHABLE), FRESH, FenceState.ANSWERS),
        "fenced, and coming back": (node("Unknown", UNREACHABLE, OUT_OF_SERVICE), FRESH, FenceState.BACK),
        "not ready by its own report": (node("False"), FRESH, FenceState.ANSWERS),
        "no heartbeats, not yet Unknown": (node("True"), HEARTBEAT, FenceState.TOO_EARLY),
        "fenced": (node("Unknown", UNREACHABLE, OUT_OF_SERVICE), HEARTBEAT, FenceState.FENCED),
        "fenced before it was Unknown": (node("True", OUT_OF_SERVICE), HEARTBEAT, FenceState.FENCED),
        "fenced, and back": (node("True", OUT_OF_SERVICE), FRESH, FenceState.BACK),
    },
)
def test_F6_when_a_node_may_be_fenced(looked: Node, renewed: datetime | None, expected: FenceState) -> None:
    assert fence_state(looked, renewed=renewed, now=NOW) is expected


EVERYTHING = {"operator": "Exists"}


@table(
    "tolerations, deleted, expected",
    {
        "an ordinary pod": (TOLERATES, None, True),
        "tolerates everything": ([EVERYTHING], None, False),
        "tolerates everything, and is being deleted": ([EVERYTHING], "2026-11-21T03:08:30Z", True),
        "tolerates this taint": ([tolerating("node.kubernetes.io/out-of-service")], None, False),
        "tolerates the other for ever": ([tolerating("node.kubernetes.io/unreachable")], None, True),
    },
)
def test_F6_pods_that_are_deleted(tolerations: Sequence[Any], deleted: str | None, expected: bool) -> None:
    assert goes(make_lost_pod(tolerations=tolerations, deleted=deleted)) is expected


def test_F6_pod_deleted_by_another_taint_is_included() -> None:
    for_a_time = {**tolerating("node.kubernetes.io/unreachable"), "tolerationSeconds": 300}
    pod = make_lost_pod(tolerations=[tolerating("node.kubernetes.io/out-of-service"), for_a_time])
    assert not goes(pod)
    assert goes(pod, node("Unknown", UNREACHABLE).spec.taints)


STAYS = make_lost_pod("agent", owner="DaemonSet/agent", claims=["log"], tolerations=[EVERYTHING])
GOES = make_lost_pod("db-0", claims=["data"])


def test_F6_remaining_pods_and_volumes() -> None:
    attachments = [make_attachment("data", "lost"), make_attachment("log", "lost"), make_attachment("far", "well")]
    facts = PartitionFacts(
        nodes=[node("Unknown"), make_zone_node("well")],
        renewed={"lost": HEARTBEAT},
        pods=(GOES, STAYS),
        claims={("shop", name): make_claim(name) for name in ("data", "log")},
        volumes={f"pv-{name}": make_volume(name) for name in ("data", "log")},
        attachments=attachments,
    )
    kept = kept_volumes(partitions(facts, NOW)[0], node("Unknown"), facts.pods)
    left = left_to_go(node("Unknown"), facts.pods, attachments, kept)
    assert (left.pods, left.attachments, left.staying) == (("shop/db-0",), ("pv-data",), ("shop/agent",))
    assert left_to_go(node("Unknown"), [STAYS], attachments[1:], kept) == left_to_go(node("Unknown"), [STAYS], [], ())


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("iscsi", "kubernetes.io/iscsi/192.0.2.9:3260:iqn.2026-11.com.example:{}:3"),
        ("fc", "kubernetes.io/fc/[50060e801049cfd1 {}]:2"),
    ],
)
def test_F6_volumes_without_attachment_object_remain(source: str, name: str) -> None:
    names = [name.format(volume) for volume in ("data", "log", "old")]
    lost = make_zone_node("lost", ready="Unknown", attached=names)
    known = {f"pv-{volume}": make_volume(volume, source) for volume in ("data", "log")}
    facts = PartitionFacts(
        nodes=[lost, make_zone_node("well")],
        renewed={"lost": HEARTBEAT},
        pods=(GOES, STAYS),
        claims={("shop", volume): make_claim(volume) for volume in ("data", "log")},
        volumes=known,
    )
    kept = kept_volumes(partitions(facts, NOW)[0], lost, facts.pods)
    # The pods are removed first, and only then their volumes.
    for pods in ([GOES, STAYS], [STAYS]):
        left = left_to_go(lost, pods, (), kept, known.values())
        assert left.attachments == (names[2], "pv-data")
        assert not left.nothing
    detached = make_zone_node("lost", ready="Unknown", attached=names[1:2])
    assert left_to_go(detached, [STAYS], (), kept, known.values()).nothing


def test_F6_finished_pods_are_not_waited_for() -> None:
    finished: Pod = make_lost_pod("done", owner="Job/done", phase="Succeeded")
    assert left_to_go(node("Unknown"), [finished], [], ()).pods == ()
    kept = make_lost_pod("done", owner="Job/done", phase="Failed", deleted="2026-11-21T03:08:30Z")
    assert left_to_go(node("Unknown"), [kept], [], ()).pods == ("shop/done",)


def test_F6_only_the_upstream_taint_is_removed() -> None:
    assert (TAINT.key, TAINT.effect) == ("node.kubernetes.io/out-of-service", "NoExecute")
    assert [taint.key for taint in without_taint(node("Unknown", UNREACHABLE, OUT_OF_SERVICE))] == [UNREACHABLE["key"]]
