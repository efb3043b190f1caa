"""What changed since an earlier report, in words: the worst news first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.page import Section, Severity, Table
from kubectl_plugin.reports.cluster import ClusterReport
from kubectl_plugin.reports.cluster_changes import (
    ClusterChanges,
    NodeChange,
    NodeStanding,
    PodChange,
    PodStanding,
    Tally,
)
from kubectl_plugin.reports.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import most_urgent
from kubectl_plugin.views.risk_words import RISK_SEVERITY, RISK_WORDS, urgency_words
from kubectl_plugin.views.words import clock, counted
from podrules.pressure.nearness import Nearness, headroom_nearness

__all__ = ["MOST_SHOWN", "News", "changes_sentence", "changes_tables", "count_rows", "news"]

MOST_SHOWN: Final = 40
_HEADROOM_STEP: Final = 5
"""Percentage points: usage moves by less all the time."""
_NEARNESS: Final = {
    Nearness.MET: Severity.TROUBLE,
    Nearness.CLOSE: Severity.TROUBLE,
    Nearness.NEAR: Severity.NOTICE,
    Nearness.FAR: Severity.NOTICE,
}
_OF_SPEC: Final = frozenset({PodRisk.BEST_EFFORT, PodRisk.NO_GRACE_PERIOD})
"""What a pod is from the start: reports of earlier releases do not tell it, and it is no news."""


class News(Struct, frozen=True):
    """One thing that changed."""

    severity: Severity
    """Of what it has become: what got better is fine."""
    what: str
    """``node/node-1``, ``pod/shop/web-0``."""
    words: str


def news(changes: ClusterChanges) -> tuple[News, ...]:
    """Everything that changed and is worth a line, the worst first; nodes before pods."""
    told = [*filter(None, map(_of_node, changes.nodes)), *filter(None, map(_of_pod, changes.pods))]
    return tuple(sorted(told, key=lambda one: -one.severity.urgency))


def changes_sentence(report: ClusterReport, changes: ClusterChanges) -> str:
    """How much changed, since when; and whether both are of one cluster."""
    found = news(changes)
    since = "" if changes.since is None else f" since {clock(changes.since, report.at)}"
    worse = urgency_words(one.severity for one in found)
    told = f"{counted(len(found), 'change')}{since}: {worse}." if found else f"Nothing changed{since}."
    return f"{told} {_other_cluster(report, changes)}".strip()


def _other_cluster(report: ClusterReport, changes: ClusterChanges) -> str:
    for name, before, after in (
        ("API server", changes.earlier_server, report.origin.server),
        ("context", changes.earlier_context, report.origin.context),
        ("source", changes.earlier_source, report.source),
    ):
        if before and after:
            same = before == after
            return "" if same else f"The earlier report is of another {name}: {before}, this one of {after}."
    return ""


def changes_tables(changes: ClusterChanges) -> Iterator[Table | Section]:
    """The changes and the counts, for a terminal."""
    found = news(changes)
    if found:
        shown = found[:MOST_SHOWN]
        rows = [(one.severity.value, one.what, one.words) for one in shown]
        if len(found) > len(shown):
            rows.append(("", f"and {len(found) - len(shown)} more", "(-o json)"))
        yield Table("Changes, the worst first", ("now", "object", "what changed"), tuple(rows))
    rows = [(words, f"{before:,}", f"{after:,}") for words, before, after in count_rows(changes)]
    yield Table("Counts", ("count", "before", "after"), tuple(rows), frozenset({1, 2}))


def count_rows(changes: ClusterChanges) -> Iterator[tuple[str, int, int]]:
    """What is counted, before and after."""
    before, after = changes.before, changes.after
    yield "nodes", before.nodes, after.nodes
    yield "nodes ready", before.nodes_ready, after.nodes_ready
    yield "pods", before.pods, after.pods
    for risk in PodRisk:
        if counts := _of_risk(risk.value, before, after):
            yield f"pods: {RISK_WORDS[risk]}", *counts
    known = {risk.value for risk in PodRisk}
    for name in sorted((before.pods_by_risk.keys() | after.pods_by_risk.keys()) - known):
        yield f"pods: {name}", before.pods_by_risk.get(name, 0), after.pods_by_risk.get(name, 0)
    yield (
        "pods: nothing wrong",
        before.pods - sum(before.pods_by_risk.values()),
        after.pods - sum(after.pods_by_risk.values()),
    )
    yield "restarts", before.restarts, after.restarts


def _of_risk(risk: str, before: Tally, after: Tally) -> tuple[int, int] | None:
    counts = before.pods_by_risk.get(risk, 0), after.pods_by_risk.get(risk, 0)
    return counts if any(counts) else None


def _of_node(change: NodeChange) -> News | None:
    what, before, after = f"node/{change.name}", change.before, change.after
    if after is None:
        return News(Severity.NOTICE, what, "gone")
    if before is None:
        state = _node_words(after)
        return News(Severity.TROUBLE if state != "Ready" else Severity.FINE, what, f"new: {state}")
    words, severity = [], Severity.FINE
    if _node_words(before) != _node_words(after):
        words.append(f"{_node_words(before)} -> {_node_words(after)}")
        severity = Severity.FINE if _node_words(after) == "Ready" else Severity.TROUBLE
    if before.unschedulable != after.unschedulable:
        words.append("cordoned" if after.unschedulable else "uncordoned")
        severity = most_urgent((severity, Severity.NOTICE if after.unschedulable else Severity.FINE))
    for name, old, new in (
        ("cpu", before.cpu_requested, after.cpu_requested),
        ("memory", before.memory_requested, after.memory_requested),
    ):
        if old != new:
            words.append(f"{name} requests {old}% -> {new}%")
            severity = most_urgent((severity, Severity.NOTICE if new > max(old, 100) else Severity.FINE))
    left, right = before.headroom, after.headroom
    if left is not None and right is not None and abs(left - right) >= _HEADROOM_STEP:
        words.append(f"headroom {left}% -> {right}%")
        worse = _NEARNESS[headroom_nearness(right, met=right < 0)]
        severity = most_urgent((severity, worse if right < left else Severity.FINE))
    for name in sorted({*before.pressures} ^ {*after.pressures}):
        came = name in after.pressures
        words.append(name if came else f"no {name} any more")
        severity = Severity.TROUBLE if came else severity
    return News(severity, what, ", ".join(words)) if words else None


def _node_words(node: NodeStanding) -> str:
    if node.down:
        return "silent"
    return "Ready" if node.ready == "True" else "not Ready"


def _severity(pod: PodStanding) -> Severity:
    return Severity.FINE if pod.risk is None else RISK_SEVERITY[pod.risk]


def _of_pod(change: PodChange) -> News | None:
    what = f"pod/{change.namespace}/{change.name}"
    before, after = change.before, change.after
    if after is None:
        return News(Severity.FINE, what, f"gone: was {_pod_words(before)}" if before is not None else "gone")
    if before is None:
        return News(_severity(after), what, f"new: {_pod_words(after)}{_restart_words(change)}")
    was, now = _pod_words(before), _pod_words(after)
    words = []
    if change.made_anew:
        words.append("made anew")
    if was != now:
        words.append(f"{was} -> {now}")
    if before.node != after.node:
        words.append(f"node {before.node or 'none'} -> {after.node or 'none'}")
    if change.new_restarts:
        words.append(_restart_words(change).removeprefix(", "))
    if not words:
        return None
    severity = _severity(after) if was != now or change.made_anew else Severity.FINE
    if change.new_restarts:
        severity = most_urgent((severity, Severity.NOTICE))
    return News(severity, what, ", ".join(words))


def _restart_words(change: PodChange) -> str:
    return f", {counted(change.new_restarts, 'new restart')}" if change.new_restarts else ""


def _pod_words(pod: PodStanding) -> str:
    """``Running``, or what is wrong with it beside that."""
    status = pod.status or "no status"
    return status if pod.risk is None or pod.risk in _OF_SPEC else f"{status} ({RISK_WORDS[pod.risk]})"
