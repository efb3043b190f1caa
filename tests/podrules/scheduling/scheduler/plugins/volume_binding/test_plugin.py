"""Cases of upstream's volumebinding/{volume_binding_test,binder_test}.go at v1.36.3 that lead to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import CSIDriver, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from podrules.scheduling.scheduler.framework.answers import SKIP, SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.volume_binding import UnsuitedClaim, VolumeBinding
from podrules.scheduling.scheduler.plugins.volume_binding.binder import Problem, provision_problems
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import StorageIndex
from tests.features import around
from tests.podrules.scheduling.scheduler.plugins.building_affinity import labelled_node, make_context, statuses
from tests.podrules.scheduling.scheduler.plugins.building_storage import (
    claim,
    claiming_pod,
    csi_node,
    ephemeral,
    storage_capacity,
    storage_class,
    volume,
)
from tests.table import row, table

NODE_TEXT = "node(s) didn't match PersistentVolume's node affinity"
BIND_TEXT = "node(s) didn't find available persistent volumes to bind"
VOLUME_TEXT = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
PROVISIONER = "test-provisioner"


def rejected(*texts: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, texts)


NODE_CONFLICT, BIND_CONFLICT = rejected(NODE_TEXT), rejected(BIND_TEXT)
CLASSES = (
    storage_class("wait"),
    storage_class("hdd"),
    storage_class("immediate", mode="Immediate"),
    storage_class("odd", mode=None),
    storage_class("provisioned", PROVISIONER, topologies=[{"nodeKey": ["node1", "reference-value"]}]),
    storage_class("elsewhere", PROVISIONER, topologies=[{"nodeKey": ["reference-value"]}, {}]),
)
NODE1, NODE2 = labelled_node("node1", nodeKey="node1"), labelled_node("node2", nodeKey="node2")


def on(node: str) -> Mapping[str, Sequence[str]]:
    return {"nodeKey": [node]}


def reference(name: str, uid: str = "") -> dict[str, str]:
    return {"namespace": "default", "name": name, "uid": uid}


BOUND = claim("bound-pvc", "wait", volume_name="pv-bound", size="1G")
UNBOUND, UNBOUND_2 = claim("unbound-pvc", "wait", size="1G"), claim("unbound-pvc2", "wait", size="5G")
PREBOUND = claim("prebound-pvc", "wait", volume_name="pv-node1a", bound=False, size="1G")
IMMEDIATE = claim("immediate-unbound-pvc", "immediate", size="1G")
IMMEDIATE_BOUND = claim("immediate-bound-pvc", "immediate", volume_name="pv-bound-immediate", size="1G")
PROVISIONED = claim("provisioned-pvc", "provisioned", size="1Gi")
PV_1A = volume("pv-node1a", "wait", size="5G", on=on("node1"))
PV_1B = volume("pv-node1b", "wait", size="10G", on=on("node1"))
PV_2 = volume("pv-node2", "wait", size="1G", on=on("node2"))
PV_BOUND = volume("pv-bound", "wait", size="1G", on=on("node1"), claim_ref=reference("bound-pvc"), phase="Bound")
REJECTED_AT_ONCE = rejected("pod has unbound immediate PersistentVolumeClaims")


def judged(
    claims: Sequence[PersistentVolumeClaim],
    volumes: Sequence[PersistentVolume] = (),
    nodes: Sequence[Node] = (NODE1,),
    **more: Any,
) -> Status | list[Status]:
    pod = claiming_pod(*(entry.metadata.name for entry in claims))
    snapshot = ClusterSnapshot(
        persistent_volume_claims=tuple(claims), persistent_volumes=tuple(volumes), storage_classes=CLASSES, **more
    )
    return statuses(VolumeBinding(), make_context(pod, nodes, snapshot=snapshot))


@table(
    "claims, volumes, expected",
    {
        "pod has not pvcs": row([], [], SKIP),
        "bound-pvc": row([BOUND], [PV_BOUND], SUCCESS),
        "bound-pvc,pv-not-exists": row([BOUND], [], rejected(VOLUME_TEXT)),
        "prebound-pvc": row([PREBOUND], [PV_1A], REJECTED_AT_ONCE),
        "unbound-pvc,pv-same-node": row([UNBOUND], [PV_2, PV_1A, PV_1B], SUCCESS),
        "unbound-pvc,pv-different-node": row([UNBOUND], [PV_2], BIND_CONFLICT),
        "unbound claims no matches": row([UNBOUND], [], BIND_CONFLICT),
        "two-unbound-pvcs": row([UNBOUND, UNBOUND_2], [PV_1A, PV_1B], SUCCESS),
        "two-unbound-pvcs,order-by-size": row([UNBOUND_2, UNBOUND], [PV_1A, PV_1B], SUCCESS),
        "two-unbound-pvcs,partial-match": row([UNBOUND, UNBOUND_2], [PV_1A], BIND_CONFLICT),
        "one-bound,one-unbound": row([UNBOUND, BOUND], [PV_BOUND, PV_1A], SUCCESS),
        "one-bound,one-unbound,no-match": row([UNBOUND, BOUND], [PV_BOUND, PV_2], BIND_CONFLICT),
        "one-prebound,one-unbound": row([UNBOUND, PREBOUND], [PV_1A, PV_1B], REJECTED_AT_ONCE),
        "immediate-bound-pvc": row(
            [IMMEDIATE_BOUND], [volume("pv-bound-immediate", "immediate", on=on("node1"))], SUCCESS
        ),
        "immediate-bound-pvc-wrong-node": row(
            [IMMEDIATE_BOUND], [volume("pv-bound-immediate", "immediate", on=on("node2"))], NODE_CONFLICT
        ),
        "immediate-unbound-pvc": row([IMMEDIATE], [], REJECTED_AT_ONCE),
        "immediate-unbound-pvc,delayed-mode-bound": row([IMMEDIATE, BOUND], [PV_BOUND], REJECTED_AT_ONCE),
        "immediate-unbound-pvc,delayed-mode-unbound": row([IMMEDIATE, UNBOUND], [], REJECTED_AT_ONCE),
        "bound and unbound unsatisfied": row(
            [BOUND, UNBOUND], [volume("pv-bound", "wait", on=on("node2"))], rejected(NODE_TEXT, BIND_TEXT)
        ),
        "pv not found claim lost": row(
            [claim("pvc-a", "wait", volume_name="pv-a", phase="Lost")],
            [],
            rejected('persistentvolumeclaim "pvc-a" bound to non-existent persistentvolume "pv-a"'),
        ),
        "claim being deleted": row(
            [claim("pvc-a", "wait", deleted=True)], [], rejected('persistentvolumeclaim "pvc-a" is being deleted')
        ),
        "class without a binding mode": row(
            [claim("pvc-a", "odd")], [], Status(Code.ERROR, ('VolumeBindingMode not set for StorageClass "odd"',))
        ),
        "claim without a class": row([claim("pvc-a")], [], REJECTED_AT_ONCE),
        "one-provisioned": row([PROVISIONED], [], SUCCESS),
        "two-unbound-pvcs,one-matched,one-provisioned": row([UNBOUND, PROVISIONED], [PV_1A], SUCCESS),
        "one-bound,one-provisioned": row([BOUND, PROVISIONED], [PV_BOUND], SUCCESS),
        "one-binding,one-selected-node": row(
            [BOUND, claim("selected", "provisioned", size="1Gi", selected_node="node1")], [PV_BOUND], SUCCESS
        ),
        "another node was selected": row(
            [claim("selected", "provisioned", size="1Gi", selected_node="node2")], [], BIND_CONFLICT
        ),
        "invalid-provisioner": row([claim("pvc", "wait", size="1Gi")], [], BIND_CONFLICT),
        "volume-topology-unsatisfied": row([claim("pvc", "elsewhere", size="1Gi")], [], BIND_CONFLICT),
        "a volume that names the claim is the only one that it gets": row(
            [UNBOUND],
            [volume("named", "wait", size="1G", on=on("node2"), claim_ref=reference("unbound-pvc")), PV_1A],
            BIND_CONFLICT,
        ),
        "a volume that names the claim need not be Available": row(
            [UNBOUND],
            [volume("named", "wait", size="1G", on=on("node1"), claim_ref=reference("unbound-pvc"), phase="Bound")],
            SUCCESS,
        ),
        "a volume that names a claim of the name that is gone": row(
            [UNBOUND],
            [volume("named", "wait", size="1G", on=on("node1"), claim_ref=reference("unbound-pvc", "other"))],
            BIND_CONFLICT,
        ),
        "a selector that cannot be read": row(
            [claim("pvc", "wait", selector={"matchExpressions": [{"key": "a", "operator": "Like"}]})],
            [],
            Status(
                Code.ERROR,
                ('error creating internal label selector for claim: "Like" is not a valid label selector operator',),
            ),
        ),
    },
)
def test_find_pod_volumes(
    claims: Sequence[PersistentVolumeClaim], volumes: Sequence[PersistentVolume], expected: Status
) -> None:
    found = judged(claims, volumes)

    assert found in (expected, [expected])


@table(
    "wanted, offered, fits",
    {
        "alike": row({}, {}, True),
        "too small": row({}, {"size": "999M"}, False),
        "not Available yet": row({}, {"phase": "Pending"}, False),
        "being deleted": row({}, {"deleted": True}, False),
        "another mode": row({"volumeMode": "Block"}, {}, False),
        "no mode is Filesystem": row({"volumeMode": "Filesystem"}, {}, True),
        "another attributes class": row({"volumeAttributesClassName": "gold"}, {}, False),
        "no attributes class": row({"volumeAttributesClassName": ""}, {}, True),
        "access modes": row({"accessModes": ["ReadWriteMany"]}, {"accessModes": ["ReadWriteOnce"]}, False),
        "more modes": row(
            {"accessModes": ["ReadWriteOnce"]}, {"accessModes": ["ReadWriteMany", "ReadWriteOnce"]}, True
        ),
        "selector does not match": row({"selector": {"matchLabels": {"a": "b"}}}, {}, False),
        "selector matches": row({"selector": {"matchLabels": {"a": "b"}}}, {"labels": {"a": "b"}}, True),
        "another's": row({}, {"claim_ref": reference("another")}, False),
    },
)
def test_find_matching_volume(wanted: dict[str, Any], offered: dict[str, Any], fits: bool) -> None:
    about = {"size": "1G", "accessModes": ["ReadWriteOnce"], **offered}
    asked = {"accessModes": ["ReadWriteOnce"], **wanted}

    found = judged([claim("pvc", "wait", size="1G", **asked)], [volume("pv", "wait", **about)])

    assert found == [SUCCESS if fits else BIND_CONFLICT]


def test_local_volumes_are_taken_once_on_each_node() -> None:
    nodes = [labelled_node(name, nodeKey=name) for name in ("a", "b", "c", "d")]
    volumes = [
        *(volume(f"a{number}", "wait", size="100Gi", on=on("a")) for number in range(2)),
        volume("b0", "wait", size="100Gi", on=on("b")),
        *(volume(f"c{number}", "wait", size=size, on=on("c")) for number, size in enumerate(("10Gi", "200Gi"))),
        volume("shared", "wait", size="60Gi", on={"nodeKey": ["c", "d"], "rack": []}),
    ]
    claims = [claim("pvc-0", "wait", size="50Gi"), claim("pvc-1", "wait", size="80Gi")]

    assert judged(claims, volumes[:-1], nodes) == [SUCCESS, BIND_CONFLICT, BIND_CONFLICT, BIND_CONFLICT]
    shared = volume("shared", "wait", size="60Gi", on={"nodeKey": ["c", "d"]})
    assert judged(claims, [*volumes[:-1], shared], nodes) == [SUCCESS, BIND_CONFLICT, SUCCESS, BIND_CONFLICT]


def test_each_unrestricted_volume_serves_one_claim() -> None:
    volumes = [volume(f"pv{number}", "wait", size="1G") for number in range(12)]
    nodes = [NODE1, NODE2]

    for wanted, expected in ((12, SUCCESS), (13, BIND_CONFLICT)):
        claims = [claim(f"pvc-{number}", "wait", size="1G") for number in range(wanted)]
        assert judged(claims, volumes, nodes) == [expected, expected]


def node_selector(*terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}}


@table(
    "terms, expected",
    {
        "field": row([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}], SUCCESS),
        "bad field": row([{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}], NODE_CONFLICT),
        "empty term": row([{}], NODE_CONFLICT),
        "no terms": row([], NODE_CONFLICT),
        "NotIn": row([{"matchExpressions": [{"key": "nodeKey", "operator": "NotIn", "values": ["node2"]}]}], SUCCESS),
    },
)
def test_volume_node_affinity_uses_only_labels(terms: Sequence[Mapping[str, Any]], expected: Status) -> None:
    bound = volume("pv-bound", "wait", **node_selector(*terms))
    free = volume("pv-free", "wait", size="1G", **node_selector(*terms))

    assert judged([BOUND], [bound]) == [expected]
    assert judged([UNBOUND], [free]) == [SUCCESS if expected is SUCCESS else BIND_CONFLICT]


@table(
    "found, expected",
    {
        "generic-ephemeral,no-pvc": row(
            [], rejected('waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"')
        ),
        "generic-ephemeral,with-pvc": row(
            [claim("pod-scratch", "wait", volume_name="pv-bound", owner="12345")], [SUCCESS]
        ),
        "generic-ephemeral,wrong-pvc": row(
            [claim("pod-scratch", "wait", volume_name="pv-bound")],
            rejected("PVC default/pod-scratch was not created for pod default/pod (pod is not owner)"),
        ),
    },
)
def test_generic_ephemeral(found: Sequence[PersistentVolumeClaim], expected: Status | list[Status]) -> None:
    snapshot = ClusterSnapshot(
        persistent_volume_claims=tuple(found), persistent_volumes=(PV_BOUND,), storage_classes=CLASSES
    )
    context = make_context(claiming_pod(ephemeral("scratch"), uid="12345"), [NODE1], snapshot=snapshot)

    assert statuses(VolumeBinding(), context) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("PVC does not exist", 'persistentvolumeclaim "pvc-a" not found'),
        pytest.param("Part of PVCs do not exist", 'persistentvolumeclaim "pvc-b" not found'),
    ],
)
def test_missing_claims(name: str, expected: str) -> None:
    there = (BOUND,) if name.startswith("Part") else ()
    pod = claiming_pod("bound-pvc", "pvc-b") if there else claiming_pod("pvc-a")
    context = make_context(pod, [NODE1], snapshot=ClusterSnapshot(persistent_volume_claims=there))

    assert statuses(VolumeBinding(), context) == rejected(expected)


ZONE_LABELS = {"failure-domain.beta.kubernetes.io/zone": "us-east-1"}
GCE_VOLUME = volume("pv-bound", "wait", labels=ZONE_LABELS, gcePersistentDisk={"pdName": "disk"})
ZONE1, ZONE2 = (labelled_node("node1", **{"topology.gke.io/zone": zone}) for zone in ("us-east-1", "us-east-2"))
MIGRATED, NOT_MIGRATED = csi_node("node1", migrated="kubernetes.io/gce-pd"), csi_node("node1")


@table(
    "node, csi_nodes, expected",
    {
        "pvc-bound": row(ZONE1, (MIGRATED,), SUCCESS),
        "pvc-bound,csinode-not-migrated": row(ZONE1, (NOT_MIGRATED,), SUCCESS),
        "pvc-bound,missing-csinode": row(ZONE1, (), SUCCESS),
        "pvc-bound,node-different-zone": row(ZONE2, (MIGRATED,), NODE_CONFLICT),
        "labels alone bind no node that is not migrated": row(ZONE2, (NOT_MIGRATED,), SUCCESS),
    },
)
def test_csi_migration(node: Node, csi_nodes: tuple[Any, ...], expected: Status) -> None:
    assert judged([BOUND], [GCE_VOLUME], [node], csi_nodes=csi_nodes) == [expected]


def test_untranslatable_volume_is_an_error_after_migration() -> None:
    labels = {"topology.kubernetes.io/zone": "us-east1-a__odd"}
    odd = volume("pv-bound", "wait", labels=labels, gcePersistentDisk={"pdName": "disk"})

    text = (
        "could not translate pv: failed to get region from zones: zone in unexpected format, "
        "expected: {locale}-{region}-{zone}, got: odd"
    )
    found = judged([BOUND], [odd], [ZONE1, NODE2], csi_nodes=(MIGRATED,))
    assert found == [Status(Code.ERROR, (text,)), SUCCESS]


NODE1_ONLY, NODE2_ONLY = {"matchLabels": {"nodeKey": "node1"}}, {"matchLabels": {"nodeKey": "node2"}}


@table(
    "capacities, enough",
    {
        "network-attached": row([storage_capacity("provisioned", {}, "1Gi")], True),
        "local-storage": row([storage_capacity("provisioned", NODE1_ONLY, "1Gi")], True),
        "multiple": row(
            [storage_capacity("provisioned", NODE2_ONLY, "1Gi"), storage_capacity("provisioned", NODE1_ONLY, "1Gi")],
            True,
        ),
        "no-storage": row([], False),
        "wrong-node": row([storage_capacity("provisioned", NODE2_ONLY, "1Gi")], False),
        "no topology": row([storage_capacity("provisioned", None, "1Gi")], False),
        "wrong-storage-class": row([storage_capacity("wait", NODE1_ONLY, "1Gi")], False),
        "insufficient-storage": row([storage_capacity("provisioned", NODE1_ONLY, "1Mi")], False),
        "insufficient-volume-size": row([storage_capacity("provisioned", NODE1_ONLY, "1Gi", "1Mi")], False),
        "zero-storage": row([storage_capacity("provisioned", NODE1_ONLY, "0Mi")], False),
        "zero-volume-size": row([storage_capacity("provisioned", NODE1_ONLY, "", "0Mi")], False),
        "nil-storage": row([storage_capacity("provisioned", NODE1_ONLY)], False),
    },
)
@pytest.mark.parametrize("tracked", [True, False, None])
def test_capacity(capacities: Sequence[CSIStorageCapacity], enough: bool, tracked: bool | None) -> None:
    drivers = [from_object({"metadata": {"name": PROVISIONER}, "spec": {"storageCapacity": tracked}}, CSIDriver)]
    snapshot = ClusterSnapshot(persistent_volume_claims=(PROVISIONED,), storage_classes=CLASSES)
    storage = replace(snapshot, csi_drivers=tuple(drivers), csi_storage_capacities=tuple(capacities))
    index = StorageIndex(Nodes([NODE1]), storage)

    expected = Problem.NONE if enough or not tracked else Problem.NOT_ENOUGH_SPACE
    assert provision_problems(index, PROVISIONED).tolist() == [expected]


def test_score_is_skipped() -> None:
    before, after = around("storage_capacity_scoring")
    for features in (before, replace(after, storage_capacity_scoring=False)):
        context = make_context(claiming_pod("bound-pvc"), [NODE1], features=features)
        assert VolumeBinding().pre_score(context, np.zeros(1, np.int32)).status is SKIP


def test_explain_names_claims_and_volumes() -> None:
    snapshot = ClusterSnapshot(
        persistent_volume_claims=(BOUND, UNBOUND), persistent_volumes=(PV_BOUND, PV_1A), storage_classes=CLASSES
    )
    context = make_context(claiming_pod("bound-pvc", "unbound-pvc"), [NODE1, NODE2], snapshot=snapshot)
    state = VolumeBinding().pre_filter(context).state

    first, second = (VolumeBinding().explain(context, state, row) for row in range(2))

    assert first == ()
    assert second == (
        UnsuitedClaim("bound-pvc", "pv-bound", "wait", NODE_TEXT),
        UnsuitedClaim("unbound-pvc", "", "wait", BIND_TEXT),
    )
