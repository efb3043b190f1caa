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


@pytest.mark.parametrize(
    ("node", "safety"),
    [
        pytest.param(_reach(Reach.ANSWERS), ForceSafety.NOT_SAFE, id="answers"),
        pytest.param(_reach(Reach.SILENT), ForceSafety.NOT_SAFE_YET, id="silent"),
        pytest.param(_reach(Reach.SILENT, provider=True), ForceSafety.NOT_SAFE_YET, id="silent provider"),
        pytest.param(_reach(Reach.ANSWERS, provider=True), ForceSafety.UNKNOWN, id="provider"),
        pytest.param(_reach(Reach.UNKNOWN), ForceSafety.UNKNOWN, id="unknown"),
        pytest.param(None, ForceSafety.UNKNOWN, id="node not read"),
    ],
)
def test_F1_safety_by_node_reach(node: NodeReach | None, safety: ForceSafety) -> None:
    assert pod_force_safety(Guarantee.AT_MOST_ONE, RUNNING, node, ()) is safety


@pytest.mark.parametrize(
    ("guarantee", "reach", "safety"),
    [
        pytest.param(Guarantee.AVAILABILITY_FIRST, Reach.ANSWERS, None, id="its volumes decide"),
        pytest.param(Guarantee.AVAILABILITY_FIRST, Reach.SILENT, ForceSafety.NOT_SAFE_YET, id="its node decides"),
        pytest.param(Guarantee.AT_MOST_ONE, Reach.ANSWERS, ForceSafety.NOT_SAFE, id="its owner decides"),
        pytest.param(Guarantee.NOT_REPLACED, Reach.ANSWERS, ForceSafety.NO_PROMISE_BROKEN, id="not replaced"),
    ],
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
