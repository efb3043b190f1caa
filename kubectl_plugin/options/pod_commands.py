"""The options of ``explain``, ``died`` and ``place``."""

from __future__ import annotations

import argparse
from typing import Final

from cluster_io.errors import UsageError
from kubectl_plugin.options import ClusterOptions, CommandOptions, Output, Selection, Validation
from kubectl_plugin.options.flag import CHANGES, flag, span, switch
from kubectl_plugin.options.shared import (
    ALL,
    COLOUR,
    DRY_RUN_OF_FILES,
    FILES,
    SCHEDULER_CONFIG,
    VALIDATION,
    WATCH,
    cluster_options,
    connection,
    grace_period_flag,
    output_flags,
    selection_flags,
)

WAYS: Final = ("delete", "drain", "preempt", "evict-hard", "evict-soft", "probe", "shutdown", "node-lost")
"""Ways in which a pod may end. A test compares them with `podrules.ending.timeline.Way`, which would load the rules."""
_GRACEFUL: Final = ("all", "delete", "drain")
"""Ways that take a grace period."""
MAX_REPLICAS: Final = 100_000
_EXPLAIN: Final = """\
Explains a pod: its QoS class, OOM score, requests, priority, placement, how it
stops, and the risk of a force deletion. Also explains nodes, workloads, claims,
budgets, quotas and priority classes. TYPE alone, or several targets, print one
line each, with -o wide a page each.

examples:
  kubectl qos explain pod/web-0               one pod; a name alone is a pod
  kubectl qos explain pods -l app=web         one line each
  kubectl qos explain pods -A --field-selector spec.nodeName=node-1
  kubectl qos explain pod/web-0 --placement   its node if it were recreated
  kubectl qos explain pod/web-0 --timeline=delete --grace-period=5
  kubectl qos explain deployment/web pdb/web  a workload, and its budget
  helm template . | kubectl qos explain -f -  manifests, before they are applied
  kubectl qos explain pod/db-1 --demo         the built-in demo cluster

exit codes: 0 explained; 1 unexpected; 2 wrong command line; 3 not found;
            4 forbidden; 5 no cluster; 6 manifest or snapshot cannot be read, or
            manifest refused; 11 not certain: what could not be read may change
            a headline; 130 interrupted
"""
_DIED: Final = """\
Shows what ended a pod or its containers last: the cause, its certainty, the
evidence, other possible causes and what would decide between them, what to do,
and whether a replacement runs. For removed pods, it uses the remaining
evidence.

Certain: only one cause fits the evidence. Likely: the evidence favours one
cause. A or B: the evidence for several is equal. Events expire after an hour.

examples:
  kubectl qos died pod/web-0          its last end, also after it was removed
  kubectl qos died deployment/web     its pods, including removed pods
  kubectl qos died node/node-1        all ends on a node
  kubectl qos died                    all of the namespace, in the last hour
  kubectl qos died -A --since 3h      all namespaces
  kubectl qos died -A --demo          the built-in demo cluster

exit codes: 0 certain, or nothing has ended; 1 unexpected; 2 wrong command line;
            3 pod, workload or node not found; 4 forbidden; 5 no cluster;
            6 snapshot cannot be read; 11 not certain; 12 no evidence remains;
            for several pods the highest of 0, 11 and 12; 130 interrupted
"""
_PLACE: Final = """\
Predicts where kube-scheduler would place pods that do not exist, on the current
or a changed cluster. Pods are placed one after the other; each counts for the
next.

examples:
  kubectl qos place deployment/web --replicas 3     do 3 more fit
  kubectl qos place -f deploy.yaml --replicas max   how many fit
  kubectl qos place -f deploy.yaml --add-node like=node-a1,count=2
  kubectl qos place -f deploy.yaml --add-node name=big,cpu=32,memory=128Gi
  kubectl qos place --drain node-a1,node-b1 --one-by-one   an upgrade

exit codes: as for explain; 7 at least one requested pod certainly has no place;
            11 unknown: data that could not be read decide
"""


def _named_node(text: str) -> str:
    """``NODE`` or ``node/NODE``."""
    name = text.removeprefix("node/")
    if not name or "/" in name:
        raise argparse.ArgumentTypeError(f'"{text}" is not the name of a node\nWrite a node\'s name, or node/NAME')
    return name


