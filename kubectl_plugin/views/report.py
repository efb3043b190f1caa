"""A cluster's page in words: what comes first, what the signs mean, and what was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kubectl_plugin.render.page import Page, Section, Severity
from kubectl_plugin.reports.cluster import ClusterReport, NodeEntry, PodEntry, Promised
from kubectl_plugin.reports.pod_risk import PodRisk
from kubectl_plugin.views.pressure_words import EVICTING, pressure_names
from kubectl_plugin.views.skew_words import domain_words, skew_words
from kubectl_plugin.views.unread import unread_words
from kubectl_plugin.views.words import counted, memory
from podrules.allocation import is_full
from podrules.budget_risk import BudgetRisk, BudgetStanding
from podrules.eviction.signals import NodeCondition
from podrules.partitions import NodeDown, Risk
from podrules.reachability import Reach
from podrules.skew import WorkloadSpread

__all__ = [
    "BUDGET_WORDS",
    "NEAR_PERCENT",
    "RISK_WORDS",
    "Finding",
    "budget_words",
    "findings",
    "headline",
    "node_state",
    "spread_words",
    "written_page",
]

NEAR_PERCENT: Final = 10
"""Of the capacity: a node that is nearer to an eviction is told of."""
_FULL_PERCENT: Final = 95
"""Of what is allocatable of a resource: from there on requests leave hardly any of it."""

RISK_WORDS: Final = {
    PodRisk.NODE_DOWN: "node does not answer",
    PodRisk.UNSCHEDULABLE: "has no place",
    PodRisk.FAILED: "failed",
    PodRisk.TERMINATING_LATE: "does not end",
    PodRisk.TAINTED: "leaves by a taint",
    PodRisk.OOM_KILLED: "was OOM-killed",
    PodRisk.OVER_REQUEST: "over its request",
    PodRisk.HELD_UP: "does not run",
    PodRisk.KEPT: "kept by a finalizer",
    PodRisk.NOT_READY: "not Ready",
    PodRisk.NOT_STARTED: "not started",
    PodRisk.NOT_MODELLED: "waits, not modelled",
}
BUDGET_WORDS: Final = {
    BudgetRisk.OVERLAPS: "never: two budgets",
    BudgetRisk.BLOCKS_ALWAYS: "never: it needs every pod",
    BudgetRisk.BLOCKS_NOW: "not now",
    BudgetRisk.NOT_OBSERVED: "not yet looked at",
    BudgetRisk.SELECTS_NOTHING: "selects no pod",
    BudgetRisk.ALLOWS: "yes",
}
"""Whether a drain may take a pod of it."""
_STOPS: Final = frozenset({BudgetRisk.OVERLAPS, BudgetRisk.BLOCKS_ALWAYS, BudgetRisk.BLOCKS_NOW})


class Finding(Struct, frozen=True):
    """One thing that a reader should know first."""

    severity: Severity
    fact: str
    meaning: str
    where: str
    """The section of the page that has more."""
    risk: PodRisk | None = None
    """The pods that it is about, as the list can be filtered."""


def headline(report: ClusterReport, found: Sequence[Finding]) -> str:
    """The first sentence."""
    trouble = sum(one.severity is Severity.TROUBLE for one in found)
    notice = sum(one.severity is Severity.NOTICE for one in found)
    if trouble:
        more = f", and {notice} to look at" if notice else ""
        return f"{counted(trouble, 'thing')} {'needs' if trouble == 1 else 'need'} attention{more}."
    if notice:
        return f"No trouble; {counted(notice, 'thing')} to look at."
    return f"Nothing stands out among {counted(len(report.nodes), 'node')} and {counted(len(report.pods), 'pod')}."


def findings(report: ClusterReport) -> tuple[Finding, ...]:
    """What stands out, trouble first."""
    found = [*_of_nodes(report), *_of_pods(report.pods), *_of_budgets(report), *_of_zones(report)]
    order = list(Severity)
    return tuple(sorted(found, key=lambda one: -order.index(one.severity)))


def _of_nodes(report: ClusterReport) -> Iterator[Finding]:
    down = [node for node in report.nodes if node.down]
    if down:
        names = {node.name for node in down}
        hanging = sum(_hanging(node) for node in _partitioned(report) if node.reach.name in names)
        yield Finding(
            Severity.TROUBLE,
            f"{_named(down)} {'does' if len(down) == 1 else 'do'} not answer.",
            f"{counted(hanging, 'pod')} {'hangs' if hanging == 1 else 'hang'} there: nobody can tell from here what "
            "still runs there.",
            "partitions",
        )
    gone = [node for node in _partitioned(report) if node.reach.reach is Reach.GONE]
    if gone:
        which = gone[0].reach.name if len(gone) == 1 else counted(len(gone), "node")
        pods = sum(map(_hanging, gone))
        yield Finding(
            Severity.TROUBLE,
            f"{which} {'is' if len(gone) == 1 else 'are'} gone: there is no Node object.",
            f"{counted(pods, 'pod')} {'names' if pods == 1 else 'name'} it: pod garbage collection removes the "
            "objects, nobody confirms that their processes ended.",
            "partitions",
        )
    broken = [node for node in report.nodes if node.ready == "False"]
    if broken:
        yield Finding(
            Severity.TROUBLE, f"{_named(broken)} not Ready.", "The kubelet answers and takes no pods.", "nodes"
        )
    met = [node for node in report.nodes if node.nearest is not None and node.nearest.met]
    if met:
        yield Finding(Severity.TROUBLE, f"{_named(met)} under pressure.", "The kubelet evicts pods there now.", "nodes")
    short = [node for node in report.nodes if node.pressures and not node.down and node not in met]
    if short:
        kinds = pressure_names([kind for kind in NodeCondition if any(kind in node.pressures for node in short)])
        yield Finding(Severity.TROUBLE, f"{_named(short)} under {kinds}.", f"There {EVICTING}.", "nodes")
    near = [node for node in report.nodes if node.nearest is not None and not node.nearest.met and _is_near(node)]
    if near:
        first = min(near, key=lambda node: node.nearest.percent if node.nearest else 0)
        level = first.nearest
        if level is not None:
            yield Finding(
                Severity.NOTICE,
                f"{_named(near)} near an eviction.",
                f"{first.name}: {memory(level.left)} left until {level.signal.value} is met ({level.percent}%).",
                "nodes",
            )
    yield from _of_full_nodes([node for node in report.nodes if not node.down])


def _of_full_nodes(nodes: Sequence[NodeEntry]) -> Iterator[Finding]:
    """Nodes that keep pods off by the room that requests leave, by resource."""
    crowded = [node for node in nodes if is_full(node.max_pods, node.pods)]
    if crowded:
        fact = f"{_named(crowded)}: as many pods as the kubelet takes."
        yield Finding(Severity.NOTICE, fact, "No other pod fits, whatever it requests.", "nodes")
    for name, promised in (("cpu", _cpu_of), ("memory", _memory_of)):
        full = [node for node in nodes if _is_full(promised(node))]
        if full:
            yield Finding(
                Severity.NOTICE,
                f"{_named(full)}: {name} promised to the full.",
                f"At least {_FULL_PERCENT}% of allocatable {name} is requested: a pod that requests more {name} than "
                "is left does not fit, one that requests none may.",
                "nodes",
            )


def _cpu_of(node: NodeEntry) -> Promised:
    return node.cpu


def _memory_of(node: NodeEntry) -> Promised:
    return node.memory


def _is_near(node: NodeEntry) -> bool:
    return node.nearest is not None and node.nearest.percent < NEAR_PERCENT


def _is_full(promised: Promised) -> bool:
    return promised.allocatable > 0 and 100 * promised.total >= _FULL_PERCENT * promised.allocatable


_POD_FINDINGS: Final = {
    PodRisk.UNSCHEDULABLE: (Severity.TROUBLE, "no place", "The scheduler finds no node for them."),
    PodRisk.FAILED: (
        Severity.NOTICE,
        "failed",
        "They do not come back by themselves; their owners may have made others.",
    ),
    PodRisk.TERMINATING_LATE: (
        Severity.TROUBLE,
        "should have ended",
        "Their grace period is over and they are still there.",
    ),
    PodRisk.TAINTED: (
        Severity.TROUBLE,
        "deleted by a taint of their node",
        "They do not tolerate it, or only for a time: kube-controller-manager deletes them once that is over.",
    ),
    PodRisk.OOM_KILLED: (
        Severity.TROUBLE,
        "killed for memory",
        "A container's limit, or its node's memory, was too small.",
    ),
    PodRisk.OVER_REQUEST: (
        Severity.NOTICE,
        "over the memory that they request",
        "The kubelet evicts such pods first when their node runs short, whatever their QoS class.",
    ),
    PodRisk.HELD_UP: (
        Severity.TROUBLE,
        "with a container that does not run",
        "Its kubelet tried to start it, and waits longer each time: ImagePullBackOff, CrashLoopBackOff and so on.",
    ),
    PodRisk.KEPT: (
        Severity.NOTICE,
        "kept by a finalizer",
        "Their processes have ended; whoever set the finalizer has not removed it.",
    ),
    PodRisk.NOT_READY: (Severity.NOTICE, "not Ready", "They run and get no traffic."),
    PodRisk.NOT_STARTED: (Severity.NOTICE, "not started", "They have a node, and their containers do not run yet."),
    PodRisk.NOT_MODELLED: (
        Severity.NOTICE,
        "waiting, not modelled",
        "They belong to a group or to another scheduler: whether they have a place is not known here.",
    ),
}


def _of_pods(pods: Sequence[PodEntry]) -> Iterator[Finding]:
    counts = Counter(pod.risk for pod in pods)
    for risk, (severity, what, meaning) in _POD_FINDINGS.items():
        if counts[risk]:
            yield Finding(severity, f"{counted(counts[risk], 'pod')}: {what}.", meaning, "pods", risk)


def _of_budgets(report: ClusterReport) -> Iterator[Finding]:
    if report.budgets is None:
        return
    stops = [one for one in report.budgets.standings if one.risk in _STOPS]
    if stops:
        names = ", ".join(f"{one.namespace}/{one.name}" for one in stops[:3])
        more = f" and {len(stops) - 3} more" if len(stops) > 3 else ""
        always = [one for one in stops if one.risk is not BudgetRisk.BLOCKS_NOW]
        yield Finding(
            Severity.TROUBLE if always else Severity.NOTICE,
            f"{counted(len(stops), 'disruption budget')} would stop a drain.",
            f"{names}{more}.",
            "budgets",
        )


def _of_zones(report: ClusterReport) -> Iterator[Finding]:
    if len(report.zones) < 2:
        return
    one_zone = [one for one in report.spreads if one.in_one_zone]
    if one_zone:
        yield Finding(
            Severity.NOTICE,
            f"{counted(len(one_zone), 'workload')} would go with one zone.",
            "All of their pods are in the same one.",
            "zones",
        )
    skewed = [one for one in report.spreads if one.exceeded]
    if skewed:
        yield Finding(
            Severity.NOTICE,
            f"{counted(len(skewed), 'workload')} less even than maxSkew allows a new pod.",
            "Constraints are judged when a pod is placed and never again.",
            "zones",
        )


def _partitioned(report: ClusterReport) -> Sequence[NodeDown]:
    return report.partitions.nodes if report.partitions is not None else ()


def _hanging(node: NodeDown) -> int:
    return sum(pod.risk is not Risk.NODES_OWN for pod in node.pods)


def _named(nodes: Sequence[NodeEntry]) -> str:
    """``node-1 is``, ``3 nodes are`` without the verb for one that is named."""
    return nodes[0].name if len(nodes) == 1 else counted(len(nodes), "node")


def node_state(node: NodeEntry) -> tuple[Severity, str]:
    """How it is, and how urgent that is."""
    if node.down:
        return Severity.TROUBLE, "silent"
    if node.ready != "True":
        return Severity.TROUBLE, "not Ready" if node.ready else "no status"
    if node.nearest is not None and node.nearest.met:
        return Severity.TROUBLE, "evicting"
    if node.pressures:
        return Severity.TROUBLE, pressure_names(node.pressures)
    if _is_near(node):
        return Severity.NOTICE, "near eviction"
    if node.unschedulable:
        return Severity.NOTICE, "cordoned"
    return Severity.FINE, "Ready"


def spread_words(spread: WorkloadSpread) -> tuple[Severity, str]:
    """What is to be said of a workload's spread."""
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
    """Whether a drain may take a pod of it."""
    if standing.risk in {BudgetRisk.OVERLAPS, BudgetRisk.BLOCKS_ALWAYS}:
        return Severity.TROUBLE, BUDGET_WORDS[standing.risk]
    if standing.risk is BudgetRisk.ALLOWS:
        return Severity.FINE, f"{standing.allowed} now"
    return Severity.NOTICE, BUDGET_WORDS[standing.risk]


def written_page(report: ClusterReport, path: str, size: int, explained: int) -> Page:
    """What is in the file."""
    found = findings(report)
    told = "each with its explanation" if explained >= len(report.pods) else f"{explained} with their explanation"
    nodes, pods = counted(len(report.nodes), "node"), counted(len(report.pods), "pod")
    missing = Section("Unknown", tuple(map(unread_words, report.unread)))
    worst = max((one.severity for one in found), key=list(Severity).index, default=Severity.FINE)
    return Page(
        title=f"{path}, of {report.source}",
        verdict=(
            f"Written, {memory(size)}B: {nodes} and {pods}, {told}.",
            headline(report, found),
            "Open it in a browser: it loads nothing from elsewhere.",
        ),
        severity=worst,
        parts=(missing,) if missing.lines else (),
    )
