"""How well a node's storage suits the claims that wait for a node: more room left over scores higher by default.

    volumes that exist   for each class the sum of requests against the sum of the chosen volumes' capacities
    else provisioned     for each class the sum of requests against the capacity that its driver reports for the node;
                         a claim does not count if its driver reports no capacity
    score                round(mean over the classes of shape(requested * 100 / capacity)); without classes 0

The shape is linear between its points: 100 where nothing is used, 0 where all is, unless the profile has its own.

Source: pkg/scheduler/framework/plugins/volumebinding/{scorer,volume_binding}.go at v1.37.1; KEP-4049.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.base import Model
from podrules.api.model.quantity import ZERO
from podrules.scheduling.scheduler.plugins.scores import (
    MAX_UTILIZATION,
    UtilizationShapePoint,
    check_shape,
    rounded_mean,
    shape_scores,
)
from podrules.scheduling.scheduler.plugins.volume_binding.binder import (
    PodVolumeClaims,
    reported_capacity,
    waiting_claims,
)
from podrules.scheduling.scheduler.plugins.volume_binding.matching import NO_VOLUME, find_matching_volumes
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import STORAGE, StorageIndex, claim_class

DEFAULT_SHAPE: Final = (UtilizationShapePoint(0, 10), UtilizationShapePoint(MAX_UTILIZATION, 0))


class VolumeBindingArgs(Model, frozen=True):
    """``pluginConfig[].args`` of VolumeBinding, as far as it changes scores."""

    bind_timeout_seconds: Annotated[int, Meta(ge=0)] = 600
    shape: tuple[UtilizationShapePoint, ...] = ()
    """Empty: `DEFAULT_SHAPE`."""

    def __post_init__(self) -> None:
        """Check the shape."""
        check_shape(self.shape)


class _Use(NamedTuple):
    """What a claim would use on each node: bytes, and whether it counts there."""

    storage_class: str
    requested: NDArray[np.int64]
    capacity: NDArray[np.int64]
    counts: NDArray[np.bool_]


def storage_scores(
    index: StorageIndex, claims: PodVolumeClaims, shape: Sequence[UtilizationShapePoint], features: Features
) -> NDArray[np.int64]:
    """The score of each node."""
    size = len(index.nodes)
    selected, others = waiting_claims(claims)
    matches = find_matching_volumes(index, others, np.ones(size, np.bool_), features)
    static = []
    for matched in matches:
        volumes = index.volumes_by_class.get(matched.storage_class, ())
        sizes = np.array([*(volume.spec.capacity.get(STORAGE, ZERO).value for volume in volumes), 0], np.int64)
        bound = matched.chosen != NO_VOLUME
        requested = matched.claim.spec.resources.requests.get(STORAGE, ZERO).value
        static.append(_Use(matched.storage_class, np.where(bound, requested, 0), sizes[matched.chosen], bound))
    any_bound = np.logical_or.reduce([use.counts for use in static]) if static else np.zeros(size, np.bool_)
    provisioned = []
    for claim in (*selected, *(matched.claim for matched in matches)):
        reported = reported_capacity(index, claim)
        if reported is not None:
            asked = np.where(reported.enough, claim.spec.resources.requests.get(STORAGE, ZERO).value, 0)
            provisioned.append(_Use(claim_class(claim), asked, reported.amounts, reported.enough))
    by_volumes = _score(static, shape, size, together=True)
    return np.where(any_bound, by_volumes, _score(provisioned, shape, size, together=False))


def _score(
    uses: Iterable[_Use], shape: Sequence[UtilizationShapePoint], size: int, *, together: bool
) -> NDArray[np.int64]:
    """The mean over classes; their capacities add up, or are each time the whole that the driver reports."""
    by_class: dict[str, list[_Use]] = {}
    for use in uses:
        by_class.setdefault(use.storage_class, []).append(use)
    total, classes = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for found in by_class.values():
        requested = np.sum([use.requested for use in found], axis=0)
        capacities = np.array([np.where(use.counts, use.capacity, 0) for use in found])
        capacity = capacities.sum(axis=0) if together else capacities.max(axis=0)
        counts = np.logical_or.reduce([use.counts for use in found])
        total += np.where(counts, shape_scores(shape, requested, capacity), 0)
        classes += counts
    return rounded_mean(total, classes)
