"""Claims that will be made for a pod to come: of a StatefulSet's volumeClaimTemplates, and of ephemeral volumes.

    template          ``<template>-<pod>``, once for an ordinal: the claim is there still when the pod comes again. A
                      volume of the pod's template that has the claim template's name gives way
    ephemeral volume  ``<pod>-<volume>``, which the pod controls and which goes with it: a pod that comes again gets a
                      new one. The pod waits if a claim of that name has another owner, or none
    no class          the default class: of several the newest, of these the first by name

Source: pkg/controller/statefulset/stateful_set_utils.go (getPersistentVolumeClaims, updateStorage),
pkg/controller/volume/ephemeral/controller.go, pkg/volume/util/storageclass.go (GetDefaultClass) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.api.model.storage import PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, StorageClass, Volume
from podrules.scheduling.scheduler.plugins.volume_binding.storage_index import ANNOTATION_CLASS

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def with_claims_of(
    pod: Pod, templates: Sequence[PersistentVolumeClaim] = ()
) -> tuple[Pod, tuple[PersistentVolumeClaim, ...]]:
    """A pod to come with volumes that name its claims, and the claims.

    Args:
        pod: As it will be stored, with the name and the uid that it will have.
        templates: A StatefulSet's.
    """
    claims = [_claim(pod, f"{entry.metadata.name}-{pod.metadata.name}", entry) for entry in templates]
    own = {
        entry.metadata.name: _naming(entry.metadata.name, claim) for entry, claim in zip(templates, claims, strict=True)
    }
    volumes = [volume for volume in pod.spec.volumes if volume.name not in own]
    claims += _ephemeral(pod, volumes)
    if own:
        pod = replace(pod, spec=replace(pod.spec, volumes=(*own.values(), *volumes)))
    return pod, tuple(claims)


def with_claims(snapshot: ClusterSnapshot, claims: Sequence[PersistentVolumeClaim]) -> ClusterSnapshot:
    """The cluster with claims that are to come, where they are not there yet; the default class is filled in."""
    if not claims:
        return snapshot
    wanted = {claim.metadata.place: claim for claim in claims}
    there = {
        claim.metadata.place: claim for claim in snapshot.persistent_volume_claims if claim.metadata.place in wanted
    }
    gone = {key for key, claim in there.items() if _goes_with_its_pod(claim, wanted[key])}
    default = default_class(snapshot)
    new = tuple(_classed(claim, default) for key, claim in wanted.items() if key not in there or key in gone)
    if not new:
        return snapshot
    kept = snapshot.persistent_volume_claims
    if gone:
        kept = tuple(claim for claim in kept if claim.metadata.place not in gone)
    return replace(snapshot, persistent_volume_claims=kept + new)


def _ephemeral(pod: Pod, volumes: Iterable[Volume]) -> Iterable[PersistentVolumeClaim]:
    for volume in volumes:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None
        if template is not None:
            claim = _claim(pod, f"{pod.metadata.name}-{volume.name}", PersistentVolumeClaim(spec=template.spec))
            yield replace(claim, metadata=replace(claim.metadata, owner_references=(pod.as_controller,)))


def _goes_with_its_pod(claim: PersistentVolumeClaim, new: PersistentVolumeClaim) -> bool:
    """Whether a claim belongs to an earlier pod of the same name and is to be replaced for its ephemeral volume."""
    earlier, later = claim.metadata.controller, new.metadata.controller
    return earlier is not None and later is not None and (earlier.kind, earlier.name) == (later.kind, later.name)


def default_class(snapshot: ClusterSnapshot) -> StorageClass | None:
    """The class of claims that name none; None: there is no default."""
    default = [
        entry
        for entry in snapshot.storage_classes
        if any(entry.metadata.annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    ]
    by_name = sorted(default, key=lambda entry: entry.metadata.name)
    return max(by_name, key=lambda entry: entry.metadata.creation_timestamp or "", default=None)


def _classed(claim: PersistentVolumeClaim, default: StorageClass | None) -> PersistentVolumeClaim:
    if claim.spec.storage_class_name is not None or ANNOTATION_CLASS in claim.metadata.annotations or default is None:
        return claim
    return replace(claim, spec=replace(claim.spec, storage_class_name=default.metadata.name))


def _claim(pod: Pod, name: str, template: PersistentVolumeClaim) -> PersistentVolumeClaim:
    metadata = replace(template.metadata, name=name, namespace=pod.metadata.namespace)
    return replace(template, metadata=metadata)


def _naming(volume: str, claim: PersistentVolumeClaim) -> Volume:
    source = PersistentVolumeClaimVolumeSource(claim_name=claim.metadata.name)
    return Volume(name=volume, persistent_volume_claim=source)
