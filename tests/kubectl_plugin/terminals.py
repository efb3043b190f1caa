"""Terminals for tests, and the command line in this process with a terminal as its output."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import sys
import termios
import threading

import pytest

from kubectl_plugin.cli import main


def resize(descriptor: int, *, rows: int, columns: int) -> None:
    """Change the size of a terminal, as resizing a window does."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def shown(*arguments: str, columns: int = 80, colour: bool = False) -> str:
    """What ``kubectl qos ARGUMENTS`` prints on a terminal of 24 rows."""
    master, slave = pty.openpty()
    resize(slave, rows=24, columns=columns)
    settings = termios.tcgetattr(slave)
    settings[1] &= ~termios.OPOST  # Line ends stay as they are written.
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    read = bytearray()

    def follow() -> None:
        # Linux reports the closed end of a terminal as an error.
        try:
            while part := os.read(master, 65536):
                read.extend(part)
        except OSError:
            pass

    reader = threading.Thread(target=follow)
    reader.start()
    with pytest.MonkeyPatch.context() as patch, os.fdopen(slave, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stdin", io.StringIO())
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "__stdout__", stream)
        patch.delenv("COLUMNS", raising=False)
        patch.setenv("TERM", "xterm")
        patch.setenv("NO_COLOR", "" if colour else "1")
        main(arguments)
    reader.join()
    os.close(master)
    return read.decode()
