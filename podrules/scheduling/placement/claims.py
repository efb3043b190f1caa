"""The claims of a pod: those that will be made for it, what keeps them from use, and where their volumes are reached.

Claims that will be made for a pod to come:

    template          ``<template>-<pod>``, once for an ordinal: the claim is there still when the pod comes again. A
                      volume of the pod's template that has the claim template's name gives way
    ephemeral volume  ``<pod>-<volume>``, which the pod controls and which goes with it: a pod that comes again gets a
                      new one. The pod waits if a claim of that name has another owner, or none
    no class          the default class: of several the newest, of these the first by name

The claims that keep a pod from every node, and what each lacks:

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

Where the volumes of a pod that fits nowhere can be used:

    bound                a node matches the volume's node affinity, where a CSI driver has taken over in the driver's
                         form, and its labels of zone and region
    waits, provisioned   a node matches allowedTopologies of the StorageClass; without these any node does
    waits, selected      the node that an attempt before has chosen (annotation selected-node)
    waits, not so        the volumes that the claim could be bound to, each by its own node affinity

Volumes that every node can use are left out. Two volumes may have nodes each, and none together.

Source: pkg/controller/statefulset/stateful_set_utils.go (getPersistentVolumeClaims, updateStorage),
pkg/controller/volume/ephemeral/controller.go, pkg/volume/util/storageclass.go (GetDefaultClass),
pkg/scheduler/framework/plugins/{volumebinding,volumerestrictions} and
pkg/controller/volume/persistentvolume/pv_controller.go (syncUnboundClaim, checkVolumeSatisfyClaim,
assignDefaultStorageClass) at v1.36.3, k8s.io/component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume) at
v0.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.csi_translation import TranslationError, translate_volume
from podrules.api.model.base import ObjectMeta
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, PodSpec, reference
from podrules.api.model.quantity import ZERO
from podrules.api.model.selectors import SelectorError
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    StorageClass,
    Volume,
)
from podrules.ending.volumes import volume_backend
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.outcome import ClaimProblem, ClaimTrouble, VolumePlace
from podrules.scheduling.placement.scheduler_condition import awaited_claims
from podrules.scheduling.placement.situation import CLAIMS, CLASSES, VOLUMES
from podrules.scheduling.scheduler.cycle import FilterResult
from podrules.scheduling.scheduler.framework.node_table import Nodes
from podrules.scheduling.scheduler.plugins.volume_binding import VolumeBinding
from podrules.scheduling.scheduler.plugins.volume_binding.binder import (
    ANNOTATION_SELECTED_NODE,
    NO_PROVISIONER,
    PodVolumeClaims,
    Problem,
    find_pod_volumes,
    matches_topologies,
)
from podrules.scheduling.scheduler.plugins.volume_binding.matching import (
    FILESYSTEM,
    affinity_labels,
    matches_node_affinity,
    suitable_volumes,
)
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
from podrules.scheduling.scheduler.plugins.volume_zone import VolumeZone, VolumeZoneState, outside
from podrules.scheduling.scheduler.runtime import Framework

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def with_claims_of(
    pod: Pod, templates: Sequence[PersistentVolumeClaim] = ()
) -> tuple[Pod, tuple[PersistentVolumeClaim, ...]]:
    """A pod to come with volumes that name its claims, and the claims.

    The pod has the name and the uid that it will have; `templates` are a StatefulSet's.
    """
    own: dict[str, Volume] = {}
    claims: list[PersistentVolumeClaim] = []
    for entry in templates:
        name = f"{entry.metadata.name}-{pod.metadata.name}"
        metadata = replace(entry.metadata, name=name, namespace=pod.metadata.namespace)
        claims.append(replace(entry, metadata=metadata))
        source = PersistentVolumeClaimVolumeSource(claim_name=name)
        own[entry.metadata.name] = Volume(name=entry.metadata.name, persistent_volume_claim=source)
    volumes = [volume for volume in pod.spec.volumes if volume.name not in own]
    for volume in volumes:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None
        if template is not None:
            name = f"{pod.metadata.name}-{volume.name}"
            meta = ObjectMeta(name=name, namespace=pod.metadata.namespace, owner_references=(pod.as_controller,))
            claims.append(PersistentVolumeClaim(meta, spec=template.spec))
    if own:
        pod = replace(pod, spec=replace(pod.spec, volumes=(*own.values(), *volumes)))
    return pod, tuple(claims)


def with_claims(snapshot: ClusterSnapshot, claims: Sequence[PersistentVolumeClaim]) -> ClusterSnapshot:
    """The cluster with claims that are to come, where they are not there yet; the default class is filled in."""
    wanted = {claim.metadata.place: claim for claim in claims}
    for claim in snapshot.persistent_volume_claims if wanted else ():
        new = wanted.get(claim.metadata.place)
        earlier, later = claim.metadata.controller, None if new is None else new.metadata.controller
        # An ephemeral volume's claim of an earlier pod of the same name is replaced; others stay.
        goes = earlier is not None and later is not None and (earlier.kind, earlier.name) == (later.kind, later.name)
        if new is not None and not goes:
            del wanted[claim.metadata.place]
    if not wanted:
        return snapshot
    default, new_claims = default_class(snapshot), list(wanted.values())
    for at, claim in enumerate(new_claims):
        named = claim.spec.storage_class_name is not None or ANNOTATION_CLASS in claim.metadata.annotations
        if default is not None and not named:
            new_claims[at] = replace(claim, spec=replace(claim.spec, storage_class_name=default.metadata.name))
    kept = (claim for claim in snapshot.persistent_volume_claims if claim.metadata.place not in wanted)
    return replace(snapshot, persistent_volume_claims=(*kept, *new_claims))


def default_class(snapshot: ClusterSnapshot) -> StorageClass | None:
    """The class of claims that name none; None: there is no default."""
    default = [
        entry
        for entry in snapshot.storage_classes
        if any(entry.metadata.annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    ]
    by_name = sorted(default, key=lambda entry: entry.metadata.name)
    return max(by_name, key=lambda entry: entry.metadata.creation_timestamp or "", default=None)


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
    """What is wrong with a pod's claims, whatever the node, in a cycle without a feasible node.

    Nothing where the profile's plugins do not ask.
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

    `node` is the node of its pods, where all of them have one; else empty.
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
        request = claim.spec.resources.requests.get(STORAGE)
        size = () if request is None else (str(request),)
        problem = replace(
            problem,
            volume=claim.spec.volume_name,
            storage_class=claim_class(claim),
            wanted=(*size, *claim.spec.access_modes),
        )
        if state is ClaimState.BEING_DELETED:
            # For pods on nodes that use a claim, the controller of pvc-protection keeps it.
            users = tuple(
                reference(user)
                for user in index.snapshot.pods
                if user.spec.node_name
                and any(
                    (one := claim_reference(user, used)) and (user.metadata.namespace, one.name) == claim.metadata.place
                    for used in user.spec.volumes
                )
            )
            problem = replace(problem, users=users)
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


