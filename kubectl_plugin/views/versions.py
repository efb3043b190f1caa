"""The page of `versions`: the versions of a cluster, and what changes with another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, lacking
from kubectl_plugin.reports.versions import (
    MAX_PLACED,
    ChangedOrder,
    ChangedPlacement,
    ChangedPods,
    Choice,
    RunningVersion,
    VersionsReport,
)
from kubectl_plugin.views.caveats import assumed_words, unread_lines, versions_section
from kubectl_plugin.views.words import counted, cpu, listed, memory
from podrules.api.features import VERIFIED, minor_of
from podrules.pod.versions import Component
from podrules.scheduling.placement.outcome import PlacementOutcome
from podrules.upgrade.version_changes import PodChangeKind, VersionChange

Rows = Sequence[tuple[str, ...]]
_MOST_NODES: Final = 3
_MOST_MINORS: Final = 8
_MOST_ROWS: Final = 20
"""The most rows of a table without -o wide."""
_KINDS: Final = {
    PodChangeKind.QOS_CLASS: "QoS class",
    PodChangeKind.REQUESTS: "requests",
    PodChangeKind.OOM_SCORE: "oom_score_adj",
    PodChangeKind.CGROUP: "cgroup",
}


def versions_verdict(report: VersionsReport) -> Verdict:
    """Says what changes, or which versions run."""
    if report.to is None:
        running = f"{_running_words(report)}."
        versions_verdict = Verdict(
            VerdictCode.VERSIONS_LISTED, Severity.NOTICE if report.version_notes else Severity.FINE, (running,)
        )
    else:
        differ = len(report.placements)
        pods, scope = counted(report.pods, "pod"), f" in namespace {report.scope}" if report.scope else ""
        parts = [
            f"{report.pods_changed} of {pods} {_verb('change', report.pods_changed)} once recreated"
            if report.changed
            else "",
            f"{counted(len({entry.node for entry in report.orders}), 'node')} would kill or evict in another order"
            if report.orders
            else "",
            f"{differ} of {counted(report.placed, 'placement')} {_verb('differ', differ)}" if differ else "",
        ]
        found = [part for part in parts if part]
        if not report.pods:
            nothing = f"With Kubernetes {report.to} there is nothing to compare: no pods{scope}."
            versions_verdict = Verdict(VerdictCode.NOTHING_CHANGES, Severity.NOTICE, (nothing,))
        elif not found:
            placed = f", nor for {counted(report.placed, 'placement')}" if report.placed else ""
            nothing = f"With Kubernetes {report.to} nothing changes for {_the(report.pods)}{scope}{placed}."
            versions_verdict = Verdict(VerdictCode.NOTHING_CHANGES, Severity.FINE, (nothing,))
        else:
            versions_verdict = Verdict(
                VerdictCode.ANSWERS_CHANGE,
                Severity.NOTICE,
                (f"With Kubernetes {report.to}{scope}: {'; '.join(found)}.",),
            )
    return lacking(versions_verdict, assumed_words(report.lacks))


def _verb(plural: str, count: int) -> str:
    return f"{plural}s" if count == 1 else plural


def _the(pods: int) -> str:
    return "the one pod" if pods == 1 else f"the {pods} pods"


def _running_words(report: VersionsReport) -> str:
    found = [one for one in report.running if one.component is Component.KUBELET]
    # The table lists them all.
    whole = len(found) <= _MOST_NODES
    kubelets = Counter[str]()
    for one in found:
        minor = minor_of(one.version)
        kubelets["no known version" if minor is None else one.version if whole else f"1.{minor}"] += one.nodes
    server = report.server_version
    running = f"The API server is {server}" if server else "The API server's version is unknown"
    scheduler = next((one.version for one in report.running if one.component is Component.SCHEDULER), "")
    if scheduler and scheduler != server:
        running += f", the scheduler {scheduler}" if server else f"; the scheduler is {scheduler}"
    if not kubelets:
        return running
    nodes = [f"{version} on {counted(count, 'node')}" for version, count in kubelets.items()]
    return f"{running}; kubelets: {listed(nodes, most=_MOST_MINORS)}"


def versions_page(report: VersionsReport, *, wide: bool) -> Page:
    """What runs and what changes; ``wide`` shows every rule that changes and all rows."""
    summary = versions_verdict(report)
    next_commands: list[Command] = []
    if report.to is None:
        newest = max(VERIFIED)
        if any(minor_of(one.version) != newest for one in report.running if one.version):
            next_commands.append(qos("versions --to {}", f"1.{newest}", namespace=report.scope or None))
    elif not wide and report.rules:
        differ = f"{counted(len(report.rules), 'rule')} that differ"
        next_commands.append(qos("versions --to {} -o wide", report.to, namespace=report.scope or None, comment=differ))
    return Page(
        title=report.source if report.to is None else f"{report.source}, with Kubernetes {report.to}",
        verdict=summary.sentences,
        severity=summary.severity,
        parts=tuple(_parts(report, wide=wide)),
        next_commands=tuple(next_commands),
    )


def _parts(report: VersionsReport, *, wide: bool) -> Iterator[Section | Table]:
    if report.to is None or wide:
        running = [
            (one.component.value, _version(one), str(one.nodes) if one.nodes else "", one.rules)
            for one in report.running
        ]
        yield Table("What runs", ("component", "version", "nodes", "rules of"), tuple(running), right=frozenset({2}))
    blocks: list[list[tuple[str, ...]]]
    rules = f"today's rules -> those of {report.to}"
    if report.changed:
        blocks = [list(_pod_rows(entry, wide=wide)) for entry in report.changed]
        yield _table("What changes in pods once they are recreated", ("pods", "of", "value", rules), blocks, wide=wide)
    if report.orders:
        blocks = [[_order_row(entry)] for entry in report.orders]
        title = "What is killed or evicted first, once all pods are recreated"
        yield _table(title, ("node", "when memory is short", rules), blocks, wide=wide)
    if report.placements:
        blocks = [list(_placement_rows(entry)) for entry in report.placements]
        yield _table("Where pods go", ("pod", f"node: {rules}"), blocks, wide=wide)
    not_compared: list[str] = []
    if report.not_placed:
        where = f"where {counted(report.not_placed, 'more pod' if report.placed else 'pod')} would go"
        why = "something could not be read" if report.unread else "there are no nodes"
        not_compared.append(
            f"{where}: {f'both schedulers compute at most {MAX_PLACED} placements' if report.placed else why}"
        )
    for one in report.not_compared:
        not_compared.append(f"where {counted(one.pods, 'pod')} would go: {one.reason}")
    yield Section("Not compared", tuple(not_compared))
    if report.rules and wide:
        rows = [
            (one.since, one.rule, one.effect + (f" (feature gate {one.gate})" if one.gate else ""))
            for one in report.rules
        ]
        yield Table("Rules that change", ("since", "rule", "what changes"), tuple(rows))
    yield versions_section(report.version_notes)
    yield Section("Unknown", unread_lines(report.unread))


def _version(running: RunningVersion) -> str:
    known = running.version or "unknown"
    return f"{known} (emulates {running.emulates})" if running.emulates else known


def _table(title: str, headings: tuple[str, ...], blocks: Sequence[Rows], *, wide: bool) -> Table:
    """The table of the blocks that fit: each block has one subject and is shown as a whole or not at all."""
    shown: list[tuple[str, ...]] = []
    left = 0
    for place, rows in enumerate(blocks):
        if not wide and shown and len(shown) + len(rows) > _MOST_ROWS:
            left = len(blocks) - place
            break
        shown += rows
    return Table(f"{title} ({left} more: -o wide)" if left else title, headings, tuple(shown))


def _pod_rows(entry: ChangedPods, *, wide: bool) -> Iterator[tuple[str, ...]]:
    who = f"{entry.namespace}/{entry.name}"
    values = [change for change in entry.changes if wide or change.kind is not PodChangeKind.CGROUP]
    rows = [(_field(change), f"{_value(change, change.before)} -> {_value(change, change.after)}") for change in values]
    if left := len(entry.changes) - len(values):
        rows.append(("cgroup", f"{counted(left, 'value')} (which: -o wide)"))
    for place, (field, change) in enumerate(rows):
        yield (*((str(entry.pods), who) if place == 0 else ("", "")), field, change)


def _field(change: VersionChange) -> str:
    container = f" of {change.container}" if change.container else ""
    return f"{_KINDS[change.kind]} {change.field}".strip() + container


def _value(change: VersionChange, text: str) -> str:
    """A value with its unit."""
    if not text.isdigit():
        return text or "none"
    if change.kind is PodChangeKind.REQUESTS and change.field == "cpu":
        return cpu(int(text))
    return memory(int(text)) if "memory" in change.field or "storage" in change.field else text


def _order_row(entry: ChangedOrder) -> tuple[str, ...]:
    """The first place at which the two orders differ."""
    pairs = enumerate(zip(entry.before, entry.after, strict=False))
    place = next((at for at, (now, then) in pairs if now != then), 0)
    order = "the kernel kills" if entry.order == "OOM" else "the kubelet evicts"
    now, then = (names[place] if place < len(names) else "none" for names in (entry.before, entry.after))
    return entry.node, f"{order}, place {place + 1}", f"{now} -> {then}"


def _placement_rows(entry: ChangedPlacement) -> Iterator[tuple[str, ...]]:
    name = f"{entry.namespace}/{entry.pod.removesuffix('-copy')}"
    who = f"{name}, which is pending" if entry.waits else f"one more like {name}"
    now, then = _choice(entry.before), _choice(entry.after)
    if all(choice.outcome is PlacementOutcome.FITS for choice in (entry.before, entry.after)):
        yield who, f"{now} -> {then}"
        return
    yield who, f"now: {now}"
    yield "", f"then: {then}"


def _choice(choice: Choice) -> str:
    if choice.outcome is PlacementOutcome.FITS:
        return " or ".join(choice.best[:_MOST_NODES]) + (" or others" if len(choice.best) > _MOST_NODES else "")
    return choice.message or choice.outcome.value
