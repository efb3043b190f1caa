"""The command line of `kubectl qos`: what was typed, streams and exit codes. The only module that exits.

Exit codes:
    0    everything asked for was explained (what could not be read is said in the answer)
    1    an unexpected answer
    2    the command line is wrong
    3    an object was not found
    4    you may not read an object that was asked for
    5    no cluster, or it does not answer
    6    a manifest or snapshot cannot be read
    130  interrupted
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from podrules import __version__
from podrules.cluster.errors import ClusterError, Forbidden, ManifestError, NotFound, Unreachable, UsageError

if TYPE_CHECKING:
    from kubectl_plugin.options import ClusterOptions, Connection, ExplainOptions, Streams
    from podrules.cluster.live import LiveSource
    from podrules.cluster.source import Source

__all__ = ["main"]

_INTERRUPTED: Final = 130
_EXIT_CODES: Final[tuple[tuple[type[ClusterError], int], ...]] = (
    (UsageError, 2),
    (NotFound, 3),
    (Forbidden, 4),
    (Unreachable, 5),
    (ManifestError, 6),
)

_COMMANDS: Final = frozenset({"explain"})
_FLAGS_WITH_VALUE: Final = frozenset(
    {
        "-f",
        "--filename",
        "-n",
        "--namespace",
        "-o",
        "--output",
        "--snapshot",
        "--context",
        "--kubeconfig",
        "--cluster",
        "--user",
        "--as",
        "--as-group",
        "--request-timeout",
    }
)

_EXAMPLES: Final = """\
examples:
  kubectl qos explain pod/web-0                    one pod
  kubectl qos explain pod web-0 web-1 -n shop      two pods
  kubectl qos explain deployment/web               its template and its pods
  kubectl qos explain node/node-1                  what a node has promised, and overcommits
  kubectl qos explain -f pod.yaml                  a manifest, before it is applied
  helm template . | kubectl qos explain -f -       standard input
  kubectl get nodes,pods,priorityclasses -A -o json > c.json
  kubectl qos explain pod/web-0 --snapshot c.json  without a cluster
  kubectl qos explain pod/db-1 --demo              the built-in demo cluster

exit codes: 0 explained; 1 unexpected; 2 wrong command line; 3 not found; 4 forbidden;
            5 no cluster; 6 manifest or snapshot cannot be read; 130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without arguments given, those of the process are meant."""
    try:
        if argv is None:
            _leave_in_order()
        code = _explain(_parser().parse_args(_command_first(sys.argv[1:] if argv is None else argv)))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as `| head` does: nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ClusterError as error:
        return _failed(error)
    return code


def _command_first(words: Sequence[str]) -> list[str]:
    """The words with the command moved to the front: kubectl's users write flags anywhere, also before it."""
    takes_value = False
    for position, word in enumerate(words):
        if word in _COMMANDS and not takes_value:
            return [word, *words[:position], *words[position + 1 :]]
        takes_value = word in _FLAGS_WITH_VALUE
    return list(words)


