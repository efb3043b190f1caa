"""The sentences about a DaemonSet's nodes: pending pods first, then the nodes that get no pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_plugin.render.page import Section, Table
from kubectl_plugin.views.scheduling.changes import ways_out
from kubectl_plugin.views.scheduling.placement import alike_joined, rejected_phrases, why_no_node
from kubectl_plugin.views.scheduling.plan_more import paid_words
from kubectl_plugin.views.scheduling.scheduler_plugins import fact_words, rejection_words
from kubectl_plugin.views.words import counted, listed
from podrules.scheduling.placement.outcome import RejectedGroup
from podrules.scheduling.placement.planned import DaemonNodes, PlannedSpec

_SHOWN_NAMES = 3
_SHOWN_ROWS = 10


def daemon_words(spec: PlannedSpec, *, drained: Sequence[str] = ()) -> Iterator[str]:
    """The sentences for a verdict.

    Args:
        spec: The pods of a DaemonSet.
        drained: The nodes that are being drained.
    """
    if spec.daemon is None:
        return
    yield from stuck_words(spec, drained=drained)
    yield from _nodes_words(spec, spec.daemon)


def _nodes_words(spec: PlannedSpec, daemon: DaemonNodes) -> Iterator[str]:
    yield _runs(spec, daemon)
    if daemon.without:
        # ``4 nodes get no pod: 3 have taints that it does not tolerate and 1 does not match its node selector``.
        count = sum(group.count for group in daemon.without)
        new = "new pod" if _staying(daemon) else "pod"
        lead = f"1 node gets no {new}" if count == 1 else f"{count} nodes get no {new}"
        groups = alike_joined(daemon.without)
        if count <= _SHOWN_NAMES and len(groups) == 1:
            (only,) = groups
            without = f"{lead}: {_names(only)} {_verb(only)}"
        else:
            without = f"{lead}: {listed([phrase for group in groups for phrase in rejected_phrases(group)])}"
        yield f"{without}."
    if daemon.removed:
        where = listed(daemon.removed, most=_SHOWN_NAMES)
        yield f"Its controller deletes its {'pod' if len(daemon.removed) == 1 else 'pods'} on {where}."
    there = spec.there - len(_staying(daemon))
    if there > 0 and spec.origin == "manifest":
        # What happens to existing pods on nodes that get new ones.
        one = there == 1
        if any(node in spec.nodes for node in daemon.kept):
            replaced = (
                "is deleted once the new one is there (maxSurge)"
                if one
                else "are deleted once the new ones are there (maxSurge)"
            )
        else:
            replaced = "makes room for the new one" if one else "make room for the new ones"
        yield f"It has {counted(there, 'pod')} already, which {replaced}."


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
    ways = ways_out(pending, drained=drained)
    if not ways:
        ways = ""
    else:
        *others, last = ways
        ways = f" Ways out: {'; '.join(others)}; or {last}." if others else f" Way out: {last}."
    yield f"{lead}: {why}.{ways}"


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
    rows = [(node, group.plugin, f"{', '.join(group.reasons)}{_more(words)}") for group, node, words in _each(pending)]
    yield from _table(f"Pods of {spec.name} that stay pending", ("node", "plugin", "reason"), rows, wide=wide)
    others = [(node, words or rejection_words(group, one=True)) for group, node, words in _each(spec.daemon.without)]
    yield from _table(f"Nodes without a pod of {spec.name}", ("node", "why"), others, wide=wide)


def _table(
    title: str, headings: tuple[str, ...], rows: list[tuple[str, str, str]] | list[tuple[str, str]], *, wide: bool
) -> Iterator[Table]:
    shown: list[tuple[str, ...]] = [*rows] if wide or len(rows) <= _SHOWN_ROWS + 1 else [*rows[:_SHOWN_ROWS]]
    if len(rows) > len(shown):
        shown.append((f"and {len(rows) - len(shown)} more (-o wide)",))
    if shown:
        yield Table(title, headings, tuple(shown))


def _each(groups: tuple[RejectedGroup, ...]) -> Iterator[tuple[RejectedGroup, str, str]]:
    return ((group, node.node, fact_words(node)) for group in groups for node in group.nodes)


def _more(words: str) -> str:
    return f": {words}" if words else ""


def _names(group: RejectedGroup) -> str:
    return listed([node.node for node in group.nodes], most=_SHOWN_NAMES)


def _verb(group: RejectedGroup) -> str:
    return rejection_words(group, one=len(group.nodes) == 1)


def _runs(spec: PlannedSpec, daemon: DaemonNodes) -> str:
    """``daemonset/agent runs on 8 of 12 nodes, on 7 already``, as a sentence."""
    staying = _staying(daemon)
    on, kept = len({*spec.nodes, *daemon.kept} - staying), len({*daemon.kept} - staying)
    nodes = daemon.eligible + sum(group.count for group in daemon.without)
    where = f"{on} of {counted(nodes, 'node')}"
    if not on:
        where = f"none of {counted(nodes, 'node')}"
    elif on == nodes > 1:
        where = f"all {counted(nodes, 'node')}"
    paid = f", {paid_words([spec])}" if spec.victims else ""
    if kept == on and kept:
        return f"{spec.name} has its {'pod' if kept == 1 else 'pods'} on {where} already."
    already = f", on {kept} already" if kept and spec.origin == "more" else ""
    others = counted(len(staying), "pod")
    stay = f"; it keeps {others} on other nodes until a rollout deletes them" if staying else ""
    return f"{spec.name} runs on {where}{already}{paid}{stay}."


def _staying(daemon: DaemonNodes) -> set[str]:
    """The nodes on which it would make no pod but keeps the existing one."""
    return {node.node for group in daemon.without for node in group.nodes}.intersection(daemon.kept)
