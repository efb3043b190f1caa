"""How the API server validates the spec of a PersistentVolumeClaim and a template for claims.

Source: pkg/apis/core/validation/validation.go at v1.37.1 (ValidatePersistentVolumeClaimSpec, validateDataSource,
validateDataSourceRef, ValidatePersistentVolumeClaimTemplate, ValidateTemplateObjectMeta).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import (
    forbidden,
    invalid,
    required,
    unsupported,
    validate_format,
    validate_word,
)
from podrules.admission.validation.formats import dns_label, dns_subdomain
from podrules.admission.validation.metadata import validate_annotations, validate_label_selector, validate_labels
from podrules.admission.validation.view import Rules, View
from podrules.api.model.field_error import FieldError
from podrules.api.model.quantity import MILLI

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ONE_POD: Final = "ReadWriteOncePod"
_VOLUME_MODES: Final = ("Block", "Filesystem")
_CLAIM_KIND: Final = "PersistentVolumeClaim"
_TEXTS: Final = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation")
"""Fields of the metadata that are not set when they are empty or 0."""
_POINTERS: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
"""Fields that are set once they are there."""
_GO_NAMES: Final = {"uid": "uID"}
"""Fields with a name in Go that differs in more than its first letter."""


def validate_claim_template(template: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a template for claims against its rules: of the metadata it may have labels and annotations."""
    meta = template.struct("metadata")
    if meta.content:
        yield from validate_annotations(meta.texts_by_key("annotations"), meta.at("annotations"), rules)
        yield from validate_labels(meta.texts_by_key("labels"), meta.at("labels"), rules)
        found = [name for name in _TEXTS if meta.content.get(name)] + [name for name in _POINTERS if meta.has(name)]
        for name in found:
            yield forbidden(meta.at(_GO_NAMES.get(name, name)), "cannot be set")
    yield from validate_claim_spec(template.struct("spec"), rules)


def validate_claim_spec(spec: View, rules: Rules) -> Iterator[FieldError]:
    """Hold the spec of a claim against its rules."""
    modes = spec.texts("accessModes")
    if not modes:
        yield required(spec.at("accessModes"), "at least 1 access mode is required")
    if spec.has("selector"):
        yield from validate_label_selector(spec.struct("selector"), rules)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported(spec.at("accessModes"), mode, _ACCESS_MODES)
    if _ONE_POD in modes and any(mode in _ACCESS_MODES and mode != _ONE_POD for mode in modes):
        yield forbidden(spec.at("accessModes"), f"may not use {_ONE_POD} with other access modes")
    yield from _storage(spec)
    yield from validate_format(spec, "storageClassName", dns_subdomain)
    yield from validate_word(spec, "volumeMode", _VOLUME_MODES)
    yield from _data_sources(spec)
    yield from validate_format(spec, "volumeAttributesClassName", dns_subdomain)


def _storage(spec: View) -> Iterator[FieldError]:
    path = spec.at("resources[storage]")
    storage = spec.struct("resources").amounts("requests").get("storage")
    if storage is None:
        yield required(path)
    elif storage.sign <= 0:
        yield invalid(path, storage.round_up(MILLI), "must be greater than zero")


def _data_sources(spec: View) -> Iterator[FieldError]:
    found = [spec.struct(field) for field in ("dataSource", "dataSourceRef") if spec.has(field)]
    for source in found:
        yield from _data_source(source)
    if not spec.has("dataSourceRef"):
        return
    source, reference = found[0], found[-1]
    namespace = reference.text("namespace")
    yield from validate_format(reference, "namespace", dns_label)
    if namespace and spec.has("dataSource"):
        yield invalid(spec.path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif not namespace and _identity(source) != _identity(reference):
        yield invalid(spec.path, {}, "must match dataSourceRef")


def _identity(source: View) -> tuple[str | None, str, str]:
    return source.pointer("apiGroup"), source.text("kind"), source.text("name")


def _data_source(source: View) -> Iterator[FieldError]:
    for field in ("name", "kind"):
        if not source.text(field):
            yield required(source.at(field))
    group, kind = source.text("apiGroup"), source.text("kind")
    if not group and kind != _CLAIM_KIND:
        yield invalid(source.path, kind, f"must be '{_CLAIM_KIND}' when referencing the default apiGroup")
    yield from validate_format(source, "apiGroup", dns_subdomain)
