"""Flags and help of ``kubectl qos place``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kubectl_plugin.parsing.common import (
    add_common,
    add_dry_run_of_files,
    add_files,
    add_scheduler_config,
    add_validation,
    add_versions,
    cluster_options,
    dry_run_of_files,
    scheduler_config,
    validation,
    wants_colour,
)
from kubectl_plugin.parsing.output import add_output, wanted_output
from podrules.api.model.quantity import whole_number

if TYPE_CHECKING:
    from kubectl_plugin.options import PlaceOptions

MAX_REPLICAS: Final = 100_000
DESCRIPTION: Final = """\
Predicts where kube-scheduler would place pods that do not exist, on the current
or a changed cluster. Pods are placed one after the other; each counts for the next.
"""
EXAMPLES: Final = """\
examples:
  kubectl qos place deployment/web --replicas 3           do 3 more fit
  kubectl qos place -f deploy.yaml                        the replicas in the file
  kubectl qos place -f deploy.yaml --replicas max         how many fit
  kubectl qos place -f a.yaml -f b.yaml --no-preemption   two specs, in the order of priority
  kubectl qos place -f deploy.yaml --add-node like=node-a1,count=2
  kubectl qos place -f deploy.yaml --add-node name=big,cpu=32,memory=128Gi,zone=eu-1a
  kubectl qos place -f deploy.yaml --exclude-node node-a1 --without pod/old-0
  kubectl qos place --drain node/node-a1                  where its pods would be placed
  kubectl qos place --drain node-a1,node-b1 --one-by-one  an upgrade, node by node

exit codes: as for explain; 7: at least one requested pod certainly has no place;
            11: unknown, data that could not be read decide
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TYPE/NAME",
        help="one more pod of this workload, or like this pod; --replicas: this many more",
    )
    add_files(parser)
    add_validation(parser)
    add_dry_run_of_files(parser)
    parser.add_argument(
        "--replicas",
        type=_replicas,
        metavar="N",
        help="pods of each file's spec, instead of its own number; more pods of TYPE/NAME; max: as many as fit",
    )
    parser.add_argument(
        "--preemption",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether pods of lower priority may be preempted, as in kube-scheduler",
    )
    changes = parser.add_argument_group("what if")
    changes.add_argument(
        "--exclude-node",
        dest="exclude_nodes",
        type=_node_name,
        action="append",
        default=[],
        metavar="NAME",
        help="assume that this node and its pods do not exist; may be repeated, like all of these",
    )
    changes.add_argument(
        "--add-node",
        dest="add_nodes",
        action="append",
        default=[],
        metavar="SPEC",
        help=(
            "assume another node: like=NODE, name=, count=, zone=, cpu=, memory= or any resource, label=KEY=VALUE, "
            "taint=KEY=VALUE:EFFECT, with commas between them"
        ),
    )
    changes.add_argument(
        "--without",
        type=_pod_name,
        action="append",
        default=[],
        metavar="POD",
        help="assume that pod/NAME or NAMESPACE/NAME does not exist",
    )
    changes.add_argument(
        "--drain",
        type=_node_names,
        action="extend",
        default=[],
        metavar="NODE,…",
        help="assume that node/NAME is drained; several are cordoned together and drained in order, like kubectl drain",
    )
    changes.add_argument(
        "--one-by-one",
        action="store_true",
        help="each drained node is back before the next one is cordoned, as in an upgrade",
    )
    add_output(parser, wide=True, names=True)
    add_scheduler_config(parser)
    add_common(parser)
    add_versions(parser)


def options(args: argparse.Namespace) -> PlaceOptions:
    """The typed options.

    Raises:
        UsageError: they are inconsistent.
    """
    from kubectl_plugin.options import PlaceOptions

    if not args.targets and not args.files and not args.drain:
        args.command_parser.error("nothing to place\nName TYPE/NAME, a file with -f, or a node with --drain")
    if args.replicas is not None and not args.targets and not args.files:
        args.command_parser.error(
            "--replicas is for TYPE/NAME or a file: --drain places the existing pods of the node\n"
            "Name TYPE/NAME or a file with -f, or leave --replicas out"
        )
    drain = tuple(dict.fromkeys(args.drain))
    if both := [name for name in drain if name in args.exclude_nodes]:
        args.command_parser.error(
            f"--drain {both[0]}: --exclude-node already leaves out this node and its pods\n"
            "Name it with only one of the two flags"
        )
    if args.one_by_one and not drain:
        args.command_parser.error("--one-by-one is for drained nodes\nName them: --drain NODE,NODE")
    return PlaceOptions(
        targets=tuple(args.targets),
        files=tuple(args.files),
        validation=validation(args),
        dry_run=dry_run_of_files(args),
        replicas=args.replicas,
        exclude_nodes=tuple(args.exclude_nodes),
        add_nodes=tuple(args.add_nodes),
        without=tuple(args.without),
        drain=drain,
        one_by_one=args.one_by_one,
        preemption=args.preemption,
        output=wanted_output(args),
        colour=wants_colour(args),
        scheduler_config=scheduler_config(args),
        cluster=cluster_options(args),
    )


def _node_name(text: str) -> str:
    """``NAME`` of ``node/NAME``."""
    kind, slash, name = text.rpartition("/")
    if not name or (slash and kind not in {"node", "nodes", "no"}):
        raise argparse.ArgumentTypeError(f'"{text}": not a node\nWrite a node\'s name, or node/NAME')
    return name


def _node_names(text: str) -> list[str]:
    """Names with commas between them, each as `_node_name` takes it."""
    return [_node_name(name) for name in text.split(",")]


def _pod_name(text: str) -> str:
    """``pod/NAME`` or ``NAMESPACE/NAME``."""
    place, slash, name = text.partition("/")
    if not place or not slash or not name or "/" in name:
        advice = f"Write pod/{text} or NAMESPACE/{text}" if text and not slash else "Write pod/NAME or NAMESPACE/NAME"
        raise argparse.ArgumentTypeError(f'"{text}": not a pod\n{advice}')
    return f"pod/{name}" if place in {"pods", "po"} else text


def _replicas(text: str) -> int | str:
    """A number, or ``max``."""
    if text == "max":
        return text
    if not text.isascii() or not text.isdecimal() or not 0 < whole_number(text) <= MAX_REPLICAS:
        raise argparse.ArgumentTypeError(
            f'"{text}": not a number from 1 to {MAX_REPLICAS}\nWrite a number, or max for as many as fit'
        )
    return int(text)
