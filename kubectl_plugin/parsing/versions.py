"""Flags and help of ``kubectl qos versions``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_scheduler_config,
    add_versions,
    cluster_options,
    scheduler_config,
    version,
    wants_colour,
)
from kubectl_plugin.parsing.output import add_output, wanted_output

if TYPE_CHECKING:
    from kubectl_plugin.options import VersionsOptions

DESCRIPTION: Final = """\
Lists the running versions of Kubernetes: API server, scheduler and kubelets.
With --to, it applies the rules of both versions and lists the changes for the
pods of the cluster: classes, requests, OOM scores, cgroups, eviction and kill
orders, and placements. Changes nothing.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos versions                        running versions, and the rules in use
  kubectl qos versions --to 1.37              changes by an upgrade to 1.37
  kubectl qos versions --to 1.37 -n shop      for the pods of one namespace
  kubectl qos versions --to 1.37 -o wide      with every rule that changes
  kubectl qos versions --to 1.37 --snapshot cluster.qos

exit codes: 0 listed, whether anything changes or not; 1 unexpected; 2 wrong command line;
            3 no such namespace; 4 forbidden; 5 no cluster; 6 snapshot cannot be read;
            11 not certain: some placements could not be compared; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="pods of all namespaces (the default)")
    parser.add_argument("--to", type=version, metavar="1.MINOR", help="the version to compare with")
    add_output(parser, wide=True)
    add_scheduler_config(parser)
    add_common(parser)
    add_versions(parser)


def options(args: argparse.Namespace) -> VersionsOptions:
    """The typed options."""
    from kubectl_plugin.options import VersionsOptions

    cluster = cluster_options(args)
    return VersionsOptions(
        to=args.to,
        output=wanted_output(args),
        colour=wants_colour(args),
        scheduler_config=scheduler_config(args),
        # As in kubectl, -A takes precedence.
        cluster=cluster._replace(namespace=None) if args.all_namespaces else cluster,
    )
