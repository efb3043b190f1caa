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

WAYS: Final = ("delete", "drain", "preempt", "evict-hard", "evict-soft", "probe", "shutdown", "node-lost")
"""Ways in which a pod may end. A test compares them with `podrules.ending.timeline.Way`, which would load the rules."""
_GRACEFUL: Final = ("all", "delete", "drain")
"""Ways that take a grace period."""
DESCRIPTION: Final = """\
Explains a pod: its QoS class and the reason, its OOM score, requests and limits,
cgroups, priority, where the scheduler would place it and why not elsewhere, how
it stops, and the risk of a force deletion.
For a node: its requests and overcommitment. For a workload: its next pod and its
existing pods. For a persistentvolumeclaim, poddisruptionbudget, resourcequota or
priorityclass: its pods, what it blocks, and what to change.
TYPE alone, or several targets, print one line each, for a pod with its node; with
-o wide they print a page each.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos explain pod/web-0                    one pod
  kubectl qos explain web-0                        the same: a name alone is a pod
  kubectl qos explain pod web-0 web-1 -n shop      two pods
  kubectl qos explain pods -l app=web              the pods with this label
  kubectl qos explain pods -A --field-selector status.phase=Pending
  kubectl qos explain pods -A --field-selector spec.nodeName=node-1   the pods on a node
  kubectl qos explain pod,deploy                   pods and deployments of a namespace
  kubectl qos explain pods -o wide                 a page for each
  kubectl qos explain deployment/web               its template and its pods
  kubectl qos explain pod/web-0 --placement        where it would be placed if it were recreated
  kubectl qos explain pod/web-0 --timeline         when it gets SIGTERM, is killed, removed, replaced
  kubectl qos explain pod/web-0 --timeline=drain   the same for one way: see --timeline
  kubectl qos explain pod/web-0 --timeline=delete --grace-period=5   the same with 5 s
  kubectl qos explain node/node-1                  requests on a node, and overcommitment
  kubectl qos explain pvc/data-db-0 pdb/db         why a claim waits; what a budget blocks
  kubectl qos explain quota/compute pc/high        pods that a quota refuses; pods of a class
  kubectl qos explain -f pod.yaml                  a manifest, before it is applied
  kubectl qos explain -f pod.yaml --on node-1      and its kill and eviction order there
  helm template . | kubectl qos explain -f -       standard input
  kubectl qos snapshot -o c.qos                    for later, without the cluster
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
        help="where the scheduler would place a pod, and why not elsewhere (default: only for pods without a node)",
    )
    add_scheduler_config(parser)
    add_kubelet_config(parser)
    parser.add_argument(
        "--timeline",
        metavar="WAY",
        choices=("all", *WAYS),
        help=f"the timeline of a pod's end: {', '.join(WAYS)}; without =WAY all of them (--timeline, --timeline=drain)",
    )
    add_grace_period(parser, "with --timeline=delete or drain: the grace period of the DELETE; negative: the pod's own")
    parser.add_argument(
        "--on",
        metavar="NODE",
        type=_node_name,
        help="the pod's place in the kill and eviction orders of this node; with --placement of the likely node",
    )
    sources = add_common(parser)
    add_versions(parser)
    sources.add_argument("--offline", action="store_true", help="with -f: use no cluster; the answer is shorter then")


def _node_name(text: str) -> str:
    """``NODE`` or ``node/NODE``."""
    name = text.removeprefix("node/")
    if not name or "/" in name:
        raise argparse.ArgumentTypeError(f'"{text}" is not the name of a node\nWrite a node\'s name, or node/NAME')
    return name


def _what_to_name(args: argparse.Namespace) -> str:
    """The advice without a target: all pods of a namespace may be meant."""
    if args.namespace:
        from kubectl_plugin.render.command import qos

        everything = cluster_options(args).target().line(qos("explain pods", namespace=args.namespace))
        if everything is not None:
            return f"Name one, or all: {everything}"
    return "Name a pod (pod/NAME), a node, a workload, or a file with -f"


def options(args: argparse.Namespace) -> ExplainOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import ExplainOptions

    parser: argparse.ArgumentParser = args.command_parser
    if not args.targets and not args.files and not selects(args):
        parser.error(f"nothing to explain\n{_what_to_name(args)}")
    if args.offline and args.targets:
        parser.error(
            f"--offline needs -f: {args.targets[0]} is in a cluster\n"
            "Use --snapshot FILE or --demo, or leave --offline out"
        )
    if args.offline and not args.files:
        parser.error("--offline needs -f\nName a file with -f, use --snapshot FILE or --demo, or leave it out")
    selection = wanted_selection(args)
    if selection.flags and args.files:
        parser.error(
            f"{selection.flags} selects objects of a cluster, and -f names a file\nLeave {selection.flags} or -f out"
        )
    if args.grace_period is not None and args.timeline not in _GRACEFUL:
        parser.error("--grace-period needs --timeline=delete or drain\nAdd --timeline=delete, or leave it out")
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
        # Only manifests can be explained without a cluster; the answer then says what is unknown.
        cluster=cluster_options(args, is_optional=bool(args.files) and not args.targets and args.dry_run == "none"),
        timeline=args.timeline,
        grace_period=grace_period(args),
        on=args.on,
        watch=watch_interval(args),
    )
