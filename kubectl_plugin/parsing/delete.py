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

__all__ = ["DESCRIPTION", "EXAMPLES", "add", "options"]

DESCRIPTION: Final = """\
Deletes a pod and follows it until it is gone. Without grace it first shows
what is at stake, and deletes with --confirm only: the very pod that was looked
at, by its uid. Where the webhook asks for a confirmation, --confirm gives it.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos delete pod/web-0                                with its own grace period
  kubectl qos delete pod/web-0 --grace-period=5               with 5 s
  kubectl qos delete pod/db-1 --grace-period=0                what is at stake; deletes nothing
  kubectl qos delete pod/db-1 --grace-period=0 --confirm      deletes it
  kubectl qos delete pod/db-1 --grace-period=0 --dry-run=server   what the API server would say
  kubectl qos delete pod/db-1 -n shop --grace-period=0 --demo  the built-in demo cluster

exit codes: 0 gone, or a dry run; 1 unexpected; 2 wrong command line;
            3 nothing was changed: --confirm is missing; 4 forbidden or refused;
            5 no cluster; 8 no such pod; 9 nothing was changed: it is another pod by now;
            10 deleted, and not gone in time; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("targets", nargs="*", metavar="pod/NAME", help="or pod NAME, or NAME")
    add_grace_period(parser, "the pod's own when not given, or negative; 0: at once")
    parser.add_argument("--confirm", action="store_true", help="delete without grace, knowing what is at stake")
    add_dry_run(parser)
    add_timeout(parser, None, "how long to follow it (default: its grace period and a minute)")
    add_output(parser, names=True)
    add_common(parser)


def options(args: argparse.Namespace) -> DeletionOptions:
    """The options that were typed.

    Raises:
        UsageError: they do not fit together.
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
