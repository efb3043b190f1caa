"""Reads the documents of a text that can be read, where one of them cannot.

YAML's own reader ends at the first mistake. A document begins at a line of three hyphens, wherever that stands, so each
can be read alone; one that cannot is left blank, and the lines and numbers of the others stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from podrules.cluster.errors import ManifestError

__all__ = ["readable_part"]

_HEAD: Final = re.compile(r"---(?:\s|$)")
_NOTHING: Final = re.compile(r"\s*(?:#.*|%.*)?$")


def readable_part(
    where: str, text: str, read: Callable[[str, str], object]
) -> tuple[str, Sequence[ManifestError]] | None:
    """The text with blanks for the documents that cannot be read, and why; None: it is one document.

    Args:
        where: What messages call the text.
        text: Of which something cannot be read.
        read: Reads a text under the name that messages call it; raises ManifestError.
    """
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if _HEAD.match(line)]
    starts = heads if heads[:1] == [0] else [0, *heads]
    if len(starts) == 1:
        return None
    errors: list[ManifestError] = []
    # Comments before the first line of hyphens are no document.
    first = 0 if starts[0] not in heads and all(map(_NOTHING.match, lines[: starts[1]])) else 1
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True), first):
        document = "\n".join(lines[start:end])
        place = f"{where}, document {number}"
        try:
            read(place, document)
        except ManifestError:
            errors.append(_placed_error(place, "\n" * start + document, read))
            lines[start:end] = ["---"] + [""] * (end - start - 1)
    return "\n".join(lines), errors


def _placed_error(place: str, text: str, read: Callable[[str, str], object]) -> ManifestError:
    """The error of a document that cannot be read, with the line numbers of the whole text."""
    try:
        read(place, text)
    except ManifestError as error:
        return error
    return ManifestError(f"{place}: it cannot be read")
