"""VolumeBinding: a pod's claims are bound to volumes that the node can use, or can be bound or provisioned for it.

    PreFilter   UnschedulableAndUnresolvable, when a claim is missing, lost, being deleted or another pod's, or is not
                bound although its class binds at once; skipped for pods without claims
    Filter      see `binder`; UnschedulableAndUnresolvable with one reason for bound claims, one for the others
    Score       by the storage that is left for claims that wait; without the gate StorageCapacityScoring,
                which is off until 1.36, there is none

Source: pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from podrules.api.features import Features
from podrules.api.model.base import Model
from podrules.api.model.pod import Pod
from podrules.api.model.quantity import ZERO
from podrules.scheduling.scheduler.framework.answers import SKIP, Code, Fact, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    PreFilterResult,
    PreScoreResult,
    Verdicts,
    WithoutState,
)
from podrules.scheduling.scheduler.plugins.scores import (
    MAX_UTILIZATION,
    UtilizationShapePoint,
    check_shape,
    rounded_mean,
    shape_scores,
)
from podrules.scheduling.scheduler.plugins.volume_binding.binder import (
    ClaimVerdict,
    PodVolumeClaims,
    Problem,
    find_pod_volumes,
    reported_capacity,
    waiting_claims,
)
from podrules.scheduling.scheduler.plugins.volume_binding.matching import (
    NO_VOLUME,
    affinity_labels,
    find_matching_volumes,
)
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    STORAGE,
    UNUSABLE,
    ClaimMismatch,
    ClaimReference,
    ClaimState,
    StorageIndex,
    claim_class,
    claim_reference,
    claim_state,
    not_found,
    not_owned,
    storage_index,
)

REASON_UNBOUND_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"


# How well a node's storage suits the claims that wait for a node: more room left over scores higher by default.
#
#     volumes that exist   for each class the sum of requests against the sum of the chosen volumes' capacities
#     else provisioned     for each class the sum of requests against the capacity that its driver reports for the node;
#                          a claim does not count if its driver reports no capacity
#     score                round(mean over the classes of shape(requested * 100 / capacity)); without classes 0
#
# The shape is linear between its points: 100 where nothing is used, 0 where all is, unless the profile has its own.
#
# Source: pkg/scheduler/framework/plugins/volumebinding/{scorer,volume_binding}.go at v1.37.1; KEP-4049.

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


_REASONS: Final = {
    Problem.NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    Problem.BIND_CONFLICT: "node(s) didn't find available persistent volumes to bind",
    Problem.NOT_ENOUGH_SPACE: "node(s) did not have enough free storage",
    Problem.VOLUME_NOT_FOUND: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
"""In the order in which upstream lists them."""


class UnsuitedClaim(Model, frozen=True):
    """What keeps a claim off a node."""

    claim: str
    volume: str
    """The volume of a bound claim."""
    storage_class: str
    reason: str
    """Upstream's words."""


