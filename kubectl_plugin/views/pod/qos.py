"""A pod's QoS class, its oom_score_adj, and its place when its node runs short, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from kubectl_plugin.render.command import Prose
from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.pod_parts import OOMUnknown, QOSReport
from kubectl_plugin.reports.pod.pod_pressure import Assumption, PodPressureReport
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.caveats import unread_lines
from kubectl_plugin.views.node.pressure import (
    SIGNAL_NAMES,
    candidate_name,
    eviction_separator,
    oom_separator,
    oom_terms,
    over_words,
    own_words,
    share_words,
)
from kubectl_plugin.views.words import bar, counted, listed, memory, place_words, quoted
from podrules.api.model.pod import PodQOSClass
from podrules.node.eviction.thresholds import Signal
from podrules.node.pressure.node import OOMScope
from podrules.node.pressure.usage import UsageSource
from podrules.pod.oom import MIN_BURSTABLE_OOM_SCORE_ADJ, OOMRule, OOMScoreAdj
from podrules.pod.platform import Platform
from podrules.pod.priority import SYSTEM_CRITICAL_PRIORITY
from podrules.pod.qos import FieldChange, QOSBlocker, QOSProblem

_SHOWN_CONTAINERS = 3
"""The most containers with a bar on the short page."""
_SHORT_WAY = 4
"""The most edits that are listed one by one for a BestEffort pod."""
_WRITTEN = "status.qosClass says so; it was written at creation, and it decides"
_IN_A_SENTENCE = 3
"""The most containers with edits that make one sentence."""


def qos_section(report: PodReport, *, wide: bool) -> Section:
    """The section of a pod's page; ``wide`` adds every field that decides, and the way to Guaranteed."""
    if wide:
        return _every_field(report)
    qos, blockers = report.qos, report.qos.explanation.blockers
    if qos.computed_class is not qos.qos_class:
        reason = _WRITTEN
    elif qos.qos_class is PodQOSClass.BURSTABLE and blockers:
        # A pod that does not exist yet has no command for the rest at the end of its page.
        # ``"istio-proxy" has no cpu or memory limit; 2 more fields``.
        rest = " (-o wide)" if report.status is None else ""
        first = blockers[0]
        alike = [one for one in blockers if (one.container, one.problem) == (first.container, first.problem)]
        who = quoted(first.container) if first.container else "the pod"
        if first.problem is QOSProblem.LIMIT_MISSING:
            shown, words = len(alike), f"{who} has no {' or '.join(one.resource for one in alike)} limit"
        else:
            shown, words = 1, f"{who} requests {first.resource} {first.request or 'nothing'}, limit {first.limit}"
        reason = f"{words}; {counted(len(blockers) - shown, 'more field')}{rest}" if len(blockers) > shown else words
    else:
        reason = _reason(qos, brief=True)
    lines = [f"{qos.qos_class.value}: {reason}"]
    if qos.computed_class is not qos.qos_class or qos.manifest_class not in {None, qos.qos_class}:
        lines += _stored(qos)
    if qos.resize is not None:
        lines.append(_resize(qos, report.name))
    return Section("QoS class", tuple(lines))


def _every_field(report: PodReport) -> Section:
    qos, blockers = report.qos, report.qos.explanation.blockers
    reasons = [_WRITTEN]
    if qos.computed_class is qos.qos_class:
        reasons = [_reason(qos)]
        if qos.qos_class is PodQOSClass.BURSTABLE and blockers:
            reasons = list(map(_blocker, blockers))
    lines: list[str | Row] = [f"{qos.qos_class.value}: {reasons[0]}", *reasons[1:]]
    exists = report.status is not None
    if qos.explanation.changes_to_guaranteed:
        # The edits, container by container: a sentence for a few, else a row each.
        where = ", in a new pod" if exists else ""
        changes = qos.explanation.changes_to_guaranteed
        if qos.qos_class is PodQOSClass.BEST_EFFORT and len(changes) > _SHORT_WAY:
            lines.append(f"Guaranteed if every container and init container limits cpu and memory{where}")
        else:
            names = {_owner(entry.field): entry.container for entry in qos.explanation.blockers}
            parts = [
                (container or "spec.resources", [_edit(change) for change in edits])
                for container, edits in groupby(changes, key=lambda change: names[_owner(change.field)])
            ]
            if len(parts) <= _IN_A_SENTENCE:
                lines.append(f"Guaranteed if {'; '.join(f'{who} sets {listed(edits)}' for who, edits in parts)}{where}")
            else:
                lines.append(f"Guaranteed{where.removeprefix(',')} if")
                lines += (Row((who, ", ".join(edits))) for who, edits in parts)
    if exists:
        lines.append("a resize in place that would change the class is rejected")
    lines += _stored(qos)
    if qos.resize is not None:
        lines.append(_resize(qos, report.name))
    return Section("QoS class", tuple(lines))


