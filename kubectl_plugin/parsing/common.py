"""Flags that several commands share, and their values."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubectl_plugin.options import ClusterOptions, Validation

_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})")
"""Seconds without a unit; without ``inf``, ``nan`` and exponents, which Python's float would accept."""
_VERSION: Final = re.compile(r"v?1\.(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,4})?(?:[+-][0-9A-Za-z.+-]{1,60})?", re.ASCII)
_WHOLE: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_MAX_INT64: Final = 2**63 - 1
"""deletionGracePeriodSeconds is an int64 (meta/v1, types.go)."""
_DIGITS: Final = len(str(-_MAX_INT64))
_MAX_SECONDS: Final = 365 * 86400.0
"""Seconds."""
_DEFAULT_INTERVAL: Final = 10.0
"""Seconds between two answers of ``--watch``."""
_MIN_INTERVAL: Final = 1.0
"""Seconds; shorter intervals would load the API server."""
_TARGET_FLAGS: Final = frozenset(
    {
        *("-n", "--namespace", "-A", "--all-namespaces", "--context", "--kubeconfig", "--cluster", "--user"),
        *("--as", "--as-group", "--demo", "--snapshot", "--kubernetes-version", "--feature-gates"),
        "--kubelet-config",
    }
)
"""Flags that a suggested command gets from its target."""
_LONG_NAMES: Final = {"-f": "--filename", "-o": "--output", "-l": "--selector"}
"""The long forms, which take their value after a ``=``."""


def add_files(parser: argparse.ArgumentParser) -> None:
    """``-f``."""
    parser.add_argument(
        "-f",
        "--filename",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="manifest file or folder, - for standard input; may be repeated",
    )


_VALIDATION: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), "strict"),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), "ignore"),
}
"""kubectl's older values, as Go reads them."""


def add_validation(parser: argparse.ArgumentParser) -> None:
    """``--validate``."""
    parser.add_argument(
        "--validate",
        type=lambda text: _VALIDATION.get(text, text),
        choices=["strict", "warn", "ignore"],
        nargs="?",
        const="strict",
        default="strict",
        help="unknown fields in manifests: refuse (or true; the default), warn, or ignore (or false)",
    )


def add_dry_run_of_files(parser: argparse.ArgumentParser) -> None:
    """``--dry-run`` of manifests."""
    parser.add_argument(
        "--dry-run",
        choices=["none", "server"],
        default="none",
        help="server: send manifests to the API server and its webhooks as a dry run; nothing is stored",
    )


def dry_run_of_files(args: argparse.Namespace) -> bool:
    """``--dry-run`` of manifests.

    Raises:
        UsageError: there is no manifest, or no cluster.
    """
    if args.dry_run != "server":
        return False
    if not args.files:
        args.command_parser.error("--dry-run=server is for manifests only\nName a file with -f, or leave it out")
    where = next((flag for flag in ("demo", "snapshot", "offline") if getattr(args, flag, None)), "")
    if where:
        args.command_parser.error(
            f"--dry-run=server needs a cluster, and --{where} has none\nLeave --{where} or --dry-run out"
        )
    return True


def validation(args: argparse.Namespace) -> Validation:
    """``--validate``."""
    from kubectl_plugin.options import Validation

    return Validation(args.validate)


def add_scheduler_config(parser: argparse.ArgumentParser) -> None:
    """``--scheduler-config``."""
    parser.add_argument(
        "--scheduler-config",
        metavar="WHERE",
        help="the KubeSchedulerConfiguration: a file, or configmap/NAMESPACE/NAME (default: the scheduler's defaults)",
    )


def add_kubelet_config(parser: argparse.ArgumentParser) -> None:
    """``--kubelet-config``."""
    parser.add_argument(
        "--kubelet-config",
        metavar="FILE",
        help="a KubeletConfiguration, or the output of configz, to use for every node (default: read from each node)",
    )


