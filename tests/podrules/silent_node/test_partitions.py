"""Pods of nodes that do not answer: what each blocks, and which is worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.policy import PodDisruptionBudget
from podrules.api.model.storage import Volume
from podrules.ending.volumes import WriterLock
from podrules.node.lost_node import MonitorGrace
from podrules.node.reachability import Reach
from podrules.silent_node.partitions import (
    Block,
    BlockKind,
    NodeDown,
    PartitionBudget,
    PartitionFacts,
    Risk,
    nodes_down,
    ordinal_of,
    partitions,
)
from podrules.workload.safety import ForceSafety
from tests.podrules.node.lost import (
    HEARTBEAT,
    NOW,
    OUT_OF_SERVICE,
    UNKNOWN,
    UNREACHABLE,
    make_attachment,
    make_claim,
    make_lost_pod,
    make_volume,
    make_zone_node,
    stateful_set,
    tolerating,
)
from tests.table import table

FRESH = NOW - timedelta(seconds=4)
LOST = make_zone_node("lost", ready="Unknown", taints=[UNREACHABLE])
WELL = make_zone_node("well")
RENEWED = {"lost": HEARTBEAT, "well": FRESH}
DELETED = "2026-11-21T03:08:30Z"
ALONE = make_lost_pod("etcd", owner="", claims=["data"])
MIRROR = replace(ALONE, metadata=replace(ALONE.metadata, annotations={"kubernetes.io/config.mirror": "abc"}))


def facts(*pods: Pod, nodes: Sequence[Node] = (LOST, WELL), **more: Any) -> PartitionFacts:
    return PartitionFacts(nodes=nodes, renewed=RENEWED, pods=pods, **more)


def the_node(found: Sequence[NodeDown]) -> NodeDown:
    assert len(found) == 1
    return found[0]


def test_F5_answering_nodes_are_left_out() -> None:
    assert partitions(facts(nodes=[WELL]), NOW) == ()
    assert partitions(facts(nodes=[make_zone_node("well", ready="False")]), NOW) == ()


def test_F5_nodes_without_object_are_found_by_their_pods() -> None:
    orphan = make_lost_pod("db-1", node="gone")
    finished = make_lost_pod("done", node="gone-too", phase="Succeeded")
    found = the_node(partitions(facts(orphan, finished, nodes=[WELL]), NOW))
    assert (found.reach.name, found.reach.reach) == ("gone", Reach.GONE)
    assert [pod.name for pod in found.pods] == ["db-1"]
    assert partitions(facts(orphan, nodes=[]), NOW) == ()


@pytest.mark.parametrize(
    ("node", "renewed", "expected"),
    [
        (LOST, HEARTBEAT, Reach.SILENT),
        (make_zone_node("lost"), NOW - timedelta(seconds=41), Reach.MISSED_HEARTBEATS),
        (make_zone_node("lost", ready="Unknown", taints=[OUT_OF_SERVICE]), HEARTBEAT, Reach.OUT_OF_SERVICE),
        (make_zone_node("lost", taints=[OUT_OF_SERVICE]), FRESH, Reach.BACK),
    ],
)
def test_F5_four_ways_to_be_down(node: Node, renewed: datetime, expected: Reach) -> None:
    assert [reach.reach for reach in nodes_down([node, WELL], {"lost": renewed}, NOW)] == [expected]


def test_F5_times_of_heartbeat_unknown_and_taints() -> None:
    node = the_node(
        partitions(facts(make_lost_pod(deleted=DELETED), make_lost_pod("web-1", owner="ReplicaSet/web")), NOW)
    )
    assert (node.renewed, node.unknown_at, node.tainted_at) == (HEARTBEAT, UNKNOWN, UNKNOWN)
    assert node.taints == ("node.kubernetes.io/unreachable:NoExecute",)
    known, waiting = node.pods
    assert known.deleted == datetime.fromisoformat("2026-11-21T03:08:00Z")
    assert (waiting.deleted, waiting.eviction.at) == (None, UNKNOWN + timedelta(seconds=300))


@pytest.mark.parametrize("grace", [MonitorGrace(40, known=True), MonitorGrace(), MonitorGrace(40)])
def test_F5_when_ready_will_be_unknown(grace: MonitorGrace) -> None:
    missed = {"lost": NOW - timedelta(seconds=41)}
    facts = PartitionFacts(nodes=[make_zone_node("lost")], renewed=missed, pods=(), grace=grace)
    node = the_node(partitions(facts, NOW))
    assert node.unknown_at == NOW + timedelta(seconds=grace.seconds - 41)
    assert node.grace_assumed is not grace.known


def test_F5_finished_pods_depend_on_nothing() -> None:
    assert the_node(partitions(facts(make_lost_pod(phase="Succeeded")), NOW)).pods == ()
    kept = make_lost_pod(phase="Failed", deleted=DELETED)
    assert the_node(partitions(facts(kept), NOW)).pods[0].blocks[0].kind is BlockKind.STATEFUL_SET


@table(
    "pod, node, renewed, safety",
    {
        "silent": (make_lost_pod(), LOST, HEARTBEAT, ForceSafety.NOT_SAFE_YET),
        "silent, has ended": (make_lost_pod(phase="Failed", deleted=DELETED), LOST, HEARTBEAT, ForceSafety.SAFE),
        "silent, static": (MIRROR, LOST, HEARTBEAT, ForceSafety.STOPS_NOTHING),
        "coming back": (make_lost_pod(), LOST, FRESH, ForceSafety.NOT_SAFE),
        "coming back, replaced": (make_lost_pod(owner="ReplicaSet/web"), LOST, FRESH, ForceSafety.NO_PROMISE_BROKEN),
    },
)
def test_F5_whether_a_pod_can_be_deleted_without_grace(
    pod: Pod, node: Node, renewed: datetime, safety: ForceSafety
) -> None:
    read = replace(facts(pod, nodes=[node, WELL]), renewed={"lost": renewed, "well": FRESH})
    assert the_node(partitions(read, NOW)).pods[0].force_safety is safety


@pytest.mark.parametrize(("policy", "ordered"), [("OrderedReady", True), ("", True), ("Parallel", False)])
def test_F5_stateful_set_waits_for_its_ordinal(policy: str, ordered: bool) -> None:
    sets = {("shop", "db"): stateful_set(policy=policy)}
    pod = the_node(partitions(facts(make_lost_pod("db-2"), stateful_sets=sets), NOW)).pods[0]
    assert pod.blocks == (Block(BlockKind.STATEFUL_SET, "db", ordinal=2, ordered=ordered),)


def test_F5_stateful_set_that_cannot_be_read_is_still_named() -> None:
    pod = the_node(partitions(facts(make_lost_pod("db-2")), NOW)).pods[0]
    assert pod.blocks == (Block(BlockKind.STATEFUL_SET, "db", ordinal=2, ordered=False),)


def test_F5_namespace_that_is_being_deleted_waits() -> None:
    pod = make_lost_pod("web-1", owner="ReplicaSet/web")
    found = the_node(partitions(facts(pod, namespaces_being_deleted={"shop": UNKNOWN, "other": UNKNOWN}), NOW)).pods[0]
    assert found.blocks == (Block(BlockKind.NAMESPACE, "shop", since=UNKNOWN),)
    assert found.risk is Risk.NAMESPACE_HELD


def storage(source: str = "csi", modes: Sequence[str] = ("ReadWriteOnce",)) -> Mapping[str, Any]:
    return {
        "claims": {("shop", "data"): make_claim("data", modes=modes)},
        "volumes": {"pv-data": make_volume("data", source, modes=modes)},
        "attachments": [make_attachment("data", "lost")] if source == "csi" else [],
    }


def test_F5_pods_that_wait_for_a_volume() -> None:
    lost = make_lost_pod("web-1", owner="ReplicaSet/web", claims=["data"], deleted=DELETED)
    waiting = make_lost_pod("web-2", "well", owner="ReplicaSet/web", claims=["data"], running=False, phase="Pending")
    others = [
        make_lost_pod("web-3", "well", owner="ReplicaSet/web"),
        make_lost_pod("web-4", "well", owner="ReplicaSet/web", claims=["data"], phase="Succeeded"),
        make_lost_pod("web-5", "well", owner="ReplicaSet/web", claims=["data"], namespace="other", running=False),
        make_lost_pod("web-6", "", owner="ReplicaSet/web", claims=["data"], running=False, phase="Pending"),
        make_lost_pod("web-7", "well", owner="ReplicaSet/web", claims=["data"]),
    ]
    node = the_node(partitions(facts(lost, waiting, *others, **storage()), NOW))
    assert node.pods[0].blocks == (Block(BlockKind.VOLUME, "pv-data", claim="data", waiting=("web-2",)),)
    assert node.pods[0].risk is Risk.VOLUME_AWAITED
    assert [(entry.persistent_volume, entry.used_by) for entry in node.attachments] == [("pv-data", "shop/web-1")]


def test_F5_no_pod_waits_for_multi_node_volume() -> None:
    lost = make_lost_pod("web-1", owner="ReplicaSet/web", claims=["data"])
    other = make_lost_pod("web-2", "well", owner="ReplicaSet/web", claims=["data"])
    node = the_node(partitions(facts(lost, other, **storage(modes=["ReadWriteMany"])), NOW))
    assert node.pods[0].blocks == (Block(BlockKind.VOLUME, "pv-data", claim="data"),)


def test_F5_attachment_without_a_pod_has_no_holder() -> None:
    node = the_node(partitions(facts(**storage()), NOW))
    assert [entry.used_by for entry in node.attachments] == [""]


ISCSI = "kubernetes.io/iscsi/192.0.2.9:3260:iqn.2026-11.com.example:data:3"
FC = "kubernetes.io/fc/[50060e801049cfd1 data]:2"
CSI = "kubernetes.io/csi/block.csi.example.com^data"


def attached(*names: str, in_use: Sequence[str] = ()) -> Sequence[Node]:
    return [make_zone_node("lost", ready="Unknown", taints=[UNREACHABLE], attached=names, in_use=in_use), WELL]


@table(
    "source, in_status, attachment, lock",
    {
        "iSCSI has no VolumeAttachment": ("iscsi", ISCSI, "", WriterLock.CONTROLLER),
        "FC has none": ("fc", FC, "", WriterLock.CONTROLLER),
        "CSI has both and counts once": ("csi", CSI, "csi-data-lost", WriterLock.ATTACHMENT),
    },
)
def test_F5_volume_is_awaited_after_pod_deletion(
    source: str, in_status: str, attachment: str, lock: WriterLock
) -> None:
    waiting = make_lost_pod("web-2", "well", owner="ReplicaSet/web", claims=["data"], running=False, phase="Pending")
    for in_use, mounted in (((in_status,), True), ((), False)):
        known = facts(waiting, nodes=attached(in_status, in_use=in_use), **storage(source))
        node = the_node(partitions(known, NOW))
        [held] = node.attachments
        assert (held.name, held.persistent_volume, held.used_by) == (attachment, "pv-data", "")
        assert (held.mounted, held.claim, node.waiting) == (mounted, "data", ("shop/web-2",))
        assert held.writer is not None
        assert held.writer.lock is lock
    shared = storage(source, modes=["ReadWriteMany"])
    assert the_node(partitions(facts(waiting, nodes=attached(in_status), **shared), NOW)).waiting == ()


def test_F5_node_with_awaited_volume_comes_first() -> None:
    older = make_zone_node("older", ready="Unknown")
    waiting = make_lost_pod("web-2", "well", owner="ReplicaSet/web", claims=["data"], running=False, phase="Pending")
    pods = [waiting, make_lost_pod("web-1", "older", owner="ReplicaSet/web")]
    known = facts(*pods, nodes=[older, *attached(ISCSI)], **storage("iscsi"))
    assert [node.reach.name for node in partitions(known, NOW)] == ["lost", "older"]


def test_F5_pod_uses_volumes_with_and_without_a_claim() -> None:
    pod = make_lost_pod("web-1", owner="ReplicaSet/web", claims=["data"])
    spec = {"name": "own", "iscsi": {"targetPortal": "192.0.2.9:3260", "iqn": "iqn.2026-11.com.example:own", "lun": 0}}
    volumes = (*pod.spec.volumes, from_object(spec, Volume))
    pod = replace(pod, spec=replace(pod.spec, volumes=volumes))
    own = "kubernetes.io/iscsi/192.0.2.9:3260:iqn.2026-11.com.example:own:0"
    node = the_node(partitions(facts(pod, nodes=attached(FC, own, ISCSI), **storage("fc")), NOW))
    assert {held.persistent_volume: held.used_by for held in node.attachments} == {
        "pv-data": "shop/web-1",
        own: "shop/web-1",
        ISCSI: "",
    }
    assert all(held.writer is None and not held.waiting for held in node.attachments)


def test_F5_volume_attachment_without_its_volume_counts_once() -> None:
    unread = {**storage(), "volumes": {}}
    node = the_node(partitions(facts(nodes=attached(CSI, "kubernetes.io/csi/other.example.com^x"), **unread), NOW))
    assert [(held.name, held.persistent_volume, held.mounted) for held in node.attachments] == [
        ("csi-data-lost", "pv-data", True),
        ("", "kubernetes.io/csi/other.example.com^x", False),
    ]


@pytest.mark.parametrize(
    ("pod", "source", "risk"),
    [
        (make_lost_pod(claims=["data"]), "nfs", Risk.TWO_WRITERS),
        (make_lost_pod("web-1", owner="ReplicaSet/web", claims=["data"]), "nfs", Risk.TWO_WRITERS),
        (make_lost_pod("alone", owner="", claims=["data"]), "nfs", Risk.NOT_REPLACED),
        (make_lost_pod(claims=["data"]), "csi", Risk.NO_REPLACEMENT),
        (make_lost_pod("web-1", owner="ReplicaSet/web"), "csi", Risk.REPLACED),
        (make_lost_pod("job-1", owner="Job/job"), "csi", Risk.REPLACED),
        (make_lost_pod("agent", owner="DaemonSet/agent", claims=["data"]), "nfs", Risk.NODES_OWN),
        (MIRROR, "nfs", Risk.NODES_OWN),
        (make_lost_pod("alone", owner=""), "csi", Risk.NOT_REPLACED),
    ],
)
def test_F5_worst_finding_of_a_pod(pod: Pod, source: str, risk: Risk) -> None:
    assert the_node(partitions(facts(pod, **storage(source)), NOW)).pods[0].risk is risk


@table(
    "other, source, risk",
    {
        "waits for iSCSI": ({"running": False}, "iscsi", Risk.TWO_WRITERS),
        "waits for FC": ({"running": False}, "fc", Risk.TWO_WRITERS),
        "runs on NFS": ({}, "nfs", Risk.TWO_WRITERS),
        "its driver detaches": ({"running": False}, "csi", Risk.VOLUME_AWAITED),
        "has finished": ({"phase": "Failed"}, "nfs", Risk.NOT_REPLACED),
        "on the same node": ({"node": "lost"}, "fc", Risk.NOT_REPLACED),
        "another claim of that name": ({"namespace": "other"}, "fc", Risk.NOT_REPLACED),
        "another claim": ({"claims": ["more"]}, "fc", Risk.NOT_REPLACED),
    },
)
def test_second_writer_elsewhere(other: Mapping[str, Any], source: str, risk: Risk) -> None:
    second = make_lost_pod("bare-b", **{"node": "well", "owner": "", "claims": ["data"], **other})
    first = make_lost_pod("bare-a", owner="", claims=["data"])
    risks = {pod.name: pod.risk for pod in the_node(partitions(facts(first, second, **storage(source)), NOW)).pods}
    assert risks["bare-a"] is risk


def test_reader_elsewhere_is_no_second_writer() -> None:
    second = make_lost_pod("bare-b", "well", owner="", claims=["data"], running=False)
    claim = second.spec.volumes[0].persistent_volume_claim
    assert claim is not None
    volume = replace(second.spec.volumes[0], persistent_volume_claim=replace(claim, read_only=True))
    reader = replace(second, spec=replace(second.spec, volumes=(volume,)))
    known = facts(make_lost_pod("bare-a", owner="", claims=["data"]), reader, **storage("fc"))
    assert the_node(partitions(known, NOW)).pods[0].risk is Risk.VOLUME_AWAITED


def test_second_writer_of_unused_volume_comes_first() -> None:
    older = make_zone_node("older", ready="Unknown")
    waiting = make_lost_pod("bare-b", "well", owner="", claims=["data"], running=False, phase="Pending")
    known = facts(waiting, make_lost_pod("db-0", "older"), nodes=[older, *attached(FC)], **storage("fc"))
    assert [node.reach.name for node in partitions(known, NOW)] == ["lost", "older"]


def test_F4_guards_of_volumes_of_a_lost_pod() -> None:
    locks = [
        the_node(partitions(facts(make_lost_pod(claims=["data"]), **more), NOW)).pods[0].volumes[0].lock
        for more in (
            storage("csi"),
            storage("nfs"),
            {},
            {**storage(), "attachments": []},
            {**storage(), "attachments": [make_attachment("data", "lost", attached=False)]},
        )
    ]
    assert locks == [WriterLock.ATTACHMENT, WriterLock.NONE, WriterLock.UNKNOWN, WriterLock.NONE, WriterLock.NONE]


def test_F4_unstarted_pod_may_still_wait_for_volume() -> None:
    pod = make_lost_pod(claims=["data"], running=False)
    for attachments, lock in (([], WriterLock.UNKNOWN), (storage()["attachments"], WriterLock.ATTACHMENT)):
        node = the_node(partitions(facts(pod, **{**storage(), "attachments": attachments}), NOW))
        assert node.pods[0].volumes[0].lock is lock


def test_F5_worst_pod_comes_first() -> None:
    pods = [
        make_lost_pod("agent", owner="DaemonSet/agent", priority=2_000_000_000),
        make_lost_pod("web-1", owner="ReplicaSet/web", priority=100),
        make_lost_pod("web-0", owner="ReplicaSet/web", priority=100),
        make_lost_pod("shop-1", owner="ReplicaSet/shop", priority=1000),
        make_lost_pod("db-1", priority=0),
        make_lost_pod("nfs-0", owner="StatefulSet/nfs", claims=["data"], priority=-10),
    ]
    node = the_node(partitions(facts(*pods, **storage("nfs")), NOW))
    assert [pod.name for pod in node.pods] == ["nfs-0", "db-1", "shop-1", "web-0", "web-1", "agent"]


def test_F5_node_with_the_worst_pod_comes_first() -> None:
    older = make_zone_node("older", ready="Unknown")
    empty = make_zone_node("empty", ready="Unknown")
    pods = [make_lost_pod("web-1", "older", owner="ReplicaSet/web"), make_lost_pod("db-0")]
    known = facts(*pods, nodes=[empty, older, LOST, WELL])
    known = replace(known, renewed={**RENEWED, "older": HEARTBEAT - timedelta(hours=1)})
    assert [node.reach.name for node in partitions(known, NOW)] == ["lost", "older", "empty"]


def test_F5_declared_out_of_service() -> None:
    node = make_zone_node("lost", ready="Unknown", taints=[UNREACHABLE, OUT_OF_SERVICE])
    pod = make_lost_pod(tolerations=[tolerating("node.kubernetes.io/unreachable")])
    found = the_node(partitions(facts(pod, nodes=[node, WELL]), NOW))
    assert found.reach.reach is Reach.OUT_OF_SERVICE
    assert found.out_of_service_at == datetime.fromisoformat("2026-11-21T03:09:00Z")
    assert (found.pods[0].eviction.tolerated, found.pods[0].eviction.at) == (0, found.out_of_service_at)


def test_F5_pod_that_tolerates_for_ever_is_not_deleted() -> None:
    pod = make_lost_pod("agent", owner="DaemonSet/agent", tolerations=[tolerating("node.kubernetes.io/unreachable")])
    found = the_node(partitions(facts(pod), NOW)).pods[0]
    assert (found.eviction.at, found.eviction.tolerated) == (None, None)


def _budget(name: str, app: str, *, healthy: int, needed: int) -> PodDisruptionBudget:
    return from_object(
        {
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"currentHealthy": healthy, "desiredHealthy": needed},
        },
        PodDisruptionBudget,
    )


def _labelled(pod: Pod, app: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, labels={"app": app}))


def test_F6_budgets_count_remaining_pods_elsewhere() -> None:
    """A Ready pod still counts as healthy; a terminating one or one that is not Ready does not."""
    pods = [
        _labelled(make_lost_pod("db-0"), "db"),
        _labelled(make_lost_pod("db-1", deleted=DELETED), "db"),
        _labelled(make_lost_pod("db-2", ready=False), "db"),
        _labelled(make_lost_pod("web-0"), "web"),
        _labelled(make_lost_pod("db-3", "well"), "db"),
    ]
    budgets = [
        _budget("web", "web", healthy=4, needed=1),
        _budget("db", "db", healthy=3, needed=2),
        _budget("others", "other", healthy=0, needed=1),
    ]
    assert the_node(partitions(facts(*pods, budgets=budgets), NOW)).budgets == (
        PartitionBudget("shop", "db", 3, 2, 2),
        PartitionBudget("shop", "web", 1, 3, 1),
    )


@pytest.mark.parametrize(("name", "ordinal"), [("db-0", 0), ("db-12", 12), ("a-1-b", None), ("db", None)])
def test_F5_ordinal(name: str, ordinal: int | None) -> None:
    assert ordinal_of(make_lost_pod(name)) == ordinal
