"""How the API server validates an object's metadata, labels and label selectors, and how Go prints the latter.

Source: pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/validation/validation.go and pkg/apis/meta/v1/helpers.go
(LabelSelectorAsSelector) of k8s.io/apimachinery at v0.37.1; pkg/apis/core/validation/validation.go of
k8s.io/kubernetes at v1.37.1 (ValidateObjectMeta).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import (
    TypedText,
    forbidden,
    invalid,
    malformed,
    required,
    too_long,
    unsupported,
)
from podrules.admission.validation.formats import Problems, dns_label, label_value, name_prefix, qualified_name, size
from podrules.admission.validation.view import Rules, View
from podrules.api.model.misfit import FieldError
from podrules.api.model.selectors import LabelSelector, LabelSelectorRequirement, Selector

_ANNOTATIONS_SIZE: Final = 256 * 1024
_MANAGER_LENGTH: Final = 128
_SUBRESOURCE_LENGTH: Final = 256
_ONLY_ONE: Final = frozenset({"orphan", "foregroundDeletion"})
_STANDARD_FINALIZERS: Final = _ONLY_ONE | {"kubernetes"}
_REQUIRED_SINCE: Final = 37
"""The minor since which an owner reference's missing fields are required values with an index."""


def validate_object_meta(
    meta: View, rules: Rules, name: Callable[[str], Problems], *, namespaced: bool = True
) -> Iterator[FieldError]:
    """Hold ``metadata`` against the rules of its kind, and its name against a form.

    The request's namespace stands in for one that is not named; the API server drops that of kinds without namespaces.
    """
    yield from validate_generic_meta(meta, rules, name, namespaced=namespaced)
    for index, finalizer in enumerate(meta.texts("finalizers")):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            words = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(meta.at(f"finalizers[{index}]"), finalizer, words)


def validate_generic_meta(
    meta: View, rules: Rules, name: Callable[[str], Problems], *, namespaced: bool = True
) -> Iterator[FieldError]:
    """Hold ``metadata`` against the rules that all kinds have, also those that are not Kubernetes' own."""
    generate_name = meta.text("generateName")
    if generate_name:
        yield from malformed(meta.at("generateName"), generate_name, name_prefix(generate_name, name))
    own = meta.text("name")
    if not own and not generate_name:
        yield required(meta.at("name"), "name or generateName is required")
    yield from malformed(meta.at("name"), own, name(own) if own else ())
    namespace = meta.text("namespace")
    yield from malformed(meta.at("namespace"), namespace, dns_label(namespace) if namespaced and namespace else ())
    yield from validate_labels(meta.texts_by_key("labels"), meta.at("labels"), rules)
    yield from validate_annotations(meta.texts_by_key("annotations"), meta.at("annotations"), rules)
    yield from _owners(meta, rules)
    finalizers, path = meta.texts("finalizers"), meta.at("finalizers")
    for finalizer in finalizers:
        yield from malformed(path, finalizer, qualified_name(finalizer, rules))
    if set(finalizers) >= _ONLY_ONE:
        yield invalid(path, list(finalizers), "finalizer orphan and foregroundDeletion cannot be both set")
    yield from _managed_fields(meta, rules)


