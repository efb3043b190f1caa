"""Decodes JSON within an annotation as Go does, and says in Go's words why it cannot.

Source: encoding/json of Go 1.26 (scanner.go, decode.go).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from podrules.admission.validation.errors import quoted

_INT64: Final = range(-(2**63), 2**63)
_KINDS: Final[Mapping[type, str]] = {bool: "bool", str: "string", list: "array", tuple: "object"}


class GoJsonError(ValueError):
    """A text is no JSON, or not of the type that is asked for."""


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def decode_structs(text: str, name: str, fields: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """Decode a list of structs.

    Args:
        text: The JSON.
        name: The struct's type: ``core.Toleration``.
        fields: The type of each field by its name in Go: types of texts, or ``int64``.

    Returns:
        For each item its fields that are there, by their names in Go.

    Raises:
        GoJsonError: the text is no JSON, or something in it has another type.
    """
    try:
        _Scanner(text).check()
        items = json.loads(text, object_pairs_hook=tuple, parse_int=_Number, parse_float=_Number)
    except RecursionError as error:
        raise GoJsonError("exceeded max depth") from error
    if items is None:
        return []
    if not isinstance(items, list):
        raise _misfit(items, f"Go value of type []{name}")
    return [_struct(item, name, fields) for item in items]


def _struct(item: Any, name: str, fields: Mapping[str, str]) -> Mapping[str, Any]:
    if item is None:
        return {}
    if not isinstance(item, tuple):
        raise _misfit(item, f"Go value of type {name}")
    folded = {field.casefold(): field for field in fields}
    found: dict[str, Any] = {}
    for key, value in item:
        field = key if key in fields else folded.get(key.casefold())
        if field is not None and value is not None:
            place = f"Go struct field {name.rpartition('.')[2]}.{field} of type {fields[field]}"
            found[field] = _field(value, place, is_number=fields[field] == "int64")
    return found


def _field(value: Any, place: str, *, is_number: bool) -> Any:
    if not is_number:
        if type(value) is str:
            return value
    elif isinstance(value, _Number):
        if re.fullmatch("-?[0-9]{1,19}", value) and int(value) in _INT64:
            return int(value)
        raise GoJsonError(f"json: cannot unmarshal number {value} into {place}")
    raise _misfit(value, place)


def _misfit(value: Any, place: str) -> GoJsonError:
    return GoJsonError(f"json: cannot unmarshal {_KINDS.get(type(value), 'number')} into {place}")


class _Scanner:
    """Reads JSON up to what Go does not accept. Go reads a space after the end before it says that the text ends."""

    def __init__(self, text: str) -> None:
        self._text = text.encode("utf-8", "surrogatepass") + b" "
        self._at = 0

    def check(self) -> None:
        """Raise an error where the text is no JSON."""
        self._value()
        self._take("[ \t\r\n]*")
        if self._at < len(self._text):
            self._fail("after top-level value")

    def _take(self, pattern: str) -> bytes:
        found = re.compile(pattern.encode()).match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found[0] if found else b""

    def _need(self, pattern: str, where: str) -> None:
        if not self._take(pattern):
            self._fail(where)

    def _token(self, pattern: str, where: str) -> bytes:
        self._take("[ \t\r\n]*")
        found = self._take(pattern)
        return found or self._fail(where)

    def _fail(self, where: str) -> NoReturn:
        rest = self._text[self._at : self._at + 1].decode("latin-1")
        if not rest:
            raise GoJsonError("unexpected end of JSON input")
        shown = {"'": r"'\''", '"': "'\"'"}.get(rest) or f"'{quoted(rest)[1:-1]}'"
        raise GoJsonError(f"invalid character {shown} {where}")

    def _value(self) -> None:
        first = self._token(r'[{\["tfn]|[-0-9]', "looking for beginning of value")
        match first:
            case b"{":
                self._items(b"}", self._member, "after object key:value pair")
            case b"[":
                self._items(b"]", self._value, "after array element")
            case b'"':
                self._string()
            case b"t" | b"f" | b"n":
                self._literal({b"t": "true", b"f": "false", b"n": "null"}[first])
            case _:
                self._number(first)

    def _items(self, end: bytes, item: Callable[[], None], where: str) -> None:
        closing = re.escape(end.decode())
        self._take("[ \t\r\n]*")
        if self._take(closing):
            return
        item()
        while self._token(f",|{closing}", where) != end:
            item()

    def _member(self) -> None:
        self._token('"', "looking for beginning of object key string")
        self._string()
        self._token(":", "after object key")
        self._value()

    def _string(self) -> None:
        while True:
            self._take(r'[^"\\\x00-\x1f]*')
            if self._take('"'):
                return
            self._need(r"\\", "in string literal")
            if self._take("u"):
                for _ in range(4):
                    self._need("[0-9A-Fa-f]", r"in \u hexadecimal character escape")
            else:
                self._need(r'["\\/bfnrt]', "in string escape code")

    def _literal(self, word: str) -> None:
        for letter in word[1:]:
            self._need(letter, f"in literal {word} (expecting {letter!r})")

    def _number(self, first: bytes) -> None:
        if first == b"-":
            first = self._take("[0-9]") or self._fail("in numeric literal")
        if first != b"0":
            self._take("[0-9]*")
        if self._take(r"\."):
            self._need("[0-9]+", "after decimal point in numeric literal")
        if self._take("[eE]"):
            self._take("[+-]")
            self._need("[0-9]+", "in exponent of numeric literal")
