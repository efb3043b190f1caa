"""SchedulingGates: upstream's cases (TestPreEnqueue)."""

from __future__ import annotations

import pytest

from podrules.api.features import REFERENCE
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.one_field import SchedulingGates
from tests.podrules.scheduling.scheduler.plugins.building_nodes import pod_of


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param([], SUCCESS, id="pod does not carry scheduling gates"),
        pytest.param(
            ["foo", "bar"],
            Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waiting for scheduling gates: [foo bar]",)),
            id="pod carries scheduling gates",
        ),
    ],
)
def test_P3_pre_enqueue(gates: list[str], expected: Status) -> None:
    pod = pod_of({"schedulingGates": [{"name": gate} for gate in gates]})
    assert SchedulingGates().pre_enqueue(pod, ClusterSnapshot(), REFERENCE) == expected
