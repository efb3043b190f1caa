"""Terminals for tests."""

from __future__ import annotations

import fcntl
import struct
import termios


def resize(descriptor: int, *, rows: int, columns: int) -> None:
    """Change the size of a terminal, as resizing a window does."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
