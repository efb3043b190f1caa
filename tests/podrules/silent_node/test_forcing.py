"""Whether one pod can be deleted without grace."""

from __future__ import annotations

import pytest

from podrules.api.model.pod import Pod
from podrules.ending.deleted_pod import stop_plan
from podrules.ending.volumes import WriterGuard, WriterLock
from podrules.node.reachability import NodeReach, Reach
from podrules.silent_node.forcing import force_safety_whatever_volumes, lets_second_writer, pod_force_safety
from podrules.workload.safety import ForceSafety, Guarantee
from tests.objects import make_pod
from tests.table import table

RUNNING = stop_plan(make_pod(nodeName="n1"))
SHARED = WriterGuard("data", WriterLock.NONE)


def _reach(reach: Reach, *, provider: bool = False) -> NodeReach:
    return NodeReach("n1", reach, "", provider=provider)


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize(
    "pod", [make_pod(), make_pod(nodeName="n1", status={"phase": "Succeeded"})], ids=["on no node", "has ended"]
)
def test_F1_pod_without_process_is_always_safe(pod: Pod, reach: Reach) -> None:
    assert pod_force_safety(Guarantee.AT_MOST_ONE, stop_plan(pod), _reach(reach), [SHARED]) is ForceSafety.SAFE


@table(
    "node, safety",
    {
        "answers": (_reach(Reach.ANSWERS), ForceSafety.NOT_SAFE),
        "silent": (_reach(Reach.SILENT), ForceSafety.NOT_SAFE_YET),
        "silent provider": (_reach(Reach.SILENT, provider=True), ForceSafety.NOT_SAFE_YET),
        "provider": (_reach(Reach.ANSWERS, provider=True), ForceSafety.UNKNOWN),
        "unknown": (_reach(Reach.UNKNOWN), ForceSafety.UNKNOWN),
        "node not read": (None, ForceSafety.UNKNOWN),
    },
)
def test_F1_safety_by_node_reach(node: NodeReach | None, safety: ForceSafety) -> None:
    assert pod_force_safety(Guarantee.AT_MOST_ONE, RUNNING, node, ()) is safety


@table(
    "guarantee, reach, safety",
    {
        "its volumes decide": (Guarantee.AVAILABILITY_FIRST, Reach.ANSWERS, None),
        "its node decides": (Guarantee.AVAILABILITY_FIRST, Reach.SILENT, ForceSafety.NOT_SAFE_YET),
        "its owner decides": (Guarantee.AT_MOST_ONE, Reach.ANSWERS, ForceSafety.NOT_SAFE),
        "not replaced": (Guarantee.NOT_REPLACED, Reach.ANSWERS, ForceSafety.NO_PROMISE_BROKEN),
    },
)
def test_F3_unread_volumes(guarantee: Guarantee, reach: Reach, safety: ForceSafety | None) -> None:
    assert force_safety_whatever_volumes(guarantee, RUNNING, _reach(reach)) is safety


@pytest.mark.parametrize(
    ("lock", "reach", "lets"),
    [
        (WriterLock.NONE, Reach.ANSWERS, True),
        (WriterLock.CONTROLLER, Reach.ANSWERS, False),
        (WriterLock.CONTROLLER, Reach.SILENT, True),
        (WriterLock.CONTROLLER, Reach.OUT_OF_SERVICE, True),
        (WriterLock.ATTACHMENT, Reach.SILENT, False),
        (WriterLock.UNKNOWN, Reach.SILENT, False),
    ],
)
def test_F4_second_writer(lock: WriterLock, reach: Reach, *, lets: bool) -> None:
    assert lets_second_writer(WriterGuard("data", lock), reach) is lets
