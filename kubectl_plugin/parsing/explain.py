"""The words of ``kubectl qos explain``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_files,
    add_output,
    add_scheduler_config,
    add_watch,
    cluster_options,
    scheduler_config,
    wanted_output,
    wants_colour,
    watch_interval,
)

if TYPE_CHECKING:
    from kubectl_plugin.options import ExplainOptions

__all__ = ["DESCRIPTION", "EXAMPLES", "WAYS", "add", "options"]

WAYS: Final = ("delete", "drain", "preempt", "evict-hard", "evict-soft", "probe", "shutdown", "node-lost")
"""In which a pod may end. No rule is loaded for the command line: a test holds them against `podrules.timeline.Way`."""
DESCRIPTION: Final = """\
Explains a pod: its QoS class and why, its OOM score, what it asks for, its
cgroups, its priority, where the scheduler would put it and why not elsewhere,
how it stops, and what a force deletion would risk.
For a node: what it has promised. For a workload: the pod that it would make
next, and the pods that it has.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos explain pod/web-0                    one pod
  kubectl qos explain pod web-0 web-1 -n shop      two pods
  kubectl qos explain deployment/web               its template and its pods
  kubectl qos explain pod/web-0 --placement        where it would go if it came anew
  kubectl qos explain pod/web-0 --timeline         when it is told to stop, killed, gone, replaced
  kubectl qos explain pod/web-0 --timeline=drain   the same for one way: see --timeline
  kubectl qos explain node/node-1                  what a node has promised, and overcommits
  kubectl qos explain -f pod.yaml                  a manifest, before it is applied
  kubectl qos explain -f pod.yaml --on node-1      and when it would be killed or evicted there
  helm template . | kubectl qos explain -f -       standard input
  kubectl get nodes,pods,priorityclasses -A -o json > c.json
  kubectl qos explain pod/web-0 --snapshot c.json  without a cluster
  kubectl qos explain pod/db-1 --demo              the built-in demo cluster

exit codes: 0 explained; 1 unexpected; 2 wrong command line; 3 not found; 4 forbidden;
            5 no cluster; 6 manifest or snapshot cannot be read; 130 interrupted
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    parser.add_argument(
        "targets", nargs="*", metavar="TYPE/NAME", help="or TYPE NAME …, or TYPE for all of a namespace"
    )
    add_files(parser)
    add_output(parser, wide=True, name=True)
    add_watch(parser)
    parser.add_argument(
        "--placement",
        action=argparse.BooleanOptionalAction,
        help="where the scheduler would put a pod, and why not elsewhere; by default of pods that have no node",
    )
    add_scheduler_config(parser)
    parser.add_argument(
        "--timeline",
        metavar="WAY",
        choices=("all", *WAYS),
        help=f"when what happens to a pod: {', '.join(WAYS)}; without =WAY all of them (--timeline, --timeline=drain)",
    )
    parser.add_argument(
        "--on",
        metavar="NODE",
        type=_node_name,
        help="a pod that comes to this node: its place there when memory runs out; with --placement the likely node's",
    )
    sources = add_common(parser)
    sources.add_argument("--offline", action="store_true", help="with -f: ask no cluster; less is known then")


def _node_name(text: str) -> str:
    """``NODE`` or ``node/NODE``."""
    name = text.removeprefix("node/")
    if not name or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r}: write a node's name, or node/NAME")
    return name


def options(args: argparse.Namespace) -> ExplainOptions:
    """What was typed, as options; what cannot be meant ends the process with code 2."""
    from kubectl_plugin.options import ExplainOptions

    if not args.targets and not args.files:
        args.command_parser.error("nothing to explain: name a pod (pod/NAME), a node, a workload, or a file with -f")
    return ExplainOptions(
        targets=tuple(args.targets),
        files=tuple(args.files),
        output=wanted_output(args),
        colour=wants_colour(args),
        placement=args.placement,
        scheduler_config=scheduler_config(args),
        # Manifests alone can be explained without a cluster: less is known then, and said so.
        cluster=cluster_options(args, can_do_without=bool(args.files) and not args.targets),
        timeline=args.timeline,
        on=args.on,
        watch=watch_interval(args),
    )
