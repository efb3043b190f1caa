"""Builds HTML from values: elements, tables, bars, pages of text.

Text is always escaped; only markup that this module made is not.

Text from the cluster is untrusted in two ways: it may contain markup, or characters that mislead the eye
(`podrules.api.escape`). Only this module handles both.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final
from urllib.parse import quote

from kubectl_plugin.render.command import Target
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.cluster.cluster_entries import PromisedResource
from kubectl_plugin.reports.verdict import Severity
from podrules.api.escape import escape
from podrules.api.model.pod import PodQOSClass

_VOID: Final = frozenset({"meta", "link", "input", "wbr"})
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


def link(words: str, *place: str) -> Markup:
    """A link that the script follows: ``pod``, namespace and name; ``pods`` and the words of a search."""
    # The same characters as the script's encodeURIComponent.
    parts = [quote(escape(part), safe="!*'()") for part in place]
    return element("a", words, href=f"#/{'/'.join(parts)}")


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


# Tables, without a script

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
    return element("div", drawn, class_="wide", tabindex="0", role="group", aria_label=title)


# Draws bars as inline SVG: requests by QoS class, limits and usage, as a share of what is allocatable.
#
# filled     requests: Guaranteed plain, Burstable hatched, BestEffort dotted (only in bars that count pods)
# outline    limits of the pods that have one; the bar cuts it at the right end, and the text gives the number
# mark       usage

HEIGHT: Final = 18
CLASS_MARKS: Final = {
    PodQOSClass.GUARANTEED: "guaranteed",
    PodQOSClass.BURSTABLE: "burstable",
    PodQOSClass.BEST_EFFORT: "besteffort",
}
"""The CSS class of each QoS class."""


def patterns() -> Markup:
    """The fill patterns of all bars; a page needs them once."""
    hatch = element("path", d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", class_="hatch")
    dots = element("circle", cx=2, cy=2, r=1.1, class_="dots")
    made = [("p-burstable", "burstable", 6, hatch), ("p-besteffort", "besteffort", 4, dots)]
    return element(
        "svg",
        element(
            "defs",
            [
                element(
                    "pattern",
                    element("rect", width=size, height=size, class_=f"fill-{mark}"),
                    shape,
                    id=name,
                    width=size,
                    height=size,
                    patternUnits="userSpaceOnUse",
                )
                for name, mark, size, shape in made
            ],
        ),
        class_="defs",
        width=0,
        height=0,
        aria_hidden="true",
    )


def resource_bar(promised: PromisedResource, words: str, *, height: int = HEIGHT) -> Markup:
    """Draw one resource of a node or a cluster.

    Args:
        promised: The amounts.
        words: The same as text, for screen readers.
        height: The height of the bar in pixels.
    """
    whole = max(promised.allocatable, promised.total, 1)
    parts = _parts(promised.requested, whole, height)
    if promised.limited:
        width = min(100 * promised.limited / whole, 100)
        parts.append(element("rect", class_="limited", x=0, y=height - 4.5, width=_percent(width), height=3))
    if promised.used is not None:
        at = min(100 * promised.used / whole, 99)
        parts.append(element("rect", class_="used", x=_percent(at), y=0, width=2.5, height=height))
    return _drawing(words, parts)


def share_bar(counts: Mapping[PodQOSClass, int], words: str, *, height: int = HEIGHT) -> Markup:
    """Draw how many pods are in each QoS class; for the arguments see `resource_bar`."""
    return _drawing(words, _parts(counts, max(sum(counts.values()), 1), height))


def _parts(amounts: Mapping[PodQOSClass, int], whole: int, height: int) -> list[Markup]:
    """The part of each QoS class, on the background of the bar."""
    parts = [element("rect", class_="track", x=0, y=1, width="100%", height=height - 2, rx=3)]
    start = 0.0
    for qos_class, mark in CLASS_MARKS.items():
        width = 100 * amounts[qos_class] / whole
        if width:
            place, share = _percent(start), _percent(width)
            parts.append(element("rect", class_=f"part {mark}", x=place, y=1, width=share, height=height - 2))
        start += width
    return parts


def _percent(number: float) -> str:
    return f"{number:.1f}%"


def _drawing(words: str, parts: list[Markup]) -> Markup:
    return element("svg", parts, class_="bar", role="img", aria_label=words)


def promised_words(promised: PromisedResource, words: Callable[[int], str]) -> str:
    """The text of a bar: ``requested 3 of 8 (37%), limits 4 (50%), used 2``."""
    whole = promised.allocatable or 1
    parts = [f"requested {words(promised.total)} of {words(promised.allocatable)} ({100 * promised.total // whole}%)"]
    parts.append(f"limits {words(promised.limited)} ({100 * promised.limited // whole}%)")
    if promised.used is not None:
        parts.append(f"used {words(promised.used)}")
    return ", ".join(parts)


def cell_bar(name: str, promised: PromisedResource, words: Callable[[int], str]) -> Markup:
    """A bar for a table cell, with the requested percentage."""
    text = promised_words(promised, words)
    percent = 100 * promised.total // (promised.allocatable or 1)
    return element("div", resource_bar(promised, f"{name}: {text}"), element("span", f"{percent}%"), class_="with-bar")


def legend() -> Markup:
    """The legend of the bars."""
    entries = [
        ("part guaranteed", "Guaranteed requests"),
        ("part burstable", "Burstable requests"),
        ("part besteffort", "BestEffort (pods; it requests nothing)"),
        ("limited", "limits"),
        ("used", "used"),
        ("track", "not requested"),
    ]
    return element("ul", [element("li", _swatch(mark), words) for mark, words in entries], class_="legend")


def _swatch(mark: str) -> Markup:
    shape = element("rect", class_=mark, x=1, y=1, width=16, height=10)
    if mark == "limited":
        shape = element("rect", class_=mark, x=1, y=7, width=16, height=3)
    elif mark == "used":
        shape = element("rect", class_=mark, x=8, y=0, width=2.5, height=12)
    return element("svg", shape, viewBox="0 0 18 12", width=18, height=12, aria_hidden="true")


# Pages of text (`render.page`), with the same words as in a terminal

_BAR: Final = re.compile(r"(\[[#|-]{9,}\])")
"""See `views.words.bar`."""


def severity_word(severity: Severity) -> Markup:
    """A severity as sign and word, so that nothing depends on colour."""
    return element("span", severity.value, class_=f"sign {severity.value}")


def page_body(page: Page, *, level: int, target: Target) -> Markup:
    """Render a page without its title.

    Args:
        page: The page to render.
        level: The level of its headings.
        target: The source of the answer, for the commands in the page.
    """
    first, *rest = page.verdict or ("",)
    return element(
        "div",
        element(
            "p", severity_word(page.severity) if page.severity else "", " ", element("strong", first), class_="verdict"
        ),
        [element("p", sentence) for sentence in rest],
        [_table(part, level) if isinstance(part, Table) else _section(part, level, target) for part in page.parts],
        _next(target.suggestions(page.next_commands), level),
        class_="explanation",
    )


def _section(section: Section, level: int, target: Target) -> Markup:
    lines: list[Markup] = []
    for is_row, group in groupby(section.lines, key=lambda line: isinstance(line, Row)):
        if is_row:
            rows = [map(_cell, line.cells) for line in group if isinstance(line, Row)]
            body = element("tbody", [element("tr", [element("td", cell) for cell in cells]) for cells in rows])
            lines.append(element("table", body, class_="rows", role="presentation"))
        else:
            lines += [element("p", target.sentence(line)) for line in group if not isinstance(line, Row)]
    return element("section", element(f"h{level}", section.label), element("div", lines), class_="fact")


def _table(table: Table, level: int) -> Markup:
    head = element(
        "tr",
        [
            element("th", text, scope="col", class_=_side(table, place)) if text else element("td")
            for place, text in enumerate(table.headings)
        ],
    )
    rows = []
    for number, row in enumerate(table.rows):
        severity = table.marks[number] if table.marks else None
        first, *rest = map(_cell, row)
        cells = [joined(severity_word(severity), " ", first) if severity else first, *rest]
        rows.append(element("tr", [element("td", cell, class_=_side(table, n)) for n, cell in enumerate(cells)]))
    named = list(filter(None, table.headings[:2]))
    drawn = element("table", element("thead", head) if named else None, element("tbody", rows), class_="cells")
    title = element(f"h{level}", table.title) if table.title else None
    label = table.title or " and ".join(named) or "Details"
    return element("section", title, element("div", drawn, class_="wide", tabindex="0", role="group", aria_label=label))


def _cell(text: str) -> Markup:
    """A cell of a page; a screen reader skips a bar, because its amounts are next to it."""
    parts = _BAR.split(text)
    return joined(*(element("code", part, aria_hidden="true") if n % 2 else part for n, part in enumerate(parts)))


def _side(table: Table, place: int) -> str | None:
    return "number" if place in table.right else None


def _next(lines: Sequence[str], level: int) -> Markup | None:
    if not lines:
        return None
    commands = [element("li", element("code", line)) for line in lines]
    return element("section", element(f"h{level}", "Next"), element("ul", commands, class_="commands"), class_="fact")
