r"""Stores what many models share only once, as their form, and the own texts of each model.

A form is a model's MessagePack with placeholders for its own texts: in some fields, and where a pattern finds them,
such as times. A pattern may match inside another text by chance. So the first model of a form is rebuilt from its own
texts; if the result differs from the model, all models of this form are stored whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from cluster_io.wire.recipe import Fill, TextPlace, recipe
from podrules.api.model.decode import dec_hook

Value = TypeVar("T", bound=Struct)

Own = tuple[str, ...]
"""A model's own texts: first those of fields, then those that the pattern found."""
_MAX_OWN: Final = 1 << 10
_PLACEHOLDER_SIZE: Final = 20
"""Bytes of a placeholder."""
_PLACEHOLDERS: Final = tuple(f"\0{index:0{_PLACEHOLDER_SIZE - 1}}" for index in range(_MAX_OWN))


class Form(Struct, frozen=True, array_like=True, gc=False):
    """The part that similar models share."""

    raw: bytes
    """MessagePack with placeholders."""
    own: Annotated[int, msgspec.Meta(ge=0, le=_MAX_OWN)]
    """How many own texts each model has."""

    def fill(self, model: type[Struct]) -> Fill:
        """A function that makes models of this form from their own texts.

        Raises:
            ValueError: the bytes are not a form of such models.
        """
        template = msgspec.msgpack.decode(self.raw, type=model, dec_hook=dec_hook)
        return recipe(template, {text: TextPlace(index) for index, text in enumerate(_PLACEHOLDERS[: self.own])})


class Column(Struct, frozen=True, array_like=True, gc=False):
    """Models of one type, in their order, split into forms and own texts."""

    forms: tuple[Form, ...]
    places: tuple[int, ...]
    """For each model, the index of its form."""
    own: tuple[Own, ...]

    def models(self, model: type[Value]) -> list[Value]:
        """Make all models.

        Raises:
            ValueError, IndexError: the column does not hold such models.
        """
        fills = [form.fill(model) for form in self.forms]
        return [fills[place](own) for place, own in zip(self.places, self.own, strict=True)]


class Forms(Generic[Value]):
    """Splits models of one type into forms and own texts, for a `Column`."""

    def __init__(self, own: Sequence[str], found: re.Pattern[bytes] | None = None) -> None:
        """Begin without models.

        Args:
            own: Fields with own texts.
            found: Matches other own texts in MessagePack; see `texts`. A repeated text of a model is stored once.
        """
        self._own_fields = own
        self._found = found
        self._encode = msgspec.msgpack.Encoder(enc_hook=str).encode
        self._forms: list[Form] = []
        self._models: list[int] = []
        self._texts: list[Own] = []
        self._places: dict[tuple[object, ...], int | None] = {}
        """Indexes of forms by what models share; None: such models are stored whole."""
        self._whole: dict[bytes, int] = {}

    def column(self) -> Column:
        """All models that were added."""
        return Column(tuple(self._forms), tuple(self._models), tuple(self._texts))

    def add(self, model: Value) -> None:
        """Append a model."""
        own = {name: value for name in self._own_fields if (value := getattr(model, name)) is not None}
        raw = self._encode(replace(model, **dict(zip(own, _PLACEHOLDERS, strict=False))))
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

    def _new(self, model: Value, pieces: list[bytes], order: Sequence[int], texts: Own) -> int | None:
        if len(texts) > _MAX_OWN or not set(_PLACEHOLDERS).isdisjoint(texts):
            return None
        pieces[1::2] = (b"%c%b" % (0xA0 | _PLACEHOLDER_SIZE, _PLACEHOLDERS[index].encode()) for index in order)
        form = Form(b"".join(pieces), len(texts))
        try:
            return self._added(form) if form.fill(type(model))(texts) == model else None
        except ValueError:
            return None

    def _place_of_whole(self, model: Value) -> int:
        raw = self._encode(model)
        if raw not in self._whole:
            self._whole[raw] = self._added(Form(raw, 0))
        return self._whole[raw]

    def _added(self, form: Form) -> int:
        self._forms.append(form)
        return len(self._forms) - 1


def texts(pattern: bytes, size: int) -> re.Pattern[bytes]:
    """A pattern that matches texts in MessagePack.

    Args:
        pattern: Matches a whole text.
        size: Bytes of every text that it matches, below 32.
    """
    return re.compile(b"(\\x%02x%b)" % (0xA0 | size, pattern))
