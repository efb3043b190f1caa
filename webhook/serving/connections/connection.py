"""One connection: its stage and its rank."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import socket
from collections.abc import Callable
from enum import Enum
from typing import Final

_MAX_EARNED: Final = 1 << 20
"""Bytes above which connections rank the same. The API server reaches it after some dozens of reviews."""
_BEGINNING: Final = 64 << 10
"""Bytes that are kept from a body that is too long: they identify the request."""
_SEND_BYTES: Final = 16 << 10
"""The kernel buffers twice as many unread bytes, in the pod's memory; without a limit 4 MiB."""
_USER_TIMEOUT: Final[int | None] = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Only on Linux."""
_UNREAD_MILLISECONDS: Final = 10_000
"""After this time the kernel drops data that the client has not acknowledged, also after the webhook has closed."""


def keep_little_unread(sock: socket.socket) -> None:
    """Limit the kernel's buffer of unread answers; accepted sockets inherit this from a listening socket."""
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
        """Take a connection that has just been accepted.

        Args:
            sock: Its socket; TLS later wraps the same descriptor in another object.
            address: The address of the client.
            deadline: The deadline of its handshake.
        """
        self.sock = sock
        self.address = address
        self.stage = Stage.HANDSHAKE
        self.deadline: float | None = deadline
        """The deadline of the stage; None: no deadline."""
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
        """What to call at its end, if no greenlet waits for its socket."""

    @property
    def known(self) -> bool:
        """Whether the client has sent a whole review or shown an accepted certificate; otherwise it is a newcomer."""
        return self.earned > 0 or self.certified

    @property
    def rank(self) -> tuple[bool, int]:
        """The value for sorting; connections with earned bytes within a factor of two rank the same."""
        return self.certified, min(self.earned, _MAX_EARNED).bit_length()

    def check(self) -> None:
        """Check that the connection has not been ended.

        Raises:
            ConnectionResetError: It has been ended.
        """
        if self.ended:
            raise ConnectionResetError(errno.ECONNRESET, "ended")

    def pass_over(self) -> None:
        """Keep only the beginning of the body; its reader continues, and may still answer."""
        self.is_kept = False
        if self.body.tell() > _BEGINNING:
            self.body.truncate(_BEGINNING)

    def end(self) -> None:
        """End the connection: the greenlet that waits for it, reads or writes then sees its end and closes it."""
        self.ended = True
        if self.wake is not None:
            self.wake()
            return
        # Through a second descriptor of the connection: a greenlet that waits on the first reads an end, not an error.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.sock.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)
