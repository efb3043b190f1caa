"""Caches what a function computes from an immutable value, next to that value.

A function that is a key stands at module level; one with parameters is a frozen Struct with ``__call__``. The least
recently used results are dropped when there are too many: each pod has its own selectors and tolerations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from podrules.api.model.snapshot import ClusterSnapshot

T = TypeVar("T")
A = TypeVar("A", bound=np.generic)

_MOST: Final = 256
"""Columns of 5,000 nodes take 40 kB each."""


class ResultCache:
    """Results by what made them."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result under a key, made now if it has not been."""
        found: T = self._found.pop(key) if key in self._found else make()
        self._found[key] = found
        if len(self._found) > _MOST:
            del self._found[next(iter(self._found))]
        return found

    def following(self, follow: Callable[[Any], Any]) -> ResultCache:
        """Each result as the function returns it, without those for which it returns None."""
        made = ResultCache()
        made._found = {key: new for key, found in self._found.items() if (new := follow(found)) is not None}
        return made


class Columns:
    """A value with what is made of it alone, and of it and a snapshot."""

    def __init__(self) -> None:
        self._made = ResultCache()
        self._snapshot: ClusterSnapshot | None = None
        self._with_snapshot = ResultCache()

    def derived(self, build: Callable[[Self], T]) -> T:
        """What a function makes of this, made once."""
        return self._made.of(build, lambda: build(self))

    def derived_with(self, snapshot: ClusterSnapshot, build: Callable[[Self, ClusterSnapshot], T]) -> T:
        """What a function makes of this and of a snapshot's other objects, made once for the snapshot last asked of."""
        if self._snapshot is not snapshot:
            self._snapshot, self._with_snapshot = snapshot, ResultCache()
        return self._with_snapshot.of(build, lambda: build(self, snapshot))


def frozen(column: NDArray[A]) -> NDArray[A]:
    """The same array, read-only, because many callers share it."""
    column.flags.writeable = False
    return column
