"""Flags and help of ``kubectl qos rights``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.output import add_output, wanted_output
from kubectl_plugin.parsing.similar_words import not_one_of
from kubectl_plugin.reports.rights import ASKED
from podrules.api.names import is_plain_name

if TYPE_CHECKING:
    from kubectl_plugin.options import RightsOptions

DESCRIPTION: Final = """\
Prints the ClusterRole that commands need, for an administrator to apply: for the
named commands, else for all that only read. It allows their requests to the API
server, and no Secrets. With -n, it prints a Role in that namespace, and the rights
needed outside of it. It uses no cluster, and makes no binding.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos rights | kubectl apply -f -                  all commands that only read
  kubectl qos rights explain died | kubectl apply -f -
  kubectl qos rights -n shop                               a Role for one namespace
  kubectl qos rights fence unfence -o json                 with the right to patch Nodes

exit codes: 0 printed, 2 the command line is wrong
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("commands", nargs="*", type=_command, metavar="COMMAND", help=f"of {', '.join(ASKED)}")
    parser.add_argument(
        "--kubelets",
        action="store_true",
        help="with nodes/proxy: usage and configuration from the kubelets; users with it can run commands in every pod",
    )
    parser.add_argument("-n", "--namespace", action="append", default=[], help="the only namespace that may be read")
    add_output(parser, names=True)


def _command(text: str) -> str:
    if text not in ASKED:
        raise argparse.ArgumentTypeError(not_one_of(text, tuple(ASKED)))
    return text


def options(args: argparse.Namespace) -> RightsOptions:
    """The typed options."""
    from kubectl_plugin.options import RightsOptions

    namespace, *more = dict.fromkeys(args.namespace) or [""]
    if more:
        args.command_parser.error(f"-n {namespace} -n {more[0]}: only one namespace at a time\nRun it for each of them")
    if namespace and not is_plain_name(namespace):
        args.command_parser.error(f'"{namespace}" is not a valid namespace name')
    return RightsOptions(tuple(dict.fromkeys(args.commands)), args.kubelets, namespace, wanted_output(args))
