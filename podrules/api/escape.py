"""Text from the cluster is untrusted: names, messages and annotations must not move the cursor or reorder a line.

Control characters (C0, DEL, C1), line separators, bidirectional and invisible formatting characters, tag characters
and lone surrogates are shown as escapes; new lines and tabs become spaces.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def escape(text: str) -> str:
    """The text with every character that could mislead a terminal or a reader written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSAFE, _visible, text.replace("\n", " ").replace("\t", " "))


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
