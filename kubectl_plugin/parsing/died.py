"""Flags and help of ``kubectl qos died``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_common, add_kubelet_config, cluster_options, span, wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import DiedOptions

DESCRIPTION: Final = """\
Shows what ended a pod or its containers last: the cause, its certainty, the
evidence, other possible causes and what would decide between them, what to do,
and whether a replacement runs. For removed pods, it uses the remaining evidence.

Certain: only one cause fits the evidence. Likely: the evidence favours one
cause. A or B: the evidence for several is equal. Events expire after about an
hour: run the command soon.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos died pod/web-0                its last end; a name alone is a pod
  kubectl qos died pod/web-7d9f-x2x7p       also after it was removed
  kubectl qos died deployment/web           its pods, including removed pods
  kubectl qos died node/node-1              all ends on a node
  kubectl qos died                          all of the namespace, in the last hour
  kubectl qos died -A --since 3h            all namespaces
  kubectl qos died -A -o wide               with a page for each
  kubectl qos died pod/web-0 -o json        as data
  kubectl qos died pod/web-0 --snapshot c.qos    without a cluster
  kubectl qos died -A --demo                the built-in demo cluster

exit codes: 0 certain, or nothing has ended; 1 unexpected; 2 wrong command line;
            3 workload or node not found; 4 forbidden; 5 no cluster; 6 snapshot cannot be read;
            11 not certain; 12 no evidence remains; for several pods the highest
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
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")
    parser.add_argument(
        "--since",
        type=_since,
        metavar="TIME",
        help="only ends within this time, e.g. 30m (default: 1h; for named targets any time)",
    )
    add_output(parser, wide=True, names=True)
    add_kubelet_config(parser)
    add_common(parser)


def _since(text: str) -> float:
    """Seconds of ``--since``; 0 would select nothing."""
    if not (ago := span(text)):
        raise argparse.ArgumentTypeError(f'"{text}": must be more than 0\nWrite e.g. 30m')
    return ago


def options(args: argparse.Namespace) -> DiedOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import DiedOptions

    if args.targets and args.all_namespaces:
        args.command_parser.error(
            f"-A selects all pods, and {args.targets[0]} names one\nLeave -A or the name out; -n selects a namespace"
        )
    return DiedOptions(
        targets=tuple(args.targets),
        since=args.since,
        everywhere=args.all_namespaces,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=cluster_options(args),
    )
