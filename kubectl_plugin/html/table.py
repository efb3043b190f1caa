"""Tables that are drawn without a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kubectl_plugin.html.markup import Child, Markup, element

__all__ = ["MAX_ROWS", "table"]

MAX_ROWS: Final = 40
"""Of a table that is drawn without a script; the rest is counted."""


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    numbers: set[int] | frozenset[int] = frozenset(),
) -> Markup:
    """A table with a caption.

    Args:
        title: Its caption.
        headings: Of its columns.
        rows: The first cell of each is its heading.
        numbers: Columns that hold numbers.
    """

    def side(place: int) -> str | None:
        return "number" if place in numbers else None

    head = [element("th", text, scope="col", class_=side(place)) for place, text in enumerate(headings)]
    body = [
        element(
            "tr",
            [
                element("th", cell, scope="row", class_=side(place))
                if not place
                else element("td", cell, class_=side(place))
                for place, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    drawn = element(
        "table",
        element("caption", title),
        element("thead", element("tr", head)),
        element("tbody", body),
        class_="cells",
    )
    return element("div", drawn, class_="wide", tabindex="0", role="region", aria_label=title)
