"""The default constraints of a pod: upstream's cases of filtering_test.go and scoring_test.go.

Upstream handles one action at a time, filter or score; here all constraints of a pod are together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podrules.api.model.pod import Pod, TopologySpreadConstraint
from podrules.api.model.workload import Service
from podrules.scheduling.scheduler.plugins.pod_topology_spread.constraints import (
    SYSTEM_DEFAULT_CONSTRAINTS,
    SnapshotSiblings,
    build_default_constraints,
)
from tests.objects import make_pod, make_service, make_workload, raw_owner
from tests.podrules.scheduling.scheduler.plugins.building_spread import HOSTNAME, anyway, hard, snapshot_of
from tests.table import row, table

ZONE = "topology.kubernetes.io/zone"
SERVICE = make_service(selector={"foo": "bar"})
BY_SERVICE = {"matchLabels": {"foo": "bar"}}
RS1 = make_workload("rs1", selector={"matchExpressions": [{"key": "foo", "operator": "Exists"}]})
BY_RS1 = {"matchExpressions": [{"key": "foo", "operator": "Exists"}]}
OTHER_RS1 = make_workload("rs1", selector={"matchExpressions": [{"key": "tar", "operator": "Exists"}]})


def siblings(*services: Service, **controllers: Sequence[Any]) -> SnapshotSiblings:
    return SnapshotSiblings(snapshot_of(*services, **controllers))


def make_owned(owner: str, *, constraints: Sequence[TopologySpreadConstraint] = (), foo: str = "tar") -> Pod:
    """A pod of the ReplicaSet ``owner``, or of none."""
    return make_pod(
        "p",
        labels={"foo": foo, "baz": "sup"},
        metadata={"ownerReferences": [raw_owner("ReplicaSet", owner)] if owner else []},
        topologySpreadConstraints=constraints,
    )


@table(
    "pod, defaults, found, expected",
    {
        "the pod doesn't have soft topology spread Constraints": row(make_pod("p"), [], siblings(), []),
        "default constraints and a service": row(
            make_owned("", foo="bar"),
            [hard(3, "node", None), anyway(2, "node", None), hard(5, "rack", None)],
            siblings(SERVICE),
            [hard(3, "node", BY_SERVICE), anyway(2, "node", BY_SERVICE), hard(5, "rack", BY_SERVICE)],
        ),
        "default constraints and a service that doesn't match": row(
            make_owned("", foo="bar"), [hard(3, "node", None)], siblings(make_service(selector={"baz": "kep"})), []
        ),
        "default constraints and a service, but pod has constraints": row(
            make_owned("", foo="bar", constraints=[hard(1, "zone", BY_SERVICE)]),
            [hard(2, "node", None)],
            siblings(SERVICE),
            [],
        ),
        "default soft constraints and a service": row(
            make_owned("", foo="bar"), [anyway(2, "node", None)], siblings(SERVICE), [anyway(2, "node", BY_SERVICE)]
        ),
        "default constraints and a replicaset that doesn't match": row(
            make_owned("rs2", foo="bar"), [anyway(2, "planet", None)], siblings(replica_sets=[OTHER_RS1]), []
        ),
        "system default constraints and a replicaset": row(
            make_owned("rs1"),
            SYSTEM_DEFAULT_CONSTRAINTS,
            siblings(replica_sets=[RS1]),
            [anyway(3, HOSTNAME, BY_RS1), anyway(5, ZONE, BY_RS1)],
        ),
        "default constraints and a replicaset": row(
            make_owned("rs1"),
            [anyway(1, HOSTNAME, None), hard(2, "rack", None), anyway(2, "planet", None)],
            siblings(replica_sets=[RS1]),
            [anyway(1, HOSTNAME, BY_RS1), hard(2, "rack", BY_RS1), anyway(2, "planet", BY_RS1)],
        ),
        "default constraints and a replicaset, but pod has constraints": row(
            make_owned("rs1", foo="bar", constraints=[anyway(2, "planet", BY_SERVICE)]),
            [anyway(2, "galaxy", None)],
            siblings(replica_sets=[RS1]),
            [],
        ),
        "a service and a replicaset together": row(
            make_owned("rs1", foo="bar"),
            [anyway(1, "zone", None)],
            siblings(SERVICE, replica_sets=[RS1]),
            [anyway(1, "zone", BY_SERVICE | BY_RS1)],
        ),
        "all else of a default stays, matchLabelKeys give way to the selector": row(
            make_owned("", foo="bar"),
            [
                hard(
                    1,
                    "zone",
                    None,
                    minDomains=3,
                    nodeAffinityPolicy="Ignore",
                    nodeTaintsPolicy="Honor",
                    matchLabelKeys=["baz"],
                )
            ],
            siblings(SERVICE),
            [hard(1, "zone", BY_SERVICE, minDomains=3, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")],
        ),
        "no defaults": row(make_owned("", foo="bar"), [], siblings(SERVICE), []),
    },
)
def test_S4_build_default_constraints(
    pod: Pod,
    defaults: Sequence[TopologySpreadConstraint],
    found: SnapshotSiblings,
    expected: Sequence[TopologySpreadConstraint],
) -> None:
    assert build_default_constraints(pod, defaults, found) == tuple(expected)
