"""The sentences about a DaemonSet's nodes: pending pods first, then the nodes that get no pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.views.scheduling.changes import ways_out, ways_sentence
from kubectl_plugin.views.scheduling.placement import alike_joined, rejected_phrases, why_no_node
from kubectl_plugin.views.scheduling.plan_more import paid_words
from kubectl_plugin.views.scheduling.scheduler_plugins import fact_words, rejection_words
from kubectl_plugin.views.words import counted, listed
from podrules.scheduling.placement.outcome import RejectedGroup
from podrules.scheduling.placement.planned import DaemonNodes, PlannedSpec

_SHOWN_NAMES = 3
_SHOWN_ROWS = 10


def daemon_words(spec: PlannedSpec, *, drained: Sequence[str] = ()) -> Iterator[str]:
    """The sentences for a verdict on a DaemonSet's pods, with the nodes that are being drained."""
    if spec.daemon is not None:
        yield from stuck_words(spec, drained=drained)
        yield from _nodes_words(spec, spec.daemon)


def _nodes_words(spec: PlannedSpec, daemon: DaemonNodes) -> Iterator[str]:
    """``daemonset/agent runs on 8 of 12 nodes, on 7 already.``, then the nodes without a pod and the pods that go."""
    # The nodes on which it would make no pod but keeps the existing one.
    staying = {node.node for group in daemon.without for node in group.nodes}.intersection(daemon.kept)
    on, kept = len({*spec.nodes, *daemon.kept} - staying), len({*daemon.kept} - staying)
    nodes = daemon.eligible + sum(group.count for group in daemon.without)
    where = f"{on} of {counted(nodes, 'node')}"
    if not on:
        where = f"none of {counted(nodes, 'node')}"
    elif on == nodes > 1:
        where = f"all {counted(nodes, 'node')}"
    if kept == on and kept:
        yield f"{spec.name} has its {'pod' if kept == 1 else 'pods'} on {where} already."
    else:
        already = f", on {kept} already" if kept and spec.origin == "more" else ""
        paid = f", {paid_words([spec])}" if spec.victims else ""
        others = counted(len(staying), "pod")
        stay = f"; it keeps {others} on other nodes until a rollout deletes them" if staying else ""
        yield f"{spec.name} runs on {where}{already}{paid}{stay}."
    if daemon.without:
        count = sum(group.count for group in daemon.without)
        new = "new pod" if staying else "pod"
        groups = alike_joined(daemon.without)
        why = listed([phrase for group in groups for phrase in rejected_phrases(group)])
        if count <= _SHOWN_NAMES and len(groups) == 1:
            why = f"{_names(groups[0])} {_verb(groups[0])}"
        yield f"1 node gets no {new}: {why}." if count == 1 else f"{count} nodes get no {new}: {why}."
    if daemon.removed:
        where = listed(daemon.removed, most=_SHOWN_NAMES)
        yield f"Its controller deletes its {'pod' if len(daemon.removed) == 1 else 'pods'} on {where}."
    there = spec.there - len(staying)
    if there > 0 and spec.origin == "manifest":
        # On a node that gets a new pod, the existing one goes: after it with maxSurge, else before it.
        surges = any(node in spec.nodes for node in daemon.kept)
        if there == 1:
            goes = "is deleted once the new one is there (maxSurge)" if surges else "makes room for the new one"
        else:
            goes = "are deleted once the new ones are there (maxSurge)" if surges else "make room for the new ones"
        yield f"It has {counted(there, 'pod')} already, which {goes}."


def stuck_words(spec: PlannedSpec, *, drained: Sequence[str] = ()) -> Iterator[str]:
    """Which of its pods stay pending, and why; empty if none does."""
    wanted = spec.wanted or 0
    missing, pending = wanted - spec.placed, spec.stopped
    if not missing or pending is None:
        return
    stay = "does not run" if pending.named is not None else "stays pending" if missing == 1 else "stay pending"
    lead = f"{missing} of {counted(wanted, 'pod')} of {spec.name} {stay}"
    if not pending.rejected or not all(group.nodes for group in pending.rejected):
        yield " ".join((f"{lead}.", *why_no_node(pending, drained=drained)))
        return
    why = listed([f"{_names(group)} {_verb(group)}" for group in alike_joined(pending.rejected)], most=_SHOWN_NAMES)
    yield " ".join((f"{lead}: {why}.", *ways_sentence(ways_out(pending, drained=drained))))


def daemon_parts(spec: PlannedSpec, *, wide: bool) -> Iterator[Section | Table]:
    """The parts for the page of its pod; the verdict there shows pending pods. ``wide`` adds each node."""
    if spec.daemon is not None:
        yield Section("Nodes", tuple(_nodes_words(spec, spec.daemon)))
    if wide:
        yield from daemon_tables(spec, wide=True)


def daemon_tables(spec: PlannedSpec, *, wide: bool) -> Iterator[Table]:
    """The nodes with pending pods and the nodes without a pod; ``wide`` shows all."""
    if spec.daemon is None:
        return
    pending = spec.stopped.rejected if spec.stopped is not None else ()
    stuck: list[tuple[str, ...]] = []
    for group, node, words in _each(pending):
        stuck.append((node, group.plugin, f"{', '.join(group.reasons)}{f': {words}' if words else ''}"))
    without: list[tuple[str, ...]] = []
    for group, node, words in _each(spec.daemon.without):
        without.append((node, words or rejection_words(group, one=True)))
    for title, headings, rows in (
        (f"Pods of {spec.name} that stay pending", ("node", "plugin", "reason"), stuck),
        (f"Nodes without a pod of {spec.name}", ("node", "why"), without),
    ):
        shown = rows if wide or len(rows) <= _SHOWN_ROWS + 1 else rows[:_SHOWN_ROWS]
        if len(rows) > len(shown):
            shown.append((f"and {len(rows) - len(shown)} more (-o wide)",))
        if shown:
            yield Table(title, headings, tuple(shown))


def _each(groups: tuple[RejectedGroup, ...]) -> Iterator[tuple[RejectedGroup, str, str]]:
    return ((group, node.node, fact_words(node)) for group in groups for node in group.nodes)


def _names(group: RejectedGroup) -> str:
    return listed([node.node for node in group.nodes], most=_SHOWN_NAMES)


def _verb(group: RejectedGroup) -> str:
    return rejection_words(group, one=len(group.nodes) == 1)
