"""Quantities: parsing, printing, sums and rounding."""

from __future__ import annotations

import re

import pytest

from podrules.api.model.quantity import ZERO, Quantity, QuantityError, QuantityFormat
from tests.table import table

EXPONENT, BINARY, DECIMAL = QuantityFormat.DECIMAL_EXPONENT, QuantityFormat.BINARY_SI, QuantityFormat.DECIMAL_SI
INT64_MAX = 2**63 - 1
parse = Quantity.parse


# Upstream's TestQuantityParse: text, unscaled value and power of ten, notation.
PARSED = [
    ("0", 0, 0, DECIMAL),
    ("0n", 0, 0, DECIMAL),
    ("0m", 0, 0, DECIMAL),
    ("0Ki", 0, 0, BINARY),
    ("0k", 0, 0, DECIMAL),
    ("0Ti", 0, 0, BINARY),
    ("1", 1, 0, DECIMAL),
    ("1Ki", 1024, 0, BINARY),
    ("8Ki", 8 * 1024, 0, BINARY),
    ("7Mi", 7 * 1024**2, 0, BINARY),
    ("6Gi", 6 * 1024**3, 0, BINARY),
    ("5Ti", 5 * 1024**4, 0, BINARY),
    ("4Pi", 4 * 1024**5, 0, BINARY),
    ("3Ei", 3 * 1024**6, 0, BINARY),
    ("100Ti", 100 * 1024**4, 0, BINARY),
    ("5n", 5, -9, DECIMAL),
    ("4u", 4, -6, DECIMAL),
    ("3m", 3, -3, DECIMAL),
    ("9", 9, 0, DECIMAL),
    ("8k", 8, 3, DECIMAL),
    ("50k", 5, 4, DECIMAL),
    ("7M", 7, 6, DECIMAL),
    ("6G", 6, 9, DECIMAL),
    ("5T", 5, 12, DECIMAL),
    ("300T", 3, 14, DECIMAL),
    ("2P", 2, 15, DECIMAL),
    ("1E", 1, 18, DECIMAL),
    ("1E-3", 1, -3, EXPONENT),
    ("1e3", 1, 3, EXPONENT),
    ("1E6", 1, 6, EXPONENT),
    ("1e14", 1, 14, EXPONENT),
    ("1e13", 1, 13, EXPONENT),
    ("1E18", 1, 18, EXPONENT),
    ("100.035k", 100_035, 0, DECIMAL),
    ("0.001", 1, -3, DECIMAL),
    ("0.0005k", 5, -1, DECIMAL),
    ("0.05", 5, -2, DECIMAL),
    ("0.00050k", 5, -1, DECIMAL),
    ("0.50000", 5, -1, DECIMAL),
    ("0.5e0", 5, -1, EXPONENT),
    ("0.5e-2", 5, -3, EXPONENT),
    ("10.035M", 10_035, 3, DECIMAL),
    ("1.2e3", 12, 2, EXPONENT),
    ("1.3E+6", 13, 5, EXPONENT),
    ("1.53E12", 153, 10, EXPONENT),
    ("1.7E18", 17, 17, EXPONENT),
    ("9.01", 901, -2, DECIMAL),
    ("7.123456M", 7_123_456, 0, DECIMAL),
    ("6.987654321G", 6_987_654_321, 0, DECIMAL),
    ("300.2T", 3002, 11, DECIMAL),
    ("1.01E", 101, 16, DECIMAL),
    # Rounded up to nano, capped at the largest int64.
    ("3.001n", 4, -9, DECIMAL),
    ("1.1E-9", 2, -9, EXPONENT),
    ("0.0000000001", 1, -9, DECIMAL),
    ("0.00000000050", 1, -9, DECIMAL),
    ("0.5e-9", 1, -9, EXPONENT),
    ("0.9n", 1, -9, DECIMAL),
    ("0.00000012345", 124, -9, DECIMAL),
    ("0.00000012354", 124, -9, DECIMAL),
    ("9Ei", INT64_MAX, 0, BINARY),
    ("9223372036854775807Ki", INT64_MAX, 0, BINARY),
    ("12E", 12, 18, DECIMAL),
    # Binary fractions.
    ("100.035Ki", 10_243_584, -2, BINARY),
    ("0.5Mi", 1024**2 // 2, 0, BINARY),
    ("0.05Gi", 536_870_912, -1, BINARY),
    ("0.025Ti", 274_877_906_944, -1, BINARY),
    ("0.000000000001Ki", 2, -9, DECIMAL),
    (".001", 1, -3, DECIMAL),
    (".0001k", 100, -3, DECIMAL),
    ("1.", 1, 0, DECIMAL),
    ("1.G", 1, 9, DECIMAL),
    # A text without digits is zero, as in upstream.
    (".", 0, 0, DECIMAL),
    ("Ki", 0, 0, BINARY),
]


@pytest.mark.parametrize(("text", "unscaled", "exponent", "form"), PARSED, ids=[entry[0] for entry in PARSED])
def test_parse(text: str, unscaled: int, exponent: int, form: QuantityFormat) -> None:
    for sign, factor in (("", 1), ("+", 1), ("-", -1)):
        found = parse(sign + text)
        assert found == Quantity(factor * unscaled, exponent)
        assert found.format is form


@pytest.mark.parametrize("text", ["+", "-", "+."])
def test_parse_of_a_sign_alone_is_zero(text: str) -> None:
    assert parse(text).is_zero


WRONG_NUMBERS = "1.1.M 1+1.0M -3.01e- 1e --1 +-1 0x10 1_000 \u0661 1,5 NaN Infinity Non-Numeric aoeu 1e1001 1e-1001"
WRONG_SUFFIXES = "0.1mi 0.1am .5i 1i -3.01i 1KI 1K 1ki"


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1\n", *WRONG_NUMBERS.split(), *WRONG_SUFFIXES.split(), "1e99999999999999999999", "9" * 257],
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(QuantityError):
        parse(text)


def test_refusal_quotes_text_and_accepted_format() -> None:
    with pytest.raises(QuantityError) as raised:
        parse("12 GB")
    assert str(raised.value) == (
        "'12 GB' is not a quantity: it must be a number and a suffix; write e.g. 250m, 1.5, 128Mi, 2Gi or 1e3"
    )


def test_refusal_of_a_long_text_is_short() -> None:
    with pytest.raises(QuantityError, match=re.escape(f"'{'x' * 37}...' is not a quantity")):
        parse("x" * 300)


@table(
    "value, text",
    {
        "string": ("100m", "100m"),
        "white space around a string": (" 100m\xa0", "100m"),
        "integer": (2, "2"),
        "negative integer": (-3, "-3"),
        "large integer": (1_000_000, "1M"),
        "fraction": (0.5, "500m"),
        "whole float": (2.0, "2"),
        "zero": (0.0, "0"),
        "a fraction that no float holds": (0.1, "100m"),
        "small float": (1e-5, "10u"),
        "float that Go prints with an exponent": (1e-7, "100e-9"),
        "large float": (1.5e22, "1.5e+22"),
        "large float that Go prints in full": (1e20, "100E"),
    },
)
def test_from_json(value: object, text: str) -> None:
    assert str(Quantity.from_json(value)) == text


@table(
    "value, shown",
    {
        "true": (True, "'true'"),
        "false": (False, "'false'"),
        "null": (None, "'null'"),
        "list": (["1"], "'[\"1\"]'"),
        "object": ({}, "'{}'"),
        "NaN": (float("nan"), "'nan'"),
        "infinity": (float("inf"), "'inf'"),
        "empty string": ("", "''"),
    },
)
def test_from_json_refuses(value: object, shown: str) -> None:
    with pytest.raises(QuantityError, match=re.escape(shown)):
        Quantity.from_json(value)


# Upstream's TestQuantityString: value, notation, printed text, another text for it.
PRINTED = [
    (1024**3, 0, BINARY, "1Gi", "1024Mi"),
    (300 * 1024**2, 0, BINARY, "300Mi", "307200Ki"),
    (6 * 1024, 0, BINARY, "6Ki", ""),
    (1001 * 1024**3, 0, BINARY, "1001Gi", "1025024Mi"),
    (1024**4, 0, BINARY, "1Ti", "1024Gi"),
    (5, 0, BINARY, "5", "5000m"),
    (1024, 0, BINARY, "1Ki", ""),
    (500, -3, BINARY, "500m", "0.5"),
    (1, 9, DECIMAL, "1G", "1000M"),
    (1000, 6, DECIMAL, "1G", "0.001T"),
    (1_000_000_000, 0, DECIMAL, "1G", ""),
    (1, -3, DECIMAL, "1m", "1000u"),
    (80, -3, DECIMAL, "80m", ""),
    (1080, -3, DECIMAL, "1080m", "1.08"),
    (108, -2, DECIMAL, "1080m", "1080000000n"),
    (10_800, -4, DECIMAL, "1080m", ""),
    (300, 6, DECIMAL, "300M", ""),
    (1, 12, DECIMAL, "1T", ""),
    (1_234_567, 6, DECIMAL, "1234567M", ""),
    (1_234_567, -3, BINARY, "1234567m", ""),
    (3, 3, DECIMAL, "3k", ""),
    (1025, 0, BINARY, "1025", ""),
    (0, 0, DECIMAL, "0", ""),
    (0, 0, BINARY, "0", ""),
    (1, 9, EXPONENT, "1e9", ".001e12"),
    (1, -3, EXPONENT, "1e-3", "0.001e0"),
    (1, -9, EXPONENT, "1e-9", "1000e-12"),
    (80, -3, EXPONENT, "80e-3", ""),
    (300, 6, EXPONENT, "300e6", ""),
    (3, 3, EXPONENT, "3e3", ""),
    (0, 0, EXPONENT, "0", "00"),
    (1, -9, DECIMAL, "1n", ""),
    (1080, -9, DECIMAL, "1080n", ""),
    (108, -8, DECIMAL, "1080n", ""),
    (80, -6, DECIMAL, "80u", ""),
]


@pytest.mark.parametrize(
    ("unscaled", "exponent", "form", "text", "other"), PRINTED, ids=[f"{e[3]}-{e[2].value}-{e[1]}" for e in PRINTED]
)
def test_text(unscaled: int, exponent: int, form: QuantityFormat, text: str, other: str) -> None:
    assert str(Quantity(unscaled, exponent, form)) == text
    assert str(parse(text)) == text
    assert str(parse(other or text)) == text
    if unscaled:
        assert str(Quantity(-unscaled, exponent, form)) == f"-{text}"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1Ki", "1Ki"),
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        (".001Ki", "1024m"),
        (".000001Ki", "1024u"),
        (".000000001Ki", "1024n"),
        (".000000000001Ki", "2n"),
        ("1.500", "1.500"),
        ("1.5", "1500m"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("1000m", "1"),
        ("2048Mi", "2Gi"),
        ("0.0", "0"),
        ("-0", "0"),
        ("9Ei", "9223372036854775807"),
        ("1000E", "1"),
    ],
)
def test_text_as_stored(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


def test_repr_shows_the_text() -> None:
    assert repr(parse("1024Mi")) == "Quantity('1Gi')"


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("0", "0", 0),
        ("100m", "50m", 1),
        ("50m", "100m", -1),
        ("10000T", "100Gi", 1),
        ("1", "1000m", 0),
        ("1Ki", "1.024k", 0),
        ("9.01", "901e-2", 0),
        ("-1", "1", -1),
        ("-2", "-1", -1),
        ("0", "-1m", 1),
        ("0n", "0Ei", 0),
        ("9223372036854775807", "0.1", 1),
        ("92233720368547758070", "1", 1),
        ("922.3372036854775807", "1k", -1),
        ("-9.223372036854775808", "-1", -1),
        ("1e30", "999999999999999999999999999999", 1),
    ],
)
def test_compare(left: str, right: str, order: int) -> None:
    a, b = parse(left), parse(right)
    assert (a > b) - (a < b) == order
    assert (b > a) - (b < a) == -order
    assert (a == b) is (order == 0)
    if order == 0:
        assert hash(a) == hash(b)


