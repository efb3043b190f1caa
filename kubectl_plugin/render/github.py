"""Findings as workflow commands of GitHub Actions, which shows them at the changed lines.

Source: docs.github.com, "Workflow commands for GitHub Actions"; actions/toolkit, packages/core/src/command.ts for what
is escaped.
"""

from __future__ import annotations

from kubectl_plugin.render.escape import escape
from kubectl_plugin.render.formats import LintAnswer, Medium, PrintedAnswer


def render_github(answer: PrintedAnswer, medium: Medium) -> str:
    """A line for each finding that counts, each unreadable file and each ignore of an unknown rule."""
    del medium
    lint: LintAnswer = answer.lint
    report = lint.report
    lines = [_command("error", entry.problem, entry.file, title="cannot be read") for entry in report.unreadable]
    lines += [
        _command(
            finding.level.value,
            f"{finding.object.kind}/{finding.object.name} {finding.field}: {finding.message} {finding.remedy}",
            finding.object.file,
            line=finding.line,
            col=finding.column,
            title=finding.rule,
        )
        for finding in report.findings
        if finding.ignored is None
    ]
    lines += [
        _command("warning", f"Unknown rule {entry.rule}.", entry.file, line=entry.line, title="ignore")
        for entry in report.unknown_ignores
    ]
    return "".join(lines)


def _command(level: str, message: str, file: str, **properties: object) -> str:
    fields = ",".join(f"{name}={_property(str(value))}" for name, value in {"file": file, **properties}.items())
    return f"::{level} {fields}::{_data(message)}\n"


def _data(text: str) -> str:
    return escape(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
