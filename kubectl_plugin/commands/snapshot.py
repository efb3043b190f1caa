"""``kubectl qos snapshot``: what the rules need of a cluster, in a file."""

from __future__ import annotations

import secrets

from kubectl_plugin.options import SnapshotOptions, Streams
from kubectl_plugin.reports.snapshot import SnapshotKind, SnapshotReport
from podrules import __version__
from podrules.cluster.capture.contents import contents
from podrules.cluster.capture.file import Captured, Header, write_snapshot
from podrules.cluster.errors import Forbidden, UsageError
from podrules.cluster.kinds import PODS
from podrules.cluster.source import Source

__all__ = ["run"]

_FORBIDDEN = "forbidden"


def run(options: SnapshotOptions, source: Source, streams: Streams) -> int:
    """Read everything, write it, and say what is in it.

    Raises:
        ClusterError: nothing can be read, or the file cannot be written.
    """
    from kubectl_plugin.render.command import Target
    from kubectl_plugin.render.text import render_page
    from kubectl_plugin.views.snapshot import snapshot_page

    report = _capture(options, source)
    # What it suggests asks the file that was written, wherever that came from.
    written = Target(source=(("--snapshot", options.path),), live=False)
    streams.out.write(render_page(snapshot_page(report), colour=options.colour, target=written))
    return 0


def _capture(options: SnapshotOptions, source: Source) -> SnapshotReport:
    now = source.now
    if now is None:
        raise UsageError(
            f"{source.description} does not tell when it was captured, nor what is missing in it; "
            "capture the cluster, or a file that `kubectl qos snapshot` wrote"
        )
    found = contents(source, options.scheduler_config)
    if all(entry.not_captured == _FORBIDDEN for entry in found if not entry.kind.namespaced or entry.kind is PODS):
        raise Forbidden("list", PODS, None, "")
    namespace = source.namespace
    if options.anonymise:
        from podrules.cluster.capture.anonymise import Anonymiser

        anonymiser = Anonymiser(secrets.token_bytes(32))
        found, namespace = anonymiser.contents(found), anonymiser.text(namespace)
    header = Header(
        captured_at=now,
        captured_by=__version__,
        server_version=source.git_version,
        namespace=namespace,
        anonymised=options.anonymise,
        kinds=tuple(
            Captured(entry.kind.rbac_name, len(entry.objects), entry.not_captured, entry.only) for entry in found
        ),
    )
    size = write_snapshot(options.path, header, {entry.kind.rbac_name: (entry.kind, entry.objects) for entry in found})
    return SnapshotReport(
        path=options.path,
        size=size,
        source=source.description,
        server_version=source.git_version,
        captured_at=now,
        anonymised=options.anonymise,
        kinds=tuple(SnapshotKind(entry.kind.rbac_name, len(entry.objects), entry.not_captured) for entry in found),
    )
