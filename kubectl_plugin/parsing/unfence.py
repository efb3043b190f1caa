"""Flags and help of ``kubectl qos unfence``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_common, add_dry_run, cluster_options, wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import FenceOptions

DESCRIPTION: Final = """\
Takes back a node that was declared out of service: removes only that taint.
This does not restore the pods and volumes that were removed from the node.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos unfence node/node-c3              show what would change; change nothing
  kubectl qos unfence node/node-c3 --confirm    remove the taint
  kubectl qos unfence node/node-c3 --confirm --dry-run=server

exit codes: 0 removed, or absent, or a dry run; 1 unexpected; 2 wrong command line;
            3 nothing was changed: --confirm is missing; 4 forbidden or refused;
            5 no cluster; 8 no such node; 9 nothing was changed: another client was first;
            130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("targets", nargs="*", metavar="node/NAME", help="or node NAME, or NAME")
    parser.add_argument("--confirm", action="store_true", help="remove the taint")
    add_dry_run(parser)
    add_output(parser, names=True)
    add_common(parser)


def options(args: argparse.Namespace) -> FenceOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import FenceOptions

    if not args.targets:
        args.command_parser.error("nothing to take back\nName a node: kubectl qos unfence NODE")
    return FenceOptions(
        targets=tuple(args.targets),
        confirm=args.confirm,
        powered_off=False,
        fence_command="",
        dry_run=args.dry_run is not None,
        timeout=0.0,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=cluster_options(args),
    )
