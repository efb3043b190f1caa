"""Scores brought to 0 to 100, as several plugins do.

    score * 100 / highest, whole numbers; reversed: 100 minus that
    where the highest is 0, scores stay 0; reversed: all 100

Source: pkg/scheduler/framework/plugins/helper/normalize_score.go at v1.36.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podrules.scheduling.scheduler.framework.interface import MAX_NODE_SCORE


def default_normalize_score(scores: NDArray[np.int64], *, reverse: bool) -> NDArray[np.int64]:
    """DefaultNormalizeScore with the framework's maximum; scores are not negative."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    normalized: NDArray[np.int64] = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - normalized if reverse else normalized
