"""The page of `lint`; the text of each finding comes from `podrules.lint`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from kubectl_plugin.render.command import why
from kubectl_plugin.render.page import Page, Row, Section
from kubectl_plugin.reports.lint import LintFinding, LintReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.caveats import versions_section
from kubectl_plugin.views.words import counted, listed
from podrules.lint.finding import Level

_SEVERITIES: Final = {Level.ERROR: Severity.TROUBLE, Level.WARNING: Severity.NOTICE, Level.NOTICE: Severity.NOTICE}
_MAX_TERMS: Final = 3
_MAX_PLACES: Final = 5
"""The most places of one rule that are shown; the others are counted."""


def lint_page(report: LintReport, severity: Level, *, wide: bool = False) -> Page:
    """Every finding that is not ignored, grouped by rule; ``wide``: with all places of a rule."""
    shown = [finding for finding in report.findings if finding.ignored is None]
    verdict = lint_verdict(report, severity)
    terms = dict.fromkeys(finding.term for finding in shown if finding.term)
    unknown = [
        Section("ignore", (f"{one.file}:{one.line}", f"Unknown rule {one.rule}." if one.rule else "It names no rule."))
        for one in report.unknown_ignores
    ]
    return Page(
        title="kubectl qos lint",
        verdict=verdict.sentences,
        severity=verdict.severity,
        parts=(
            *(Section("not read", (entry.file, entry.problem)) for entry in report.unreadable),
            *_found(shown, most=None if wide else _MAX_PLACES),
            *unknown,
            versions_section(report.version_notes),
        ),
        next_commands=tuple(map(why, list(terms)[:_MAX_TERMS])),
    )


def lint_verdict(report: LintReport, severity: Level) -> Verdict:
    """The number of findings, and whether they fail at a level."""
    sentences = []
    numbers = [counted(report.counted(level), level.value) for level in Level if report.counted(level)]
    found = listed(numbers) if numbers else "Nothing found"
    scope = f"in {counted(len(report.objects), 'object')} of {counted(report.files - report.not_read, 'file')}"
    failing = len(report.failing(severity))
    if report.unreadable:
        unread = [f"{counted(report.not_read, 'file')} cannot be read"] if report.not_read else []
        if report.read_in_part:
            unread.append(f"{counted(report.read_in_part, 'file')} can be read in part only")
        checked = report.objects or report.passed_over
        sentences.append(
            f"{listed(unread)}. {found} {scope}." if checked else f"{listed(unread)}: nothing was checked."
        )
    else:
        none_fails = "" if failing or not numbers else f": none fails at --severity={severity.value}"
        sentences.append(f"{found} {scope}{none_fails}.")
    if not report.objects and not report.unreadable:
        sentences.append("No object has a kind that is checked.")
    rest = []
    if report.ignored:
        rest.append(f"{report.ignored} ignored")
    if report.passed_over:
        rest.append(f"{counted(report.passed_over, 'object')} of other kinds passed over")
    if rest:
        sentences.append(f"{', '.join(rest)}.")
    levels = (one.level for one in report.findings if one.ignored is None)
    worst = min(levels, key=lambda level: level.rank, default=None)
    code, urgency = VerdictCode.NOTHING_FOUND, Severity.FINE
    if report.unreadable:
        code, urgency = VerdictCode.UNREADABLE, Severity.TROUBLE
    elif worst is not None:
        code, urgency = VerdictCode.FINDINGS, _SEVERITIES[worst]
    return Verdict(code, urgency, tuple(sentences))


def _found(findings: Sequence[LintFinding], most: int | None) -> Iterator[Section]:
    """A section for each rule: each of its messages, with the places below it."""
    by_rule: dict[str, list[LintFinding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    for rule, found in by_rule.items():
        first, rest = found[0], found[most:] if most is not None else []
        if len(found) == 1:
            yield Section(first.level.value, (_place(first), first.message, first.remedy, _field(first), rule))
            continue
        by_message: dict[str, list[str | Row]] = {}
        for finding in found[:most]:
            below = by_message.setdefault(finding.message, [finding.message])
            below.append(Row((_place(finding), _field(finding))))
        places = chain.from_iterable(by_message.values())
        more = (f"and {counted(len(rest), 'more place')}; all: -o wide",) if rest else ()
        yield Section(first.level.value, (*places, *more, first.remedy, f"{rule}, {counted(len(found), 'time')}"))


def _place(finding: LintFinding) -> str:
    return f"{finding.object.file}:{finding.line}:{finding.column}"


def _field(finding: LintFinding) -> str:
    return f"{finding.object.kind}/{finding.object.name} {finding.field}"
