"""Reads the valid documents of a text when another document is not valid.

YAML's own reader stops at the first mistake. Each document begins at a line of three hyphens, so each can be read on
its own. A document that cannot be read becomes blank lines; the others keep their lines and numbers. Of JSON objects
those count that are before the first mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from cluster_io.errors import ManifestError
from cluster_io.manifests.json_stream import JsonStream, json_stream

_HEAD: Final = re.compile(r"---(?:\s|$)")
_NOTHING: Final = re.compile(r"\s*(?:#.*|%.*)?$")


def readable_part(
    where: str, text: str, read: Callable[[str, str], object]
) -> tuple[str, Sequence[ManifestError]] | None:
    """The text with blank lines in place of unreadable documents, and their errors; None: it is one document.

    Args:
        where: What messages call the text.
        text: A text that cannot be read as a whole.
        read: Takes a name for messages and a text, and reads the text; raises ManifestError.
    """
    stream = _stream(text)
    if stream and (problem := stream.problem(where)):
        return text[: stream.end], [problem]
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if _HEAD.match(line)]
    starts = heads if heads[:1] == [0] else [0, *heads]
    if len(starts) == 1:
        return None
    errors: list[ManifestError] = []
    # Comments before the first line of hyphens do not form a document.
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


def _stream(text: str) -> JsonStream | None:
    try:
        return json_stream(text)
    except RecursionError:
        return None


def _placed_error(place: str, text: str, read: Callable[[str, str], object]) -> ManifestError:
    """The error of a document that cannot be read, with the line numbers of the whole text."""
    try:
        read(place, text)
    except ManifestError as error:
        return error
    return ManifestError(f"{place}: it cannot be read")