def add_versions(parser: argparse.ArgumentParser) -> None:
    """``--kubernetes-version`` and ``--feature-gates``."""
    group = parser.add_argument_group("versions of the rules")
    group.add_argument(
        "--kubernetes-version",
        type=version,
        metavar="1.MINOR",
        help="version of API server and scheduler (default: the cluster's). Kubelets always use their own version",
    )
    group.add_argument(
        "--feature-gates",
        action="append",
        default=[],
        metavar="NAME=BOOL,…",
        help="gates that the cluster sets; @FILE: the featureGates of a KubeletConfiguration",
    )


def version(text: str) -> str:
    """A version of Kubernetes: ``1.35``, ``v1.35.4``.

    Raises:
        argparse.ArgumentTypeError: not a version.
    """
    if not _VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(f'"{text}": not a version of Kubernetes\nWrite e.g. 1.35')
    return text


def add_grace_period(parser: argparse.ArgumentParser, what: str) -> None:
    """``--grace-period``."""
    parser.add_argument("--grace-period", type=_grace_seconds, metavar="SECONDS", help=what)


def grace_period(args: argparse.Namespace) -> int | None:
    """The grace period of a DELETE in seconds; None: the pod's own. As in kubectl, a negative number means the same."""
    return None if args.grace_period is None or args.grace_period < 0 else int(args.grace_period)


def _grace_seconds(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f'"{text[:40]}": not a grace period\nWrite seconds, 0 or more; a negative number means the pod\'s own'
        )
    if len(text) > _DIGITS or abs(int(text)) > _MAX_INT64:
        raise argparse.ArgumentTypeError(f'"{text[:40]}": too large for an int64\nWrite seconds, {_MAX_INT64} at most')
    return int(text)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """``--dry-run=server``."""
    parser.add_argument("--dry-run", choices=["server"], help="send the change to the API server without storing it")


def add_timeout(parser: argparse.ArgumentParser, default: float | None, what: str) -> None:
    """``--timeout``."""
    parser.add_argument("--timeout", type=seconds, default=default, metavar="TIME", help=what)


_SNAPSHOT: Final = "a file from `kubectl qos snapshot`"
_OR_A_LIST: Final = (
    "or a List from `kubectl get nodes,pods,… -A -o json|yaml`: missing objects count as unknown, not as absent"
)


def add_common(parser: argparse.ArgumentParser, *, lists: bool = True) -> argparse._MutuallyExclusiveGroup:
    """Add the flags of commands that read a cluster; returns the group for the source of objects.

    Args:
        parser: The parser of one command.
        lists: Whether ``--snapshot`` also takes a List, which does not show what is missing in it.
    """
    parser.add_argument("--no-color", action="store_true", help="disable colour, like NO_COLOR")
    sources = parser.add_argument_group("source of objects").add_mutually_exclusive_group()
    sources.add_argument("--demo", action="store_true", help="use the built-in demo cluster")
    sources.add_argument(
        "--snapshot",
        metavar="FILE",
        help=f"{_SNAPSHOT}; {_OR_A_LIST}" if lists else _SNAPSHOT,
    )
    group = parser.add_argument_group("as in kubectl")
    group.add_argument("-n", "--namespace", metavar="NAME")
    group.add_argument("--context", metavar="NAME")
    group.add_argument("--kubeconfig", metavar="FILE")
    group.add_argument("--cluster", metavar="NAME")
    group.add_argument("--user", metavar="NAME")
    group.add_argument("--as", dest="as_user", metavar="USER", help="act as this user")
    group.add_argument("--as-group", dest="as_groups", action="append", default=[], metavar="GROUP")
    group.add_argument(
        "--request-timeout", type=seconds, default=30.0, metavar="TIME", help="for one request (default 30s)"
    )
    return sources


