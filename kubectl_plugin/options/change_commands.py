"""The options of the commands that change the cluster: ``delete``, ``fence`` and ``unfence``."""

from __future__ import annotations

import argparse
import os
from typing import Final

from cluster_io.errors import UsageError
from kubectl_plugin.options import ClusterOptions, CommandOptions, Output
from kubectl_plugin.options.flag import CONFIRMATION, flag, seconds, switch
from kubectl_plugin.options.shared import COLOUR, DRY_RUN, connection, grace_period_flag, output_flags

_CONFIGURED: Final = "KUBECTL_QOS_FENCE_COMMAND"
_MINUTES: Final = 3
_DELETE: Final = """\
Deletes a pod and follows it until it is removed. Without grace, it first shows
the risk. With --confirm it deletes, and only the pod that was checked (by uid).
If the webhook requires a confirmation, --confirm gives it.

examples:
  kubectl qos delete pod/web-0                             its own grace period
  kubectl qos delete pod/web-0 --grace-period=5            5 s
  kubectl qos delete pod/db-1 --grace-period=0             show only the risk
  kubectl qos delete pod/db-1 --grace-period=0 --confirm   delete it
  kubectl qos delete pod/db-1 --grace-period=0 --dry-run=server
  kubectl qos delete pod/db-1 -n shop --grace-period=0 --demo

exit codes: 0 deleted, or a dry run; 1 unexpected; 2 wrong command line;
            3 nothing was changed: --confirm is missing; 4 forbidden or refused;
            5 no cluster; 8 no such pod; 9 nothing was changed: it is another
            pod now; 10 deleted, but not removed in time; 130 interrupted
"""
_FENCE: Final = """\
Declares a silent node out of service: its pods are then removed, and its
volumes detached, without waiting for the machine. So the machine must certainly
be off. Either you confirm it, or a command of yours powers it off.
Prints each step before it runs, and can be run again after an interruption.

examples:
  kubectl qos fence node/node-c3                         show what it removes
  kubectl qos fence node/node-c3 --confirm-powered-off   the machine is off
  kubectl qos fence node/node-c3 --fence-command=./power-off --confirm
  kubectl qos fence node/node-c3 --confirm-powered-off --dry-run=server
  kubectl qos unfence node/node-c3 --confirm             the machine is back
  kubectl qos fence node/node-c3 --demo                  the demo cluster

The fence command must exit with 0. KUBECTL_QOS_FENCE_COMMAND names it if the
flag is not given; it gets the node's spec.providerID in
KUBECTL_QOS_PROVIDER_ID.

exit codes: 0 everything is removed, or a dry run; 1 unexpected; 2 wrong command
            line; 3 nothing was changed: a confirmation is missing; 4 forbidden
            or refused; 5 no cluster; 8 no such node; 9 nothing was changed: the
            node answers, the fence command failed, or another client was first;
            10 fenced, but not everything is removed in time; 130 interrupted
"""
_UNFENCE: Final = """\
Takes back a node that was declared out of service: removes only that taint.
This does not restore the pods and volumes that were removed from the node.

examples:
  kubectl qos unfence node/node-c3              show what would change
  kubectl qos unfence node/node-c3 --confirm    remove the taint
  kubectl qos unfence node/node-c3 --confirm --dry-run=server

exit codes: 0 removed, or absent, or a dry run; 1 unexpected; 2 wrong command
            line; 3 nothing was changed: --confirm is missing; 4 forbidden or
            refused; 5 no cluster; 8 no such node; 9 nothing was changed:
            another client was first; 130 interrupted
"""


class DeletionOptions(CommandOptions, command="delete", words=_DELETE):
    """``kubectl qos delete``."""

    targets: tuple[str, ...] = flag(completes="pods", metavar="pod/NAME", help="or pod NAME, or NAME")
    grace_period: int | None = grace_period_flag("default, or negative: the pod's own; 0: at once")
    """Seconds; None: the pod's own period."""
    confirm: bool = switch("--confirm", help="delete without grace, with the risk known")
    dry_run: bool = DRY_RUN
    timeout: float | None = flag(
        "--timeout",
        type=seconds,
        metavar="TIME",
        help="how long to follow it (default: its grace period plus a minute)",
    )
    """Seconds to wait for the end; None: the grace period and a minute."""
    output: Output = output_flags(names=True)
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if not args.targets:
            raise UsageError("nothing to delete", advice="Name a pod: kubectl qos delete pod/NAME")


def _fence_command(args: argparse.Namespace) -> str:
    typed: str | None = args.fence_command
    return os.environ.get(_CONFIGURED, "") if typed is None else typed


class FenceOptions(CommandOptions, command="fence", words=_FENCE):
    """``kubectl qos fence``."""

    targets: tuple[str, ...] = flag(completes="nodes", metavar="node/NAME", help="or node NAME, or NAME")
    powered_off: bool = switch("--confirm-powered-off", group=CONFIRMATION, help="you do")
    """Whether the user confirms that the machine is off."""
    fence_command: str = flag(
        "--fence-command",
        group=CONFIRMATION,
        read=_fence_command,
        metavar="COMMAND",
        help="the program to run, with the node's name as its last argument; without a shell",
    )
    """Program and arguments, to which the node's name is added; empty: none."""
    confirm: bool = switch("--confirm", help="run the fence command, and fence if it succeeds")
    """Whether the fence command may run; for unfence: whether the taint may be removed."""
    dry_run: bool = DRY_RUN
    timeout: float = flag(
        "--timeout",
        type=seconds,
        default=60.0 * _MINUTES,
        metavar="TIME",
        help="for the fence command, and then for the removal of pods and volumes (default 3m)",
    )
    """Seconds to wait for the fence command, and again for the removal of pods and volumes."""
    output: Output = output_flags(names=True)
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if not args.targets:
            raise UsageError("nothing to fence", advice="Name a node: kubectl qos fence NODE")
        if args.fence_command is not None and not args.fence_command.strip():
            raise UsageError("--fence-command is empty", advice="Name a program, or leave the flag out")
        command = _fence_command(args)
        _check_quotes(command)
        if args.confirm and not command.strip() and not args.powered_off:
            raise UsageError(
                "--confirm needs a fence command",
                advice="Name it with --fence-command, or confirm yourself that the machine is off "
                "with --confirm-powered-off",
            )


def _check_quotes(command: str) -> None:
    """Refuse a fence command with unbalanced quotes before anything is read."""
    if "'" not in command and '"' not in command and "\\" not in command:
        return
    import shlex

    try:
        shlex.split(command)
    except ValueError as error:
        raise UsageError(
            f"the fence command cannot be parsed: {command}: {error}",
            advice='Close the quotes, e.g. --fence-command="./power-off --wait"',
        ) from error


class UnfenceOptions(FenceOptions, command="unfence", words=_UNFENCE):
    """``kubectl qos unfence``: has fewer flags."""

    targets: tuple[str, ...] = flag(completes="nodes", metavar="node/NAME", help="or node NAME, or NAME")
    confirm: bool = switch("--confirm", help="remove the taint")
    dry_run: bool = DRY_RUN
    output: Output = output_flags(names=True)
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()
    fence_command: str = ""
    timeout: float = 0.0

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if not args.targets:
            raise UsageError("nothing to take back", advice="Name a node: kubectl qos unfence NODE")
