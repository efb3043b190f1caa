"""A page of text: what views make and `render.text` lays out. It holds no layout, no colour, no escapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Page", "Row", "Section", "Severity", "Table"]


class Severity(Enum):
    """How urgent a page is; shown as colour, beside the words that say it."""

    FINE = "fine"
    NOTICE = "notice"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of aligned cells; the last cell wraps."""

    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A label at the left and lines beside it; rows that follow each other share their columns."""

    label: str
    lines: tuple[str | Row, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns under headings; the last column wraps."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    """Columns that hold numbers."""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: whose it is, the verdict, the details, the next commands."""

    title: str
    verdict: tuple[str, ...]
    severity: Severity
    parts: tuple[Section | Table, ...] = ()
    next_commands: tuple[str, ...] = field(default=())
