"""Decodes JSON into models, and accepts null for any field, as upstream does.

The first pass decodes JSON directly into models. An object that does not fit is decoded again without its nulls, which
Go reads as absent. So an object with nulls costs a second pass, but no error.

The API server stores JSON that the decoder does not read, in fields that rules hardly read: ``managedFields`` of
objects and of pod templates, data of ControllerRevisions, parameters of devices. If it fails, this is replaced:

    depth   the API server accepts 10,000 levels, the decoder a little less than 1,000. Each list and mapping below
            `MAX_DEPTH` levels is emptied; Kubernetes' own types have at most about 30 levels
    text    invalid UTF-8 and half surrogate pairs become U+FFFD, as in Go

Source: scanner.go (maxNestingDepth) and decode.go (unquote) of Go's encoding/json.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, AnyStr, Final, TypeVar

import msgspec

from podrules.api.model.quantity import Quantity

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")

MAX_DEPTH: Final = 200
"""Levels of lists and mappings that are read."""
EFFORT: Final = 12 << 20
"""Bytes of a text that is decoded again; a run of brackets of a deep text counts as `_RUN_EFFORT` bytes.

It takes 0.3 s of CPU at most. An object of 1.5 MiB, the most that etcd stores, has less: text takes up to 11 MiB in
JSON, brackets 0.6 million runs.
"""
_RUN_EFFORT: Final = 16
_TEXT: Final = r'"[^"\\]*+(?:(?:(?:\\u....)++|(?:\\.)++)[^"\\]*+)*+"'
"""Runs of the same kind of escapes are one step each: Go writes 1.3 million ``<`` as as many escapes."""
_FLAT: Final = rf'[^][{{}}"]++|{_TEXT}'
_RUN: Final = rf"(?:{_FLAT}|[\[{{](?:{_FLAT})*+[\]}}])*+(?:([\[{{]++)|([\]}}]++))"
"""Opening or closing brackets, after all that has no bracket or is a list or mapping without others in it."""
_HALF_A_PAIR: Final = r"""(?x)(?<!\\)((?:\\\\)*)   # no backslash before the escape, or only pairs of them
    (?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})
    |(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"""
_PREPARED: set[Any] = set()
"""Types for which msgspec has made a decoder."""
_PREPARE_LOCK = threading.Lock()


class DecodeError(ValueError):
    """An object does not have the shape of its kind. The message begins with the path of the field.

    Args:
        problem: What is wrong.
        field: The path; empty: it is not known, or the whole object is wrong.
    """

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


def from_json(data: bytes | str, kind: type[T], effort: int = EFFORT) -> T:
    """Decode one API object from JSON.

    Args:
        data: The text.
        kind: The model.
        effort: The most that a text may take that is decoded again, in bytes: see `without_depths`.

    Raises:
        DecodeError: the text is not JSON, it would take more, or a field has the wrong type.
    """
    try:
        return _decoded(data, kind, effort)
    except msgspec.ValidationError:
        return from_object(_plain(data, effort), kind)


def exactly(data: Buffer, kind: type[T], effort: int = EFFORT) -> T:
    """Decode JSON in one pass: null is accepted only where the type allows it, and no plain copy is built.

    Raises:
        DecodeError: as `from_json`.
    """
    try:
        return _decoded(data, kind, effort)
    except msgspec.ValidationError as error:
        raise DecodeError(str(error)) from error


def _decoded(data: Buffer | str, kind: type[T], effort: int) -> T:
    """Decode JSON; if the decoder does not read it, once more with what Go reads all the same replaced.

    Raises:
        DecodeError: the text is not JSON.
        msgspec.ValidationError: a field has the wrong type.
    """
    _prepare(kind)
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = data.encode(errors="replace") if isinstance(data, str) else bytes(data)
        replaced = text
        if isinstance(error, RecursionError):
            replaced = without_depths(text, effort)
        elif len(text) <= effort:
            replaced = without_halves(text.decode(errors="replace")).encode()
        if replaced == text:
            raise DecodeError(_not_json(error)) from error
    return _decoded(replaced, kind, effort)


def without_depths(text: AnyStr, effort: int = sys.maxsize) -> AnyStr:
    """A JSON text of the same length in which each list and mapping below `MAX_DEPTH` levels is empty.

    Args:
        text: One value or several.
        effort: The text itself is returned if it takes more, or is not JSON: a byte up to 20 ns of CPU, and a run of
            brackets up to 0.4 µs.
    """
    runs: dict[type, Any] = {str: _RUN, bytes: _RUN.encode()}
    match = re.compile(runs[type(text)], re.DOTALL).match
    kept: list[AnyStr] = []
    start = cut = end = depth = 0
    for _ in range((effort - len(text)) // _RUN_EFFORT):
        run = match(text, end)
        if run is None:
            kept.append(text[start:])
            return text if depth else text[:0].join(kept)
        before, end = depth, run.end()
        if run[1]:
            depth += end - run.start(1)
            if before <= MAX_DEPTH < depth:
                cut = end - (depth - MAX_DEPTH) + 1
                kept.append(text[start:cut])
        else:
            depth -= end - run.start(2)
            if depth <= MAX_DEPTH < before:
                start = end - (MAX_DEPTH - depth) - 1
                kept.append(text[:0].ljust(start - cut))
    return text


def without_halves(text: str) -> str:
    """A JSON text of the same length in which each half of a surrogate pair is U+FFFD."""
    return re.sub(_HALF_A_PAIR, r"\1\\ufffd", text) if "\\ud" in text or "\\uD" in text else text


def from_object(value: Any, kind: type[T]) -> T:
    """Decode one API object from plain dicts and lists.

    Raises:
        DecodeError: a field has the wrong type.
    """
    _prepare(kind)
    try:
        # Most objects fit as they are, and a copy of each would take longer than to decode it.
        return msgspec.convert(value, type=kind, dec_hook=dec_hook)
    except (msgspec.ValidationError, RecursionError):
        value = _without_nulls(value)
    try:
        return msgspec.convert(value, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        # Loaded only for an error, which is rare.
        from podrules.api.model.misfit import misfit

        found = misfit(error, value)
        raise DecodeError(found.problem, found.field) from error


def _prepare(kind: Any) -> None:
    """Make msgspec learn a new type in one thread at a time: two threads at once cause a segmentation fault."""
    if kind not in _PREPARED:
        with _PREPARE_LOCK:
            msgspec.json.Decoder(kind, dec_hook=dec_hook)
            _PREPARED.add(kind)


def _plain(data: bytes | str, effort: int) -> Any:
    try:
        return _decoded(data, Any, effort)
    except msgspec.ValidationError as error:
        raise DecodeError(_not_json(error)) from error


def _not_json(error: Exception) -> str:
    from podrules.api.model.misfit import not_json

    return not_json(error)


def dec_hook(kind: type[Any], value: Any) -> Any:
    """Decode a value of a type that msgspec does not know; a hook for its decoders.

    Raises:
        NotImplementedError: this hook does not know the type either.
    """
    if kind is Quantity:
        return Quantity.from_json(value)
    raise NotImplementedError(kind)


def _without_nulls(value: Any, depth: int = 0) -> Any:
    """A copy without null fields, which Go reads as absent; lists and mappings below `MAX_DEPTH` levels are empty."""
    if depth == MAX_DEPTH and isinstance(value, dict | list):
        return type(value)()
    if isinstance(value, dict):
        return {key_text(key): _without_nulls(item, depth + 1) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item, depth + 1) for item in value]
    return value


def key_text(key: Any) -> str:
    """A key as a string: kubectl converts numbers and booleans among YAML's keys to strings (sigs.k8s.io/yaml)."""
    return key if isinstance(key, str) else json.dumps(key, default=str)
