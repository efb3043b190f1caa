"""Prints the answer of a command in the format that ``-o`` selects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ClusterError, UsageError
from kubectl_plugin.options import Output, Streams
from kubectl_plugin.render.formats import FORMATS, Medium, PrintedAnswer, Reads, Renderer, TemplateError, load
from kubectl_plugin.views.words import now_words
from podrules.api.escape import escape

if TYPE_CHECKING:
    from cluster_io.source import Source
    from kubectl_plugin.render.command import Command, Target
    from kubectl_plugin.render.formats import LintAnswer
    from kubectl_plugin.render.page import Page
    from kubectl_plugin.reports.verdict import Verdict


class Printer:
    """Prints each page at once, and data in one piece at the end."""

    def __init__(
        self, output: Output, streams: Streams, *, colour: bool, target: Target, source: Source | None
    ) -> None:
        """Print nothing yet.

        The first page names the time of the source, if the source has its own time, and the file that replaces the
        kubelets' configuration.
        """
        self._output, self._streams, self._colour, self._target = output, streams, colour, target
        self._source = source
        self._assumed: tuple[str, ...] = ()
        """The sentences about time and kubelets on the first page."""
        if source is not None and source.now is not None and source.is_plain_list:
            later = getattr(source, "later_time", None)
            self._assumed = (now_words(source.now, source.description, later),)
        if source is not None and (kubelet := source.stated.kubelet) is not None:
            self._assumed += (f"Kubelet configuration: {kubelet.file}, for every node of this answer.",)
        self._reports: list[tuple[Struct, Verdict | None]] = []
        self._names: list[str] = []
        self._page_before = False

    def add(
        self,
        report: Struct,
        names: Iterable[str] = (),
        pages: Callable[[], Iterable[Page]] = tuple,
        verdict: Verdict | None = None,
    ) -> None:
        """Print one answer, or keep it until `finish`.

        Args:
            report: The answer as data.
            names: The answer's objects as ``-o name`` prints them: ``pod/web-0``.
            pages: Makes the answer's pages; called only for formats that print pages.
            verdict: The answer's headline, if the report alone does not determine it.
        """
        if self._output.in_words:
            for page in pages():
                self.show(page)
        else:
            self._reports.append((report, self._verdict(report, verdict)))
            self._names += names

    def show(self, page: Page) -> None:
        """Print a page, in a format that prints pages."""
        if not self._output.in_words:
            return
        gap = "\n" if self._page_before else ""
        self._page_before = True
        if self._assumed:
            page = replace(page, verdict=(*page.verdict, *self._assumed))
            self._assumed = ()
        if self._source is not None:
            page = _with_rights(without_missing_objects(page, self._source), self._target.command)
        self._streams.out.write(gap + self._rendered(PrintedAnswer(pages=(page,))))

    def say(self, text: str) -> None:
        """Print a line at once; on standard error where a program reads data on standard output."""
        if not self._output.in_words:
            self._note(text)
            return
        from kubectl_plugin.render.page import Line

        gap = "\n" if self._page_before else ""
        self._page_before = False
        self._streams.out.write(gap + self._rendered(PrintedAnswer(pages=(Line(text),))))
        self._streams.out.flush()

    def finish(self, *, as_list: bool = False, lint: LintAnswer | None = None) -> None:
        """Print the answers that were kept.

        Args:
            as_list: Whether the data are a List even with only one report.
            lint: The findings, of ``lint`` alone.

        Raises:
            UsageError: the template does not fit the data.
        """
        if not self._output.in_words:
            answer = PrintedAnswer(reports=self._reports, as_list=as_list, names=self._names, lint=lint)
            self._streams.out.write(self._rendered(answer))

    def _verdict(self, report: Struct, given: Verdict | None) -> Verdict | None:
        if given is not None or self._output.reads is not Reads.REPORTS:
            return given
        from kubectl_plugin.views.headline import headline

        return headline(report, self._source.now if self._source is not None else None)

    def _rendered(self, answer: PrintedAnswer) -> str:
        render: Renderer = load(FORMATS[self._output.format].renderer)
        medium = Medium(
            target=self._target,
            colour=self._colour,
            width=self._streams.width(),
            terminal=self._streams.out.isatty(),
            template=self._output.template,
            note=self._note,
        )
        try:
            return render(answer, medium)
        except TemplateError as error:
            raise UsageError(f"-o {self._output.format}: {error}", advice="-o json shows the data") from error

    def _note(self, text: str) -> None:
        self._streams.err.write(f"{escape(text)}\n")
        self._streams.err.flush()


def without_missing_objects(page: Page, source: Source) -> Page:
    """The page without commands about objects that are missing from a List, which may not include the owners.

    A live cluster is not queried: there, the owner of an existing object exists.
    """
    if source.side_by_side:
        return page
    kept = tuple(command for command in page.next_commands if _objects_exist(command, source))
    return replace(page, next_commands=kept)


def _with_rights(page: Page, command: str) -> Page:
    """The page with the command that prints the role, if the user lacks a permission to read."""
    lines = (line for part in page.parts for line in getattr(part, "lines", ()))
    hints = (one.command for line in lines for one in getattr(line, "parts", ()) if not isinstance(one, str))
    asked = [hint for hint in hints if hint.words[1:3] == ("auth", "can-i")]
    if not asked:
        return page
    from kubectl_plugin.render.command import qos

    kubelets = "--kubelets" if any(one.startswith("--subresource") for hint in asked for one in hint.options) else ""
    role = qos("rights {}", command, options=kubelets, comment="a role, for an administrator to apply")
    return replace(page, next_commands=(*page.next_commands, role))


def _objects_exist(command: Command, source: Source) -> bool:
    from cluster_io.kinds import find_kind

    for word in command.words:
        typed, slash, name = word.partition("/")
        kind = find_kind(typed) if slash else None
        if kind is None:
            continue
        try:
            source.get(kind, name, (command.namespace or source.namespace) if kind.namespaced else None)
        except ClusterError:
            return False
    return True
