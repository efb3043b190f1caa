"""The formats of ``-o``: one table, and the protocol of the function that prints each. Loads no renderer.

A format is one function in a module of this folder and one entry in `FORMATS`. The entry determines the values of
``-o``, help, completion, manual pages, messages and the table in docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from msgspec import Struct

    from kubectl_plugin.render.command import Target
    from kubectl_plugin.render.page import Line, Page
    from kubectl_plugin.reports.lint import LintReport
    from kubectl_plugin.reports.verdict import Verdict
    from podrules.lint.finding import Level


class TemplateError(Exception):
    """A template that cannot be read, or that does not fit the data; the message says where."""


class Reads(Enum):
    """Which part of an answer a format prints."""

    PAGES = "pages"
    """For people; each page is printed at once."""
    REPORTS = "reports"
    """Data, printed in one piece at the end."""
    NAMES = "names"
    """Names, printed at the end; for commands with reports about objects."""
    FINDINGS = "findings"
    """Findings, printed at the end; for ``lint``."""


class TemplateArgument(NamedTuple):
    """The template that a format takes after ``=``."""

    example: str
    parser: str
    """``module:function``, from the template's text to `Medium.template`."""


class Format(NamedTuple):
    """One format of ``-o``."""

    name: str
    reads: Reads
    renderer: str
    """``module:function``, a `Renderer`; a leading dot is this package."""
    wide: bool = False
    """Whether it selects pages with every detail; only some commands have them."""
    template: TemplateArgument | None = None
    suffixes: tuple[str, ...] = ()
    """File extensions of this format: no HTML page is written to such a file."""

    @property
    def typed(self) -> str:
        """The name as typed; a template follows the ``=`` at the end."""
        return f"{self.name}=" if self.template else self.name

    @property
    def in_words(self) -> bool:
        """Whether it is text for people."""
        return self.reads is Reads.PAGES

    @property
    def is_data(self) -> bool:
        """Whether it prints an answer of no objects, too."""
        return self.reads not in {Reads.PAGES, Reads.NAMES}


class LintAnswer(NamedTuple):
    """The findings of ``lint``."""

    report: LintReport
    severity: Level
    """The least severe level that fails."""


class PrintedAnswer(NamedTuple):
    """The answer to print; a renderer reads the part that its format names in `Format.reads`."""

    pages: Sequence[Page | Line] = ()
    reports: Sequence[tuple[Struct, Verdict | None]] = ()
    """Each with its headline, if it has one."""
    as_list: bool = False
    """Whether the data are a List even with only one report."""
    names: Sequence[str] = ()
    """``pod/web-0``."""
    lint: Any = None
    """A `LintAnswer`, only from ``lint``."""


class Medium(NamedTuple):
    """The output medium."""

    target: Target
    """The source of the answer, for the commands in it."""
    colour: bool
    width: int
    """Columns of text."""
    terminal: bool
    """Whether the output is a terminal, where characters could move the cursor."""
    template: Any
    """The template, parsed by the format's parser; None: the format has none."""
    note: Callable[[str], None]
    """Prints a line on standard error; it is escaped there."""


class Renderer(Protocol):
    """Prints an answer in one format."""

    def __call__(self, answer: PrintedAnswer, medium: Medium) -> str:
        """The text, ending in a new line. All text from the cluster is escaped here.

        Args:
            answer: The answer to print.
            medium: The output medium.

        Raises:
            TemplateError: the template does not fit the data.
        """
        ...


_PATH: Final = TemplateArgument("'{.name}'", ".jsonpath:parse")
_PATH_FILE: Final = TemplateArgument("FILE", ".jsonpath:parse")
_COLUMNS: Final = TemplateArgument("NAME:.name,SOURCE:.source", ".templates:columns_from_spec")
_COLUMNS_FILE: Final = TemplateArgument("FILE", ".templates:columns_from_lines")
FORMATS: Final = {
    entry.name: entry
    for entry in (
        Format("table", Reads.PAGES, ".text:render_text"),
        Format("wide", Reads.PAGES, ".text:render_text", wide=True),
        Format("json", Reads.REPORTS, ".structured:render_json", suffixes=("json",)),
        Format("yaml", Reads.REPORTS, ".structured:render_yaml", suffixes=("yaml", "yml")),
        Format("name", Reads.NAMES, ".structured:render_names"),
        Format("markdown", Reads.PAGES, ".markdown:render_markdown", suffixes=("md",)),
        Format("sarif", Reads.FINDINGS, ".findings:render_sarif"),
        Format("junit", Reads.FINDINGS, ".findings:render_junit"),
        Format("github", Reads.FINDINGS, ".findings:render_github"),
        Format("jsonpath", Reads.REPORTS, ".templates:render_jsonpath", template=_PATH),
        Format("jsonpath-as-json", Reads.REPORTS, ".templates:render_jsonpath_values", template=_PATH),
        Format("jsonpath-file", Reads.REPORTS, ".templates:render_jsonpath", template=_PATH_FILE),
        Format("custom-columns", Reads.REPORTS, ".templates:render_columns", template=_COLUMNS),
        Format("custom-columns-file", Reads.REPORTS, ".templates:render_columns", template=_COLUMNS_FILE),
    )
}
"""The formats by name, in the order of the help text."""


def formats_of(*, wide: bool = False, names: bool = False, findings: bool = False) -> tuple[Format, ...]:
    """The formats that a command offers.

    Args:
        wide: Whether its pages have a form with every detail.
        names: Whether its reports are about objects.
        findings: Whether it reports findings in manifests.
    """
    offered = {Reads.PAGES: True, Reads.REPORTS: True, Reads.NAMES: names, Reads.FINDINGS: findings}
    return tuple(entry for entry in FORMATS.values() if offered[entry.reads] and (wide or not entry.wide))


def load(reference: str) -> Any:
    """The function of a ``module:function``; its module is loaded now."""
    module, _, function = reference.partition(":")
    return getattr(import_module(module, __package__), function)
