"""Flags and help of ``kubectl qos partitions``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_common, add_watch, cluster_options, wants_colour, watch_interval
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import PartitionsOptions

DESCRIPTION: Final = """\
Lists nodes that do not answer, the worst first: since when, what Kubernetes does
automatically and when, the pods on them (NodeDown, whatever their status says),
what each node blocks, and what to do. Changes nothing.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos partitions                      all silent nodes
  kubectl qos partitions -o wide              with the pods that belong only to the node
  kubectl qos partitions -o json              for programs
  kubectl qos partitions --demo               the built-in demo cluster
  kubectl qos snapshot -o c.qos               for later, without the cluster
  kubectl qos partitions --snapshot c.qos

exit codes: 0 listed, also if there are none; 1 unexpected; 2 wrong command line;
            4 forbidden; 5 no cluster; 6 snapshot cannot be read;
            11 not certain: what could not be read may change the answer; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_output(parser, wide=True, names=True)
    add_watch(parser)
    add_common(parser)


def options(args: argparse.Namespace) -> PartitionsOptions:
    """The typed options."""
    from kubectl_plugin.options import PartitionsOptions

    return PartitionsOptions(
        output=wanted_output(args), colour=wants_colour(args), cluster=cluster_options(args), watch=watch_interval(args)
    )
