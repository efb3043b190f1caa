"""``kubectl qos report``: a cluster as an HTML page, text or data, with the changes since an earlier report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from cluster_io.errors import ClusterError, Unreachable, UsageError
from cluster_io.kinds import CSI_DRIVERS, EVENTS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, WORKLOADS
from cluster_io.manifests.whole_file import write_whole
from cluster_io.source import Source
from kubectl_plugin.exit_codes import REFUSED, certainty, print_error, warn
from kubectl_plugin.gather.manifest_objects import joined
from kubectl_plugin.gather.object_reports import ReportBuilder
from kubectl_plugin.gather.overview import Overview, overview, read_previous_report, scope_of
from kubectl_plugin.html.document import FullExplanations, document
from kubectl_plugin.options import STANDARD_OUTPUT, Output, Streams
from kubectl_plugin.options.cluster_commands import ReportOptions
from kubectl_plugin.options.pod_commands import ExplainOptions
from kubectl_plugin.printing import Printer, without_missing_objects
from kubectl_plugin.render.page import Page
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport, PodKey
from kubectl_plugin.reports.cluster.cluster_report import cluster_report, pod_key
from kubectl_plugin.reports.cluster.compare import EarlierReport, cluster_changes
from kubectl_plugin.reports.node.node_pressure import node_pressure_report
from kubectl_plugin.reports.node.node_report import node_report
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.pod.pod_risk import PodRisk, may_have_no_place
from kubectl_plugin.views.cluster.cluster_page import findings, report_verdict, summary_page, written_page
from kubectl_plugin.views.node.node_pressure import node_pressure_page
from kubectl_plugin.views.pod.pod_page import pod_page
from podrules.api.names import is_plain_name
from podrules.ending.stuck import may_be_stuck
from podrules.node.pressure.node import node_pressure
from podrules.node.pressure.usage import NO_USAGE, ReadUsage
from podrules.pod.reading import UnreadInput
from podrules.scheduling.placement.outcome import ClaimProblem, PlacementOutcome

MAX_EXPLAINED: Final = 300
"""How many pods have a full explanation in the page; if there are more, pods with problems come first."""
_MAX_NODES: Final = 60
"""The same for nodes."""
_NOT_READ: Final = ReadUsage(NO_USAGE, None, ())
_DECISIVE: Final = frozenset({"nodes", "pods", "poddisruptionbudgets.policy"})
"""Kinds without which the report lacks findings."""
_OF_WORKLOADS: Final = frozenset(
    kind.rbac_name for kind in (*WORKLOADS, EVENTS, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, CSI_DRIVERS)
)
"""Kinds that show workloads without pods or with two writers, if a report finds nothing else."""
_RISKS: Final = {risk: place for place, risk in enumerate(PodRisk)}


def run(options: ReportOptions, source: Source, streams: Streams) -> int:
    """Write the report.

    Raises:
        ClusterError: the pods cannot be read, or the file cannot be written.
    """
    earlier = read_previous_report(options.compare) if options.compare is not None else None
    scope = scope_of(options.targets, everything=options.everything, selection=options.selection)
    read = overview(scope, source, live=options.cluster.live)
    explaining = ExplainOptions(
        targets=(),
        files=options.files,
        output=Output(),
        colour=False,
        cluster=options.cluster,
        scheduler_config=options.scheduler_config,
    )
    reporter = ReportBuilder(read.gatherer, explaining)
    awaited = frozenset(pod_key(pod) for pod in read.pods if reporter.preemption_under_way(pod))
    decisive = _DECISIVE | {"events"} if any(may_be_stuck(pod, read.facts.at) for pod in read.pods) else _DECISIVE
    lacks = [one for one in read.facts.unread if one.may_exist and one.resource in decisive]
    outcomes, claims, missing = _outcomes(read, reporter)
    disabled = reporter.preemption_disabled()
    facts = replace(
        read.facts,
        awaited=awaited,
        outcomes=outcomes,
        claims=claims,
        preemption_disabled=disabled,
        # With --cluster, the server differs from the context's.
        origin=replace(read.facts.origin, server=None) if options.cluster.cluster else read.facts.origin,
    )
    report = cluster_report(facts)
    if facts.workloads is not None and not findings(report):
        lacks += [one for one in facts.unread if one.may_exist and one.resource in _OF_WORKLOADS]
    report = replace(report, lacks=tuple(dict.fromkeys((*lacks, *missing))))
    if earlier is not None:
        report = _compared(earlier, report)
    target = options.cluster.target(options.scheduler_config)
    if options.path is None:
        printer = Printer(options.output, streams, colour=options.colour, target=target, source=read.source)
        wide = options.output.wide
        printer.add(report, pages=lambda: [summary_page(report, wide=wide)], verdict=report_verdict(report))
        printer.finish()
        return certainty([report])
    manifests, code = _manifests(options, reporter, read, streams)
    explained = FullExplanations(
        nodes=dict(_node_pages(read, report)), pods=dict(_pod_pages(read, report, reporter)), manifests=tuple(manifests)
    )
    text = document(report, explained, target).encode()
    code = code or certainty([report])
    if options.path == STANDARD_OUTPUT:
        streams.out.write(text.decode())
        return code
    write_whole(Path(options.path), [text])
    from kubectl_plugin.render.text import render_page

    page = written_page(report, options.path, len(text), len(explained.pods))
    streams.out.write(render_page(page, colour=options.colour, target=target, width=streams.width()))
    return code


def _compared(earlier: EarlierReport, report: ClusterReport) -> ClusterReport:
    """The report with the changes since the earlier one.

    Raises:
        UsageError: the reports cover different pods.
    """
    if earlier.scope != report.scope:
        # The texts of an earlier report are untrusted.
        kind, _, namespace = earlier.scope.partition(" ")
        option = "" if earlier.scope else "-A"
        if kind == "namespace" and is_plain_name(namespace):
            option = f"-n {namespace}"
        before, now = (scope or "all namespaces" for scope in (earlier.scope, report.scope))
        raise UsageError(
            f"--compare: the earlier report covers {before}, this one covers {now}",
            advice=f"Ask for the same pods{f': {option}' if option else ''}",
        )
    return replace(report, changes=cluster_changes(earlier, report))


def _outcomes(
    read: Overview, reporter: ReportBuilder
) -> tuple[Mapping[PodKey, PlacementOutcome], Mapping[PodKey, ClaimProblem], Sequence[UnreadInput]]:
    """The placements of pods that wait for a node, the claims they wait for, and unread data that may change them.

    If there are many, only the pods that have waited longest are placed.
    """
    outcomes: dict[PodKey, PlacementOutcome] = {}
    claims: dict[PodKey, ClaimProblem] = {}
    lacks: list[UnreadInput] = []
    waiting = sorted(filter(may_have_no_place, read.pods), key=lambda pod: pod.metadata.creation_timestamp or "")
    for number, pod in enumerate(waiting):
        outcome = PlacementOutcome.NOT_MODELLED if reporter.not_modelled(pod) else None
        if outcome is None and number < MAX_EXPLAINED:
            likely = reporter.placement(pod)
            if likely.placement is not None and likely.placement.proven:
                outcome = likely.placement.outcome
                bound = likely.placement.binding
                outcome = PlacementOutcome.NAMED if bound is not None and bound.late else outcome
                claims |= {pod_key(pod): one for one in (bound.claims[:1] if bound is not None else ())}
            elif likely.placement is not None:
                lacks += likely.placement.assumed or likely.unread
        if outcome is not None and outcome is not PlacementOutcome.UNKNOWN:
            outcomes[pod_key(pod)] = outcome
    for pod in read.pods:
        likely = reporter.waiting(pod)
        lacks += likely.unread
        if likely.placement is not None:
            outcomes[pod_key(pod)] = likely.placement.outcome
            claims |= {pod_key(pod): one for one in likely.placement.claims[:1]}
    return outcomes, claims, lacks


def _manifests(
    options: ReportOptions, reporter: ReportBuilder, read: Overview, streams: Streams
) -> tuple[Sequence[Page], int]:
    """The pods of files, and the exit code of the first file that cannot be read or is refused."""
    pages: list[Page] = []
    code = 0
    if not options.files:
        return pages, code
    # Loaded only for manifests.
    from kubectl_plugin.gather.manifest_files import read_files

    files = read_files(options.files, read.gatherer, options.validation, streams.stdin)
    objects = joined([file.objects for file in files])
    for file in files:
        for error in file.errors:
            own = print_error(error, streams.err, options.cluster.target())
            code = code or own
        warn(file.warnings, streams.err)
        for manifest in file.manifests:
            answer = reporter.manifest(manifest, objects)
            code = code or (REFUSED if answer.refused else 0)
            pages.append(pod_page(answer, now=read.facts.at, wide=True))
    return pages, code


def _pod_pages(
    read: Overview, report: ClusterReport, reporter: ReportBuilder
) -> Iterator[tuple[tuple[str, str], Page]]:
    """The explanations of all pods if there are few, else of the pods with a problem."""
    last = len(_RISKS)
    entries = sorted(report.pods, key=lambda entry: last if entry.risk is None else _RISKS[entry.risk])
    if len(entries) > MAX_EXPLAINED:
        entries = [entry for entry in entries if entry.risk is not None][:MAX_EXPLAINED]
    wanted = {entry.key for entry in entries}
    for pod in read.pods:
        key = pod.metadata.namespace, pod.metadata.name
        if key not in wanted:
            continue
        try:
            explained = reporter.report(pod, PODS, named=True)
        except Unreachable:
            raise
        except ClusterError:
            continue  # Required data cannot be read: the page has the numbers, and the command to run.
        if isinstance(explained, PodReport):
            yield key, without_missing_objects(pod_page(explained, now=read.facts.at, wide=True), read.source)


def _node_pages(read: Overview, report: ClusterReport) -> Iterator[tuple[str, Page]]:
    if len(report.nodes) > _MAX_NODES:
        return
    facts, versions = read.facts, read.facts.versions
    shown = {entry.name for entry in report.nodes}
    for node in facts.nodes:
        name = node.metadata.name
        if name not in shown:
            continue
        pods, usage = read.gatherer.noted(read.gatherer.pods_on(name)) or (), facts.usages.get(name)
        promised = node_report(
            node,
            pods,
            nominated=read.gatherer.nominated_to(name),
            reach=read.gatherer.reach(name, of_many=True),
            source=facts.source,
            versions=versions,
            events=facts.node_events.get(name, ()),
            now=facts.at,
            unread=(),
        )
        known = usage or _NOT_READ
        pressure = node_pressure(node, pods, known.usage, known.config, features=versions.kubelet(node, known.config))
        one = node_pressure_report(node, pods, known.usage, pressure, promised, versions=versions, unread=known.unread)
        yield name, without_missing_objects(node_pressure_page(one, now=facts.at, wide=True), read.source)
