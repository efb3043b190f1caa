"""One connection: what it is at, and how much it is worth to keep it."""

from __future__ import annotations

import contextlib
import io
import os
import socket
from collections.abc import Callable
from enum import Enum
from typing import Final

__all__ = ["Connection", "Stage"]

_MAX_EARNED: Final = 1 << 20
"""Bytes: above it connections are worth the same. The API server's come to it by some dozens of reviews."""

_BEGINNING: Final = 64 << 10
"""Bytes of a body that is passed over: they tell who asks for what."""


class Stage(Enum):
    """What a connection is at."""

    HANDSHAKE = "handshake"
    NEW = "new"
    """It has asked nothing yet."""
    HEAD = "head"
    """The first byte of a request is there."""
    BODY = "body"
    """The head is whole."""
    ANSWER = "answer"
    """The body is whole, too."""
    IDLE = "idle"
    """It has been answered."""


class Connection:
    """What is known of one connection; its registry keeps that up to date."""

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
        """It has just been accepted.

        Args:
            sock: Its socket; TLS later puts another object around the same descriptor.
            address: Of the client.
            deadline: For its handshake.
        """
        self.sock = sock
        self.address = address
        self.stage = Stage.HANDSHAKE
        self.deadline: float | None = deadline
        """When the stage is over; None: it may last."""
        self.begun = 0.0
        """When the request began that is under way."""
        self.received = 0
        """Bytes of the request that is under way."""
        self.held = 0
        """Those of them that count in memory."""
        self.is_kept = True
        """Whether more of them will: what is only passed over does not."""
        self.body = io.BytesIO()
        """What is kept of the body of a request that is not small."""
        self.earned = 0
        """Bytes of all whole reviews that came on it."""
        self.certified = False
        """Whether its client has shown a certificate that is accepted."""
        self.ended = False
        """Whether we have ended it."""
        self.wake: Callable[[], object] | None = None
        """What to call at its end, where nobody waits for its socket."""

    @property
    def known(self) -> bool:
        """Whether its client is no newcomer: it has sent a whole review, or a certificate that is accepted."""
        return self.earned > 0 or self.certified

    @property
    def rank(self) -> tuple[bool, int]:
        """How much it is worth: within a factor of two in what it has earned all are alike."""
        return self.certified, min(self.earned, _MAX_EARNED).bit_length()

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
