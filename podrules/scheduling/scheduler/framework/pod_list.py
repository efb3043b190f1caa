"""Long lists of pods that differ in a few pods: the common part is stored once.

A list is a base that it shares with others, the places of the base that it keeps, and a short tail of its own. A tail
that has grown long becomes a new base together with what was kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from podrules.api.model.pod import Pod

_LONGEST_TAIL: Final = 1024

Places = NDArray[np.int64]


class _Base:
    def __init__(self, pods: tuple[Pod, ...]) -> None:
        self.pods = pods

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """By uid."""
        found: dict[str, list[int]] = {}
        for place, pod in enumerate(self.pods):
            found.setdefault(pod.metadata.uid, []).append(place)
        return found


class PodList(Sequence[Pod]):
    """Pods in order; never changes."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._base = _Base(tuple(pods))
        self._kept: Places | None = None
        """Places in the base, rising; None: all."""
        self._tail: tuple[Pod, ...] = ()

    def __len__(self) -> int:
        return self._in_base + len(self._tail)

    def __iter__(self) -> Iterator[Pod]:
        pods = self._base.pods
        kept = pods if self._kept is None else map(pods.__getitem__, self._kept.tolist())
        return chain(kept, self._tail)

    @overload
    def __getitem__(self, place: int) -> Pod: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Pod]: ...
    def __getitem__(self, place: int | slice) -> Pod | Sequence[Pod]:
        if isinstance(place, slice):
            return tuple(self)[place]
        place = range(len(self))[place]
        if place >= self._in_base:
            return self._tail[place - self._in_base]
        return self._base.pods[place if self._kept is None else self._kept[place]]

    def places(self, uids: frozenset[str]) -> Places:
        """Where pods with these uids stand, in order."""
        known = self._base.places
        found = np.array([place for uid in uids for place in known.get(uid, ())], np.int64)
        if self._kept is not None:
            at = np.searchsorted(self._kept, found)
            found = at[(at < self._in_base) & (np.append(self._kept, -1)[at] == found)]
        tail = [self._in_base + place for place, pod in enumerate(self._tail) if pod.metadata.uid in uids]
        return np.sort(np.append(found, np.array(tail, np.int64)))

    def adding(self, pods: Sequence[Pod]) -> PodList:
        """The same list with more at its end."""
        tail = (*self._tail, *pods)
        if len(tail) > _LONGEST_TAIL:
            return PodList(chain(self, pods))
        return self._with(self._kept, tail)

    def removing(self, places: Places) -> PodList:
        """The same list without the pods at some places."""
        kept = np.arange(self._in_base) if self._kept is None else self._kept
        gone = frozenset((places - self._in_base).tolist())
        tail = tuple(pod for place, pod in enumerate(self._tail) if place not in gone)
        return self._with(np.delete(kept, places[places < self._in_base]), tail)

    @property
    def _in_base(self) -> int:
        return len(self._base.pods) if self._kept is None else len(self._kept)

    def _with(self, kept: Places | None, tail: tuple[Pod, ...]) -> PodList:
        found = PodList.__new__(PodList)
        found._base, found._kept, found._tail = self._base, kept, tail  # noqa: SLF001 - its own
        return found
