"""Counts the calls of functions in a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


@contextmanager
def counted_calls(*functions: Callable[..., Any]) -> Iterator[dict[str, int]]:
    """Counts the calls of functions by name, from any caller."""
    codes: dict[CodeType, str] = {function.__code__: function.__name__ for function in functions}
    counts = dict.fromkeys(codes.values(), 0)

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes:
            counts[codes[frame.f_code]] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(before)
