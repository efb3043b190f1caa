"""The numbers of all nodes and pods for the page's script, by column, with repeated texts stored once.

A large cluster has many pods and few namespaces, nodes, owners and states, so these are indexes of one table of texts.
A large block is compressed; every browser can decompress it by itself (`DecompressionStream`).
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from kubectl_plugin.html.markup import Markup, element
from kubectl_plugin.render.command import Target
from kubectl_plugin.reports.cluster.cluster_entries import ClusterReport, NodeEntry, PodEntry, PodKey
from kubectl_plugin.reports.pod.pod_risk import PodRisk
from kubectl_plugin.reports.verdict import Severity
from kubectl_plugin.views.node.node_flags import node_state
from kubectl_plugin.views.pod.risk_words import RISK_SEVERITY, RISK_WORDS
from podrules.api.escape import escape
from podrules.api.model.instant import instant
from podrules.api.model.pod import PodQOSClass
from podrules.api.names import is_plain_name

_COMPRESSED_FROM: Final = 1_000_000
"""Bytes."""
_LEVEL: Final = 6
_CLASSES: Final = tuple(PodQOSClass)
_RISKS: Final = tuple(PodRisk)
_UNKNOWN: Final = None


class _Texts:
    """A table that stores each text once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places))

    @property
    def all(self) -> list[str]:
        return [escape(text) for text in self._places]


def data_block(report: ClusterReport, target: Target) -> Markup:
    """The element with the numbers, and the flags of the commands that the page shows."""
    texts = _Texts()
    rows = {pod.key: row for row, pod in enumerate(report.pods)}
    nodes = _nodes(report.nodes, rows, texts)
    names = {node.name: row for row, node in enumerate(report.nodes)}
    pods = _pods(report.pods, names, texts, report.at)
    return embedded(
        {
            "nodes": nodes,
            "pods": pods,
            "texts": texts.all,
            "classes": [one.value for one in _CLASSES],
            "risks": [RISK_WORDS[risk] for risk in _RISKS],
            "urgent": [RISK_SEVERITY[risk].urgency for risk in _RISKS],
            "severities": [severity.value for severity in Severity],
            "flags": {command: target.flags(command) for command in ("explain", "node")},
        }
    )


def embedded(content: Any) -> Markup:
    """Embed content as JSON that an HTML parser always reads as text, whatever it contains."""
    raw = msgspec.json.encode(content)
    if len(raw) > _COMPRESSED_FROM:
        packed = gzip.compress(raw, _LEVEL, mtime=0)
        return element("script", Markup(b64encode(packed).decode()), type="text/plain", id="data", data_packed=True)
    text = raw.decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", Markup(text), type="application/json", id="data")


def _nodes(nodes: Sequence[NodeEntry], rows: dict[PodKey, int], texts: _Texts) -> dict[str, Any]:
    states = [node_state(node) for node in nodes]
    return {
        "name": [escape(node.name) for node in nodes],
        "plain": [int(is_plain_name(node.name)) for node in nodes],
        "zone": [texts.place(node.zone) for node in nodes],
        "state": [texts.place(words) for _, words in states],
        "severity": [severity.urgency for severity, _ in states],
        "taints": [[texts.place(taint) for taint in node.taints] for node in nodes],
        "pods": [node.pods for node in nodes],
        "most": [node.max_pods for node in nodes],
        "cpu": [_promised(node.cpu) for node in nodes],
        "memory": [_promised(node.memory) for node in nodes],
        "near": [_UNKNOWN if node.nearest is None else node.nearest.percent for node in nodes],
        "killed": [_row(node.first_killed, rows) for node in nodes],
        "evicted": [_row(node.first_evicted, rows) for node in nodes],
    }


def _promised(promised: Any) -> list[int | None]:
    """Allocatable, requested by class, limited, used."""
    requested = [promised.requested[one] for one in _CLASSES]
    return [promised.allocatable, *requested, promised.limited, promised.used]


def _row(key: PodKey | None, rows: dict[PodKey, int]) -> int | str | None:
    """The pod's row; its name if it is not listed."""
    if key is None:
        return None
    return rows[key] if key in rows else escape("/".join(key))


def _pods(pods: Sequence[PodEntry], names: dict[str, int], texts: _Texts, at: datetime | None) -> dict[str, Any]:
    return {
        "name": [escape(pod.name) for pod in pods],
        "namespace": [texts.place(pod.namespace) for pod in pods],
        "plain": [int(is_plain_name(pod.name) and is_plain_name(pod.namespace)) for pod in pods],
        "node": [names.get(pod.node, -1) for pod in pods],
        "bound": [texts.place(pod.node) for pod in pods],
        "qos": [_CLASSES.index(pod.asked.qos_class) for pod in pods],
        "state": [texts.place(pod.status) for pod in pods],
        "risk": [-1 if pod.risk is None else _RISKS.index(pod.risk) for pod in pods],
        "priority": [pod.priority for pod in pods],
        "class": [texts.place(pod.priority_class) for pod in pods],
        "owner": [texts.place(f"{pod.owner_kind} {pod.owner}".strip()) for pod in pods],
        "cpu": [pod.asked.cpu for pod in pods],
        "memory": [pod.asked.memory for pod in pods],
        "limit": [pod.asked.memory_limit for pod in pods],
        "used": [pod.used for pod in pods],
        "adj": [pod.oom_score_adj for pod in pods],
        "points": [pod.oom_points for pod in pods],
        "killed": [pod.oom_rank for pod in pods],
        "evicted": [pod.eviction_rank for pod in pods],
        "restarts": [pod.restarts for pod in pods],
        "again": [_seconds(pod.last_restart, at) for pod in pods],
        "age": [_seconds(pod.created, at) for pod in pods],
        "cpuUsed": [pod.cpu_used for pod in pods],
    }


def _seconds(stamp: str | None, at: datetime | None) -> int | None:
    """Seconds since a time; None: not known."""
    when = instant(stamp)
    return None if when is None or at is None else max(0, int((at - when).total_seconds()))
