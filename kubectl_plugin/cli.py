"""The command line of `kubectl qos`: runs a command and returns its exit code. No other module ends the process."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import IO, TYPE_CHECKING, Final

from cluster_io.errors import ClusterError, NotFound, Unreachable
from kubectl_plugin.exit_codes import INTERRUPTED, UNEXPECTED, UNREADABLE, explained, label, print_error, warn
from kubectl_plugin.parsing import ParsedCommand, parse
from podrules.api.escape import escape

if TYPE_CHECKING:
    from cluster_io.live.live_source import LiveSource
    from cluster_io.source import Source
    from kubectl_plugin.connection import ClusterConnection
    from kubectl_plugin.options import ClusterOptions, CommandFunction

_MAX_MEMORY: Final = 6 << 30
"""Bytes, if only files are read: 20 KB of a snapshot may describe 300 GB. A List of 1 GiB needs 4.4 GiB."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Without ``argv``, the arguments of the process are used."""
    parsed = None
    try:
        if argv is None:
            # Turn signals into an orderly exit, which ends kubectl and removes its socket.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda number, _frame: sys.exit(128 + number))
        try:
            parsed = parse(sys.argv[1:] if argv is None else argv)
        finally:
            # Help and the version end the process.
            sys.stdout.flush()
        if sys.platform == "linux" and argv is None and not parsed.options.cluster.live:
            # The process does not start kubectl, and other systems do not keep the limit.
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY if hard < 0 else min(_MAX_MEMORY, hard), hard))
        code = _run(parsed)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        if parsed is None or parsed.options.cluster.live:
            raise
        needs = f"out of memory: the content of the files needs more than {_MAX_MEMORY >> 30} GiB"
        sys.stderr.write(f"{label('error', sys.stderr)} {needs}\n")
        return UNREADABLE
    except OSError as error:
        # The error is about a file, not about the output.
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"{label('error', sys.stderr)} the answer cannot be written: {error.strerror}\n")
        return UNEXPECTED
    except ClusterError as error:
        return print_error(error, sys.stderr, parsed.options.cluster.target() if parsed is not None else None)
    return code


def _run(parsed: ParsedCommand) -> int:
    from kubectl_plugin.options import Streams

    streams = Streams(sys.stdin, sys.stdout, sys.stderr)
    cluster = parsed.options.cluster
    with source_of(cluster, streams.err) as source:
        if cluster.kubernetes_version or cluster.feature_gates:
            warn(_use_versions(source, cluster, getattr(parsed.options, "to", None)), streams.err)
        if cluster.kubelet_config:
            from cluster_io.kubelet_config import use_kubelet_file

            warn(use_kubelet_file(cluster.kubelet_config, source), streams.err)
        run: CommandFunction = import_module(f"kubectl_plugin.commands.{parsed.command}").run
        return run(parsed.options, source, streams)


def _use_versions(source: Source, cluster: ClusterOptions, to: str | None) -> Iterator[str]:
    """Use the versions and gates from the command line for this source, and yield warnings about them."""
    from cluster_io.gather import Gatherer
    from kubectl_plugin.given_versions import gates_without_effect, read_versions
    from podrules.api.features import minor_of

    source.stated, unknown = read_versions(cluster.kubernetes_version, cluster.feature_gates)
    yield from unknown
    if source.stated.gates:
        versions, after = Gatherer(source).versions, minor_of(to or "")
        minors = (versions.api_server.gates_of, versions.scheduler.gates_of, after)
        yield from gates_without_effect(source.stated, [minor for minor in minors if minor is not None])


@contextlib.contextmanager
def source_of(cluster: ClusterOptions, err: IO[str]) -> Iterator[Source]:
    """Open the source of objects. It connects first, so that kubectl starts while rules are loaded.

    Args:
        cluster: Where the objects come from.
        err: Standard error, for warnings and progress.

    Raises:
        ManifestError: the snapshot cannot be read.
        Unreachable: there is neither kubectl nor a configuration.
    """
    if not cluster.live:
        yield _offline_source(cluster, err)
        return
    from kubectl_plugin.connection import connect

    connection = connect(cluster)
    try:
        live = _live_source(connection, err)
        problem = live.problem() if cluster.is_optional else None
        if problem is None:
            yield live
            return
        why = explained(Unreachable(problem), cluster.target()).message
        print(f"kubectl qos: going on without a cluster: {escape(why)}", file=err)
        yield _offline_source(cluster, err)
    except NotFound as error:
        # The connection is needed to find similar names.
        _ = error.near
        raise
    finally:
        connection.close()


def _live_source(connection: ClusterConnection, err: IO[str]) -> LiveSource:
    from cluster_io.live.live_source import LiveSource

    progress = None
    if err.isatty() and os.environ.get("TERM") != "dumb":
        from kubectl_plugin.progress import ProgressLine

        progress = ProgressLine(err)
    return LiveSource(
        connection.transport,
        namespace=connection.namespace,
        asked_context=connection.asked_context,
        large=connection.transport,
        progress=progress,
    )


def _offline_source(cluster: ClusterOptions, err: IO[str]) -> Source:
    """The objects of the demo cluster or of a snapshot, or no objects."""
    from cluster_io.in_memory import MemorySource, NothingSource

    if cluster.demo:
        from datetime import datetime

        from cluster_io.demo import DEMO_NOW, DEMO_VERSION, demo_kubelets, demo_objects

        return MemorySource(
            demo_objects(),
            description="the demo cluster",
            now=datetime.fromisoformat(DEMO_NOW),
            git_version=DEMO_VERSION,
            namespace=cluster.namespace or "shop",
            kubelets=demo_kubelets(),
        )
    namespace = cluster.namespace or "default"
    if cluster.snapshot:
        from cluster_io.capture.file import SnapshotFile, is_snapshot

        if is_snapshot(cluster.snapshot):
            from cluster_io.capture.file import SnapshotSource

            source = SnapshotSource(SnapshotFile(cluster.snapshot), namespace=cluster.namespace)
            if source.warning:
                warn((source.warning,), err)
            return source
        from cluster_io.live.many_reads import without_collection
        from cluster_io.manifests.files import read_documents

        with without_collection():
            objects = [document.content for document in read_documents(cluster.snapshot)]
        return MemorySource(
            objects, description=f"snapshot {cluster.snapshot}", namespace=namespace, is_plain_list=True
        )
    return NothingSource(namespace)


if __name__ == "__main__":
    sys.exit(main())
