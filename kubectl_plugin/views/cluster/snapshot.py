"""The page about a written snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_plugin.render.command import qos
from kubectl_plugin.render.page import Page, Section
from kubectl_plugin.reports.cluster.snapshot import SnapshotReport
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.words import clock, counted, listed, memory

_FIRST = {"nodes": "node", "pods": "pod"}


def snapshot_page(report: SnapshotReport) -> Page:
    """What is in the file, and what is missing."""
    server = f" {report.server_version}" if report.server_version else ""
    parts: list[Section] = []
    held = [f"{entry.resource} {entry.count:,}" for entry in report.kinds if entry.count]
    none = [entry.resource for entry in report.kinds if not entry.count and not entry.not_captured]
    if held:
        parts.append(Section("In it", (listed(held),)))
    if none:
        parts.append(Section("There are no", (listed(none),)))
    missing: dict[str, list[str]] = {}
    for entry in report.kinds:
        if entry.not_captured:
            missing.setdefault(entry.not_captured, []).append(entry.resource)
    if missing:
        lines = (f"{listed(kinds, most=len(kinds))}: {reason}" for reason, kinds in missing.items())
        parts.append(Section("Not captured", tuple(lines)))
    lacking = any(entry.not_captured for entry in report.kinds if entry.resource in _FIRST)
    return Page(
        title=f"{report.path}, of {report.source}{server} at {clock(report.captured_at, None)}",
        verdict=tuple(_verdict(report)),
        severity=Severity.NOTICE if lacking else Severity.FINE,
        parts=tuple(parts),
        next_commands=(qos("explain pods", comment="or pod/NAME, with -n NAMESPACE"),),
    )


def _verdict(report: SnapshotReport) -> Iterator[str]:
    counts = {entry.resource: entry.count for entry in report.kinds if not entry.not_captured or entry.only_in}
    what = [
        f"{counts[resource]:,} {one}{'' if counts[resource] == 1 else 's'}"
        for resource, one in _FIRST.items()
        if resource in counts
    ]
    others = sum(bool(count) for resource, count in counts.items() if resource not in _FIRST)
    if others or not what:
        what.append(counted(others, "other kind" if what else "kind"))
    yield f"Captured {listed(what)} in {memory(report.size)}B."
    first = [entry for entry in report.kinds if entry.not_captured and entry.resource in _FIRST]
    missing = [entry.resource for entry in first if not entry.only_in]
    if missing:
        yield f"Without {listed(missing)} placement cannot be computed."
    for entry in first:
        if entry.only_in:
            yield f"Only {entry.resource} of {entry.only_in}; you may not list others."
            yield "Placement is then not certain."
    if report.anonymised:
        yield "Names were replaced; the number of objects is still visible."
