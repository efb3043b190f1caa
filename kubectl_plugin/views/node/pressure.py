"""The words for places in the kill order and the eviction order, and for a pod on a node that reports pressure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubectl_plugin.reports.node.node_pressure import EvictionPlaceReport, OOMPlaceReport
from kubectl_plugin.reports.node.node_report import NodeFacts, NodeUse
from kubectl_plugin.reports.pod.pod_pressure import PodPressureReport, near_limits
from kubectl_plugin.reports.verdict import Severity, Verdict, VerdictCode
from kubectl_plugin.views.words import listed, memory
from podrules.node.eviction.ranking import Comparator
from podrules.node.eviction.thresholds import INODES, PIDS, NodeCondition, Signal
from podrules.node.pressure.oom_order import OOMSeparator
from podrules.node.pressure.usage import limit_percent
from podrules.pod.oom import OwnScore

LISTED_LIMIT_PERCENT: Final = 90
"""Percent of a container's own limit from which it is listed; the verdict mentions it later."""
SIGNAL_NAMES: Final = {
    Signal.MEMORY_AVAILABLE: "memory",
    Signal.ALLOCATABLE_MEMORY_AVAILABLE: "pods' memory",
    Signal.NODE_FS_AVAILABLE: "the node's disk",
    Signal.NODE_FS_INODES_FREE: "the node's inodes",
    Signal.IMAGE_FS_AVAILABLE: "the images' disk",
    Signal.IMAGE_FS_INODES_FREE: "the images' inodes",
    Signal.CONTAINER_FS_AVAILABLE: "the containers' disk",
    Signal.CONTAINER_FS_INODES_FREE: "the containers' inodes",
    Signal.PID_AVAILABLE: "process ids",
}

_TIE: Final = "tie, either may be first"
"""No rule decides: the result depends on the order in which the kernel or the kubelet visits the two."""
_OOM: Final = {
    OOMSeparator.ADJ: "higher adj",
    OOMSeparator.USAGE: "larger",
    OOMSeparator.BOTH: "larger, and higher adj",
    OOMSeparator.ADJ_DESPITE_USAGE: "smaller, but higher adj",
    OOMSeparator.USAGE_DESPITE_ADJ: "lower adj, but larger",
}
_EVICTION: Final = {
    Comparator.NO_STATS: "not measured",
    Comparator.EXCEEDS_REQUEST: "over its request",
    Comparator.PRIORITY: "lower priority",
    Comparator.USAGE_OVER_REQUEST: "more over its request",
    Comparator.PROCESSES: "more processes",
}


def candidate_name(place: OOMPlaceReport) -> str:
    """``shop/web-0 app``, or ``the kubelet`` for a system process."""
    if not place.pod:
        return f"the {place.container}"
    return f"{place.namespace}/{place.pod} {place.container}"


def oom_terms(place: OOMPlaceReport) -> str:
    """``1012 = 12 + 1000``; without a measurement the adj alone."""
    if place.rss is None:
        return str(place.oom_score_adj)
    sign = "-" if place.oom_score_adj < 0 else "+"
    return f"{place.points} = {place.usage_points} {sign} {abs(place.oom_score_adj)}"


def own_words(own: OwnScore) -> str:
    """``its default, unless --oom-score-adj or … says otherwise: neither is read; recognised by its image``."""
    by = {"Image": "image", "Label": "label", "DaemonSet": "DaemonSet"}[own.recognised_by]
    other = "unless --oom-score-adj or its configuration says otherwise: neither is read"
    return f"its default, {other}; recognised by its {by}"


def oom_separator(place: OOMPlaceReport) -> str:
    """Why this place comes before the next one."""
    return _OOM[place.decided_by] if place.decided_by is not None else _TIE


def eviction_separator(place: EvictionPlaceReport, signal: Signal) -> str:
    """Why this place comes before the next one."""
    if place.decided_by is None:
        return _TIE
    if place.decided_by is Comparator.USAGE_OVER_REQUEST and not place.exceeds_request:
        return "nearer to its request"
    if signal.resource == INODES and place.decided_by is Comparator.USAGE_OVER_REQUEST:
        return "more inodes, less its request of bytes"
    return _EVICTION[place.decided_by]


