"""The options of the commands that read a cluster: ``node``, ``partitions``, ``report``, ``snapshot``, ``versions``."""

from __future__ import annotations

import argparse
from typing import Final

from cluster_io.errors import UsageError
from kubectl_plugin.options import ClusterOptions, CommandOptions, Output, Selection, Validation
from kubectl_plugin.options.flag import combined, flag, switch, version
from kubectl_plugin.options.shared import (
    COLOUR,
    FILES,
    SCHEDULER_CONFIG,
    VALIDATION,
    WATCH,
    connection,
    file_to_write,
    output_flags,
    page_or_output,
    selection_flags,
)

_CONFIG_MAP: Final = "configmap/"
_NODE: Final = """\
Shows a node under pressure: what the kernel kills first when memory runs out,
which pod the kubelet evicts first and why, how close the first eviction is, and
the requests on the node. For several nodes, or all without a name, it prints
one line each: nodes with problems first, then the nodes nearest to an eviction.

Usage is read from the kubelet (permission: get nodes/proxy), else from a
metrics API. Without usage, the kernel's order is that of oom_score_adj only.

examples:
  kubectl qos node                        all nodes, one line each
  kubectl qos node node-1                 what is killed and evicted first
  kubectl qos node node-1 -o wide         every rank, signal and limit
  kubectl qos node -l topology.kubernetes.io/zone=eu-1a
  kubectl qos node node-a1 --demo         the built-in demo cluster

exit codes: as for explain
"""
_PARTITIONS: Final = """\
Lists silent nodes, the worst first: since when, what Kubernetes does
automatically and when, the pods on them (NodeDown, whatever their status says),
what each node blocks, and what to do. Changes nothing.

examples:
  kubectl qos partitions            all silent nodes
  kubectl qos partitions -o wide    with the pods that belong only to the node
  kubectl qos partitions --demo     the built-in demo cluster

exit codes: 0 listed, also if there are none; 1 unexpected; 2 wrong command
            line; 4 forbidden; 5 no cluster; 6 snapshot cannot be read; 11 not
            certain: what could not be read may change the answer;
            130 interrupted
"""
_REPORT: Final = """\
Lists problems in the cluster on the terminal; with -o FILE.html, it writes one
self-contained HTML page: requests and usage of each node, its kill and eviction
orders, zones and spread, priorities, disruption budgets, silent nodes, and
every pod with its explanation. Search, sort and filter; dark, light and for
print. The page contains names of your cluster: share it with the same care.

examples:
  kubectl qos report -A                              problems, on the terminal
  kubectl qos report -o report.html                  of your namespace
  kubectl qos report --all -o cluster.html           of all namespaces
  kubectl qos report node/node-1 -o node-1.html      one node and its pods
  kubectl qos report -f web.yaml --all -o web.html   future pods (page only)
  kubectl qos report --all --demo -o demo.html       the built-in demo cluster
  kubectl qos report --all -o json > old.json        for a later comparison
  kubectl qos report --all --compare old.json        changes since then

exit codes: 0 written, even if some objects could not be read (the page lists
            them); 1 it cannot be written; 2 wrong command line; 3 not found;
            4 forbidden; 5 no cluster; 6 manifest, snapshot or OLD.json cannot
            be read, or manifest refused; 11 written, but objects that could not
            be read may change the headline; 130 interrupted
"""
_SNAPSHOT: Final = """\
Captures the data that the rules need from a cluster in one small file, which
every command reads with --snapshot: to run commands without the cluster, to run
many of them, and for bug reports. It contains no Secrets, no environment
variables, and only annotations that rules read.

examples:
  kubectl qos snapshot -o cluster.qos                   everything you may list
  kubectl qos explain pod/web-0 --snapshot cluster.qos  as it was then
  kubectl qos snapshot -o report.qos --anonymise        names replaced
  kubectl qos snapshot -o report.qos --anonymise --snapshot cluster.qos
  kubectl qos snapshot -o - | ssh other "cat > c.qos"   through a pipe

exit codes: 0 written, even if some kinds could not be read (it lists them);
            1 it cannot be written; 2 wrong command line; 4 you may not read any
            of it; 5 no cluster; 6 snapshot cannot be read; 130 interrupted
"""
_VERSIONS: Final = """\
Lists the running versions of Kubernetes: API server, scheduler and kubelets.
With --to, it applies the rules of both versions and lists the changes for the
pods of the cluster: classes, requests, OOM scores, cgroups, eviction and kill
orders, and placements. Changes nothing.

examples:
  kubectl qos versions                        running versions, and their rules
  kubectl qos versions --to 1.37              changes by an upgrade to 1.37
  kubectl qos versions --to 1.37 -n shop      for the pods of one namespace
  kubectl qos versions --to 1.37 -o wide      with every rule that changes
  kubectl qos versions --to 1.37 --snapshot cluster.qos

exit codes: 0 listed, whether anything changes or not; 1 unexpected; 2 wrong
            command line; 3 no such namespace; 4 forbidden; 5 no cluster;
            6 snapshot cannot be read; 11 not certain: some placements could not
            be compared; 130 interrupted
"""


