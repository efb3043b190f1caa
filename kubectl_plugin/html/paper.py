"""Static tables of the worst nodes and pods, for print and for browsers without scripts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from kubectl_plugin.html.markup import MAX_ROWS, Child, Markup, cell_bar, element, joined, severity_word, table
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport, NodeEntry, PodEntry
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.cluster.cluster_page import (
    restart_words,
)
from kubectl_plugin.views.node.node_flags import node_state
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY, RISK_WORDS
from kubectl_plugin.views.words import ago, cores, counted, memory

_MAX_TROUBLED: Final = 12
_SHOWN_RISKS: Final = tuple(PodRisk)


def nodes(report: ClusterReport) -> Markup:
    """The table of nodes, the worst first."""
    shown = sorted(report.nodes, key=_node_order)[:MAX_ROWS]
    rest = len(report.nodes) - len(shown)
    return element(
        "div",
        table(
            "Nodes, the worst first",
            ("Node", "Zone", "State", "Pods", "CPU", "Memory", "Killed first", "Evicted first"),
            [_node_cells(node) for node in shown],
            numbers={3},
        ),
        element("p", f"and {counted(rest, 'more node')}", class_="note") if rest else None,
        class_="static",
    )


def _node_order(node: NodeEntry) -> tuple[int, float, str]:
    severity, _ = node_state(node)
    return -severity.urgency, -node.memory.total / (node.memory.allocatable or 1), node.name


def _node_cells(node: NodeEntry) -> list[Child]:
    severity, words = node_state(node)
    return [
        element("strong", node.name),
        node.zone or "none",
        joined(severity_word(severity), " ", words),
        f"{node.pods} of {node.max_pods}",
        cell_bar("CPU", node.cpu, cores),
        cell_bar("Memory", node.memory, memory),
        node.first_killed[1] if node.first_killed else "unknown",
        node.first_evicted[1] if node.first_evicted else "unknown",
    ]


def troubled(report: ClusterReport) -> Markup | None:
    """The table of pods with problems, the worst first."""
    found = sorted((pod for pod in report.pods if pod.risk is not None), key=_risk_order)
    if not found:
        return None
    shown = found[:_MAX_TROUBLED]
    rest = len(found) - len(shown)
    return element(
        "div",
        table(
            "Pods with something wrong, the worst first",
            ("Pod", "What is wrong", "Status", "Restarts", "Age", "CPU", "Memory", "Node"),
            [_troubled_cells(pod, report.at) for pod in shown],
            numbers={3, 4, 5, 6},
        ),
        element("p", f"and {counted(rest, 'more pod')}", class_="note") if rest else None,
        class_="static",
    )


def _risk_order(pod: PodEntry) -> tuple[int, int, str, str]:
    return _SHOWN_RISKS.index(pod.risk) if pod.risk else len(_SHOWN_RISKS), -pod.priority, pod.namespace, pod.name


def _troubled_cells(pod: PodEntry, at: datetime | None) -> list[Child]:
    severity = RISK_SEVERITY[pod.risk] if pod.risk else Severity.FINE
    return [
        joined(element("span", f"{pod.namespace}/", class_="dim"), element("strong", pod.name)),
        joined(severity_word(severity), " ", RISK_WORDS[pod.risk] if pod.risk else ""),
        pod.status,
        restart_words(pod, at),
        ago(pod.created, at) or "unknown",
        _use(pod.cpu_used, pod.asked.cpu, cores),
        _use(pod.used, pod.asked.memory, memory),
        pod.node or "none",
    ]


def _use(used: int | None, requested: int, words: Callable[[int], str]) -> str:
    """Usage and request, such as ``12m of 100m``."""
    text = words(used) if used is not None else "unknown"
    return f"{text} of {words(requested)}" if requested else f"{text}, none requested"
