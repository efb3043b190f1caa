"""The width of text: the terminal's, within limits."""

from __future__ import annotations

import os
from typing import IO, Final

__all__ = ["DEFAULT_COLUMNS", "MAX_COLUMNS", "MIN_COLUMNS", "text_columns"]

DEFAULT_COLUMNS: Final = 80
"""In a pipe or a file, which have no width."""
MIN_COLUMNS: Final = 40
"""Lines fold in a narrower terminal."""
MAX_COLUMNS: Final = 200
_DIGITS: Final = 9
"""Digits of ``COLUMNS`` at most; a longer number is ignored."""


def text_columns(stream: IO[str]) -> int:
    """``COLUMNS``, else the width of the stream's terminal, else 80; limited to 40 to 200."""
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isascii() and given.isdigit() and len(given) <= _DIGITS else 0
    return min(max(columns or _terminal_columns(stream) or DEFAULT_COLUMNS, MIN_COLUMNS), MAX_COLUMNS)


def _terminal_columns(stream: IO[str]) -> int:
    """The width; 0: the stream is no terminal, or it reports no size."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0
