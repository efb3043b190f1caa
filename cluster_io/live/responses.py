"""The responses of a transport, and the parsing that both transports share."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_ANSWER: Final = 256 << 20
"""The most bytes of an answer that is kept in memory; a metrics API lists 500,000 pods in fewer."""
MAX_ERROR: Final = 64 << 10
"""The most bytes that are read of an error in place of a stream."""
Response = tuple[int, bytes]
"""HTTP status and body."""


class ChangeAnswer(NamedTuple):
    """The answer to a change."""

    status: int
    body: bytes
    warnings: tuple[str, ...]
    """Warnings of the API server and its webhooks, for the user."""


class StreamedAnswer(NamedTuple):
    """An answer that is read while it arrives."""

    status: int
    content_type: str
    gzipped: bool
    pieces: Iterator[bytes]
    """Pieces of the body as they arrive. An error raises Unreachable; the reader has to notice an early end."""


class StreamRefused(Exception):
    """The API server answered a stream's request with an error; holds its status and body."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:500].decode(errors='replace')}")
        self.status = status
        self.body = body


def lines_of(chunks: Iterator[bytes], longest: int = sys.maxsize) -> Iterator[bytes]:
    """Join pieces and split them into complete lines; what exceeds ``longest`` bytes of a line is dropped."""
    line = bytearray()
    for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end[: longest - len(line)]
            yield bytes(line)
            line.clear()
        line += rest[: longest - len(line)]


def warning_text(header: bytes) -> str:
    """The text of a ``Warning: 299 - "text"`` header (RFC 7234, 5.5); empty for any other header."""
    found = re.match(rb'warning:\s*299 \S+ "(.*)"$', header, re.IGNORECASE)
    return re.sub(r"\\(.)", r"\1", found[1].decode(errors="replace")) if found else ""


def service_account_namespace() -> str:
    """The namespace of the pod that this process runs in; empty outside one."""
    path = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start-up time
            return file.read().strip()
    except OSError:
        return ""
