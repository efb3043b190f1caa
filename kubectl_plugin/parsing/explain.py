"""Flags and help of ``kubectl qos explain``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_dry_run_of_files,
    add_files,
    add_grace_period,
    add_kubelet_config,
    add_scheduler_config,
    add_validation,
    add_versions,
    add_watch,
    cluster_options,
    dry_run_of_files,
    grace_period,
    scheduler_config,
    validation,
    wants_colour,
    watch_interval,
)
from kubectl_plugin.parsing.output import add_output, wanted_output
from kubectl_plugin.parsing.selection import add_selection, selects, wanted_selection

if TYPE_CHECKING:
    from kubectl_plugin.options import ExplainOptions

__all__ = ["DESCRIPTION", "EXAMPLES", "WAYS", "add", "options"]

WAYS: Final = ("delete", "drain", "preempt", "evict-hard", "evict-soft", "probe", "shutdown", "node-lost")
"""Ways in which a pod may end. A test holds them against `podrules.ending.timeline.Way`, which would load the rules."""
_GRACEFUL: Final = ("all", "delete", "drain")
"""Ways that take a grace period."""
DESCRIPTION: Final = """\
Explains a pod: its QoS class and why, its OOM score, what it asks for, its
cgroups, its priority, where the scheduler would put it and why not elsewhere,
how it stops, and what a force deletion would risk.
For a node: what it has promised. For a workload: the pod that it would make
next, and the pods that it has. For a persistentvolumeclaim, poddisruptionbudget,
resourcequota or priorityclass: its pods, what it blocks, and what to change.
TYPE alone, or several targets, print one line each, a pod's with its node; with
-o wide they print a page each.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos explain pod/web-0                    one pod
  kubectl qos explain web-0                        the same: a name alone is a pod
  kubectl qos explain pod web-0 web-1 -n shop      two pods
  kubectl qos explain pods -l app=web              the pods with this label
  kubectl qos explain pods -A --field-selector status.phase=Pending
  kubectl qos explain pods -A --field-selector spec.nodeName=node-1   what runs on a node
  kubectl qos explain pod,deploy                   pods and deployments of a namespace
  kubectl qos explain pods -o wide                 a page for each
  kubectl qos explain deployment/web               its template and its pods
  kubectl qos explain pod/web-0 --placement        where it would go if it were created again
  kubectl qos explain pod/web-0 --timeline         when it gets SIGTERM, is killed, gone, replaced
  kubectl qos explain pod/web-0 --timeline=drain   the same for one way: see --timeline
  kubectl qos explain pod/web-0 --timeline=delete --grace-period=5   the same with 5 s
  kubectl qos explain node/node-1                  what a node has promised, and overcommits
  kubectl qos explain pvc/data-db-0 pdb/db         why a claim waits; what a budget holds
  kubectl qos explain quota/compute pc/high        whom a quota refuses; who has a class
  kubectl qos explain -f pod.yaml                  a manifest, before it is applied
  kubectl qos explain -f pod.yaml --on node-1      and when it would be killed or evicted there
  helm template . | kubectl qos explain -f -       standard input
  kubectl qos snapshot -o c.qos                    to explain it later, without the cluster
  kubectl qos explain pod/web-0 --snapshot c.qos
  kubectl qos explain pod/db-1 --demo              the built-in demo cluster

fields for -o custom-columns, among others (all of them: -o json):
  NAME:.name  NAMESPACE:.namespace  NODE:.status.node.name
  STATUS:.status.health.kubectlStatus  CLASS:.qos.qosClass  CODE:.verdict.code
  kubectl qos explain pods -o custom-columns=NAME:.name,NODE:.status.node.name,CODE:.verdict.code

exit codes: 0 explained; 1 unexpected; 2 wrong command line; 3 not found; 4 forbidden;
            5 no cluster; 6 manifest or snapshot cannot be read, or manifest refused;
            11 not certain: what could not be read may change a headline; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TYPE/NAME",
        help="or TYPE NAME …, TYPE for all of a namespace, several types with commas; NAME alone is a pod",
    )
    add_selection(parser)
    add_files(parser)
    add_validation(parser)
    add_dry_run_of_files(parser)
    add_output(parser, wide=True, names=True)
    add_watch(parser)
    parser.add_argument(
        "--placement",
        action=argparse.BooleanOptionalAction,
        help="where the scheduler would put a pod, and why not elsewhere; by default of pods that have no node",
    )
    add_scheduler_config(parser)
    add_kubelet_config(parser)
    parser.add_argument(
        "--timeline",
        metavar="WAY",
        choices=("all", *WAYS),
        help=f"when what happens to a pod: {', '.join(WAYS)}; without =WAY all of them (--timeline, --timeline=drain)",
    )
    add_grace_period(parser, "with --timeline=delete or drain: what the DELETE asks for; negative: the pod's own")
    parser.add_argument(
        "--on",
        metavar="NODE",
        type=_node_name,
        help="a pod that comes to this node: its place there when memory runs out; with --placement the likely node's",
    )
    sources = add_common(parser)
    add_versions(parser)
    sources.add_argument("--offline", action="store_true", help="with -f: ask no cluster; less is known then")


def _node_name(text: str) -> str:
    """``NODE`` or ``node/NODE``."""
    name = text.removeprefix("node/")
    if not name or "/" in name:
        raise argparse.ArgumentTypeError(f'"{text}" is not the name of a node\nWrite a node\'s name, or node/NAME')
    return name


def _what_to_name(args: argparse.Namespace) -> str:
    """Advice where nothing was named: all pods of a namespace may be meant."""
    if args.namespace:
        from kubectl_plugin.render.command import qos

        everything = cluster_options(args).target().line(qos("explain pods", namespace=args.namespace))
        if everything is not None:
            return f"Name one, or all: {everything}"
    return "Name a pod (pod/NAME), a node, a workload, or a file with -f"


def options(args: argparse.Namespace) -> ExplainOptions:
    """The options that were typed.

    Raises:
        UsageError: they do not fit together.
    """
    from kubectl_plugin.options import ExplainOptions

    parser: argparse.ArgumentParser = args.command_parser
    if not args.targets and not args.files and not selects(args):
        parser.error(f"nothing to explain\n{_what_to_name(args)}")
    if args.offline and args.targets:
        parser.error(
            f"--offline goes with -f only: {args.targets[0]} is in a cluster\n"
            "Use --snapshot FILE or --demo, or leave --offline out"
        )
    if args.offline and not args.files:
        parser.error("--offline goes with -f only\nName a file with -f, use --snapshot FILE or --demo, or leave it out")
    selection = wanted_selection(args)
    if selection.flags and args.files:
        parser.error(
            f"{selection.flags} chooses objects of a cluster, and -f names a file\nLeave {selection.flags} or -f out"
        )
    if args.grace_period is not None and args.timeline not in _GRACEFUL:
        parser.error("--grace-period goes with --timeline=delete or drain only\nAdd --timeline=delete, or leave it out")
    return ExplainOptions(
        targets=tuple(args.targets),
        selection=selection,
        files=tuple(args.files),
        validation=validation(args),
        dry_run=dry_run_of_files(args),
        output=wanted_output(args),
        colour=wants_colour(args),
        placement=args.placement,
        scheduler_config=scheduler_config(args),
        # Manifests alone can be explained without a cluster; the answer says what is unknown then.
        cluster=cluster_options(args, is_optional=bool(args.files) and not args.targets and args.dry_run == "none"),
        timeline=args.timeline,
        grace_period=grace_period(args),
        on=args.on,
        watch=watch_interval(args),
    )
