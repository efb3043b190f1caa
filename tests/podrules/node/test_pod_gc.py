"""The objects that pod garbage collection removes if a node does not answer, and how soon (T5)."""

from __future__ import annotations

import pytest

from podrules.node.lost_node import collected_within
from podrules.node.reachability import Reach


@pytest.mark.parametrize(
    ("reach", "deleted", "seconds"),
    [
        pytest.param(Reach.GONE, False, 80, id="no Node object: twice 20 s, and 40 s of quarantine"),
        pytest.param(Reach.GONE, True, 80, id="the same of a pod that is being deleted"),
        pytest.param(Reach.OUT_OF_SERVICE, True, 20, id="declared out of service: what is being deleted"),
        pytest.param(Reach.OUT_OF_SERVICE, False, None, id="declared out of service: nothing else"),
        pytest.param(Reach.BACK, True, None, id="back in service: the taint alone removes nothing"),
        pytest.param(Reach.BACK_NOT_READY, True, 20, id="it answers, has the taint and is not Ready"),
        pytest.param(Reach.SILENT, True, None, id="silent"),
        pytest.param(Reach.MISSED_HEARTBEATS, True, None, id="no heartbeats"),
        pytest.param(Reach.ANSWERS, True, None, id="it answers"),
        pytest.param(None, True, None, id="not known"),
    ],
)
def test_T5_pods_that_garbage_collection_removes(reach: Reach | None, deleted: bool, seconds: int | None) -> None:
    assert collected_within(reach, deleted=deleted) == seconds


@pytest.mark.parametrize("reach", Reach)
def test_T5_only_answering_or_unknown_nodes_stop_processes(reach: Reach) -> None:
    answers = {Reach.ANSWERS, Reach.RETURNING, Reach.BACK, Reach.BACK_NOT_READY}
    assert reach.quiet is (reach not in {*answers, Reach.UNKNOWN})
