"""Flags and help of ``kubectl qos report``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_files,
    add_scheduler_config,
    add_validation,
    add_versions,
    cluster_options,
    scheduler_config,
    validation,
    wants_colour,
)
from kubectl_plugin.parsing.output import add_page_or_output
from kubectl_plugin.parsing.selection import add_selection, wanted_selection

if TYPE_CHECKING:
    from kubectl_plugin.options import ReportOptions

DESCRIPTION: Final = """\
Lists problems in the cluster on the terminal; with -o FILE.html, it writes one
self-contained HTML page: requests and usage of each node, its kill and eviction
orders, zones and spread, priorities, disruption budgets, silent nodes, and every
pod with its explanation. Search, sort and filter; dark, light and for print. The
page contains names of your cluster: share it with the same care.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos report -A                              problems, on the terminal
  kubectl qos report -o report.html                  pods of your namespace, all nodes
  kubectl qos report -n shop -o shop.html            of another namespace
  kubectl qos report --all -o cluster.html           of all namespaces
  kubectl qos report -l app=web -o web.html          pods with this label, their nodes
  kubectl qos report node/node-1 -o node-1.html      one node and its pods
  kubectl qos report pod/web-0 pod/web-1 -o web.html
  kubectl qos report -f web.yaml --all -o web.html   future pods (page only)
  kubectl qos report --all --snapshot c.qos -o c.html
  kubectl qos report --all --demo -o demo.html       the built-in demo cluster
  kubectl qos report --all -o - | gzip > c.html.gz
  kubectl qos report --all -o json > old.json        for a later comparison
  kubectl qos report --all --compare old.json        changes since then
  kubectl qos report --all --compare old.json -o new.html

exit codes: 0 written, even if some objects could not be read (the page lists them);
            1 it cannot be written; 2 wrong command line; 3 not found; 4 forbidden;
            5 no cluster; 6 manifest, snapshot or OLD.json cannot be read,
            or manifest refused; 11 written, but objects that could not be read may
            change the headline; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TYPE/NAME",
        help="pod/NAME or node/NAME, or a pod's NAME; none: the pods of the namespace",
    )
    add_page_or_output(parser, "cluster.html")
    parser.add_argument("--compare", metavar="OLD.json", help="compare with an earlier report from -o json")
    parser.add_argument(
        "-A", "--all", "--all-namespaces", dest="everything", action="store_true", help="all namespaces"
    )
    add_selection(parser, all_namespaces=False)
    add_files(parser)
    add_validation(parser)
    add_scheduler_config(parser)
    add_common(parser)
    add_versions(parser)


def options(args: argparse.Namespace) -> ReportOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import Output, ReportOptions

    if args.everything and args.targets:
        args.command_parser.error("--all selects all pods\nLeave out --all or the names")
    page = args.output if isinstance(args.output, str) else None
    if page is None and args.files:
        args.command_parser.error("-f is for the HTML page\nName the file to write: -o cluster.html")
    return ReportOptions(
        targets=tuple(args.targets),
        everything=args.everything,
        selection=wanted_selection(args),
        files=tuple(args.files),
        validation=validation(args),
        path=page,
        output=Output() if page is not None else args.output,
        compare=args.compare,
        scheduler_config=scheduler_config(args),
        colour=wants_colour(args),
        cluster=cluster_options(args)._replace(names_context=True),
    )
