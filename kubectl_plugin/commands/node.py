"""``kubectl qos node``: what is killed and evicted first on a node under pressure, and how close that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from cluster_io.errors import ClusterError, Forbidden, NotCaptured, NotServed, Unreachable, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PDBS, PODS, find_kind
from cluster_io.source import RememberedSource, Source
from kubectl_plugin.exit_codes import certainty, print_error
from kubectl_plugin.gather.pressure import pressure_report, pressure_reports
from kubectl_plugin.options import Streams
from kubectl_plugin.options.cluster_commands import NodeOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.reports.node.node_pressure import NodePressureReport
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod, reference
from podrules.ending.died.memory import node_shortages
from podrules.pod.reading import UnreadInput, read_or_none

if TYPE_CHECKING:
    from kubectl_plugin.render.page import Page


def run(options: NodeOptions, source: Source, streams: Streams) -> int:
    """Report on every named node, or on all; the first error gives the exit code.

    One node gets a page, several get one line each.

    Raises:
        UsageError: an object other than a node was named.
        Unreachable: the cluster does not answer.
    """
    if options.watch is not None:
        from kubectl_plugin.watch import WatchedObjects, watch

        return watch(
            options, source, streams, run, [WatchedObjects(NODES, None, name) for name in _named(options) or [""]]
        )
    named, source = _named(options), RememberedSource(source)
    printer = Printer(options.output, streams, colour=options.colour, target=options.cluster.target(), source=source)
    # Several nodes get one line each. Pages and data are printed one by one.
    lines = None
    if len(named) != 1 and options.output.brief:
        from kubectl_plugin.views.node.node_lines import NodeLines

        lines = NodeLines(source.now)
    code, found, uncertain = 0, 0, 0
    for answer in _of_names(named, options, source) if named else _of_chosen(options, source):
        if isinstance(answer, ClusterError):
            own = print_error(answer, streams.err, options.cluster.target())
            code = code or own
            continue
        found += 1
        uncertain = uncertain or certainty([answer])
        if lines is None:
            _print_page(printer, answer, source.now, wide=options.output.wide)
        else:
            lines.add(answer)
    if lines is not None and lines.only is not None and not named:
        _print_page(printer, lines.only, source.now, wide=False)
    elif lines is not None and found:
        printer.show(lines.page(by_trouble=not named))
    if not found and not named and not options.output.is_data:
        streams.err.write("No resources found.\n")
    printer.finish(as_list=len(options.nodes) != 1)
    return code or uncertain


def _print_page(printer: Printer, report: NodePressureReport, now: datetime | None, *, wide: bool) -> None:
    printer.add(report, [f"node/{report.name}"], partial(_pages, report, now, wide=wide))


def _pages(report: NodePressureReport, now: datetime | None, *, wide: bool) -> Iterator[Page]:
    from kubectl_plugin.views.node.node_pressure import node_pressure_page

    yield node_pressure_page(report, now=now, wide=wide)


def _of_names(
    names: Sequence[str], options: NodeOptions, source: Source
) -> Iterator[NodePressureReport | ClusterError]:
    gatherer = Gatherer(source)
    for name in names:
        try:
            node = source.get(NODES, name)
            report = pressure_report(gatherer, node, cgroups=not options.output.brief)
            if len(names) == 1:
                report = _with_shortage(_with_ended(_with_drain_blockers(report, node, gatherer), gatherer), gatherer)
            yield report
        except Unreachable:
            raise
        except ClusterError as error:
            yield error


def _with_drain_blockers(report: NodePressureReport, node: Node, gatherer: Gatherer) -> NodePressureReport:
    """The report with the pods that block a drain, if the node is cordoned and budgets can be read."""
    pods, budgets = gatherer.pods_on(report.name), gatherer.list(PDBS) if node.spec.unschedulable else ()
    if isinstance(pods, UnreadInput) or isinstance(budgets, UnreadInput) or not budgets:
        return report
    # Loaded for a cordoned node.
    from podrules.scheduling.placement.drain import drain_plan
    from podrules.workload.disruption import Evictions

    before = gatherer.unread
    budgets = gatherer.as_wanted(budgets, pods)
    unread = (*report.unread, *(one for one in gatherer.unread if one not in before))
    plan = drain_plan(pods, budgets, report.name, gatherer.reach(report.name))
    # The other pods are evicted one after the other.
    kept = {reference(pod) for pod in pods if Evictions(budgets).refused(pod) is not None}
    # The pods of other nodes were not read.
    held = (replace(one, unready=None) for one in plan.unmoved if one.hold is not None and one.pod in kept)
    return replace(report, unread=unread, held=tuple(held))


def _with_shortage(report: NodePressureReport, gatherer: Gatherer) -> NodePressureReport:
    """The report with the last OOM kill in the events about the node."""
    events = gatherer.node_events(report.name)
    if isinstance(events, UnreadInput):
        return replace(report, unread=tuple(dict.fromkeys((*report.unread, events))))
    return replace(report, shortage=node_shortages(events, gatherer.source.now).get(report.name))


def _with_ended(report: NodePressureReport, gatherer: Gatherer) -> NodePressureReport:
    """The report with the ends on the node in the last hour, if they can be read."""
    # Loaded for a single node.
    from kubectl_plugin.gather.ends import HOUR, Ends
    from kubectl_plugin.reports.end_report import ended_pods

    now = gatherer.source.now
    if now is None:
        return report
    try:
        ended = tuple(ended_pods(Ends(gatherer).on_node(report.name, now - HOUR)))
    except (Forbidden, NotServed, NotCaptured):
        return report
    return replace(report, ended=ended)


def _of_chosen(options: NodeOptions, source: RememberedSource) -> Iterator[NodePressureReport]:
    """The reports of the selected nodes. Without a selection, all pods are read in one request."""
    from kubectl_plugin.gather.targets import ObjectQuery, find

    nodes = cast("Sequence[Node]", find(ObjectQuery(NODES), options.selection, source, live=options.cluster.live))
    gatherer = Gatherer(source)
    pods = _pods_of(nodes, gatherer, everywhere=not options.selection.flags)
    if pods is not None:
        source.know(nodes, pods)
    for report in pressure_reports(gatherer, nodes, cgroups=not options.output.brief):
        yield _with_shortage(report, gatherer) if len(nodes) == 1 else report


def _pods_of(nodes: Sequence[Node], gatherer: Gatherer, *, everywhere: bool) -> Sequence[Pod] | None:
    """The pods of some nodes; all pods in one request if all nodes are requested. None: they cannot be read."""
    if everywhere:
        return read_or_none(gatherer.list(PODS))
    found: list[Pod] = []
    for node in nodes:
        own = gatherer.noted(gatherer.pods_on(node.metadata.name))
        if own is None:
            return None
        found += own
    return found


def _named(options: NodeOptions) -> list[str]:
    """The names in ``NAME …``, ``node/NAME …`` or ``node NAME …``."""
    words = options.nodes
    if len(words) > 1 and find_kind(words[0], [NODES]) is not None:
        words = words[1:]
    # A node that is typed twice counts once.
    return list(dict.fromkeys(map(_name, words)))


def _name(word: str) -> str:
    from kubectl_plugin.gather.targets import is_namespace_of_pod, namespace_in_front

    kind, slash, name = word.partition("/")
    if slash and name and find_kind(kind) is None and is_namespace_of_pod(kind):
        raise namespace_in_front(word, "explain")
    if slash and (find_kind(kind, [NODES]) is None or not name):
        raise UsageError(f'"{word}" is not the name of a node', advice="Write a node's name, or node/NAME")
    return name if slash else word
