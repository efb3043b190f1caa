"""How the API server validates values that are a number or a share, such as ``maxUnavailable``.

Source: pkg/apis/apps/validation/validation.go at v1.37.1 (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent,
getIntOrPercentValue).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from podrules.admission.validation.errors import TypedText, invalid
from podrules.admission.validation.formats import percent
from podrules.api.model.field_error import FieldError
from podrules.api.model.quantity import whole_number

IntOrPercent = int | str
_ALL: Final = 100


def validate_positive_int_or_percent(value: IntOrPercent, path: str) -> Iterator[FieldError]:
    """Hold a value against the rule that it is a share, or a number not below zero."""
    if isinstance(value, str):
        for problem in percent(value):
            yield invalid(path, TypedText(value), problem)
    elif value < 0:
        yield invalid(path, value, "must be greater than or equal to 0")


def validate_not_more_than_all(value: IntOrPercent, path: str) -> Iterator[FieldError]:
    """Hold a value against the rule that a share is no more than 100%."""
    if isinstance(value, str) and not percent(value) and int_or_percent(value) > _ALL:
        yield invalid(path, TypedText(value), "must not be greater than 100%")


def int_or_percent(value: IntOrPercent) -> int:
    """The number of a value, of so many or so many percent; 0 where it is neither."""
    if isinstance(value, int):
        return value
    number = value if percent(value) else value.removesuffix("%")
    return whole_number(number) if re.fullmatch("[-+]?[0-9]+", number) else 0