def test_compare_with_something_else() -> None:
    assert parse("1") != "1"
    assert (parse("1") == 1) is False


@table(
    "left, right, total",
    {
        "non-zero + zero keeps the suffix": ("100m", "0", "100m"),
        "zero + non-zero keeps the suffix": ("0", "100m", "100m"),
        "binary + zero": ("1Gi", "0", "1Gi"),
        "zero + binary": ("0", "1Gi", "1Gi"),
        "notation of the left side: binary": ("1Gi", "1G", "2073741824"),
        "notation of the left side: decimal": ("1G", "1Gi", "2073741824"),
        "binary sum in a larger unit": ("512Mi", "512Mi", "1Gi"),
        "decimal and exponent": ("1k", "1e3", "2k"),
        "exponent and decimal": ("1e3", "1k", "2e3"),
        "a text that was kept is not after a sum": ("1.500", "0", "1500m"),
        "nothing left": ("100m", "-100m", "0"),
        "beyond int64": ("9223372036854775807", "1", "9223372036854775808"),
        "far apart": ("1n", "1E", "1000000000000000000000000001n"),
    },
)
def test_add(left: str, right: str, total: str) -> None:
    assert str(parse(left) + parse(right)) == total


def test_sum_of_extreme_amounts_has_a_text() -> None:
    # Python refuses to print an integer of more than 4300 digits, so quantities stay below.
    total = parse(f"{'9' * 249}e1000") + parse("1n")
    assert str(total) == f"{'9' * 249}{'0' * 1008}1e-9"