class ExplainOptions(CommandOptions, command="explain", words=_EXPLAIN):
    """``kubectl qos explain``."""

    targets: tuple[str, ...] = flag(
        completes="explained objects",
        metavar="TYPE/NAME",
        help="or TYPE NAME …, or TYPE alone, or a pod's NAME",
    )
    selection: Selection = selection_flags(everywhere=True)
    """Selects among the objects of types without names."""
    every: bool = ALL
    """Whether each object has its row; else healthy ones are counted."""
    files: tuple[str, ...] = FILES
    validation: Validation = VALIDATION
    """The validation of ``files``."""
    dry_run: bool = DRY_RUN_OF_FILES
    """Whether ``files`` are sent to the API server as a dry run."""
    output: Output = output_flags(wide=True, names=True)
    watch: float | None = WATCH
    """Seconds between two answers; None: one answer is enough."""
    placement: bool | None = flag(
        "--placement",
        action=argparse.BooleanOptionalAction,
        help="predict its node (default: if it has none)",
    )
    """Whether to predict the node; None: only for pods that have none."""
    scheduler_config: str | None = SCHEDULER_CONFIG
    """File or ``configmap/NAMESPACE/NAME`` with the KubeSchedulerConfiguration; None: kube-scheduler's defaults."""
    kubelet_config = ClusterOptions.kubelet_config
    timeline: str | None = flag(
        "--timeline",
        metavar="WAY",
        choices=("all", *WAYS),
        help=f"its end: {', '.join(WAYS)}; alone: all",
    )
    """The way of ending to show: a value of `podrules.ending.timeline.Way`, or ``all``; None: none."""
    grace_period: int | None = grace_period_flag("of --timeline=delete, drain (default: the pod's)")
    """Seconds that a DELETE of the timeline asks for; None: the pod's own period."""
    on: str | None = flag(
        "--on",
        completes="nodes",
        metavar="NODE",
        type=_named_node,
        help="in which order this node kills and evicts it",
    )
    """The node on which to predict a pod's position when memory runs out; None: none."""
    colour: bool = COLOUR
    # Only manifests can be explained without a cluster; the answer then says what is unknown.
    cluster: ClusterOptions = connection(
        lambda args: {"is_optional": bool(args.files) and not args.targets and args.dry_run == "none"}
    )
    kubernetes_version = ClusterOptions.kubernetes_version
    feature_gates = ClusterOptions.feature_gates
    offline = ClusterOptions.offline

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if not args.targets and not args.files and not Selection.read(args).flags:
            raise UsageError("nothing to explain", advice=_what_to_name(args))
        if args.offline and args.targets:
            raise UsageError(
                f"--offline needs -f: {args.targets[0]} is in a cluster",
                advice="Use --snapshot FILE or --demo, or leave --offline out",
            )
        if args.offline and not args.files:
            raise UsageError(
                "--offline needs -f", advice="Name a file with -f, use --snapshot FILE or --demo, or leave it out"
            )
        selection = Selection.read(args)
        if selection.flags and args.files:
            raise UsageError(
                f"{selection.flags} selects objects of a cluster, and -f names a file",
                advice=f"Leave {selection.flags} or -f out",
            )
        if args.grace_period is not None and args.timeline not in _GRACEFUL:
            raise UsageError(
                "--grace-period needs --timeline=delete or drain", advice="Add --timeline=delete, or leave it out"
            )


def _what_to_name(args: argparse.Namespace) -> str:
    """The advice without a target: all pods of a namespace may be meant."""
    if args.namespace:
        from kubectl_plugin.render.command import qos

        everything = cluster_options(args).target().line(qos("explain pods", namespace=args.namespace))
        if everything is not None:
            return f"Name one, or all: {everything}"
    return "Name a pod (pod/NAME), a node, a workload, or a file with -f"


def _since(text: str) -> float:
    """Seconds of ``--since``; 0 would select nothing."""
    if not (ago := span(text)):
        raise argparse.ArgumentTypeError(f'"{text}": must be more than 0\nWrite e.g. 30m')
    return ago


class DiedOptions(CommandOptions, command="died", words=_DIED):
    """``kubectl qos died``."""

    targets: tuple[str, ...] = flag(
        metavar="TYPE/NAME",
        help="pods, workloads or nodes; NAME alone is a pod",
    )
    """Empty: all pods of a namespace, or of all namespaces."""
    everywhere: bool = switch("-A", "--all-namespaces", help="all namespaces")
    every: bool = ALL
    """Whether each end has its row; else ends of one cause share one."""
    since: float | None = flag(
        "--since",
        type=_since,
        metavar="TIME",
        help="e.g. 30m (default: 1h; for named targets any time)",
    )
    """Seconds before now in which an end counts; None: any time for named objects, an hour for all others."""
    output: Output = output_flags(wide=True, names=True)
    kubelet_config = ClusterOptions.kubelet_config
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if args.targets and args.everywhere:
            raise UsageError(
                f"-A selects all pods, and {args.targets[0]} names one",
                advice="Leave -A or the name out; -n selects a namespace",
            )