HOSTNAME: Final = "kubernetes.io/hostname"
_TOPOLOGY: Final = "topology.kubernetes.io/"
_SHOWN_NODES: Final = 3
_SHOWN_VOLUMES: Final = 2
_TRIED_VOLUMES: Final = 100

Mask = NDArray[np.bool_]


def volume_places(filtered: FilterResult) -> tuple[VolumePlace, ...]:
    """The volumes of a cycle's pod that only some nodes can use; nothing where VolumeBinding does not ask."""
    context = filtered.context
    state = context.states.get(VolumeBinding.name)
    if not isinstance(state, PodVolumeClaims):
        return ()
    index = storage_index(context)
    verdicts, _ = find_pod_volumes(index, state, context.features)
    bound = [
        (volume_place(index, one.claim, volume), one.problems == Problem.NONE)
        for one in verdicts
        if (volume := index.volumes.get(one.claim.spec.volume_name)) is not None
    ]
    zones = context.states.get(VolumeZone.name)
    for zone in zones.topologies if isinstance(zones, VolumeZoneState) else ():
        for at, (place, nodes) in enumerate(bound):
            if place.volume == zone.volume:
                labels = {zone.key: zone.values, **place.labels}
                bound[at] = replace(place, labels=labels), nodes & ~outside(index.nodes, zone)
    waiting = [found for claim in state.delayed for found in _of_waiting(index, claim)]
    return tuple(
        replace(
            place,
            nodes=tuple(index.nodes.names[row] for row in np.flatnonzero(nodes)[:_SHOWN_NODES].tolist()),
            count=int(nodes.sum()),
            reasons=filtered.reasons(int(np.flatnonzero(nodes)[0])) if nodes.sum() == 1 else (),
            lacking=() if nodes.any() else tuple(islice(_lacking(index.nodes, place), _SHOWN_NODES)),
            apart=next((other.volume for other, its in bound if its.any() and not (its & nodes).any()), ""),
        )
        for place, nodes in (*bound, *waiting)
        if not nodes.all()
    )


