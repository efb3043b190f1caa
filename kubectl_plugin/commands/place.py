"""``kubectl qos place``: where future pods would be placed, on the current or a changed cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from cluster_io.errors import ManifestError
from cluster_io.gather import Gatherer
from cluster_io.manifests.text import advice_for
from cluster_io.source import Source, remembered
from kubectl_plugin.exit_codes import NO_PLACE, NOT_CERTAIN, REFUSED, certainty, print_error, warn
from kubectl_plugin.gather.manifest_files import read_files
from kubectl_plugin.gather.manifest_objects import joined
from kubectl_plugin.gather.plan_report import FilesToPlace, Planner
from kubectl_plugin.gather.pods_to_place import more_of
from kubectl_plugin.options import Streams, Validation
from kubectl_plugin.options.pod_commands import PlaceOptions
from kubectl_plugin.printing import Printer
from kubectl_plugin.reports.plan import PlanReport

if TYPE_CHECKING:
    from kubectl_plugin.render.page import Page


def run(options: PlaceOptions, source: Source, streams: Streams) -> int:
    """Place all requested pods, and print the result; the exit code shows whether all of them have a place.

    Raises:
        ClusterError: required data cannot be read, or an object does not exist.
    """
    source = remembered(source)
    gatherer = Gatherer(source)
    more = more_of(options.targets, source, live=options.cluster.live, replicas=options.replicas)
    files = _read_files(options, gatherer, streams)
    report = Planner(options, gatherer).report(files, more)
    printer = Printer(
        options.output,
        streams,
        colour=options.colour,
        target=options.cluster.target(options.scheduler_config),
        source=source,
    )
    folded = streams.out.isatty() and not options.output.wide
    names = [*(spec.name for spec in report.specs), *(entry.name for entry in report.refused)]
    printer.add(report, names, partial(_pages, report, wide=options.output.wide, folded=folded))
    printer.finish()
    if files.incomplete or any(entry.by_api_server for entry in report.refused):
        return REFUSED
    return NO_PLACE if report.fits is False else certainty([report]) or (0 if report.fits else NOT_CERTAIN)


def _pages(report: PlanReport, *, wide: bool, folded: bool) -> Iterator[Page]:
    from kubectl_plugin.views.scheduling.plan import plan_page

    yield plan_page(report, wide=wide, folded=folded)


def _read_files(options: PlaceOptions, gatherer: Gatherer, streams: Streams) -> FilesToPlace:
    """Read all files. Errors are printed on standard error, and give the exit code.

    Raises:
        ManifestError: nothing to place.
    """
    # With a dry run, the API server checks unknown fields itself.
    local = Validation.IGNORE if options.dry_run else options.validation
    files = read_files(options.files, gatherer, local, streams.stdin)
    manifests = tuple(manifest for file in files for manifest in file.manifests)
    if options.dry_run:
        from kubectl_plugin.gather.dry_run import with_dry_runs

        manifests = tuple(with_dry_runs(manifests, gatherer, options.cluster, options.validation))
    errors: list[ManifestError] = []
    for file in files:
        errors += file.errors
        nothing = file.nothing("place")
        # A file may have only what the pods of a target or of another file need.
        if nothing is not None and not (file.read_with and (options.targets or manifests)):
            errors.append(nothing)
        warn(file.warnings, streams.err)
    for error in errors:
        error.advice = advice_for(error.advice, "place")
    for error in errors if manifests else errors[:-1]:
        print_error(error, streams.err, options.cluster.target())
    if errors and not manifests:
        raise errors[-1]
    return FilesToPlace(manifests, joined([file.objects for file in files]), bool(errors))
