"""Findings of lint as SARIF 2.1.0 (OASIS) for code scanning, as JUnit XML, and as commands of GitHub Actions.

Consumers require: one run, rules with their default level, results with ruleId, message and a physical location with a
URI relative to the working directory; ignored findings as results with a suppression.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from kubectl_plugin.render.formats import LintAnswer, Medium, PrintedAnswer
from kubectl_plugin.reports.lint import LintFinding, LintObject
from podrules import __version__
from podrules.api.escape import escape
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
    # Files that could not be read, and ignores that name no known rule.
    unread = [
        {
            "level": "error",
            "message": {"text": entry.problem},
            "locations": [{"physicalLocation": _location(entry.file)}],
        }
        for entry in report.unreadable
    ]
    notifications = unread + [
        {
            "level": "warning",
            "message": {"text": f"Unknown rule {entry.rule}." if entry.rule else "The ignore names no rule."},
            "locations": [{"physicalLocation": _location(entry.file, entry.line)}],
        }
        for entry in report.unknown_ignores
    ]
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


def _location(file: str, line: int | None = None, column: int | None = None) -> dict[str, Any]:
    path = PurePath(file)
    uri = f"file://{quote(file)}" if path.is_absolute() else quote(path.as_posix())
    region = {"startLine": line, "startColumn": column}
    known = {name: number for name, number in region.items() if number is not None}
    return {"artifactLocation": {"uri": uri}, **({"region": known} if known else {})}


# Findings as JUnit XML, as Jenkins, GitLab and pytest read and write it.
#
# A file is a test suite, and an object is a test case. It fails for findings at or above the severity. Lesser findings
# are its output, and ignored findings are left out. A file that cannot be read is a case with an error.

_NOT_IN_XML: Final = re.compile("[\ufffe\uffff]")


def render_junit(answer: PrintedAnswer, medium: Medium) -> str:
    """The whole document, ending in a new line."""
    del medium
    lint: LintAnswer = answer.lint
    report, severity = lint.report, lint.severity
    found: dict[LintObject, list[LintFinding]] = defaultdict(list)
    for finding in report.findings:
        if finding.ignored is None:
            found[finding.object].append(finding)
    files = dict.fromkeys([*(entry.file for entry in report.objects), *(entry.file for entry in report.unreadable)])
    root = ET.Element("testsuites", name="kubectl qos lint")
    for file in files:
        suite = ET.SubElement(root, "testsuite", name=_text(file))
        # The number of the document distinguishes objects of one name.
        for entry in dict.fromkeys(entry for entry in report.objects if entry.file == file):
            _case(suite, entry, found[entry], severity)
        for unread in report.unreadable:
            if unread.file == file:
                case = ET.SubElement(suite, "testcase", classname=_text(file), name="can be read")
                ET.SubElement(case, "error", type="unreadable", message=_text(unread.problem))
        _count(suite)
    _count(root)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, entry: LintObject, findings: list[LintFinding], severity: Level) -> None:
    name = f"{entry.kind}/{entry.name}" if entry.document == 1 else f"{entry.kind}/{entry.name} ({entry.document})"
    case = ET.SubElement(suite, "testcase", classname=_text(entry.file), name=_text(name))
    failing = [finding for finding in findings if finding.level.rank <= severity.rank]
    if failing:
        # One element: GitLab shows the first alone.
        rules = ", ".join(dict.fromkeys(finding.rule for finding in failing))
        failure = ET.SubElement(case, "failure", type=rules, message=_text(failing[0].message))
        failure.text = "\n".join(map(_line, failing))
    lesser = [finding for finding in findings if finding.level.rank > severity.rank]
    if lesser:
        ET.SubElement(case, "system-out").text = "\n".join(map(_line, lesser))


def _count(element: ET.Element) -> None:
    element.set("tests", str(len(list(element.iter("testcase")))))
    element.set("failures", str(len(list(element.iter("failure")))))
    element.set("errors", str(len(list(element.iter("error")))))


def _line(finding: LintFinding) -> str:
    place = f"{finding.object.file}:{finding.line}:{finding.column}"
    return _text(f"{place}: {finding.level.value}: {finding.message} {finding.remedy} [{finding.rule}]")


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("?", escape(text))


# Findings as workflow commands of GitHub Actions, which shows them at the changed lines.
#
# Source: docs.github.com, "Workflow commands for GitHub Actions"; actions/toolkit, packages/core/src/command.ts for
# what is escaped.


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
