"""Scores brought to 0 to 100, as several plugins do.

    normalised  score * 100 / highest, whole numbers; reversed: 100 minus that
                where the highest is 0, scores stay 0; reversed: all 100
    by a shape  how full something is, linear between the points that a profile's arguments give

Source: pkg/scheduler/framework/plugins/helper/{normalize_score,shape_score}.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Final

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from podrules.api.model.base import Model
from podrules.scheduling.scheduler.framework.interface import MAX_NODE_SCORE


def default_normalize_score(scores: NDArray[np.int64], *, reverse: bool) -> NDArray[np.int64]:
    """DefaultNormalizeScore with the framework's maximum; scores are not negative."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    normalized: NDArray[np.int64] = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - normalized if reverse else normalized


MAX_UTILIZATION: Final = 100
MAX_CUSTOM_PRIORITY_SCORE: Final = 10
_POINT: Final = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE

Column = NDArray[np.int64]


class UtilizationShapePoint(Model, frozen=True):
    """``shape[]``: the score (0 to 10) at a utilization (0 to 100)."""

    utilization: Annotated[int, Meta(ge=0, le=MAX_UTILIZATION)] = 0
    score: Annotated[int, Meta(ge=0, le=MAX_CUSTOM_PRIORITY_SCORE)] = 0


def check_shape(shape: Sequence[UtilizationShapePoint]) -> None:
    """Raise ValueError unless the points are in order (validateFunctionShape)."""
    if any(before.utilization >= after.utilization for before, after in pairwise(shape)):
        raise ValueError("Invalid value: each utilization of shape must be greater than the one before")


def broken_linear(shape: Sequence[UtilizationShapePoint], level: int) -> int:
    """The shape's score at a utilization, of 100 (BuildBrokenLinearFunction)."""
    for index, point in enumerate(shape):
        if level <= point.utilization:
            if index == 0:
                return point.score * _POINT
            before = shape[index - 1]
            rise = (point.score - before.score) * _POINT * (level - before.utilization)
            run = point.utilization - before.utilization
            return before.score * _POINT + (rise // run if rise >= 0 else -(-rise // run))
    return shape[-1].score * _POINT


def shape_scores(shape: Sequence[UtilizationShapePoint], requested: Column, capacity: Column) -> Column:
    """The shape's score of each node; where more is requested than there is, that of a full one."""
    full = (capacity == 0) | (requested > capacity)
    used = np.where(full, MAX_UTILIZATION, requested * MAX_UTILIZATION // np.where(capacity == 0, 1, capacity))
    levels, places = np.unique(used, return_inverse=True)
    return np.fromiter((broken_linear(shape, int(level)) for level in levels), np.int64, len(levels))[places]


def rounded_mean(total: Column, weights: Column) -> Column:
    """The mean of scores, 0 without weights; as math.Round: half away from zero, where nothing is below zero."""
    mean = total / np.where(weights == 0, 1, weights)
    whole = np.trunc(mean)
    return np.where(weights == 0, 0, whole + (mean - whole >= 0.5)).astype(np.int64)
