"""Findings as JUnit XML, as Jenkins, GitLab and pytest read and write it.

A file is a test suite, and an object is a test case. It fails for findings at or above the severity. Lesser findings
are its output, and ignored findings are left out. A file that cannot be read is a case with an error.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final
from xml.etree import ElementTree as ET

from kubectl_plugin.render.escape import escape
from kubectl_plugin.render.formats import LintAnswer, Medium, PrintedAnswer
from kubectl_plugin.reports.lint import LintFinding, LintObject
from podrules.lint.finding import Level

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