def cluster_options(args: argparse.Namespace, *, is_optional: bool = False) -> ClusterOptions:
    """Cluster, user and namespace.

    Args:
        args: The typed arguments.
        is_optional: Whether the command gives a shorter answer if no cluster answers.
    """
    from kubectl_plugin.options import ClusterOptions, TypedCommand

    return ClusterOptions(
        typed=TypedCommand(args.typed_command, tuple(_flags_to_repeat(args.typed_flags))),
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
        offline=getattr(args, "offline", False),
        is_optional=is_optional,
        kubernetes_version=getattr(args, "kubernetes_version", None),
        feature_gates=tuple(getattr(args, "feature_gates", ())),
        kubelet_config=getattr(args, "kubelet_config", None),
    )


def _flags_to_repeat(flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The typed flags with their values, without flags that select a cluster or a namespace."""
    from kubectl_plugin.parsing.commands import FLAGS_WITH_VALUE

    words = iter(flags)
    for word in words:
        name, _, value = word.partition("=")
        if not word.startswith("--"):
            name, value = word[:2], word[2:].removeprefix("=")
        if name in FLAGS_WITH_VALUE and name == word:
            value = next(words, "")
        if name not in _TARGET_FLAGS:
            yield _LONG_NAMES.get(name, name), value


def scheduler_config(args: argparse.Namespace) -> str | None:
    """The location of the scheduler's configuration; the demo cluster has its own."""
    from kubectl_plugin.options import DEMO_SCHEDULER

    given: str | None = args.scheduler_config
    return given or (DEMO_SCHEDULER if args.demo else None)


def wants_colour(args: argparse.Namespace) -> bool:
    """Whether to use colour: on a terminal, unless the user or the terminal disables it (no-color.org)."""
    if args.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def add_watch(parser: argparse.ArgumentParser) -> None:
    """``--watch`` and ``--watch-interval``."""
    parser.add_argument(
        "-w", "--watch", action="store_true", help="keep watching, and print a new answer after each change"
    )
    parser.add_argument(
        "--watch-interval",
        type=seconds,
        metavar="TIME",
        help="with --watch: refresh after this time at the latest, for usage and clocks (default 10s)",
    )


def watch_interval(args: argparse.Namespace) -> float | None:
    """Seconds between two answers; None: one answer is enough.

    Raises:
        UsageError: the objects do not change, or cannot be read twice.
    """
    if not args.watch:
        if args.watch_interval is not None:
            args.command_parser.error("--watch-interval needs --watch\nAdd -w, or leave --watch-interval out")
        return None
    if args.demo or args.snapshot or getattr(args, "offline", False):
        args.command_parser.error(
            "--watch needs a cluster: the demo, a snapshot and --offline do not change\nLeave --watch out"
        )
    if "-" in getattr(args, "files", ()):
        args.command_parser.error(
            "--watch reads files again: standard input can be read only once\nName a file with -f"
        )
    return float(max(_MIN_INTERVAL, _DEFAULT_INTERVAL if args.watch_interval is None else args.watch_interval))


def seconds(text: str) -> float:
    """The seconds of a time-out; 0 means no limit, which is an hour here.

    Raises:
        argparse.ArgumentTypeError: as of `span`.
    """
    return span(text) or 3600.0


def span(text: str) -> float:
    """A number of seconds, or a duration of Go: ``30``, ``500ms``, ``1h30m``.

    Raises:
        argparse.ArgumentTypeError: it is neither, or it is negative or longer than a year.
    """
    value = float(text) if _NUMBER.fullmatch(text) else _go_duration(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f'"{text}": negative\nWrite e.g. 30s')
    if value > _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f'"{text}": longer than a year\nWrite e.g. 1h30m')
    return value


def _go_duration(text: str) -> float:
    from podrules.api.model.instant import DurationError, parse_duration

    try:
        return parse_duration(text).total_seconds()
    except DurationError:
        raise argparse.ArgumentTypeError(f'"{text}": not a time\nWrite e.g. 30s, 500ms or 1h30m') from None
