"""Pages as plain text of a given width, with colour if a terminal supports it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from kubectl_plugin.render.command import Prose, Target
from kubectl_plugin.render.formats import Medium, PrintedAnswer
from kubectl_plugin.render.page import Line, LinesAtFault, Page, Row, Section, Table
from kubectl_plugin.render.width import DEFAULT_COLUMNS
from kubectl_plugin.reports.verdict import Severity
from podrules.api.escape import escape

_PROSE: Final = 100
"""The most columns of prose, because longer lines are harder to read. Tables use the whole width."""
_LABEL: Final = 14
_GAP: Final = "  "
_INDENT: Final = "    "
"""Before a line of a file."""
_CUT: Final = "..."
_MARGIN: Final = "   "
"""The room for the mark of a row."""
_MIN_LAST: Final = 24
"""The fewest columns for the last cell of a row; with fewer, it is printed below the row."""
_MAX_LAST: Final = 60
"""In a table with one line per row, columns are left out until the last cell has this many, or enough."""
_UNBROKEN: Final = "\xa0"
"""A space at which lines do not wrap."""
_BOLD: Final = "\x1b[1m"
_RESET: Final = "\x1b[0m"
_COLOURS: Final = {Severity.FINE: "\x1b[32m", Severity.NOTICE: "\x1b[33m", Severity.TROUBLE: "\x1b[31m"}


def render_text(answer: PrintedAnswer, medium: Medium) -> str:
    """Pages and lines, one after the other."""
    return "".join(
        f"{escape(part.text)}\n"
        if isinstance(part, Line)
        else render_page(part, colour=medium.colour, target=medium.target, width=medium.width)
        for part in answer.pages
    )


def render_page(page: Page, *, colour: bool, target: Target, width: int = DEFAULT_COLUMNS) -> str:
    """The whole page, ending in a new line, with all its text escaped.

    Args:
        page: What it says.
        colour: Whether to print in colour.
        target: The flags for suggested commands.
        width: Columns of a line. Only a name or a command, which cannot be wrapped, may be longer.
    """
    prose = min(width, _PROSE)
    paint = _Painter(colour=colour)
    lines = [paint.bold(line) for line in _wrap(page.title, width)] if page.title else []
    for number, sentence in enumerate(page.verdict):
        judged = page.severity if number == 0 else None
        wrapped = _wrap(f"{judged.mark} {sentence}" if judged else sentence, prose)
        lines += [paint.severity(line, judged) for line in wrapped]
    for problem in page.problems:
        lines += ["", *_problem(problem, paint, width)]
    previous: Section | Table | None = None
    for part in page.parts:
        if isinstance(part, Table) and part.drawing and not _fits(part, width):
            continue
        if lines and not (isinstance(part, Section) and isinstance(previous, Section)):
            lines.append("")
        lines += _section(part, paint, target, prose) if isinstance(part, Section) else _table(part, paint, width)
        previous = part
    commands = target.suggestions(page.next_commands)
    if commands:
        lines.append("")
        label = "Next"
        for command in commands:
            lines.append(f"{label:<{_LABEL}}{escape(command)}")
            label = ""
    return "\n".join(lines) + "\n"


class _Painter:
    """Adds colour if requested."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def bold(self, text: str) -> str:
        return f"{_BOLD}{text}{_RESET}" if self._colour and text else text

    def severity(self, text: str, severity: Severity | None) -> str:
        return f"{_COLOURS[severity]}{text}{_RESET}" if self._colour and severity else text

    def mark(self, severity: Severity | None) -> str:
        """The mark of a row, as wide as the margin."""
        text = severity.mark if severity else ""
        return self.severity(text, severity) + _MARGIN[len(text) :]


def _section(section: Section, paint: _Painter, target: Target, width: int) -> list[str]:
    body: list[str] = []
    for is_row, group in groupby(section.lines, key=lambda line: isinstance(line, Row)):
        if is_row:
            body += _rows([line.cells for line in group if isinstance(line, Row)], width - _LABEL)
        else:
            for line in group:
                body += [] if isinstance(line, Row) else _wrap_prose(line, width - _LABEL, target)
    first, *rest = body or [""]
    label = f"{section.label:<{_LABEL}}"
    return [paint.bold(label) + first, *(" " * _LABEL + line if line else "" for line in rest)]


def _problem(problem: LinesAtFault, paint: _Painter, width: int) -> list[str]:
    lines: list[str] = []
    for place in problem.places:
        lines.append(f"{paint.bold(escape(place.at))} {paint.severity(problem.name, problem.severity)}")
        shown, caret = excerpt(place.text, place.column, width - len(_INDENT))
        lines += [f"{_INDENT}{shown}", f"{_INDENT}{' ' * caret}{paint.severity('^', problem.severity)}"]
        lines += [f"{_GAP}{line}" for line in _wrap(place.about, width - len(_GAP))]
    prose = min(width, _PROSE) - len(_GAP)
    return lines + [f"{_GAP}{line}" for text in problem.lines for line in _wrap(text, prose)]


