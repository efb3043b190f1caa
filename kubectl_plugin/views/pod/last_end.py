"""What ended a pod last, in an explanation: only the verdict of `kubectl qos died`."""

from __future__ import annotations

from datetime import datetime

from kubectl_plugin.render.page import Section
from kubectl_plugin.reports.pod.pod_report import PodReport
from podrules.ending.died.of_pod import EndOf


def last_end_section(report: PodReport, now: datetime | None) -> Section:
    """The verdict; empty if nothing has ended."""
    last = report.last_end
    if last is None or last.end.of is EndOf.NOTHING:
        return Section("Last end", ())
    # Loaded only if something has ended.
    from kubectl_plugin.views.died.page import last_end_lines

    return Section("Last end", last_end_lines(last, now))