def _reason(qos: QOSReport, *, brief: bool = False) -> str:
    pod_level = qos.explanation.decided_by == "spec.resources"
    if qos.qos_class is PodQOSClass.GUARANTEED:
        who = "spec.resources, which alone decides" if pod_level else "every container"
        if brief:
            return f"requests equal limits in {who}"
        return f"{who}{',' if pod_level else ''} limits cpu and memory, and requests equal limits"
    if pod_level:
        return "spec.resources is set, so it alone decides, and it names neither cpu nor memory"
    return "no container requests or limits cpu or memory"


def _blocker(blocker: QOSBlocker) -> str:
    who = f"container {quoted(blocker.container)}" if blocker.container else "the pod"
    if blocker.problem is QOSProblem.LIMIT_MISSING:
        return f"{who} has no {blocker.resource} limit ({blocker.field})"
    return f"{who} requests {blocker.resource} {blocker.request or 'nothing'}, limit {blocker.limit} ({blocker.field})"


def _owner(field: str) -> str:
    """The part of a field path that leads to the container."""
    return field.rpartition(".resources.")[0]


def _edit(change: FieldChange) -> str:
    side, _, resource = change.field.rpartition(".resources.")[2].partition(".")
    if change.after is None:
        return f"a {resource} {side.removesuffix('s')}"
    return f"{side}.{resource} = {change.after}"


def _resize(qos: QOSReport, name: str) -> str:
    """The result of a resize of the pod that has the manifest's name."""
    resize = qos.resize
    if resize is None or resize.rejected is None:
        return f"pod {name} exists with the same class: a resize in place would keep it"
    return f"pod {name} exists as {resize.existing_class.value}; a resize in place is rejected: {resize.rejected}"


def _stored(qos: QOSReport) -> Iterator[str]:
    """How the stored pod differs from the manifest, or the status from the resources."""
    if qos.computed_class is not qos.qos_class:
        yield f"a new pod with its resources would be {qos.computed_class.value}"
    if qos.manifest_class is not None and qos.manifest_class is not qos.qos_class:
        yield f"as written it would be {qos.manifest_class.value}; the API server fills in before it decides:"
    if qos.defaulted:
        for by, entries in groupby(qos.defaulted, key=lambda entry: entry.by):
            fields = [f"{entry.field} = {entry.stored}" for entry in entries]
            yield f"stored with {listed(fields, most=4)} ({by})"


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
        place = "" if several or not entry.node else where
        values = {(score.value, score.rule) for score in entry.containers}
        first = entry.containers[0] if entry.containers else None
        if first is not None and len(values) == 1 and first.rule in _ONE_FOR_ALL and first.own is None:
            lines.append(Row((str(first.value), "all containers", _score_reason(first, place))))
        else:
            for score in entry.containers:
                reason = _score_reason(score, place)
                if score.own is not None:
                    written = f"kube-proxy writes it itself ({own_words(score.own)})"
                    reason = f"{written}; the kubelet sets {score.own.kubelet_value}: {reason}"
                lines.append(Row((str(score.value), score.container, reason)))
    return Section(label, tuple(lines))


def no_score(report: PodReport, why: OOMUnknown) -> str:
    """Why there is no score."""
    low = report.memory_too_low
    if low is None:
        return _UNKNOWN[why]
    least = f"the {low.least} that its containers request" if low.least != "0" else low.least
    return f"none: {low.field} is {low.value}, less than {least}, which the API server rejects"


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


