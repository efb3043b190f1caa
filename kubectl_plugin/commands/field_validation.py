"""Holds the documents of a file against the fields of their kinds, as the API server does by kubectl's ``--validate``.

A value that its field cannot hold, and a kind that is not served, are refused in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kubectl_plugin.commands.manifest_pods import refused
from kubectl_plugin.options import Validation
from podrules.cluster.errors import ManifestError

if TYPE_CHECKING:
    from podrules.cluster.manifests.files import Document
    from podrules.schema.table import Schema

__all__ = ["ValidDocuments"]

_MAX_FIELDS: Final = 10
"""Fields of one object that are named: each takes a look at the file for its line."""


class ValidDocuments:
    """The documents that the API server can decode, and what is wrong with the others."""

    def __init__(self, documents: Iterable[Document], known: Schema, validation: Validation) -> None:
        """Hold documents against their kinds.

        Args:
            documents: Those that count.
            known: What the version of the API server knows that gets them.
            validation: What becomes of a document with unknown fields.
        """
        self.documents: list[Document] = []
        self.errors: list[ManifestError] = []
        self.warnings: list[str] = []
        for document in documents:
            errors, unknown = _problems(document, known)
            if validation is Validation.STRICT:
                errors += unknown
            elif validation is Validation.WARN:
                self.warnings += [f"{one.message}: it does not count" for one in unknown]
            self.errors += errors
            if not errors:
                self.documents.append(document)


def _problems(document: Document, known: Schema) -> tuple[list[ManifestError], list[ManifestError]]:
    """Why an object is refused in any case, and its unknown fields."""
    # Loaded only for manifests.
    from podrules.checks.shape import InvalidField, UnknownField, UnservedVersion, check_shape

    errors, unknown = [], []
    found = check_shape(0, document.content, known)
    misfits = [one for one in found if isinstance(one, InvalidField)]
    others = [one for one in found if isinstance(one, UnknownField)]
    for unserved in found:
        if isinstance(unserved, UnservedVersion):
            remedy = f"Write apiVersion: {unserved.served}" if unserved.served else _did_you_mean(unserved.near)
            errors.append(refused(document, unserved.field, unserved.problem, remedy))
    errors += [refused(document, one.field, f"{one.field}: {one.problem}") for one in misfits[:_MAX_FIELDS]]
    for number, one in enumerate(others[:_MAX_FIELDS], start=1):
        more = len(others) - number if number == _MAX_FIELDS else 0
        problem = f"{one.problem}, and {more} more" if more else one.problem
        remedy = _did_you_mean(one.near) or "Remove it; --validate=warn goes on without it"
        unknown.append(refused(document, one.field, problem, remedy))
    return errors, unknown


def _did_you_mean(near: str) -> str:
    return f"Did you mean {near}?" if near else ""
