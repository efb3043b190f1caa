"""``kubectl qos explain``: reads targets and files, and prints a report of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cluster_io.errors import ClusterError, Unreachable, UsageError
from cluster_io.gather import Gatherer
from cluster_io.in_memory import NothingSource
from cluster_io.kinds import NODES, RELATED
from cluster_io.source import Source, remembered
from kubectl_plugin.exit_codes import REFUSED, certainty, print_error, warn
from kubectl_plugin.gather.manifest_objects import joined
from kubectl_plugin.gather.manifest_pods import printed_name
from kubectl_plugin.gather.object_reports import Report, ReportBuilder
from kubectl_plugin.gather.targets import ObjectQuery, find, label_selector, namespace_hint, targets_of
from kubectl_plugin.options import Streams, Validation
from kubectl_plugin.options.pod_commands import ExplainOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.render.command import Command
from kubectl_plugin.render.page import Page
from kubectl_plugin.reports.node.node_report import NodeReport
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.related import RelatedReport
from kubectl_plugin.reports.workload import WorkloadReport
from kubectl_plugin.views.manifest import not_explained
from podrules.api.escape import escape

if TYPE_CHECKING:
    from kubectl_plugin.gather.manifest_pods import PodManifest
    from kubectl_plugin.views.targets import TargetTable


class _Explained(Struct, frozen=True):
    report: Report
    name: str
    """``pod/foo``, as ``-o name`` prints it."""
    title: str = ""
    """The page's name, if it differs from the report's."""
    dry_run_of: str = ""
    """The file of a manifest that could be sent to the API server and was not; empty: none."""


def run(options: ExplainOptions, source: Source, streams: Streams) -> int:
    """Explain all targets and files; the first error gives the exit code."""
    targets = targets_of(options.targets, options.selection)
    if options.watch is not None:
        from kubectl_plugin.watch import WatchedObjects, watch

        place = None if options.selection.everywhere else source.namespace
        watched = [WatchedObjects(one.kind, place, one.name) for one in targets]
        return watch(options, source, streams, partial(_run_once, targets), watched)
    return _run_once(targets, options, source, streams)


def _run_once(targets: Sequence[ObjectQuery], options: ExplainOptions, source: Source, streams: Streams) -> int:
    code = uncertain = 0
    for found in explain(targets, options, source, streams):
        if isinstance(found, ClusterError):
            own = print_error(found, streams.err, options.cluster.target())
            code = code or own
            continue
        if isinstance(found, PodReport) and found.refused:
            code = code or REFUSED
        uncertain = uncertain or certainty([found])
    return code or uncertain


def explain(
    targets: Sequence[ObjectQuery], options: ExplainOptions, source: Source, streams: Streams
) -> Iterator[ClusterError | Report]:
    """Explain targets and files, and continue after an error in one of them.

    Yields:
        The errors, and the reports that were printed.
    """
    source, target = remembered(source), options.cluster.target(options.scheduler_config)
    printer = Printer(options.output, streams, colour=options.colour, target=target, source=source)
    several = sum(bool(one.name) for one in targets) > 1
    alone = len(targets) == 1 and bool(targets[0].name) and not options.files
    # A timeline and --on need pages; else several targets get one line each.
    in_lines = not alone and options.output.brief and options.timeline is None and options.on is None
    lines = _Lines(printer, source.now, everywhere=options.selection.everywhere) if in_lines else None
    # A line shows less than a page: data that only a page shows are not read.
    answers = _answers(targets, options, source, streams, in_lines=lines is not None and several)
    if options.output.wide and not several and not options.files:
        answers = _worst_first(answers, source.now)
    for answer in answers:
        if isinstance(answer, ClusterError):
            yield answer
            continue
        if lines is not None:
            lines.add(answer)
        else:
            _print_page(printer, answer, source.now, wide=options.output.wide)
        yield answer.report
    if lines is not None:
        lines.finish(always=several, by_trouble=not several and not options.files, every=options.every)
    # As in kubectl, the answer is a List even with one object for ``TYPE`` alone, or for several names.
    many = len(targets) > 1 or not targets[0].name or bool(options.files) if targets else len(options.files) > 1
    printer.finish(as_list=many)


def _worst_first(
    answers: Iterable[_Explained | ClusterError], now: datetime | None
) -> Iterator[_Explained | ClusterError]:
    """The errors, then the answers in the order of the table."""
    from kubectl_plugin.views.targets import target_order

    explained = []
    for answer in answers:
        if isinstance(answer, ClusterError):
            yield answer
        else:
            explained.append(answer)
    yield from sorted(explained, key=lambda one: target_order(one.report, one.name, now))


class _Lines:
    """A table with a line for each of several targets; the page of a single one."""

    def __init__(self, printer: Printer, now: datetime | None, *, everywhere: bool) -> None:
        self._printer, self._now, self._everywhere = printer, now, everywhere
        self._first: _Explained | None = None
        self._table: TargetTable | None = None

    def add(self, answer: _Explained) -> None:
        if self._first is None:
            self._first = answer
            return
        self._lay_out(answer)

    def _lay_out(self, answer: _Explained) -> None:
        # Loaded only for several targets.
        from kubectl_plugin.views.targets import TargetTable

        if self._table is None and self._first is not None:
            self._table = TargetTable(self._now, everywhere=self._everywhere)
            self._table.add(self._first.report, self._first.name)
        if self._table is not None and answer is not self._first:
            self._table.add(answer.report, answer.name)

    def finish(self, *, always: bool, by_trouble: bool, every: bool) -> None:
        """Print the table or the page.

        Args:
            always: Print a table even for one target, if others could not be found.
            by_trouble: Objects with problems first, then by name: the order of objects that are not named.
            every: Give each object its row, even in a long list.
        """
        if self._first is None:
            return
        if always:
            self._lay_out(self._first)
        if self._table is not None:
            self._printer.show(self._table.page(by_trouble=by_trouble, every=every))
        else:
            _print_page(self._printer, self._first, self._now, wide=False)


def _print_page(printer: Printer, answer: _Explained, now: datetime | None, *, wide: bool) -> None:
    printer.add(answer.report, [answer.name], partial(_pages, answer, now, wide=wide))


def _answers(
    targets: Sequence[ObjectQuery], options: ExplainOptions, source: Source, streams: Streams, *, in_lines: bool
) -> Iterator[_Explained | ClusterError]:
    # Flags for pods need a pod or a workload.
    given = {"--timeline": options.timeline, "--on": options.on, "--placement": options.placement}
    flag = next((name for name, value in given.items() if value is not None), "")
    if flag and targets and not options.files and all(one.kind in (NODES, *RELATED) for one in targets):
        name, what = targets[0].name or "NAME", targets[0].kind.singular
        raise UsageError(
            f"{flag} is for pods and workloads, and {what}/{name} is a {what}",
            advice=f"Leave {flag} out, or name pod/NAME",
        )
    label_selector(options.selection.labels)
    gatherer = Gatherer(source)
    reporter = ReportBuilder(gatherer, options)
    yield from _files(options, gatherer, reporter, streams)
    for asked in targets:
        try:
            found = find(asked, options.selection, source, live=options.cluster.live)
            for entry in found:
                report = reporter.report(entry, asked.kind, named=bool(asked.name), in_line=in_lines)
                yield _Explained(report, printed_name(asked.kind, entry.metadata.name))
            if not found and not options.output.is_data:
                one_place = asked.kind.namespaced and not options.selection.everywhere
                place = f" in {source.namespace} namespace" if one_place else ""
                file = " of the file" if source.is_plain_list else ""
                streams.err.write(f"No resources found{escape(place)}{file}.\n")
                if place and (hint := namespace_hint(source)):
                    streams.err.write(f"{escape(hint)}\n")
        except Unreachable:
            raise
        except ClusterError as error:
            yield error


def _files(
    options: ExplainOptions, gatherer: Gatherer, reporter: ReportBuilder, streams: Streams
) -> Iterator[_Explained | ClusterError]:
    """Explain the pods and workloads of files, with the other objects of all files."""
    if not options.files:
        return
    from kubectl_plugin.gather.manifest_files import read_files

    # With a dry run, the API server checks unknown fields itself.
    local = Validation.IGNORE if options.dry_run else options.validation
    files = read_files(options.files, gatherer, local, streams.stdin)
    objects = joined([file.objects for file in files])
    explained = any(file.manifests for file in files)
    ignored: list[tuple[str, str]] = []
    read_with: list[tuple[str, str]] = []
    for path, file in zip(options.files, files, strict=True):
        yield from file.errors
        warn(file.warnings, streams.err)
        asks_none = options.dry_run or path == "-" or isinstance(gatherer.source, NothingSource)
        could_ask = options.cluster.live and not asks_none
        manifests: Sequence[PodManifest] = file.manifests
        if options.dry_run:
            from kubectl_plugin.gather.dry_run import with_dry_runs

            manifests = with_dry_runs(manifests, gatherer, options.cluster, options.validation)
        for manifest in manifests:
            report = reporter.manifest(manifest, objects)
            yield _Explained(report, manifest.name, file.title(manifest), path if could_ask else "")
        nothing = file.nothing("explain")
        if nothing is not None and not (explained and file.read_with):
            yield nothing
        elif explained:
            ignored += file.ignored
            read_with += file.read_with
    if (ignored or read_with) and options.output.in_words:
        streams.err.write(f"{escape(not_explained(ignored, read_with))}\n")


def _pages(answer: _Explained, now: datetime | None, *, wide: bool) -> Iterator[Page]:
    page = _page(answer.report, now, wide=wide)
    if answer.dry_run_of:
        ask = Command(("kubectl", "qos", "explain", "-f", answer.dry_run_of), options=("--dry-run=server",))
        page = replace(page, next_commands=(*page.next_commands, ask))
    yield replace(page, title=answer.title) if answer.title else page


def _page(report: Report, now: datetime | None, *, wide: bool) -> Page:
    pod = report.template if isinstance(report, WorkloadReport) else report
    if isinstance(pod, PodReport) and pod.timeline is not None:
        from kubectl_plugin.views.pod.timeline import timeline_page
        from kubectl_plugin.views.workload import next_pod_title

        title = next_pod_title(report) if isinstance(report, WorkloadReport) else ""
        return timeline_page(pod, pod.timeline, now=now, title=title)
    if isinstance(report, PodReport):
        from kubectl_plugin.views.pod.pod_page import pod_page

        return pod_page(report, now=now, wide=wide)
    if isinstance(report, NodeReport):
        from kubectl_plugin.views.node.node_page import node_page

        return node_page(report, now=now, wide=wide)
    if isinstance(report, RelatedReport):
        from kubectl_plugin.views.related import related_page

        return related_page(report, now=now, wide=wide)
    from kubectl_plugin.views.workload import workload_page

    return workload_page(report, now=now, wide=wide)
