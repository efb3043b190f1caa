"""JSON objects one after the other, as ``jq`` prints them: kubectl reads them with and without lines between them.

A text that has two of them is JSON to its end; one that has fewer may be YAML, which reads ``{}`` and ``---``, too.

YAML's own reader stops at the first mistake, so the valid documents of a text with a mistake are read one by one: each
begins at a line of three hyphens. A document that cannot be read becomes blank lines; the others keep their lines and
numbers. Of JSON objects those count that are before the first mistake.

Source: pkg/util/yaml/decoder.go of k8s.io/apimachinery at v0.37.1 (YAMLOrJSONDecoder).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from cluster_io.errors import ManifestError
from podrules.api.model.decode import without_depths, without_halves

_SPACES: Final = re.compile(r"[ \t\r\n]*")
_AMBIGUOUS: Final = 1
"""Values after which the rest of a text may still be YAML."""
_MAX_SENT_WHOLE: Final = 1e21
"""Below it, Go's encoding/json writes a float without an exponent."""


class JsonValue(NamedTuple):
    """One value, and where its text begins and ends."""

    value: Any
    start: int
    end: int


class JsonStream(NamedTuple):
    """The values of a text."""

    values: list[JsonValue]
    error: ValueError | None
    """Why the text after them is not JSON; None: nothing is after them."""

    @property
    def end(self) -> int:
        """Where the last value ends."""
        return self.values[-1].end

    def problem(self, where: str) -> ManifestError | None:
        """The error for what is after the values; None: nothing is.

        Args:
            where: What messages call the text.
        """
        if self.error is None:
            return None
        line = ""
        if isinstance(self.error, json.JSONDecodeError):
            line = f", line {self.error.lineno}, column {self.error.colno}"
        return ManifestError(
            f"{where}{line}: not valid JSON, which the text before is",
            advice="Write nothing but spaces and line breaks between JSON objects",
        )


def json_stream(text: str) -> JsonStream | None:
    """The values of a JSON text, with numbers as kubectl sends them; half a surrogate pair is U+FFFD, as in Go.

    If the text is deeper than Python's decoder reads, lists and mappings below `MAX_DEPTH` levels are empty.

    Returns:
        The values; None: the text is YAML, or nothing.

    Raises:
        RecursionError: it is nested too deeply.
    """
    at = _after_spaces(text, 0)
    if text[at : at + 1] != "{":
        return None
    # The length stays, so that places do.
    sent = without_halves(text)
    try:
        return _values(text, sent, at)
    except RecursionError:
        return _values(text, without_depths(sent), at)


def _values(text: str, sent: str, at: int) -> JsonStream | None:
    decoder = json.JSONDecoder(parse_float=sent_number)
    values: list[JsonValue] = []
    while at < len(text):
        try:
            value, end = decoder.raw_decode(sent, at)
        except ValueError as error:
            return JsonStream(values, error) if len(values) > _AMBIGUOUS else None
        values.append(JsonValue(value, at, end))
        at = _after_spaces(text, end)
    return JsonStream(values, None)


def sent_number(text: str) -> int | float:
    """A number with a decimal point or an exponent as kubectl sends it: ``3.0`` and ``1e+06`` are integers."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _MAX_SENT_WHOLE else number


def _after_spaces(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    return found.end() if found else at


_HEAD: Final = r"---(?:\s|$)"
_NOTHING: Final = r"\s*(?:#.*|%.*)?$"


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
    heads = [number for number, line in enumerate(lines) if re.match(_HEAD, line)]
    starts = heads if heads[:1] == [0] else [0, *heads]
    if len(starts) == 1:
        return None
    errors: list[ManifestError] = []
    # Comments before the first line of hyphens do not form a document.
    first = 0 if starts[0] not in heads and all(re.match(_NOTHING, line) for line in lines[: starts[1]]) else 1
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
