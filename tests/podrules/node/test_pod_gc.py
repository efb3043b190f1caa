"""The objects that pod garbage collection removes if a node does not answer, and how soon (T5)."""

from __future__ import annotations

import pytest

from podrules.node.lost_node import collected_within
from podrules.node.reachability import Reach
from tests.table import table


@table(
    "reach, deleted, seconds",
    {
        "no Node object: twice 20 s, and 40 s of quarantine": (Reach.GONE, False, 80),
        "the same of a pod that is being deleted": (Reach.GONE, True, 80),
        "declared out of service: what is being deleted": (Reach.OUT_OF_SERVICE, True, 20),
        "declared out of service: nothing else": (Reach.OUT_OF_SERVICE, False, None),
        "back in service: the taint alone removes nothing": (Reach.BACK, True, None),
        "it answers, has the taint and is not Ready": (Reach.BACK_NOT_READY, True, 20),
        "silent": (Reach.SILENT, True, None),
        "no heartbeats": (Reach.MISSED_HEARTBEATS, True, None),
        "it answers": (Reach.ANSWERS, True, None),
        "not known": (None, True, None),
    },
)
def test_T5_pods_that_garbage_collection_removes(reach: Reach | None, deleted: bool, seconds: int | None) -> None:
    assert collected_within(reach, deleted=deleted) == seconds


@pytest.mark.parametrize("reach", Reach)
def test_T5_only_answering_or_unknown_nodes_stop_processes(reach: Reach) -> None:
    answers = {Reach.ANSWERS, Reach.RETURNING, Reach.BACK, Reach.BACK_NOT_READY}
    assert reach.quiet is (reach not in {*answers, Reach.UNKNOWN})
