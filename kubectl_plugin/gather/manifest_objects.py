"""Other objects of a file that count for its pods: PriorityClasses, claims, volumes, Services, quotas, budgets.

Objects in the cluster stay as they are, except for those that an apply changes without a controller: LimitRanges,
ResourceQuotas, the labels of Namespaces (`admission_rules`) and PodDisruptionBudgets. A volume in a manifest is free.
Three versions of ``resource.k8s.io`` are read: v1 and v1beta2, which have the same shape, and v1beta1 with its flat
requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ManifestError
from cluster_io.kinds import (
    LIMIT_RANGES,
    NAMESPACES,
    PDBS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    SERVICES,
    STORAGE_CLASSES,
    Kind,
)
from kubectl_plugin.gather.manifest_pods import decode
from podrules.api.model.base import KubeObject
from podrules.api.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota
from podrules.api.model.storage import PersistentVolumeClaim, PersistentVolumeStatus
from podrules.pod.defaults import default_limit_range

if TYPE_CHECKING:
    from cluster_io.manifests.files import Document
    from kubectl_plugin.gather.manifest_pods import PodManifest
    from podrules.api.model.snapshot import ClusterSnapshot

T = TypeVar("T", bound=KubeObject)

_KINDS: Final[tuple[Kind[Any], ...]] = (
    PRIORITY_CLASSES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    SERVICES,
    LIMIT_RANGES,
    RESOURCE_QUOTAS,
    NAMESPACES,
    PDBS,
)
_APART: Final = frozenset({PRIORITY_CLASSES, PERSISTENT_VOLUME_CLAIMS, LIMIT_RANGES, RESOURCE_QUOTAS, PDBS})
"""Kinds with their own field in `ManifestObjects`."""
_DEVICES: Final = "resource.k8s.io/"
_FLAT: Final = "resource.k8s.io/v1beta1"


class ManifestObjects(Struct, frozen=True):
    """Objects of files that count for the pods of those files."""

    classes: dict[str, PriorityClass] = {}
    claims: tuple[PersistentVolumeClaim, ...] = ()
    others: tuple[tuple[Kind[Any], KubeObject], ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    """The objects as they would be stored."""
    quotas: tuple[ResourceQuota, ...] = ()
    """The objects as written: nothing of them is used yet."""
    budgets: tuple[PodDisruptionBudget, ...] = ()
    """The objects as written: no controller has counted for them yet."""
    manifests: tuple[PodManifest, ...] = ()
    """The pods and workloads in the same files."""

    def labels_of(self, namespace: str) -> dict[str, str]:
        """The labels that the files give a namespace."""
        found = (entry for kind, entry in self.others if kind is NAMESPACES and entry.metadata.name == namespace)
        return {key: value for entry in found for key, value in entry.metadata.labels.items()}


NO_OBJECTS: Final = ManifestObjects()


def read_manifest_objects(
    documents: Sequence[Document], namespace: str
) -> tuple[ManifestObjects, Sequence[ManifestError]]:
    """Read these objects, and collect the errors of those that cannot be read.

    Args:
        documents: In order.
        namespace: Of those that name none.
    """
    errors: list[ManifestError] = []
    found: list[tuple[Kind[Any], KubeObject]] = []
    for document in documents:
        kind = _kind(document)
        if kind is not None:
            try:
                found.append((kind, _decoded(document, kind, namespace)))
            except ManifestError as error:
                errors.append(error)
    objects = ManifestObjects(
        {entry.metadata.name: entry for entry in _of(found, PRIORITY_CLASSES)},
        tuple(_of(found, PERSISTENT_VOLUME_CLAIMS)),
        tuple((kind, entry) for kind, entry in found if kind not in _APART),
        tuple(map(default_limit_range, _of(found, LIMIT_RANGES))),
        tuple(_of(found, RESOURCE_QUOTAS)),
        tuple(_of(found, PDBS)),
    )
    return objects, errors


def is_manifest_object(document: Document) -> bool:
    """Whether a document counts for the pods of the file."""
    return _kind(document) is not None


def joined(parts: Sequence[ManifestObjects]) -> ManifestObjects:
    """The objects of several files; of PriorityClasses with the same name, the last counts."""
    return ManifestObjects(
        {name: entry for part in parts for name, entry in part.classes.items()},
        tuple(claim for part in parts for claim in part.claims),
        tuple(other for part in parts for other in part.others),
        tuple(entry for part in parts for entry in part.limit_ranges),
        tuple(entry for part in parts for entry in part.quotas),
        tuple(entry for part in parts for entry in part.budgets),
        tuple(entry for part in parts for entry in part.manifests),
    )


def applied(found: Sequence[T], own: Sequence[T]) -> list[T]:
    """The cluster's objects that the files do not change, and the files' objects."""
    # Objects that the API server names do not replace each other.
    by_place = {
        (*entry.metadata.place, 0 if entry.metadata.name else number): entry
        for number, entry in enumerate((*found, *own))
    }
    return list(by_place.values())


def with_manifest_objects(snapshot: ClusterSnapshot, objects: ManifestObjects) -> ClusterSnapshot:
    """The cluster with the objects that it does not have yet."""
    from cluster_io.needs import field_of
    from podrules.scheduling.placement.claims import with_claims

    for kind in dict.fromkeys(kind for kind, _ in objects.others):
        field = field_of(kind)
        there: tuple[KubeObject, ...] = getattr(snapshot, field)
        known = {entry.metadata.place for entry in there}
        new: dict[tuple[str, str], KubeObject] = {}
        for entry in _of(objects.others, kind):
            if entry.metadata.place not in known:
                new.setdefault(entry.metadata.place, entry)
        snapshot = replace(snapshot, **{field: (*there, *new.values())})
    return with_claims(snapshot, objects.claims)


def _kind(document: Document) -> Kind[Any] | None:
    version, name = str(document.content["apiVersion"]), str(document.content["kind"])
    if version.startswith(_DEVICES):
        # Loaded on demand: there are many of these models.
        from cluster_io.device_kinds import DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

        kinds: Sequence[Kind[Any]] = (DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS)
        return next((kind for kind in kinds if kind.kind == name), None)
    return next((kind for kind in _KINDS if (kind.api_version, kind.kind) == (version, name)), None)


def _decoded(document: Document, kind: Kind[Any], namespace: str) -> KubeObject:
    if document.content["apiVersion"] == _FLAT:
        document = replace(document, content=_in_form(document.content))
    entry: KubeObject = decode(document, kind)
    if kind is PERSISTENT_VOLUMES:
        entry = replace(entry, status=PersistentVolumeStatus(phase="Available"))
    if not kind.namespaced or entry.metadata.namespace:
        return entry
    return replace(entry, metadata=replace(entry.metadata, namespace=namespace))


def _in_form(content: Any) -> Any:
    """The same content, with the device requests in the form of v1."""
    if isinstance(content, list):
        return [_in_form(entry) for entry in content]
    if not isinstance(content, Mapping):
        return content
    formed = {key: _in_form(value) for key, value in content.items()}
    if isinstance(formed.get("requests"), list):
        formed["requests"] = [
            {"name": one.get("name", ""), "exactly": {key: one[key] for key in one if key != "name"}}
            if isinstance(one, Mapping) and "deviceClassName" in one
            else one
            for one in formed["requests"]
        ]
    return formed


def _of(found: Sequence[tuple[Kind[Any], KubeObject]], wanted: Kind[Any]) -> Iterator[Any]:
    return (entry for kind, entry in found if kind is wanted)
