"""The page of `versions`: the versions of a cluster, and what changes with another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.render.command import qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, lacking
from kubectl_plugin.reports.versions import (
    MAX_PLACED,
    ChangedPlacement,
    ChangedPods,
    Choice,
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
    found, differ = [], len(report.placements)
    pods, scope = counted(report.pods, "pod"), f" in namespace {report.scope}" if report.scope else ""
    if report.changed:
        change = "changes" if report.pods_changed == 1 else "change"
        found.append(f"{report.pods_changed} of {pods} {change} once recreated")
    if report.orders:
        nodes = counted(len({entry.node for entry in report.orders}), "node")
        found.append(f"{nodes} would kill or evict in another order")
    if differ:
        placements = counted(report.placed, "placement")
        found.append(f"{differ} of {placements} {'differs' if differ == 1 else 'differ'}")
    if report.to is None:
        code, severity = VerdictCode.VERSIONS_LISTED, Severity.NOTICE if report.version_notes else Severity.FINE
        said = f"{_running_words(report)}."
    elif not report.pods:
        code, severity = VerdictCode.NOTHING_CHANGES, Severity.NOTICE
        said = f"With Kubernetes {report.to} there is nothing to compare: no pods{scope}."
    elif not found:
        placed = f", nor for {counted(report.placed, 'placement')}" if report.placed else ""
        the_pods = "the one pod" if report.pods == 1 else f"the {pods}"
        code, severity = VerdictCode.NOTHING_CHANGES, Severity.FINE
        said = f"With Kubernetes {report.to} nothing changes for {the_pods}{scope}{placed}."
    else:
        code, severity = VerdictCode.ANSWERS_CHANGE, Severity.NOTICE
        said = f"With Kubernetes {report.to}{scope}: {'; '.join(found)}."
    return lacking(Verdict(code, severity, (said,)), assumed_words(report.lacks))


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
    next_commands = []
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
        running = []
        for one in report.running:
            version = f"{one.version or 'unknown'}{f' (emulates {one.emulates})' if one.emulates else ''}"
            running.append((one.component.value, version, str(one.nodes) if one.nodes else "", one.rules))
        yield Table("What runs", ("component", "version", "nodes", "rules of"), tuple(running), right=frozenset({2}))
    blocks: list[list[tuple[str, ...]]]
    rules = f"today's rules -> those of {report.to}"
    if report.changed:
        blocks = [list(_pod_rows(changed, wide=wide)) for changed in report.changed]
        yield _table("What changes in pods once they are recreated", ("pods", "of", "value", rules), blocks, wide=wide)
    if report.orders:
        blocks = []
        for entry in report.orders:
            # The first place at which the two orders differ.
            pairs = enumerate(zip(entry.before, entry.after, strict=False))
            place = next((at for at, (now, then) in pairs if now != then), 0)
            order = "the kernel kills" if entry.order == "OOM" else "the kubelet evicts"
            now, then = (names[place] if place < len(names) else "none" for names in (entry.before, entry.after))
            blocks.append([(entry.node, f"{order}, place {place + 1}", f"{now} -> {then}")])
        title = "What is killed or evicted first, once all pods are recreated"
        yield _table(title, ("node", "when memory is short", rules), blocks, wide=wide)
    if report.placements:
        blocks = [list(_placement_rows(placement)) for placement in report.placements]
        yield _table("Where pods go", ("pod", f"node: {rules}"), blocks, wide=wide)
    not_compared = []
    if report.not_placed:
        where = f"where {counted(report.not_placed, 'more pod' if report.placed else 'pod')} would go"
        why = "something could not be read" if report.unread else "there are no nodes"
        why = f"both schedulers compute at most {MAX_PLACED} placements" if report.placed else why
        not_compared.append(f"{where}: {why}")
    not_compared += [f"where {counted(left.pods, 'pod')} would go: {left.reason}" for left in report.not_compared]
    yield Section("Not compared", tuple(not_compared))
    if report.rules and wide:
        rows = []
        for rule in report.rules:
            gate = f" (feature gate {rule.gate})" if rule.gate else ""
            rows.append((rule.since, rule.rule, f"{rule.effect}{gate}"))
        yield Table("Rules that change", ("since", "rule", "what changes"), tuple(rows))
    yield versions_section(report.version_notes)
    yield Section("Unknown", unread_lines(report.unread))


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
    rows = []
    for change in values:
        container = f" of {change.container}" if change.container else ""
        field = f"{_KINDS[change.kind]} {change.field}".strip()
        rows.append((f"{field}{container}", f"{_value(change, change.before)} -> {_value(change, change.after)}"))
    if left := len(entry.changes) - len(values):
        rows.append(("cgroup", f"{counted(left, 'value')} (which: -o wide)"))
    for place, (field, values_of) in enumerate(rows):
        yield (*((str(entry.pods), who) if place == 0 else ("", "")), field, values_of)


def _value(change: VersionChange, text: str) -> str:
    """A value with its unit."""
    if not text.isdigit():
        return text or "none"
    if change.kind is PodChangeKind.REQUESTS and change.field == "cpu":
        return cpu(int(text))
    return memory(int(text)) if "memory" in change.field or "storage" in change.field else text


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