class NodeOptions(CommandOptions, command="node", words=_NODE):
    """``kubectl qos node``."""

    nodes: tuple[str, ...] = flag(completes="nodes", metavar="NODE", help="a node's name, or node/NAME; none: all")
    """``NODE`` or ``node/NODE``."""
    selection: Selection = selection_flags(fields="spec.unschedulable=true")
    """Selects among all nodes, if none is named."""
    output: Output = output_flags(wide=True, names=True)
    watch: float | None = WATCH
    """Seconds between two answers; None: one answer is enough."""
    kubelet_config = ClusterOptions.kubelet_config
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()
    kubernetes_version = ClusterOptions.kubernetes_version
    feature_gates = ClusterOptions.feature_gates

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        selection = Selection.read(args)
        if args.nodes and selection.flags:
            raise UsageError(
                f"{selection.flags} selects among all nodes, and {args.nodes[0]} names one",
                advice=f"Leave {selection.flags} or the name out",
            )


class PartitionsOptions(CommandOptions, command="partitions", words=_PARTITIONS):
    """``kubectl qos partitions``."""

    output: Output = output_flags(wide=True, names=True)
    watch: float | None = WATCH
    """Seconds between two answers; None: one answer is enough."""
    colour: bool = COLOUR
    cluster: ClusterOptions = connection()


class ReportOptions(CommandOptions, command="report", words=_REPORT):
    """``kubectl qos report``."""

    targets: tuple[str, ...] = flag(
        completes="pods and nodes",
        metavar="TYPE/NAME",
        help="pod/NAME or node/NAME, or a pod's NAME; none: the pods of the namespace",
    )
    """``pod/NAME`` and ``node/NAME``; empty: the pods of a namespace, or all."""
    output: Output = page_or_output("cluster.html")
    path: str | None = combined(lambda args: args.output if isinstance(args.output, str) else None)
    """The file of the HTML page, ``-`` for standard output; None: print in the format of ``output``."""
    compare: str | None = flag("--compare", metavar="OLD.json", help="compare with an earlier report from -o json")
    """The file of an earlier report to compare with; None: none."""
    everything: bool = switch("-A", "--all", "--all-namespaces", help="all namespaces")
    """Whether the report covers the pods of all namespaces."""
    selection: Selection = selection_flags()
    """Selects among those pods."""
    files: tuple[str, ...] = FILES
    validation: Validation = VALIDATION
    """The validation of ``files``."""
    scheduler_config: str | None = SCHEDULER_CONFIG
    """As in `ExplainOptions`."""
    colour: bool = COLOUR
    cluster: ClusterOptions = connection(lambda _: {"names_context": True})
    kubernetes_version = ClusterOptions.kubernetes_version
    feature_gates = ClusterOptions.feature_gates

    @classmethod
    def check(cls, args: argparse.Namespace) -> None:
        """Refuse inconsistent flags."""
        if args.everything and args.targets:
            raise UsageError("--all selects all pods", advice="Leave out --all or the names")
        if not isinstance(args.output, str) and args.files:
            raise UsageError("-f is for the HTML page", advice="Name the file to write: -o cluster.html")


def _config_map(text: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, slash, name = text.removeprefix(_CONFIG_MAP).partition("/")
    if not text.startswith(_CONFIG_MAP) or not slash or not namespace or not name or "/" in name:
        raise argparse.ArgumentTypeError(
            f'"{text}": not a ConfigMap\nWrite {_CONFIG_MAP}NAMESPACE/NAME; a file needs no capture'
        )
    return namespace, name


class SnapshotOptions(CommandOptions, command="snapshot", words=_SNAPSHOT):
    """``kubectl qos snapshot``."""

    path: str = file_to_write("cluster.qos")
    """``-``: standard output."""
    anonymise: bool = switch(
        "--anonymise",
        "--anonymize",
        help="replace names, equal names with equal ones; leave out messages, events, commands and devices",
    )
    scheduler_config: tuple[str, str] | None = flag(
        "--scheduler-config",
        type=_config_map,
        metavar="WHERE",
        help="also capture configmap/NAMESPACE/NAME; other ConfigMaps are never captured",
    )
    """Namespace and name of a ConfigMap to capture; None: none."""
    colour: bool = COLOUR
    cluster: ClusterOptions = connection(snapshot="a file from `kubectl qos snapshot`")


class VersionsOptions(CommandOptions, command="versions", words=_VERSIONS):
    """``kubectl qos versions``."""

    everywhere: bool = switch("-A", "--all-namespaces", help="pods of all namespaces (the default)")
    to: str | None = flag("--to", type=version, metavar="1.MINOR", help="the version to compare with")
    """The version to compare with; None: only the running versions are listed."""
    output: Output = output_flags(wide=True)
    scheduler_config: str | None = SCHEDULER_CONFIG
    """As in `ExplainOptions`."""
    colour: bool = COLOUR
    # As in kubectl, -A takes precedence.
    cluster: ClusterOptions = connection(lambda args: {"namespace": None} if args.everywhere else {})
    kubernetes_version = ClusterOptions.kubernetes_version
    feature_gates = ClusterOptions.feature_gates
