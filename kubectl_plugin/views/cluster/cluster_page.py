"""The cluster report in words: its findings, the words for budgets and spread, and its summary on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.command import Command, qos
from kubectl_plugin.render.page import Page, Section, Table
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport, NodeEntry, PodEntry, WorkloadEntry
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode, most_urgent
from kubectl_plugin.views.caveats import assumed_words, unread_lines, versions_section
from kubectl_plugin.views.cluster.report_changes import changes_sentences, changes_tables, news
from kubectl_plugin.views.node.node_flags import NodeFlag, NodeMark, node_flags, node_sentences
from kubectl_plugin.views.node.partitions import waiting_words
from kubectl_plugin.views.pod.admission_words import creation_remedy
from kubectl_plugin.views.pod.risk_words import RISK_MEANINGS, RISK_SEVERITY, RISK_WORDS, urgency_words
from kubectl_plugin.views.pod.volume_words import claim_sentences
from kubectl_plugin.views.scheduling.budget_words import remedy_words
from kubectl_plugin.views.scheduling.spread_words import domain_words, skew_words
from kubectl_plugin.views.words import ago, clock, counted, listed, memory
from kubectl_plugin.views.workload_words import without_fields
from podrules.node.pressure.usage import UsageSource
from podrules.node.reachability import Reach
from podrules.scheduling.skew import WorkloadSpread
from podrules.silent_node.partitions import NodeDown, Risk
from podrules.workload.budget_risk import BudgetRisk, BudgetStanding

BUDGET_WORDS: Final = {
    BudgetRisk.OVERLAPS: "never: two budgets",
    BudgetRisk.BLOCKS_ALWAYS: "never: it needs every pod",
    BudgetRisk.UNCOUNTED: "never: its pods cannot be counted",
    BudgetRisk.STALE: "not now: evictions are not counted yet",
    BudgetRisk.UNHEALTHY: "not now: pods are not Ready",
    BudgetRisk.BLOCKS_NOW: "not now",
    BudgetRisk.NOT_OBSERVED: "not yet processed",
    BudgetRisk.SELECTS_NOTHING: "selects no pod now",
    BudgetRisk.ALLOWS: "yes",
}
"""Says if a drain may evict a pod of the budget."""
_MAX_REFUSED: Final = 4
"""The most findings about refusals."""
_MAX_SAID: Final = 240
_NEVER: Final = frozenset({BudgetRisk.OVERLAPS, BudgetRisk.BLOCKS_ALWAYS, BudgetRisk.UNCOUNTED})
_OF_CLAIMS: Final = frozenset({PodRisk.NOT_BOUND, PodRisk.UNBOUND_CLAIM})
_SHOWN_CLAIMS: Final = 2
_SHOWN_REMEDIES: Final = 4
_STOPS: Final = _NEVER | {BudgetRisk.UNHEALTHY, BudgetRisk.BLOCKS_NOW}


class SummaryFinding(Struct, frozen=True):
    """One thing that a reader should know first."""

    severity: Severity
    fact: str
    meaning: str
    where: str
    """The section of the page with the details."""
    risk: PodRisk | None = None
    """The risk by which the list of pods can be filtered."""


class Category(Struct, frozen=True):
    """Pods with the same problem, or without a problem the same phase. Each pod is in one category."""

    severity: Severity
    words: str
    pods: int
    risk: PodRisk | None


def categories(report: ClusterReport) -> tuple[Category, ...]:
    """All pods, each counted once: by its worst problem, else by its phase. The worst first."""
    risks = Counter(pod.risk for pod in report.pods)
    phases = Counter(_FINE_WORDS.get(pod.phase, _OTHER_PHASE) for pod in report.pods if pod.risk is None)
    wrong = [Category(RISK_SEVERITY[risk], RISK_WORDS[risk], risks[risk], risk) for risk in PodRisk if risks[risk]]
    well = [Category(Severity.FINE, words, phases[words], None) for words in (*_FINE_WORDS.values(), _OTHER_PHASE)]
    wrong.sort(key=lambda one: -one.severity.urgency)
    return (*wrong, *(one for one in well if one.pods))


def pods_by_severity(report: ClusterReport) -> Counter[Severity]:
    """How many pods have each urgency."""
    counts: Counter[Severity] = Counter()
    for one in categories(report):
        counts[one.severity] += one.pods
    return counts


def headline(report: ClusterReport, found: Sequence[SummaryFinding]) -> str:
    """The first sentence of the report."""
    if found:
        return f"{counted(len(found), 'finding')}: {urgency_words(one.severity for one in found)}."
    among = f"{counted(len(report.nodes), 'node')} and {counted(len(report.pods), 'pod')}"
    return f"Nothing stands out in what was read: {among}." if report.lacks else f"Nothing stands out among {among}."


def findings(report: ClusterReport) -> tuple[SummaryFinding, ...]:
    """The findings, the most urgent first."""
    found = [*_of_workloads(report.workloads), *_of_nodes(report), *_of_pods(report.pods), *_of_budgets(report)]
    if len(report.zones) > 1:
        if one_zone := [one for one in report.spreads if one.in_one_zone]:
            fact = f"{counted(len(one_zone), 'workload')} would go with one zone."
            meaning = f"All of {'its' if len(one_zone) == 1 else 'their'} pods are in the same one."
            found.append(SummaryFinding(Severity.NOTICE, fact, meaning, "zones"))
        if skewed := [one for one in report.spreads if one.exceeded]:
            fact = f"{counted(len(skewed), 'workload')} {'is' if len(skewed) == 1 else 'are'} spread less evenly than "
            fact += "maxSkew allows a new pod."
            meaning = "Constraints are checked only when a pod is placed."
            found.append(SummaryFinding(Severity.NOTICE, fact, meaning, "zones"))
    return tuple(sorted(found, key=lambda one: -one.severity.urgency))


def _of_workloads(workloads: Sequence[WorkloadEntry]) -> Iterator[SummaryFinding]:
    """The workloads that lack pods, first those with refused pods by remedy; and the Deployments with two writers."""
    by_remedy: dict[str, list[WorkloadEntry]] = {}
    for one in workloads:
        if one.refused:
            by_remedy.setdefault(creation_remedy(one.refused, one.namespace), []).append(one)
    for remedy, alike in list(by_remedy.items())[:_MAX_REFUSED]:
        said = without_fields(alike[0].refused).rstrip(".")
        said = said if len(said) <= _MAX_SAID else f"{said[:_MAX_SAID]}…"
        fact = f"{counted(len(alike), 'workload')}: pods refused."
        yield SummaryFinding(Severity.TROUBLE, fact, f"{_short_words(alike)}: {said}. {remedy}".rstrip(), "workloads")
    rest = sum(map(len, list(by_remedy.values())[_MAX_REFUSED:]))
    if rest:
        fact = f"{counted(rest, 'more workload')}: pods refused."
        yield SummaryFinding(Severity.TROUBLE, fact, "For other reasons.", "workloads")
    waiting = [one for one in workloads if one.short and not one.refused and one.kind != "Job"]
    if waiting:
        fact = f"{counted(len(waiting), 'workload')} {'lacks' if len(waiting) == 1 else 'lack'} pods."
        meaning = f"{_short_words(waiting)}. Controllers have not made the rest, or wait for other pods."
        yield SummaryFinding(Severity.NOTICE, fact, meaning, "workloads")
    writers = [f"{one.namespace}/deployment/{one.name}" for one in workloads if one.second_writers is not None]
    if writers:
        fact = f"{counted(len(writers), 'Deployment')}: two writers."
        meaning = f"{listed(writers, most=3)}. A rollout starts the next pod while the old one "
        meaning += "may write to the same volume: nothing prevents that, even with 1 replica."
        yield SummaryFinding(Severity.NOTICE, fact, meaning, "workloads")


def _short_words(workloads: Sequence[WorkloadEntry]) -> str:
    """``prod/deployment/api 0 of 2 and …``: how many pods exist; a rollout lacks pods beyond the wanted ones."""
    words = []
    for one in workloads:
        there = f"{max(0, (one.counts.wanted or 0) - one.short)} of {one.counts.wanted}"
        surges = one.refused and one.kind == "Deployment" and not one.counts.missing
        words.append(f"{one.namespace}/{one.kind.lower()}/{one.name} {'in a rollout' if surges else there}")
    return listed(words, most=3)


_OF_PODS: Final = frozenset({NodeMark.SILENT, NodeMark.NEAR_LIMIT})
"""Marks with numbers of all pods and containers on the node, including those that were not requested."""


def _of_nodes(report: ClusterReport) -> Iterator[SummaryFinding]:
    marked: dict[NodeMark, list[NodeEntry]] = {}
    for node in report.nodes:
        for flag in node_flags(node):
            marked.setdefault(flag.mark, []).append(node)
    for mark in NodeMark:
        if nodes := marked.get(mark):
            near_limit = sum(pod.risk is PodRisk.NEAR_LIMIT for pod in report.pods)
            if mark is NodeMark.NEAR_LIMIT and sum(node.near_limit for node in nodes) == near_limit:
                # Each of these containers already appears as a finding of its pod.
                continue
            fact, meaning = node_sentences(mark, nodes)
            names = {node.name for node in nodes}
            if mark is NodeMark.SILENT:
                # How many pods on silent nodes depend on them, and how many belong to them.
                there = [node for node in _partitioned(report) if node.reach.name in names]
                hanging, own = sum(map(_hanging, there)), sum(len(node.pods) - _hanging(node) for node in there)
                depend, it = "depends" if hanging == 1 else "depend", "it" if len(there) == 1 else "them"
                words = f"{counted(hanging + own, 'pod')} there: {hanging} {depend} on {it}" if hanging + own else ""
                if own:
                    words = f"{words}, {own} {'belongs' if own == 1 else 'belong'} to {it} (DaemonSets, static pods)"
                depending = "; ".join(filter(None, (words, *waiting_words(there)))) or "No pod depends on it"
                meaning = f"{depending}. {meaning}"
            requested = sum(pod.node in names for pod in report.pods)
            if mark in _OF_PODS and sum(node.pods for node in nodes) > requested:
                meaning = f"{meaning} All pods there are counted."
            where = "partitions" if mark is NodeMark.SILENT else "nodes"
            yield SummaryFinding(NodeFlag(mark, "").severity, fact, meaning, where)
    gone = [node for node in _partitioned(report) if node.reach.reach is Reach.GONE]
    if gone:
        which = gone[0].reach.name if len(gone) == 1 else counted(len(gone), "node")
        pods = sum(map(_hanging, gone))
        yield SummaryFinding(
            Severity.TROUBLE,
            f"{which} {'is' if len(gone) == 1 else 'are'} gone: there is no Node object.",
            f"{counted(pods, 'pod')} {'names' if pods == 1 else 'name'} {'it' if len(gone) == 1 else 'them'}: "
            f"pod garbage collection removes {'the object' if pods == 1 else 'the objects'} without "
            "confirmation that the processes ended.",
            "partitions",
        )


_FINE_WORDS: Final = {"Running": "running", "Succeeded": "finished"}
_OTHER_PHASE: Final = "in another phase"
"""The words for pods without problems, by phase."""


def _of_pods(pods: Sequence[PodEntry]) -> Iterator[SummaryFinding]:
    counts = Counter(pod.risk for pod in pods)
    for risk, meaning in RISK_MEANINGS.items():
        if counts[risk]:
            awaited = [pod.claim for pod in pods if pod.risk is risk and pod.claim] if risk in _OF_CLAIMS else []
            said = [*dict.fromkeys(next(claim_sentences([one])) for one in awaited)]
            if len(said) > _SHOWN_CLAIMS:
                said[_SHOWN_CLAIMS:] = [f"{counted(len(said) - _SHOWN_CLAIMS, 'more claim')} like these."]
            if len(awaited) < counts[risk]:
                said.append(meaning)
            fact = f"{counted(counts[risk], 'pod')}: {RISK_WORDS[risk]}."
            yield SummaryFinding(RISK_SEVERITY[risk], fact, " ".join(said), "pods", risk)


def _of_budgets(report: ClusterReport) -> Iterator[SummaryFinding]:
    if report.budgets is None:
        return
    stops = [one for one in report.budgets.standings if one.risk in _STOPS]
    if stops:
        by_remedy: dict[str, list[str]] = {}
        for one in stops:
            for risk in {one.risk: 0, **({BudgetRisk.UNHEALTHY: 0} if one.unready else {})}:
                by_remedy.setdefault(remedy_words(risk, one.way), []).append(f"{one.namespace}/{one.name}")
        helps = [f"{listed(names, most=3)}: {remedy}." for remedy, names in by_remedy.items()]
        if (more := len(helps) - _SHOWN_REMEDIES) > 0:
            see = "kubectl qos explain pdb/NAME -n NAMESPACE"
            helps[_SHOWN_REMEDIES:] = [f"The same is true for {more} more: {see}."]
        always = any(one.risk in _NEVER for one in stops)
        yield SummaryFinding(
            Severity.TROUBLE if always else Severity.NOTICE,
            f"{counted(len(stops), 'disruption budget')} {'stops' if len(stops) == 1 else 'stop'} a drain.",
            " ".join(helps),
            "budgets",
        )


def _partitioned(report: ClusterReport) -> Sequence[NodeDown]:
    return report.partitions.nodes if report.partitions is not None else ()


def _hanging(node: NodeDown) -> int:
    return sum(pod.risk is not Risk.NODES_OWN for pod in node.pods)


def spread_words(spread: WorkloadSpread) -> tuple[Severity, str]:
    """The severity and the words for a workload's spread."""
    over = spread.exceeded
    if over is not None:
        return Severity.NOTICE, f"{skew_words(over)}: {domain_words(over)}"
    if spread.in_one_zone:
        return Severity.NOTICE, "all in one zone"
    if spread.constraints:
        tight = max(spread.constraints, key=lambda one: one.skew - one.max_skew)
        return Severity.FINE, f"{skew_words(tight)}: {domain_words(tight)}"
    return Severity.FINE, "no constraint of its own"


