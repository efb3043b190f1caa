"""Flags and help of ``kubectl qos snapshot``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import add_common, cluster_options, wants_colour
from kubectl_plugin.parsing.output import add_file_to_write

if TYPE_CHECKING:
    from kubectl_plugin.options import SnapshotOptions

DESCRIPTION: Final = """\
Captures the data that the rules need from a cluster in one small file, which every
command reads with --snapshot: to run commands without the cluster, to run many of
them, and for bug reports. It contains no Secrets, no environment variables, and
only annotations that rules read.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos snapshot -o cluster.qos                      everything you may list
  kubectl qos explain pod/web-0 --snapshot cluster.qos     as it was then
  kubectl qos snapshot -o report.qos --anonymise           names replaced, for others to see
  kubectl qos snapshot -o report.qos --anonymise --snapshot cluster.qos
  kubectl qos snapshot -o c.qos --scheduler-config configmap/kube-system/kube-scheduler
  kubectl qos snapshot -o - | ssh other "cat > c.qos"      through a pipe

exit codes: 0 written, even if some kinds could not be read (it lists them);
            1 it cannot be written; 2 wrong command line; 4 you may not read any of it;
            5 no cluster; 6 snapshot cannot be read; 130 interrupted
"""
_CONFIG_MAP: Final = "configmap/"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_file_to_write(parser, "cluster.qos")
    parser.add_argument(
        "--anonymise",
        "--anonymize",
        action="store_true",
        help="replace names, equal names with equal ones; leave out messages, events, commands and devices",
    )
    parser.add_argument(
        "--scheduler-config",
        type=_config_map,
        metavar="WHERE",
        help="also capture configmap/NAMESPACE/NAME; other ConfigMaps are never captured",
    )
    add_common(parser, lists=False)


def options(args: argparse.Namespace) -> SnapshotOptions:
    """The typed options."""
    from kubectl_plugin.options import SnapshotOptions

    return SnapshotOptions(
        path=args.output,
        anonymise=args.anonymise,
        scheduler_config=args.scheduler_config,
        colour=wants_colour(args),
        cluster=cluster_options(args),
    )


def _config_map(text: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, slash, name = text.removeprefix(_CONFIG_MAP).partition("/")
    if not text.startswith(_CONFIG_MAP) or not slash or not namespace or not name or "/" in name:
        raise argparse.ArgumentTypeError(
            f'"{text}": not a ConfigMap\nWrite {_CONFIG_MAP}NAMESPACE/NAME; a file needs no capture'
        )
    return namespace, name
