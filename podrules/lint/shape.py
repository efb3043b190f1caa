"""Whether the API server accepts an object of a manifest: its shape first, then its values.

An object without the shape of its kind is not checked further.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from podrules.api.model.decode import DecodeError, from_object
from podrules.api.schema.strict import decode, unknown_field
from podrules.api.schema.table import Schema
from podrules.api.similar_names import nearest_word
from podrules.lint.finding import Finding, Level, LintRule
from podrules.lint.objects import DEFAULT_NAMESPACE, KINDS, Manifest
from podrules.lint.values import refused_values

_CLOSE: Final = 0.75
"""The similarity of names: terminationGracePeriod is near terminationGracePeriodSeconds, command not near comment."""


class InvalidField(Finding, frozen=True):
    """The object does not have the shape of its kind."""

    rule = LintRule(
        name="invalid-field",
        level=Level.ERROR,
        about="A field has the wrong type.",
        remedy="Use the type of the field; amounts and label values often need quotes.",
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
        remedy="Use the field's correct name and place.",
        source="k8s.io/apimachinery/pkg/runtime/serializer/json/json.go (strict decoding)",
    )
    known: tuple[str, ...]
    """The fields that exist at its place."""

    @property
    def problem(self) -> str:
        """The API server's words."""
        return unknown_field(self.field)

    @property
    def near(self) -> str:
        """The intended field; empty: none is similar."""
        return _near(self.field.rpartition(".")[2], self.known)

    def __str__(self) -> str:
        near = self.near
        return f"{self.problem}; the nearest is {near}." if near else f"{self.problem}."


class UnservedVersion(Finding, frozen=True):
    """The API server does not serve the kind in this apiVersion."""

    rule = LintRule(
        name="unserved-version",
        level=Level.ERROR,
        about="This version of Kubernetes does not serve the kind in that apiVersion.",
        remedy="Use a kind and an apiVersion that the version serves.",
        source="api/openapi-spec/v3",
    )
    kind: str
    api_version: str
    minor: int
    served: str
    """The best apiVersion that has the kind; empty: none has it."""
    near: str
    """The most similar kind, if no apiVersion has it; empty: none is similar."""

    @property
    def problem(self) -> str:
        """The API server's words, as in kubectl, and the version."""
        return f'no matches for kind "{self.kind}" in version "{self.api_version}" in Kubernetes 1.{self.minor}'

    def __str__(self) -> str:
        if self.served:
            return f"{self.problem}: write {self.served}."
        return f"{self.problem}; the nearest is {self.near}." if self.near else f"{self.problem}."


def _near(name: str, known: Iterable[str]) -> str:
    """The intended field or kind; empty: none is similar."""
    lower = {one.lower(): one for one in known}
    return lower.get(name.lower()) or lower.get(nearest_word(name.lower(), lower, closeness=_CLOSE), "")


def check_shape(position: int, written: Mapping[str, Any], known: Schema) -> list[Finding]:
    """Why the API server rejects an object, also for fields that no rule reads.

    Args:
        position: The number by which findings name the object.
        written: The object as in the manifest.
        known: The schema of the API server's version.
    """
    api_version, kind = str(written.get("apiVersion")), str(written.get("kind"))
    if known.serves(api_version, kind) is False:
        served = next(iter(known.versions_of(kind)), "")
        near = "" if served else _near(kind, known.kinds)
        return [UnservedVersion(position, "apiVersion", kind, api_version, known.minor, served, near)]
    decoding = decode(written, known)
    if decoding is None:
        return []
    misfits = [InvalidField(position, one.field, one.problem) for one in decoding.misfits]
    unknown = [UnknownField(position, one.field, one.known) for one in decoding.unknown]
    return [*misfits, *unknown, *(() if misfits else refused_values(position, written, known.asked))]


class ReadManifest(NamedTuple):
    """An object of a manifest, if it fits its kind."""

    manifest: Manifest | None
    """The object; None: it does not fit, or its kind is not checked."""
    findings: Sequence[Finding]
    """The errors, also in fields that no rule reads."""


def read_manifest(
    position: int, written: Mapping[str, Any], *, known: Schema, namespace: str = DEFAULT_NAMESPACE
) -> ReadManifest:
    """The typed object, and its errors against the schema of its kind.

    Args:
        position: The number by which findings name the object.
        written: The object as in the manifest.
        known: The schema of the API server's version.
        namespace: The namespace of an object without one.
    """
    findings = check_shape(position, written, known)
    kind = str(written.get("kind"))
    model = KINDS.get((str(written.get("apiVersion")), kind))
    if model is None:
        return ReadManifest(None, findings)
    try:
        content = from_object(written, model)
    except DecodeError as error:
        if not any(isinstance(one, InvalidField) for one in findings):
            findings.append(InvalidField(position, error.field, error.problem))
        return ReadManifest(None, findings)
    if not content.metadata.namespace:
        content = replace(content, metadata=replace(content.metadata, namespace=namespace))
    return ReadManifest(Manifest(position, kind, content), findings)
