"""Whether more pods of what the cluster has would fit, in words: the answer first, then what goes before them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_plugin.reports.plan import PlanReport
from kubectl_plugin.views.placement import why_no_node
from kubectl_plugin.views.words import counted, listed
from podrules.cluster.kinds import find_kind
from podrules.placement.planned import PlannedSpec

__all__ = ["more_words", "row_name", "suspended_words"]

_SHOWN_NODES = 4


def more_words(report: PlanReport) -> Iterator[str]:
    """Of each workload or pod that was named; nothing where none was."""
    for spec in report.specs:
        if spec.origin == "more":
            yield _answer(spec, report.silent)
            if spec.stopped is not None:
                yield from why_no_node(spec.stopped, drained=report.what_if.drained)
            yield from suspended_words(spec)
    yield from _pending_words([spec for spec in report.specs if spec.origin == "pending"])


def row_name(spec: PlannedSpec) -> str:
    """Of a spec in a table: a pod that waits is another than those that are asked for."""
    if spec.origin == "pending":
        return f"{spec.name} (pending)"
    return f"like {spec.name}" if spec.origin == "more" and spec.name.startswith("pod/") else spec.name


def suspended_words(spec: PlannedSpec) -> Iterator[str]:
    """That a spec's controller makes nothing for now."""
    if spec.suspended:
        yield f"{spec.name} is suspended (spec.suspend): it makes no pod before it is resumed."


def _answer(spec: PlannedSpec, silent: Sequence[str]) -> str:
    """``Yes: 3 of 3 more pods of Deployment web fit: 2 on node-b1 and 1 on node-a2.``."""
    of, nodes = _of(spec), listed([f"{count} on {node}" for node, count in spec.nodes.items()], most=_SHOWN_NODES)
    cost = f", preempting {counted(len(spec.victims), 'pod')}" if spec.victims else ""
    where = f": {nodes}{cost}" if nodes else ""
    next_one = " The next does not." if spec.stopped is not None and spec.placed else ""
    fit = "fits" if spec.placed == 1 else "fit"
    if spec.wanted is None:
        return f"{counted(spec.placed, 'more pod')} {of} {fit}{where or ' now'}.{next_one}"
    if spec.placed < spec.wanted:
        if spec.wanted == 1:
            return f"No: 1 more pod {of} does not fit now."
        return f"No: {spec.placed} of {counted(spec.wanted, 'more pod')} {of} {fit} now{where}.{next_one}"
    # What goes to a node that does not answer has a place, and does not start.
    yes = "" if any(node in silent for node in spec.nodes) else "Yes: "
    if spec.wanted == 1:
        return f"{yes}1 more pod {of} fits, on {next(iter(spec.nodes))}{cost}."
    return f"{yes}{spec.placed} of {counted(spec.wanted, 'more pod')} {of} fit{where}."


def _of(spec: PlannedSpec) -> str:
    word, _, name = spec.name.partition("/")
    kind = find_kind(word)
    return f"like {name}" if word == "pod" else f"of {kind.kind if kind is not None else word} {name}"


def _pending_words(specs: Sequence[PlannedSpec]) -> Iterator[str]:
    if len(specs) == 1:
        (spec,) = specs
        name = spec.name.removeprefix("pod/")
        goes = f"to {next(iter(spec.nodes))}" if spec.placed else "and does not fit either"
        yield f"{name} is pending already and goes first, {goes}."
    elif specs:
        placed = sum(spec.placed for spec in specs)
        fit = "fits" if placed == 1 else "fit"
        yield f"{len(specs)} of its pods are pending already and go first: {placed} of {len(specs)} {fit}."
