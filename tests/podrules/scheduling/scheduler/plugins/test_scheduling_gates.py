"""SchedulingGates: upstream's cases (TestPreEnqueue)."""

from __future__ import annotations

from podrules.api.features import REFERENCE
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.one_field import SchedulingGates
from tests.podrules.scheduling.scheduler.plugins.building_nodes import pod_of
from tests.table import row, table


@table(
    "gates, expected",
    {
        "pod does not carry scheduling gates": row([], SUCCESS),
        "pod carries scheduling gates": row(
            ["foo", "bar"], Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waiting for scheduling gates: [foo bar]",))
        ),
    },
)
def test_P3_pre_enqueue(gates: list[str], expected: Status) -> None:
    pod = pod_of({"schedulingGates": [{"name": gate} for gate in gates]})
    assert SchedulingGates().pre_enqueue(pod, ClusterSnapshot(), REFERENCE) == expected
