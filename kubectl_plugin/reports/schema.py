"""The JSON Schema of every report, made from the types of the reports."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Final

import msgspec

from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport
from kubectl_plugin.reports.end_report import EndReport
from kubectl_plugin.reports.lint import LintReport
from kubectl_plugin.reports.node.node_pressure import NodePressureReport
from kubectl_plugin.reports.node.node_report import NodeReport, PartitionsReport
from kubectl_plugin.reports.plan import PlanReport
from kubectl_plugin.reports.pod.pod_report import PodReport
from kubectl_plugin.reports.related import BudgetReport, ClaimReport, ClassReport, QuotaReport
from kubectl_plugin.reports.steps import DeletionReport, FenceReport
from kubectl_plugin.reports.term import TermReport
from kubectl_plugin.reports.verdict import VerdictReport
from kubectl_plugin.reports.versions import VersionsReport
from kubectl_plugin.reports.workload import WorkloadReport
from podrules.scheduling.scheduler.runtime import EXPLAINED_PLUGINS

REPORTS: Final = {
    "PodExplanation": PodReport,
    "NodeExplanation": NodeReport,
    "NodePressure": NodePressureReport,
    "WorkloadExplanation": WorkloadReport,
    "ClaimExplanation": ClaimReport,
    "BudgetExplanation": BudgetReport,
    "QuotaExplanation": QuotaReport,
    "PriorityClassExplanation": ClassReport,
    "PlacementPlan": PlanReport,
    "Partitions": PartitionsReport,
    "PodDeletion": DeletionReport,
    "EndExplanation": EndReport,
    "Fencing": FenceReport,
    "TermExplanation": TermReport,
    "LintReport": LintReport,
    "ClusterReport": ClusterReport,
    "VersionComparison": VersionsReport,
}
"""By their ``kind``."""
_WITHOUT_VERDICT: Final = frozenset({"TermExplanation"})
"""It judges nothing."""


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one kind of report."""
    schema = _with_facts(msgspec.json.schema(REPORTS[kind]))
    if kind not in _WITHOUT_VERDICT:
        verdict = msgspec.json.schema(VerdictReport)
        report = schema["$defs"][REPORTS[kind].__name__]
        report["properties"] |= {"verdict": {"$ref": verdict["$ref"]}}
        report["required"] = [*report["required"], "verdict"]
        schema["$defs"] |= verdict["$defs"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind, **schema}


def _with_facts(schema: dict[str, Any]) -> dict[str, Any]:
    """The same with every kind of fact that a plugin gives, instead of their base type."""
    rejected = schema["$defs"].get("RejectedNode")
    if rejected is None:
        return schema
    # The plugins load arrays, which printing a report does not need.
    kinds = dict.fromkeys(kind for plugin in EXPLAINED_PLUGINS.values() for kind in plugin.fact_types)
    facts = msgspec.json.schema(reduce(or_, kinds))
    del schema["$defs"]["Fact"]
    schema["$defs"] |= facts.pop("$defs")
    rejected["properties"]["facts"]["items"] = facts
    return schema
