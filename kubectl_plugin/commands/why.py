"""``kubectl qos why``: the meaning of a term or a message of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from cluster_io.errors import UsageError
from cluster_io.source import Source
from kubectl_plugin.exit_codes import NOT_FOUND
from kubectl_plugin.glossary.lookup import MAX_INPUT, MAX_TEXT, read, similar
from kubectl_plugin.options import Streams
from kubectl_plugin.options.offline_commands import WhyOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.term import ExplainedText, TermReport

if TYPE_CHECKING:
    from kubectl_plugin.render.page import Page


def run(options: WhyOptions, source: Source, streams: Streams) -> int:
    """Explain a term or a message, or list all terms."""
    del source
    piped = options.words == ("-",)
    asked = _piped(streams) if piped else " ".join(options.words).strip()
    if options.words and not asked:
        where = "standard input: no text in it" if piped else "the term is empty"
        raise UsageError(where, advice="Name a term or paste a message; all terms: kubectl qos why")
    printer = Printer(options.output, streams, colour=options.colour, target=Target(), source=None)
    if not asked:
        from kubectl_plugin.views.term import glossary_page

        printer.show(glossary_page())
        return 0
    if any(len(line) > MAX_TEXT for line in asked.splitlines()):
        streams.err.write(f"only the first {MAX_TEXT} characters of a line are read\n")
    found, unexplained = read(asked)
    explained = tuple(ExplainedText(text=text, nodes=nodes, entry=entry) for entry, text, nodes in found)
    if not explained:
        from kubectl_plugin.views.term import unknown_text

        streams.err.write(unknown_text(asked, similar(asked)))
        return NOT_FOUND
    report = TermReport(asked=asked, explained=explained, unexplained=unexplained)
    printer.add(report, pages=partial(_pages, report))
    printer.finish()
    return 0


def _piped(streams: Streams) -> str:
    """The end of standard input in whole lines; for a single line, its start."""
    text = streams.stdin.read(MAX_INPUT + 1)
    if len(text) <= MAX_INPUT or "\n" not in text:
        return text.strip()
    while more := streams.stdin.read(MAX_INPUT):
        text = (text + more)[-MAX_INPUT - 1 :]
    streams.err.write(f"only the last {MAX_INPUT} characters of standard input are read\n")
    return (text.partition("\n")[2] or text).strip()


def _pages(report: TermReport) -> Iterable[Page]:
    from kubectl_plugin.views.term import term_pages

    return term_pages(report)