def _node_name(text: str) -> str:
    """``NAME`` of ``node/NAME``."""
    kind, slash, name = text.rpartition("/")
    if not name or (slash and kind not in {"node", "nodes", "no"}):
        raise argparse.ArgumentTypeError(f'"{text}": not a node\nWrite a node\'s name, or node/NAME')
    return name


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
    from podrules.api.model.quantity import whole_number

    if not text.isascii() or not text.isdecimal() or not 0 < whole_number(text) <= MAX_REPLICAS:
        raise argparse.ArgumentTypeError(
            f'"{text}": not a number from 1 to {MAX_REPLICAS}\nWrite a number, or max for as many as fit'
        )
    return int(text)


class PlaceOptions(CommandOptions, command="place", words=_PLACE):
    """``kubectl qos place``; the changes are as typed."""

    targets: tuple[str, ...] = flag(
        completes="pods and workloads",
        metavar="TYPE/NAME",
        help="one more pod, or --replicas more pods, like these",
    )
    """Workloads and pods to add pods of, as typed."""
    files: tuple[str, ...] = FILES
    validation: Validation = VALIDATION
    """The validation of ``files``."""
    dry_run: bool = DRY_RUN_OF_FILES
    """Whether ``files`` are sent to the API server as a dry run."""
    replicas: int | str | None = flag(
        "--replicas",
        type=_replicas,
        metavar="N",
        help="how many pods to place; max: as many as fit",
    )
    """``max``: as many as fit; None: each file's own number, and one for each target."""
    preemption: bool = flag(
        "--preemption",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="evict pods of lower priority (default: yes)",
    )
    exclude_nodes: tuple[str, ...] = flag(
        "--exclude-node",
        group=CHANGES,
        completes="nodes",
        type=_node_name,
        action="append",
        metavar="NAME",
        help="without this node and its pods; may be repeated",
    )
    add_nodes: tuple[str, ...] = flag(
        "--add-node",
        group=CHANGES,
        action="append",
        metavar="SPEC",
        help="with another node, e.g. like=NODE,count=2: name=, zone=, cpu=, memory= or any resource, "
        "label=KEY=VALUE, taint=KEY=VALUE:EFFECT",
    )
    without: tuple[str, ...] = flag(
        "--without",
        group=CHANGES,
        completes="pods",
        type=_pod_name,
        action="append",
        metavar="POD",
        help="without pod/NAME or NAMESPACE/NAME",
    )
    drain: tuple[str, ...] = flag(
        "--drain",
        group=CHANGES,
        completes="nodes",
        type=lambda text: [_node_name(name) for name in text.split(",")],
        action="extend",
        read=lambda args: tuple(dict.fromkeys(args.drain)),
        metavar="NODE,…",
        help="drain these nodes in order, as kubectl drain does",
    )
    one_by_one: bool = switch(
        "--one-by-one",
        group=CHANGES,
        help="each node is back before the next is cordoned",
    )
    """Whether each drained node is back before the next is drained; else all are cordoned first."""
    output: Output = output_flags(wide=True, names=True)
    scheduler_config: str | None = SCHEDULER_CONFIG
    """As in `ExplainOptions`."""
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()
    kubernetes_version = ClusterOptions.kubernetes_version
    feature_gates = ClusterOptions.feature_gates

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if not args.targets and not args.files and not args.drain:
            raise UsageError("nothing to place", advice="Name TYPE/NAME, a file with -f, or a node with --drain")
        if args.replicas is not None and not args.targets and not args.files:
            raise UsageError(
                "--replicas is for TYPE/NAME or a file: --drain places the existing pods of the node",
                advice="Name TYPE/NAME or a file with -f, or leave --replicas out",
            )
        if both := [name for name in args.drain if name in args.exclude_nodes]:
            raise UsageError(
                f"--drain {both[0]}: --exclude-node already leaves out this node and its pods",
                advice="Name it with only one of the two flags",
            )
        if args.one_by_one and not args.drain:
            raise UsageError("--one-by-one is for drained nodes", advice="Name them: --drain NODE,NODE")
