"""QoS class in words: what decided it, and the smallest change to Guaranteed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.pod import PodReport, QOSReport
from kubectl_plugin.views.words import listed, quoted
from podrules.model.pod import PodQOSClass
from podrules.qos import FieldChange, QOSBlocker, QOSProblem

__all__ = ["qos_section"]

_SHOWN = 2
"""Blockers shown before ``-o wide`` is needed."""


def qos_section(report: PodReport, *, wide: bool) -> Section:
    """The section of a pod's page."""
    qos = report.qos
    lines = [f"{qos.qos_class.value}: {_reason(qos)}"]
    blockers = qos.explanation.blockers
    if qos.qos_class is PodQOSClass.BURSTABLE:
        shown = blockers if wide else blockers[:_SHOWN]
        lines = [f"{qos.qos_class.value}: {_blocker(shown[0])}", *map(_blocker, shown[1:])] if shown else lines
        if len(blockers) > len(shown):
            lines.append(f"and {len(blockers) - len(shown)} more fields (-o wide)")
    exists = report.status is not None
    if qos.qos_class is not PodQOSClass.GUARANTEED:
        lines.append(f"Guaranteed if {_way(qos)}{', in a new pod' if exists else ''}")
    if exists:
        lines.append("a resize in place that would change the class is rejected")
    lines += _stored(qos)
    if qos.resize is not None:
        lines.append(_resize(qos, report.name))
    return Section("QoS class", tuple(lines))


def _reason(qos: QOSReport) -> str:
    pod_level = qos.explanation.decided_by == "spec.resources"
    if qos.qos_class is PodQOSClass.GUARANTEED:
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


def _way(qos: QOSReport) -> str:
    """The edits, container by container."""
    changes = qos.explanation.changes_to_guaranteed
    if qos.qos_class is PodQOSClass.BEST_EFFORT and len(changes) > _SHOWN * 2:
        return "every container and init container limits cpu and memory"
    names = {_owner(entry.field): entry.container for entry in qos.explanation.blockers}
    parts = []
    for container, edits in groupby(changes, key=lambda change: names[_owner(change.field)]):
        who = container or "spec.resources"
        parts.append(f"{who} sets {listed([_edit(change) for change in edits])}")
    return "; ".join(parts)


def _owner(field: str) -> str:
    """The container's path in a field's."""
    return field.rpartition(".resources.")[0]


def _edit(change: FieldChange) -> str:
    side, _, resource = change.field.rpartition(".resources.")[2].partition(".")
    if change.after is None:
        return f"a {resource} {side.removesuffix('s')}"
    return f"{side}.{resource} = {change.after}"


def _resize(qos: QOSReport, name: str) -> str:
    """What a resize of the pod that has the manifest's name would come to."""
    resize = qos.resize
    if resize is None or resize.rejected is None:
        return f"pod {name} exists with the same class: a resize in place would keep it"
    return f"pod {name} exists as {resize.existing_class.value}; a resize in place is rejected: {resize.rejected}"


def _stored(qos: QOSReport) -> Iterator[str]:
    """How the stored pod differs from the manifest, or the status from the resources."""
    if qos.computed_class is not qos.qos_class:
        yield (
            f"status.qosClass says {qos.qos_class.value}, its resources would give {qos.computed_class.value}: "
            "the status was written at creation and decides"
        )
    if qos.manifest_class is not None and qos.manifest_class is not qos.qos_class:
        yield f"as written it would be {qos.manifest_class.value}; the API server fills in before it decides:"
    if qos.defaulted:
        for by, entries in groupby(qos.defaulted, key=lambda entry: entry.by):
            fields = [f"{entry.field} = {entry.stored}" for entry in entries]
            yield f"stored with {listed(fields, most=4)} ({by})"
