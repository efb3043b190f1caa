"""Whether an object of a manifest has the shape of its kind; one that a field does not fit is checked no further."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from podrules.checks.finding import Finding, Level, LintRule
from podrules.checks.objects import DEFAULT_NAMESPACE, KINDS, Manifest
from podrules.model.decode import DecodeError, from_object
from podrules.schema.strict import decode
from podrules.schema.table import Schema
from podrules.similar_names import nearest_word

__all__ = [
    "InvalidField",
    "ReadManifest",
    "UnknownField",
    "UnservedVersion",
    "near_field",
    "near_kind",
    "read_manifest",
]

_CLOSE: Final = 0.75
"""Of names of fields: terminationGracePeriod is near terminationGracePeriodSeconds, command is not near comment."""


class InvalidField(Finding, frozen=True):
    """The object does not have the shape of its kind."""

    rule = LintRule(
        name="invalid-field",
        level=Level.ERROR,
        about="A field has the wrong type.",
        remedy="Write the type that the field has; amounts and label values often need quotes.",
        source="k8s.io/api (the Go types of the field)",
    )
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}."


class UnknownField(Finding, frozen=True):
    """The kind has no such field."""

    rule = LintRule(
        name="unknown-field",
        level=Level.ERROR,
        about="The kind has no such field in this version of Kubernetes.",
        remedy="Write the field's own name, at the place where it belongs.",
        source="k8s.io/apimachinery/pkg/runtime/serializer/json/json.go (strict decoding)",
    )
    unknown: str
    """The API server's words."""
    near: str
    """The most similar field; empty: none is similar."""

    def __str__(self) -> str:
        return f"{self.unknown}; the nearest is {self.near}." if self.near else f"{self.unknown}."


class UnservedVersion(Finding, frozen=True):
    """The API server does not serve the kind in this apiVersion."""

    rule = LintRule(
        name="unserved-version",
        level=Level.ERROR,
        about="This version of Kubernetes does not serve the kind in that apiVersion.",
        remedy="Write a kind and an apiVersion that the version serves.",
        source="api/openapi-spec/v3",
    )
    kind: str
    api_version: str
    minor: int
    served: tuple[str, ...]
    """The apiVersions that have the kind, the best first."""
    near: str
    """The most similar kind, if none has it; empty: none is similar."""

    def __str__(self) -> str:
        problem = f'no matches for kind "{self.kind}" in version "{self.api_version}" in Kubernetes 1.{self.minor}'
        if self.served:
            return f"{problem}: write {self.served[0]}."
        return f"{problem}; the nearest is {self.near}." if self.near else f"{problem}."


def near_field(field: str, known: Collection[str]) -> str:
    """The field that was meant; empty: none is similar.

    Args:
        field: The path of the unknown field.
        known: The fields that there are at its place.
    """
    own = field.rpartition(".")[2]
    lower = {name.lower(): name for name in known}
    return lower.get(own.lower()) or lower.get(nearest_word(own.lower(), lower, closeness=_CLOSE), "")


def near_kind(kind: str, known: Schema) -> str:
    """The kind that was meant; empty: none is similar."""
    lower = {name.lower(): name for name in known.kinds}
    return lower.get(nearest_word(kind.lower(), lower, closeness=_CLOSE), "")


class ReadManifest(NamedTuple):
    """An object of a manifest, as far as it fits its kind."""

    manifest: Manifest | None
    """None: it does not fit, or its kind is not checked."""
    findings: Sequence[Finding]
    """What does not fit, also of fields that no rule reads."""


def read_manifest(
    position: int, written: Mapping[str, Any], *, known: Schema, namespace: str = DEFAULT_NAMESPACE
) -> ReadManifest:
    """The typed object, and what of it does not fit its kind.

    Args:
        position: The number by which findings name the object.
        written: The object as it stands in the manifest.
        known: What the version of the API server knows.
        namespace: The namespace of an object that names none.
    """
    api_version, kind = str(written.get("apiVersion")), str(written.get("kind"))
    if known.serves(api_version, kind) is False:
        served, near = known.versions_of(kind), near_kind(kind, known)
        return ReadManifest(
            None, [UnservedVersion(position, "apiVersion", kind, api_version, known.minor, served, near)]
        )
    decoding = decode(written, known)
    misfits = () if decoding is None else decoding.misfits
    unknown = () if decoding is None else decoding.unknown
    findings: list[Finding] = [InvalidField(position, one.field, one.problem) for one in misfits]
    findings += [UnknownField(position, one.field, str(one), near_field(one.field, one.known)) for one in unknown]
    model = KINDS.get((api_version, kind))
    if model is None:
        return ReadManifest(None, findings)
    try:
        content = from_object(written, model)
    except DecodeError as error:
        if not misfits:
            findings.append(InvalidField(position, error.field, error.problem))
        return ReadManifest(None, findings)
    if not content.metadata.namespace:
        content = replace(content, metadata=replace(content.metadata, namespace=namespace))
    return ReadManifest(Manifest(position, kind, content), findings)
