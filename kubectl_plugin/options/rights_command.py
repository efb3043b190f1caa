"""The options of ``rights``. Apart, because it loads the requests of all commands."""

from __future__ import annotations

import argparse
from typing import Final

from cluster_io.errors import UsageError
from kubectl_plugin.options import CommandOptions, Output
from kubectl_plugin.options.flag import flag, switch
from kubectl_plugin.options.shared import output_flags
from kubectl_plugin.options.similar_words import not_one_of
from kubectl_plugin.reports.rights import ASKED
from podrules.api.names import is_plain_name

_RIGHTS: Final = """\
Prints the ClusterRole that commands need, for an administrator to apply: for
the named commands, else for all that only read. It allows their requests to the
API server, and no Secrets. With -n, it prints a Role in that namespace, and the
rights needed outside of it. It uses no cluster, and makes no binding.

examples:
  kubectl qos rights | kubectl apply -f -    all commands that only read
  kubectl qos rights explain died | kubectl apply -f -
  kubectl qos rights -n shop                 a Role for one namespace
  kubectl qos rights fence unfence -o json   with the right to patch Nodes

exit codes: 0 printed, 2 the command line is wrong
"""


def _command(text: str) -> str:
    if text not in ASKED:
        raise argparse.ArgumentTypeError(not_one_of(text, tuple(ASKED)))
    return text


class RightsOptions(CommandOptions, command="rights", words=_RIGHTS):
    """``kubectl qos rights``."""

    commands: tuple[str, ...] = flag(
        type=_command,
        read=lambda args: tuple(dict.fromkeys(args.commands)),
        metavar="COMMAND",
        help=f"of {', '.join(ASKED)}",
    )
    """Empty: the commands that only read."""
    kubelets: bool = switch(
        "--kubelets",
        help="with nodes/proxy: usage and configuration from the kubelets; users with it can run commands in every pod",
    )
    namespace: str = flag(
        "-n",
        "--namespace",
        completes="namespaces",
        action="append",
        read=lambda args: next(iter(args.namespace), ""),
        help="the only namespace that may be read",
    )
    """The only namespace that may be read; empty: all may be read."""
    output: Output = output_flags(names=True)

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        namespace, *more = dict.fromkeys(args.namespace) or [""]
        if more:
            raise UsageError(
                f"-n {namespace} -n {more[0]}: only one namespace at a time", advice="Run it for each of them"
            )
        if namespace and not is_plain_name(namespace):
            raise UsageError(
                f'"{namespace}" is not a valid namespace name', advice="Flags and examples: kubectl qos rights --help"
            )
