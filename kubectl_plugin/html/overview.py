"""The sections of the page that need no script.

Summary, capacity, zones, priorities, budgets, silent nodes, workloads, changes, and tables for print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

from kubectl_plugin.html.markup import (
    MAX_ROWS,
    Child,
    Markup,
    cell_bar,
    element,
    joined,
    legend,
    link,
    page_body,
    promised_words,
    resource_bar,
    severity_word,
    share_bar,
    table,
)
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.cluster.cluster_entries import (
    ClusterReport,
    NodeEntry,
    PodEntry,
    PromisedResource,
    WorkloadEntry,
)
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity, VerdictCode, most_urgent
from kubectl_plugin.views.caveats import assumed_words, unread_lines, version_note_words
from kubectl_plugin.views.cluster.cluster_page import (
    SummaryFinding,
    budget_words,
    categories,
    findings,
    headline,
    measured_nodes,
    pods_by_severity,
    restart_words,
    spread_words,
)
from kubectl_plugin.views.cluster.report_changes import MAX_SHOWN, changes_sentences, count_rows, news
from kubectl_plugin.views.died.causes import by_cause
from kubectl_plugin.views.node.node_flags import node_state
from kubectl_plugin.views.node.partitions import partitions_pages
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY, RISK_WORDS
from kubectl_plugin.views.words import ago, cores, counted, memory
from kubectl_plugin.views.workload_words import NODE_DOWN
from podrules.api.model.pod import PodQOSClass
from podrules.ending.pod_state import PodState
from podrules.scheduling.skew import WorkloadSpread
from podrules.scheduling.spread import ZONE

_RISKS: Final = tuple(PodRisk)


def summary(report: ClusterReport) -> Markup:
    """The summary: the facts that a reader should know first."""
    found = findings(report)
    worst = most_urgent(one.severity for one in found)
    return element(
        "section",
        element("h2", "Summary", class_="hidden"),
        element("p", headline(report, found), class_=f"headline {worst.value}"),
        [element("p", sentence) for sentence in assumed_words(report.lacks)],
        _tiles(report),
        element("ul", [_finding(one) for one in found], class_="findings") if found else None,
        _categories(report),
        id="summary",
        class_="first",
    )


def _finding(finding: SummaryFinding) -> Markup:
    shown = f"show-{_RISKS.index(finding.risk)}" if finding.risk is not None else None
    return element(
        "li",
        severity_word(finding.severity),
        element("span", element("strong", finding.fact), " ", finding.meaning),
        element(
            "a", "Show", element("span", f": {finding.fact}", class_="hidden"), href=f"#{finding.where}", class_=shown
        ),
        class_=finding.severity.value,
    )


def _tiles(report: ClusterReport) -> Markup:
    ready = sum(node.ready == "True" and not node.down for node in report.nodes)
    urgent = pods_by_severity(report)
    tiles = [
        _tile("Nodes ready", f"{ready}", f"of {len(report.nodes)}"),
        _tile("Pods in trouble", f"{urgent[Severity.TROUBLE]:,}", f"of {len(report.pods):,}"),
        _tile("Pods with a notice", f"{urgent[Severity.NOTICE]:,}", f"and {urgent[Severity.FINE]:,} fine"),
    ]
    for name, promised in (("CPU requested", report.whole_cpu), ("Memory requested", report.whole)):
        if promised is not None and promised.allocatable:
            limits = f"limits {100 * promised.limited // promised.allocatable}%"
            tiles.append(_tile(name, f"{100 * promised.total // promised.allocatable}%", limits))
    return element("ul", tiles, class_="tiles")


def _categories(report: ClusterReport) -> Markup | None:
    """The pods by category; each pod counts once."""
    found = categories(report)
    if not found:
        return None
    rows: list[list[Child]] = [[one.words, f"{one.pods:,}", severity_word(one.severity)] for one in found]
    rows.append(["all pods", f"{sum(one.pods for one in found):,}", None])
    title = "Each pod counted once, by the worst that is wrong with it"
    return element(
        "details",
        element("summary", f"{'1 pod' if len(report.pods) == 1 else f'{len(report.pods):,} pods'} by what is wrong"),
        table(title, ("What", "Pods", "How urgent"), rows, numbers={1}),
    )


def _tile(name: str, number: str, beside: str) -> Markup:
    return element(
        "li",
        element("span", name, class_="label"),
        element("span", number, class_="number"),
        " ",
        element("span", beside),
    )


def capacity(report: ClusterReport) -> Markup | None:
    """The capacity of all nodes, and how much of it is requested and used."""
    rows = []
    for name, promised, words in (("CPU", report.whole_cpu, cores), ("Memory", report.whole, memory)):
        if promised is not None:
            text = promised_words(promised, words)
            rows.append(
                element(
                    "div", element("h3", name), resource_bar(promised, f"{name}: {text}", height=26), element("p", text)
                )
            )
    if not rows:
        return None
    classes = Counter(pod.asked.qos_class for pod in report.pods)
    counts = {one: classes[one] for one in PodQOSClass}
    text = ", ".join(f"{one.value} {counts[one]:,}" for one in PodQOSClass)
    rows.append(
        element("div", element("h3", "Pods"), share_bar(counts, f"Pods: {text}", height=26), element("p", text))
    )
    return element(
        "section",
        element("h2", "Capacity"),
        element("div", rows, class_="whole"),
        legend(),
        element(
            "p",
            "The scheduler counts requests only. Limits beyond 100% are overcommit: when pods use them, the kernel "
            "and the kubelet decide which pods end. ",
            _measured_words(len(measured_nodes(report)), len(report.nodes)),
            class_="note",
        ),
        id="capacity",
    )


def _measured_words(measured: int, nodes: int) -> str:
    if not measured:
        return "Usage was not measured."
    return (
        "Usage was measured on every node."
        if measured == nodes
        else f"Usage was measured on {measured} of {nodes} nodes."
    )


def zones(report: ClusterReport) -> Markup:
    """The capacity of each zone, and the workloads that are spread unevenly."""
    names = [zone.zone for zone in report.zones]
    by_zone: dict[str, list[NodeEntry]] = {name: [] for name in names}
    for node in report.nodes:
        by_zone[node.zone].append(node)
    cells: list[list[Child]] = []
    for zone in report.zones:
        own = by_zone[zone.zone]
        cells.append(
            [
                element("strong", zone.zone or "no zone"),
                f"{zone.ready} of {zone.nodes}",
                f"{sum(node.pods for node in own):,}",
                cell_bar("CPU", PromisedResource.together([node.cpu for node in own]), cores),
                cell_bar("Memory", PromisedResource.together([node.memory for node in own]), memory),
            ]
        )
    spreads = sorted(report.spreads, key=_spread_order)
    shown = [spread for spread in spreads if spread.pods > 1][:MAX_ROWS]
    rest = len([spread for spread in spreads if spread.pods > 1]) - len(shown)
    return element(
        "section",
        element("h2", "Zones"),
        table(
            f"By the nodes' label {ZONE}",
            ("Zone", "Nodes ready", "Pods", "CPU", "Memory"),
            cells,
            numbers={1, 2},
        ),
        element("h3", "How workloads are spread"),
        table(
            "Pods by zone, the least even first",
            ("Workload", *(name or "no zone" for name in names), "Pods", "Spread"),
            [_spread_cells(spread, names) for spread in shown],
            numbers=set(range(1, len(names) + 2)),
        )
        if shown
        else element("p", "No workload has several pods.", class_="note"),
        element("p", f"and {counted(rest, 'more workload')}", class_="note") if rest else None,
        id="zones",
    )


def _spread_order(spread: WorkloadSpread) -> tuple[int, bool, int, str, str]:
    severity, _ = spread_words(spread)
    return -severity.urgency, spread.exceeded is None, -spread.pods, spread.namespace, spread.name


def _spread_cells(spread: WorkloadSpread, names: Sequence[str]) -> list[Child]:
    severity, words = spread_words(spread)
    counts = [spread.zones.get(name, 0) for name in names]
    # The shade of a count is its share of the workload's pods, in quarters.
    heats = [-(-4 * count // spread.pods) for count in counts]
    return [
        _of_workload(spread.namespace, "", spread.name),
        *(element("span", str(count), class_=f"heat-{heat}") for count, heat in zip(counts, heats, strict=True)),
        str(spread.pods),
        joined(severity_word(severity), " ", words) if severity is not Severity.FINE else words,
    ]


def priorities(report: ClusterReport) -> Markup:
    """The priorities of the pods, the highest first."""
    kinds: dict[tuple[int, str], list[PodEntry]] = {}
    for pod in report.pods:
        kinds.setdefault((pod.priority, pod.priority_class), []).append(pod)
    known = {entry.metadata.name: entry for entry in report.classes or ()}
    rows: list[list[Child]] = []
    for (value, name), own in sorted(kinds.items(), key=lambda item: (-item[0][0], item[0][1])):
        counts = Counter(pod.asked.qos_class for pod in own)
        by_class = {one: counts[one] for one in PodQOSClass}
        text = ", ".join(f"{one.value} {by_class[one]:,}" for one in PodQOSClass if by_class[one])
        policy = known[name].preemption_policy if name in known else None
        rows.append(
            [
                f"{value:,}",
                element("strong", name) if name else element("span", "no class", class_="dim"),
                f"{len(own):,}",
                element("div", share_bar(by_class, text), element("span", text), class_="with-bar long"),
                memory(sum(pod.asked.memory for pod in own)),
                "preempts none" if policy == "Never" or report.preemption_disabled else "preempts lower pods",
            ]
        )
    return element(
        "section",
        element("h2", "Priorities"),
        element(
            "p",
            "Only priority decides preemption. The kubelet first evicts pods that use more than they request, then "
            "pods of lower priority. The kernel ignores both.",
            class_="note",
        ),
        table(
            "The highest first",
            ("Priority", "PriorityClass", "Pods", "By QoS class", "Memory requested", "When it finds no room"),
            rows,
            numbers={0, 2, 4},
        ),
        id="priorities",
    )


def budgets(report: ClusterReport) -> Markup:
    """The budgets, whether a drain could evict their pods, and workloads without a budget."""
    known = report.budgets
    body: list[Child] = []
    if known is None:
        body.append(element("p", "PodDisruptionBudgets could not be read.", class_="note"))
    else:
        cells: list[list[Child]] = []
        owners = {(pod.namespace, pod.owner) for pod in report.pods}
        for standing in known.standings[:MAX_ROWS]:
            severity, words = budget_words(standing)
            # Most budgets are named as the workload that they protect; else the search finds the namespace's pods.
            same = f" owner:{standing.name}" if (standing.namespace, standing.name) in owners else ""
            cells.append(
                [
                    joined(_namespace(standing.namespace), element("strong", standing.name)),
                    joined(severity_word(severity), " ", words),
                    link(str(standing.pods), "pods", f"ns:{standing.namespace}{same}"),
                    str(standing.healthy),
                    str(standing.desired),
                ]
            )
        headings = ("Budget", "May a drain evict one?", "Pods", "Healthy", "Needed")
        if cells:
            body.append(table("Budgets, the worst first", headings, cells, numbers={2, 3, 4}))
        else:
            body.append(element("p", "There are none.", class_="note"))
        rest = len(known.standings) - len(cells)
        body.append(element("p", f"and {counted(rest, 'more budget')}", class_="note") if rest else None)
        body.append(_unprotected(report))
    return element("section", element("h2", "Disruption budgets"), *body, id="budgets")


def _unprotected(report: ClusterReport) -> Markup | None:
    bare = report.budgets.unprotected if report.budgets else ()
    if not bare:
        return None
    shown = [f"{one.namespace}/{one.name} ({one.pods})" for one in bare[:MAX_ROWS]]
    more = f" and {len(bare) - len(shown)} more" if len(bare) > len(shown) else ""
    return element(
        "details",
        element("summary", f"{counted(len(bare), 'workload')} of several pods without a budget"),
        element("p", f"{', '.join(shown)}{more}"),
    )


def partitions(report: ClusterReport, target: Target) -> Markup:
    """The silent nodes, and what depends on them; ``target`` is for the commands."""
    known = report.partitions
    if known is None:
        body: Child = element("p", "Unknown: no heartbeat was read.", class_="note")
    elif not known.nodes:
        body = element("p", f"All {counted(known.nodes_total, 'node')} answer.", class_="note")
    else:
        pages = partitions_pages(known, wide=False)
        body = [
            element("article", element("h3", page.title), page_body(page, level=4, target=target), class_="card")
            for page in pages
        ]
    return element("section", element("h2", "Silent nodes"), body, id="partitions")


def ended(report: ClusterReport) -> Markup:
    """What ended in the last hour, by cause."""
    if report.ended is None:
        body: Child = element("p", "Unknown: events could not be read, or the time is unknown.", class_="note")
    elif not report.ended:
        body = element("p", "Nothing has ended, according to pods and events.", class_="note")
    else:
        rows = [[cause, f"{count:,}", pods] for count, cause, pods in by_cause(report.ended)]
        body = [
            table("By cause, the most frequent first", ("Cause", "Ends", "Pods"), rows[:MAX_ROWS], numbers={1}),
            element("p", "kubectl qos died pod/NAME shows the evidence for each.", class_="note"),
        ]
    return element("section", element("h2", "Ended in the last hour"), body, id="ended")


def unknown(report: ClusterReport, target: Target) -> Markup | None:
    """The facts that could not be read; ``target`` is for the commands."""
    lines = [target.sentence(line) for line in unread_lines(report.unread, measured=measured_nodes(report))]
    lines = [*map(version_note_words, report.version_notes), *lines]
    if not lines:
        return None
    return element(
        "section",
        element("h2", "Unknown"),
        element("ul", [element("li", line) for line in lines[:MAX_ROWS]]),
        id="unknown",
    )


def anchors(report: ClusterReport) -> Iterator[tuple[str, str]]:
    """The id and name of each section."""
    yield "summary", "Summary"
    if report.changes is not None:
        yield "changed", "What changed"
    yield from (
        ("capacity", "Capacity"),
        ("nodes", "Nodes"),
        ("pods", "Pods"),
        ("workloads", "Workloads"),
        ("zones", "Zones"),
        ("priorities", "Priorities"),
        ("budgets", "Budgets"),
        ("partitions", "Silent nodes"),
        ("ended", "Ended"),
    )


# Workloads

_HEADINGS: Final = ("Workload", "The worst", "Wanted", "Ready", "In trouble", "Restarts")
_NUMBERS: Final = frozenset({2, 3, 4, 5})


def workloads(report: ClusterReport) -> Markup:
    """The workloads with problems; the others are folded."""
    ill = [one for one in report.workloads if one.severity is not Severity.FINE]
    well = [one for one in report.workloads if one.severity is Severity.FINE]
    rest = len(ill) + len(well) - len(ill[:MAX_ROWS]) - len(well[:MAX_ROWS])
    return element(
        "section",
        element("h2", "Workloads"),
        table("Workloads, the worst first", _HEADINGS, map(_cells, ill[:MAX_ROWS]), numbers=_NUMBERS)
        if ill
        else element("p", "No workload here is known to be in trouble.", class_="note"),
        element(
            "details",
            element("summary", f"{counted(len(well), 'workload')} with all pods well"),
            table("By name", _HEADINGS, map(_cells, well[:MAX_ROWS]), numbers=_NUMBERS),
        )
        if well
        else None,
        element("p", f"and {counted(rest, 'more workload')}: kubectl qos report -o json", class_="note")
        if rest
        else None,
        id="workloads",
    )


def _cells(entry: WorkloadEntry) -> list[Child]:
    counts = entry.counts
    return [
        _of_workload(entry.namespace, f"{entry.kind} ", entry.name),
        joined(severity_word(entry.severity), " ", _worst_words(entry)) if entry.severity is not Severity.FINE else "",
        _wanted_words(entry),
        f"{counts.ready:,}",
        f"{entry.in_trouble:,}",
        f"{entry.restarts:,}",
    ]


def _of_workload(namespace: str, kind: str, name: str) -> Markup:
    """The name of a workload, with a link to its pods."""
    words = f"ns:{namespace} owner:{name}"
    return joined(_namespace(namespace), kind, link(name, "pods", words))


def _namespace(name: str) -> Markup:
    """The namespace before a name; a line may break after it."""
    return joined(element("span", f"{name}/", class_="dim"), element("wbr"))


def _wanted_words(entry: WorkloadEntry) -> str:
    if entry.counts.wanted is not None:
        return f"{entry.counts.wanted:,}"
    return "by schedule" if entry.kind == "CronJob" else "unknown"


def _worst_words(entry: WorkloadEntry) -> Markup | str:
    missing = f"{counted(entry.counts.missing, 'pod')} missing" if entry.counts.missing else ""
    if entry.code is VerdictCode.NEAR_MEMORY_LIMIT:
        return RISK_WORDS[PodRisk.NEAR_LIMIT]
    if entry.refused:
        return ": ".join(filter(None, (missing, "pods refused")))
    if entry.worst is None:
        return missing or entry.code.value
    state = NODE_DOWN if entry.worst is PodState.UNREACHABLE else entry.worst.value
    state = "" if entry.worst_status == state else f" ({state})"
    words = f": {entry.worst_status}{state}{'; ' if missing else ''}{missing}"
    return joined(link(entry.worst_pod, "pod", entry.namespace, entry.worst_pod), words)


# Tables for print and for browsers without scripts

_MAX_TROUBLED: Final = 12


def nodes(report: ClusterReport) -> Markup:
    """The table of nodes, the worst first."""
    shown = sorted(report.nodes, key=_node_order)[:MAX_ROWS]
    rest = len(report.nodes) - len(shown)
    return element(
        "div",
        table(
            "Nodes, the worst first",
            ("Node", "State", "Zone", "Pods", "CPU", "Memory", "Killed first", "Evicted first"),
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
        joined(severity_word(severity), " ", words),
        node.zone or "none",
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
    return _RISKS.index(pod.risk) if pod.risk else len(_RISKS), -pod.priority, pod.namespace, pod.name


def _troubled_cells(pod: PodEntry, at: datetime | None) -> list[Child]:
    severity = RISK_SEVERITY[pod.risk] if pod.risk else Severity.FINE
    return [
        joined(_namespace(pod.namespace), element("strong", pod.name)),
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


# Changes since an earlier report


def changed(report: ClusterReport) -> Markup | None:
    """The changes, the worst first, and the counts before and after; None: there is no earlier report."""
    if report.changes is None:
        return None
    found = news(report.changes)
    rows: list[list[Child]] = [[one.what, severity_word(one.severity), one.words] for one in found[:MAX_SHOWN]]
    rest = len(found) - len(rows)
    counts: list[list[Child]] = [list(row) for row in count_rows(report.changes)]
    return element(
        "section",
        element("h2", "What changed"),
        [element("p", sentence) for sentence in changes_sentences(report, report.changes)],
        table("Changes, the worst first", ("Object", "Now", "What changed"), rows) if rows else None,
        element("p", f"and {counted(rest, 'more change')}: kubectl qos report -o json", class_="note")
        if rest
        else None,
        table("Counts", ("Count", "Before", "After"), counts, numbers={1, 2}),
        id="changed",
    )
