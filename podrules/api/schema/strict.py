"""Validates an object against the fields of its kind, as the API server decodes it with strict field validation.

    a misfit  a value that its field cannot hold: the object is refused, whatever validation was asked for
    unknown   a field that the kind does not have: refused by ``fieldValidation=Strict``, which kubectl asks for. Names
              count as they are written, upper and lower case
    null      fits everywhere, and counts as absent

kubectl sends an object with its fields in alphabetical order, which is the order of what is found here. The API server
names the first misfit only; one of a type that decodes itself (an amount, a time, a number or string) comes first.

Source: internal/golang/encoding/json/decode.go of sigs.k8s.io/json; pkg/endpoints/handlers/rest.go of
k8s.io/apiserver at v0.37.1 (transformDecodeError).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Mapping
from datetime import timedelta
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct

from podrules.api.model.decode import key_text
from podrules.api.model.instant import DurationError, instant, parse_duration
from podrules.api.model.misfit import no_time, unfit
from podrules.api.model.quantity import Quantity, QuantityError, go_float
from podrules.api.schema.table import GoType, Schema

_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)"
_EMBEDDED_SINCE: Final = 35
"""The first minor version with messages that name the embedded structs on the way to a field."""
_MAX_DURATION: Final = timedelta(microseconds=2**63 // 1000)
"""Go counts nanoseconds in an int64."""
_MAX_UNKNOWN: Final = 100
"""As many unknown fields as the API server names."""


class UndefinedField(Struct, frozen=True):
    """A field that its kind does not have."""

    field: str
    """Its path: ``spec.containers[0].resource``."""
    known: tuple[str, ...]
    """The fields that there are at this place."""
    value: Any = None


def unknown_field(field: str) -> str:
    """What the API server says of an unknown field."""
    return f"unknown field {json.dumps(field, ensure_ascii=False)}"


class Misfit(Struct, frozen=True):
    """A value that its field cannot hold."""

    field: str
    problem: str
    """``5 is a number; write a string, in quotation marks``."""
    words: str
    """The API server's."""
    decodes_itself: bool = False


class Decoding(Struct, frozen=True):
    """What the decoder finds in one object."""

    api_version: str
    kind: str
    misfits: tuple[Misfit, ...]
    unknown: tuple[UndefinedField, ...]

    @property
    def words(self) -> str:
        """Why the API server refuses the object; empty: the decoder takes it."""
        version = self.api_version.rpartition("/")[2]
        problem = self.problem
        return problem and f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {problem}'

    @property
    def problem(self) -> str:
        """The decoder's own part of these words."""
        first = next((one for one in self.misfits if one.decodes_itself), next(iter(self.misfits), None))
        if first is not None:
            return first.words
        unknown = ", ".join(unknown_field(one.field) for one in self.unknown[:_MAX_UNKNOWN])
        return unknown and f"strict decoding error: {unknown}"


def decode(content: Mapping[str, Any], known: Schema) -> Decoding | None:
    """Validate an object against its kind.

    Args:
        content: The object as its manifest has it.
        known: What the version of the API server knows.

    Returns:
        What was found; None: the fields of its kind are not known here.
    """
    api_version, kind = str(content.get("apiVersion")), str(content.get("kind"))
    root = known.root(api_version, kind)
    if root is None:
        return None
    misfits, unknown = decode_struct(content, root, known)
    return Decoding(api_version, kind, misfits, unknown if known.complete else ())


def decode_struct(
    content: Mapping[str, Any], struct: str, known: Schema, path: str = ""
) -> tuple[tuple[Misfit, ...], tuple[UndefinedField, ...]]:
    """Validate the value at a path against a struct of the schema: what does not fit, and the fields that it lacks."""
    reader = _Reader(known)
    reader.struct(content, struct, _At(path, (), ""))
    return tuple(reader.misfits), tuple(reader.unknown)


class _At(Struct, frozen=True):
    """A place in the object."""

    path: str
    stack: tuple[str, ...]
    """The fields on the way to it, with embedded structs and without indices, as Go's messages have them."""
    struct: str
    """The struct that has the last of these fields."""

    def below(self, step: str) -> str:
        return f"{self.path}.{step}" if self.path else step