def budget_words(standing: BudgetStanding) -> tuple[Severity, str]:
    """The severity, and whether a drain may evict a pod of the budget."""
    if standing.risk in _NEVER:
        return Severity.TROUBLE, BUDGET_WORDS[standing.risk]
    if standing.risk is BudgetRisk.ALLOWS:
        return Severity.FINE, f"{standing.allowed} now"
    return Severity.NOTICE, BUDGET_WORDS[standing.risk]


def measured_nodes(report: ClusterReport) -> frozenset[str]:
    """The names of the nodes with known usage."""
    return frozenset(node.name for node in report.nodes if node.usage_source is not UsageSource.NONE)


def asked_words(report: ClusterReport) -> str:
    """The source of the report; for a live cluster with its context, API server and version."""
    context, server = report.origin.context, report.origin.server
    parts = [report.source]
    if context:
        parts.append(f"context {context}")
    if server:
        parts.append(f"API server {server}")
    if report.server_version:
        parts.append(f"Kubernetes {report.server_version}")
    return ", ".join(parts)


def restart_words(pod: PodEntry, at: datetime | None) -> str:
    """``3 (5 min ago)``, in the form of kubectl."""
    since = ago(pod.last_restart, at)
    return f"{pod.restarts} ({since} ago)" if pod.restarts and since else str(pod.restarts)


