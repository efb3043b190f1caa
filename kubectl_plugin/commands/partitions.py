"""``kubectl qos partitions``: nodes that do not answer, and the objects that depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from cluster_io.errors import NotCaptured
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PODS
from cluster_io.safety_facts import partition_facts
from cluster_io.source import Source
from kubectl_plugin.changes import present
from kubectl_plugin.exit_codes import certainty
from kubectl_plugin.options import Output, Streams
from kubectl_plugin.options.cluster_commands import PartitionsOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.reports.node.node_report import PartitionsReport, not_ready
from podrules.api.model.pod import Pod
from podrules.pod.versions import version_notes
from podrules.silent_node.partitions import partitions

if TYPE_CHECKING:
    from kubectl_plugin.render.page import Page

_LONGEST: Final = 6000
"""The longest address that a proxy before the API server may accept."""


def run(options: PartitionsOptions, source: Source, streams: Streams) -> int:
    """List the nodes that do not answer.

    Raises:
        ClusterError: the nodes cannot be read.
    """
    if options.watch is not None:
        from kubectl_plugin.watch import NodeHealth, WatchedObjects, watch

        return watch(options, source, streams, run, [WatchedObjects(NODES, None, model=NodeHealth)])
    gatherer = Gatherer(source)
    try:
        nodes = source.list(NODES)
    except NotCaptured:
        nodes = gatherer.noted(gatherer.list(NODES)) or ()
    now = present(source)
    # A live cluster may have too many pods to read while a user waits: only pods that name no existing node count.
    elsewhere = ",".join(f"spec.nodeName!={name}" for name in ("", *(node.metadata.name for node in nodes)))
    at_hand: Sequence[Pod] = ()
    if not source.side_by_side:
        at_hand = gatherer.noted(gatherer.list(PODS)) or ()
    elif nodes and len(elsewhere) < _LONGEST:
        at_hand = gatherer.noted(gatherer.list(PODS, field_selector=elsewhere)) or ()
    facts = partition_facts(gatherer, nodes, now, at_hand)
    down = partitions(facts, now)
    unready = not_ready(nodes, down)
    judged = {*unready, *(one.reach.name for one in down)}
    report = PartitionsReport(
        source=source.description,
        rules_version=gatherer.versions.rules_version,
        server_version=gatherer.versions.server_version,
        at=now,
        nodes_total=len(nodes),
        nodes=down,
        not_ready=unready,
        version_notes=version_notes(gatherer.versions, [node for node in nodes if node.metadata.name in judged]),
        unread=gatherer.unread,
    )
    printer = Printer(options.output, streams, colour=options.colour, target=options.cluster.target(), source=source)
    printer.add(report, [f"node/{node.reach.name}" for node in report.nodes], partial(_pages, report, options.output))
    printer.finish()
    return certainty([report])


def _pages(report: PartitionsReport, output: Output) -> Sequence[Page]:
    from kubectl_plugin.views.node.partitions import partitions_pages

    return partitions_pages(report, wide=output.wide)
