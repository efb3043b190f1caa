"""Pages as GitHub-flavoured Markdown, for tickets.

Text from the cluster is untrusted. It must not create a heading, list, link, tag, cell, formula or mention. Special
characters are written as entities or after a backslash, so that the rendered text reads the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kubectl_plugin.render.command import Prose, Target
from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.render.page import Line, LinesAtFault, Page, Row, Section, Table
from podrules.api.escape import escape

_SPECIAL: Final = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "\\": "&#92;",
        "|": "&#124;",
        **{char: f"\\{char}" for char in "`*~[]$"},
    }
)
_UNDERSCORE: Final = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""An underscore at the edge of a word; within a word it has no meaning."""
_REFERENCE: Final = re.compile(r"(?<![\w&])([@#])(?=\w)")
"""``@name`` would notify a user and ``#12`` become a link; an invisible comment after the sign prevents both."""
_LINK: Final = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.)")
_CLOSING: Final = re.compile(r"(?<=\s)#+$")
"""Hashes at the end of a heading, which Markdown drops."""
_OPENING: Final = re.compile(r"\d*[-+=#.)]")
"""The beginning of a list item or a heading."""


def render_markdown(answer: PrintedAnswer, medium: Medium) -> str:
    """Pages, and lines as items of a list."""
    return "".join(
        f"- {_text(part.text)}\n" if isinstance(part, Line) else markdown_page(part, target=medium.target)
        for part in answer.pages
    )


def markdown_page(page: Page, *, target: Target) -> str:
    """The whole page, ending in a new line, with all its text escaped.

    Args:
        page: What it says.
        target: The flags for suggested commands.
    """
    blocks = [f"### {_text(page.title)}"] if page.title else []
    if page.verdict:
        first, *rest = page.verdict
        first = f"{page.severity.mark} {first}" if page.severity else first
        blocks.append(" ".join([f"**{_text(first)}**", *map(_text, rest)]))
    for problem in page.problems:
        blocks += _problem(problem)
    previous: Section | Table | None = None
    for part in page.parts:
        if isinstance(part, Table):
            blocks.append(_table(part))
        elif isinstance(previous, Section):
            blocks[-1] += f"\n{_section(part, target)}"
        else:
            blocks.append(_section(part, target))
        previous = part
    commands = target.suggestions(page.next_commands)
    if commands:
        blocks.append(_fenced(commands, "sh"))
    return "\n\n".join(blocks) + "\n"


def _section(section: Section, target: Target) -> str:
    lines = [_line(line, target) for line in section.lines if line]
    label = f"- **{_text(section.label)}**"
    if len(lines) == 1:
        return f"{label}: {lines[0]}"
    return "\n".join([label, *(f"  - {line}" for line in lines)])


def _line(line: str | Prose | Row, target: Target) -> str:
    if isinstance(line, Row):
        return " · ".join(_text(cell) for cell in line.cells if cell)
    return _text(target.sentence(line))


def _table(table: Table) -> str:
    rules = ["---:" if column in table.right else "---" for column in range(len(table.headings))]
    headings, rows = table.headings, table.rows
    if table.marks:
        rules, headings = ["---", *rules], ("", *headings)
        rows = tuple((mark.mark if mark else "", *row) for mark, row in zip(table.marks, rows, strict=True))
    lines = [_cells(map(_text, headings)), _cells(rules), *(_cells(map(_text, row)) for row in rows)]
    title = [f"**{_text(table.title)}**", ""] if table.title else []
    return "\n".join([*title, *lines])


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _problem(problem: LinesAtFault) -> Iterator[str]:
    for place in problem.places:
        yield f"**{_text(place.at)}** {_text(problem.name)}: {_text(place.about)}"
        yield _fenced((place.text,), "yaml")
    yield "\n".join(f"- {_text(line)}" for line in problem.lines)


def _fenced(lines: Iterable[str], language: str) -> str:
    """Commands to paste, or lines of a file, in a code fence that their text cannot close."""
    text = "\n".join(map(escape, lines))
    fence = "`" * max([2, *(len(run) for run in re.findall("`+", text))]) + "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _text(text: str) -> str:
    """The text, escaped so that it reads the same when it is rendered."""
    plain = escape(text).strip().translate(_SPECIAL)
    plain = _UNDERSCORE.sub(r"\\_", plain)
    plain = _REFERENCE.sub(r"\1<!-- -->", plain)
    plain = _LINK.sub(r"\g<0><!-- -->", plain)
    plain = _CLOSING.sub(r"\\\g<0>", plain)
    opening = _OPENING.match(plain)
    return plain if opening is None else f"{opening[0][:-1]}\\{plain[opening.end() - 1 :]}"