@pytest.mark.parametrize(
    ("left", "right", "difference"),
    [
        ("100m", "0", "100m"),
        ("0", "100m", "-100m"),
        ("0", "1Gi", "-1Gi"),
        ("1Gi", "512Mi", "512Mi"),
        ("1", "1000m", "0"),
        ("1", "1m", "999m"),
    ],
)
def test_subtract(left: str, right: str, difference: str) -> None:
    assert str(parse(left) - parse(right)) == difference


@pytest.mark.parametrize(
    ("text", "exponent", "rounded"),
    [
        ("9.01", -3, "9.01"),
        ("9.01", -2, "9.01"),
        ("9.01", -1, "9.1"),
        ("9.01", 0, "10"),
        ("9.01", 1, "10"),
        ("9.01", 2, "100"),
        ("-9.01", -3, "-9.01"),
        ("-9.01", -2, "-9.01"),
        ("-9.01", -1, "-9.1"),
        ("-9.01", 0, "-10"),
        ("-9.01", 1, "-10"),
        ("-9.01", 2, "-100"),
        ("1u", -3, "1m"),
        ("0", 3, "0"),
    ],
)
def test_round_up_is_away_from_zero(text: str, exponent: int, rounded: str) -> None:
    assert parse(text).round_up(exponent) == parse(rounded)


