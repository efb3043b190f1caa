"""What ``-o`` asked for: pages and lines as they come, data in one piece at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kubectl_plugin.options import Output, Streams
from kubectl_plugin.views.words import now_words
from podrules.cluster.errors import ClusterError, UsageError

if TYPE_CHECKING:
    from kubectl_plugin.render.columns import Columns
    from kubectl_plugin.render.command import Command, Target
    from kubectl_plugin.render.page import Page
    from kubectl_plugin.reports.verdict import Verdict
    from podrules.cluster.source import Source

__all__ = ["Printer", "naming_what_is_there"]


class Printer:
    """Turns reports and pages into text on standard output."""

    def __init__(
        self, output: Output, streams: Streams, *, colour: bool, target: Target, source: Source | None
    ) -> None:
        """Print nothing yet.

        Args:
            output: How.
            streams: Where to.
            colour: Whether in colour.
            target: Where the answers come from, for the commands in them.
            source: The same as objects; the first page says by which time they are told, where nobody told that.
        """
        self._source = source
        self._now = now_words(source) if source is not None else ""
        self._output, self._streams, self._colour, self._target = output, streams, colour, target
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
        """Take one answer.

        Args:
            report: It as data.
            names: What ``-o name`` calls what it is about: ``pod/web-0``.
            pages: Makes it in words; asked for where words are wanted.
            verdict: What it comes to, where the report alone does not tell.
        """
        if self._output.in_words:
            for page in pages():
                self.show(page)
        else:
            self._reports.append((report, self._verdict(report, verdict)))
            self._names += names

    def show(self, page: Page) -> None:
        """Print a page, where words are wanted."""
        if not self._output.in_words:
            return
        gap = "\n" if self._page_before else ""
        self._page_before = True
        if self._now:
            page = replace(page, verdict=(*page.verdict, self._now))
            self._now = ""
        if self._source is not None:
            page = naming_what_is_there(page, self._source)
        self._streams.out.write(gap + self._in_words(page))

    def say(self, text: str) -> None:
        """Print a line at once; on standard error where a program reads data on standard output."""
        from kubectl_plugin.render.escape import escape

        if not self._output.in_words:
            self._streams.err.write(f"{escape(text)}\n")
            self._streams.err.flush()
            return
        gap = "\n" if self._page_before else ""
        self._page_before = False
        if self._output.format == "markdown":
            from kubectl_plugin.render.markdown import markdown_item

            line = markdown_item(text)
        else:
            line = escape(text)
        self._streams.out.write(f"{gap}{line}\n")
        self._streams.out.flush()

    def finish(self, *, as_list: bool = False) -> None:
        """Print what was taken as data.

        Args:
            as_list: Whether it is a List also when it is one report.

        Raises:
            UsageError: the template does not go with the data.
        """
        if not self._output.in_words:
            self._streams.out.write(self._as_data(as_list=as_list))

    def _verdict(self, report: Struct, given: Verdict | None) -> Verdict | None:
        if given is not None or self._output.format == "name":
            return given
        from kubectl_plugin.views.headline import headline

        return headline(report, self._source.now if self._source is not None else None)

    def _in_words(self, page: Page) -> str:
        if self._output.format == "markdown":
            from kubectl_plugin.render.markdown import render_markdown

            return render_markdown(page, target=self._target)
        from kubectl_plugin.render.text import render_page

        return render_page(page, colour=self._colour, target=self._target, width=self._streams.width())

    def _as_data(self, *, as_list: bool) -> str:
        from kubectl_plugin.render.escape import escape
        from kubectl_plugin.render.structured import content, render_json, render_yaml

        if self._output.format == "name":
            return "".join(f"{escape(name)}\n" for name in self._names)
        data = content(self._reports, as_list=as_list)
        match self._output.format:
            case "json":
                return render_json(data)
            case "yaml":
                return render_yaml(data)
        return self._by_template(data)

    def _by_template(self, data: Any) -> str:
        from kubectl_plugin.render.columns import Columns
        from kubectl_plugin.render.escape import escape
        from kubectl_plugin.render.jsonpath import JSONPathError
        from kubectl_plugin.render.structured import render_json_list

        template = self._output.template
        if template is None:
            raise UsageError(f"-o {self._output.format} without a template")
        # Templates know what JSON has: of tuples it has lists.
        data = msgspec.json.decode(msgspec.json.encode(data))
        try:
            if isinstance(template, Columns):
                items = data["items"] if data["kind"] == "List" else [data]
                self._note_missing(template, items)
                return template.render(items)
            if self._output.format == "jsonpath-as-json":
                return "".join(map(render_json_list, template.values(data)))
            # A program gets texts as they are; a terminal must not be moved by them.
            return template.render(data, escape if self._streams.out.isatty() else str)
        except JSONPathError as error:
            raise UsageError(f"-o {self._output.format}: {error}", advice="-o json shows the data") from error

    def _note_missing(self, columns: Columns, items: list[Any]) -> None:
        """A mistyped path looks like a fact that no object has: say that it was not found."""
        from kubectl_plugin.render.escape import escape

        for field in dict.fromkeys(columns.missing(items)):
            where = "the object has no" if len(items) == 1 else f"none of the {len(items)} objects has"
            self._streams.err.write(f"{where} {escape(field)}: -o json shows the fields\n")


def naming_what_is_there(page: Page, source: Source) -> Page:
    """A page without the commands that name what a List does not hold: it may have been made without the owners.

    A cluster, which is what can be read side by side, is not asked again: there the owner of what is there is there.
    """
    if source.side_by_side:
        return page
    there = tuple(command for command in page.next_commands if _names_what_is_there(command, source))
    return replace(page, next_commands=there)


def _names_what_is_there(command: Command, source: Source) -> bool:
    from podrules.cluster.kinds import find_kind

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
