"""One thing is not told as many: ``1 nodes``, ``1 of 1 containers``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["wrong_plurals"]

_NOUNS: Final = (
    r"(?:attachment|budget|claim|cluster|command|container|disk|domain|error|event|failure|file|finding|inode|line|member"
    r"|namespace|node|notice|object|other|pod|replica|restart|rule|second|taint|time|victim|volume|warning|workload|zone)s"
    r"|processes"
)
_WRONG: Final = re.compile(
    rf"(?<![\w.,:/=+-])1\s(?:more )?(?:{_NOUNS})\b(?!/)|\b1st of 1\b|\b1 of 1 \w+s\b", re.IGNORECASE
)


def wrong_plurals(text: str) -> Iterator[str]:
    """What is wrong, with what stands around it; a table's columns are further apart than words."""
    for found in _WRONG.finditer(text):
        yield text[max(found.start() - 40, 0) : found.end() + 20]
