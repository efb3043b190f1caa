"""The pages of `why`: the explanation of a term or a text of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.glossary.catalogue import CATALOGUE
from kubectl_plugin.render.command import as_typed, why
from kubectl_plugin.render.page import Page, Section
from kubectl_plugin.reports.term import TermReport
from kubectl_plugin.views.words import counted, cut, listed, quoted
from podrules.api.escape import escape

_EXAMPLES: Final = 5
_SHORT_NAME: Final = 20
"""The most characters of a name that is shown as an example."""
_MISSES: Final = 10
"""The most unrecognised parts that are shown."""
_SHOWN: Final = 120
"""The most characters of a text that are shown again."""


def term_pages(report: TermReport) -> Iterator[Page]:
    """A page for each entry, then one for the parts that no entry explains."""
    for explained in report.explained:
        entry = explained.entry
        title = entry.name
        if explained.nodes is not None:
            title = f"{explained.text} (on {counted(explained.nodes, 'node')})"
        yield Page(
            title=title,
            verdict=(entry.means,),
            severity=None,
            parts=(
                Section("Rule", entry.rule),
                Section("What helps", entry.do),
                Section("Written in", entry.source),
                Section("See also", (listed(entry.see),) if entry.see else ()),
            ),
            next_commands=tuple(map(as_typed, entry.commands)),
        )
    more = len(report.unexplained) - _MISSES
    if report.unexplained:
        yield Page(
            title="Not recognised",
            verdict=(
                *(f"No entry explains {quoted(cut(part, _SHOWN))}." for part in report.unexplained[:_MISSES]),
                *((f"{counted(more, 'more part')}: -o json has them.",) if more > 0 else ()),
            ),
            severity=None,
        )


def glossary_page() -> Page:
    """All terms, by topic."""
    count = sum(map(len, CATALOGUE.values()))
    return Page(
        title="kubectl qos why TERM",
        verdict=(f"{count} terms and texts are explained; a scheduler's whole message is taken apart.",),
        severity=None,
        parts=tuple(Section(topic, ("", *(entry.name for entry in entries))) for topic, entries in CATALOGUE.items()),
        next_commands=(why("Insufficient memory"),),
    )


def unknown_text(asked: str, near: Sequence[str]) -> str:
    """The message on standard error for an unknown text."""
    said = asked if len(asked) <= _SHOWN else f"{asked[:_SHOWN]}..."
    names = (entries[0].name for entries in CATALOGUE.values())
    some = [name for name in names if len(name) <= _SHORT_NAME]
    nearest = f"nearest terms: {listed(near)}" if near else f"terms are, for example, {listed(some[:_EXAMPLES])}"
    return (
        f"error: unknown text: {escape(quoted(said))}\n{nearest}\n"
        "all terms: kubectl qos why; what a pod waits for: kubectl qos explain pod/NAME\n"
    )
