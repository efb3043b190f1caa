"""Which taints a pod's tolerations leave untolerated, over a whole table. What tolerates what is `tolerations`' rule.

Source: k8s.io/component-helpers/scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint) at v0.36.3;
pkg/scheduler/framework/plugins/helper/taint.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.api.model.affinity import Toleration
from podrules.api.model.node import Taint
from podrules.pod.tolerations import (
    DO_NOT_SCHEDULE,
    tolerations_tolerate_taint,
)
from podrules.scheduling.scheduler.framework.columns import frozen
from podrules.scheduling.scheduler.framework.nodes import ABSENT, Nodes

PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"


class TaintColumns(Struct, frozen=True):
    """All taints of all nodes, one entry a taint, in the order of the nodes and of each node's taints."""

    rows: NDArray[np.int32]
    positions: NDArray[np.int32]
    """Index in the node's ``spec.taints``."""
    codes: NDArray[np.int32]
    """Index in ``distinct``."""
    distinct: tuple[Taint, ...]
    """Distinct by key, value and effect."""


def untolerated_taint_codes(
    nodes: Nodes, tolerations: Sequence[Toleration], effects: Collection[str] = DO_NOT_SCHEDULE
) -> NDArray[np.int32]:
    """For each node the index in its ``spec.taints`` of the first untolerated taint; `ABSENT` where all are tolerated.

    Args:
        nodes: The nodes.
        tolerations: The pod's.
        effects: Only taints of these effects count.
    """
    return nodes.derived(_FirstUntolerated(tuple(tolerations), frozenset(effects)))


class _FirstUntolerated(Struct, frozen=True):
    """A pod's tolerations: several plugins ask, and replicas ask for the same."""

    tolerations: tuple[Toleration, ...]
    effects: frozenset[str]

    def __call__(self, nodes: Nodes) -> NDArray[np.int32]:
        columns = nodes.derived(taint_columns)
        untolerated = _untolerated(columns, self.tolerations, self.effects)
        first = np.full(len(nodes), ABSENT, np.int32)
        # The last assignment to a row stays: from back to front, that of its first taint.
        first[columns.rows[untolerated][::-1]] = columns.positions[untolerated][::-1]
        return frozen(first)


def count_untolerated_taints(
    nodes: Nodes, tolerations: Sequence[Toleration], effects: Collection[str]
) -> NDArray[np.int64]:
    """For each node how many of its taints of these effects are untolerated."""
    columns = nodes.derived(taint_columns)
    untolerated = _untolerated(columns, tolerations, effects)
    return np.bincount(columns.rows[untolerated], minlength=len(nodes)).astype(np.int64)


def taint_columns(nodes: Nodes) -> TaintColumns:
    """The taints of nodes: a column (`Nodes.derived`)."""
    known: dict[tuple[str, str, str], int] = {}
    distinct: list[Taint] = []
    entries: list[tuple[int, int, int]] = []
    for row, node in enumerate(nodes):
        for position, taint in enumerate(node.spec.taints):
            key = (taint.key, taint.value, taint.effect)
            if key not in known:
                known[key] = len(distinct)
                distinct.append(taint)
            entries.append((row, position, known[key]))
    rows, positions, codes = np.array(entries, np.int32).reshape(-1, 3).T
    return TaintColumns(rows, positions, codes, tuple(distinct))


def _untolerated(
    columns: TaintColumns, tolerations: Sequence[Toleration], effects: Collection[str]
) -> NDArray[np.bool_]:
    """For each taint in the columns whether it counts and no toleration tolerates it."""
    answers = (
        taint.effect in effects and not tolerations_tolerate_taint(tolerations, taint) for taint in columns.distinct
    )
    return np.fromiter(answers, np.bool_, len(columns.distinct))[columns.codes]
