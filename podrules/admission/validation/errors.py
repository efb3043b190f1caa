"""Words of the API server about one field, and rules that many fields share.

The words are the kind of problem, the value as Go prints it, and what is wrong. The rules are of a number, a word of an
enumeration, a text of some form, and a number or a share such as ``maxUnavailable``; a field that is absent breaks none
of them but `validate_required` and `validate_enum`.

Source: pkg/util/validation/field/errors.go of k8s.io/apimachinery at v0.37.1; strconv.Quote of Go's standard library;
of k8s.io/kubernetes at v1.37.1 pkg/apis/core/validation/validation.go (ValidateNonnegativeField) and
pkg/apis/apps/validation/validation.go (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent, getIntOrPercentValue).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from podrules.admission.validation.formats import Problems, percent
from podrules.admission.validation.view import View
from podrules.api.model.misfit import FieldError
from podrules.api.model.quantity import Quantity, go_float, whole_number

_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_HTML: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

IntOrPercent = int | str
_ALL: Final = 100


class TypedText(str):
    """A text that Go keeps in a type of its own or behind a pointer, and so prints as JSON where it is wrong."""

    __slots__ = ()


def quoted(text: str) -> str:
    """A text as Go's ``%q`` prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    shown = ""
    for one in text:
        code = ord(one)
        form = f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        shown += _SHORT.get(one) or (one if one.isprintable() else form)
    return f'"{shown}"'


def go_json(value: Any) -> str:
    """A value as Go's json.Marshal writes it, with the fields in the order given."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(_HTML.get(one, one) for one in text)


def _shown(value: Any) -> str:
    match value:
        case str():
            return go_json(value) if isinstance(value, TypedText) else quoted(value)
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case int():
            return str(value)
        case Quantity():
            return quoted(str(value))
        case _:
            return go_json(value)


def _error(field: str, body: str, detail: str) -> FieldError:
    return FieldError(field, f"{body}: {detail}" if detail else body)


def required(field: str, detail: str = "") -> FieldError:
    """A value that has to be there."""
    return _error(field, "Required value", detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """A malformed value. Texts and amounts are quoted; None is Go's nil pointer, lists and objects are its JSON."""
    return _error(field, f"Invalid value: {_shown(value)}", detail)


def unsupported(field: str, value: Any, supported: Iterable[str], *, typed: bool = True) -> FieldError:
    """A word that an enumeration does not have; Go mostly keeps it in a type of its own."""
    words = ", ".join(map(quoted, supported))
    shown = go_json(value) if typed and isinstance(value, str) else _shown(value)
    return _error(field, f"Unsupported value: {shown}", f"supported values: {words}" if words else "")


def malformed(field: str, value: Any, problems: Iterable[str]) -> Iterator[FieldError]:
    """An error for each problem of a value, as `podrules.admission.validation.formats` finds them."""
    return (invalid(field, value, problem) for problem in problems)


def duplicate(field: str, value: Any) -> FieldError:
    """A value that has to be unique, and is there twice."""
    return FieldError(field, f"Duplicate value: {_shown(value)}")


def forbidden(field: str, detail: str) -> FieldError:
    """A value that is well formed, and may not be there."""
    return _error(field, "Forbidden", detail)


def not_found(field: str, value: Any, detail: str = "") -> FieldError:
    """A name of something that is not there."""
    return _error(field, f"Not found: {_shown(value)}", detail)


def too_long(field: str, most: int) -> FieldError:
    """A value of more bytes than are allowed."""
    return FieldError(field, f"Too long: may not be more than {most} {'byte' if most == 1 else 'bytes'}")


def too_many(field: str, count: int, most: int) -> FieldError:
    """A list with more items than are allowed."""
    return FieldError(field, f"Too many: {count}: must have at most {most} {'item' if most == 1 else 'items'}")


def validate_nonnegative(struct: View, *names: str) -> Iterator[FieldError]:
    """Hold numbers against the rule that they are not below zero."""
    for name in names:
        value = struct.number(name)
        if value is not None and value < 0:
            yield invalid(struct.at(name), value, "must be greater than or equal to 0")


def validate_required(struct: View, *names: str, detail: str = "") -> Iterator[FieldError]:
    """Hold fields against the rule that they are there; an empty text or list is absent."""
    return (required(struct.at(name), detail) for name in names if not struct.content.get(name))


def validate_enum(struct: View, name: str, known: Collection[str], default: str = "") -> Iterator[FieldError]:
    """Hold a word against the words that there are; an empty one is the default."""
    word = struct.text(name, default)
    if word not in known:
        yield unsupported(struct.at(name), word, known)


def validate_word(struct: View, name: str, known: Collection[str]) -> Iterator[FieldError]:
    """Hold a pointer to a word against the words that there are; an empty one is none of them."""
    word = struct.pointer(name)
    if word is not None and word not in known:
        yield unsupported(struct.at(name), word, known)


def validate_format(struct: View, name: str, problems: Callable[[str], Problems]) -> Iterator[FieldError]:
    """Hold a text against a form of `podrules.admission.validation.formats`; an empty one is absent."""
    text = struct.text(name)
    return malformed(struct.at(name), text, problems(text) if text else ())


def validate_positive_int_or_percent(value: IntOrPercent, path: str) -> Iterator[FieldError]:
    """Hold a value against the rule that it is a share, or a number not below zero."""
    if isinstance(value, str):
        for problem in percent(value):
            yield invalid(path, TypedText(value), problem)
    elif value < 0:
        yield invalid(path, value, "must be greater than or equal to 0")


def validate_not_more_than_all(value: IntOrPercent, path: str) -> Iterator[FieldError]:
    """Hold a value against the rule that a share is no more than 100%."""
    if isinstance(value, str) and not percent(value) and int_or_percent(value) > _ALL:
        yield invalid(path, TypedText(value), "must not be greater than 100%")


def int_or_percent(value: IntOrPercent) -> int:
    """The number of a value, of so many or so many percent; 0 where it is neither."""
    if isinstance(value, int):
        return value
    number = value if percent(value) else value.removesuffix("%")
    return whole_number(number) if re.fullmatch("[-+]?[0-9]+", number) else 0
