"""Reads an object in pieces if it is too large to decode whole, or if a part of it does not match its type.

    usual    the object is short and has few values: it is decoded whole
    rich     each field is decoded separately. A list or map that has too many values, or does not match its type, is
             omitted and named. Single values are always decoded: refusals depend on nothing else
    skipped  fields that no model has, and annotations that no rule reads, are never decoded

The number of commas is an upper bound of the number of values. Many values cost memory and CPU, long text does not. A
rich object gets the same verdict; only its explanation is shorter.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import astuple

from podrules.api.model.decode import DecodeError, exactly, from_json
from podrules.ending.deletion import CONFIRMATION
from podrules.pod.priority import CONFIG_MIRROR, CONFIG_SOURCE

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MAX_VALUES: Final = 5_000
"""The limit of a list or map, and of an object that is decoded whole. A pod of 20 containers has 1,000."""
_EFFORT: Final = 4 << 20
"""The maximum size of a text that is decoded again because it is deep or unusual: 0.1 s of CPU."""
_SMALL_SIZE: Final = 2 * MAX_VALUES
"""An object of so few bytes cannot have more values: they are not counted."""
_USUAL_SIZE: Final = 1 << 18
"""The maximum size of an object that is decoded whole: the text may take four times as much memory."""
_LISTS_SIZE: Final = 8 << 20
"""The maximum size of all lists and maps that are decoded from a rich object."""
_LONGEST_VALUE: Final = 4096
"""Bytes of a single value in JSON: names have at most 253 characters, each at most six bytes."""
_NULL_TEXT: Final = b"null"
_NULL: Final = Raw(_NULL_TEXT)
_CHUNK: Final = 1 << 16
_READ_ANNOTATIONS: Final = (CONFIRMATION, CONFIG_MIRROR, CONFIG_SOURCE)
_SINGLE: Final = (str, int, float, bool, NoneType)


class PartialObject(Struct, Generic[T_co], frozen=True):
    """An object, as far as it was read."""

    object: T_co
    left_out: frozenset[str] = frozenset()
    """Paths of its lists and maps that were not read, such as ``spec.topologySpreadConstraints``."""


def see(text: bytes | Raw, kind: type[T]) -> PartialObject[T]:
    """Read an object from JSON, in pieces if it is rich.

    Raises:
        DecodeError: it is not JSON, or a single value has a wrong type or is too long.
    """
    size = len(text) if type(text) is bytes else len(memoryview(text))
    if size <= _USUAL_SIZE:
        text = bytes(text)
        if size <= _SMALL_SIZE or text.count(b",") <= MAX_VALUES:
            try:
                return PartialObject(from_json(text, kind, _EFFORT))
            except DecodeError as error:
                whole = error
            try:
                return _in_pieces(text, kind)
            except DecodeError:
                raise whole from None
    return _in_pieces(text, kind)


def _in_pieces(text: bytes | Raw, kind: Any) -> PartialObject[Any]:
    reading, plan = _Reading(), _plan_of(kind)
    found = reading.built(plan, exactly(text, plan.pieces, _EFFORT), "")
    return PartialObject(found, frozenset(reading.left_out))


class _Field(NamedTuple):
    name: str
    """In Python."""
    key: str
    """In JSON."""
    type: Any
    plan: _Plan | None
    """The plan of a struct; None for other types."""
    single: bool


class _Plan(NamedTuple):
    model: Any
    fields: tuple[_Field, ...]
    required: frozenset[str]
    pieces: Any
    """The same struct with raw fields."""


@cache
def _plan_of(model: Any) -> _Plan:
    found = msgspec.structs.fields(model)
    fields = tuple(_field(entry) for entry in found)
    required = frozenset(entry.name for entry in found if entry.required)
    return _Plan(model, fields, required, _pieces(model.__name__, fields))


def _field(entry: Any) -> _Field:
    kinds = set(get_args(entry.type)) if get_origin(entry.type) in {Union, UnionType} else {entry.type}
    structs = [kind for kind in kinds - {NoneType} if isinstance(kind, type) and issubclass(kind, Struct)]
    single = all(getattr(kind, "__origin__", kind) in _SINGLE for kind in kinds)
    return _Field(entry.name, entry.encode_name, entry.type, _plan_of(structs[0]) if structs else None, single)


def _pieces(name: str, fields: Iterable[_Field]) -> Any:
    return msgspec.defstruct(
        f"{name}Pieces",
        [
            (entry.name, entry.plan.pieces | None, msgspec.field(name=entry.key, default=None))
            if entry.plan is not None
            else (entry.name, Raw, msgspec.field(name=entry.key, default=_NULL))
            for entry in fields
        ],
        frozen=True,
        gc=False,
    )


class _Reading:
    """The reading of one object in pieces."""

    def __init__(self) -> None:
        self.left_out: set[str] = set()
        self._room = _LISTS_SIZE

    def built(self, plan: _Plan, pieces: Any, path: str) -> Any:
        """Build a struct from its raw fields.

        Raises:
            DecodeError: a single value has a wrong type or is too long.
        """
        values = {}
        for entry in plan.fields:
            piece = getattr(pieces, entry.name)
            if piece is None or (type(piece) is Raw and _is_null(piece)):
                continue
            place = f"{path}.{entry.key}".lstrip(".")
            if entry.plan is not None:
                values[entry.name] = self.built(entry.plan, piece, place)
            elif entry.type is Raw:
                values[entry.name] = piece
            elif entry.single:
                values[entry.name] = _single(piece, entry.type, place)
            elif entry.name == "annotations":
                values[entry.name] = {key: _single(text, str, place) for key, text in _annotations(piece)}
            else:
                try:
                    size = len(memoryview(piece))
                    if size > self._room or not _has_few_values(piece):
                        raise DecodeError("too long to be read")
                    self._room -= size
                    values[entry.name] = from_json(bytes(piece), entry.type)
                except DecodeError:
                    self.left_out.add(place)
        missing = plan.required.difference(values)
        if missing:
            raise DecodeError(f"{path}: the field {min(missing)} is missing".removeprefix(": "))
        return plan.model(**values)


_Annotations: Final = msgspec.defstruct(
    "_Annotations",
    [(f"a{index}", Raw, msgspec.field(name=key, default=_NULL)) for index, key in enumerate(_READ_ANNOTATIONS)],
)


def _annotations(piece: Raw) -> Iterable[tuple[str, Raw]]:
    found = zip(_READ_ANNOTATIONS, astuple(exactly(piece, _Annotations)), strict=True)
    return [(key, text) for key, text in found if not _is_null(text)]


def _single(piece: Raw, kind: Any, place: str) -> Any:
    size = len(memoryview(piece))
    if size > _LONGEST_VALUE:
        raise DecodeError(f"{place}: {size} bytes are too long for a single value")
    try:
        return from_json(bytes(piece), kind)
    except DecodeError as error:
        raise DecodeError(f"{place}: {error}") from error


def _is_null(piece: Raw) -> bool:
    return len(memoryview(piece)) == len(_NULL_TEXT) and bytes(piece) == _NULL_TEXT


def _has_few_values(piece: Raw) -> bool:
    view, count = memoryview(piece), 0
    for start in range(0, len(view), _CHUNK):
        count += bytes(view[start : start + _CHUNK]).count(b",")
        if count > MAX_VALUES:
            return False
    return True
