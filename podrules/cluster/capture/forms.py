r"""Stores what many models share once, as their form, and for each model its own texts.

A form is a model's MessagePack with made-up texts where own ones belong: in fields, and where a pattern finds them, as
it does times. A pattern may also find a text inside another one. So the first model of a form is made anew from its own
texts; where that does not give the model itself, all models of this form are kept whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from podrules.cluster.wire.recipe import Fill, Place, recipe
from podrules.model.decode import dec_hook

__all__ = ["Column", "Form", "Forms", "Own", "texts"]

T = TypeVar("T", bound=Struct)

Own = tuple[str, ...]
"""Own texts of a model: of fields, and then those that were found."""
_MAX_OWN: Final = 1 << 10
_SIZE: Final = 20
"""Of a made-up text, in bytes."""
_MADE_UP: Final = tuple(f"\0{index:0{_SIZE - 1}}" for index in range(_MAX_OWN))


class Form(Struct, frozen=True, array_like=True, gc=False):
    """What models share."""

    raw: bytes
    """MessagePack."""
    own: Annotated[int, msgspec.Meta(ge=0, le=_MAX_OWN)]
    """How many texts each has."""

    def fill(self, model: type[Struct]) -> Fill:
        """How models of this form are made.

        Raises:
            ValueError: it is no form of such models.
        """
        made_up = msgspec.msgpack.decode(self.raw, type=model, dec_hook=dec_hook)
        return recipe(made_up, {text: Place(index) for index, text in enumerate(_MADE_UP[: self.own])})


class Column(Struct, frozen=True, array_like=True, gc=False):
    """Models of one type, in their order."""

    forms: tuple[Form, ...]
    places: tuple[int, ...]
    """Of each model's form."""
    own: tuple[Own, ...]

    def models(self, model: type[T]) -> list[T]:
        """All of them.

        Raises:
            ValueError, IndexError: these are no such models.
        """
        fills = [form.fill(model) for form in self.forms]
        return [fills[place](own) for place, own in zip(self.places, self.own, strict=True)]


class Forms(Generic[T]):
    """Takes models of one type apart, for a `Column`."""

    def __init__(self, own: Sequence[str], found: re.Pattern[bytes] | None = None) -> None:
        """None yet.

        Args:
            own: Fields with own texts.
            found: Matches other own texts in MessagePack; see `texts`. One that comes again in a model is kept once.
        """
        self._own_fields = own
        self._found = found
        self._encode = msgspec.msgpack.Encoder(enc_hook=str).encode
        self._forms: list[Form] = []
        self._models: list[int] = []
        self._texts: list[Own] = []
        self._places: dict[tuple[object, ...], int | None] = {}
        """By what models share; None: they are kept whole."""
        self._whole: dict[bytes, int] = {}

    def column(self) -> Column:
        """What was added."""
        return Column(tuple(self._forms), tuple(self._models), tuple(self._texts))

    def add(self, model: T) -> None:
        """Put a model behind the others."""
        own = {name: value for name in self._own_fields if (value := getattr(model, name)) is not None}
        raw = self._encode(replace(model, **dict(zip(own, _MADE_UP, strict=False))))
        pieces = self._found.split(raw) if self._found else [raw]
        kinds: dict[bytes, int] = {}
        order = [kinds.setdefault(piece, len(kinds)) for piece in pieces[1::2]]
        texts = (*own.values(), *(piece[1:].decode() for piece in kinds))
        key = (*order, *pieces[::2])
        if key not in self._places:
            self._places[key] = self._new(model, pieces, [len(own) + kind for kind in order], texts)
        place = self._places[key]
        self._models.append(self._place_of_whole(model) if place is None else place)
        self._texts.append(() if place is None else texts)

    def _new(self, model: T, pieces: list[bytes], order: Sequence[int], texts: Own) -> int | None:
        if len(texts) > _MAX_OWN or not set(_MADE_UP).isdisjoint(texts):
            return None
        pieces[1::2] = (b"%c%b" % (0xA0 | _SIZE, _MADE_UP[index].encode()) for index in order)
        form = Form(b"".join(pieces), len(texts))
        try:
            return self._added(form) if form.fill(type(model))(texts) == model else None
        except ValueError:
            return None

    def _place_of_whole(self, model: T) -> int:
        raw = self._encode(model)
        if raw not in self._whole:
            self._whole[raw] = self._added(Form(raw, 0))
        return self._whole[raw]

    def _added(self, form: Form) -> int:
        self._forms.append(form)
        return len(self._forms) - 1


def texts(pattern: bytes, size: int) -> re.Pattern[bytes]:
    """Matches texts in MessagePack.

    Args:
        pattern: Of a whole text.
        size: Of all that it matches, in bytes, below 32.
    """
    return re.compile(b"(\\x%02x%b)" % (0xA0 | size, pattern))
