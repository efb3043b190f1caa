"""Quantities keep their value through printing and sums, and compare as exact fractions do."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from podrules.api.model.quantity import Quantity, QuantityError, QuantityFormat
from tests.property.strategies import exact, quantity_texts

parse = Quantity.parse
INT64_MAX = 2**63 - 1
FACTORS = dict(zip(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), range(-9, 19, 3), strict=True))
BINARY = {suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)}


def _printable(quantity: Quantity) -> bool:
    """Whether the text has the whole amount: no suffix exceeds E, and Ei is capped at an int64.

    Upstream prints 1000E as 1, and so do we.
    """
    number = abs(exact(quantity))
    return quantity.format is QuantityFormat.DECIMAL_EXPONENT or (
        number <= INT64_MAX if quantity.format is QuantityFormat.BINARY_SI else number < 10**21
    )


@given(st.text())
@example("\u0661")
@example("1e1000")
@example("9" * 256)
@example("-" + "0" * 255)
@settings(max_examples=500)
def test_no_text_raises_anything_but_quantity_error(text: str) -> None:
    with suppress(QuantityError):
        quantity = parse(text)
        assert str(quantity)
        assert isinstance(quantity.value, int)


@given(st.text("0123456789.+-eEinumkKMGTP", max_size=20))
@settings(max_examples=500)
def test_invalid_quantity_raises_only_quantity_error(text: str) -> None:
    with suppress(QuantityError):
        quantity = parse(text)
        assert str(quantity + parse("1n"))
        assert isinstance(quantity.milli_value, int)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())))
def test_no_json_value_raises_anything_but_quantity_error(value: object) -> None:
    with suppress(QuantityError):
        assert str(Quantity.from_json(value))


@given(quantity_texts())
@settings(max_examples=200)
def test_text_keeps_the_value(text: str) -> None:
    quantity = parse(text)
    assume(_printable(quantity))
    again = parse(str(quantity))
    assert again == quantity
    assert exact(again) == exact(quantity)


@given(quantity_texts())
def test_text_is_canonical(text: str) -> None:
    quantity = parse(text)
    assume(_printable(quantity))
    once = str(quantity)
    assert str(parse(once)) == once


@given(st.integers(-(10**9), 10**9), st.sampled_from(sorted(FACTORS)))
def test_decimal_suffix_is_a_power_of_ten(number: int, suffix: str) -> None:
    assert exact(parse(f"{number}{suffix}")) == number * Fraction(10) ** FACTORS[suffix]


@given(st.integers(-4, 4), st.sampled_from(sorted(BINARY)))
def test_binary_suffix_is_a_power_of_1024(number: int, suffix: str) -> None:
    assert exact(parse(f"{number}{suffix}")) == number * BINARY[suffix]


@given(quantity_texts(), quantity_texts())
def test_order_is_that_of_exact_fractions(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    assert (a < b, a == b, a > b) == (exact(a) < exact(b), exact(a) == exact(b), exact(a) > exact(b))


@given(quantity_texts())
def test_equal_amounts_have_equal_hashes(text: str) -> None:
    quantity = parse(text)
    finer = Quantity(quantity.unscaled * 1000, quantity.exponent - 3)
    assert finer == quantity
    assert hash(finer) == hash(quantity)


@given(quantity_texts(), quantity_texts())
def test_sum_is_exact_and_commutes(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    assert exact(a + b) == exact(a) + exact(b)
    assert a + b == b + a


@given(quantity_texts(), quantity_texts(), quantity_texts())
def test_sum_is_associative(first: str, second: str, third: str) -> None:
    a, b, c = parse(first), parse(second), parse(third)
    assert (a + b) + c == a + (b + c)


@given(quantity_texts(), quantity_texts())
def test_difference_undoes_the_sum(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    assert (a + b) - b == a


@given(quantity_texts(), quantity_texts())
@settings(max_examples=200)
def test_text_of_a_sum_keeps_its_value(left: str, right: str) -> None:
    total = parse(left) + parse(right)
    assume(_printable(total))
    assert parse(str(total)) == total


@given(quantity_texts(), quantity_texts())
def test_sum_has_the_notation_of_a_nonzero_left_side(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    assert (a + b).format is (b if a.is_zero else a).format


@given(quantity_texts(), st.integers(-9, 9))
def test_round_up_moves_away_from_zero_by_less_than_a_step(text: str, exponent: int) -> None:
    quantity = parse(text)
    rounded, step = quantity.round_up(exponent), Fraction(10) ** exponent
    assert (exact(rounded) / step).denominator == 1
    grown = abs(exact(rounded)) - abs(exact(quantity))
    assert 0 <= grown < step
    assert rounded.sign == quantity.sign


@given(quantity_texts(), st.integers(-9, 9))
def test_rounding_twice_is_rounding_once(text: str, exponent: int) -> None:
    once = parse(text).round_up(exponent)
    assert once.round_up(exponent) == once
