"""The verdict of any report, as its page begins, made without the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubectl_plugin.reports.verdict import Verdict


def headline(report: Any, now: datetime | None) -> Verdict | None:
    """The headline of a report, by its ``kind``; None if the report has no verdict, such as a term's.

    Each view is imported where its report is printed, because a command needs one of them. The findings of lint are
    judged at the level that its command sets.
    """
    verdict: Verdict | None = None
    match str(report.__struct_config__.tag):
        case "PodExplanation":
            from kubectl_plugin.views.pod.verdict import verdict as pod_verdict

            verdict = pod_verdict(report, now)
        case "WorkloadExplanation":
            from kubectl_plugin.views.workload import workload_verdict

            verdict = workload_verdict(report, now)
        case "NodeExplanation":
            from kubectl_plugin.views.node.node_page import node_verdict

            verdict = node_verdict(report, now)
        case "NodePressure":
            from kubectl_plugin.views.node.node_pressure import node_pressure_verdict

            verdict = node_pressure_verdict(report, now)
        case "PlacementPlan":
            from kubectl_plugin.views.scheduling.plan import plan_verdict

            verdict = plan_verdict(report)
        case "Partitions":
            from kubectl_plugin.views.node.partitions import partitions_verdict

            verdict = partitions_verdict(report)
        case "PodDeletion":
            from kubectl_plugin.views.pod.deletion import deletion_verdict

            verdict = deletion_verdict(report, now)
        case "EndExplanation":
            from kubectl_plugin.views.died.page import end_verdict

            verdict = end_verdict(report, now)
        case "Fencing":
            from kubectl_plugin.views.node.fencing import fencing_verdict

            verdict = fencing_verdict(report, now)
        case "ClaimExplanation" | "BudgetExplanation" | "QuotaExplanation" | "PriorityClassExplanation":
            from kubectl_plugin.views.related import related_verdict

            verdict = related_verdict(report, now)
    return verdict
