"""What Kubernetes adds to CEL for devices: quantities and semantic versions.

The evaluator gets both as maps with one entry; equal values have equal text, so that ``==`` works.

Source: k8s.io/apiserver/pkg/cel/library/{quantity,semverlib}.go at v0.36.3; semver.org 2.0.0 for the order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from secrets import token_hex
from typing import Any, Final

from podrules.api.model.quantity import Quantity, QuantityError

Value = Mapping[str, str]

_QUANTITY: Final = f"quantity {token_hex()}"
_SEMVER: Final = f"semver {token_hex()}"
"""No expression can write a map with such a key."""
_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


class SemverError(ValueError):
    """The text is not a semantic version."""


def quantity_value(quantity: Quantity) -> dict[str, str]:
    """A quantity as the evaluator sees it: digits without trailing zeros, and the exponent of ten."""
    unscaled, exponent = quantity.unscaled, quantity.exponent
    while unscaled and unscaled % 10 == 0:
        unscaled, exponent = unscaled // 10, exponent + 1
    return {_QUANTITY: f"{unscaled}e{exponent if unscaled else 0}"}


def semver_value(text: str) -> dict[str, str]:
    """A version as the evaluator sees it: without build metadata, which does not count.

    Raises:
        SemverError: the text is not a semantic version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise SemverError(f"{text!r} is not a semantic version")
    return {_SEMVER: text.partition("+")[0]}


def _quantity(value: Value) -> Quantity:
    if _QUANTITY not in value:
        raise TypeError("No such overload")
    unscaled, _, exponent = value[_QUANTITY].partition("e")
    return Quantity(int(unscaled), int(exponent))


def _order(value: Value) -> Any:
    """What values of either kind are compared by."""
    if _QUANTITY in value:
        return _quantity(value)
    if _SEMVER not in value:
        raise TypeError("No such overload")
    core, dash, labels = value[_SEMVER].partition("-")
    numbers = tuple(map(int, core.split(".")))
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in labels.split(".") if dash)
    return numbers, not dash, parts


def _compare(left: Value, right: Value) -> int:
    first, second = _order(left), _order(right)
    return int(first > second) - int(first < second)


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _parse_quantity(text: str) -> dict[str, str]:
    return quantity_value(Quantity.parse(text))


def _add(left: Value, right: Value | int, sign: int = 1) -> dict[str, str]:
    more = Quantity(right) if isinstance(right, int) else _quantity(right)
    return quantity_value(_quantity(left) + more if sign > 0 else _quantity(left) - more)


def _as_integer(value: Value) -> int:
    quantity = _quantity(value)
    if not _is_integer(value):
        raise QuantityError(str(quantity), "not an integer")
    return quantity.value


def _is_integer(value: Value) -> bool:
    quantity = _quantity(value)
    return quantity.exponent >= 0 and -(2**63) <= quantity.unscaled * 10**quantity.exponent < 2**63


def _approximate(value: Value) -> float:
    quantity = _quantity(value)
    return float(quantity.unscaled) * 10.0**quantity.exponent


def _number(value: Value, index: int) -> int:
    numbers: tuple[int, ...] = _order(value)[0]
    return numbers[index]


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "quantity": _parse_quantity,
    "isQuantity": lambda text: _parses(Quantity.parse, text),
    "semver": semver_value,
    "isSemver": lambda text: _parses(semver_value, text),
    "compareTo": _compare,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "sign": lambda value: _quantity(value).sign,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": _approximate,
    "add": _add,
    "sub": lambda left, right: _add(left, right, -1),
    "major": lambda value: _number(value, 0),
    "minor": lambda value: _number(value, 1),
    "patch": lambda value: _number(value, 2),
}
