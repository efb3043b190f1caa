"""A page of text, made by views. Formats add layout, colour and escapes."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import force_setattr

from kubectl_plugin.render.command import Command, Prose
from kubectl_plugin.reports.verdict import Severity


class Row(Struct, frozen=True):
    """A line of aligned cells; the last cell wraps."""

    cells: tuple[str, ...]


class Section(Struct, frozen=True):
    """A label on the left and lines to its right; consecutive rows share their columns."""

    label: str
    lines: tuple[str | Prose | Row, ...]


class Table(Struct, frozen=True):
    """Columns under headings; the last column wraps."""

    title: str
    headings: tuple[str, ...]
    """All empty: text has no line of headings."""
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    """Columns with numbers."""
    drawing: bool = False
    """Whether the table is a drawing that text on the page repeats; it is left out if it does not fit."""
    one_line: bool = False
    """Whether each row has one line in text; a last cell that does not fit is printed below it, indented."""
    dispensable: tuple[str, ...] = ()
    """Headings of columns that such a table leaves out, in this order, to make room for the last column."""
    narrow: tuple[str, ...] = ()
    """Headings of further columns to leave out if the columns before the last one do not fit."""
    marks: tuple[Severity | None, ...] = ()
    """The mark before each row, if rows are judged; None: the row has none."""


class LineAtFault(Struct, frozen=True):
    """A place in a file."""

    at: str
    """``web.yaml:15:22``."""
    about: str
    """The object and its field."""
    text: str
    """The line of the file."""
    column: int
    """The first is 1."""


class LinesAtFault(Struct, frozen=True):
    """What is wrong at places in files, as linters print it: each line of a file with a caret below the column."""

    severity: Severity
    name: str
    """Its level and its rule."""
    places: tuple[LineAtFault, ...]
    lines: tuple[str, ...]
    """What is wrong, and what to do."""


class Line(Struct, frozen=True):
    """A sentence that is printed at once, such as a step of a deletion."""

    text: str


class Page(Struct, frozen=True):
    """One answer: title, verdict, details, next commands."""

    title: str
    verdict: tuple[str, ...]
    severity: Severity | None
    """The mark before the verdict; None: nothing is judged."""
    parts: tuple[Section | Table, ...] = ()
    """Without those that are empty."""
    next_commands: tuple[Command, ...] = ()
    problems: tuple[LinesAtFault, ...] = ()
    """Shown before the parts."""

    def __post_init__(self) -> None:
        """Leave out sections without lines and tables without rows."""
        full = (part for part in self.parts if (part.rows if isinstance(part, Table) else part.lines))
        force_setattr(self, "parts", tuple(full))