def _leave_in_order() -> None:
    """End on signals as on an exit, so that kubectl and its socket go with us."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))


def _explain(args: argparse.Namespace) -> int:
    from kubectl_plugin.options import Streams

    options = _options(args)
    streams = Streams(sys.stdin, sys.stdout, sys.stderr)
    with _source(options, streams) as source:
        from kubectl_plugin.commands.explain import explain

        code = 0
        for error in explain(options, source, streams):
            code = code or _failed(error)
        return code


@contextlib.contextmanager
def _source(options: ExplainOptions, streams: Streams) -> Iterator[Source]:
    """The source of objects. A connection starts first, so that kubectl starts while rules are loaded."""
    from kubectl_plugin.options import connect

    cluster = options.cluster
    if not cluster.live:
        yield _offline_source(cluster)
        return
    connection = connect(cluster)
    try:
        live = _live_source(connection)
        # A manifest can be explained without a cluster: less is known then, and said so.
        problem = live.problem() if options.files and not options.targets else None
        if problem is None:
            yield live
            return
        print(f"kubectl qos: going on without a cluster: {problem}", file=streams.err)
        yield _offline_source(cluster)
    finally:
        connection.transport.close()


def _live_source(connection: Connection) -> LiveSource:
    from podrules.cluster.live import LiveSource

    return LiveSource(connection.transport, namespace=connection.namespace, asked_namespace=connection.asked_namespace)


def _offline_source(cluster: ClusterOptions) -> Source:
    from podrules.cluster.memory import MemorySource, NothingSource

    if cluster.demo:
        from datetime import datetime

        from podrules.cluster.demo import DEMO_NOW, demo_objects
        from podrules.features import REFERENCE_VERSION

        return MemorySource(
            demo_objects(),
            description="the demo cluster",
            now=datetime.fromisoformat(DEMO_NOW),
            git_version=f"v{REFERENCE_VERSION}",
            namespace=cluster.namespace or "shop",
        )
    namespace = cluster.namespace or "default"
    if cluster.snapshot:
        from podrules.cluster.files import read_documents

        objects = [document.content for document in read_documents(cluster.snapshot)]
        return MemorySource(objects, description=f"snapshot {cluster.snapshot}", namespace=namespace)
    return NothingSource(namespace)


def _failed(error: ClusterError) -> int:
    from kubectl_plugin.render.escape import escape

    print(f"error: {escape(str(error))}", file=sys.stderr)
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def _options(args: argparse.Namespace) -> ExplainOptions:
    from kubectl_plugin.options import ClusterOptions, ExplainOptions

    if not args.targets and not args.files:
        args.command_parser.error("nothing to explain: name a pod (pod/NAME), a node, a workload, or a file with -f")
    return ExplainOptions(
        targets=tuple(args.targets),
        files=tuple(args.files),
        output=args.output,
        colour=_wants_colour(args),
        cluster=ClusterOptions(
            namespace=args.namespace,
            context=args.context,
            kubeconfig=args.kubeconfig,
            cluster=args.cluster,
            user=args.user,
            as_user=args.as_user,
            as_groups=tuple(args.as_groups),
            request_timeout=args.request_timeout,
            demo=args.demo,
            snapshot=args.snapshot,
            offline=args.offline,
        ),
    )


def _wants_colour(args: argparse.Namespace) -> bool:
    """Colour on a terminal, unless the user or the terminal says otherwise (no-color.org)."""
    if args.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def _seconds(text: str) -> float:
    """Kubectl's ``--request-timeout``: ``30``, ``30s``, ``500ms``, ``2m``; 0 means no limit there, an hour here."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
    number = text.rstrip("hms")
    unit = text[len(number) :]
    try:
        value = float(number) * units[unit]
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write e.g. 30s, 500ms or 2m") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is negative: write e.g. 30s")
    return value or 3600.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kubectl qos",
        description="Explains what Kubernetes will do to a pod, and why.",
        epilog="Run `kubectl qos explain --help` for its options.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kubectl-qos {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    explain = commands.add_parser(
        "explain",
        help="explain a pod, a node, a workload or a manifest",
        description=(
            "Explains a pod: its QoS class and why, its OOM score, what it asks for, its\n"
            "cgroups, its priority, how it stops, and what a force deletion would risk.\n"
            "For a node: what it has promised. For a workload: the pod that it would make\n"
            "next, and the pods that it has."
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    explain.set_defaults(command_parser=explain)
    explain.add_argument(
        "targets", nargs="*", metavar="TYPE/NAME", help="or TYPE NAME …, or TYPE for all of a namespace"
    )
    explain.add_argument(
        "-f",
        "--filename",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="manifest file or folder, - for standard input; may be repeated",
    )
    explain.add_argument(
        "-o", "--output", default="table", choices=("table", "wide", "json", "yaml", "name"), help="output format"
    )
    explain.add_argument("--no-color", action="store_true", help="no colour; NO_COLOR does the same")
    _add_source_flags(explain.add_argument_group("where objects come from"))
    _add_kubectl_flags(explain.add_argument_group("as in kubectl"))
    return parser


def _add_source_flags(group: argparse._ArgumentGroup) -> None:
    group = group.add_mutually_exclusive_group()
    group.add_argument("--demo", action="store_true", help="the built-in demo cluster; needs no cluster")
    group.add_argument(
        "--snapshot",
        metavar="FILE",
        help="a List as `kubectl get nodes,pods,… -A -o json|yaml` prints, or a folder of them",
    )
    group.add_argument("--offline", action="store_true", help="with -f: ask no cluster; less is known then")


def _add_kubectl_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-n", "--namespace", metavar="NAME")
    group.add_argument("--context", metavar="NAME")
    group.add_argument("--kubeconfig", metavar="FILE")
    group.add_argument("--cluster", metavar="NAME")
    group.add_argument("--user", metavar="NAME")
    group.add_argument("--as", dest="as_user", metavar="USER", help="act as this user")
    group.add_argument("--as-group", dest="as_groups", action="append", default=[], metavar="GROUP")
    group.add_argument("--request-timeout", type=_seconds, default=30.0, metavar="TIME", help="for one request; 30s")


if __name__ == "__main__":
    sys.exit(main())
