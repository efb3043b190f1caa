"""The default constraints of a pod: upstream's cases of filtering_test.go and scoring_test.go.

Upstream handles one action at a time, filter or score; here all constraints of a pod are together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.api.model.workload import ReplicationController, Service, Workload
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    SYSTEM_DEFAULT_CONSTRAINTS,
    build_default_constraints,
)
from tests.objects import make_constraint, make_pod, make_service, make_workload, raw_owner

DO_NOT = "DoNotSchedule"
ANYWAY = "ScheduleAnyway"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SERVICE = make_service(selector={"foo": "bar"})
BY_SERVICE = {"matchLabels": {"foo": "bar"}}
RS1 = make_workload("rs1", selector={"matchExpressions": [{"key": "foo", "operator": "Exists"}]})
BY_RS1 = {"matchExpressions": [{"key": "foo", "operator": "Exists"}]}


class _Siblings:
    """Services and ReplicaSets of the namespace ``default``."""

    def __init__(self, services: Sequence[Service] = (), replica_sets: Sequence[Workload] = ()) -> None:
        self._services = services
        self._replica_sets = {entry.metadata.name: entry for entry in replica_sets}

    def services(self, namespace: str) -> Iterable[Service]:
        return [entry for entry in self._services if entry.metadata.namespace == namespace]

    def replication_controller(self, namespace: str, name: str) -> ReplicationController | None:
        raise AssertionError(f"{namespace}/{name} is not an owner")

    def replica_set(self, namespace: str, name: str) -> Workload | None:
        return self._replica_sets.get(name) if namespace == "default" else None

    def stateful_set(self, namespace: str, name: str) -> Workload | None:
        raise AssertionError(f"{namespace}/{name} is not an owner")


def make_owned(owner: str, *, constraints: Sequence[TopologySpreadConstraint] = (), foo: str = "tar") -> Pod:
    """A pod of the ReplicaSet ``owner``, or of none."""
    return make_pod(
        "p",
        labels={"foo": foo, "baz": "sup"},
        metadata={"ownerReferences": [raw_owner("ReplicaSet", owner)] if owner else []},
        topologySpreadConstraints=constraints,
    )


@pytest.mark.parametrize(
    ("pod", "defaults", "siblings", "expected"),
    [
        pytest.param(
            make_pod("p"),
            [],
            _Siblings(),
            [],
            id="the pod doesn't have soft topology spread Constraints",
        ),
        pytest.param(
            make_owned("", foo="bar"),
            [
                make_constraint(3, "node", DO_NOT),
                make_constraint(2, "node", ANYWAY),
                make_constraint(5, "rack", DO_NOT),
            ],
            _Siblings([SERVICE]),
            [
                make_constraint(3, "node", DO_NOT, BY_SERVICE),
                make_constraint(2, "node", ANYWAY, BY_SERVICE),
                make_constraint(5, "rack", DO_NOT, BY_SERVICE),
            ],
            id="default constraints and a service",
        ),
        pytest.param(
            make_owned("", foo="bar"),
            [make_constraint(3, "node", DO_NOT)],
            _Siblings([make_service(selector={"baz": "kep"})]),
            [],
            id="default constraints and a service that doesn't match",
        ),
        pytest.param(
            make_owned("", foo="bar", constraints=[make_constraint(1, "zone", DO_NOT, BY_SERVICE)]),
            [make_constraint(2, "node", DO_NOT)],
            _Siblings([SERVICE]),
            [],
            id="default constraints and a service, but pod has constraints",
        ),
        pytest.param(
            make_owned("", foo="bar"),
            [make_constraint(2, "node", ANYWAY)],
            _Siblings([SERVICE]),
            [make_constraint(2, "node", ANYWAY, BY_SERVICE)],
            id="default soft constraints and a service",
        ),
        pytest.param(
            make_owned("rs2", foo="bar"),
            [make_constraint(2, "planet", ANYWAY)],
            _Siblings(
                replica_sets=[
                    make_workload("rs1", selector={"matchExpressions": [{"key": "tar", "operator": "Exists"}]})
                ]
            ),
            [],
            id="default constraints and a replicaset that doesn't match",
        ),
        pytest.param(
            make_owned("rs1"),
            SYSTEM_DEFAULT_CONSTRAINTS,
            _Siblings(replica_sets=[RS1]),
            [make_constraint(3, HOSTNAME, ANYWAY, BY_RS1), make_constraint(5, ZONE, ANYWAY, BY_RS1)],
            id="system default constraints and a replicaset",
        ),
        pytest.param(
            make_owned("rs1"),
            [
                make_constraint(1, HOSTNAME, ANYWAY),
                make_constraint(2, "rack", DO_NOT),
                make_constraint(2, "planet", ANYWAY),
            ],
            _Siblings(replica_sets=[RS1]),
            [
                make_constraint(1, HOSTNAME, ANYWAY, BY_RS1),
                make_constraint(2, "rack", DO_NOT, BY_RS1),
                make_constraint(2, "planet", ANYWAY, BY_RS1),
            ],
            id="default constraints and a replicaset",
        ),
        pytest.param(
            make_owned("rs1", foo="bar", constraints=[make_constraint(2, "planet", ANYWAY, BY_SERVICE)]),
            [make_constraint(2, "galaxy", ANYWAY)],
            _Siblings(replica_sets=[RS1]),
            [],
            id="default constraints and a replicaset, but pod has constraints",
        ),
        pytest.param(
            make_owned("rs1", foo="bar"),
            [make_constraint(1, "zone", ANYWAY)],
            _Siblings([SERVICE], [RS1]),
            [make_constraint(1, "zone", ANYWAY, BY_SERVICE | BY_RS1)],
            id="a service and a replicaset together",
        ),
        pytest.param(
            make_owned("", foo="bar"),
            [
                make_constraint(
                    1,
                    "zone",
                    DO_NOT,
                    minDomains=3,
                    nodeAffinityPolicy="Ignore",
                    nodeTaintsPolicy="Honor",
                    matchLabelKeys=["baz"],
                )
            ],
            _Siblings([SERVICE]),
            [
                make_constraint(
                    1, "zone", DO_NOT, BY_SERVICE, minDomains=3, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"
                )
            ],
            id="all else of a default stays, matchLabelKeys give way to the selector",
        ),
        pytest.param(
            make_owned("", foo="bar"),
            [],
            _Siblings([SERVICE]),
            [],
            id="no defaults",
        ),
    ],
)
def test_S4_build_default_constraints(
    pod: Pod,
    defaults: Sequence[TopologySpreadConstraint],
    siblings: _Siblings,
    expected: Sequence[TopologySpreadConstraint],
) -> None:
    assert build_default_constraints(pod, defaults, siblings) == tuple(expected)
