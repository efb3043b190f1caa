"""Reads lists in pages that fit into memory, however large their objects are.

An object may take megabytes, so a page of 500 objects may take gigabytes of JSON. A page that is too long is requested
again with fewer objects; the pages after it grow again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from podrules.cluster.errors import TooLong

__all__ = ["Pages"]

T = TypeVar("T")
_SHRINK: Final = 4
_GROW: Final = 2


class Pages:
    """Chooses how many objects each page of one list requests."""

    def __init__(self, most: int) -> None:
        """Begin with the largest page."""
        self._most = most
        self._size = most

    def read(self, page: Callable[[int], T]) -> T:
        """Read the next page with a function that takes the number of objects.

        Raises:
            TooLong: a single object is longer than the limit.
        """
        while True:
            try:
                answer = page(self._size)
            except TooLong:
                if self._size == 1:
                    raise
                self._size = max(1, self._size // _SHRINK)
            else:
                self._size = min(self._most, self._size * _GROW)
                return answer
