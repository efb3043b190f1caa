"""Flags and help of ``kubectl qos node``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_kubelet_config,
    add_versions,
    add_watch,
    cluster_options,
    wants_colour,
    watch_interval,
)
from kubectl_plugin.parsing.output import add_output, wanted_output
from kubectl_plugin.parsing.selection import add_selection, wanted_selection

if TYPE_CHECKING:
    from kubectl_plugin.options import NodeOptions

DESCRIPTION: Final = """\
Shows a node under pressure: what the kernel kills first when memory runs out,
which pod the kubelet evicts first and why, how close the first eviction is, and
the requests on the node. For several nodes, or all without a name, it prints one
line each: nodes with problems first, then the nodes nearest to an eviction.

Usage is read from the kubelet (permission: get nodes/proxy), else from a metrics
API. Without usage, the kernel's order is that of oom_score_adj only.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos node                        all nodes, one line each
  kubectl qos node node-1                 what is killed and evicted first, and why
  kubectl qos node node-1 -o wide         the full orders, every signal, separate limits
  kubectl qos node node-1 -o json         the same as data
  kubectl qos node node/node-1 node/node-2
  kubectl qos node -l topology.kubernetes.io/zone=eu-1a
  kubectl qos snapshot -o c.qos           for later, without the cluster
  kubectl qos node node-1 --snapshot c.qos
  kubectl qos node node-a1 --demo         the built-in demo cluster

exit codes: as for explain
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("nodes", nargs="*", metavar="NODE", help="a node's name, or node/NAME; none: all")
    add_selection(parser, all_namespaces=False, field="spec.unschedulable=true")
    add_output(parser, wide=True, names=True)
    add_watch(parser)
    add_kubelet_config(parser)
    add_common(parser)
    add_versions(parser)


def options(args: argparse.Namespace) -> NodeOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import NodeOptions

    selection = wanted_selection(args)
    if args.nodes and selection.flags:
        args.command_parser.error(
            f"{selection.flags} selects among all nodes, and {args.nodes[0]} names one\n"
            f"Leave {selection.flags} or the name out"
        )

    return NodeOptions(
        nodes=tuple(args.nodes),
        selection=selection,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=cluster_options(args),
        watch=watch_interval(args),
    )
