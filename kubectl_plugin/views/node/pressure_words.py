"""The sentences about a pod on a node that reports pressure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_plugin.reports.node.node_facts import NodeFacts
from kubectl_plugin.reports.pod.pod_pressure import EvictionStandingReport, PodPressureReport, near_limits
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.node.pressure import near_limit_words
from kubectl_plugin.views.words import listed
from podrules.node.eviction.thresholds import NodeCondition

EVICTING: Final = "its kubelet evicts pods, or did in the last 5 min (evictionPressureTransitionPeriod)"


def pressure_names(pressures: Sequence[NodeCondition]) -> str:
    """``MemoryPressure and DiskPressure``."""
    return listed([condition.value for condition in pressures])


def pressed_sentences(node: NodeFacts, places: Sequence[PodPressureReport]) -> tuple[Verdict, ...]:
    """What a node under pressure does to a pod, and which of its containers is near its own limit.

    Args:
        node: The node of the pod.
        places: The places of the pod in the orders of the node; empty: unknown.
    """
    near = tuple(_near_limits(places))
    if not node.pressures:
        return near
    return (_under_pressure(node, places), *near)


def _under_pressure(node: NodeFacts, places: Sequence[PodPressureReport]) -> Verdict:
    """Says which pressure the node reports, and the place of the pod in the eviction order."""
    lead = f"Its node {node.name} has {pressure_names(node.pressures)}: {EVICTING}."
    if any(place.critical for place in places):
        return _pressed(Severity.NOTICE, lead, "This pod is never evicted: it is critical.")
    standing = _standing(node, places)
    if standing is None:
        by_request = node.pressures != (NodeCondition.PID_PRESSURE,)
        order = "Pods above their requests are evicted first, then by priority" if by_request else "Priority decides"
        return _pressed(Severity.NOTICE, lead, f"{order}: usage is unknown, and so is the place of this pod.")
    if standing.before is None:
        return _pressed(Severity.TROUBLE, lead, f"This pod is evicted first of {standing.of}.")
    before = standing.before
    ahead = standing.place.rank - 1
    others = (
        f"{ahead} of {standing.of} {'is' if ahead == 1 else 'are'} evicted before this pod"
        f"{',' if ahead == 1 else ', the last'} {before.namespace}/{before.pod}."
    )
    return _pressed(Severity.NOTICE, lead, others)


def _pressed(severity: Severity, *sentences: str) -> Verdict:
    return Verdict(VerdictCode.NODE_PRESSURE, severity, sentences)


def _near_limits(places: Sequence[PodPressureReport]) -> Iterator[Verdict]:
    """The measured containers that reach their own limit before the node runs out."""
    for near in near_limits(places):
        words = near_limit_words(near.container, near.working_set, near.limit)
        yield Verdict(VerdictCode.NEAR_MEMORY_LIMIT, Severity.NOTICE, (words,))


def _standing(node: NodeFacts, places: Sequence[PodPressureReport]) -> EvictionStandingReport | None:
    """The pod's place in the eviction order for the reported pressure, memory first."""
    found = (
        standing
        for condition in node.pressures
        for place in places
        for standing in place.evictions
        if standing.signal.condition is condition
    )
    return next(found, None)
