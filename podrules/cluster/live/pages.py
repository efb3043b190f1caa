"""Reads lists in pages that fit into memory, however large their objects are.

A page has as many objects as were asked for, and an object may have megabytes: 500 of the largest are some gigabytes of
JSON. A page that is too long is asked for anew with fewer objects; after it, pages grow again.
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
    """How many objects the next page of one list is asked for."""

    def __init__(self, most: int) -> None:
        """Begin with the most objects that a page may have."""
        self._most = most
        self._size = most

    def read(self, page: Callable[[int], T]) -> T:
        """A page by a function that reads one of so many objects.

        Raises:
            TooLong: one object alone is longer than what is read.
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
