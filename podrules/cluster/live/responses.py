"""What a transport gets back, and the parsing that both transports share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = [
    "MAX_ERROR",
    "Answer",
    "Response",
    "StreamRefused",
    "Streamed",
    "lines_of",
    "service_account_namespace",
    "warning_text",
]

MAX_ERROR: Final = 64 << 10
"""Bytes read of an answer that is not the wanted stream."""
Response = tuple[int, bytes]
"""HTTP status and body."""


class Answer(NamedTuple):
    """What a change is answered with."""

    status: int
    body: bytes
    warnings: tuple[str, ...]
    """Of the API server and its webhooks, for people."""


class Streamed(NamedTuple):
    """An answer that is read while it comes."""

    status: int
    content_type: str
    gzipped: bool
    pieces: Iterator[bytes]
    """Of the body, as they come; an error in between is Unreachable, an early end is for the reader to notice."""


class StreamRefused(Exception):
    """The API server answered a stream's request with an error; holds its status and body."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:500].decode(errors='replace')}")
        self.status = status
        self.body = body


def lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines out of pieces."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def warning_text(header: bytes) -> str:
    """The text of a ``Warning: 299 - "text"`` header (RFC 7234, 5.5), empty for another header."""
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