_MAX_NAMED: Final = 3
_MARKS: Final = {mark: place for place, mark in enumerate(NodeMark)}
_RISKS: Final = {risk: place for place, risk in enumerate(PodRisk)}


def summary_page(report: ClusterReport, *, wide: bool = False) -> Page:
    """The summary of the HTML page, and what changed."""
    found, counts = findings(report), categories(report)
    when = "" if report.at is None else f", {clock(report.at, None)}"
    tables: list[Table | Section] = [] if report.changes is None else [*changes_tables(report.changes)]
    # If nothing changed, the earlier report has shown the findings.
    if report.changes is None or news(report.changes):
        rows = [(one.severity, one.fact.rstrip("."), _details(report, one, wide=wide)) for one in found]
        fine = [one for one in counts if one.severity is Severity.FINE]
        words = fine[0].words if len(fine) == 1 else ", ".join(f"{one.pods:,} {one.words}" for one in fine)
        if fine:
            fact = f"{sum(one.pods for one in fine)} of {counted(len(report.pods), 'pod')}: {words}"
            rows.append((Severity.FINE, fact, ""))
        title = "" if report.changes is None else "Findings, the worst first"
        tables.append(_judged(title, ("", ""), rows))
        if wide:
            each = [(one.severity, one.words, f"{one.pods:,}") for one in counts]
            tables.append(_judged("Pods, each counted once", ("what", "pods"), each, right=frozenset({1})))
    # Commands for the worst node, then the worst pod; pods on silent nodes are covered by their node.
    next_commands: list[Command] = []
    flagged = [(_MARKS[flags[0].mark], node.name) for node in report.nodes if (flags := node_flags(node))]
    if flagged:
        mark, name = min(flagged)
        next_commands.append(qos("partitions") if mark == _MARKS[NodeMark.SILENT] else qos("node {}", name))
    risky = [(_RISKS[pod.risk], *pod.key) for pod in report.pods if pod.risk not in {None, PodRisk.NODE_DOWN}]
    if risky:
        _, namespace, name = min(risky)
        next_commands.append(qos("explain pod/{}", name, namespace=namespace))
    refused = next((one for one in report.workloads if one.refused), None)
    if refused is not None:
        next_commands.append(qos("explain {}/{}", refused.kind.lower(), refused.name, namespace=refused.namespace))
    return Page(
        title=f"{report.scope or 'all namespaces'} of {asked_words(report)}{when}",
        verdict=_sentences(report, found),
        # With changes, the first sentence is about them, and the rows have marks.
        severity=_worst(report, found) if report.changes is None else None,
        parts=(*tables, *_unknown(report)),
        next_commands=tuple(next_commands),
    )