class VolumeBinding:
    """The plugin."""

    name = "VolumeBinding"
    fact_types = (ClaimMismatch,)
    args_type = VolumeBindingArgs
    without_pre_filter = "not found"
    without_pre_score = WithoutState.NOT_NEEDED

    def pre_filter(self, context: CycleContext) -> PreFilterResult:
        """Sort the pod's claims, or reject it."""
        pod, index = context.pod, storage_index(context)
        references = tuple(
            reference for volume in pod.spec.volumes if (reference := claim_reference(pod, volume)) is not None
        )
        if not references:
            return PreFilterResult(SKIP)
        states = [claim_state(index, pod, reference) for reference in references]
        for reference, state in zip(references, states, strict=True):
            if state in UNUSABLE:
                text = _unusable(index, pod, reference, state)
                return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,)))
        # Bound claims and those that wait for the first consumer (GetPodVolumeClaims).
        claims = [index.claims[pod.metadata.namespace, reference.name] for reference in references]
        for claim, state in zip(claims, states, strict=True):
            if state is ClaimState.NO_BINDING_MODE:
                text = f'VolumeBindingMode not set for StorageClass "{claim_class(claim)}"'
                return PreFilterResult(Status(Code.ERROR, (text,)))
        if ClaimState.IMMEDIATE in states:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_UNBOUND_IMMEDIATE,)))
        bound, delayed = (
            tuple(claim for claim, state in zip(claims, states, strict=True) if state is wanted)
            for wanted in (ClaimState.BOUND, ClaimState.DELAYED)
        )
        return PreFilterResult(state=PodVolumeClaims(bound, delayed))

    def filter(self, context: CycleContext, state: PodVolumeClaims) -> Verdicts:
        """Judge every node."""
        bound, delayed = find_pod_volumes(storage_index(context), state, context.features)
        size = len(context.table)
        first_bound, first_delayed = _first(bound, size), _first(delayed, size)
        codes = np.where(
            (first_bound | first_delayed) != Problem.NONE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.SUCCESS
        ).astype(np.int8)
        failed = (first_bound == Problem.ERROR) | (first_delayed == Problem.ERROR)
        codes[failed] = Code.ERROR

        def reasons(row: int) -> tuple[str, ...]:
            if failed[row]:
                verdicts = bound if first_bound[row] == Problem.ERROR else delayed
                errors = (verdict.error for verdict in verdicts if verdict.problems[row] == Problem.ERROR)
                return (next(errors, ""),)
            found = {int(first_bound[row]), int(first_delayed[row])}
            return tuple(text for problem, text in _REASONS.items() if problem in found)

        return Verdicts(codes, reasons)

    def explain(self, context: CycleContext, state: PodVolumeClaims, row: int) -> tuple[UnsuitedClaim, ...]:
        """The claims of the pod that a node does not suit; upstream stops at the first."""
        bound, delayed = find_pod_volumes(storage_index(context), state, context.features)
        problems = {
            verdict.claim.metadata.name: UnsuitedClaim(
                claim=verdict.claim.metadata.name,
                volume=verdict.claim.spec.volume_name,
                storage_class=claim_class(verdict.claim),
                reason=_REASONS.get(Problem(verdict.problems[row]), verdict.error),
            )
            for verdict in (*bound, *delayed)
            if verdict.problems[row]
        }
        return tuple(problems.values())

    def facts(self, context: CycleContext, state: PodVolumeClaims, row: int) -> Iterator[Fact]:
        """The claims that the node cannot use."""
        volumes, has = storage_index(context).volumes, context.table.nodes[row].metadata.labels
        for entry in self.explain(context, state, row):
            elsewhere = entry.reason == _REASONS[Problem.NODE_CONFLICT]
            labels = affinity_labels(volumes[entry.volume]) if elsewhere else {}
            there = {key: has[key] for key in labels if key in has}
            yield ClaimMismatch(entry.claim, entry.volume, entry.storage_class, labels, entry.reason, there)

    def pre_score(self, context: CycleContext, feasible: NDArray[np.int32]) -> PreScoreResult:
        """Skip without the gate StorageCapacityScoring."""
        del feasible
        return PreScoreResult() if context.features.storage_capacity_scoring else PreScoreResult(SKIP)

    def score(self, context: CycleContext, state: None, feasible: NDArray[np.int32]) -> NDArray[np.int64]:
        """By the storage that is left for the claims that wait for a node."""
        del state
        claims = context.states.get(self.name)
        if not (context.features.storage_capacity_scoring and isinstance(claims, PodVolumeClaims) and claims.delayed):
            return np.zeros(len(feasible), np.int64)
        args: VolumeBindingArgs = context.args.get(self.name) or VolumeBindingArgs()
        shape = args.shape or DEFAULT_SHAPE
        return storage_scores(storage_index(context), claims, shape, context.features)[feasible]


def _unusable(index: StorageIndex, pod: Pod, reference: ClaimReference, state: ClaimState) -> str:
    """Upstream's words for why the pod must wait (podHasPVCs)."""
    claim = index.claims.get((pod.metadata.namespace, reference.name))
    if claim is None:
        if reference.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{reference.name}"'
        return not_found("persistentvolumeclaim", reference.name)
    named = f'persistentvolumeclaim "{reference.name}"'
    if state is ClaimState.LOST:
        return f'{named} bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if state is ClaimState.BEING_DELETED:
        return f"{named} is being deleted"
    return not_owned(claim, pod)


def _first(verdicts: Sequence[ClaimVerdict], size: int) -> NDArray[np.int8]:
    """For each row the first problem."""
    first = np.zeros(size, np.int8)
    for verdict in verdicts:
        first = np.where(first == Problem.NONE, verdict.problems, first)
    return first
