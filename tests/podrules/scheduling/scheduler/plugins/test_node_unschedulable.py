"""NodeUnschedulable: upstream's cases (TestNodeUnschedulable)."""

from __future__ import annotations

from typing import Any

from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.plugins.taint_toleration import NodeUnschedulable
from tests.podrules.scheduling.scheduler.plugins.building_nodes import filter_status, make_cycle, node_of, pod_of
from tests.table import row, table

CORDONED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",))
KEY = "node.kubernetes.io/unschedulable"


@table(
    "toleration, unschedulable, expected",
    {
        "Does not schedule pod to unschedulable node (node.Spec.Unschedulable==true)": row(None, True, CORDONED),
        "Schedule pod to normal node": row(None, False, SUCCESS),
        "Schedule pod with toleration to unschedulable node (node.Spec.Unschedulable==true)": row(
            {"key": KEY, "effect": "NoSchedule"}, True, SUCCESS
        ),
        "toleration of another effect": row({"key": KEY, "effect": "NoExecute"}, True, CORDONED),
        "toleration of everything": row({"operator": "Exists"}, True, SUCCESS),
    },
)
def test_filter(toleration: dict[str, Any] | None, unschedulable: bool, expected: Status) -> None:
    pod = pod_of({"tolerations": [toleration] if toleration else []})
    context = make_cycle(pod, [node_of(), node_of("other", spec={"unschedulable": unschedulable})])
    assert filter_status(NodeUnschedulable(), context) == SUCCESS
    assert filter_status(NodeUnschedulable(), context, row=1) == expected