def _judged(
    title: str,
    headings: tuple[str, ...],
    rows: Sequence[tuple[Severity, str, str]],
    right: frozenset[int] = frozenset(),
) -> Table:
    """A table of rows with their marks."""
    marks = tuple(severity for severity, _, _ in rows)
    cells = tuple((fact, more) for _, fact, more in rows)
    return Table(title, headings, cells, right=right, one_line=True, marks=marks)


def _details(report: ClusterReport, finding: SummaryFinding, *, wide: bool) -> str:
    """The pods of a finding if the page has no list of them; with every detail, or without pods, what it means."""
    names = []
    for pod in report.pods:
        if pod.risk is finding.risk is not None:
            name, stuck = f"{pod.namespace}/{pod.name}", pod.stuck
            if stuck and pod.risk is PodRisk.STUCK:
                name += f" ({stuck.reason}{f' {stuck.times} times' if stuck.times > 1 else ''})"
            names.append(name)
    named = listed(names, None if wide else _MAX_NAMED)
    means = finding.meaning if wide or not named or finding.risk in _OF_CLAIMS else ""
    return ". ".join(filter(None, (named, means)))


def report_verdict(report: ClusterReport) -> Verdict:
    """The verdict of the report."""
    found = findings(report)
    code = VerdictCode.FINDINGS if found else VerdictCode.NOTHING_FOUND
    return Verdict(code, _worst(report, found), _sentences(report, found))


