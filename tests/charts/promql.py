"""Reads an expression of PromQL: its series and their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping

TARGET_LABELS = frozenset({"namespace", "job", "pod", "instance", "service", "container", "endpoint"})
"""The labels that Prometheus adds to each series of a pod of a ServiceMonitor."""
_SERIES = re.compile(r"\b((?:qos_webhook|apiserver|process)_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_BY = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')
_TYPE = re.compile(r"^# TYPE (\w+) ", re.MULTILINE)


def named(expression: str) -> dict[str, set[str]]:
    """The labels that an expression uses, by the name of the series; grouping labels belong to each of them."""
    grouped = {label.strip() for labels in _BY.findall(expression) for label in labels.split(",")}
    found: dict[str, set[str]] = {}
    for name, matchers in _SERIES.findall(expression):
        found.setdefault(name, set(grouped)).update(_MATCHER.findall(matchers))
    return found


def served(*scrapes: str) -> Mapping[str, set[str]]:
    """The labels of each series of scrapes, without those that Prometheus adds."""
    found: dict[str, set[str]] = {}
    for text in scrapes:
        for name in _TYPE.findall(text):
            found.setdefault(name, set())
        for name, labels in _SAMPLE.findall(text):
            found.setdefault(name, set()).update(_LABEL.findall(labels))
    return found
