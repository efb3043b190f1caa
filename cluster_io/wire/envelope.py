r"""Reads a list in protobuf object by object while it arrives; it holds one piece of the stream at a time.

    k8s\0             magic
    runtime.Unknown   typeMeta = 1; raw = 2: the list; contentEncoding = 3; contentType = 4
    a list            metadata = 1 (metav1.ListMeta), items = 2, repeated

Each part has its length before it, so the reader notices a stream that broke off.

Source: k8s.io/apimachinery/pkg/runtime/{generated.proto,serializer/protobuf} and pkg/apis/meta/v1/generated.proto
(ListMeta) at v0.36.3.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from podrules.api.model.decode import DecodeError

_MAGIC: Final = b"k8s\0"
_RAW: Final = 0x12
_ITEMS: Final = 0x12
"""Tags: the field number, and the wire type with a length."""
_ITEM_HEAD: Final = 3
"""Bytes of an item's tag and of a two-byte length."""
_BYTES: Final = 2
"""The wire type of all these fields."""
_MAX_ITEM: Final = 64 << 20
"""Bytes; etcd accepts far less for one object."""
_MAX_VARINT: Final = 10


class ListReader:
    """Reads one list from pieces of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        """Take the pieces; nothing is read yet."""
        self._pieces = pieces
        self._data = b""
        self._at = 0

    def items(self) -> Iterator[bytes]:
        """The bytes of each object.

        Raises:
            EOFError: the list broke off.
            DecodeError: the bytes are not a list in protobuf.
        """
        if self._take(len(_MAGIC)) != _MAGIC:
            raise DecodeError("not Kubernetes' protobuf")
        left = self._list_length()
        while left > 0:
            left -= yield from self._items_in_memory(left)
            if left > 0:
                tag, tag_size = self._varint()
                length, length_size = self._varint()
                left -= tag_size + length_size + length
                if tag & 7 != _BYTES or length > _MAX_ITEM or left < 0:
                    raise DecodeError("not a list in protobuf")
                content = self._take(length)
                if tag == _ITEMS:
                    yield content

    def _items_in_memory(self, left: int) -> Generator[bytes, None, int]:
        """Give the items that are complete in memory and have a two-byte length, as most have: the fast path.

        Args:
            left: The remaining bytes of the list.

        Returns:
            The bytes of these items.
        """
        data, start = self._data, self._at
        end = start
        last = min(len(data), start + left)
        while (content := end + _ITEM_HEAD) <= last and data[end] == _ITEMS and data[end + 1] >= 0x80 > data[end + 2]:
            content_end = content + (data[end + 1] & 0x7F | data[end + 2] << 7)
            if content_end > last:
                break
            end = content_end
            yield data[content:end]
        self._at = end
        return end - start

    def _list_length(self) -> int:
        while True:
            tag, _ = self._varint()
            length, _ = self._varint()
            if tag == _RAW:
                return length
            if tag & 7 != _BYTES or length > _MAX_ITEM:
                raise DecodeError("not a list in protobuf")
            self._take(length)

    def _varint(self) -> tuple[int, int]:
        """Read a number; returns it and its length in bytes."""
        value = 0
        for place in range(_MAX_VARINT):
            if self._at == len(self._data):
                self._fill(1)
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value, place + 1
        raise DecodeError("not a list in protobuf")

    def _take(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            self._fill(length)
        start, self._at = self._at, self._at + length
        return self._data[start : self._at]

    def _fill(self, length: int) -> None:
        """Read pieces until so many bytes are in memory."""
        parts = [self._data[self._at :]]
        missing = length - len(parts[0])
        while missing > 0:
            piece = next(self._pieces, None)
            if piece is None:
                raise EOFError
            parts.append(piece)
            missing -= len(piece)
        self._data, self._at = b"".join(parts), 0