@table(
    "text, value, milli_value",
    {
        "whole": ("1", 1, 1000),
        "half is rounded away from zero": ("1500m", 2, 1500),
        "also below zero": ("-1500m", -2, -1500),
        "the smallest": ("1n", 1, 1),
        "binary": ("1Gi", 1024**3, 1000 * 1024**3),
        "zero": ("0", 0, 0),
        "thousandths that wrap as upstream's do": ("9223372036854775807", INT64_MAX, -1000),
        "thousandths beyond int64 of a large unit are 0": ("1E", 10**18, 0),
        "beyond int64 is 0 in the common form": ("1e30", 0, 0),
    },
)
def test_values_as_integers(text: str, value: int, milli_value: int) -> None:
    assert parse(text).value == value
    assert parse(text).milli_value == milli_value


# Results of upstream's String, Value and MilliValue, including negative rounding, wrapping, and 0 on overflow.
@pytest.mark.parametrize(
    ("text", "printed", "value", "milli_value"),
    [
        ("0.5Ki", "512", 512, 512_000),
        ("-0.5Ki", "-512", -512, -512_000),
        ("100.035Ki", "102435840m", 102_436, 102_435_840),
        ("-100.035Ki", "-102435840m", -102_434, -102_435_840),
        ("-1.5Ki", "-1536", -1536, -1_536_000),
        ("7Ei", "7Ei", 8_070_450_532_247_928_832, -9_223_372_036_854_775_808),
        ("-7Ei", "-7Ei", 0, 0),
        ("9Ei", "9223372036854775807", 9_223_372_036_854_775_807, -1000),
        ("1Pi", "1Pi", 1_125_899_906_842_624, 1_125_899_906_842_624_000),
        ("1000Pi", "1000Pi", 1_125_899_906_842_624_000, 648_518_346_341_351_424),
        ("999999999999999999", "999999999999999999", 999_999_999_999_999_999, 3_875_820_019_684_211_736),
        ("9999999999999999999", "9999999999999999999", -8_446_744_073_709_551_617, 1_864_712_049_423_023_128),
        ("-9999999999999999999", "-9999999999999999999", -4_477_988_018, -4_477_988_019_392),
        ("123456789012345678901", "123456789012345678901", -5_670_419_503_621_182_411, -7_269_072_992_350_064_888),
        ("0.1234567891", "123456790n", 1, 124),
        ("-0.1234567891", "-123456790n", 1, -122),
        ("1e18", "1e18", 1_000_000_000_000_000_000, 0),
        ("12e18", "12e18", 0, 0),
        ("1.5E", "1500P", 1_500_000_000_000_000_000, 0),
        ("9.3E", "9300P", 0, 0),
        ("-9.3E", "-9300P", 0, 0),
        ("10000000000000000000m", "10P", 10_000_000_000_000_000, -8_446_744_073_709_551_616),
        ("99999999999999999999n", "99999999999999999999n", 100_000_000_000, 100_000_000_000_000),
    ],
)
def test_extreme_amounts_are_upstreams(text: str, printed: str, value: int, milli_value: int) -> None:
    found = parse(text)
    assert (str(found), found.value, found.milli_value) == (printed, value, milli_value)