ASSUMED: Final = {
    Assumption.REQUESTS: "using what it requests: ",
    Assumption.LIMITS: "using all that it may: ",
    Assumption.MEASURED: "",
}
"""The beginning of a place, by the assumed usage of the pod."""
_IDLE: Final = 8
"""The most containers without a process that are named; the other sections name all."""


def pressure_section(report: PodReport, *, wide: bool) -> Section:
    """Its place in both orders; ``wide`` adds the orders for the cgroup of all pods, disks and process ids."""
    lines: list[str | Prose] = [line for entry in distinct_places(report.pressure) for line in _lines(entry, wide=wide)]
    if [entry.assumption for entry in report.pressure] == [Assumption.REQUESTS]:
        lines.append("a container has no memory limit: it may become the first by using more")
    if report.pressure and report.pressure[0].usage_source is UsageSource.METRICS:
        lines.append("by working sets of the metrics API, which include file cache")
    measured = [entry.node for entry in report.pressure if entry.usage_source is not UsageSource.NONE]
    lines += unread_lines(report.pressure_unread, measured=measured)
    return Section("Pressure", tuple(lines))


def distinct_places(entries: Sequence[PodPressureReport]) -> list[PodPressureReport]:
    """The distinct results: assumptions with the same result appear once."""
    first = [(entry.oom, entry.evictions) for entry in entries[:1]]
    return [*entries[:1], *(entry for entry in entries[1:] if (entry.oom, entry.evictions) not in first)]


def _lines(entry: PodPressureReport, *, wide: bool) -> Iterator[str]:
    lead = ASSUMED[entry.assumption]
    for scope in (OOMScope.GLOBAL, OOMScope.KUBEPODS) if wide else (OOMScope.GLOBAL,):
        standing = entry.oom_of(scope)
        if standing is not None:
            place = standing.place
            what = f"{entry.node} runs out" if standing.scope is OOMScope.GLOBAL else "pods' share of it runs out"
            known = "" if place.rss is not None else " (by oom_score_adj only, because usage is unknown)"
            text = (
                f"{place_words(place.rank, standing.of, 'container')} that the kernel kills if {what}{known}: "
                f"{place.container}, {oom_terms(place)}"
            )
            if standing.before is not None:
                before = standing.before
                text += f"; after {candidate_name(before)} ({oom_terms(before)}: {oom_separator(before)})"
            yield lead + text
            lead = ""
    if entry.idle:
        have = "container has" if len(entry.idle) == 1 else "containers have"
        yield f"{have} no process now, so nothing for the kernel to kill: {listed(entry.idle, most=_IDLE)}"
    if entry.critical:
        yield "the kubelet never evicts it: it is critical"
        return
    for eviction in entry.evictions:
        if wide or eviction.signal is Signal.MEMORY_AVAILABLE:
            evicted, signal = eviction.place, eviction.signal
            words = (
                f"{place_words(evicted.rank, eviction.of, 'pod')} that the kubelet evicts for {SIGNAL_NAMES[signal]}: "
                f"{over_words(evicted, signal)}, priority {evicted.priority}"
            )
            if eviction.before is not None:
                ahead = eviction.before
                words += f"; after {ahead.namespace}/{ahead.pod} ({eviction_separator(ahead, signal)})"
            yield words


def memory_section(report: PodReport, *, wide: bool) -> Section:
    """The working set of each container next to its request and its limit, the fullest first."""
    requests = {one.container: one.memory_request for entry in report.oom for one in entry.containers}
    full = sorted(
        (
            (one.working_set / one.memory, one.container, one.working_set, one.memory)
            for entry in report.pressure[:1]
            for one in (entry.oom if entry.assumption is Assumption.MEASURED else ())
            if one.scope is OOMScope.CONTAINER and one.working_set is not None and one.memory
        ),
        reverse=True,
    )
    shown = full if wide else full[:_SHOWN_CONTAINERS]
    lines: list[str | Row] = [
        Row((name, bar(used, limit, requests.get(name, 0)), *share_words(used, limit)))
        for _, name, used, limit in shown
    ]
    if len(full) > len(shown):
        lines.append(f"and {len(full) - len(shown)} more (-o wide)")
    elif wide and full:
        lines.append("working sets, which include file cache; | is the request; at its limit the kernel kills it")
    return Section("Memory", tuple(lines))
