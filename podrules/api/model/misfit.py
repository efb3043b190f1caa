"""Describes a problem with one field of an object: the path, the problem, and upstream's text of both.

The decoder's messages about a value that does not fit its field name Python's types and omit the keys of maps. This
module names what the manifest has: the field's path, the value, and what to write instead.

Source: pkg/util/validation/field/errors.go (Error.Error) in k8s.io/apimachinery at v0.36.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from podrules.api.model.quantity import Quantity, QuantityError


class FieldError(NamedTuple):
    """One problem with one field."""

    field: str
    """``spec.containers[0].image``; empty: the whole object."""
    problem: str
    """``Invalid value: "": must not be empty``."""

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" if self.field else self.problem


_MAX_SHOWN: Final = 40
"""The most characters of a value that a message shows."""
_STEP: Final = r"(\.[^.\[]+)|\[([0-9]+)\]|(\[\.\.\.\])"
_AT: Final = r"(?s)\A(.*?)(?: - at `(\$[^`]*)`)?\Z"
_EXPECTED: Final = r"Expected `([^`]*)`"
_ABOUT_FIELD: Final = r"Object (missing required|contains unknown) field `([^`]*)`"
_NUMERAL: Final = r"[-+]?(?:0|[1-9][0-9]{0,17})"
_WRITE: Final = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_OF_TIME: Final = "matching regex"
"""Only times have a pattern among the strings."""
_A_TIME: Final = '"2026-11-22T10:00:00Z"'
_BOUND: Final = r"(of length )?(>=|<=) (-?[0-9]+)"
_SIDES: Final = {">=": "at least", "<=": "at most"}


def misfit(error: Exception, value: Any) -> FieldError:
    """Explain an error of msgspec: the field's path, and ``5 is a number; write a string, in quotation marks``.

    Args:
        error: The error that msgspec raised.
        value: The whole object, as plain dicts and lists.
    """
    problem, path = re.findall(_AT, str(error))[0]
    # Quantities and structs that check themselves have words of their own.
    own = isinstance(error.__cause__, ValueError)
    quantity = isinstance(error.__cause__, QuantityError)
    place, found = _found(path.removeprefix("$"), value, _is_quantity if quantity else _is_text)
    return FieldError(place, problem if own else _problem(problem, found))


def unfit(value: Any, wanted: str, bits: int = 0) -> str:
    """Explain a value of the wrong type: ``5 is a number; write a string, in quotation marks``.

    Args:
        value: What the manifest has.
        wanted: What the decoder calls the right type: ``str int float bool array object``.
        bits: Of an integer.
    """
    example = _example(value, [wanted])
    if bits and isinstance(value, int) and not isinstance(value, bool):
        example = f" of at most {2 ** (bits - 1) - 1}" if value > 0 else f" of at least {-(2 ** (bits - 1))}"
    return f"{_what_it_is(value, [wanted])}; write {_WRITE[wanted]}{example}"


def no_time(found: str) -> str:
    """Explain a text that is no time."""
    return f"{shown(found)} is no time; write one as {_A_TIME}"


def not_json(error: Exception) -> str:
    """Explain why a text is not JSON, with the byte if it is known."""
    if isinstance(error, RecursionError):
        return "not valid JSON: nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not valid JSON: not UTF-8 text at byte {error.start}"
    byte = re.search(r"\(byte ([0-9]+)\)", str(error))
    if byte:
        return f"not valid JSON from byte {byte[1]} on"
    return "not valid JSON: it ends too early" if "truncated" in str(error) else "not valid JSON"


def _problem(problem: str, found: Any) -> str:
    about = re.match(_ABOUT_FIELD, problem)
    if about:
        return f"the field {about[2]} is missing" if about[1].startswith("missing") else f'unknown field "{about[2]}"'
    expected = re.match(_EXPECTED, problem)
    wanted = [kind for kind in expected[1].split(" | ") if kind in _WRITE] if expected else []
    if not wanted:
        return f"{shown(found)} does not fit this field"
    if _OF_TIME in problem and isinstance(found, str):
        return no_time(found)
    bound = re.search(_BOUND, problem)
    example = _example(found, wanted)
    if bound:
        example = f" {'with a length of' if bound[1] else 'of'} {_SIDES[bound[2]]} {bound[3]}"
    return f"{_what_it_is(found, wanted)}; write {' or '.join(_WRITE[kind] for kind in wanted)}{example}"


def _what_it_is(found: Any, wanted: list[str]) -> str:
    """``5 is a number``; for a long value only what it is."""
    match found:
        case None:
            return "nothing stands here"
        case dict():
            return "this is a mapping"
        case list():
            return "this is a list"
        case bool():
            return f"{shown(found)} is a boolean"
        case int() if "int" in wanted:
            return f"{shown(found)} is out of range"
        case float() if "int" in wanted:
            return f"{shown(found)} is no whole number"
        case int() | float():
            return f"{shown(found)} is a number"
    return f"{shown(found)} is a string"


def _example(found: Any, wanted: list[str]) -> str:
    """The value in a form that fits the field, if there is an obvious one."""
    if isinstance(found, bool | int | float) and "str" in wanted:
        # What stands in the file may look different: 3.10, 0777, yes.
        return ", in quotation marks"
    if isinstance(found, str) and "int" in wanted and re.fullmatch(_NUMERAL, found):
        return f" ({found.removeprefix('+')})"
    if isinstance(found, str) and wanted == ["bool"] and found.lower() in {"true", "false"}:
        return f" without quotation marks ({found.lower()})"
    return ""


def shown(value: Any) -> str:
    """A value as JSON, the first `_MAX_SHOWN` characters of it."""
    try:
        text = value if isinstance(value, int) and abs(value) > 1 << 64 else json.dumps(value, ensure_ascii=False)
        text = str(text)
    except ValueError:
        return "a number of thousands of digits"
    except (TypeError, RecursionError):
        return "this value"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _found(path: str, value: Any, fits: Callable[[Any], bool]) -> tuple[str, Any]:
    """The path with the key that msgspec omits (``limits[...]`` becomes ``limits.cpu``), and the value at it."""
    shown = ""
    for step, index, anything in re.findall(_STEP, path):
        key: Any = int(index) if index else step.removeprefix(".")
        if anything:
            key = next((name for name, entry in value.items() if not fits(entry)), None)
        try:
            value = value[key]
        except LookupError:
            return (shown + path[len(shown) :]).lstrip("."), value
        shown += f"[{key}]" if index else f".{key}"
    return shown.lstrip("."), value


def _is_text(entry: Any) -> bool:
    return isinstance(entry, str)


def _is_quantity(entry: Any) -> bool:
    try:
        Quantity.from_json(entry)
    except QuantityError:
        return False
    return True
