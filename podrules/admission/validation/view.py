"""Reads a struct of an object as the API server holds it after decoding: what is absent or null has its zero value.

The object has passed `podrules.api.schema.strict`, so that every value has its field's type. A plain text, number or
boolean that is absent is the same as an empty one (`text`, `number`); a pointer distinguishes them (`has`, `pointer`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podrules.api.model.decode import key_text
from podrules.api.model.quantity import Quantity


class View:
    """A struct within an object, and its path."""

    __slots__ = ("content", "path")

    def __init__(self, content: Mapping[str, Any] | None, path: str) -> None:
        self.content: Mapping[str, Any] = content or {}
        self.path = path

    def at(self, field: str) -> str:
        """The path of a field below."""
        return f"{self.path}.{field}" if self.path else field

    def has(self, name: str) -> bool:
        """Whether a field is there at all."""
        return self.content.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """A text; the default where it is absent or empty."""
        return self.content.get(name) or default

    def pointer(self, name: str) -> str | None:
        """A text that may be absent, null or empty, and is not the same each time."""
        found: str | None = self.content.get(name)
        return found

    def number(self, name: str) -> int | None:
        """An integer; None where it is absent."""
        found = self.content.get(name)
        return None if found is None else int(found)

    def flag(self, name: str) -> bool | None:
        """A boolean; None where it is absent."""
        found: bool | None = self.content.get(name)
        return found

    def port(self, name: str) -> int | str | None:
        """A number or a text (IntOrString); None where it is absent."""
        found = self.content.get(name)
        return int(found) if isinstance(found, float) else found

    def quantity(self, name: str) -> Quantity | None:
        """An amount; None where it is absent."""
        found = self.content.get(name)
        return None if found is None else Quantity.from_json(found)

    def struct(self, name: str) -> View:
        """A struct below; an empty one where it is absent."""
        return View(self.content.get(name), self.at(name))

    def structs(self, name: str) -> Sequence[View]:
        """A list of structs."""
        found = self.content.get(name)
        if not found:
            return ()
        path = self.at(name)
        return [View(entry, f"{path}[{index}]") for index, entry in enumerate(found)]

    def texts(self, name: str) -> Sequence[str]:
        """A list of texts."""
        found = self.content.get(name)
        return [entry or "" for entry in found] if found else ()

    def numbers(self, name: str) -> Sequence[int]:
        """A list of integers."""
        return [int(entry or 0) for entry in self.content.get(name) or ()]

    def texts_by_key(self, name: str) -> Mapping[str, str]:
        """A map of texts."""
        found = self.content.get(name)
        return {key_text(key): entry or "" for key, entry in found.items()} if found else {}

    def amounts(self, name: str) -> Mapping[str, Quantity]:
        """A map of amounts."""
        found = self.content.get(name)
        return {key_text(key): _amount(entry) for key, entry in found.items()} if found else {}


def _amount(entry: Any) -> Quantity:
    return Quantity.parse("0") if entry is None else Quantity.from_json(entry)