def unless_words(use: NodeUse) -> str:
    """Says that pods without metrics may be evicted earlier."""
    pods = "1 pod" if use.unmeasured == 1 else f"one of {use.unmeasured} pods"
    return f", unless {pods} without measurements is first" if use.unmeasured else ""


def eviction_amount(number: int, signal: Signal) -> str:
    """Bytes, inodes or processes."""
    return str(number) if signal.resource in {INODES, PIDS} else memory(number)


def share_words(used: int, whole: int) -> tuple[str, str]:
    """``7.6Gi of 8Gi`` and ``95%``, for the room after a bar."""
    return f"{memory(used)} of {memory(whole)}", f"{limit_percent(used, whole)}%"


def near_limit_words(container: str, used: int, limit: int, *, pods: int = 1) -> str:
    """``Near its memory limit: postgres 7.6Gi of 8Gi (95%)``, as a sentence.

    A working set (``used``, in bytes) includes file cache. At the limit the kernel first reclaims such pages, and kills
    if that is not enough (try_charge_memcg, mm/memcontrol.c of Linux 6.18), so the sentence does not say how soon.
    ``pods``: how many are near their limit; this one is the nearest.
    """
    near = "Near its memory limit" if pods == 1 else f"{pods} pods near their memory limit"
    amounts, percent = share_words(used, limit)
    return f"{near}: {container} {amounts} ({percent})."


def over_words(place: EvictionPlaceReport, signal: Signal) -> str:
    """``410Mi over 2Gi``, ``102Mi under 512Mi``, ``9Mi, no request``, ``17 processes``."""
    if not place.measured:
        return "not measured"
    used = eviction_amount(place.usage, signal)
    if signal.resource == PIDS:
        return "1 process" if used == "1" else f"{used} processes"
    if signal.resource == INODES:
        return "1 inode" if used == "1" else f"{used} inodes"
    if not place.request:
        return f"{used}, no request"
    if not place.over_request:
        return f"{used}, as requested"
    over = "over" if place.exceeds_request else "under"
    return f"{memory(abs(place.over_request))} {over} {memory(place.request)}"


EVICTING: Final = "its kubelet evicts pods, or did in the last 5 min (evictionPressureTransitionPeriod)"


def pressure_names(pressures: Sequence[NodeCondition]) -> str:
    """``MemoryPressure and DiskPressure``."""
    return listed([condition.value for condition in pressures])


def pressed_sentences(node: NodeFacts, places: Sequence[PodPressureReport]) -> tuple[Verdict, ...]:
    """What a node under pressure does to a pod with these places (empty: unknown), and its containers near a limit."""
    near = tuple(
        Verdict(
            VerdictCode.NEAR_MEMORY_LIMIT,
            Severity.NOTICE,
            (near_limit_words(one.container, one.working_set, one.limit),),
        )
        for one in near_limits(places)
    )
    if not node.pressures:
        return near
    # The pod's place in the eviction order for the reported pressure, memory first.
    found = (
        standing
        for condition in node.pressures
        for place in places
        for standing in place.evictions
        if standing.signal.condition is condition
    )
    severity = Severity.NOTICE
    if any(place.critical for place in places):
        evicted = "This pod is never evicted: it is critical."
    elif (standing := next(found, None)) is None:
        by_request = node.pressures != (NodeCondition.PID_PRESSURE,)
        order = "Pods above their requests are evicted first, then by priority" if by_request else "Priority decides"
        evicted = f"{order}: usage is unknown, and so is the place of this pod."
    elif standing.before is None:
        severity, evicted = Severity.TROUBLE, f"This pod is evicted first of {standing.of}."
    else:
        before, ahead = standing.before, standing.place.rank - 1
        evicted = (
            f"{ahead} of {standing.of} {'is' if ahead == 1 else 'are'} evicted before this pod"
            f"{',' if ahead == 1 else ', the last'} {before.namespace}/{before.pod}."
        )
    lead = f"Its node {node.name} has {pressure_names(node.pressures)}: {EVICTING}."
    return (Verdict(VerdictCode.NODE_PRESSURE, severity, (lead, evicted)), *near)