@pytest.mark.parametrize(
    ("left", "right", "printed", "value", "milli_value"),
    [
        ("9223372036854775807", "1", "9223372036854775808", -9_223_372_036_854_775_808, 0),
        ("9223372036854775807", "-1", "9223372036854775806", 9_223_372_036_854_775_806, -2000),
        ("-9223372036854775807", "-5", "-9223372036854775812", -4, -4000),
        ("9223372036854775800", "7", "9223372036854775807", 9_223_372_036_854_775_807, -1000),
        ("9E", "500P", "9500P", 0, 0),
        ("9E", "1n", "9000000000000000000000000001n", 9_000_000_000_000_000_001, -2_011_107_970_261_188_607),
        ("9Ei", "1", "8Ei", -9_223_372_036_854_775_808, 0),
        ("7Ei", "1Ei", "8Ei", -9_223_372_036_854_775_808, 0),
        ("1.5Ki", "0", "1536", 1536, 1_536_000),
        ("0", "1.5Ki", "1536", 1536, 1_536_000),
        ("0.5Ki", "0.5Ki", "1Ki", 1024, 1_024_000),
        ("1E", "1m", "1000000000000000000001m", 1_000_000_000_000_000_001, 3_875_820_019_684_212_737),
        ("100.035Ki", "-100.035Ki", "0", 0, 0),
        ("0Ki", "1k", "1k", 1000, 1_000_000),
        ("9e18", "9e18", "18e18", 0, 0),
    ],
)
def test_extreme_sums_are_upstreams(left: str, right: str, printed: str, value: int, milli_value: int) -> None:
    found = parse(left) + parse(right)
    assert (str(found), found.value, found.milli_value) == (printed, value, milli_value)


@pytest.mark.parametrize(("text", "sign"), [("2m", 1), ("0", 0), ("0Gi", 0), ("-1Gi", -1)])
def test_sign(text: str, sign: int) -> None:
    assert parse(text).sign == sign
    assert parse(text).is_zero is (sign == 0)


def test_unset_amount_is_zero() -> None:
    assert ZERO.is_zero
    assert str(ZERO) == "0"
