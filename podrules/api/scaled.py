"""Numbers of pods that may be percentages of the replicas.

Source: pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent) in k8s.io/apimachinery at v0.36.3.
"""

from __future__ import annotations

import re
from typing import Final

_PERCENTAGE: Final = re.compile(r"([0-9]{1,9})%", re.ASCII)


def percentage(text: str) -> int | None:
    """The number before the sign; None: the text is not a percentage."""
    match = _PERCENTAGE.fullmatch(text)
    return None if match is None else int(match[1])


def scaled(value: int | str, replicas: int, *, up: bool) -> int | None:
    """The number of pods, rounded up or down; None: the text is not a percentage."""
    if isinstance(value, int):
        return value
    percent = percentage(value)
    if percent is None:
        return None
    return -(-percent * replicas // 100) if up else percent * replicas // 100
