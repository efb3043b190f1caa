"""What the webhook of kubectl qos does to a new pod, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubectl_plugin.reports.pod.own_webhook import OwnWebhookReport
from kubectl_plugin.views.words import counted, listed

_SHOWN: Final = 3
"""Constraints that are named before they are counted."""


def webhook_lines(report: OwnWebhookReport | None) -> Iterator[str]:
    """What it writes and warns about, and what is unknown; nothing if it leaves the pod unchanged."""
    if report is None:
        return
    writes = []
    if report.priority_class_name:
        writes.append(f"priorityClassName {report.priority_class_name} (default class of namespace {report.namespace})")
    if constraints := report.topology_spread_constraints:
        keys = listed(
            [f"maxSkew {one.max_skew} by {one.topology_key} ({one.when_unsatisfiable})" for one in constraints]
        )
        number = counted(len(constraints), "topologySpreadConstraint")
        writes.append(f"{number} ({report.constraints_origin}): {keys}")
    if report.unready:
        result = "pods are stored without it" if report.unready == "Ignore" else "the API server rejects all pods"
        lacks = "no caBundle in its configuration" if report.untrusted else "no ready pod"
        yield f"{report.webhook} has {lacks}: {result} (failurePolicy {report.unready})"
    will = "would write" if report.unready else "will write"
    if writes:
        yield f"{report.webhook} {will}: {'; '.join(writes)}"
    yield from (f"{report.webhook} warns: {one}" for one in report.warnings)
    yield from (f"unknown what it writes: {one}" for one in report.unknown)
