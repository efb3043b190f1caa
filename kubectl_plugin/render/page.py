"""A page of text: what views make and `render.text` lays out. It holds no layout, no colour, no escapes."""

from __future__ import annotations

from msgspec import Struct

from kubectl_plugin.render.command import Command, Prose
from kubectl_plugin.reports.verdict import Severity

__all__ = ["Line", "Page", "Row", "Section", "Severity", "Table"]


class Row(Struct, frozen=True):
    """A line of aligned cells; the last cell wraps."""

    cells: tuple[str, ...]


class Section(Struct, frozen=True):
    """A label at the left and lines beside it; rows that follow each other share their columns."""

    label: str
    lines: tuple[str | Prose | Row, ...]


class Table(Struct, frozen=True):
    """Columns under headings; the last column wraps."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    """Columns that hold numbers."""
    drawing: bool = False
    """Its signs stand at their columns, and words beside it say the same: left out where it does not fit."""
    one_line: bool = False
    """Whether each row has one line in text; a last cell that does not fit beside the others goes below, indented."""
    dispensable: tuple[str, ...] = ()
    """Of such a table the headings of the columns that are left out for the last one, the first one first."""
    narrow: tuple[str, ...] = ()
    """Those that are left out too where the columns before the last one do not fit the page."""


class Line(Struct, frozen=True):
    """A sentence that is printed at once, as the steps of a deletion are."""

    text: str


class Page(Struct, frozen=True):
    """One answer: whose it is, the verdict, the details, the next commands."""

    title: str
    verdict: tuple[str, ...]
    severity: Severity
    parts: tuple[Section | Table, ...] = ()
    next_commands: tuple[Command, ...] = ()