def _lacking(nodes: Nodes, place: VolumePlace) -> Iterator[str]:
    """The nodes of a volume's zone, by Kubernetes' own labels, that lack the labels of its driver."""
    for node in nodes if place.labels else ():
        labels = node.metadata.labels
        own = {key: labels.get(key, labels.get(f"{_TOPOLOGY}{key.rpartition('/')[2]}")) for key in place.labels}
        if all(own[key] in values for key, values in place.labels.items()):
            yield node.metadata.name


def volume_place(index: StorageIndex, claim: PersistentVolumeClaim, volume: PersistentVolume) -> VolumePlace:
    """A volume that a claim has or may have, without the nodes."""
    labels, rows = affinity_labels(volume), index.nodes.rows
    # The writer of a node's name in place of its label means that node.
    nodes = [index.nodes[rows[one]].metadata for one in labels.get(HOSTNAME, ()) if one in rows]
    named = [node for node in nodes if node.labels.get(HOSTNAME) != node.name]
    return VolumePlace(
        claim=claim.metadata.name,
        volume=volume.metadata.name,
        size=str(volume.spec.capacity.get(STORAGE, "")),
        phase=volume.status.phase,
        kind=volume_backend(volume),
        labels=labels,
        hostnames={node.name: node.labels.get(HOSTNAME, "") for node in named[:_SHOWN_NODES]},
    )


def claimed_place(claim: PersistentVolumeClaim, volume: PersistentVolume, nodes: Sequence[Node]) -> VolumePlace:
    """The volume of a bound claim, with the nodes that its node affinity matches, as it is or in its CSI form."""
    index = StorageIndex(Nodes(nodes), ClusterSnapshot())
    place, matched = volume_place(index, claim, volume), matches_node_affinity(index.nodes, volume)
    with suppress(TranslationError):
        matched |= matches_node_affinity(index.nodes, translate_volume(volume))
    found = [index.nodes.names[row] for row in np.flatnonzero(matched).tolist()]
    lacking = () if found else tuple(islice(_lacking(index.nodes, place), _SHOWN_NODES))
    return replace(place, nodes=tuple(found[:_SHOWN_NODES]), count=len(found), lacking=lacking)


def _of_waiting(index: StorageIndex, claim: PersistentVolumeClaim) -> Iterator[tuple[VolumePlace, Mask]]:
    found = index.classes[claim_class(claim)]
    try:
        free = list(islice(suitable_volumes(index, claim), _TRIED_VOLUMES))
    except SelectorError:
        return  # The cycle's error says why.
    if found.provisioner in {"", NO_PROVISIONER}:
        offered = [(volume_place(index, claim, volume), matches_node_affinity(index.nodes, volume)) for volume in free]
        usable = [(place, nodes) for place, nodes in offered if nodes.any()]
        yield from (usable or offered)[:_SHOWN_VOLUMES]
    if free or found.provisioner in {"", NO_PROVISIONER}:
        return
    selected = claim.metadata.annotations.get(ANNOTATION_SELECTED_NODE, "")
    terms = [term.match_label_expressions for term in found.allowed_topologies]
    place = VolumePlace(
        claim=claim.metadata.name,
        volume="",
        size=str(claim.spec.resources.requests.get(STORAGE, "")),
        phase=claim.status.phase,
        kind=found.provisioner,
        labels={entry.key: entry.values for entry in terms[0]} if len(terms) == 1 else {},
    )
    if selected in index.nodes.rows:
        named = np.array([name == selected for name in index.nodes.names], np.bool_)
        yield replace(place, labels={ANNOTATION_SELECTED_NODE: (selected,)}), named
        return
    yield place, matches_topologies(index.nodes, found.allowed_topologies)
