"""Builds similar models from the values in which they differ; all other parts are shared.

The models of a large cluster are alike but for such values. What makes one is written down once, as a Python
expression, and `eval` takes a third of the time of walking through the model. The expression holds names and numbers of
our own alone (``c0``, ``own[1]``): what a model holds reaches it as an argument and is never part of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

Fill = Callable[[Sequence[Any]], Any]
"""A model, from own values; an IndexError where there are too few."""

_MAX_CONSTANTS: Final = 1 << 14
"""The most in one expression, which Python takes much memory to compile; the largest pods have some hundreds."""


class TextPlace(NamedTuple):
    """Where an own value comes from."""

    at: int
    """Among the values."""
    read: Callable[[Any], str | None] | None = None
    """How it becomes the model's text; None: it is that."""


def recipe(model: Struct, places: Mapping[str | None, TextPlace]) -> Fill:
    """How models like this one are made.

    Args:
        model: Has a made-up text in each place that takes an object's own value.
        places: By made-up text.

    Raises:
        ValueError: there is too much to it.
    """
    writer = _Writer(places)
    made = writer.expression(model)
    if made is None:
        return lambda _: model
    bind: Callable[..., Fill] = eval(_compiled(len(writer.constants), made))  # noqa: S307 - nothing of a model is in it
    return bind(*writer.constants)


class _Writer:
    """Writes an expression of the own values, of constants by their names, and of nothing else."""

    def __init__(self, places: Mapping[str | None, TextPlace]) -> None:
        self.constants: list[Any] = []
        self._places = places

    def expression(self, value: Any) -> str | None:
        """How a part of the model is made; None: it has no made-up text in it."""
        if isinstance(value, str):
            return self._own(self._places[value]) if value in self._places else None
        if isinstance(value, Struct):
            parts = self._parts(astuple(value))
            return parts and f"{self._constant(type(value))}({parts})"
        return (parts := self._parts(value)) and f"({parts},)" if isinstance(value, tuple) else None

    def _own(self, place: TextPlace) -> str:
        value = f"own[{place.at}]"
        return value if place.read is None else f"{self._constant(place.read)}({value})"

    def _parts(self, parts: Sequence[Any]) -> str | None:
        made = [self.expression(part) for part in parts]
        if not any(made):
            return None
        return ", ".join(how or self._constant(part) for how, part in zip(made, parts, strict=True))

    def _constant(self, value: Any) -> str:
        if len(self.constants) == _MAX_CONSTANTS:
            raise ValueError("a model has too many parts")
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"


@lru_cache
def _compiled(constants: int, made: str) -> CodeType:
    """Models of one form have the same text."""
    names = ", ".join(f"c{index}" for index in range(constants))
    return compile(f"lambda {names}: lambda own: {made}", "<recipe>", "eval")
