"""One connection: its stage, and how much it is worth to keep it."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import socket
from collections.abc import Callable
from enum import Enum
from typing import Final

__all__ = ["Connection", "Stage", "keep_little_unread"]

_MAX_EARNED: Final = 1 << 20
"""Bytes above which connections are worth the same. The API server reaches it after some dozens of reviews."""
_BEGINNING: Final = 64 << 10
"""Bytes that are kept of a body that is too long: they say who asks for what."""
_SEND_BYTES: Final = 16 << 10
"""The kernel keeps twice as many of unread answers, as memory of the pod; without a limit 4 MiB."""
_USER_TIMEOUT: Final[int | None] = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Linux alone has it."""
_UNREAD_MILLISECONDS: Final = 10_000
"""After these the kernel drops what a client has not taken, also of a connection that was closed here."""


def keep_little_unread(sock: socket.socket) -> None:
    """Limit what the kernel keeps of answers that clients do not read; a listening socket hands that on."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
    if _USER_TIMEOUT is not None:
        sock.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, _UNREAD_MILLISECONDS)


class Stage(Enum):
    """The stage of a connection."""

    HANDSHAKE = "handshake"
    NEW = "new"
    """No request has begun."""
    HEAD = "head"
    """The first byte of a request has arrived."""
    BODY = "body"
    """The head has arrived."""
    ANSWER = "answer"
    """The body has arrived."""
    IDLE = "idle"
    """The request has been answered."""


class Connection:
    """The state of one connection; the registry keeps it up to date."""

    __slots__ = (
        "address",
        "begun",
        "body",
        "certified",
        "deadline",
        "earned",
        "ended",
        "held",
        "is_kept",
        "received",
        "sock",
        "stage",
        "wake",
    )

    def __init__(self, sock: socket.socket, address: str, deadline: float) -> None:
        """Begin with a connection that has just been accepted.

        Args:
            sock: Its socket; TLS later puts another object around the same descriptor.
            address: Of the client.
            deadline: For its handshake.
        """
        self.sock = sock
        self.address = address
        self.stage = Stage.HANDSHAKE
        self.deadline: float | None = deadline
        """The deadline of the stage; None: it has none."""
        self.begun = 0.0
        """When the current request began, or the last one ended."""
        self.received = 0
        """Bytes of the current request."""
        self.held = 0
        """The bytes of the current request that are held in memory."""
        self.is_kept = True
        """Whether further bytes are held too, or only read and dropped."""
        self.body = io.BytesIO()
        """The kept part of a large body."""
        self.earned = 0
        """Bytes of all whole reviews of this connection."""
        self.certified = False
        """Whether the client has shown an accepted certificate."""
        self.ended = False
        """Whether the webhook has ended the connection."""
        self.wake: Callable[[], object] | None = None
        """What to call at its end, where nobody waits for its socket."""

    @property
    def known(self) -> bool:
        """Whether the client has sent a whole review or shown an accepted certificate; else it is a newcomer."""
        return self.earned > 0 or self.certified

    @property
    def rank(self) -> tuple[bool, int]:
        """How much it is worth: within a factor of two in what it has earned all are alike."""
        return self.certified, min(self.earned, _MAX_EARNED).bit_length()

    def check(self) -> None:
        """Go no further with a connection that has been ended.

        Raises:
            ConnectionResetError: It has.
        """
        if self.ended:
            raise ConnectionResetError(errno.ECONNRESET, "ended")

    def pass_over(self) -> None:
        """Keep no more of the body than its beginning; who reads it goes on, and may still answer."""
        self.is_kept = False
        if self.body.tell() > _BEGINNING:
            self.body.truncate(_BEGINNING)

    def end(self) -> None:
        """Who waits for it, reads from it or writes to it then finds its end, and closes it."""
        self.ended = True
        if self.wake is not None:
            self.wake()
            return
        # By a second descriptor of the same connection: who waits on the first then reads an end, and no error.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.sock.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)
