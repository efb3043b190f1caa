"""Parses and computes `resource.Quantity`, such as ``100m``, ``1.5Gi`` and ``1e3``, as the API server does.

A quantity is ``unscaled * 10**exponent`` and remembers its notation, which decides how it is printed. No value is a
float. Some of upstream's surprising behaviour is kept on purpose:

* a number in canonical notation keeps its text (``1.500`` stays ``1.500``) until it takes part in a sum;
* the sum takes the notation of its left side, or of its right side when the left is zero;
* more than nine decimal places are rounded away from zero; binary notation is capped at 2**63-1;
* amounts of more than 18 digits have a second form (`big`); its integers wrap where the first form gives 0.

Source: k8s.io/apimachinery/pkg/api/resource/{quantity,amount,math,suffix,scale_int}.go at v0.36.3.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import lru_cache, total_ordering
from typing import Final

MILLI: Final = -3
NANO: Final = -9
_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_INT64_DIGITS: Final = 18
"""So many decimal digits always fit an int64; longer numbers have the `big` form."""

_MAX_TEXT: Final = 256
_MAX_EXPONENT: Final = 1000
"""Upstream accepts any int32, and then needs hours for one sum of ``1e2000000000``; this parser refuses it."""

_WRAPPING_SHIFTS: Final = frozenset({1, 2, 3, 6, 9})
"""Powers of ten for which upstream multiplies in one step and lets the int64 wrap; for all others it gives 0."""

_SPACES: Final = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""What the API server strips: white space that JSON writes as it is."""
_NUMBER: Final = re.compile(r"([+-]?)(0*)([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL_EXPONENTS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_EXPONENTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIXES: Final = {exponent // 10: suffix for suffix, exponent in _BINARY_EXPONENTS.items()}


_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"
_NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"


class QuantityError(ValueError):
    """The text is not a quantity. The message quotes the text and says what is accepted.

    Args:
        text: What was written.
        problem: What is wrong with it.
        upstream: The API server's words.
    """

    def __init__(self, text: str, problem: str, upstream: str = _FORMAT_WRONG) -> None:
        self.upstream = upstream
        shown = text if len(text) <= 40 else text[:37] + "..."
        super().__init__(f"{shown!r} is not a quantity: {problem}; write e.g. 250m, 1.5, 128Mi, 2Gi or 1e3")


_MOST_DIGITS: Final = 30


class QuantityFormat(Enum):
    """The notation in which a quantity was written, and in which it is printed."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


@total_ordering
class Quantity:
    """One immutable amount. Comparison is by value: ``Quantity.parse("1") == Quantity.parse("1000m")``."""

    __slots__ = ("_text", "big", "exponent", "format", "unscaled")

    def __init__(
        self,
        unscaled: int,
        exponent: int = 0,
        format: QuantityFormat = QuantityFormat.DECIMAL_SI,  # noqa: A002 - upstream's name
        *,
        big: bool = False,
        text: str = "",
    ) -> None:
        self.unscaled = unscaled
        self.exponent = exponent
        self.format = format
        self.big = big
        self._text = text

    @staticmethod
    def parse(text: str) -> Quantity:
        """Read ``<number><suffix>`` as upstream's ParseQuantity does.

        Raises:
            QuantityError: the number or the suffix cannot be read, or it is too large to work with.
        """
        return _parse(text)

    @staticmethod
    def from_json(value: object) -> Quantity:
        """Read a quantity from the value in a JSON or YAML object: a string or a number.

        Raises:
            QuantityError: the value is neither of them, or it is not a quantity.
        """
        match value:
            case str():
                return _parse(value.strip(_SPACES))
            case bool():
                raise QuantityError(str(value).lower(), "a number or a string is needed")
            case int():
                return _parse(str(value))
            case float():
                return _parse(go_float(value))
            case _:
                raise QuantityError(json.dumps(value, default=str), "a number or a string is needed")

    @property
    def is_zero(self) -> bool:
        """Whether the amount is 0."""
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def value(self) -> int:
        """The amount in whole units, rounded away from zero, as an int64."""
        return self._scaled(0)

    @property
    def milli_value(self) -> int:
        """The amount in thousandths, rounded away from zero, as an int64."""
        return self._scaled(MILLI)

    def round_up(self, exponent: int) -> Quantity:
        """The amount rounded away from zero to a multiple of ``10**exponent``."""
        if not self.big and self.exponent >= exponent:
            return self
        return Quantity(_rescale_away(self.unscaled, self.exponent, exponent), exponent, self.format, big=self.big)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in this quantity's notation unless this quantity is zero."""
        form = other.format if self.is_zero else self.format
        if not self.big and not other.big:
            if other.is_zero:
                return Quantity(self.unscaled, self.exponent, form)
            if self.is_zero:
                return Quantity(other.unscaled, other.exponent, form)
        exponent = min(self.exponent, other.exponent)
        left = self.unscaled * _ten_to(self.exponent - exponent)
        right = other.unscaled * _ten_to(other.exponent - exponent)
        big = self.big or other.big or not (_fits(left) and _fits(right) and _fits(left + right))
        return Quantity(left + right, exponent, form, big=big)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference, in this quantity's notation unless this quantity is zero."""
        return self + Quantity(-other.unscaled, other.exponent, other.format, big=other.big)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._compare(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self._compare(other) < 0

    def __hash__(self) -> int:
        unscaled, exponent = _without_tens(self.unscaled, self.exponent)
        return hash((unscaled, exponent))

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __str__(self) -> str:
        """The text that the API server would store."""
        # Cached: pods of one template share the quantity, and each prints it.
        self._text = self._text or self._canonical()
        return self._text

    def _scaled(self, exponent: int) -> int:
        shift = self.exponent - exponent
        if not self.big:
            scaled = _rescale_away(self.unscaled, self.exponent, exponent)
            if _fits(scaled):
                return scaled
            return _wrap(scaled) if shift in _WRAPPING_SHIFTS else 0
        if shift >= 0:
            return _wrap(_wrap(self.unscaled) * _ten_to(shift))
        divisor = _ten_to(-shift)
        if self.unscaled < _INT64_MAX and -shift < 19:
            # Upstream adds one for any remainder, also below zero, where the division already rounded up.
            unscaled = _wrap(self.unscaled)
            quotient = abs(unscaled) // divisor
            return (quotient if unscaled >= 0 else -quotient) + (1 if unscaled % divisor else 0)
        quotient, remainder = divmod(self.unscaled, divisor)
        return _wrap(quotient + (1 if remainder else 0))

    def _compare(self, other: Quantity) -> int:
        if self.sign != other.sign or self.is_zero:
            return (self.sign > other.sign) - (self.sign < other.sign)
        exponent = min(self.exponent, other.exponent)
        left = self.unscaled * _ten_to(self.exponent - exponent)
        right = other.unscaled * _ten_to(other.exponent - exponent)
        return (left > right) - (left < right)

    def _canonical(self) -> str:
        if self.is_zero:
            return "0"
        if self.format is QuantityFormat.BINARY_SI:
            whole = _rescale_away(self.unscaled, self.exponent, 0)
            exact = self.exponent >= 0 or whole * _ten_to(-self.exponent) == self.unscaled
            # Decimal notation is used between -1024 and 1024, and where binary notation would lose a fraction.
            if exact and abs(whole) >= 1024:
                times = 0
                while whole % 1024 == 0:
                    whole //= 1024
                    times += 1
                return f"{whole}{_BINARY_SUFFIXES.get(times, '')}"
        number, exponent = _without_tens(self.unscaled, self.exponent)
        number *= _ten_to(exponent % 3)
        exponent -= exponent % 3
        if self.format is QuantityFormat.DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIXES.get(exponent, '')}"


def whole_number(text: str) -> int:
    """The number of a text of digits, which may have a sign; of longer ones than any that counts 10**30.

    Python reads no text of more than 4,300 digits, and longer ones in time that grows with their square.
    """
    return int(text) if len(text) <= _MOST_DIGITS else int(f"{text[:1].strip('0123456789')}1{'0' * _MOST_DIGITS}")


def _ten_to(exponent: int) -> int:
    """``10**exponent`` for an exponent that is not negative; the type of Python's own power might be float."""
    power: int = 10**exponent
    return power


def _fits(number: int) -> bool:
    return _INT64_MIN <= number <= _INT64_MAX


def _wrap(number: int) -> int:
    """The low 64 bits as a signed integer, which is what Go's big.Int.Int64 gives."""
    return (number - _INT64_MIN) % 2**64 + _INT64_MIN


def _rescale_away(unscaled: int, exponent: int, new_exponent: int) -> int:
    """``unscaled * 10**exponent`` in units of ``10**new_exponent``, rounded away from zero."""
    shift = exponent - new_exponent
    if shift >= 0:
        return unscaled * _ten_to(shift)
    quotient = -(-abs(unscaled) // _ten_to(-shift))
    return quotient if unscaled >= 0 else -quotient


def _without_tens(unscaled: int, exponent: int) -> tuple[int, int]:
    if unscaled == 0:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        exponent += 1
    return unscaled, exponent


def go_float(value: float) -> str:
    """A float as Go's encoding/json writes it: kubectl sends a manifest's number to the API server in this form."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is the one value unequal to itself
        raise QuantityError(str(value), "it is not a finite number")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = format(value, "f") if value == int(value) else repr(value)
        if "e" in text:
            text = format(value, ".20f").rstrip("0")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return repr(value)


def _suffix(text: str, suffix: str) -> tuple[QuantityFormat, int]:
    if suffix in _DECIMAL_EXPONENTS:
        return QuantityFormat.DECIMAL_SI, _DECIMAL_EXPONENTS[suffix]
    if suffix in _BINARY_EXPONENTS:
        return QuantityFormat.BINARY_SI, _BINARY_EXPONENTS[suffix]
    if suffix[:1] in {"e", "E"} and re.fullmatch(r"[-+]?[0-9]+", suffix[1:], re.ASCII):
        exponent = int(suffix[1:])
        if abs(exponent) > _MAX_EXPONENT:
            raise QuantityError(text, f"the exponent is beyond {_MAX_EXPONENT}")
        return QuantityFormat.DECIMAL_EXPONENT, exponent
    raise QuantityError(text, f"unable to parse the suffix {suffix!r}", _SUFFIX_WRONG)


@lru_cache(maxsize=16384)
def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(text, "it is empty")
    if len(text) > _MAX_TEXT:
        raise QuantityError(text, f"it is longer than {_MAX_TEXT} characters")
    found = _NUMBER.fullmatch(text)
    if not found:
        raise QuantityError(text, "it must be a number and a suffix")
    sign, zeros, whole, _, fraction, suffix = found.groups()
    if not whole and fraction is None:
        # Only zeros (or nothing at all after the sign, which upstream also reads as 0).
        whole = ""
    digits, decimals = whole or "0", fraction or ""
    form, exponent = _suffix(text, suffix)
    factor = -1 if sign == "-" else 1
    small = _parse_int64(text, digits, decimals, form, exponent, factor)
    if small is not None:
        return small
    if not (zeros or whole or decimals):
        raise QuantityError(text, "unable to parse the numeric part", _NUMERIC_WRONG)
    return _parse_big(digits, decimals, form, exponent, factor)


def _parse_int64(  # noqa: PLR0917 - the parts of one number
    text: str, digits: str, decimals: str, form: QuantityFormat, exponent: int, factor: int
) -> Quantity | None:
    """The common form: the amount fits an int64 with at most nine decimal places; None: it does not fit."""
    binary = form is QuantityFormat.BINARY_SI
    if binary:
        room = -1 if decimals else 15 - len(digits) - exponent * 3 // 10 - 1
        scale, mantissa = 0, 2**exponent
    else:
        room = _INT64_DIGITS - len(digits) - len(decimals)
        scale, mantissa = exponent - len(decimals), 1
    if room < 0 or scale < NANO:
        return None
    shifted = digits + decimals
    number = int(shifted)
    if not _fits(number * mantissa):
        return None
    # A canonical decimal is in steps of a thousand, and neither ends in 000 nor starts with 0.
    decimal = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
    canonical = number & 7 != 0 if binary else decimal
    return Quantity(factor * number * mantissa, scale, form, text=text if canonical else "")


def _parse_big(digits: str, decimals: str, form: QuantityFormat, exponent: int, factor: int) -> Quantity:
    """The other form: rounded up to nano, and capped in binary notation."""
    number, scale = int(digits + decimals), -len(decimals)
    if form is QuantityFormat.BINARY_SI:
        number *= 2**exponent
    else:
        scale += exponent
    if number:
        number, scale = _rescale_away(number, scale, NANO), NANO
    if form is QuantityFormat.BINARY_SI:
        one = 10**9
        if number > _INT64_MAX * one:
            number, scale = _INT64_MAX, 0
        elif 0 < number < one:
            form = QuantityFormat.DECIMAL_SI
    return Quantity(factor * number, scale, form, big=True)


ZERO: Final = Quantity(0)
"""The amount that upstream's ``ResourceList.Cpu()`` returns for an unset resource."""
