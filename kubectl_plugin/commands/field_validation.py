"""Holds the documents of a file against the fields of their kinds, as the API server does by kubectl's ``--validate``.

A value that its field cannot hold, and a kind that is not served, are refused in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kubectl_plugin.commands.manifest_pods import refused
from kubectl_plugin.options import Validation
from podrules.cluster.errors import ManifestError
from podrules.cluster.gather import Gatherer
from podrules.cluster.source import Source

if TYPE_CHECKING:
    from podrules.cluster.manifests.files import Document
    from podrules.schema.strict import Decoding, UnknownField
    from podrules.schema.table import Schema

__all__ = ["ValidDocuments"]

_MAX_FIELDS: Final = 10
"""Fields of one object that are named: each takes a look at the file for its line."""


class ValidDocuments:
    """The documents that the API server can decode, and what is wrong with the others."""

    def __init__(self, documents: Iterable[Document], source: Source, validation: Validation) -> None:
        """Hold documents against their kinds.

        Args:
            documents: Those that count.
            source: Where they would be created: its version counts.
            validation: What becomes of a document with unknown fields.

        Raises:
            ClusterError: the version of that cluster cannot be asked for.
        """
        self.documents: list[Document] = []
        self.errors: list[ManifestError] = []
        self.warnings: list[str] = []
        known = None
        for document in documents:
            known = known or _known_to(source)
            errors, unknown = _problems(document, known)
            if validation is Validation.STRICT:
                errors += unknown
            elif validation is Validation.WARN:
                self.warnings += [f"{one.message}: it does not count" for one in unknown]
            self.errors += errors
            if not errors:
                self.documents.append(document)


def _known_to(source: Source) -> Schema:
    # Loaded and asked for only where there is a document.
    from podrules.schema.table import schema

    return schema(Gatherer(source).versions.api_server.minor)


def _problems(document: Document, known: Schema) -> tuple[list[ManifestError], list[ManifestError]]:
    """Why an object is refused in any case, and its unknown fields."""
    from podrules.schema.strict import decode

    api_version, kind = document.content["apiVersion"], document.content["kind"]
    if known.serves(api_version, kind) is False:
        problem = f'no matches for kind "{kind}" in version "{api_version}" in Kubernetes 1.{known.minor}'
        return [refused(document, "apiVersion", problem, _served(kind, known))], []
    decoding = decode(document.content, known)
    return ([], []) if decoding is None else ([*_misfits(document, decoding)], [*_unknown(document, decoding)])


def _served(kind: str, known: Schema) -> str:
    from podrules.checks.shape import near_kind

    if served := known.versions_of(kind):
        return f"Write apiVersion: {served[0]}"
    near = near_kind(kind, known)
    return f"Did you mean {near}?" if near else ""


def _misfits(document: Document, decoding: Decoding) -> Iterator[ManifestError]:
    for one in decoding.misfits[:_MAX_FIELDS]:
        yield refused(document, one.field, f"{one.field}: {one.problem}")


def _unknown(document: Document, decoding: Decoding) -> Iterator[ManifestError]:
    for number, one in enumerate(decoding.unknown[:_MAX_FIELDS], start=1):
        more = len(decoding.unknown) - number if number == _MAX_FIELDS else 0
        also = f", and {more} more" if more else ""
        yield refused(document, one.field, f"{one}{also}", _remedy(one))


def _remedy(unknown: UnknownField) -> str:
    from podrules.checks.shape import near_field

    near = near_field(unknown.field, unknown.known)
    return f"Did you mean {near}?" if near else "Remove it; --validate=warn goes on without it"
