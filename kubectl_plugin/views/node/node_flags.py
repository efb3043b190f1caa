"""The state of a node on the cluster page: the row of each node and the summary of all nodes use the same flags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from kubectl_plugin.reports.cluster.cluster_entries import NodeEntry
from kubectl_plugin.reports.verdict import Severity, trouble_until
from kubectl_plugin.views.evictor_words import ahead_words, going_word, node_words, sign_words
from kubectl_plugin.views.node.node_page import full_words
from kubectl_plugin.views.node.pressure import EVICTING, pressure_names
from kubectl_plugin.views.words import counted, cut, listed, memory
from podrules.node.allocation import is_full, percent_of
from podrules.node.eviction.thresholds import NodeCondition
from podrules.node.pressure.usage import NEAR_LIMIT_PERCENT, Nearness, headroom_nearness
from podrules.node.reachability import OUT_OF_SERVICE

_MAX_NAMED: Final = 3
_OUT_OF_SERVICE: Final = re.compile(rf"{re.escape(OUT_OF_SERVICE)}[=:]")
"""Matches a taint with that key, with or without a value."""


class NodeMark(Enum):
    """The problems that a node can have, the worst first."""

    SILENT = "Silent"
    NOT_READY = "NotReady"
    FENCED = "Fenced"
    """It answers but is still declared out of service."""
    EVICTING = "Evicting"
    PRESSURE = "Pressure"
    OUT_OF_MEMORY = "OutOfMemory"
    """The kernel killed a process there within the last hour, because the whole node ran out of memory."""
    CLOSE_TO_EVICTION = "CloseToEviction"
    """So near that one process can cause it."""
    # From here on, the severity is notice.
    GOING = "Going"
    """An autoscaler, a drainer or the cloud removes or restarts it."""
    NEAR_EVICTION = "NearEviction"
    CPU_BEYOND = "CPUBeyond"
    """More is requested than is allocatable."""
    MEMORY_BEYOND = "MemoryBeyond"
    CPU_FULL = "CPUFull"
    MEMORY_FULL = "MemoryFull"
    PODS_FULL = "PodsFull"
    NEAR_LIMIT = "NearLimit"
    """A container there is near its own memory limit."""
    CORDONED = "Cordoned"


class NodeFlag(Struct, frozen=True):
    """One problem of one node."""

    mark: NodeMark
    words: str
    """The text for the row of the node."""

    @property
    def severity(self) -> Severity:
        """How urgent it is."""
        return _SEVERITIES[self.mark]


_SEVERITIES: Final = trouble_until(NodeMark.CLOSE_TO_EVICTION)
_NEAR: Final = {Nearness.CLOSE: NodeMark.CLOSE_TO_EVICTION, Nearness.NEAR: NodeMark.NEAR_EVICTION}


def node_flags(node: NodeEntry) -> tuple[NodeFlag, ...]:
    """All problems of a node, the worst first; empty if it is Ready and nothing is near its limit."""
    flags, by = [*_of_kubelet(node)], node.going
    if by is not None and not by.is_announced:
        flags.append(NodeFlag(NodeMark.GOING, going_word(by)))
    # Requests and limits of a silent node matter less.
    if not node.down:
        for name, promised, beyond, full in (
            ("cpu", node.cpu, NodeMark.CPU_BEYOND, NodeMark.CPU_FULL),
            ("memory", node.memory, NodeMark.MEMORY_BEYOND, NodeMark.MEMORY_FULL),
        ):
            over = promised.total > promised.allocatable
            if promised.allocatable and (over or is_full(promised.allocatable, promised.total)):
                words = f"{name} requests {percent_of(promised.total, promised.allocatable)}%"
                flags.append(NodeFlag(beyond if over else full, words))
        if is_full(node.max_pods, node.pods):
            flags.append(NodeFlag(NodeMark.PODS_FULL, "no room for a pod"))
        if node.near_limit:
            possessive = "its" if node.near_limit == 1 else "their"
            words = f"{counted(node.near_limit, 'container')} near {possessive} limit"
            flags.append(NodeFlag(NodeMark.NEAR_LIMIT, words))
    if node.unschedulable:
        flags.append(NodeFlag(NodeMark.CORDONED, "cordoned"))
    return tuple(flags)


def _of_kubelet(node: NodeEntry) -> Iterator[NodeFlag]:
    """Flags about silence, readiness and evictions."""
    if node.down:
        yield NodeFlag(NodeMark.SILENT, "silent")
        return
    if node.ready != "True":
        yield NodeFlag(NodeMark.NOT_READY, "not Ready" if node.ready else "no status")
    if node.ready in {"True", "False"} and any(_OUT_OF_SERVICE.match(taint) for taint in node.taints):
        yield NodeFlag(NodeMark.FENCED, "out of service still")
    if node.shortage is not None:
        yield NodeFlag(NodeMark.OUT_OF_MEMORY, "ran out of memory")
    level = node.nearest
    if level is not None and level.met:
        yield NodeFlag(NodeMark.EVICTING, "evicting")
    elif node.pressures:
        yield NodeFlag(NodeMark.PRESSURE, pressure_names(node.pressures))
    elif level is not None and (mark := _NEAR.get(headroom_nearness(level.percent, met=level.met))) is not None:
        yield NodeFlag(mark, "near eviction")


def node_state(node: NodeEntry) -> tuple[Severity, str]:
    """The severity of a node and the text of its row."""
    flags = node_flags(node)
    return (flags[0].severity, "; ".join(flag.words for flag in flags)) if flags else (Severity.FINE, "Ready")


def node_sentences(mark: NodeMark, nodes: Sequence[NodeEntry]) -> tuple[str, str]:
    """The summary of the nodes that have one mark: the fact and its meaning."""
    more = len(nodes) > 1
    name = counted(len(nodes), "node") if more else nodes[0].name
    match mark:
        case NodeMark.SILENT:
            return f"{name} {'are' if more else 'is'} silent.", "Unknown what still runs there."
        case NodeMark.NOT_READY:
            said = dict.fromkeys(cut(node.unready_message).rstrip(".") for node in nodes if node.unready_message)
            says = f" The kubelet says: {listed(list(said), _MAX_NAMED)}." if said else ""
            return f"{name} {'are' if more else 'is'} not Ready.", f"No pod is placed there.{says}"
        case NodeMark.FENCED:
            fact = (
                f"{name} {'answer' if more else 'answers'} again, and {'are' if more else 'is'} still out of service."
            )
            return fact, "Pods deleted there are removed at once while their processes may run: kubectl qos unfence."
        case NodeMark.GOING:
            by = [(node.name, node.going) for node in nodes if node.going]
            going = [f"{node_words(evictor, node)} ({sign_words(evictor)})" for node, evictor in by]
            evicted = ": its pods are evicted" if len(by) == 1 and by[0][1].evicts else ""
            ahead = listed([*dict.fromkeys(ahead_words(evictor) for _, evictor in by)])
            return f"{name} {'are' if more else 'is'} {ahead}.", f"{listed(going, _MAX_NAMED)}{evicted}."
        case NodeMark.EVICTING:
            return f"{name} {'are' if more else 'is'} under pressure.", "The kubelet evicts pods there now."
        case NodeMark.PRESSURE:
            kinds = [kind for kind in NodeCondition if any(kind in node.pressures for node in nodes)]
            return f"{name} {'are' if more else 'is'} under {pressure_names(kinds)}.", f"There {EVICTING}."
        case NodeMark.OUT_OF_MEMORY:
            kills = [
                f"{kill.process or 'a process'} on {node.name} ({kill.reason})"
                for node in nodes
                if (kill := node.shortage) is not None
            ]
            return f"{name} ran out of memory within the last hour.", f"The kernel killed {listed(kills, _MAX_NAMED)}."
        case NodeMark.CLOSE_TO_EVICTION | NodeMark.NEAR_EVICTION:
            return f"{name} {'are' if more else 'is'} near an eviction.", _nearest(nodes)
        case NodeMark.NEAR_LIMIT:
            containers = counted(sum(node.near_limit for node in nodes), "container")
            meaning = f"Working set at {NEAR_LIMIT_PERCENT}% or more: at the limit the kernel kills it."
            return f"{name}: {containers} near the limit.", meaning
        case NodeMark.CPU_BEYOND | NodeMark.MEMORY_BEYOND:
            resource = "cpu" if mark is NodeMark.CPU_BEYOND else "memory"
            of_each = [(node.name, node.cpu if mark is NodeMark.CPU_BEYOND else node.memory) for node in nodes]
            shares = [
                f"{f'{node_name} ' if more else ''}{percent_of(each.total, each.allocatable)}%"
                for node_name, each in of_each
            ]
            return (
                f"{name}: {resource} requests over 100%.",
                f"{listed(shares, _MAX_NAMED)} of allocatable.",
            )
        case NodeMark.CPU_FULL | NodeMark.MEMORY_FULL:
            resource = "cpu" if mark is NodeMark.CPU_FULL else "memory"
            meaning = f"All allocatable {resource} is requested: {full_words([resource])}."
            return f"{name}: no {resource} left to request.", meaning
        case NodeMark.PODS_FULL:
            return f"{name}: as many pods as the kubelet allows.", "No other pod fits, whatever it requests."
        case NodeMark.CORDONED:
            return f"{name} {'are' if more else 'is'} cordoned.", "No new pod is placed there."


def _nearest(nodes: Sequence[NodeEntry]) -> str:
    """The headroom of each node, the nearest first."""
    levels = sorted(((node.nearest, node.name) for node in nodes if node.nearest), key=lambda one: one[0].percent)
    shown = [
        f"{f'{name}: ' if len(levels) > 1 else ''}{memory(level.left)} ({level.percent}%) left until "
        f"{level.signal.value} is met"
        for level, name in levels[:_MAX_NAMED]
    ]
    rest = len(levels) - len(shown)
    return f"{'; '.join(shown)}{f'; and {rest} more' if rest else ''}."
