"""How the API server validates an object's metadata, labels and label selectors.

Source: pkg/api/validation/objectmeta.go and pkg/apis/meta/v1/validation/validation.go of k8s.io/apimachinery at
v0.37.1; pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidateObjectMeta).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from podrules.admission.validation.errors import TypedText, forbidden, invalid, required, too_long, unsupported
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
    """Hold ``metadata`` against the rules of its kind.

    Args:
        meta: The metadata; the request's namespace stands in for one that is not named.
        rules: The API server's version.
        name: What is wrong with a name of the kind.
        namespaced: Whether objects of the kind live in namespaces; the API server drops others' namespace.
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
        for problem in name_prefix(generate_name, name):
            yield invalid(meta.at("generateName"), generate_name, problem)
    own = meta.text("name")
    if not own and not generate_name:
        yield required(meta.at("name"), "name or generateName is required")
    for problem in name(own) if own else ():
        yield invalid(meta.at("name"), own, problem)
    namespace = meta.text("namespace")
    for problem in dns_label(namespace) if namespaced and namespace else ():
        yield invalid(meta.at("namespace"), namespace, problem)
    yield from validate_labels(meta.texts_by_key("labels"), meta.at("labels"), rules)
    yield from validate_annotations(meta.texts_by_key("annotations"), meta.at("annotations"), rules)
    yield from _owners(meta, rules)
    yield from _finalizers(meta, rules)
    yield from _managed_fields(meta, rules)


def validate_labels(labels: Mapping[str, str], path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold labels against the rules of their keys and values."""
    for key, value in labels.items():
        for problem in qualified_name(key, rules):
            yield invalid(path, key, problem)
        for problem in label_value(value, rules):
            yield invalid(path, value, problem)


def validate_annotations(annotations: Mapping[str, str], path: str, rules: Rules) -> Iterator[FieldError]:
    """Hold annotations against the rule of their keys, in which case does not matter, and against their size."""
    for key in annotations:
        for problem in qualified_name(key.lower(), rules):
            yield invalid(path, key, problem)
    yield from validate_annotations_size(annotations, path)


def validate_annotations_size(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    """Hold annotations against the size that they may have together."""
    if sum(size(key) + size(value) for key, value in annotations.items()) > _ANNOTATIONS_SIZE:
        yield too_long(path, _ANNOTATIONS_SIZE)


def validate_label_selector(selector: View, rules: Rules) -> Iterator[FieldError]:
    """Hold a label selector against its rules; one that is absent breaks none."""
    yield from validate_labels(selector.texts_by_key("matchLabels"), selector.at("matchLabels"), rules)
    for requirement in selector.structs("matchExpressions"):
        values = requirement.texts("values")
        match requirement.text("operator"):
            case "In" | "NotIn":
                if not values:
                    yield required(requirement.at("values"), "must be specified when `operator` is 'In' or 'NotIn'")
            case "Exists" | "DoesNotExist":
                if values:
                    words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                    yield forbidden(requirement.at("values"), words)
            case other:
                yield invalid(requirement.at("operator"), TypedText(other), "not a valid selector operator")
        key = requirement.text("key")
        for problem in qualified_name(key, rules):
            yield invalid(requirement.at("key"), key, problem)
        for index, value in enumerate(values):
            for problem in label_value(value, rules):
                yield invalid(requirement.at(f"values[{index}]"), value, problem)


def _owners(meta: View, rules: Rules) -> Iterator[FieldError]:
    first = ""
    path = meta.at("ownerReferences")
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


def _finalizers(meta: View, rules: Rules) -> Iterator[FieldError]:
    path, finalizers = meta.at("finalizers"), meta.texts("finalizers")
    for finalizer in finalizers:
        for problem in qualified_name(finalizer, rules):
            yield invalid(path, finalizer, problem)
    if set(finalizers) >= _ONLY_ONE:
        yield invalid(path, list(finalizers), "finalizer orphan and foregroundDeletion cannot be both set")


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


# The label selector of a workload or of a budget: whether it selects labels, and how Go prints it.
#
# Source: pkg/apis/meta/v1/helpers.go of k8s.io/apimachinery at v0.37.1 (LabelSelectorAsSelector).


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
    expressions = [_shown_requirement(one) for one in selector.structs("matchExpressions")]
    shown = {"matchLabels": shown_labels(selector, "matchLabels"), "matchExpressions": expressions}
    return {name: value for name, value in shown.items() if value}


def _shown_requirement(requirement: View) -> Mapping[str, Any]:
    shown: dict[str, Any] = {"key": requirement.text("key"), "operator": requirement.text("operator")}
    values = requirement.texts("values")
    return {**shown, "values": values} if values else shown
