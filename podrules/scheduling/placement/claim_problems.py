"""The claims that keep a pod from every node, and what each lacks.

    asked of every claim   is it there, whole, not being deleted, and the pod's own where it must be (`claim_state`)
    bound                  is its volume there
    names a volume         is that there, free, large enough, and of its class and modes: kube-controller-manager binds
                           no other to it
    any other unbound one  does a volume match; else its class decides: none is named and there is no default; the class
                           does not exist; it has no provisioner; it has one, which has not made the volume yet
    waits for its first    only if no volume matches and no provisioner exists: else the nodes decide. If the pod has
    consumer               spec.nodeName it stays unbound, because only the scheduler binds it or selects a node for it,
                           unless a volume is reserved for it, a node was selected before, or another pod that uses it
                           waits for the scheduler

What the scheduler stops at comes first: a claim that VolumeRestrictions does not find, one that VolumeBinding cannot
use, an unbound one.

Source: pkg/scheduler/framework/plugins/{volumebinding,volumerestrictions} and
pkg/controller/volume/persistentvolume/pv_controller.go (syncUnboundClaim, checkVolumeSatisfyClaim,
assignDefaultStorageClass),
k8s.io/component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume) at v1.36.3 and v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from msgspec.structs import replace

from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod, PodSpec
from podrules.api.model.pod_reference import PodReference, reference
from podrules.api.model.quantity import ZERO
from podrules.api.model.selectors import SelectorError
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.claims import default_class
from podrules.scheduling.placement.outcome import ClaimProblem, ClaimTrouble
from podrules.scheduling.placement.scheduler_condition import awaited_claims
from podrules.scheduling.placement.situation import CLAIMS, CLASSES, VOLUMES
from podrules.scheduling.placement.volume_places import HOSTNAME, volume_place
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.volume_binding.binder import ANNOTATION_SELECTED_NODE, NO_PROVISIONER
from podrules.scheduling.scheduler.plugins.volume_binding.matching import FILESYSTEM, suitable_volumes
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import (
    ANNOTATION_CLASS,
    STORAGE,
    ClaimState,
    StorageIndex,
    claim_class,
    claim_provisioner,
    claim_reference,
    claim_state,
    storage_index,
    volume_class,
)
from podrules.scheduling.scheduler.runtime import Framework

_SHOWN_CLASSES: Final = 3
_SHOWN_FREE_VOLUMES: Final = 2
_PASSES: Final = frozenset(
    {
        ClaimTrouble.BEING_DELETED,
        ClaimTrouble.NOT_MADE_YET,
        ClaimTrouble.WAITS_FOR_CLASS,
        ClaimTrouble.WAITS_FOR_VOLUME,
        ClaimTrouble.WAITS_FOR_PROVISIONER,
    }
)
"""What a controller mends by itself; and a claim that is kept until no pod uses it."""
_STATES: Final = {
    ClaimState.MISSING: ClaimTrouble.MISSING,
    ClaimState.LOST: ClaimTrouble.LOST,
    ClaimState.BEING_DELETED: ClaimTrouble.BEING_DELETED,
    ClaimState.NOT_OWNED: ClaimTrouble.NOT_OWNED,
    ClaimState.NO_BINDING_MODE: ClaimTrouble.NO_BINDING_MODE,
}
_ORDER: Final = (
    {ClaimTrouble.MISSING},
    {ClaimTrouble.NOT_MADE_YET, ClaimTrouble.LOST, ClaimTrouble.BEING_DELETED, ClaimTrouble.NOT_OWNED},
    {ClaimTrouble.NO_BINDING_MODE},
)
"""What the scheduler asks first; anything else comes after."""


def claim_problems(filtered: FilterResult) -> tuple[ClaimProblem, ...]:
    """What is wrong with a pod's claims, whatever the node; nothing where the profile's plugins do not ask.

    Args:
        filtered: A cycle without a feasible node.
    """
    context = filtered.context
    asking = {plugin.name for plugin in filtered.framework.pre_filter}
    found = sorted(_problems(storage_index(context), context.pod), key=_rank)
    if "VolumeBinding" in asking:
        return tuple(found)
    return tuple(one for one in found if one.trouble is ClaimTrouble.MISSING and "VolumeRestrictions" in asking)


def missing_claims(
    pod: Pod, snapshot: ClusterSnapshot, framework: Framework, unread: Iterable[UnreadInput]
) -> tuple[ClaimProblem, ...]:
    """The claims that a pod names and that do not exist: the scheduler rejects it before it examines a node."""
    namespace = pod.metadata.namespace
    known = all(one.read_in == namespace for one in unread if one.resource == CLAIMS)
    if not known or pod.spec.scheduling_gates or all(one.name != "VolumeRestrictions" for one in framework.pre_filter):
        return ()
    found = _problems(StorageIndex(Nodes(()), snapshot), pod)
    return tuple(one for one in found if one.trouble is ClaimTrouble.MISSING)


def claims_never_bound(
    pod: Pod, snapshot: ClusterSnapshot, unread: Iterable[UnreadInput]
) -> tuple[tuple[ClaimProblem, ...], tuple[UnreadInput, ...]]:
    """The claims of a pod with ``spec.nodeName`` that no controller binds, and what is missing and may change that."""
    labels = next((node.metadata.labels for node in snapshot.nodes if node.metadata.name == pod.spec.node_name), {})
    index = StorageIndex(Nodes(()), snapshot)
    found = sorted(_problems(index, pod), key=_rank)
    lacks = tuple(one for one in unread if one.resource in {CLAIMS, CLASSES, VOLUMES})
    # Without what is missing a claim waits for the scheduler all the same, unless a volume is reserved for it.
    reported = (one for one in found if one.trouble not in _PASSES)
    sure = (one for one in reported if not lacks or one.trouble is ClaimTrouble.NEEDS_SCHEDULER)
    return tuple(replace(one, hostname=labels.get(HOSTNAME, "")) for one in sure), lacks


def claim_problem(claim: PersistentVolumeClaim, snapshot: ClusterSnapshot, *, node: str) -> ClaimProblem | None:
    """What is wrong with a claim, whatever pod uses it; None: it has its volume, or waits for its first pod.

    Args:
        claim: The claim.
        snapshot: Pods, nodes, volumes and classes.
        node: The node of its pods, where all of them have one; else empty.
    """
    volume = Volume(persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim.metadata.name))
    user = Pod(ObjectMeta(namespace=claim.metadata.namespace), PodSpec(volumes=(volume,), node_name=node))
    snapshot = replace(snapshot, persistent_volume_claims=(claim,))
    index = StorageIndex(Nodes(snapshot.nodes), snapshot)
    return next(chain(_problems(index, user), awaited_claims(index, user)), None)


def _rank(problem: ClaimProblem) -> int:
    return next((rank for rank, group in enumerate(_ORDER) if problem.trouble in group), len(_ORDER))


def _problems(index: StorageIndex, pod: Pod) -> Iterator[ClaimProblem]:
    for place, volume in enumerate(pod.spec.volumes):
        named = claim_reference(pod, volume)
        if named is None:
            continue
        claim = index.claims.get((pod.metadata.namespace, named.name))
        state = claim_state(index, pod, named)
        source = "ephemeral" if named.ephemeral else "persistentVolumeClaim.claimName"
        problem = ClaimProblem(
            trouble=_STATES.get(state, ClaimTrouble.MISSING),
            namespace=pod.metadata.namespace,
            claim=named.name,
            field=f"spec.volumes[{place}].{source}",
        )
        if claim is None:
            trouble = ClaimTrouble.NOT_MADE_YET if named.ephemeral else ClaimTrouble.MISSING
            yield replace(problem, trouble=trouble)
            continue
        problem = replace(
            problem, volume=claim.spec.volume_name, storage_class=claim_class(claim), wanted=tuple(_requirements(claim))
        )
        if state is ClaimState.BEING_DELETED:
            problem = replace(problem, users=tuple(_users(index, claim)))
        if state is ClaimState.LOST and _is_anothers(index, claim):
            problem = replace(problem, trouble=ClaimTrouble.VOLUME_TAKEN)
        passes = bool(pod.spec.node_name)
        reported = problem if state in _STATES else _of_volume(index, claim, state, problem, passes=passes)
        if reported is not None:
            yield reported


def _is_anothers(index: StorageIndex, claim: PersistentVolumeClaim) -> bool:
    """Whether another claim has the volume that a claim names; an earlier one of its name is another one."""
    volume = index.volumes.get(claim.spec.volume_name)
    holder = None if volume is None else volume.spec.claim_ref
    if holder is None:
        return False
    return (holder.namespace, holder.name) != claim.metadata.place or holder.uid not in {"", claim.metadata.uid}


def _users(index: StorageIndex, claim: PersistentVolumeClaim) -> Iterator[PodReference]:
    """The pods on nodes that use a claim, for which the controller of pvc-protection keeps it."""
    for pod in index.snapshot.pods:
        references = (claim_reference(pod, volume) for volume in pod.spec.volumes if pod.spec.node_name)
        if any(one and (pod.metadata.namespace, one.name) == claim.metadata.place for one in references):
            yield reference(pod)


def _requirements(claim: PersistentVolumeClaim) -> Iterator[str]:
    request = claim.spec.resources.requests.get(STORAGE)
    if request is not None:
        yield str(request)
    yield from claim.spec.access_modes


def _of_volume(
    index: StorageIndex, claim: PersistentVolumeClaim, state: ClaimState, problem: ClaimProblem, *, passes: bool
) -> ClaimProblem | None:
    """The problem of a claim that can be used once it has its volume; None: it has it, or the nodes decide."""
    named = claim.spec.volume_name
    if named:
        volume = index.volumes.get(named)
        if volume is None:
            return replace(problem, trouble=ClaimTrouble.VOLUME_MISSING)
        if state is ClaimState.BOUND:
            return None
        if _is_anothers(index, claim):
            return replace(problem, trouble=ClaimTrouble.VOLUME_TAKEN)
        # One that is reserved for the claim is bound to it whatever it is.
        unlike = dict(_unlike(claim, volume)) if volume.spec.claim_ref is None else {}
        trouble = ClaimTrouble.VOLUME_MISMATCH if unlike else ClaimTrouble.WAITS_FOR_VOLUME
        return replace(problem, trouble=trouble, unlike=unlike)
    if passes and state is ClaimState.DELAYED:
        return None if _bound_without(index, claim) else replace(problem, trouble=ClaimTrouble.NEEDS_SCHEDULER)
    chosen = claim.metadata.annotations.get(ANNOTATION_SELECTED_NODE)
    if state is ClaimState.DELAYED and chosen is not None and chosen not in index.nodes.rows:
        return replace(problem, trouble=ClaimTrouble.SELECTED_NODE_REMOVED, selected_node=chosen)
    try:
        suitable = next(suitable_volumes(index, claim), None)
    except SelectorError:
        return None  # The cycle's error says why.
    if suitable is None:
        return _of_class(index, claim, state, problem)
    if state is ClaimState.DELAYED:
        return None
    return replace(problem, trouble=ClaimTrouble.WAITS_FOR_VOLUME, volume=suitable.metadata.name)


def _unlike(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Iterator[tuple[str, tuple[str, str]]]:
    """In what a volume that a claim names differs from it: see `ClaimProblem.unlike`."""
    has, asks = volume.spec, claim.spec
    if volume.metadata.deletion_timestamp is not None:
        yield "metadata.deletionTimestamp", (volume.metadata.deletion_timestamp, "")
    size, wanted = has.capacity.get(STORAGE, ZERO), asks.resources.requests.get(STORAGE, ZERO)
    if size < wanted:
        yield "capacity", (str(size), str(wanted))
    pairs = {
        "storageClassName": (volume_class(volume), claim_class(claim)),
        "volumeAttributesClassName": (has.volume_attributes_class_name or "", asks.volume_attributes_class_name or ""),
        "volumeMode": (has.volume_mode or FILESYSTEM, asks.volume_mode or FILESYSTEM),
    }
    yield from ((field, pair) for field, pair in pairs.items() if pair[0] != pair[1])
    if not set(asks.access_modes).issubset(has.access_modes):
        yield "accessModes", (", ".join(has.access_modes), ", ".join(asks.access_modes))


def _bound_without(index: StorageIndex, claim: PersistentVolumeClaim) -> bool:
    """Whether a claim that waits for its first consumer may be bound although a pod passes the scheduler over."""
    place, uid = claim.metadata.place, claim.metadata.uid
    holders = (volume.spec.claim_ref for volume in index.snapshot.persistent_volumes)
    if any(one is not None and (one.namespace, one.name) == place and one.uid in {"", uid} for one in holders):
        return True
    made = index.classes[claim_class(claim)].provisioner not in {"", NO_PROVISIONER}
    if made and ANNOTATION_SELECTED_NODE in claim.metadata.annotations:
        return True
    waiting = (pod for pod in index.snapshot.pods if not pod.spec.node_name and not pod.finished)
    return any(
        (pod.metadata.namespace, named.name) == place
        for pod in waiting
        for volume in pod.spec.volumes
        if (named := claim_reference(pod, volume)) is not None
    )


def _of_class(
    index: StorageIndex, claim: PersistentVolumeClaim, state: ClaimState, problem: ClaimProblem
) -> ClaimProblem | None:
    """The problem of an unbound claim that no volume matches."""
    default = default_class(index.snapshot)
    if not problem.storage_class:
        if claim.spec.storage_class_name is not None or ANNOTATION_CLASS in claim.metadata.annotations:
            return replace(problem, trouble=ClaimTrouble.NO_VOLUME)
        if default is None:
            return replace(problem, trouble=ClaimTrouble.NO_CLASS, classes=_classes(index, ""))
        return replace(problem, trouble=ClaimTrouble.WAITS_FOR_CLASS, storage_class=default.metadata.name)
    found, volumes = index.classes.get(problem.storage_class), index.volumes_by_class.get(problem.storage_class, ())
    unbound = [one for one in volumes if one.status.phase != "Bound"]
    # A class of volumes that are made by hand needs no object.
    shown = volumes if found is None and not unbound else unbound
    near = tuple(volume_place(index, claim, one) for one in shown[:_SHOWN_FREE_VOLUMES])
    if found is None:
        first = "" if default is None else default.metadata.name
        return replace(problem, trouble=ClaimTrouble.CLASS_MISSING, classes=_classes(index, first), near=near)
    if found.provisioner in {"", NO_PROVISIONER}:
        return replace(problem, trouble=ClaimTrouble.NO_VOLUME, near=near)
    if state is ClaimState.DELAYED:
        return None
    return replace(problem, trouble=ClaimTrouble.WAITS_FOR_PROVISIONER, provisioner=claim_provisioner(index, claim))


def _classes(index: StorageIndex, first: str) -> tuple[str, ...]:
    """Some of the classes that are there."""
    return tuple(sorted(index.classes, key=lambda name: (name != first, name))[:_SHOWN_CLASSES])
