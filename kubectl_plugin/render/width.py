"""What a stream shows: the width of its lines, within limits, and colour."""

from __future__ import annotations

import os
from typing import IO, Final

DEFAULT_COLUMNS: Final = 80
"""The width for a pipe or a file, which have none."""
MIN_COLUMNS: Final = 40
"""The smallest width: lines wrap in a narrower terminal."""
MAX_COLUMNS: Final = 200
_DIGITS: Final = 9
"""The most digits of ``COLUMNS``; a longer number is ignored."""


def text_columns(stream: IO[str]) -> int:
    """``COLUMNS``, else the width of the stream's terminal, else 80; limited to 40 to 200."""
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isascii() and given.isdigit() and len(given) <= _DIGITS else 0
    return min(max(columns or _terminal_columns(stream) or DEFAULT_COLUMNS, MIN_COLUMNS), MAX_COLUMNS)


def _terminal_columns(stream: IO[str]) -> int:
    """The width; 0: the stream is not a terminal, or it reports no size."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0


def allows_colour(stream: IO[str]) -> bool:
    """Whether the stream is a terminal with colour that the user did not disable (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
