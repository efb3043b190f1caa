"""Whether an object of a manifest has the shape of its kind: what does not is a finding, and is checked no further."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from podrules.checks.finding import Finding, Level, LintRule
from podrules.checks.objects import DEFAULT_NAMESPACE, KINDS, Manifest
from podrules.model.decode import DecodeError, from_object

__all__ = ["InvalidField", "read_manifest"]


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


def read_manifest(
    position: int, written: Mapping[str, Any], *, namespace: str = DEFAULT_NAMESPACE
) -> Manifest | Finding | None:
    """The typed object; a finding where it does not fit its kind; None for a kind that is not checked.

    Args:
        position: The number by which findings name the object.
        written: The object as it stands in the manifest.
        namespace: The namespace of an object that names none.
    """
    kind = str(written.get("kind"))
    model = KINDS.get((str(written.get("apiVersion")), kind))
    if model is None:
        return None
    try:
        content = from_object(written, model)
    except DecodeError as error:
        return InvalidField(position, error.field, error.problem)
    if not content.metadata.namespace:
        content = replace(content, metadata=replace(content.metadata, namespace=namespace))
    return Manifest(position, kind, content)
