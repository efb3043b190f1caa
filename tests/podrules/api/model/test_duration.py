"""Go's durations."""

from __future__ import annotations

from datetime import timedelta

import pytest

from podrules.api.model.instant import DurationError, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("30s", 30),
        ("1m30s", 90),
        ("5m0s", 300),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("1.s", 1),
        ("500ms", 0.5),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("2μs", 2e-6),
        ("3000ns", 3e-6),
        ("-1m", -60),
        ("+1m", 60),
        ("1h1h", 7200),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "-", "3", "3 s", "s", ".s", "1d", "1m 30s", "1e3s", "٣s", "1_0s"])
def test_no_duration(text: str) -> None:
    with pytest.raises(DurationError, match="is not a duration: write"):
        parse_duration(text)


def test_too_long_a_duration() -> None:
    with pytest.raises(DurationError, match="too long"):
        parse_duration("9" * 30 + "h")
