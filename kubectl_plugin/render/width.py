"""How many columns text has: as many as the terminal, within what people can read."""

from __future__ import annotations

import os
from typing import IO, Final

__all__ = ["DEFAULT_COLUMNS", "LEAST_COLUMNS", "MAX_COLUMNS", "text_columns"]

DEFAULT_COLUMNS: Final = 80
"""Where nothing tells: in a pipe or a file."""
LEAST_COLUMNS: Final = 40
"""In a narrower terminal lines fold."""
MAX_COLUMNS: Final = 200
_DIGITS: Final = 9
"""A longer number is no width of anything."""


def text_columns(stream: IO[str]) -> int:
    """``COLUMNS``, else the width of the terminal that a stream writes to, else 80; from 40 to 200."""
    told = os.environ.get("COLUMNS", "")
    columns = int(told) if told.isascii() and told.isdigit() and len(told) <= _DIGITS else 0
    return min(max(columns or _terminal_columns(stream) or DEFAULT_COLUMNS, LEAST_COLUMNS), MAX_COLUMNS)


def _terminal_columns(stream: IO[str]) -> int:
    """0: it is no terminal, or one that tells no size."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0
