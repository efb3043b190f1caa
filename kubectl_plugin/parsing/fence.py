"""Flags and help of ``kubectl qos fence``."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_common, add_dry_run, add_timeout, cluster_options, wants_colour
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import FenceOptions

_CONFIGURED: Final = "KUBECTL_QOS_FENCE_COMMAND"
_MINUTES: Final = 3
DESCRIPTION: Final = """\
Declares a silent node out of service: its pods are then removed, and its
volumes detached, without waiting for the machine. So the machine must certainly
be off. Either you confirm it, or a command of yours powers it off.
Prints each step before it runs, and can be run again after an interruption.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos fence node/node-c3                         show what would be removed; change nothing
  kubectl qos fence node/node-c3 --confirm-powered-off   confirm that the machine is off
  kubectl qos fence node/node-c3 --fence-command=./power-off --confirm
                                                         ./power-off node-c3 must exit with 0
  kubectl qos fence node/node-c3 --confirm-powered-off --dry-run=server
  kubectl qos unfence node/node-c3 --confirm             after the machine is back
  kubectl qos fence node/node-c3 --demo                  the built-in demo cluster

KUBECTL_QOS_FENCE_COMMAND names the fence command if the flag is not given. The command
gets spec.providerID of the node in KUBECTL_QOS_PROVIDER_ID.

exit codes: 0 everything is removed, or a dry run; 1 unexpected; 2 wrong command line;
            3 nothing was changed: a confirmation is missing; 4 forbidden or refused;
            5 no cluster; 8 no such node; 9 nothing was changed: the node answers, the
            fence command failed, or another client was first; 10 fenced, but not everything
            is removed in time; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("targets", nargs="*", metavar="node/NAME", help="or node NAME, or NAME")
    proof = parser.add_argument_group("confirmation that the machine is off").add_mutually_exclusive_group()
    proof.add_argument("--confirm-powered-off", action="store_true", help="you do")
    proof.add_argument(
        "--fence-command",
        default=None,
        metavar="COMMAND",
        help="the program to run, with the node's name as its last argument; without a shell",
    )
    parser.add_argument("--confirm", action="store_true", help="run the fence command, and fence if it succeeds")
    add_dry_run(parser)
    add_timeout(
        parser, 60.0 * _MINUTES, "for the fence command, and then for the removal of pods and volumes (default 3m)"
    )
    add_output(parser, names=True)
    add_common(parser)


def options(args: argparse.Namespace) -> FenceOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import FenceOptions

    if not args.targets:
        args.command_parser.error("nothing to fence\nName a node: kubectl qos fence NODE")
    if args.fence_command is not None and not args.fence_command.strip():
        args.command_parser.error("--fence-command is empty\nName a program, or leave the flag out")
    command = os.environ.get(_CONFIGURED, "") if args.fence_command is None else args.fence_command
    _check_quotes(args.command_parser, command)
    if args.confirm and not command.strip() and not args.confirm_powered_off:
        args.command_parser.error(
            "--confirm needs a fence command\n"
            "Name it with --fence-command, or confirm yourself that the machine is off with --confirm-powered-off"
        )
    return FenceOptions(
        targets=tuple(args.targets),
        confirm=args.confirm,
        powered_off=args.confirm_powered_off,
        fence_command=command,
        dry_run=args.dry_run is not None,
        timeout=args.timeout,
        output=wanted_output(args),
        colour=wants_colour(args),
        cluster=cluster_options(args),
    )


def _check_quotes(parser: argparse.ArgumentParser, command: str) -> None:
    """Refuse a fence command with unbalanced quotes before anything is read."""
    if "'" not in command and '"' not in command and "\\" not in command:
        return
    import shlex

    try:
        shlex.split(command)
    except ValueError as error:
        parser.error(
            f"the fence command cannot be parsed: {command}: {error}\n"
            'Close the quotes, e.g. --fence-command="./power-off --wait"'
        )
