"""The list of several targets: how many have something wrong, then a row for each, the worst first.

On a terminal, a long list has a row for each cause instead, with the names of its pods, and hides the healthy ones.

Only rows are kept, not reports, so that a large namespace needs little memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.node.node_report import NodeReport
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.pod.pod_status import PodStatusReport
from kubectl_plugin.reports.related import RelatedReport
from kubectl_plugin.reports.verdict import Severity, VerdictCode, most_urgent, worst_few
from kubectl_plugin.reports.workload import WorkloadReport
from kubectl_plugin.views.caveats import VersionNotes, assumed_words, unread_lines
from kubectl_plugin.views.node.node_lines import nearest_threshold
from kubectl_plugin.views.node.node_page import finding_words, node_condition, node_verdict
from kubectl_plugin.views.pod.admission_words import creation_remedy
from kubectl_plugin.views.pod.risk_words import RISK_WORDS
from kubectl_plugin.views.pod.verdict import verdict
from kubectl_plugin.views.related import related_verdict
from kubectl_plugin.views.words import clock, counted, few, lasting, wrong_words
from kubectl_plugin.views.workload_words import (
    NODE_DOWN,
    condition_word,
    count_words,
    new_pods_refused,
    node_word,
    refusal_of,
    standing,
)
from podrules.api.model.pod import PodQOSClass
from podrules.ending.pod_state import PodState, state_of
from podrules.node.eviction.thresholds import Signal
from podrules.pod.reading import USAGE_NOT_ASKED, UnreadInput
from podrules.scheduling.placement.outcome import PlacementOutcome

Order = tuple[int, bool, int, tuple[int, int], str, str]

_NONE: Final = "<none>"
_WELL: Final = "with all wanted pods"
_SHORT: Final = "with fewer"
_BESIDES: Final = "in trouble although all run"
_UNKNOWN: Final = "with unknown pods"
_STATES: Final = (_WELL, _SHORT, _BESIDES, "failed", "complete", "scheduled", "suspended", _UNKNOWN)
_REFUSED: Final = "refused"
_BEST_EFFORT: Final = "BestEffort: nothing is reserved for it"
_ALL: Final = 1000
_NEXT: Final = 3
_NAMED: Final = 8
"""The most pods of a cause that are named."""
_SHORT_LIST: Final = 12
"""The most rows of a list that hides nothing, so that it fits on a screen."""
_DISPENSABLE: Final = ("PRIORITY", "OOM", "QOS")
_NARROW: Final = ("RESTARTS", "NODE", "MEM-REQ", "CPU-REQ", "PODS")


_RISKS: Final = {
    VerdictCode.UNSCHEDULABLE: PodRisk.UNSCHEDULABLE,
    VerdictCode.STUCK: PodRisk.STUCK,
    VerdictCode.TERMINATING_LATE: PodRisk.TERMINATING_LATE,
    VerdictCode.NODE_TAINT_EVICTS: PodRisk.TAINTED,
    VerdictCode.NO_SCHEDULER: PodRisk.NO_SCHEDULER,
    VerdictCode.DISRUPTED: PodRisk.DISRUPTED,
    VerdictCode.OOM_KILLED: PodRisk.OOM_KILLED,
    VerdictCode.NEAR_MEMORY_LIMIT: PodRisk.NEAR_LIMIT,
    VerdictCode.NOT_READY: PodRisk.NOT_READY,
    VerdictCode.RESTARTED: PodRisk.RESTARTED,
    VerdictCode.STARTING: PodRisk.NOT_STARTED,
    VerdictCode.AWAITING_PREEMPTION: PodRisk.AWAITING_PREEMPTION,
    VerdictCode.SCHEDULING_GATED: PodRisk.SCHEDULING_GATED,
    VerdictCode.NOT_YET_BOUND: PodRisk.NOT_BOUND,
    VerdictCode.PLACEMENT_NOT_MODELLED: PodRisk.NOT_MODELLED,
    VerdictCode.RESIZE_PENDING: PodRisk.RESIZE_PENDING,
    VerdictCode.NO_GRACE_PERIOD: PodRisk.NO_GRACE_PERIOD,
}
"""The verdicts that share the words of a risk; for others a cause is the word in the column STATUS."""


class _Family(Struct, frozen=True):
    """A group of targets with the same columns."""

    what: str
    headings: tuple[str, ...]
    right: frozenset[int]


_PODS: Final = _Family(
    "pod", ("NAME", "STATUS", "RESTARTS", "NODE", "QOS", "OOM", "PRIORITY", "VERDICT"), frozenset({2, 5, 6})
)
_WORKLOADS: Final = _Family("workload", ("NAME", "RUN", "QOS", "OOM", "PRIORITY", "VERDICT"), frozenset({3, 4}))
_MANIFESTS: Final = _Family("manifest", ("NAME", "QOS", "OOM", "PRIORITY", "FITS", "VERDICT"), frozenset({2, 3}))
_NODES: Final = _Family("node", ("NAME", "STATUS", "PODS", "CPU-REQ", "MEM-REQ", "VERDICT"), frozenset({2, 3, 4}))
_RELATED: Final = _Family("object", ("NAME", "STATE", "VERDICT"), frozenset())
_FAMILIES: Final = (_PODS, _WORKLOADS, _NODES, _RELATED, _MANIFESTS)


class _Row(Struct, frozen=True):
    family: _Family
    namespace: str
    kind: str
    name: str
    cells: tuple[str, ...]
    """All cells except the name; the last one says what is wrong."""
    severity: Severity
    rank: tuple[int, int]
    """The lower, the worse."""
    state: str
    """The state under which the total counts it."""
    cause: str = ""
    """What is wrong with the pod, in the same words for all pods with this problem."""
    stuck: bool = False
    """True if the pod is terminating on a silent node."""
    over: bool = False
    """True if a pod without other findings uses more memory than it requests."""

    @property
    def order(self) -> tuple[bool, int, tuple[int, int], str, str]:
        """The sort key: problems first, the worst before all; the rest by name, nodes by headroom."""
        if self.severity is Severity.FINE or (self.family is _PODS and not self.cells[-1]):
            return True, 0, self.rank if self.family is _NODES else (0, 0), self.namespace, self.name
        return False, *self.urgency, self.namespace, self.name

    @property
    def urgency(self) -> tuple[int, tuple[int, int]]:
        """The sort key of targets with problems, the worst first."""
        return -self.severity.urgency, self.rank

    @property
    def silent(self) -> bool:
        """Whether a silent node is the problem of the pod."""
        return self.stuck or self.state == PodState.UNREACHABLE.value

    @property
    def command(self) -> Command:
        """What to ask next about it."""
        if self.silent:
            return qos("partitions")
        if self.family is _NODES:
            return qos("node {}", self.name)
        return qos("explain {}/{}", self.kind, self.name, namespace=self.namespace)


class TargetTable:
    """Collects reports one by one and makes a page with a line for each."""

    def __init__(self, now: datetime | None, *, everywhere: bool = False) -> None:
        """Start empty; ``everywhere``: all namespaces were requested, so names include their namespace."""
        self._now, self._everywhere = now, everywhere
        self._rows: list[_Row] = []
        self._asking: set[str] = set()
        """The commands that read the usage that was not read."""
        self._notes = VersionNotes()
        self._lacks: dict[UnreadInput, None] = {}
        """What could not be read and may change a verdict."""

    def add(self, report: PodReport | NodeReport | WorkloadReport | RelatedReport, printed: str) -> None:
        """Add the line of one report; ``printed`` is its name in ``-o name``."""
        self._rows.append(_row(report, printed, self._now))
        self._lacks |= dict.fromkeys(report.lacks)
        self._notes.add((report.template if isinstance(report, WorkloadReport) else report).version_notes)
        if isinstance(report, NodeReport):
            self._asking |= {"kubectl qos node"} if report.usage is None else set()
        elif isinstance(report, PodReport) and report.status is not None:
            self._asking |= {"explain pod/NAME"} if USAGE_NOT_ASKED in report.pressure_unread else set()

    def page(self, *, by_trouble: bool, every: bool) -> Page:
        """How many have something wrong, a table for each family, the totals, and commands for the worst.

        ``by_trouble``: the worst first, then by name; else the order in which reports were added. ``every``: each
        target has its row; else a long list by trouble has a row for each cause, and none for healthy targets.
        """
        if by_trouble:
            self._rows.sort(key=lambda row: row.order)
        families = [family for family in _FAMILIES if any(row.family is family for row in self._rows)]
        wrong = [row for row in self._rows if not row.order[0]]
        folds = by_trouble and not every and len(self._rows) > _SHORT_LIST
        shown = wrong if folds else self._rows
        groups = _grouped(shown) if folds and families == [_PODS] else {}
        tables = [_causes(groups)] if groups else [self._table(family, shown) for family in families]
        counts = [_counts(family, [row for row in self._rows if row.family is family]) for family in families]
        over = sum(row.over for row in self._rows) if by_trouble else 0
        if folds:
            well = len(self._rows) - len(wrong)
            counts = [f"{well} with nothing wrong (--all)" if well else "a row for each (--all)"]
            counts = [f"{counts[0]}, {over} of them over memory request"] if over else counts
        elif over:
            # The same words as in the cluster report, which counts these pods as notices.
            counts.append(f"{over}{' more' if wrong else ''} over memory request")
        if self._asking:
            counts.append(f"usage was not read: use {' or '.join(sorted(self._asking))}")
        if not folds:
            counts.append("-o wide: a page each")
        all_words = counted(len(self._rows), families[0].what if len(families) == 1 else "object")
        headline = wrong_words(len(wrong), all_words, known=not self._lacks)
        worst = most_urgent(row.severity for row in self._rows)
        # The last screen of a long list does not show the rows of the worst targets.
        there = sorted((row for row in self._rows if row.family is not _MANIFESTS), key=lambda row: row.urgency)
        # One command is for all pods of silent nodes.
        down, others = [row for row in there if row.silent][:1], [row for row in there if not row.silent]
        shown_next = [*down, *worst_few([pods[0] for pods in groups.values() if not pods[0].silent] or others)]
        return Page(
            title="",
            # A node's own row says what is unknown about it.
            verdict=(headline, *(() if families == [_NODES] else assumed_words(self._lacks))),
            severity=worst,
            parts=(
                *tables,
                Section("Hidden" if folds else "Total", tuple(counts)),
                self._notes.section(),
                Section("Unknown", unread_lines(self._lacks)),
            ),
            next_commands=tuple(row.command for row in shown_next[:_NEXT]),
        )

    def _table(self, family: _Family, shown: Sequence[_Row]) -> Table:
        """The table of one family."""
        mine = [row for row in shown if row.family is family]
        kinds = {row.kind for row in self._rows}
        with_namespace = self._everywhere or len({row.namespace for row in self._rows if row.namespace}) > 1
        rows = []
        for row in mine:
            name = f"{row.kind}/{row.name}" if len(kinds) > 1 and family is not _MANIFESTS else row.name
            rows.append((f"{row.namespace}/{name}" if with_namespace and row.namespace else name, *row.cells))
        return Table(
            "",
            family.headings,
            tuple(rows),
            right=family.right,
            one_line=True,
            dispensable=tuple(heading for heading in _DISPENSABLE if heading in family.headings),
            narrow=tuple(heading for heading in _NARROW if heading in family.headings),
            marks=tuple(row.severity for row in mine),
        )


def _grouped(wrong: Sequence[_Row]) -> dict[tuple[Severity, str], list[_Row]]:
    """The pods of each cause: the most urgent first, of equals the largest group."""
    groups: dict[tuple[Severity, str], list[_Row]] = {}
    for row in wrong:
        groups.setdefault((row.severity, row.cause), []).append(row)
    return dict(sorted(groups.items(), key=lambda group: (-group[0][0].urgency, -len(group[1]))))


def _causes(groups: Mapping[tuple[Severity, str], Sequence[_Row]]) -> Table:
    """A row for each cause: how many pods it has, and their names."""
    rows = []
    for (_, cause), pods in groups.items():
        down = Counter("unknown" if row.cells[0] == NODE_DOWN else row.cells[0] for row in pods if row.silent)
        states = ", ".join(f"{count} {state}" for state, count in down.most_common())
        # Naming one more pod is as short as counting it.
        most = len(pods) if len(pods) <= _NAMED + 1 else _NAMED
        names = few([f"{row.namespace}/{row.name}" for row in pods], most)
        rows.append((str(len(pods)), cause, f"{states}: {names}" if states else names))
    marks = tuple(severity for severity, _ in groups)
    return Table("", ("", "", ""), tuple(rows), right=frozenset({0}), one_line=True, marks=marks)


def target_order(
    report: PodReport | NodeReport | WorkloadReport | RelatedReport, printed: str, now: datetime | None
) -> Order:
    """The sort key of a target: targets with problems come first, as in the table; ``printed``: as in ``-o name``."""
    row = _row(report, printed, now)
    return _FAMILIES.index(row.family), *row.order


def _row(report: PodReport | NodeReport | WorkloadReport | RelatedReport, printed: str, now: datetime | None) -> _Row:
    if isinstance(report, NodeReport):
        return _node(report, now)
    if isinstance(report, RelatedReport):
        said, kind = related_verdict(report, now), printed.partition("/")[0].partition(".")[0]
        why, state = said.sentences[0].rstrip("."), re.sub("^(Claim|Budget|Quota|Class)", "", said.code.value)
        return _Row(_RELATED, report.namespace, kind, report.name, (state, why), said.severity, (0, 0), "")
    if isinstance(report, WorkloadReport):
        return _workload(report, printed.partition("/")[0].partition(".")[0], now)
    return _manifest(report, printed, now) if report.status is None else _pod(report, report.status, now)


def _pod(report: PodReport, status: PodStatusReport, now: datetime | None) -> _Row:
    reach = status.node.reach if status.node is not None else None
    deleted = status.deletion_timestamp is not None
    state = state_of(status.health, bound=status.node is not None, deleted=deleted, reach=reach)
    said = verdict(report, now)
    # What is wrong with a pod; empty if it runs or has succeeded.
    reason = status.health.reason
    more = said.sentences[1:]
    word, why = status.health.kubectl_status, said.detail
    cause = RISK_WORDS[_RISKS[said.code]] if said.code in _RISKS else reason or word
    best_effort = report.qos.qos_class is PodQOSClass.BEST_EFFORT and said.severity is not Severity.FINE
    if said.code is VerdictCode.RUNNING and best_effort:
        why, cause = _BEST_EFFORT, "BestEffort"
    elif said.code in {VerdictCode.RUNNING, VerdictCode.SUCCEEDED}:
        why = ""
    elif state is PodState.PENDING and said.code is VerdictCode.UNSCHEDULABLE and more:
        why = f"{why} {more[0]}"
    elif state is PodState.FAILED and reason:
        why = f"{reason}: {why}"
    if said.code is VerdictCode.TERMINATING:
        cause = RISK_WORDS[PodRisk.KEPT] if report.ending.holders and not report.ending.processes else "Terminating"
    stuck = deleted and reach is not None and reach.reach.quiet and state is PodState.TERMINATING
    if (stuck or state is PodState.UNREACHABLE) and reach is not None:
        lasts = f" for {lasting(now - reach.since)}" if now is not None and reach.since is not None else ""
        cause = f"{reach.name} {node_word(reach)}{lasts}"
    if state is PodState.UNREACHABLE and reach is not None:
        since = f"since {clock(reach.since, now)}: " if reach.since is not None else ""
        word, why = NODE_DOWN, f"{since}unknown whether it runs"
    node = status.node.name if status.node is not None else _NONE
    facts = report.qos.qos_class.value, _oom(report), _priority(report)
    # A DaemonSet has a pod on each node, so pods of other workloads come first.
    rank = (state.worse, int(any(owner.kind == "DaemonSet" for owner in report.owners)))
    cells = (word, str(status.health.restarts), node, *facts, why.rstrip("."))
    over = False
    if state is PodState.READY and not cells[-1]:
        orders = (one.eviction_of(Signal.MEMORY_AVAILABLE) for one in report.pressure)
        over = any(order is not None and order.place.exceeds_request for order in orders)
    return _Row(
        _PODS, report.namespace, "pod", report.name, cells, said.severity, rank, state.value, cause, stuck, over
    )


def _workload(report: WorkloadReport, kind: str, now: datetime | None) -> _Row:
    template, counts = report.template, report.counts
    said = verdict(template, now)
    first = new_pods_refused(report) or said.sentences[0]
    run, why, severity, rank, state = "", first, said.severity, PodState.READY.worse, _UNKNOWN
    share = _ALL
    if (stand := standing(report, now)) is not None and counts is not None:
        refused = (first,) if said.severity is not Severity.FINE else ()
        (first, *more), urgency = stand.sentences, stand.severity
        severity = most_urgent((severity, urgency))
        run = str(counts.ready) if counts.wanted is None else f"{counts.ready}/{counts.wanted}"
        # The number of running pods has its own column.
        rest = stand.detail
        if report.job is not None and more and rest == first:
            # The reason why a Job waits or failed.
            rest = " ".join((first, *more))
        why = next(iter((*filter(None, (rest,)), *more, *refused)), "")
        rank = min((pod.state.worse for pod in report.pods or ()), default=rank)
        # The share of the wanted pods that run, in thousandths; for a workload that wants none, 0 if some failed.
        share = 0 if counts.failed else _ALL
        if counts.wanted:
            share = min(_ALL, _ALL * counts.ready // counts.wanted)
        if report.job is not None and (report.job.ended or report.job.suspended):
            state = report.job.ended.lower() or "suspended"
        elif counts.wanted is not None and counts.ready < counts.wanted:
            state = _SHORT
        else:
            state = _BESIDES if urgency is Severity.TROUBLE else _WELL
    elif stand is not None:
        why, severity = stand.sentences[0], stand.severity
        state = _SHORT if report.schedule is None else stand.code.value.lower()
    if (refusal := refusal_of(report)) is not None:
        why = f"{why.rstrip('.')}. {creation_remedy(refusal.message, report.namespace)}"
    cells = (run, template.qos.qos_class.value, _oom(template), _priority(template), why.rstrip(". "))
    return _Row(_WORKLOADS, report.namespace, kind, report.name, cells, severity, (share, rank), state)


def _manifest(report: PodReport, printed: str, now: datetime | None) -> _Row:
    said, placement = verdict(report, now), report.placement
    fits = state = _REFUSED if report.refused else ""
    if placement is not None and placement.outcome in {PlacementOutcome.FITS, PlacementOutcome.UNSCHEDULABLE}:
        fits = f"{placement.feasible} of {counted(placement.nodes, 'node')}"
    elif report.daemon is not None:
        fits = f"{report.daemon.placed} of {counted(report.daemon.wanted or 0, 'node')}"
    why = said.detail.rstrip(".")
    cells = (report.qos.qos_class.value, _oom(report), _priority(report), fits, why)
    return _Row(_MANIFESTS, report.namespace, "", printed, cells, said.severity, (0, 0), state)


def _node(report: NodeReport, now: datetime | None) -> _Row:
    said = node_verdict(report, now)
    condition = node_condition(report)
    nearest = nearest_threshold(report.usage) if report.usage is not None else None
    rank = (1, 0) if nearest is None else (0, nearest.headroom_percent)
    percent = {entry.name: f"{entry.requested_percent}%" for entry in report.resources}
    none = "unknown" if report.pods is None else ""
    pods = none or f"{report.pods}/{report.max_pods}"
    cells = (condition, pods, percent.get("cpu", none), percent.get("memory", none), finding_words(said))
    return _Row(_NODES, "", "node", report.name, cells, said.severity, rank, condition_word(condition))


def _oom(report: PodReport) -> str:
    """The highest oom_score_adj of a container."""
    scores = [one.value for entry in report.oom for one in entry.containers]
    return str(max(scores)) if scores else ""


def _priority(report: PodReport) -> str:
    return "" if report.priority.priority is None else str(report.priority.priority)


def _counts(family: _Family, rows: Sequence[_Row]) -> str:
    """``38 pods: 35 run, 2 pending, 1 terminating``."""
    total = counted(len(rows), family.what)
    if family is _PODS:
        return f"{total}: {count_words([PodState(row.state) for row in rows], stuck=sum(row.stuck for row in rows))}"
    found = Counter(row.state for row in rows)
    if family is _WORKLOADS:
        said = ", ".join(f"{found[state]} {state}" for state in _STATES if found[state])
        return f"{total}: {said}" if said else total
    if family is _NODES:
        return f"{total}: {', '.join(f'{count} {state}' for state, count in found.most_common())}"
    return f"{total}: {found[_REFUSED]} {_REFUSED}" if found[_REFUSED] else total
