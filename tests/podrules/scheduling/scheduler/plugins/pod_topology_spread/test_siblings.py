"""Services and controllers of a snapshot."""

from __future__ import annotations

from podrules.api.model.decode import from_object
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.workload import ReplicationController
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import SnapshotSiblings
from tests.objects import make_service, make_workload

HERE = SnapshotSiblings(
    ClusterSnapshot(
        services=(make_service("a"), make_service("b", namespace="other"), make_service("c")),
        replication_controllers=(
            from_object({"metadata": {"name": "one", "namespace": "default"}}, ReplicationController),
        ),
        replica_sets=(make_workload("one", namespace="other", selector={}), make_workload("one", selector={})),
        stateful_sets=(make_workload("db", selector={}),),
    )
)


def test_services_of_the_namespace_in_the_order_given() -> None:
    assert [service.metadata.name for service in HERE.services("default")] == ["a", "c"]


def test_controllers_by_namespace_and_name() -> None:
    replica_set = HERE.replica_set("default", "one")
    assert replica_set is not None
    assert replica_set.metadata.namespace == "default"
    assert HERE.replication_controller("default", "one") is not None
    assert HERE.stateful_set("default", "db") is not None


def test_no_siblings() -> None:
    assert HERE.replica_set("default", "db") is None
    assert HERE.stateful_set("other", "db") is None
    assert HERE.replication_controller("other", "one") is None