def validate_labels(labels: Mapping[str, str], path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold labels against the rules of their keys and values."""
    for key, value in labels.items():
        yield from malformed(path, key, qualified_name(key, rules))
        yield from malformed(path, value, label_value(value, rules))


def validate_annotations(annotations: Mapping[str, str], path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold annotations against the rule of their keys, in which case does not matter, and against their size."""
    for key in annotations:
        yield from malformed(path, key, qualified_name(key.lower(), rules))
    yield from validate_annotations_size(annotations, path)


def validate_annotations_size(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    """Hold annotations against the size that they may have together."""
    if sum(size(key) + size(value) for key, value in annotations.items()) > _ANNOTATIONS_SIZE:
        yield too_long(path, _ANNOTATIONS_SIZE)


def validate_label_selector(selector: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a label selector against its rules; one that is absent breaks none."""
    yield from validate_labels(selector.texts_by_key("matchLabels"), selector.at("matchLabels"), rules)
    for requirement in selector.structs("matchExpressions"):
        yield from validate_requirement(requirement, rules)


def validate_requirement(
    requirement: View, rules: Rules, *, compares: bool = False, values: bool = True
) -> Iterator[FieldError]:
    """Hold a requirement of a label selector or a node selector against its rules.

    Only a node selector has operators that compare numbers, and in a preferred term values that no label can have.
    """
    operator, given, place = requirement.text("operator"), requirement.texts("values"), requirement.at("values")
    if operator in {"In", "NotIn"}:
        if not given:
            yield required(place, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if given:
            yield forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif compares and operator in {"Gt", "Lt"}:
        if len(given) != 1:
            yield required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(requirement.at("operator"), TypedText(operator), "not a valid selector operator")
    key = requirement.text("key")
    yield from malformed(requirement.at("key"), key, qualified_name(key, rules))
    for index, value in enumerate(given if values else ()):
        yield from malformed(f"{place}[{index}]", value, label_value(value, rules))


def _owners(meta: View, rules: Rules) -> Iterator[FieldError]:
    first, path = "", meta.at("ownerReferences")
    references = meta.structs("ownerReferences")
    for reference in references:
        yield from _owner(reference, path, rules)
        if reference.flag("controller"):
            found = f"{reference.text('kind')}/{reference.text('name')}"
            if first:
                words = (
                    "Only one reference can have Controller set to true. Found "
                    f'"true" in references for {first} and {found}'
                )
                yield invalid(path, [_shown(one) for one in references], words)
            first = first or found


def _owner(reference: View, path: str, rules: Rules) -> Iterator[FieldError]:
    version = reference.text("apiVersion")
    group, _, number = version.rpartition("/")
    known = "/" not in group and bool(number)
    if rules.minor >= _REQUIRED_SINCE:
        if not version:
            yield required(reference.at("apiVersion"), "must not be empty")
        elif not known:
            yield invalid(reference.at("apiVersion"), version, "must be <group>/<version> or <version>")
        for name in ("kind", "name", "uid"):
            if not reference.text(name):
                yield required(reference.at(name), "must not be empty")
    else:
        if not known:
            yield invalid(f"{path}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not reference.text(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
    if version == "v1" and reference.text("kind") == "Event":
        place = reference.path if rules.minor >= _REQUIRED_SINCE else path
        yield invalid(place, _shown(reference), "/v1, Kind=Event is disallowed from being an owner")


def _shown(reference: View) -> dict[str, object]:
    """An owner reference as Go writes it as JSON."""
    found: dict[str, object] = {name: reference.text(name) for name in ("apiVersion", "kind", "name", "uid")}
    flags = {name: reference.flag(name) for name in ("controller", "blockOwnerDeletion")}
    return found | {name: flag for name, flag in flags.items() if flag is not None}


def _managed_fields(meta: View, rules: Rules) -> Iterator[FieldError]:
    for entry in meta.structs("managedFields"):
        operation = entry.text("operation")
        if operation not in {"Apply", "Update"}:
            path = entry.at("operation")
            if rules.minor < _REQUIRED_SINCE:
                yield invalid(path, operation, "must be `Apply` or `Update`")
            elif operation:
                yield unsupported(path, operation, ("Apply", "Update"))
            else:
                yield required(path, "must not be empty")
        if entry.text("fieldsType", "FieldsV1") != "FieldsV1":
            yield invalid(entry.at("fieldsType"), entry.text("fieldsType"), "must be `FieldsV1`")
        if size(entry.text("manager")) > _MANAGER_LENGTH:
            yield too_long(entry.at("manager"), _MANAGER_LENGTH)
        if size(entry.text("subresource")) > _SUBRESOURCE_LENGTH:
            yield too_long(entry.at("subresource"), _SUBRESOURCE_LENGTH)


def is_empty_selector(selector: View) -> bool:
    """Whether a selector that is there asks for nothing."""
    return not selector.content.get("matchLabels") and not selector.content.get("matchExpressions")


def selects(selector: View, labels: Mapping[str, str]) -> bool:
    """Whether a selector with valid parts selects labels."""
    expressions = tuple(
        LabelSelectorRequirement(one.text("key"), one.text("operator"), tuple(one.texts("values")))
        for one in selector.structs("matchExpressions")
    )
    wanted = LabelSelector(dict(selector.texts_by_key("matchLabels")), expressions)
    return Selector.from_label_selector(wanted).matches(labels)


def shown_labels(struct: View, name: str) -> Mapping[str, str] | None:
    """A map of labels as Go writes it as JSON; None where it is absent."""
    return dict(sorted(struct.texts_by_key(name).items())) if struct.has(name) else None


def shown_selector(selector: View) -> Mapping[str, Any]:
    """A selector as Go writes it as JSON."""
    expressions = [
        {name: one.text(name) for name in ("key", "operator")}
        | ({"values": values} if (values := one.texts("values")) else {})
        for one in selector.structs("matchExpressions")
    ]
    shown = {"matchLabels": shown_labels(selector, "matchLabels"), "matchExpressions": expressions}
    return {name: value for name, value in shown.items() if value}
