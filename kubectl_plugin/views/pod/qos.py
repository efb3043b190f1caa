"""QoS class in words: what decided it, and the smallest change to Guaranteed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kubectl_plugin.render.page import Row, Section
from kubectl_plugin.reports.pod.pod_qos import QOSReport
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.views.words import counted, listed, quoted
from podrules.api.model.pod import PodQOSClass
from podrules.pod.qos import FieldChange, QOSBlocker, QOSProblem

_SHORT_WAY = 4
"""The most edits that are listed one by one for a BestEffort pod."""
_WRITTEN = "status.qosClass says so; it was written at creation, and it decides"
_IN_A_SENTENCE = 3
"""The most containers with edits that make one sentence."""


def qos_section(report: PodReport, *, wide: bool) -> Section:
    """The section of a pod's page; ``wide`` adds every field that decides, and the way to Guaranteed."""
    return _every_field(report) if wide else _first_field(report)


def _first_field(report: PodReport) -> Section:
    qos, blockers = report.qos, report.qos.explanation.blockers
    if qos.computed_class is not qos.qos_class:
        reason = _WRITTEN
    elif qos.qos_class is PodQOSClass.BURSTABLE and blockers:
        # A pod that does not exist yet has no command for the rest at the end of its page.
        reason = _first_container(blockers, " (-o wide)" if report.status is None else "")
    else:
        reason = _reason(qos, brief=True)
    lines = [f"{qos.qos_class.value}: {reason}"]
    if qos.computed_class is not qos.qos_class or qos.manifest_class not in {None, qos.qos_class}:
        lines += _stored(qos)
    if qos.resize is not None:
        lines.append(_resize(qos, report.name))
    return Section("QoS class", tuple(lines))


def _first_container(blockers: Sequence[QOSBlocker], rest: str) -> str:
    """``"istio-proxy" has no cpu or memory limit; 2 more fields``."""
    first = blockers[0]
    alike = [one for one in blockers if (one.container, one.problem) == (first.container, first.problem)]
    who = quoted(first.container) if first.container else "the pod"
    if first.problem is QOSProblem.LIMIT_MISSING:
        shown, words = len(alike), f"{who} has no {' or '.join(one.resource for one in alike)} limit"
    else:
        shown, words = 1, f"{who} requests {first.resource} {first.request or 'nothing'}, limit {first.limit}"
    return f"{words}; {counted(len(blockers) - shown, 'more field')}{rest}" if len(blockers) > shown else words


def _every_field(report: PodReport) -> Section:
    qos, blockers = report.qos, report.qos.explanation.blockers
    lines: list[str | Row]
    if qos.computed_class is not qos.qos_class:
        lines = [f"{qos.qos_class.value}: {_WRITTEN}"]
    elif qos.qos_class is PodQOSClass.BURSTABLE and blockers:
        lines = [f"{qos.qos_class.value}: {_blocker(blockers[0])}", *map(_blocker, blockers[1:])]
    else:
        lines = [f"{qos.qos_class.value}: {_reason(qos)}"]
    exists = report.status is not None
    if qos.explanation.changes_to_guaranteed:
        lines += _way(qos, ", in a new pod" if exists else "")
    if exists:
        lines.append("a resize in place that would change the class is rejected")
    lines += _stored(qos)
    if qos.resize is not None:
        lines.append(_resize(qos, report.name))
    return Section("QoS class", tuple(lines))


def _reason(qos: QOSReport, *, brief: bool = False) -> str:
    pod_level = qos.explanation.decided_by == "spec.resources"
    if qos.qos_class is PodQOSClass.GUARANTEED:
        if brief:
            where = "spec.resources, which alone decides" if pod_level else "every container"
            return f"requests equal limits in {where}"
        who = "spec.resources, which alone decides," if pod_level else "every container"
        return f"{who} limits cpu and memory, and requests equal limits"
    if pod_level:
        return "spec.resources is set, so it alone decides, and it names neither cpu nor memory"
    return "no container requests or limits cpu or memory"


def _blocker(blocker: QOSBlocker) -> str:
    who = f"container {quoted(blocker.container)}" if blocker.container else "the pod"
    if blocker.problem is QOSProblem.LIMIT_MISSING:
        return f"{who} has no {blocker.resource} limit ({blocker.field})"
    return f"{who} requests {blocker.resource} {blocker.request or 'nothing'}, limit {blocker.limit} ({blocker.field})"


def _way(qos: QOSReport, where: str) -> Iterator[str | Row]:
    """The edits, container by container: a sentence for a few, else a row each."""
    changes = qos.explanation.changes_to_guaranteed
    if qos.qos_class is PodQOSClass.BEST_EFFORT and len(changes) > _SHORT_WAY:
        yield f"Guaranteed if every container and init container limits cpu and memory{where}"
        return
    names = {_owner(entry.field): entry.container for entry in qos.explanation.blockers}
    parts = [
        (container or "spec.resources", [_edit(change) for change in edits])
        for container, edits in groupby(changes, key=lambda change: names[_owner(change.field)])
    ]
    if len(parts) <= _IN_A_SENTENCE:
        yield f"Guaranteed if {'; '.join(f'{who} sets {listed(edits)}' for who, edits in parts)}{where}"
        return
    yield f"Guaranteed{where.removeprefix(',')} if"
    yield from (Row((who, ", ".join(edits))) for who, edits in parts)


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
