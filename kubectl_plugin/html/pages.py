"""Renders text pages (`render.page`) as HTML, with the same words as in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kubectl_plugin.html.markup import Markup, element
from kubectl_plugin.render.command import Target
from kubectl_plugin.render.page import Page, Row, Section, Table
from kubectl_plugin.reports.verdict import Severity


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
        element("p", severity_word(page.severity), " ", element("strong", first), class_="verdict"),
        [element("p", sentence) for sentence in rest],
        [_table(part, level) if isinstance(part, Table) else _section(part, level, target) for part in page.parts],
        _next(target.suggestions(page.next_commands), level),
        class_="explanation",
    )


def _section(section: Section, level: int, target: Target) -> Markup:
    lines: list[Markup] = []
    for is_row, group in groupby(section.lines, key=lambda line: isinstance(line, Row)):
        if is_row:
            rows = [line.cells for line in group if isinstance(line, Row)]
            body = element("tbody", [element("tr", [element("td", cell) for cell in cells]) for cells in rows])
            lines.append(element("table", body, class_="rows", role="presentation"))
        else:
            lines += [element("p", target.sentence(line)) for line in group if not isinstance(line, Row)]
    return element("section", element(f"h{level}", section.label), element("div", lines), class_="fact")


def _table(table: Table, level: int) -> Markup:
    head = element(
        "tr",
        [element("th", text, scope="col", class_=_side(table, place)) for place, text in enumerate(table.headings)],
    )
    rows = [
        element("tr", [element("td", text, class_=_side(table, place)) for place, text in enumerate(row)])
        for row in table.rows
    ]
    drawn = element("table", element("thead", head), element("tbody", rows), class_="cells")
    title = element(f"h{level}", table.title) if table.title else None
    label = table.title or " and ".join(filter(None, table.headings[:2]))
    return element(
        "section", title, element("div", drawn, class_="wide", tabindex="0", role="region", aria_label=label)
    )


def _side(table: Table, place: int) -> str | None:
    return "number" if place in table.right else None


def _next(lines: Sequence[str], level: int) -> Markup | None:
    if not lines:
        return None
    commands = [element("li", element("code", line)) for line in lines]
    return element("section", element(f"h{level}", "Next"), element("ul", commands, class_="commands"), class_="fact")
