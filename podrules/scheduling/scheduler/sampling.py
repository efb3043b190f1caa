"""How many feasible nodes kube-scheduler finds before it stops.

    fewer than 100 nodes   all
    otherwise              nodes * percentage / 100, at least 100; percentage 0: 50 - nodes / 125, at least 5

Divisions drop the remainder. Where no plugin scores, one node is enough; a pod's own nominated node is tried first and
alone.

Source: pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, findNodesThatPassFilters) at v1.36.3.
"""

from __future__ import annotations

from typing import Final

MIN_FEASIBLE_NODES: Final = 100
MIN_FEASIBLE_PERCENTAGE: Final = 5


def num_feasible_nodes_to_find(percentage: int, nodes: int) -> int:
    """How many feasible nodes are enough.

    Args:
        percentage: ``percentageOfNodesToScore`` in force (`Profile.percentage_of_nodes_to_score`), 0 to 100.
        nodes: How many nodes there are.
    """
    if nodes < MIN_FEASIBLE_NODES:
        return nodes
    percentage = percentage or max(50 - nodes // 125, MIN_FEASIBLE_PERCENTAGE)
    return max(nodes * percentage // 100, MIN_FEASIBLE_NODES)
