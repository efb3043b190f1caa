"""Handwritten protobuf, valid and invalid, for messages that no API server sends."""

from __future__ import annotations

from collections.abc import Iterable


def varint(value: int) -> bytes:
    """A number below 2**64."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def message(*fields: tuple[int, bytes | str | int | None]) -> bytes:
    """A message of fields by number; None: the field is left out."""
    found = []
    for number, value in fields:
        if isinstance(value, int):
            found.append(varint(number << 3) + varint(value))
        elif value is not None:
            content = value.encode() if isinstance(value, str) else value
            found.append(varint(number << 3 | 2) + varint(len(content)) + content)
    return b"".join(found)


def time(seconds: int, nanos: int = 0) -> bytes:
    """A metav1.Time."""
    return message((1, seconds), (2, nanos))


def listed(items: Iterable[bytes]) -> bytes:
    """The bytes of a list as an API server sends it."""
    found = message((1, message((2, "1"))), *((2, item) for item in items))
    return b"k8s\0" + message((1, message((1, "v1"), (2, "PodList"))), (2, found), (3, ""), (4, ""))
