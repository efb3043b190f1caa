"""A stand-in for the system bus with logind behind it, for the kubelet's graceful shutdown: it answers what that asks.

One connection at a time speaks D-Bus' little-endian wire format: https://dbus.freedesktop.org/doc/dbus-specification.html.
"""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ADDRESS: Final = "DBUS_SYSTEM_BUS_ADDRESS"
_CALL, _RETURN, _SIGNAL = 1, 2, 4
_PATH, _INTERFACE, _MEMBER, _REPLY_SERIAL, _DESTINATION, _SENDER, _SIGNATURE, _FDS = 1, 2, 3, 5, 6, 7, 8, 9
_NAME: Final = ":1.1"
_LOGIND: Final = ":1.0"
_DELAY: Final = 3_600_000_000
"""Microseconds for which logind would wait: more than any kubelet wants."""


class ShutdownBus:
    """Listens at a socket until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._serial = 1
        self._connections: list[socket.socket] = []
        self._pipes: list[int] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Programs that start in this block take it for the system bus."""
        before = os.environ.get(_ADDRESS)
        os.environ[_ADDRESS] = f"unix:path={self._path}"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_ADDRESS]
            else:
                os.environ[_ADDRESS] = before

    def shut_down(self) -> None:
        """Announce to all clients that the machine is about to shut down."""
        fields = (
            (_PATH, "o", "/org/freedesktop/login1"),
            (_INTERFACE, "s", "org.freedesktop.login1.Manager"),
            (_MEMBER, "s", "PrepareForShutdown"),
            (_SENDER, "s", _LOGIND),
        )
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.sendall(self._message(_SIGNAL, fields, "b", struct.pack("<I", 1)))

    def close(self) -> None:
        """End it, and all connections."""
        for entry in (self._server, *self._connections):
            # A close alone does not wake a thread that waits in accept or recv.
            with contextlib.suppress(OSError):
                entry.shutdown(socket.SHUT_RDWR)
            entry.close()
        for number in self._pipes:
            os.close(number)
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._connections.append(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), connection.makefile("rb") as stream:
            _greet(connection, stream)
            while True:
                kind, serial, fields = _read(stream)
                if kind == _CALL:
                    self._answer(connection, serial, fields)

    def _answer(self, connection: socket.socket, serial: int, fields: dict[int, str]) -> None:
        member = fields.get(_MEMBER, "")
        signature, body, descriptor = "", b"", None
        if member == "Hello":
            signature, body = "s", _string(_NAME)
        elif member == "GetNameOwner":
            signature, body = "s", _string(_LOGIND)
        elif member == "Get":
            # A variant of a 64-bit number, which is aligned to 8 bytes.
            signature, body = "v", b"\x01t\0".ljust(8, b"\0") + struct.pack("<Q", _DELAY)
        elif member == "Inhibit":
            ours, descriptor = os.pipe()
            self._pipes.append(ours)
            signature, body = "h", struct.pack("<I", 0)
        header = (
            (_REPLY_SERIAL, "u", serial),
            (_SENDER, "s", "org.freedesktop.DBus" if member in {"Hello", "AddMatch"} else _LOGIND),
            (_DESTINATION, "s", _NAME),
            *(((_FDS, "u", 1),) if descriptor is not None else ()),
        )
        message = self._message(_RETURN, header, signature, body)
        if descriptor is None:
            connection.sendall(message)
            return
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))
        connection.sendmsg([message], [rights])
        os.close(descriptor)

    def _message(self, kind: int, fields: tuple[tuple[int, str, str | int], ...], signature: str, body: bytes) -> bytes:
        self._serial += 1
        array_of_fields = b""
        if signature:
            fields = (*fields, (_SIGNATURE, "g", signature))
        for code, form, value in fields:
            array_of_fields = _aligned(array_of_fields, 8) + bytes([code, 1]) + form.encode() + b"\0"
            if isinstance(value, int):
                array_of_fields += struct.pack("<I", value)
            elif form == "g":
                array_of_fields += bytes([len(value)]) + value.encode() + b"\0"
            else:
                array_of_fields += _string(value)
        start = struct.pack("<cBBBIII", b"l", kind, 1, 1, len(body), self._serial, len(array_of_fields))
        return _aligned(start + array_of_fields, 8) + body


def _greet(connection: socket.socket, stream: object) -> None:
    """The text before the first message: any name is believed."""
    read = stream.readline  # type: ignore[attr-defined]
    while line := read().strip(b"\0\r\n"):
        if line.startswith(b"AUTH EXTERNAL"):
            connection.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
        elif line == b"AUTH":
            connection.sendall(b"REJECTED EXTERNAL\r\n")
        elif line.startswith(b"NEGOTIATE_UNIX_FD"):
            connection.sendall(b"AGREE_UNIX_FD\r\n")
        elif line.startswith(b"BEGIN"):
            return


def _read(stream: object) -> tuple[int, int, dict[int, str]]:
    """A message's type, serial number and text fields; its body is passed over."""
    read = stream.read  # type: ignore[attr-defined]
    start = read(16)
    if len(start) < 16:
        raise EOFError
    _, kind, _, _, size, serial, length = struct.unpack("<cBBBIII", start)
    fields = read((length + 7) // 8 * 8)
    read(size)
    found: dict[int, str] = {}
    at = 0
    while at < length:
        at = (at + 7) // 8 * 8
        code, form = fields[at], chr(fields[at + 2])
        at += 4
        if form == "u":
            at += 4
            continue
        if form == "g":
            count, at = fields[at], at + 1
        else:
            count, at = struct.unpack_from("<I", fields, at)[0], at + 4
        found[code] = fields[at : at + count].decode()
        at += count + 1
    return kind, serial, found


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<I", len(encoded)) + encoded + b"\0"


def _aligned(data: bytes, size: int) -> bytes:
    return data.ljust((len(data) + size - 1) // size * size, b"\0")
