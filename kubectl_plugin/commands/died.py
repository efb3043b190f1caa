"""``kubectl qos died``: reads the evidence of how pods ended, and prints a verdict for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cluster_io.errors import ClusterError, NotFound, Unreachable, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import NODES, PODS
from cluster_io.source import Source, remembered
from kubectl_plugin.exit_codes import NOT_CERTAIN, NOTHING_LEFT, print_error
from kubectl_plugin.gather.ends import HOUR, Ends
from kubectl_plugin.gather.targets import ObjectQuery, find, targets_of
from kubectl_plugin.options import NO_SELECTION, Streams
from kubectl_plugin.options.pod_commands import DiedOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.reports.end_report import EndReport
from podrules.ending.died.cause import Grade
from podrules.ending.died.evidence import MissingEvidence
from podrules.ending.died.of_pod import EndOf

if TYPE_CHECKING:
    from kubectl_plugin.render.page import Page


def run(options: DiedOptions, source: Source, streams: Streams) -> int:
    """Report on all targets. Errors give the exit code first, then the least certain verdict."""
    targets = targets_of(options.targets, NO_SELECTION, verb="examined")
    source = remembered(source)
    ends = Ends(Gatherer(source))
    printer = Printer(options.output, streams, colour=options.colour, target=options.cluster.target(), source=source)
    code, reports = 0, []
    alone = len(targets) == 1 and targets[0].kind is PODS and bool(targets[0].name)
    for found in _found(ends, targets, options, source):
        if isinstance(found, ClusterError):
            own = print_error(found, streams.err, options.cluster.target())
            code = code or own
        else:
            reports.append(found)
    lacks = () if alone else ends.lacks
    _show(reports, options, source, printer, ends, alone=alone, failed=bool(code))
    printer.finish(as_list=not alone)
    return code or max(map(_code, reports), default=0) or (NOT_CERTAIN if lacks else 0)


def _show(
    reports: Sequence[EndReport],
    options: DiedOptions,
    source: Source,
    printer: Printer,
    ends: Ends,
    *,
    alone: bool,
    failed: bool,
) -> None:
    """A page for the one named target, or for each; else a table of all."""
    if reports and (alone or options.output.whole):
        for report in reports:
            printer.add(report, [f"pod/{report.name}"], partial(_pages, report, source.now, wide=options.output.wide))
        return
    for report in reports:
        printer.add(report, [f"pod/{report.name}"])
    if options.output.in_words and (reports or not failed):
        from kubectl_plugin.views.died.table import ends_page

        since = None if alone else _since(options, named=bool(options.targets))
        lacks = () if alone else ends.lacks
        every = options.every or options.output.format != "table"
        printer.show(ends_page(reports, source.now, since=since, lacks=lacks, gone_nodes=ends.gone_nodes, every=every))


def _since(options: DiedOptions, *, named: bool) -> timedelta | None:
    """The longest time since an end that counts; None: any time, for named targets."""
    if options.since is not None:
        return timedelta(seconds=options.since)
    return None if named else HOUR


def _code(report: EndReport) -> int:
    end = report.end
    if end.of is EndOf.NOTHING or end.verdict.grade is Grade.CERTAIN:
        return 0
    return NOTHING_LEFT if end.verdict.grade is Grade.NOTHING and not end.is_unknown else NOT_CERTAIN


def _pages(report: EndReport, now: datetime | None, *, wide: bool) -> Iterator[Page]:
    from kubectl_plugin.views.died.page import end_page

    yield end_page(report, now, wide=wide)


def _found(
    ends: Ends, targets: Sequence[ObjectQuery], options: DiedOptions, source: Source
) -> Iterator[EndReport | ClusterError]:
    since = _since(options, named=any(one.name for one in targets))
    after = None if since is None or source.now is None else source.now - since
    if not targets:
        yield from ends.everywhere(None if options.everywhere else source.namespace, after)
        return
    for asked in targets:
        try:
            if asked.kind is PODS and asked.name:
                report = ends.named(asked.name, source.namespace)
                verdict = report.end.verdict
                known = report.exists or report.node or verdict.clues or verdict.grade is not Grade.NOTHING
                yield report if known else _unknown(asked, report, source)
            elif asked.kind is PODS:
                yield from ends.everywhere(source.namespace, after)
            elif asked.kind is NODES and asked.name:
                yield from ends.on_node(asked.name, after)
            elif asked.kind is NODES:
                yield UsageError("died nodes: no node is named", advice="Name one, e.g. node/node-1, or use -A for all")
            else:
                yield from ends.of_workload(asked, after)
        except Unreachable:
            raise
        except ClusterError as error:
            yield error


def _unknown(asked: ObjectQuery, report: EndReport, source: Source) -> EndReport | NotFound:
    """The error for a name that no object and no event has; the report, with a hint, if not all could be read."""
    try:
        find(asked, NO_SELECTION, source, live=source.side_by_side, command="died")
    except NotFound as error:
        if {MissingEvidence.POD_UNREAD, MissingEvidence.EVENTS_UNREAD}.intersection(report.end.lost):
            return replace(report, hint=error.advice)
        error.message += ": no object or event names it"
        error.advice = error.advice or "Events expire after about an hour: search your logs for the name"
        return error
    return report
