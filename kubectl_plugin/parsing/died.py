"""Flags and help of ``kubectl qos died``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_common, add_kubelet_config, cluster_options, span, wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import DiedOptions

__all__ = ["DESCRIPTION", "EXAMPLES", "add", "options"]

DESCRIPTION: Final = """\
Tells what ended a pod or its containers last: the cause, how sure that is, what
proves it, what else it could have been and what would tell, what to do about it,
and whether a replacement runs. Also of pods that are gone, by what is left.

Certain: one cause alone fits the evidence. Likely: more speaks for one. A or B:
as much speaks for several. Events are kept for about an hour: ask soon.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos died pod/web-0                what ended it last; a name alone is a pod
  kubectl qos died pod/web-7d9f-x2x7p       also when it is gone
  kubectl qos died deployment/web           its pods, also those that are gone
  kubectl qos died node/node-1              what ended on a node
  kubectl qos died                          all of the namespace, in the last hour
  kubectl qos died -A --since 3h            all namespaces
  kubectl qos died -A -o wide               with a page for each
  kubectl qos died pod/web-0 -o json        as data
  kubectl qos died pod/web-0 --snapshot c.qos    without a cluster
  kubectl qos died -A --demo                the built-in demo cluster

exit codes: 0 certain, or nothing has ended; 1 unexpected; 2 wrong command line;
            3 workload or node not found; 4 forbidden; 5 no cluster; 6 snapshot cannot be read;
            11 not certain; 12 nothing is left that would tell; of several pods the highest
            of 0, 11 and 12; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TYPE/NAME",
        help="pods, workloads or nodes; NAME alone is a pod; none: all pods of the namespace",
    )
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    parser.add_argument(
        "--since",
        type=_since,
        metavar="TIME",
        help="what ended since, e.g. 30m; default 1h, and of what is named any time",
    )
    add_output(parser, wide=True, names=True)
    add_kubelet_config(parser)
    add_common(parser)


def _since(text: str) -> float:
    """Seconds of ``--since``; 0 would ask for nothing."""
    if not (ago := span(text)):
        raise argparse.ArgumentTypeError(f'"{text}": no time at all\nWrite e.g. 30m')
    return ago


def options(args: argparse.Namespace) -> DiedOptions:
    """The options that were typed.

    Raises:
        UsageError: they do not fit together.
    """
    from kubectl_plugin.options import DiedOptions

    if args.targets and args.all_namespaces:
        args.command_parser.error(
            f"-A is for all pods, and {args.targets[0]} was named\nLeave -A or the name out; -n chooses a namespace"
        )
    return DiedOptions(
        targets=tuple(args.targets),
        since=args.since,
        everywhere=args.all_namespaces,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=cluster_options(args),
    )
