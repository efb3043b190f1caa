"""``kubectl qos node``: who goes first on a node under pressure, and how far it is from there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from kubectl_plugin.commands.node_pressure import pressure_report
from kubectl_plugin.exit_codes import tell
from kubectl_plugin.options import NodeOptions, Streams
from kubectl_plugin.printing import Printer
from kubectl_plugin.reports.node_pressure import NodePressureReport
from podrules.cluster.errors import ClusterError, Unreachable, UsageError
from podrules.cluster.gather import Gatherer
from podrules.cluster.kinds import NODES, find_kind
from podrules.cluster.source import Source

if TYPE_CHECKING:
    from kubectl_plugin.render.page import Page

__all__ = ["run"]


def run(options: NodeOptions, source: Source, streams: Streams) -> int:
    """Report on every node that was named; the first thing that went wrong gives the exit code.

    Raises:
        UsageError: something else than a node was named.
        Unreachable: the cluster does not answer.
    """
    if options.watch is not None:
        from kubectl_plugin.commands.watching import Watched, watch

        return watch(options, source, streams, run, [Watched(NODES, None, name) for name in _named(options) or [""]])
    code = 0
    printer = Printer(options.output, streams, colour=options.colour, target=options.cluster.target(), source=source)
    names = _named(options) or _chosen(options, source)
    if not names and (options.output.in_words or options.output.format == "name"):
        streams.err.write("No resources found.\n")
    for answer in _reports(names, source):
        if isinstance(answer, ClusterError):
            told = tell(answer, streams.err, options.cluster.target())
            code = code or told
            continue
        pages = partial(_pages, answer, source.now, wide=options.output.wide)
        printer.add(answer, [f"node/{answer.name}"], pages)
    printer.finish(as_list=len(options.nodes) != 1)
    return code


def _pages(report: NodePressureReport, now: datetime | None, *, wide: bool) -> Iterator[Page]:
    from kubectl_plugin.views.node_pressure import node_pressure_page

    yield node_pressure_page(report, now=now, wide=wide)


def _reports(names: list[str], source: Source) -> Iterator[NodePressureReport | ClusterError]:
    for name in names:
        try:
            yield _report(name, source)
        except Unreachable:
            raise
        except ClusterError as error:
            yield error


def _named(options: NodeOptions) -> list[str]:
    """The names in ``NAME …``, ``node/NAME …`` or ``node NAME …``."""
    words = options.nodes
    if len(words) > 1 and find_kind(words[0], [NODES]) is not None:
        words = words[1:]
    return [_name(word) for word in words]


def _name(word: str) -> str:
    kind, slash, name = word.partition("/")
    if slash and (find_kind(kind, [NODES]) is None or not name):
        raise UsageError(f'"{word}": no node', advice="Write a node's name, or node/NAME")
    return name if slash else word


def _chosen(options: NodeOptions, source: Source) -> list[str]:
    """The names of the nodes that a selection leaves."""
    from kubectl_plugin.commands.targets import Asked, find

    found = find(Asked(NODES), options.selection, source, live=options.cluster.live)
    return [node.metadata.name for node in found]


def _report(name: str, source: Source) -> NodePressureReport:
    return pressure_report(Gatherer(source), source.get(NODES, name))
