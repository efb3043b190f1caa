"""oom_score_adj of a pod's containers, each with the sum that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.oom import OOMOnNode, OOMUnknown
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.node.pressure import own_words
from kubectl_plugin.views.words import memory
from podrules.pod.oom import MIN_BURSTABLE_OOM_SCORE_ADJ, OOMRule, OOMScoreAdj
from podrules.pod.platform import Platform
from podrules.pod.priority import SYSTEM_CRITICAL_PRIORITY

_FORMULA: Final = "1000 - 1000 x memory request / node memory, from 3 to 999"
_UNKNOWN: Final = {
    OOMUnknown.NODE_NOT_KNOWN: f"{_FORMULA}: unknown without a node",
    OOMUnknown.NO_ELIGIBLE_NODE: f"{_FORMULA}: no node matches its node selector, affinity and tolerations",
    OOMUnknown.NOT_LINUX: "none: no node that can run it is a Linux machine with a kubelet",
    OOMUnknown.NOT_IN_RANGE: "none: the sum is not in the kernel's range, -1000 to 1000",
}
_ONE_FOR_ALL: Final = {OOMRule.NODE_CRITICAL, OOMRule.GUARANTEED, OOMRule.BEST_EFFORT}
"""Rules that give all containers of a pod the same value."""
_AT_LEAST: Final = f"Burstable gets at least {MIN_BURSTABLE_OOM_SCORE_ADJ}"


def oom_section(report: PodReport) -> Section:
    """The values of one pod."""
    label = "OOM score"
    if report.platform is not Platform.LINUX:
        return Section(label, ())
    if report.oom_unknown is not None:
        return Section(label, (no_score(report, report.oom_unknown),))
    lines: list[str | Row] = []
    several = len(report.oom) > 1
    bound = report.status is not None and report.status.node is not None
    for entry, which in zip(report.oom, ("smallest", "largest"), strict=False):
        if several:
            lines.append(f"on the {which} node that can run it, {entry.node}:")
        # One of several equally large nodes is named.
        where = f" ({entry.node})" if bound else f" (as on {entry.node})"
        lines += _rows(entry, place="" if several or not entry.node else where)
    return Section(label, tuple(lines))


def no_score(report: PodReport, why: OOMUnknown) -> str:
    """Why there is no score."""
    low = report.memory_too_low
    if low is None:
        return _UNKNOWN[why]
    least = f"the {low.least} that its containers request" if low.least != "0" else low.least
    return f"none: {low.field} is {low.value}, less than {least}, which the API server rejects"


def _rows(entry: OOMOnNode, place: str) -> Iterator[Row]:
    values = {(score.value, score.rule) for score in entry.containers}
    first = entry.containers[0] if entry.containers else None
    if first is not None and len(values) == 1 and first.rule in _ONE_FOR_ALL and first.own is None:
        yield Row((str(first.value), "all containers", _score_reason(first, place)))
        return
    for score in entry.containers:
        reason = _score_reason(score, place)
        if score.own is not None:
            written = f"kube-proxy writes it itself ({own_words(score.own)})"
            reason = f"{written}; the kubelet sets {score.own.kubelet_value}: {reason}"
        yield Row((str(score.value), score.container, reason))


def _score_reason(score: OOMScoreAdj, place: str) -> str:
    match score.rule:
        case OOMRule.NODE_CRITICAL:
            return f"class system-node-critical and priority >= {SYSTEM_CRITICAL_PRIORITY}"
        case OOMRule.GUARANTEED | OOMRule.BEST_EFFORT:
            return f"oom_score_adj of every {score.rule.value} pod"
    asked, capacity = memory(score.memory_request), memory(score.memory_capacity or 0)
    if score.pod_level_share:
        asked = f"({asked} + {memory(score.pod_level_share)} of the pod's own request)"
    if score.formula_value is None:
        return f"raised: {_AT_LEAST}, also for {asked} on a node of {capacity}{place}"
    formula = f"1000 - 1000 x {asked} / {capacity}"
    match score.rule:
        case OOMRule.BURSTABLE_SIDECAR:
            return f"{formula}{place} = {score.formula_value}; lowered: a sidecar's is at most its app container's"
        case OOMRule.BURSTABLE_FLOOR:
            return f"{formula}{place} = {score.formula_value}; raised: {_AT_LEAST}"
        case OOMRule.BURSTABLE_CEILING:
            return f"{formula}{place} = 1000; lowered: only BestEffort gets 1000"
        case _:
            return f"{formula}{place}"
