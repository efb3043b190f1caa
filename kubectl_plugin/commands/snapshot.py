"""``kubectl qos snapshot``: writes the data that the rules need from a cluster to a file."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from msgspec.structs import replace

from cluster_io.capture.contents import contents
from cluster_io.capture.file import CapturedKind, Header, snapshot_parts
from cluster_io.errors import Forbidden, ManifestError, UsageError
from cluster_io.gather import Gatherer
from cluster_io.kinds import OF_OUR_WEBHOOK, PODS
from cluster_io.manifests.whole_file import write_whole
from cluster_io.source import Source
from kubectl_plugin.options import STANDARD_OUTPUT, Streams
from kubectl_plugin.options.cluster_commands import SnapshotOptions
from kubectl_plugin.reports.cluster.snapshot import SnapshotKind, SnapshotReport
from podrules import __version__
from podrules.api.model.pod import Pod

_FORBIDDEN = "forbidden"


def run(options: SnapshotOptions, source: Source, streams: Streams) -> int:
    """Read everything, write the file, and print its content.

    Raises:
        ClusterError: nothing can be read, or the file cannot be written.
    """
    from kubectl_plugin.render.command import Target
    from kubectl_plugin.render.text import render_page
    from kubectl_plugin.render.width import text_columns
    from kubectl_plugin.views.cluster.snapshot import snapshot_page

    to_stdout = options.path == STANDARD_OUTPUT
    if to_stdout and streams.out.isatty():
        raise UsageError(
            "-o -: a snapshot is not text for a terminal", advice="Pipe it on, or name a file: -o cluster.qos"
        )
    report, parts = _capture(options, source)
    if to_stdout:
        _write_to_stdout(parts, streams)
        # The summary goes to the stream without the bytes. A reader of the bytes has no file name for commands.
        page = replace(snapshot_page(report), next_commands=())
        streams.err.write(render_page(page, colour=False, target=Target(), width=text_columns(streams.err)))
        return 0
    write_whole(Path(options.path), parts)
    # The suggested commands read the written file.
    written = Target(source=(("--snapshot", options.path),), live=False)
    page = snapshot_page(report)
    streams.out.write(render_page(page, colour=options.colour, target=written, width=streams.width()))
    return 0


def _write_to_stdout(parts: Sequence[bytes], streams: Streams) -> None:
    out = streams.out
    if not isinstance(out, TextIOWrapper):
        raise TypeError("standard output does not accept bytes")
    out.flush()
    out.buffer.writelines(parts)
    out.buffer.flush()


def _capture(options: SnapshotOptions, source: Source) -> tuple[SnapshotReport, Sequence[bytes]]:
    """The summary of a snapshot, and the content of the file."""
    now = source.now
    if now is None or source.is_plain_list:
        raise ManifestError(
            f"{source.description} has no capture time, and does not list what is missing in it",
            advice="Capture the cluster (leave --snapshot out), or name a file that `kubectl qos snapshot` wrote",
        )
    found = contents(source, options.scheduler_config)
    if all(entry.not_captured == _FORBIDDEN for entry in found if not entry.kind.namespaced or entry.kind is PODS):
        raise Forbidden("list", PODS, None, "")
    pods = [pod for entry in found if entry.kind is PODS for pod in entry.objects if isinstance(pod, Pod)]
    schedulers = tuple(Gatherer(source).schedulers(pods))
    namespace = source.namespace
    if options.anonymise:
        from cluster_io.capture.anonymise import Anonymiser

        anonymiser = Anonymiser(secrets.token_bytes(32))
        found, namespace = anonymiser.contents(found), anonymiser.text(namespace)
    header = Header(
        captured_at=now,
        captured_by=__version__,
        server_version=source.git_version,
        namespace=namespace,
        anonymised=options.anonymise,
        kinds=tuple(
            CapturedKind(entry.kind.captured_as, len(entry.objects), entry.not_captured, entry.only) for entry in found
        ),
        emulates=source.emulates,
        schedulers=schedulers,
    )
    parts = snapshot_parts(header, {entry.kind.captured_as: (entry.kind, entry.objects) for entry in found})
    report = SnapshotReport(
        path="standard output" if options.path == STANDARD_OUTPUT else options.path,
        size=sum(map(len, parts)),
        source=source.description,
        server_version=source.git_version,
        captured_at=now,
        anonymised=options.anonymise,
        kinds=tuple(
            SnapshotKind(entry.kind.captured_as, len(entry.objects), entry.not_captured)
            for entry in found
            # Other webhooks are left out of the file.
            if entry.objects or entry.not_captured or entry.kind not in OF_OUR_WEBHOOK
        ),
    )
    return report, parts