def written_page(report: ClusterReport, path: str, size: int, explained: int) -> Page:
    """What is in the file."""
    details = "each with its explanation" if explained >= len(report.pods) else f"{explained} with their explanation"
    nodes, pods = counted(len(report.nodes), "node"), counted(len(report.pods), "pod")
    return Page(
        title=f"{path}, of {asked_words(report)}",
        verdict=(
            f"Written, {memory(size)}B: {nodes} and {pods}, {details}.",
            headline(report, findings(report)),
            *assumed_words(report.lacks),
            *_changed(report),
            "Open it in a browser: it loads nothing from elsewhere.",
        ),
        severity=Severity.FINE,
        parts=tuple(_unknown(report)),
    )


def _sentences(report: ClusterReport, found: Sequence[SummaryFinding]) -> tuple[str, ...]:
    """The requested changes, then how many things stand out."""
    return *_changed(report), headline(report, found), *assumed_words(report.lacks)


def _changed(report: ClusterReport) -> tuple[str, ...]:
    return changes_sentences(report, report.changes) if report.changes is not None else ()


def _worst(report: ClusterReport, found: Sequence[SummaryFinding]) -> Severity:
    lacking = Severity.NOTICE if report.lacks else Severity.FINE
    return most_urgent((lacking, *(one.severity for one in found)))


def _unknown(report: ClusterReport) -> Iterator[Section]:
    yield versions_section(report.version_notes)
    yield Section("Unknown", unread_lines(report.unread, measured=measured_nodes(report)))
