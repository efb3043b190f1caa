"""The page of `lint`; the text of each finding comes from `podrules.lint`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kubectl_plugin.render.command import why
from kubectl_plugin.render.page import LineAtFault, LinesAtFault, Page, Section
from kubectl_plugin.reports.lint import LintFinding, LintReport
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.caveats import versions_section
from kubectl_plugin.views.words import counted, listed
from podrules.lint.finding import Level

_SEVERITIES: Final = {Level.ERROR: Severity.TROUBLE, Level.WARNING: Severity.NOTICE, Level.NOTICE: Severity.NOTICE}
_MAX_TERMS: Final = 3
_MAX_PLACES: Final = 5
"""The most places of one rule that are shown; the others are counted."""


def lint_page(report: LintReport, severity: Level, texts: Mapping[str, str], *, wide: bool = False) -> Page:
    """Every finding that is not ignored, grouped by rule.

    Args:
        report: The findings.
        severity: The lowest level that fails.
        texts: The text of each file.
        wide: Whether to show all places of a rule.
    """
    shown = [finding for finding in report.findings if finding.ignored is None]
    verdict = lint_verdict(report, severity)
    terms = dict.fromkeys(finding.term for finding in shown if finding.term)
    unknown = [
        Section("ignore", (f"{one.file}:{one.line}", f"Unknown rule {one.rule}." if one.rule else "It names no rule."))
        for one in report.unknown_ignores
    ]
    return Page(
        title="",
        verdict=verdict.sentences,
        severity=verdict.severity,
        problems=tuple(_problems(shown, texts, most=None if wide else _MAX_PLACES)),
        parts=(
            *(Section("not read", (entry.file, entry.problem)) for entry in report.unreadable),
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


def _problems(findings: Sequence[LintFinding], texts: Mapping[str, str], most: int | None) -> Iterator[LinesAtFault]:
    """Each message of each rule once, with its places."""
    by_rule: dict[str, dict[str, list[LintFinding]]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, {}).setdefault(finding.message, []).append(finding)
    lines = {file: texts[file].split("\n") for file in dict.fromkeys(finding.object.file for finding in findings)}
    for rule, by_message in by_rule.items():
        room, rest = most, sum(map(len, by_message.values()))
        for message, found in by_message.items():
            shown = found[:room]
            room, rest = None if room is None else room - len(shown), rest - len(shown)
            more = (f"and {counted(rest, 'more place')}; all: -o wide",) if room == 0 and rest else ()
            yield LinesAtFault(
                severity=_SEVERITIES[found[0].level],
                name=f"{found[0].level.value} {rule}",
                places=tuple(_place(one, lines[one.object.file]) for one in shown),
                lines=(message, found[0].remedy, *more),
            )
            if room == 0:
                break


def _place(finding: LintFinding, lines: Sequence[str]) -> LineAtFault:
    entry = finding.object
    return LineAtFault(
        at=f"{entry.file}:{finding.line}:{finding.column}",
        about=f"{entry.kind}/{entry.name} {finding.field}",
        text=lines[finding.line - 1] if finding.line <= len(lines) else "",
        column=finding.column,
    )
