"""The pods that count as this pod's siblings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podrules.api.model.base import OwnerReference
from podrules.api.model.decode import from_object
from podrules.api.model.workload import ReplicationController, Service, Workload
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SnapshotSiblings, default_selector
from tests.objects import make_pod, make_service, make_workload, raw_owner
from tests.podrules.scheduling.scheduler.plugins.building_spread import snapshot_of
from tests.table import row, table

NAMESPACE = "test"
POD = {"podLabelKey": "podLabelVal"}
OWN = {"ownLabelKey": "ownLabelVal"}


def serving(selector: dict[str, str] | None, namespace: str = NAMESPACE) -> Service:
    return make_service(namespace=namespace, selector=selector)


def siblings(*services: Service, **controllers: Sequence[Any]) -> SnapshotSiblings:
    return SnapshotSiblings(snapshot_of(*services, **controllers))


def selecting(namespace: str = NAMESPACE, **selector: Any) -> list[Workload]:
    return [make_workload("owner", namespace=namespace, selector=selector)]


OWNER = {"metadata": {"name": "owner", "namespace": NAMESPACE}, "spec": {"selector": OWN}}
SERVICE = serving(POD)
WORKLOAD = selecting(matchLabels=OWN)
BOTH = "ownLabelKey=ownLabelVal,podLabelKey=podLabelVal"


@table(
    "owners, found, expected",
    {
        "DefaultSelector for default case": row([], siblings(), ""),
        "DefaultSelector for no OwnerReference pod case": row([], siblings(SERVICE), "podLabelKey=podLabelVal"),
        "DefaultSelector for ReplicaSet OwnerReference pod case": row(
            [raw_owner("ReplicaSet")], siblings(SERVICE, replica_sets=WORKLOAD), BOTH
        ),
        "DefaultSelector for ReplicationController OwnerReference pod case": row(
            [raw_owner("ReplicationController", apiVersion="v1")],
            siblings(SERVICE, replication_controllers=[from_object(OWNER, ReplicationController)]),
            BOTH,
        ),
        "DefaultSelector for StatefulSet OwnerReference pod case": row(
            [raw_owner("StatefulSet")], siblings(SERVICE, stateful_sets=WORKLOAD), BOTH
        ),
        "a controller without a Service": row(
            [raw_owner("ReplicaSet")], siblings(replica_sets=WORKLOAD), "ownLabelKey=ownLabelVal"
        ),
        "a controller that is gone": row(
            [raw_owner("ReplicaSet")], siblings(SERVICE, stateful_sets=WORKLOAD), "podLabelKey=podLabelVal"
        ),
        "a namesake in another namespace": row(
            [raw_owner("ReplicaSet")],
            siblings(SERVICE, replica_sets=selecting("other", matchLabels=OWN)),
            "podLabelKey=podLabelVal",
        ),
        "an owner that does not control": row(
            [raw_owner("ReplicaSet", controller=False)], siblings(replica_sets=WORKLOAD), ""
        ),
        "a Job's pod": row([raw_owner("Job", apiVersion="batch/v1")], siblings(replica_sets=WORKLOAD), ""),
        "StatefulSet of another API group": row(
            [raw_owner("StatefulSet", apiVersion="apps.kruise.io/v1beta1")], siblings(stateful_sets=WORKLOAD), ""
        ),
        "matchExpressions of the controller": row(
            [raw_owner("ReplicaSet")],
            siblings(
                SERVICE,
                replica_sets=selecting(matchExpressions=[{"key": "tier", "operator": "In", "values": ["b", "a"]}]),
            ),
            "podLabelKey=podLabelVal,tier in (a,b)",
        ),
        "a controller with an invalid selector": row(
            [raw_owner("ReplicaSet")],
            siblings(SERVICE, replica_sets=selecting(matchExpressions=[{"key": "tier", "operator": "?"}])),
            "podLabelKey=podLabelVal",
        ),
    },
)
def test_default_selector(owners: Sequence[OwnerReference], found: SnapshotSiblings, expected: str) -> None:
    pod = make_pod(namespace=NAMESPACE, labels={**POD, **OWN}, metadata={"ownerReferences": owners})
    selector = default_selector(pod, found)
    assert str(selector) == expected
    assert selector.empty is (expected == "")


@table(
    "services, expected",
    {
        "it matches": row([serving({"app": "test-0"})], "app=test-0"),
        "another value": row([serving({"app": "test-1"})], ""),
        "a label that is absent": row([serving({"gone": "x"})], ""),
        "empty selector": row([serving({})], ""),
        "one label of two": row([serving({"app": "test-0", "label": "label-1"})], ""),
        "no selector": row([serving(None)], ""),
        "another namespace": row([serving({"app": "test-0"}, "other")], ""),
        "all that match are merged": row(
            [serving({"app": "test-0"}), serving({"app": "test-1"}), serving({"label": "label-0"})],
            "app=test-0,label=label-0",
        ),
    },
)
def test_services_of_a_pod(services: Sequence[Service], expected: str) -> None:
    pod = make_pod(namespace=NAMESPACE, labels={"app": "test-0", "label": "label-0"})
    assert str(default_selector(pod, siblings(*services))) == expected
