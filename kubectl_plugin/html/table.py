"""Builds tables that need no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kubectl_plugin.html.markup import Child, Markup, element

MAX_ROWS: Final = 40
"""The most rows of such a table; the others are only counted."""


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    numbers: set[int] | frozenset[int] = frozenset(),
) -> Markup:
    """Build a table with a caption.

    Args:
        title: Its caption.
        headings: The headings of its columns.
        rows: The cells of each row; the first cell is the row's heading.
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
