"""The changes since an earlier report, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.reports.cluster.cluster_entries import (
    OF_USAGE,
    ClusterChanges,
    ClusterReport,
    NodeChange,
    NodeStanding,
    OtherCluster,
    PodChange,
    PodStanding,
    Tally,
)
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity, most_urgent
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY, RISK_WORDS, urgency_words
from kubectl_plugin.views.words import clock, counted, listed
from podrules.node.pressure.usage import Nearness, headroom_nearness

MAX_SHOWN: Final = 40
_MAX_NODES: Final = 3
_NEARNESS: Final = {
    Nearness.MET: Severity.TROUBLE,
    Nearness.CLOSE: Severity.TROUBLE,
    Nearness.NEAR: Severity.NOTICE,
    Nearness.FAR: Severity.NOTICE,
}


class News(Struct, frozen=True):
    """One thing that changed."""

    severity: Severity
    """The severity of the new state: an improvement is fine."""
    what: str
    """``node/node-1``, ``pod/shop/web-0``."""
    words: str


def news(changes: ClusterChanges) -> tuple[News, ...]:
    """Everything that changed, the worst first; nodes before pods."""
    found = [*map(_of_node, changes.nodes), *map(_of_pod, changes.pods)]
    return tuple(sorted(found, key=lambda one: -one.severity.urgency))


def changes_sentences(report: ClusterReport, changes: ClusterChanges) -> tuple[str, ...]:
    """Warnings, the number of changes since the earlier report, and what could not be compared."""
    found = news(changes)
    newer = changes.since is not None and report.at is not None and changes.since > report.at
    since = "" if changes.since is None or newer else f" since {clock(changes.since, report.at)}"
    worse = urgency_words(one.severity for one in found)
    summary = f"{counted(len(found), 'change')}{since}: {worse}." if found else f"Nothing changed{since}."
    sentences = []
    another = "The earlier report is of another {}: {}, this one of {}."
    match changes.other_cluster:
        case OtherCluster.SERVER:
            sentences.append(another.format("API server", changes.earlier_server, report.origin.server))
        case OtherCluster.CONTEXT:
            sentences.append(another.format("context", changes.earlier_context, report.origin.context))
        case OtherCluster.OBJECTS:
            earlier = f"the earlier report ({changes.earlier_source})"
            sentences.append(
                f"No node and no pod of {earlier} is in this one ({report.source}): is it the same cluster?"
            )
    if newer and changes.since is not None and report.at is not None:
        then, now = clock(changes.since, report.at), clock(report.at, changes.since)
        sentences.append(
            f"The report to compare with is newer ({then}) than this one ({now}): read each change backwards."
        )
    sentences.append(summary)
    for nodes, known in ((changes.usage_learned, "was unknown then"), (changes.usage_lost, "is unknown now")):
        if nodes:
            sentences.append(
                f"Usage of {listed(nodes, most=_MAX_NODES)} {known}: headroom, and pods near their limit or over "
                "their request, are not compared there."
            )
    return tuple(sentences)


def changes_tables(changes: ClusterChanges) -> Iterator[Table | Section]:
    """The tables of changes and counts, for a terminal."""
    found = news(changes)
    if found:
        shown = found[:MAX_SHOWN]
        rows = [(one.what, one.words) for one in shown]
        marks: list[Severity | None] = [one.severity for one in shown]
        if len(found) > len(shown):
            rows.append((f"and {len(found) - len(shown)} more", "(-o json)"))
            marks.append(None)
        yield Table("Changes, the worst first", ("object", "what changed"), tuple(rows), marks=tuple(marks))
    yield Table("Counts", ("count", "before", "after"), tuple(count_rows(changes)), frozenset({1, 2}))


def count_rows(changes: ClusterChanges) -> Iterator[tuple[str, str, str]]:
    """Each count before and after."""
    before, after = changes.before, changes.after
    yield _row("nodes", before.nodes, after.nodes)
    yield _row("nodes ready", before.nodes_ready, after.nodes_ready)
    if before.nodes_cordoned or after.nodes_cordoned:
        yield _row("nodes cordoned", before.nodes_cordoned, after.nodes_cordoned)
    if before.nodes_measured != after.nodes_measured:
        yield _row("nodes with known usage", before.nodes_measured, after.nodes_measured)
    yield _row("pods", before.pods, after.pods)
    for risk in PodRisk:
        counts = [tally.pods_by_risk.get(risk.value, 0) for tally in (before, after)]
        if any(counts):
            yield f"pods: {RISK_WORDS[risk]}", _pods_of(risk, before), _pods_of(risk, after)
    known = {risk.value for risk in PodRisk}
    for name in sorted((before.pods_by_risk.keys() | after.pods_by_risk.keys()) - known):
        yield _row(f"pods: {name}", before.pods_by_risk.get(name, 0), after.pods_by_risk.get(name, 0))
    well = [tally.pods - sum(tally.pods_by_risk.values()) for tally in (before, after)]
    yield _row("pods: nothing wrong", *well)
    yield _row("restarts", before.restarts, after.restarts)


def _row(what: str, before: int, after: int) -> tuple[str, str, str]:
    return what, f"{before:,}", f"{after:,}"


def _pods_of(risk: PodRisk, tally: Tally) -> str:
    """The number of pods with a risk; unknown if the risk depends on usage and no usage was known."""
    if risk in OF_USAGE and not tally.nodes_measured:
        return "unknown"
    return f"{tally.pods_by_risk.get(risk.value, 0):,}"


def _of_node(change: NodeChange) -> News:
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
    if change.headroom_moved:
        left, right = before.headroom or 0, after.headroom or 0
        words.append(f"headroom {left}% -> {right}%")
        worse = _NEARNESS[headroom_nearness(right, met=right < 0)]
        severity = most_urgent((severity, worse if right < left else Severity.FINE))
    for name in sorted({*before.pressures} ^ {*after.pressures}):
        came = name in after.pressures
        words.append(name if came else f"no longer {name}")
        severity = Severity.TROUBLE if came else severity
    return News(severity, what, ", ".join(words))


def _node_words(node: NodeStanding) -> str:
    if node.down:
        return "silent"
    return "Ready" if node.is_ready else "not Ready"


def _severity(risk: PodRisk | None) -> Severity:
    return Severity.FINE if risk is None else RISK_SEVERITY[risk]


def _of_pod(change: PodChange) -> News:
    what = f"pod/{change.namespace}/{change.name}"
    before, after = change.before, change.after
    earlier, risk = change.risks
    if after is None:
        return News(Severity.FINE, what, f"gone: was {_pod_words(before, earlier)}" if before is not None else "gone")
    if before is None:
        return News(_severity(after.risk), what, f"new: {_pod_words(after, after.risk)}{_restart_words(change)}")
    was, now = _pod_words(before, earlier), _pod_words(after, risk)
    words = []
    if change.recreated:
        words.append("recreated")
    if was != now:
        words.append(f"{was} -> {now}")
    if before.node != after.node:
        words.append(f"node {before.node or 'none'} -> {after.node or 'none'}")
    if change.new_restarts:
        words.append(_restart_words(change).removeprefix(", "))
    severity = _severity(risk) if was != now or change.recreated else Severity.FINE
    if change.new_restarts:
        severity = most_urgent((severity, Severity.NOTICE))
    return News(severity, what, ", ".join(words))


def _restart_words(change: PodChange) -> str:
    return f", {counted(change.new_restarts, 'new restart')}" if change.new_restarts else ""


def _pod_words(pod: PodStanding, risk: PodRisk | None) -> str:
    """``Running``, or the problem of the pod."""
    status = pod.status or "no status"
    return status if risk is None else f"{status} ({RISK_WORDS[risk]})"
