"""The state of a claim that a pod needs, before any node is examined.

    Missing          the claim is not there; of an ephemeral volume: it is not made yet
    Lost             phase Lost: the volume that it was bound to is gone
    BeingDeleted     it has a deletionTimestamp
    NotOwned         of an ephemeral volume, and another's
    Bound            it has its volume permanently
    Delayed          unbound, names no volume, and its class waits for the first consumer
    Immediate        unbound otherwise: also where its class is not there, or it names none
    NoBindingMode    unbound, and its class says nothing of when to bind

The first five are asked of all claims before the others are.

Source: pkg/scheduler/framework/plugins/volumebinding/{volume_binding,binder}.go (podHasPVCs, GetPodVolumeClaims) at
v1.36.3; k8s.io/component-helpers/storage/volume/pv_helpers.go (IsDelayBindingMode) at v0.36.3.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from podrules.api.model.pod import Pod
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    WAIT_FOR_FIRST_CONSUMER,
    ClaimReference,
    StorageIndex,
    claim_class,
    is_bound,
    is_owned,
)


class ClaimState(Enum):
    """What keeps a claim from being used, or how it comes to its volume."""

    MISSING = "Missing"
    LOST = "Lost"
    BEING_DELETED = "BeingDeleted"
    NOT_OWNED = "NotOwned"
    BOUND = "Bound"
    DELAYED = "Delayed"
    IMMEDIATE = "Immediate"
    NO_BINDING_MODE = "NoBindingMode"


UNUSABLE: Final = frozenset({ClaimState.MISSING, ClaimState.LOST, ClaimState.BEING_DELETED, ClaimState.NOT_OWNED})
"""States in which no node could help, whatever the class is."""


def claim_state(index: StorageIndex, pod: Pod, reference: ClaimReference) -> ClaimState:
    """The state of one claim of a pod.

    Args:
        index: The storage objects.
        pod: That needs it.
        reference: From `claim_reference`.
    """
    claim = index.claims.get((pod.metadata.namespace, reference.name))
    if claim is None:
        return ClaimState.MISSING
    if claim.status.phase == "Lost":
        return ClaimState.LOST
    if claim.metadata.deletion_timestamp is not None:
        return ClaimState.BEING_DELETED
    if reference.ephemeral and not is_owned(claim, pod):
        return ClaimState.NOT_OWNED
    if is_bound(claim):
        return ClaimState.BOUND
    found = index.classes.get(claim_class(claim))
    if found is not None and found.volume_binding_mode is None:
        return ClaimState.NO_BINDING_MODE
    waits = found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return ClaimState.DELAYED if waits and not claim.spec.volume_name else ClaimState.IMMEDIATE
