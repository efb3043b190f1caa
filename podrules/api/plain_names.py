"""Names that are safe as a word of a pasted command, or as a segment of a request's path.

The API server validates the names of objects, but not all texts that refer to a name: ``pods/binding`` stores any
``spec.nodeName``, and owner references may have any kind and name. A name is plain if it has only the characters of a
DNS subdomain (RFC 1123); all kinds that the product reads have such names.
"""

from __future__ import annotations

import re
from typing import Final

NO_COMMAND: Final = "no command: a name in it is not plain"
_PLAIN: Final = re.compile("[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


def is_plain_name(name: str) -> bool:
    """Whether it can be the name of an object: no shell interprets it, and it is not a flag."""
    return _PLAIN.fullmatch(name) is not None


def command(text: str, *names: str) -> str:
    """A command to paste, or `NO_COMMAND` if one of the names is not plain.

    Args:
        text: The command, with ``{}`` for each name.
        names: The names. A name without a place in the text is also checked.
    """
    return text.format(*names) if all(map(is_plain_name, names)) else NO_COMMAND
