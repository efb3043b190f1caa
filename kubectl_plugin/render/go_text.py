"""Values of JSON as Go prints them, so that templates print what kubectl prints.

Source: fmt and strconv (``%v``) and encoding/json (`Marshal`) of Go's standard library.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_HTML: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""Characters that `json.Marshal` escapes for HTML and JavaScript."""


def go_print(value: Any) -> str:
    """As ``fmt.Sprint``: ``true``, ``1.5``, ``<nil>``, ``map[a:1 b:2]``, ``[1 2]``; a text is unchanged."""
    match value:
        case str():
            return value
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _float(value, below=6, least=-4)
        case dict():
            return f"map[{' '.join(f'{key}:{go_print(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_print, value))}]"
    return str(value)


def go_json(value: Any) -> str:
    """As ``json.Marshal``: on one line, without spaces, keys in their order."""
    match value:
        case float():
            return re.sub(r"e-0(\d)$", r"e-\1", _float(value, below=21, least=-6))
        case dict():
            return f"{{{','.join(f'{go_json(key)}:{go_json(value[key])}' for key in sorted(value))}}}"
        case list():
            return f"[{','.join(map(go_json, value))}]"
        case str():
            return json.dumps(value, ensure_ascii=False).translate(_HTML)
    return json.dumps(value)


def _float(value: float, *, below: int, least: int) -> str:
    """The shortest digits of a number, with an exponent unless it is at least `least` and below `below`."""
    sign, digits, exponent = _shortest(value)
    if not least <= exponent < below:
        fraction = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}{f'.{fraction}' if fraction else ''}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, significant digits, and the power of ten of the first one."""
    found = re.match(r"(-?)([\d.]+)(?:e([+-]\d+))?$", repr(value))
    if found is None:
        raise ValueError(f"{value} is not a JSON number")
    whole, _, fraction = found[2].partition(".")
    exponent = len(whole) - 1 + int(found[3] or 0)
    digits = whole + fraction
    kept = digits.lstrip("0")
    if not kept:
        return found[1], "0", 0
    return found[1], kept.rstrip("0"), exponent - (len(digits) - len(kept))
