"""Validates the documents of a file by the fields and rules of their kinds, as the API server does.

kubectl's ``--validate`` decides how unknown fields count. A value of the wrong type, a value that breaks a rule, and a
kind that is not served are always refused. A pod or workload with a value that breaks a rule is kept together with the
refused values: it can still be explained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cluster_io.errors import ManifestError
from cluster_io.kinds import PODS, WORKLOADS, Kind, find_kind
from kubectl_plugin.options import Validation
from kubectl_plugin.reports.pod.pod_report import RefusedField

if TYPE_CHECKING:
    from cluster_io.manifests.files import Document
    from podrules.api.schema.table import Schema
    from podrules.lint.shape import RefusedValue, UnknownField


_MAX_FIELDS: Final = 10
"""How many fields of one object are listed: the file is searched for the line of each."""


class ValidDocument(NamedTuple):
    """A document that the API server can decode."""

    document: Document
    kind: Kind[Any] | None
    """The kind of a pod or a workload; None: another object."""
    refusals: Sequence[RefusedField]
    """The values for which the API server refuses a pod or workload that it can decode."""


class ValidDocuments:
    """The documents that can be explained, and the errors of the others."""

    def __init__(self, documents: Iterable[Document], known: Schema, validation: Validation) -> None:
        """Validate documents by the fields and kinds that the API server's version knows."""
        self.documents: list[ValidDocument] = []
        self.errors: list[ManifestError] = []
        self.warnings: list[str] = []
        for document in documents:
            found = _Problems(document, known)
            errors = found.errors
            if validation is Validation.STRICT:
                errors += found.unknown
            elif validation is Validation.WARN:
                self.warnings += [f"{one.message}: it is ignored" for one in found.unknown]
            self.errors += errors
            if not errors:
                self.documents.append(ValidDocument(document, found.kind, found.refusals))


def refused(document: Document, field: str, problem: str, remedy: str = "") -> ManifestError:
    """The error for an object that the API server would refuse, with the line of the field, or of the nearest above."""
    from cluster_io.manifests.located import line_of
    from cluster_io.manifests.text import TEMPLATE_ADVICE

    line = line_of(document, field)
    place = document.where if line is None else f"{document.where}, line {line}"
    return ManifestError(f"{place}: {problem}", advice=TEMPLATE_ADVICE if "{{" in problem else remedy)


def _explained_kind(document: Document) -> Kind[Any] | None:
    """The kind of a pod or a workload; a kind of another API group may have the same name."""
    kind = find_kind(str(document.content["kind"]))
    group = str(document.content["apiVersion"]).rpartition("/")[0]
    if kind is None or kind not in (PODS, *WORKLOADS) or group != kind.group:
        return None
    return kind


class _Problems:
    """Why the API server refuses an object."""

    def __init__(self, document: Document, known: Schema) -> None:
        # Loaded only for manifests.
        from podrules.lint.shape import InvalidField, RefusedValue, UnknownField, UnservedVersion, check_shape

        self._document = document
        self.kind = _explained_kind(document)
        found = check_shape(0, document.content, known)
        values = [one for one in found if isinstance(one, RefusedValue)]
        self.errors: list[ManifestError] = []
        """The error for an object that cannot be explained."""
        for unserved in found:
            if isinstance(unserved, UnservedVersion):
                remedy = f"Write apiVersion: {unserved.served}" if unserved.served else _did_you_mean(unserved.near)
                self.errors.append(refused(document, unserved.field, unserved.problem, remedy))
        misfits = [one for one in found if isinstance(one, InvalidField)]
        self.errors += [refused(document, one.field, f"{one.field}: {one.problem}") for one in misfits[:_MAX_FIELDS]]
        self.unknown = self._unknown([one for one in found if isinstance(one, UnknownField)])
        self.refusals: Sequence[RefusedField] = ()
        if self.kind is None or _says_nothing(values):
            self.errors += [
                refused(document, one.place, f"{one.field}: {one.problem}", _remedy(one).removesuffix("."))
                for one in values[:_MAX_FIELDS]
            ]
        else:
            self.refusals = [_refused_field(document, one) for one in values]

    def _unknown(self, fields: Sequence[UnknownField]) -> list[ManifestError]:
        errors = []
        for number, one in enumerate(fields[:_MAX_FIELDS], start=1):
            more = len(fields) - number if number == _MAX_FIELDS else 0
            problem = f"{one.problem}, and {more} more" if more else one.problem
            remedy = _did_you_mean(one.near) or "Remove it; --validate=warn continues without it"
            errors.append(refused(self._document, one.field, problem, remedy))
        return errors


def _says_nothing(values: Iterable[RefusedValue]) -> bool:
    """Whether a pod or workload lacks a name or a container, and cannot be explained."""
    return any(
        one.rule.name == "no-containers" or (one.field == "metadata.name" and one.problem.startswith("Required value"))
        for one in values
    )


def _refused_field(document: Document, value: RefusedValue) -> RefusedField:
    from cluster_io.manifests.located import line_of

    rule = value.rule
    line = line_of(document, value.place)
    return RefusedField(rule.name, value.field, str(value), _remedy(value), rule.source, rule.term, line)


def _remedy(value: RefusedValue) -> str:
    """What to write instead; empty: the API server's message says so."""
    return "" if value.rule.name == "refused-value" else value.rule.remedy


def _did_you_mean(near: str) -> str:
    return f"Did you mean {near}?" if near else ""
