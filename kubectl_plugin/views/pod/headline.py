"""The verdict of any report, as its page begins, made without the page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from kubectl_plugin.reports.verdict import Verdict


def headline(report: Struct, now: datetime | None) -> Verdict | None:
    """The headline of a report; None if the report has no verdict, such as a term's."""
    judge = _JUDGES.get(str(report.__struct_config__.tag))
    return judge(report, now) if judge is not None else None


# Each view is imported where its report is printed: a command needs one of them.


def _pod(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.verdict import verdict

    return verdict(report, now)


def _workload(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.workload import workload_verdict

    return workload_verdict(report, now)


def _node(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.node.node_page import node_verdict

    return node_verdict(report, now)


def _node_pressure(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.node.node_pressure import node_pressure_verdict

    return node_pressure_verdict(report, now)


def _plan(report: Any, _now: datetime | None) -> Verdict:
    from kubectl_plugin.views.scheduling.plan import plan_verdict

    return plan_verdict(report)


def _partitions(report: Any, _now: datetime | None) -> Verdict:
    from kubectl_plugin.views.node.partitions import partitions_verdict

    return partitions_verdict(report)


def _deletion(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.pod.deletion import deletion_verdict

    return deletion_verdict(report, now)


def _fencing(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.node.fencing import fencing_verdict

    return fencing_verdict(report, now)


def _end(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.died.page import end_verdict

    return end_verdict(report, now)


def _related(report: Any, now: datetime | None) -> Verdict:
    from kubectl_plugin.views.related import related_verdict

    return related_verdict(report, now)


_JUDGES: Final[dict[str, Callable[[Any, datetime | None], Verdict]]] = {
    "PodExplanation": _pod,
    "WorkloadExplanation": _workload,
    "NodeExplanation": _node,
    "NodePressure": _node_pressure,
    "PlacementPlan": _plan,
    "Partitions": _partitions,
    "PodDeletion": _deletion,
    "EndExplanation": _end,
    "Fencing": _fencing,
    "ClaimExplanation": _related,
    "BudgetExplanation": _related,
    "QuotaExplanation": _related,
    "PriorityClassExplanation": _related,
}
"""By the report's ``kind``. The findings of lint are judged at the level that its command sets."""
