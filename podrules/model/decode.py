"""JSON to views, with the narrow types of this package and upstream's tolerance of null.

The fast pass reads JSON straight into views. Only when an object does not fit is it read again with its nulls left out,
which Go reads as absent: so one odd object costs a second look, and not its user's answer.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from podrules.model.quantity import Quantity

__all__ = ["DecodeError", "dec_hook", "exactly", "from_json", "from_object"]

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")

_KNOWN: set[Any] = set()
"""What msgspec has met."""
_FIRST = threading.Lock()


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
    _meet(kind)
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError:
        return from_object(_plain(data), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(_not_json(error)) from error


def exactly(data: Buffer, kind: type[T]) -> T:
    """Decode JSON without the second look, which builds all that there is: nulls stand only where the type has them.

    Raises:
        DecodeError: the text is not JSON, or a field has the wrong type.
    """
    _meet(kind)
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
    _meet(kind)
    try:
        value = _without_nulls(value)
        return msgspec.convert(value, type=kind, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        # Loaded for an error alone: nearly every answer is without one.
        from podrules.model.misfit import misfit

        found = misfit(error, value)
        raise DecodeError(found.problem, found.field) from error
    except RecursionError as error:
        raise DecodeError("nested too deeply") from error


def _meet(kind: Any) -> None:
    """Let one thread at a time show msgspec what is new to it: two at once that do are a segmentation fault."""
    if kind not in _KNOWN:
        with _FIRST:
            msgspec.json.Decoder(kind, dec_hook=dec_hook)
            _KNOWN.add(kind)


def _plain(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(_not_json(error)) from error


def _not_json(error: Exception) -> str:
    from podrules.model.misfit import not_json

    return not_json(error)


def dec_hook(kind: type[Any], value: Any) -> Any:
    """Values of types that msgspec does not know, for its decoders.

    Raises:
        NotImplementedError: neither do we.
    """
    if kind is Quantity:
        return Quantity.from_json(value)
    raise NotImplementedError(kind)


def _without_nulls(value: Any) -> Any:
    """The same object without null fields: Go reads null as absent."""
    if isinstance(value, dict):
        return {_key(key): _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _key(key: Any) -> str:
    """As kubectl writes it: a key of YAML that is a number or a boolean becomes a string (sigs.k8s.io/yaml)."""
    return key if isinstance(key, str) else json.dumps(key, default=str)
