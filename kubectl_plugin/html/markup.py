"""Builds HTML from values: text is always escaped; only markup that this module made is not.

Text from the cluster is untrusted in two ways: it may contain markup, or characters that mislead the eye
(`render.escape`). Only this module handles both.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final

from kubectl_plugin.render.escape import escape

_VOID: Final = frozenset({"meta", "link", "input"})
_OPTIONAL_END: Final = frozenset({"caption", "p", "td", "th", "tr", "thead", "tbody", "li"})
"""Their end tags may be omitted before an element of the same kind, another block or the end of the parent (HTML,
13.1.2.4), except a ``p`` directly in ``noscript``."""


class Markup(str):
    """HTML that is safe to output unescaped."""

    __slots__ = ()


Child = Markup | str | None | Iterable["Markup | str | None"]


def element(tag: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Build one element.

    Args:
        tag: The name of the element.
        children: Markup is unchanged, other text is escaped, None is omitted.
        attributes: ``class_`` is class, other underscores are hyphens; True: without a value; None and False: omitted.
    """
    named = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    opened = f"<{tag}{named}>"
    if tag in _VOID:
        return Markup(opened)
    end = "" if tag in _OPTIONAL_END else f"</{tag}>"
    return Markup(f"{opened}{joined(*children)}{end}")


def joined(*children: Child) -> Markup:
    """Join several children into one piece of markup."""
    return Markup("".join(map(_child, children)))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(escape(child), quote=False)
    return "".join(map(_child, child))


def _attribute(key: str, value: str | float | bool) -> str:
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(escape(text))}"'
