"""The number of feasible nodes that is enough."""

from __future__ import annotations

from typing import Any

from podrules.scheduling.scheduler.cycle import num_feasible_nodes_to_find
from podrules.scheduling.scheduler.profile import read_profiles
from tests.table import row, table

KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@table(
    "configured, profile, nodes, enough",
    {
        "not set, nodes number not more than 50": row(None, None, 10, 10),
        "set profile, nodes number not more than 50": row(None, 40, 10, 10),
        "not set, nodes number more than 50": row(None, None, 1000, 420),
        "set profile, nodes number more than 50": row(None, 40, 1000, 400),
        "set global and profile, nodes number more than 50": row(100, 40, 1000, 400),
        "set global, nodes number more than 50": row(40, None, 1000, 400),
        "not set profile, nodes number more than 50*125": row(None, None, 6000, 300),
        "set profile, nodes number more than 50*125": row(None, 40, 6000, 2400),
        "set profile to 0, which adapts": row(100, 0, 1000, 420),
        "one short of 100 nodes": row(None, None, 99, 99),
        "never fewer than 100": row(1, None, 100, 100),
        "rounded down": row(None, 33, 1001, 330),
    },
)
def test_num_feasible_nodes_to_find(configured: int | None, profile: int | None, nodes: int, enough: int) -> None:
    written: dict[str, Any] = {"percentageOfNodesToScore": profile}
    configuration = {**KIND, "percentageOfNodesToScore": configured, "profiles": [written]}
    percentage = read_profiles(configuration)["default-scheduler"].percentage_of_nodes_to_score
    assert num_feasible_nodes_to_find(percentage, nodes) == enough
