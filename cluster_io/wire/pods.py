"""Decodes pods from protobuf: pods are most of a large cluster's objects, and most pods are similar.

Fields that the models lack are dropped first: managed fields, addresses, containers' ids. Metadata, spec and status are
then decoded by their shape. These values still differ between pods of one shape:

    metadata    name, uid, resourceVersion, creationTimestamp
    spec        nodeName, and the name of the volume with the token
    status      times

A pattern finds such values in the bytes: places, each with its length before it. The bytes between the places are the
message's shape. A shape that occurs twice is learned:

    decode with a made-up value in each place      shows which fields of the model each value fills
    fill in the message's own values               has to give the same as the ordinary way

After that, messages of that shape are cut at the same places and filled in, without the pattern. The pattern affects
only the speed, not the result. It may match by chance, for instance inside a text: the made-up value then appears where
nothing can be filled in, or breaks the message, and messages of that shape are always decoded the ordinary way.

In messages of one shape all bytes outside the places are equal, also the lengths, and have the same positions. So a
place is the content of the same field in all of them, whatever its value.

Source: k8s.io/api/core/v1/generated.proto (Pod, PodSpec, PodStatus) and
k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto (ObjectMeta) at v0.36.3;
plugin/pkg/admission/serviceaccount/admission.go (the volume's name) at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from struct import Struct as Cut
from typing import Any, Final, Generic, TypeVar, cast

from google.protobuf.message import DecodeError as NotProtobuf
from msgspec import Struct

from cluster_io.kinds import PODS, Kind
from cluster_io.wire.codec import Codec
from cluster_io.wire.recipe import Fill, TextPlace, recipe
from podrules.api.model.base import KubeObject, ObjectMeta
from podrules.api.model.pod import Pod, PodSpec, PodStatus

S = TypeVar("S", bound=Struct)
Pieces = tuple[bytes, ...]
"""A message in pieces: a shared piece, then a place's content and a shared piece in turn."""

_MAX_SHAPES: Final = 1 << 14
"""How many shapes are remembered: memory stays bounded when nothing repeats."""
_MAX_CUTS_OF_SIZE: Final = 8
"""How many ways to cut messages of one size are tried."""
_CREDIT: Final = 2048
"""Once so many more messages had a new shape than a known one, the messages are not alike, and learning stops."""
_NO_CUTS: Final[Mapping[Cut, Mapping[Pieces, Fill]]] = {}
TIME: Final = rb"\x08\x08[\x80-\xff]{4}[\x01-\x7f]\x10\x00"
"""The pattern of a metav1.Time from 1978 on, as Go writes it."""
_TIME: Final = re.compile(TIME[4:])
_MADE_UP_TIME: Final = 1 << 34
"""Seconds since 1970: a time in the year 2514."""


def text_place(characters: bytes, sizes: range) -> bytes:
    """A pattern for a place with a text.

    Args:
        characters: The characters of the text, in square brackets.
        sizes: Possible sizes in bytes, below 128, so that the length takes one byte.
    """
    return b"|".join(b"\\x%02x%b{%d}" % (size, characters, size) for size in sizes)


