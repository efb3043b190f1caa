"""Decodes one of many similar messages, and fills in the differing values of the others.

Pods of one template differ in names, times and addresses. A pattern finds such values in the bytes: places, each with
its length before it. What stands between them is the message's shape. A shape that comes again is learned:

    decode with a made-up value in each place      which fields of the model does each value feed?
    fill the message's own values into that        is it what the ordinary way gives?

Then messages of that shape are cut at the same places and filled in, with no look at the pattern: it decides how quick
this is, and not what comes out. It may match by chance, in a text for one: the made-up value then shows up where
nothing can be filled in, or breaks the message, and messages of that shape are decoded the ordinary way for good.

In messages of one shape all bytes but those in places are the same, lengths among them, and stand where they stood. So
a place is the content of the same field in all of them, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from struct import Struct as Cut
from typing import Final, Generic, TypeVar, cast

from google.protobuf.message import DecodeError as NotProtobuf
from msgspec import Struct

from podrules.cluster.wire.recipe import Fill, Place, recipe

__all__ = ["TIME", "Alike", "text_place"]

T = TypeVar("T", bound=Struct)
Pieces = tuple[bytes, ...]
"""A message cut: what is shared, then in turn a place's content and what is shared."""

_KEPT: Final = 1 << 14
"""Shapes that are remembered: memory stays bounded where nothing repeats."""
_CUTS_OF_SIZE: Final = 8
"""Ways to cut messages of one size that are tried."""
_CREDIT: Final = 2048
"""Messages more that have a new shape than an old one: then they are not alike, and no shape is looked for any more."""
_NO_CUTS: Final[Mapping[Cut, Mapping[Pieces, Fill]]] = {}
TIME: Final = rb"\x08\x08[\x80-\xff]{4}[\x01-\x7f]\x10\x00"
"""A place: a metav1.Time from 1978 on, as Go writes it."""
_TIME: Final = re.compile(TIME[4:])
_MADE_UP_TIME: Final = 1 << 34
"""Seconds; in the year 2514."""


def text_place(characters: bytes, sizes: range) -> bytes:
    """A pattern for a place with a text.

    Args:
        characters: That the text consists of, in square brackets.
        sizes: In bytes, below 128: so the length takes one byte.
    """
    return b"|".join(b"\\x%02x%b{%d}" % (size, characters, size) for size in sizes)


class Alike(Generic[T]):
    """Decodes messages of one type."""

    def __init__(
        self,
        decode: Callable[[bytes], T],
        time: Callable[[bytes], str | None],
        places: bytes,
        most: int | None = None,
    ) -> None:
        """Nothing is learned yet.

        Args:
            decode: The ordinary way.
            time: The text of a metav1.Time.
            places: A pattern for places, each with its length.
            most: So many places are looked for; None: all.
        """
        self._ordinary = decode
        self._time = time
        self._places = re.compile(places, re.DOTALL)
        self._most = most
        self._credit = _CREDIT
        self._met: set[int] = set()
        self._cuts: dict[int, dict[Cut, dict[Pieces, Fill]]] = {}
        """By size, the ways to cut messages, and how those of a shape are filled in."""
        self._kept = 0

    @property
    def pays(self) -> bool:
        """Whether enough messages were alike so far."""
        return self._credit > 0

    def decode(self, raw: bytes) -> T:
        """One message.

        Raises:
            NotProtobuf: these are not the bytes of one.
            ValueError: a field is not what its type says.
        """
        for cut, fills in self._cuts.get(len(raw), _NO_CUTS).items():
            pieces = cut.unpack(raw)
            fill = fills.get(pieces[::2])
            if fill is not None:
                self._credit += 1
                return cast("T", fill(pieces))
        return self._met_once(raw) if self.pays else self._ordinary(raw)

    def _met_once(self, raw: bytes) -> T:
        """Learn a shape when it comes again: what comes once is not worth it."""
        self._credit -= 1
        at, sizes = 0, []
        for place in islice(self._places.finditer(raw), self._most):
            start, end = place.start() + 1, place.end()
            sizes += [start - at, end - start]
            at = end
        cut = Cut("".join(f"{size}s" for size in (*sizes, len(raw) - at)))
        pieces = cut.unpack(raw)
        mark = hash((cut.format, pieces[::2]))
        if mark not in self._met:
            if len(self._met) >= _KEPT:
                self._met.clear()
            self._met.add(mark)
            return self._ordinary(raw)
        fill = self._learned(pieces) or self._joined
        self._keep(raw, cut, fill)
        return cast("T", fill(pieces))

    def _keep(self, raw: bytes, cut: Cut, fill: Fill) -> None:
        if self._kept >= _KEPT:
            self._cuts.clear()
            self._kept = 0
        ways = self._cuts.setdefault(len(raw), {})
        same = next((way for way in ways if way.format == cut.format), cut)
        if same in ways or len(ways) < _CUTS_OF_SIZE:
            ways.setdefault(same, {})[cut.unpack(raw)[::2]] = fill
            self._kept += 1

    def _joined(self, pieces: Sequence[bytes]) -> T:
        return self._ordinary(b"".join(pieces))

    def _learned(self, pieces: Pieces) -> Fill | None:
        """How messages of this one's shape are filled in; None: they cannot be."""
        own = pieces[1::2]
        made_up = [_made_up(place, index) for index, place in enumerate(own)]
        if len({*made_up, *own}) < len(made_up) + len(set(own)):
            return None
        mixed = [*pieces]
        mixed[1::2] = made_up
        try:
            fill = self._fill(self._ordinary(b"".join(mixed)), made_up)
            return fill if fill(pieces) == self._joined(pieces) else None
        except (NotProtobuf, ValueError):
            return None

    def _fill(self, model: T, made_up: Sequence[bytes]) -> Fill:
        """How models are made of pieces, told by one with made-up values."""
        places: dict[str | None, Place] = {}
        for index, place in enumerate(made_up):
            read = self._time if _TIME.fullmatch(place) else bytes.decode
            places[read(place)] = Place(2 * index + 1, read)
        return recipe(model, places)


def _made_up(place: bytes, index: int) -> bytes:
    """Another value for a place, as long as its own; no other place's, if it is long enough for that."""
    if not _TIME.fullmatch(place):
        return b"%0*d" % (len(place), index % 10 ** len(place))
    seconds = _MADE_UP_TIME + index
    return b"\x08%b%c\x10\x00" % (bytes(0x80 | seconds >> shift & 0x7F for shift in (0, 7, 14, 21)), seconds >> 28)
