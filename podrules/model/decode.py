"""Decodes JSON into models, and accepts null for any field, as upstream does.

The first pass decodes JSON directly into models. An object that does not fit is decoded again without its nulls, which
Go reads as absent. So an object with nulls costs a second pass, but no error.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from podrules.model.quantity import Quantity

__all__ = ["DecodeError", "dec_hook", "exactly", "from_json", "from_object", "key_text"]

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")

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


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Decode one API object from JSON.

    Raises:
        DecodeError: the text is not JSON, or a field has the wrong type.
    """
    _prepare(kind)
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError:
        return from_object(_plain(data), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(_not_json(error)) from error


def exactly(data: Buffer, kind: type[T]) -> T:
    """Decode JSON in one pass: null is accepted only where the type allows it, and no plain copy is built.

    Raises:
        DecodeError: the text is not JSON, or a field has the wrong type.
    """
    _prepare(kind)
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        raise DecodeError(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(_not_json(error)) from error


def from_object(value: Any, kind: type[T]) -> T:
    """Decode one API object from plain dicts and lists.

    Raises:
        DecodeError: a field has the wrong type.
    """
    _prepare(kind)
    try:
        value = _without_nulls(value)
        return msgspec.convert(value, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        # Loaded only for an error, which is rare.
        from podrules.model.misfit import misfit

        found = misfit(error, value)
        raise DecodeError(found.problem, found.field) from error
    except RecursionError as error:
        raise DecodeError("nested too deeply") from error


def _prepare(kind: Any) -> None:
    """Make msgspec learn a new type in one thread at a time: two threads at once cause a segmentation fault."""
    if kind not in _PREPARED:
        with _PREPARE_LOCK:
            msgspec.json.Decoder(kind, dec_hook=dec_hook)
            _PREPARED.add(kind)


def _plain(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(_not_json(error)) from error


def _not_json(error: Exception) -> str:
    from podrules.model.misfit import not_json

    return not_json(error)


def dec_hook(kind: type[Any], value: Any) -> Any:
    """Decode a value of a type that msgspec does not know; a hook for its decoders.

    Raises:
        NotImplementedError: this hook does not know the type either.
    """
    if kind is Quantity:
        return Quantity.from_json(value)
    raise NotImplementedError(kind)


def _without_nulls(value: Any) -> Any:
    """A copy without null fields: Go reads null as absent."""
    if isinstance(value, dict):
        return {key_text(key): _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def key_text(key: Any) -> str:
    """A key as a string: kubectl converts numbers and booleans among YAML's keys to strings (sigs.k8s.io/yaml)."""
    return key if isinstance(key, str) else json.dumps(key, default=str)
