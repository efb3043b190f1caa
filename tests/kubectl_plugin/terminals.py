"""Terminals of the tests' own."""

from __future__ import annotations

import fcntl
import struct
import termios

__all__ = ["resize"]


def resize(descriptor: int, *, rows: int, columns: int) -> None:
    """Give a terminal another size, as a window that is pulled at does."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
