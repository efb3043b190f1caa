"""The number of feasible nodes that is enough."""

from __future__ import annotations

from typing import Any

import pytest

from podrules.scheduling.scheduler.cycle import num_feasible_nodes_to_find
from podrules.scheduling.scheduler.profile import read_profiles

KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.mark.parametrize(
    ("configured", "profile", "nodes", "enough"),
    [
        pytest.param(None, None, 10, 10, id="not set, nodes number not more than 50"),
        pytest.param(None, 40, 10, 10, id="set profile, nodes number not more than 50"),
        pytest.param(None, None, 1000, 420, id="not set, nodes number more than 50"),
        pytest.param(None, 40, 1000, 400, id="set profile, nodes number more than 50"),
        pytest.param(100, 40, 1000, 400, id="set global and profile, nodes number more than 50"),
        pytest.param(40, None, 1000, 400, id="set global, nodes number more than 50"),
        pytest.param(None, None, 6000, 300, id="not set profile, nodes number more than 50*125"),
        pytest.param(None, 40, 6000, 2400, id="set profile, nodes number more than 50*125"),
        pytest.param(100, 0, 1000, 420, id="set profile to 0, which adapts"),
        pytest.param(None, None, 99, 99, id="one short of 100 nodes"),
        pytest.param(1, None, 100, 100, id="never fewer than 100"),
        pytest.param(None, 33, 1001, 330, id="rounded down"),
    ],
)
def test_num_feasible_nodes_to_find(configured: int | None, profile: int | None, nodes: int, enough: int) -> None:
    written: dict[str, Any] = {"percentageOfNodesToScore": profile}
    configuration = {**KIND, "percentageOfNodesToScore": configured, "profiles": [written]}
    percentage = read_profiles(configuration)["default-scheduler"].percentage_of_nodes_to_score
    assert num_feasible_nodes_to_find(percentage, nodes) == enough