def excerpt(text: str, column: int, width: int) -> tuple[str, int]:
    """A line of a file without its indentation, at most so long, and the place of a column in it; both are escaped."""
    indent = len(text) - len(text.lstrip())
    shown, caret = escape(text.strip()), len(escape(text[indent : column - 1]))
    if len(shown) <= width:
        return shown, caret
    start = max(0, min(caret - width // 2, len(shown) - width))
    cut = shown[start : start + width]
    cut = f"{_CUT}{cut[len(_CUT) :]}" if start else cut
    return f"{cut[: -len(_CUT)]}{_CUT}" if start + width < len(shown) else cut, caret - start


def _table(table: Table, paint: _Painter, width: int) -> list[str]:
    lines = [paint.bold(line) for line in _wrap(table.title, width)] if table.title else []
    margin = _MARGIN if table.marks else ""
    width -= len(margin)
    if table.one_line:
        table = _fitted(table, width)
    named = [table.headings] if any(table.headings) else []
    widths = _widths([*named, *table.rows])
    least = width if table.one_line else _MIN_LAST
    lines += [paint.bold(margin + line) for line in _rows(named, width, table.right, widths, least)]
    if not table.marks:
        return lines + _rows(table.rows, width, table.right, widths, least)
    for row, mark in zip(table.rows, table.marks, strict=True):
        first, *rest = _rows([row], width, table.right, widths, least)
        lines += [paint.mark(mark) + first, *(margin + line for line in rest)]
    return lines


def _fits(table: Table, width: int) -> bool:
    # The legend below the table may wrap.
    widths = _widths([table.headings, *(row for row in table.rows if row[0])])
    return sum(widths) + len(_GAP) * (len(widths) - 1) <= width


def _fitted(table: Table, width: int) -> Table:
    """The table without the columns that leave no room for the last one, and without empty ones that it can spare."""
    empty = [name for name in table.dispensable if not any(row[table.headings.index(name)] for row in table.rows)]
    kept = [column for column, name in enumerate(table.headings) if name not in empty]
    widths = _widths([table.headings, *table.rows])

    def room() -> int:
        return width - sum(widths[column] + len(_GAP) for column in kept[:-1])

    least = min(_MAX_LAST, widths[-1])
    dispensable = [name for name in table.dispensable if name not in empty]
    spared = sum(widths[table.headings.index(heading)] + len(_GAP) for heading in dispensable)
    if room() + spared < least:
        # There is no room: the last cells are printed below their rows in any case.
        least = -len(_GAP)
    for names, needed in ((dispensable, least), (table.narrow, -len(_GAP))):
        for name in names:
            if room() < needed:
                kept.remove(table.headings.index(name))
    headings = [table.headings[column] for column in kept]
    # If every last cell is below its row, nothing is under the heading.
    if not any(0 < len(escape(row[-1])) <= room() for row in table.rows):
        headings[-1] = ""
    rows = tuple(tuple(row[column] for column in kept) for row in table.rows)
    right = frozenset(place for place, column in enumerate(kept) if column in table.right)
    return replace(table, headings=tuple(headings), rows=rows, right=right)


def _widths(rows: Iterable[tuple[str, ...]]) -> list[int]:
    escaped = [[len(escape(cell)) for cell in row] for row in rows]
    columns = max(map(len, escaped), default=0)
    return [max((row[column] for row in escaped if column < len(row)), default=0) for column in range(columns)]


def _rows(
    rows: Sequence[tuple[str, ...]],
    width: int,
    right: frozenset[int] = frozenset(),
    widths: list[int] | None = None,
    least: int = _MIN_LAST,
) -> list[str]:
    """Cells in columns. The last cell wraps in its column, or below the row if there is too little room.

    It needs `least` columns, and as many as its longest word.
    """
    widths = widths or _widths(rows)
    lines: list[str] = []
    for row in rows:
        *cells, last = map(escape, row)
        head = _GAP.join(
            cell.rjust(widths[column]) if column in right else cell.ljust(widths[column])
            for column, cell in enumerate(cells)
        )
        lead = head + _GAP if cells else ""
        if len(row) - 1 in right:
            last = last.rjust(widths[len(row) - 1])
        longest = max(map(len, last.split()), default=0)
        if len(lead) + len(last) > width and width - len(lead) < max(least, longest):
            lines += _folded(cells, head, width)
            lines += [f"{_GAP}{line}" for line in _fill(last, width - len(_GAP))]
            continue
        first, *rest = _fill(last, width - len(lead)) or [""]
        lines.append((lead + first).rstrip())
        lines += [" " * len(lead) + line for line in rest]
    return lines


def _folded(cells: Sequence[str], head: str, width: int) -> list[str]:
    """The cells before the last one, on one line in their columns, or on several lines."""
    if len(head.rstrip()) <= width:
        return [head.rstrip()]
    lines = [""]
    for cell in filter(None, cells):
        joined = f"{lines[-1]}{_GAP}{cell}" if lines[-1] else cell
        if len(joined) <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(f"{_GAP}{cell}")
    return [part for line in lines for part in _fill(line, width)]


def _wrap(text: str, width: int) -> list[str]:
    return _fill(escape(text), width) or [""]


def _wrap_prose(text: str | Prose, width: int, target: Target) -> list[str]:
    """Wraps a sentence without breaking its commands."""
    if isinstance(text, str):
        return _wrap(text, width)
    return [line.replace(_UNBROKEN, " ") for line in _wrap(target.sentence(text, _UNBROKEN), width)]


def _fill(text: str, width: int) -> list[str]:
    if len(text) <= width:
        return [text] if text else []
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
