"""The list of nodes, one line each: the nearest to an eviction first, with what is killed and evicted first.

Only rows are kept, not reports, so that a large cluster needs little memory.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.command import qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.node.node_pressure import NodePressureReport
from kubectl_plugin.reports.node.node_report import NodeUse, ThresholdReport
from kubectl_plugin.reports.verdict import Severity, most_urgent, worst_few
from kubectl_plugin.views.caveats import VersionNotes, unread_lines
from kubectl_plugin.views.node.node_page import finding_words, node_condition, signal_amount
from kubectl_plugin.views.node.node_pressure import node_pressure_verdict
from kubectl_plugin.views.node.pressure import candidate_name, pressure_names
from kubectl_plugin.views.words import bar, counted, wrong_words
from kubectl_plugin.views.workload_words import condition_word
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import Nearness, UsageSource, headroom_nearness
from podrules.pod.platform import Platform
from podrules.pod.reading import UnreadInput

_HEADINGS: Final = ("NODE", "STATE", "USED", "HEADROOM", "MEM-REQ", "EVICTED-FIRST", "KILLED-FIRST", "VERDICT")
_NARROW: Final = ("KILLED-FIRST", "EVICTED-FIRST", "MEM-REQ")
"""The columns that a narrow terminal omits, in this order."""
_UNKNOWN: Final = "unknown"


class _Row(Struct, frozen=True):
    name: str
    cells: tuple[str, ...]
    """All cells except the name; the last one says what is wrong."""
    severity: Severity
    percent: int | None
    """The headroom before an eviction in percent of the capacity; None: unknown."""
    measured: bool
    state: str
    """The state under which the total counts it."""

    @property
    def order(self) -> tuple[int, bool, int, str]:
        """The sort key: problems first, then the nearest to an eviction, then by name."""
        return -self.severity.urgency, self.percent is None, self.percent or 0, self.name


class NodeLines:
    """Collects reports one by one and makes a page with a line for each."""

    def __init__(self, now: datetime | None) -> None:
        """Start empty; ``now`` is the present, None: unknown."""
        self._now = now
        self._rows: list[_Row] = []
        self._first: NodePressureReport | None = None
        self._notes = VersionNotes()
        self._lacks: dict[UnreadInput, None] = {}
        """What could not be read and may change a verdict."""

    def add(self, report: NodePressureReport) -> None:
        """Add the line of one report."""
        self._first = self._first or report
        said, promised, usage = node_pressure_verdict(report, self._now), report.promised, report.promised.usage
        nearest = nearest_threshold(usage) if usage is not None else None
        state = node_condition(promised)
        requested = next((entry.requested_percent for entry in promised.resources if entry.name == "memory"), None)
        percent = None
        if nearest is None:
            known = report.platform is Platform.LINUX and report.usage_source is not UsageSource.NONE
            headroom = "no threshold" if known and not report.signals else _UNKNOWN
        else:
            percent = nearest.headroom_percent
            what = "" if nearest.signal.is_memory else f"{nearest.signal.value.partition('.')[0]} "
            amount = signal_amount(nearest.headroom, nearest.signal)
            headroom = "none" if nearest.met else f"{what}{amount} {percent}%"
        # The state as one word. Pressure and evictions are worse than a cordon.
        shown = state
        if state in {"Ready", "Cordoned"}:
            if promised.pressures:
                shown = pressure_names(promised.pressures)
            elif usage is not None and (usage.met is not None or usage.over_limits):
                shown = "Evicting"
        cells = (
            shown,
            "" if percent is None else bar(100 - percent, 100, width=10),
            headroom,
            _UNKNOWN if requested is None else f"{requested}%",
            *_first(report),
            finding_words(said),
        )
        measured = report.usage_source is not UsageSource.NONE
        self._rows.append(_Row(report.name, cells, said.severity, percent, measured, condition_word(state)))
        self._lacks |= dict.fromkeys(report.lacks)
        self._notes.add(report.promised.version_notes)

    @property
    def only(self) -> NodePressureReport | None:
        """The only report; None if there is none or more than one."""
        return self._first if len(self._rows) == 1 else None

    def page(self, *, by_trouble: bool) -> Page:
        """A table, the totals, and commands for the worst nodes.

        ``by_trouble``: problems first, then the nearest to an eviction; else the order in which reports were added.
        """
        worst = sorted(self._rows, key=lambda row: row.order)
        rows = worst if by_trouble else self._rows
        table = Table(
            "",
            _HEADINGS,
            tuple((row.name, *row.cells) for row in rows),
            right=frozenset({3, 4}),
            one_line=True,
            dispensable=("USED",),
            narrow=_NARROW,
            marks=tuple(row.severity for row in rows),
        )
        found = Counter(row.state for row in self._rows)
        states = ", ".join(f"{count} {state}" for state, count in found.most_common())
        counts = [f"{counted(len(self._rows), 'node')}: {states}"]
        if unknown := sum(not row.measured for row in self._rows):
            counts.append(f"usage of {counted(unknown, 'node')} is unknown (why: -o wide)")
        total = Section("Total", (*counts, "-o wide: a page each"))
        wrong = sum(row.severity is not Severity.FINE for row in self._rows)
        return Page(
            title="",
            verdict=(wrong_words(wrong, counted(len(self._rows), "node"), known=not self._lacks and not unknown),),
            severity=most_urgent(row.severity for row in rows),
            parts=(table, total, self._notes.section(), Section("Unknown", unread_lines(self._lacks))),
            next_commands=tuple(qos("node {}", row.name) for row in worst_few(worst)),
        )


def nearest_threshold(usage: NodeUse) -> ThresholdReport | None:
    """The threshold to show: one that is met, else the memory threshold, unless another one is near and nearer."""
    memory, other = usage.memory_ahead, usage.other_ahead
    if usage.met is not None or memory is None or other is None:
        return usage.met or memory or other
    far = headroom_nearness(other.headroom_percent, met=False) is Nearness.FAR
    return other if not far and other.headroom_percent < memory.headroom_percent else memory


def _first(report: NodePressureReport) -> tuple[str, str]:
    """The pod that the kubelet evicts first and the container that the kernel kills first; unknown without usage."""
    usage, order = report.promised.usage, report.oom_of(OOMScope.GLOBAL)
    known = report.usage_source is not UsageSource.NONE and report.promised.pods is not None
    if usage is None or order is None or not known:
        return _UNKNOWN, _UNKNOWN
    evicted = usage.evicted_first
    killed = candidate_name(order.places[0]) if order.places else "none"
    if evicted is None:
        return _UNKNOWN if report.signals and not any(map(report.eviction_of, report.signals)) else "none", killed
    return f"{evicted.namespace}/{evicted.pod}", killed
