"""Flags and help of ``kubectl qos delete``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_dry_run,
    add_grace_period,
    add_timeout,
    cluster_options,
    grace_period,
    wants_colour,
)
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import DeletionOptions

DESCRIPTION: Final = """\
Deletes a pod and follows it until it is removed. Without grace, it first shows
the risk. With --confirm it deletes, and only the pod that was checked (by uid).
If the webhook requires a confirmation, --confirm gives it.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos delete pod/web-0                                with its own grace period
  kubectl qos delete pod/web-0 --grace-period=5               with 5 s
  kubectl qos delete pod/db-1 --grace-period=0                show the risk; delete nothing
  kubectl qos delete pod/db-1 --grace-period=0 --confirm      delete it
  kubectl qos delete pod/db-1 --grace-period=0 --dry-run=server   ask the API server, delete nothing
  kubectl qos delete pod/db-1 -n shop --grace-period=0 --demo  the built-in demo cluster

exit codes: 0 deleted, or a dry run; 1 unexpected; 2 wrong command line;
            3 nothing was changed: --confirm is missing; 4 forbidden or refused;
            5 no cluster; 8 no such pod; 9 nothing was changed: it is another pod now;
            10 deleted, but not removed in time; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("targets", nargs="*", metavar="pod/NAME", help="or pod NAME, or NAME")
    add_grace_period(parser, "default, or negative: the pod's own; 0: at once")
    parser.add_argument("--confirm", action="store_true", help="delete without grace, with the risk known")
    add_dry_run(parser)
    add_timeout(parser, None, "how long to follow it (default: its grace period plus a minute)")
    add_output(parser, names=True)
    add_common(parser)


def options(args: argparse.Namespace) -> DeletionOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import DeletionOptions

    if not args.targets:
        args.command_parser.error("nothing to delete\nName a pod: kubectl qos delete pod/NAME")
    return DeletionOptions(
        targets=tuple(args.targets),
        grace_period=grace_period(args),
        confirm=args.confirm,
        dry_run=args.dry_run is not None,
        timeout=args.timeout,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=cluster_options(args),
    )
