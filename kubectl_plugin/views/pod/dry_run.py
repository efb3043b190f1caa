"""The result of the API server's dry run in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.pod.dry_run import AddedField, DryRunReport, DryRunVerdict
from kubectl_plugin.views.words import listed


def dry_run_section(report: DryRunReport | None) -> Section:
    """The verdict on each object, the warnings, and what admission adds; empty without a dry run."""
    return Section("Dry run", tuple(_lines(report)) if report is not None else ())


def _lines(report: DryRunReport) -> Iterator[str]:
    for verdict in report.verdicts:
        yield _verdict_words(verdict)
    if report.unanswered:
        yield "the rest of this page is computed locally, without the API server"
    elif not report.refusal:
        yield "asked as you: its controller may get another answer if rules depend on the user"
    for warning in report.warnings:
        yield f"warning: {warning}"
    yield from _added_lines(report.added)


def _verdict_words(verdict: DryRunVerdict) -> str:
    name = "the pod that it makes" if verdict.object == "pod" else verdict.object
    if verdict.unanswered:
        return f"{name}: no answer: {verdict.unanswered}"
    if verdict.refusal:
        return f"{name}: refused"
    return f"{name}: the API server accepts {'this change of it' if verdict.applied else 'it'}"


def _added_lines(added: Sequence[AddedField]) -> Iterator[str]:
    """A line for each plugin or webhook, in the order of the fields."""
    ordered = sorted(added, key=lambda one: one.by)
    for by, group in groupby(ordered, key=lambda one: one.by):
        items = list(group)
        for verb, some in (("added", [one for one in items if not one.changed]), ("changed", _changed(items))):
            if some:
                yield f"{verb} at admission{_by_words(by)}: {listed([one.what for one in some])}"


def _changed(items: Sequence[AddedField]) -> list[AddedField]:
    return [one for one in items if one.changed]


def _by_words(by: str) -> str:
    return f" by {by}" if by else ", by a webhook or policy that is not recorded"
