"""A pod with ``spec.nodeName``: no scheduler handles it, and the node's kubelet admits or refuses it.

    no such Node       pod garbage collection deletes the pod
    node is silent     the pod stays Pending: only its kubelet starts it
    claim unbound      the pod stays Pending, where nothing binds its claim (`claim_problems`)
    kubelet refuses    the pod ends as Failed, by the first of: pods, cpu, memory and other resources; node selector and
                       affinity; host ports; a NoExecute taint that it does not tolerate
    else               it runs there, whatever NoSchedule taints, cordons, topology spread and pod affinity say

For a critical pod the kubelet makes room. An extended resource that the node does not have at all is not asked for.

Source: pkg/scheduler/eventhandlers.go (assignedPod, AdmissionCheck), pkg/kubelet/lifecycle/predicate.go,
pkg/controller/podgc/gc_controller.go at v1.36.3.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from podrules.node.reachability import NodeReach
from podrules.pod.priority import is_critical_pod, is_static_pod
from podrules.pod.tolerations import NO_EXECUTE, tolerations_tolerate_taint
from podrules.scheduling.placement.outcome import NamedFate, NamedNode
from podrules.scheduling.placement.situation import Situation
from podrules.scheduling.scheduler.cycle import FilterResult, filter_nodes
from podrules.scheduling.scheduler.plugins.dynamic_resources.claims import is_extended_resource
from podrules.scheduling.scheduler.plugins.node_affinity import NodeAffinityPlugin
from podrules.scheduling.scheduler.plugins.node_ports import NodePorts
from podrules.scheduling.scheduler.plugins.node_resources.fit import NodeResourcesFit

_RESOURCES: Final = NodeResourcesFit()
_OTHERS: Final = (NodeAffinityPlugin(), NodePorts())


def named_node(situation: Situation, reach: NodeReach | None) -> NamedNode:
    """What becomes of a pod on the node that it names.

    Args:
        situation: The pod, before it is there, and the cluster.
        reach: Whether the node answers; None: that is not known.
    """
    name = situation.pod.spec.node_name
    row = situation.table.index.get(name)
    if row is None:
        return NamedNode(name, NamedFate.NO_NODE)
    if reach is not None and reach.reach.quiet:
        return NamedNode(name, NamedFate.SILENT)
    reason = _refused(situation, row)
    return NamedNode(name, NamedFate.REFUSED if reason else NamedFate.RUNS, reason)


def _refused(situation: Situation, row: int) -> str:
    """The first reason of the kubelet not to admit a pod, as its status has it; empty: it is admitted."""
    pod, plugins = situation.pod, (_RESOURCES, *_OTHERS)
    filtered = filter_nodes(
        pod,
        situation.table,
        # The kubelet does not know pods that are to come.
        replace(situation.snapshot, pods=()),
        features=situation.features,
        framework=replace(situation.framework, pre_filter=plugins, filter=plugins, args={}),
    )
    short = "" if is_critical_pod(pod) else _short_of(filtered, row)
    if short:
        return f"OutOf{short}"
    for plugin in _OTHERS:
        if not filtered.considered[row]:
            return NodeAffinityPlugin.name
        if plugin.name in filtered.plugins and not filtered.verdict(plugin.name, row).ok:
            return plugin.name
    taints = (taint for taint in situation.table.nodes[row].spec.taints if taint.effect == NO_EXECUTE)
    tolerated = is_static_pod(pod) or all(tolerations_tolerate_taint(pod.spec.tolerations, taint) for taint in taints)
    return "" if tolerated else "TaintToleration"


def _short_of(filtered: FilterResult, row: int) -> str:
    """The first resource that the node has too little of; empty: none."""
    context = filtered.context
    found = _RESOURCES.explain(context, context.states[_RESOURCES.name], row)
    wanting = (entry for entry in found if entry.allocatable or not is_extended_resource(entry.resource))
    return next((entry.resource for entry in wanting), "")