class _Reader:
    """Collects what does not fit."""

    def __init__(self, known: Schema) -> None:
        self._known = known
        self.misfits: list[Misfit] = []
        self.unknown: list[UndefinedField] = []

    def struct(self, value: Mapping[Any, Any], name: str, at: _At) -> None:
        """Read the fields of a struct."""
        fields = self._known.fields(name)
        own = name.rpartition(".")[2]
        for key, entry in _sorted(value):
            field = fields.get(key)
            if field is None:
                self.unknown.append(UndefinedField(at.below(key), tuple(fields), entry))
                continue
            into = self._known.type(field.type)
            # Most values need no place.
            if into.shape != "string" or not isinstance(entry, str):
                through = field.through if self._known.minor >= _EMBEDDED_SINCE else ()
                self._value(entry, into, _At(at.below(key), (*at.stack, *through, key), own))

    def _value(self, value: Any, into: GoType, at: _At) -> None:
        match into.shape, value:
            case _, None if into.null:
                return
            case "struct", Mapping():
                self.struct(value, into.struct, at)
            case "list", list():
                item = self._known.type(into.item)
                for index, entry in enumerate(value):
                    self._value(entry, item, _At(f"{at.path}[{index}]", at.stack, at.struct))
            case "map", Mapping():
                item = self._known.type(into.item)
                for key, entry in _sorted(value):
                    self._value(entry, item, _At(at.below(key), at.stack, at.struct))
            case ("string", str()) | ("bool", bool()) | ("raw", _):
                return
            case (("quantity" | "time" | "duration" | "intOrString"), _):
                self._by_itself(value, into, at)
            case "bytes", str():
                self._base64(value, at)
            case _ if not _is_number_of(value, into):
                self._misfit(value, into, at)

    def _by_itself(self, value: Any, into: GoType, at: _At) -> None:
        """A type that decodes itself: its error ends the decoding."""
        match into.shape, value:
            case "quantity", _:
                try:
                    Quantity.from_json(value)
                except QuantityError as error:
                    self.misfits.append(Misfit(at.path, str(error), error.upstream, decodes_itself=True))
            case "time", str():
                if not re.fullmatch(_TIME, value, flags=re.ASCII) or instant(value) is None:
                    words = f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00"'
                    self.misfits.append(Misfit(at.path, no_time(value), words, decodes_itself=True))
            case "duration", str():
                try:
                    problem = "" if abs(parse_duration(value)) < _MAX_DURATION else f"{value} is too long"
                except DurationError as error:
                    problem = str(error)
                if problem:
                    words = f"time: invalid duration {json.dumps(value)}"
                    self.misfits.append(Misfit(at.path, problem, words, decodes_itself=True))
            case (("time" | "duration"), _):
                self._misfit(value, GoType("string", "string"), at, decodes_itself=True)
            case "intOrString", _:
                number = GoType("int", "int32", bits=32)
                if not isinstance(value, str) and not _is_number_of(value, number):
                    self._misfit(value, number, at, decodes_itself=True)

    def _base64(self, value: str, at: _At) -> None:
        try:
            base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            self.misfits.append(Misfit(at.path, "this is not base64", "illegal base64 data"))

    def _misfit(self, value: Any, into: GoType, at: _At, *, decodes_itself: bool = False) -> None:
        field = f"{at.struct}.{'.'.join(at.stack)}"
        words = f"json: cannot unmarshal {_json_name(value, into)} into Go struct field {field} of type {into.printed}"
        self.misfits.append(Misfit(at.path, unfit(value, _WANTED[into.shape], into.bits), words, decodes_itself))


_WANTED: Final = {
    "struct": "object",
    "map": "object",
    "list": "array",
    "string": "str",
    "bytes": "str",
    "bool": "bool",
    "int": "int",
    "float": "float",
}
"""What `unfit` calls each shape."""


def _sorted(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """The fields in kubectl's order, and their names as kubectl writes them: those of YAML may be numbers."""
    return sorted(zip(map(key_text, value), value.values(), strict=True), key=itemgetter(0))


def _is_number_of(value: Any, into: GoType) -> bool:
    """Whether a number fits: kubectl writes 3.0 as 3."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if into.shape == "float":
        return True
    whole = isinstance(value, int) or value.is_integer()
    return into.shape == "int" and whole and -(2 ** (into.bits - 1)) <= value < 2 ** (into.bits - 1)


def _json_name(value: Any, into: GoType) -> str:
    """What Go's messages call a value of JSON; they show the number that does not fit an integer."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case Mapping():
            return "object"
        case float() if math.isfinite(value):
            text = go_float(value)
        case _:
            text = str(value)
    return f"number {text}" if into.shape == "int" else "number"
