"""Cases of upstream's nodevolumelimits/csi_test.go at v1.36.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim, VolumeAttachment
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from podrules.scheduling.scheduler.plugins.node_volume_limits import (
    REASON_MAX_VOLUME_COUNT_EXCEEDED,
    DriverVolumes,
    NodeVolumeLimits,
    attached_volumes,
)
from tests.podrules.scheduling.scheduler.plugins.building_affinity import labelled_node, make_context, statuses
from tests.podrules.scheduling.scheduler.plugins.building_storage import (
    claim,
    claiming_pod,
    csi_node,
    ephemeral,
    storage_class,
    volume,
)
from tests.table import row, table

EXCEEDED = Status(Code.UNSCHEDULABLE, (REASON_MAX_VOLUME_COUNT_EXCEEDED,))
NODE = labelled_node("node")
EBS, EBS_IN_TREE, GCE = "ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io"


def csi(driver: str, handle: str) -> dict[str, Any]:
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def in_tree(handle: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": handle}}


SOURCES: Mapping[str, Mapping[str, Any]] = {
    **{f"ebs-{number}": csi(EBS, f"ebs-{number}") for number in range(4)},
    **{f"gce-{number}": csi(GCE, f"gce-{number}") for number in range(3)},
    **{f"tree-{number}": in_tree(f"tree-{number}") for number in range(3)},
    "hostpath-0": {"hostPath": {"path": "/tmp"}},
    "regional": {"gcePersistentDisk": {"pdName": "regional"}},
}
CLAIMS = (
    *(claim(name, volume_name=f"pv-{name}") for name in SOURCES),
    claim("pending", "csi-sc"),
    claim("no-class", "missing", volume_name="pv-gone"),
    claim("missing-pv", "csi-sc", volume_name="pv-gone"),
)


def snapshot(
    limit: int | None, provisioner: str = EBS, *, extra: Sequence[PersistentVolumeClaim] = (), node: bool = True
) -> ClusterSnapshot:
    return ClusterSnapshot(
        persistent_volume_claims=(*CLAIMS, *extra),
        persistent_volumes=tuple(volume(f"pv-{name}", **source) for name, source in SOURCES.items()),
        storage_classes=(storage_class("csi-sc", provisioner),),
        csi_nodes=(csi_node("node", {EBS: limit, GCE: limit}),) if node else (),
    )


def bound(*volumes: str | Mapping[str, Any], **about: str) -> Pod:
    return claiming_pod(*volumes, node="node", **about)


TWO = bound("ebs-1", "ebs-2")
RUNNING = bound("ebs-3")
TREE_TWO = bound("tree-1", "tree-2")
INLINE = {"name": "inline", **in_tree("aws-inline1")}
SAME_AS_CSI = {"name": "inline", **in_tree("ebs-1")}


@table(
    "pod, pods, limit, expected",
    {
        "fits when node volume limit >= new pods CSI volume": row(claiming_pod("ebs-0"), [RUNNING, TWO], 4, SUCCESS),
        "doesn't when node volume limit <= pods CSI volume": row(claiming_pod("ebs-0"), [RUNNING, TWO], 2, EXCEEDED),
        "should when driver does not support volume limits": row(claiming_pod("ebs-0"), [RUNNING, TWO], None, SUCCESS),
        "count pending PVCs towards volume limit <= pods CSI volume": row(
            claiming_pod("ebs-0"), [bound("pending"), TWO], 2, EXCEEDED
        ),
        "count multiple pending pvcs towards volume limit >= pods CSI volume": row(
            claiming_pod("ebs-0"), [bound("pending"), bound("pending"), TWO], 4, SUCCESS
        ),
        "should count PVCs with invalid PV name but valid SC": row(
            claiming_pod("ebs-0"), [bound("missing-pv"), TWO], 2, EXCEEDED
        ),
        "don't count pvcs with missing SC towards volume limit": row(
            claiming_pod("ebs-0"), [RUNNING, bound("no-class")], 2, SUCCESS
        ),
        "count pvcs with the same type towards volume limit": row(
            claiming_pod("ebs-0"), [bound("gce-1", "gce-2"), TWO], 2, EXCEEDED
        ),
        "don't count pvcs with different type towards volume limit": row(
            claiming_pod("gce-1", "gce-2"), [TWO, RUNNING], 2, SUCCESS
        ),
        "should count in-tree volumes if migration is enabled": row(claiming_pod("tree-0"), [TREE_TWO], 2, EXCEEDED),
        "should not limit pod if volume used does not report limits": row(
            claiming_pod("tree-0"), [TREE_TWO], None, SUCCESS
        ),
        "should not count non-migratable in-tree volumes": row(claiming_pod("hostpath-0"), [TWO], 2, SUCCESS),
        "should count in-tree inline volumes if migration is enabled": row(
            claiming_pod(INLINE), [TREE_TWO], 2, EXCEEDED
        ),
        "should count in-tree and csi volumes if migration is enabled (when scheduling in-tree volumes)": row(
            claiming_pod("tree-0"), [TWO], 2, EXCEEDED
        ),
        "should count in-tree, inline and csi volumes if migration is enabled": row(
            claiming_pod(INLINE), [TWO, bound("tree-0")], 3, EXCEEDED
        ),
        "should not count in-tree, inline and csi volumes that are in use": row(
            claiming_pod(SAME_AS_CSI), [TWO, bound("tree-0")], 3, SUCCESS
        ),
        "should count in-tree and csi volumes if migration is enabled (when scheduling csi volumes)": row(
            claiming_pod("ebs-0"), [TREE_TWO], 2, EXCEEDED
        ),
        "skip Filter when the pod only uses secrets and configmaps": row(
            claiming_pod({"name": "config"}, {"name": "secret"}), [], 2, SKIP
        ),
        "don't skip Filter when the pod has pvcs": row(claiming_pod({"name": "config"}, "ebs-0"), [], 2, SUCCESS),
        "don't skip Filter when the pod has inline migratable volumes": row(
            claiming_pod({"name": "config"}, INLINE), [TREE_TWO], 2, EXCEEDED
        ),
        "Azure File counts for nothing": row(claiming_pod({"name": "share", "azureFile": {}}), [], 2, SUCCESS),
        "a volume in use on the node is not attached again": row(claiming_pod("ebs-1"), [TWO], 2, SUCCESS),
        "a node over its limit takes what adds nothing": row(claiming_pod("ebs-1"), [TWO], 1, SUCCESS),
        "nor does another driver's limit count": row(claiming_pod("ebs-1", "gce-0"), [TWO], 1, SUCCESS),
    },
)
def test_csi_limits(pod: Pod, pods: Sequence[Pod], limit: int | None, expected: Status) -> None:
    plugin, context = NodeVolumeLimits(), make_context(pod, [NODE], pods, snapshot=snapshot(limit))

    assert statuses(plugin, context) == (expected if expected is SKIP else [expected])
    if expected is not SKIP:
        assert plugin.on_node(context, None, 0, pods).status() == expected


def test_unbound_in_tree_volumes_count_with_migration() -> None:
    context = make_context(claiming_pod("pending"), [NODE], [TREE_TWO], snapshot=snapshot(2, EBS_IN_TREE))

    assert statuses(NodeVolumeLimits(), context) == [EXCEEDED]


@pytest.mark.parametrize("mounted", [INLINE, "tree-0", "pending"])
def test_nil_csi_node(mounted: str | Mapping[str, Any]) -> None:
    found = snapshot(None, EBS_IN_TREE, node=False)
    context = make_context(claiming_pod(mounted), [NODE], [TREE_TWO], snapshot=found)

    assert statuses(NodeVolumeLimits(), context) == [SUCCESS]


OWN = claim("abc-xyz", "csi-sc", owner="12345", namespace="test")
WITHOUT_POD = claim("abc-xyz", "csi-sc", namespace="test")
WITH_OWN = claiming_pod(ephemeral("xyz"), name="abc", namespace="test", uid="12345")
HAS_OWN = bound(ephemeral("xyz"), name="abc", namespace="test", uid="12345")
HAS_TWO = bound(ephemeral("x"), ephemeral("y"), name="abc", namespace="test", uid="12345II")
OWN_TWO = [claim(f"abc-{name}", "csi-sc", owner="12345II", namespace="test") for name in "xy"]
NOT_OWNED = "PVC test/abc-xyz was not created for pod test/abc (pod is not owner)"


@table(
    "pod, pods, extra, limit, expected",
    {
        "ephemeral volume missing": row(
            WITH_OWN,
            [],
            [],
            None,
            Status(
                Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
                ('looking up PVC test/abc-xyz: persistentvolumeclaim "abc-xyz" not found',),
            ),
        ),
        "ephemeral volume not owned": row(WITH_OWN, [], [WITHOUT_POD], None, Status(Code.ERROR, (NOT_OWNED,))),
        "ephemeral volume unbound": row(WITH_OWN, [], [OWN], None, SUCCESS),
        "ephemeral doesn't when node volume limit <= pods CSI volume": row(
            WITH_OWN, [RUNNING, TWO], [OWN], 2, EXCEEDED
        ),
        "ephemeral doesn't when node volume limit <= pods ephemeral CSI volume": row(
            claiming_pod("ebs-0"), [RUNNING, HAS_TWO], OWN_TWO, 2, EXCEEDED
        ),
        "persistent doesn't when node volume limit <= pods ephemeral CSI volume + persistent volume": row(
            claiming_pod("ebs-0"), [RUNNING, HAS_OWN, TWO], [OWN], 3, EXCEEDED
        ),
        "persistent okay when node volume limit > pods ephemeral CSI volume + persistent volume": row(
            claiming_pod("ebs-0"), [RUNNING, HAS_OWN, TWO], [OWN], 5, SUCCESS
        ),
        "a bound pod's ephemeral volume not owned": row(
            claiming_pod("ebs-0"), [HAS_OWN], [WITHOUT_POD], 5, Status(Code.ERROR, (NOT_OWNED,))
        ),
    },
)
def test_ephemeral_volumes(
    pod: Pod, pods: Sequence[Pod], extra: Sequence[PersistentVolumeClaim], limit: int | None, expected: Status
) -> None:
    context = make_context(pod, [NODE], pods, snapshot=snapshot(limit, extra=extra))

    assert statuses(NodeVolumeLimits(), context) == [expected]


def test_volume_without_a_csi_form_is_an_error() -> None:
    odd = {"name": "odd", **in_tree("aws://us-east-1a/disk-1")}
    context = make_context(claiming_pod(odd), [NODE], snapshot=snapshot(2))

    text = (
        "converting volume(odd) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
        "Invalid format for AWS volume (aws://us-east-1a/disk-1)"
    )
    assert statuses(NodeVolumeLimits(), context) == [Status(Code.ERROR, (text,))]


def test_attachments_count_in_addition_to_pod_volumes() -> None:
    attachments = [
        from_object(
            {"spec": {"attacher": EBS, "nodeName": "node", "source": {"persistentVolumeName": f"pv-{name}"}}},
            VolumeAttachment,
        )
        for name in ("ebs-0", "ebs-1", "tree-0", "gone")
    ]
    table = NodeTable([NODE], [TWO])

    found = attached_volumes(table, replace(snapshot(2), volume_attachments=tuple(attachments)))

    assert {driver: counts.tolist() for driver, counts in found.counts.items()} == {EBS: [3]}
    assert set(found.rows) == {f"{EBS}/ebs-1", f"{EBS}/ebs-2"}


def test_explain_counts_by_driver() -> None:
    context = make_context(claiming_pod("ebs-0", "ebs-1", "gce-0", "hostpath-0"), [NODE], [TWO], snapshot=snapshot(2))

    assert NodeVolumeLimits().explain(context, None, 0) == (
        DriverVolumes(EBS, limit=2, attached=2, added=1),
        DriverVolumes(GCE, limit=2, attached=0, added=1),
    )
