"""Field selectors over objects that are here, raw or as models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

__all__ = ["FieldTerm"]


class FieldTerm:
    """One term of a field selector: ``path=value``, ``path==value`` or ``path!=value`` (fields.ParseSelector)."""

    def __init__(self, text: str) -> None:
        path, unequal, value = text.partition("!=")
        if not unequal:
            path, _, value = text.partition("=")
        self._path = path.split(".")
        self._value = value if unequal else value.removeprefix("=")
        self._equal = not unequal

    def matches(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object has the value, or has another; a field that is not set is empty."""
        value: Any = raw
        for name in self._path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return ((value or "") == self._value) is self._equal

    def matches_model(self, model: Struct) -> bool:
        """The same of a model; a field that it does not hold is empty."""
        value: Any = model
        for name in self._path:
            value = getattr(value, _attributes(type(value)).get(name, ""), None) if isinstance(value, Struct) else None
        return ((value or "") == self._value) is self._equal


@lru_cache
def _attributes(model: type[Struct]) -> Mapping[str, str]:
    """Attributes by the names that JSON has."""
    return dict(zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True))
