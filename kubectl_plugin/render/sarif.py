"""Findings as SARIF 2.1.0 (OASIS), for code scanning.

Consumers require: one run, rules with their default level, results with ruleId, message and a physical location with a
URI relative to the working directory; ignored findings as results with a suppression.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from kubectl_plugin.render.formats import LintAnswer, Medium, PrintedAnswer
from kubectl_plugin.reports.lint import LintFinding, LintReport
from podrules import __version__
from podrules.lint.finding import Level
from podrules.lint.rules import RULES

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTICE: "note"}


def render_sarif(answer: PrintedAnswer, medium: Medium) -> str:
    """One run, ending in a new line; pure ASCII."""
    del medium
    lint: LintAnswer = answer.lint
    report = lint.report
    index = {name: number for number, name in enumerate(RULES)}
    notifications = _notifications(report)
    run = {
        "tool": {"driver": _driver()},
        "invocations": [
            {"executionSuccessful": not report.unreadable, "toolExecutionNotifications": notifications},
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.rule]) for finding in report.findings],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2).replace("\x7f", "\\u007f") + "\n"


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.about},
            "fullDescription": {"text": f"{rule.about} Source: {rule.source}."},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": _LEVELS[rule.level]},
        }
        for rule in RULES.values()
    ]
    return {"name": "kubectl-qos", "version": __version__, "rules": rules}


def _result(finding: LintFinding, index: int) -> dict[str, Any]:
    owner = f"{finding.object.kind}/{finding.object.name}"
    suppressions: Sequence[dict[str, str]] = ()
    if finding.ignored is not None:
        reason = {"justification": finding.ignored.reason} if finding.ignored.reason else {}
        suppressions = ({"kind": "inSource", **reason},)
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.level],
        "message": {"text": f"{owner} {finding.field}: {finding.message} {finding.remedy}"},
        "locations": [
            {
                "physicalLocation": _location(finding.object.file, finding.line, finding.column),
                "logicalLocations": [{"fullyQualifiedName": f"{owner}.{finding.field}", "kind": "member"}],
            }
        ],
        "suppressions": list(suppressions),
    }


def _notifications(report: LintReport) -> list[dict[str, Any]]:
    """Files that could not be read, and ignores that name no known rule."""
    unread = [
        {
            "level": "error",
            "message": {"text": entry.problem},
            "locations": [{"physicalLocation": _location(entry.file)}],
        }
        for entry in report.unreadable
    ]
    return unread + [
        {
            "level": "warning",
            "message": {"text": f"Unknown rule {entry.rule}." if entry.rule else "The ignore names no rule."},
            "locations": [{"physicalLocation": _location(entry.file, entry.line)}],
        }
        for entry in report.unknown_ignores
    ]


def _location(file: str, line: int | None = None, column: int | None = None) -> dict[str, Any]:
    path = PurePath(file)
    uri = f"file://{quote(file)}" if path.is_absolute() else quote(path.as_posix())
    region = {"startLine": line, "startColumn": column}
    known = {name: number for name, number in region.items() if number is not None}
    return {"artifactLocation": {"uri": uri}, **({"region": known} if known else {})}