class Alike(Generic[S]):
    """Decodes messages of one type, and learns the shapes that repeat."""

    def __init__(
        self,
        decode: Callable[[bytes], S],
        time: Callable[[bytes], str | None],
        places: bytes,
        most: int | None = None,
    ) -> None:
        """Begin without any shape.

        Args:
            decode: Decodes a message in the ordinary way.
            time: Gives the text of a metav1.Time.
            places: A pattern for places, each with its length.
            most: The most places to find; None: all.
        """
        self._ordinary = decode
        self._time = time
        self._places = re.compile(places, re.DOTALL)
        self._most = most
        self._credit = _CREDIT
        self._seen: set[int] = set()
        self._cuts: dict[int, dict[Cut, dict[Pieces, Fill]]] = {}
        """By the message's size: the ways to cut it, and for each shape the function that fills it in."""
        self._kept = 0

    @property
    def pays(self) -> bool:
        """Whether enough messages have repeated a shape so far."""
        return self._credit > 0

    def decode(self, raw: bytes) -> S:
        """Decode one message.

        Raises:
            NotProtobuf: the bytes are not such a message.
            ValueError: a field does not fit its type.
        """
        for cut, fills in self._cuts.get(len(raw), _NO_CUTS).items():
            pieces = cut.unpack(raw)
            fill = fills.get(pieces[::2])
            if fill is not None:
                self._credit += 1
                return cast("S", fill(pieces))
        return self._decode_new_shape(raw) if self.pays else self._ordinary(raw)

    def _decode_new_shape(self, raw: bytes) -> S:
        """Decode a message of an unknown shape; learn the shape when it occurs the second time."""
        self._credit -= 1
        at, sizes = 0, []
        for place in islice(self._places.finditer(raw), self._most):
            start, end = place.start() + 1, place.end()
            sizes += [start - at, end - start]
            at = end
        cut = Cut("".join(f"{size}s" for size in (*sizes, len(raw) - at)))
        pieces = cut.unpack(raw)
        mark = hash((cut.format, pieces[::2]))
        if mark not in self._seen:
            if len(self._seen) >= _MAX_SHAPES:
                self._seen.clear()
            self._seen.add(mark)
            return self._ordinary(raw)
        fill = self._learned(pieces) or self._joined
        if self._kept >= _MAX_SHAPES:
            self._cuts.clear()
            self._kept = 0
        ways = self._cuts.setdefault(len(raw), {})
        same = next((way for way in ways if way.format == cut.format), cut)
        if same in ways or len(ways) < _MAX_CUTS_OF_SIZE:
            ways.setdefault(same, {})[cut.unpack(raw)[::2]] = fill
            self._kept += 1
        return cast("S", fill(pieces))

    def _joined(self, pieces: Sequence[bytes]) -> S:
        return self._ordinary(b"".join(pieces))

    def _learned(self, pieces: Pieces) -> Fill | None:
        """A function that fills in messages of this shape; None: they cannot be filled in."""
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

    def _fill(self, model: S, made_up: Sequence[bytes]) -> Fill:
        """A function that makes models of pieces, learned from a model with made-up values."""
        places: dict[str | None, TextPlace] = {}
        for index, place in enumerate(made_up):
            read = self._time if _TIME.fullmatch(place) else bytes.decode
            places[read(place)] = TextPlace(2 * index + 1, read)
        return recipe(model, places)


def _made_up(place: bytes, index: int) -> bytes:
    """A made-up value of the same length for a place; different for each place, if the length allows it."""
    if not _TIME.fullmatch(place):
        return b"%0*d" % (len(place), index % 10 ** len(place))
    seconds = _MADE_UP_TIME + index
    return b"\x08%b%c\x10\x00" % (bytes(0x80 | seconds >> shift & 0x7F for shift in (0, 7, 14, 21)), seconds >> 28)


T = TypeVar("T", bound=KubeObject)

_NAME: Final = text_place(rb"[a-z0-9.-]", range(1, 128))
_IN_METADATA: Final = rb"(?<=[\x0a\x2a\x32\x42])(?:" + TIME + rb"|" + _NAME + rb")"
"""name = 1, uid = 5, resourceVersion = 6, creationTimestamp = 8."""
_MAX_IN_METADATA: Final = 4
_IN_SPEC: Final = rb"\x15kube-api-access-[a-z0-9]{5}|(?<=\x52)(?:" + _NAME + rb")"
"""The name of the token volume; nodeName = 10."""


class PodCodec(Codec[Pod]):
    """Decodes pods, and remembers their shapes."""

    def __init__(self) -> None:
        """Begin without any shape."""
        super().__init__(PODS)
        time = self.decoder(None, "meta.Time")
        metadata = self.decoder(ObjectMeta, "meta.ObjectMeta")
        self._metadata = Alike[ObjectMeta](metadata, time, _IN_METADATA, _MAX_IN_METADATA)
        self._spec = Alike[PodSpec](self.decoder(PodSpec, "core.PodSpec"), time, _IN_SPEC)
        self._status = Alike[PodStatus](self.decoder(PodStatus, "core.PodStatus"), time, TIME)

    def decode(self, raw: bytes) -> Pod:
        """See `Codec.decode`; it also decodes what fails here, to raise its error."""
        if not (self._metadata.pays or self._spec.pays or self._status.pays):
            return super().decode(raw)
        try:
            pod: Any = self.narrowed(raw)
            return Pod(
                self._metadata.decode(pod.metadata.SerializeToString()),
                self._spec.decode(pod.spec.SerializeToString()),
                self._status.decode(pod.status.SerializeToString()),
            )
        except (NotProtobuf, ValueError, OverflowError):
            return super().decode(raw)


def codec_of(kind: Kind[T]) -> Codec[T]:
    """The fastest codec for a kind."""
    return cast("Codec[T]", PodCodec()) if cast("Any", kind) is PODS else Codec(kind)
