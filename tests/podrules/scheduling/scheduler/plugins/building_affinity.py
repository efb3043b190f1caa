"""Short forms of pods with affinity to other pods, and a plugin's results for nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import KubeObject
from podrules.api.model.decode import from_object
from podrules.api.model.node import Node
from podrules.api.model.pod import Pod
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import Code, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
)
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_node, raw_pod

Term = Mapping[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(topology_key: str, *expressions: str, weight: int = 0, **fields: Any) -> dict[str, Any]:
    """A term: ``term("zone", "app in a,b", "tier notin x", "team", "!canary")``, preferred when it has a weight.

    ``namespaces`` is a list, ``namespace_selector`` a sequence of expressions; without expressions there is no
    labelSelector.
    """
    found: dict[str, Any] = {"topologyKey": topology_key, "labelSelector": _selector(expressions) or None}
    if "namespaces" in fields:
        found["namespaces"] = fields["namespaces"]
    if "namespace_selector" in fields:
        found["namespaceSelector"] = _selector(fields["namespace_selector"])
    return {"weight": weight, "podAffinityTerm": found} if weight else found


def affinity_pod(
    labels: Mapping[str, str] | None = None,
    *,
    near: Term | Sequence[Term] = (),
    away: Term | Sequence[Term] = (),
    node: str = "",
    namespace: str = "",
    name: str = "",
) -> Pod:
    """A pod with one or several affinity and anti-affinity terms; those with a weight are preferred."""
    affinity = {"podAffinity": _terms(near), "podAntiAffinity": _terms(away)}
    named = {key: terms for key, terms in affinity.items() if terms}
    return from_object(raw_pod(name, namespace, labels=labels, nodeName=node, affinity=named), Pod)


def labelled_node(name: str, **labels: str) -> Node:
    """A node with labels."""
    return from_object(raw_node(name, labels), Node)


def make_namespace(name: str, **labels: str) -> KubeObject:
    """A namespace with labels."""
    return from_object({"metadata": {"name": name, "labels": labels}}, KubeObject)


NAMESPACES = ClusterSnapshot(
    namespaces=(
        make_namespace("subteam1.team1", team="team1"),
        make_namespace("subteam2.team1", team="team1"),
        make_namespace("subteam1.team2", team="team2"),
        make_namespace("subteam2.team2", team="team2"),
        make_namespace("NS1"),
    )
)
"""Of upstream's cases."""


def make_context(
    pod: Pod,
    nodes: Sequence[Node],
    pods: Iterable[Pod] = (),
    *,
    snapshot: ClusterSnapshot | None = None,
    args: Mapping[str, Any] | None = None,
    features: Features = REFERENCE,
) -> CycleContext:
    """One cycle."""
    return CycleContext(pod, NodeTable(nodes, pods), snapshot or ClusterSnapshot(), features, args or {}, {})


def statuses(plugin: FilterPlugin, context: CycleContext) -> Status | list[Status]:
    """PreFilter's status unless it is Success, else Filter's for each node."""
    found = plugin.pre_filter(context) if isinstance(plugin, PreFilterPlugin) else PreFilterResult()
    if not found.status.ok:
        return found.status
    verdicts = plugin.filter(context, found.state)
    return [
        Status(Code(code), verdicts.reasons(row)) if code else Status()
        for row, code in enumerate(verdicts.codes.tolist())
    ]


def _terms(given: Term | Sequence[Term]) -> dict[str, Any]:
    terms = [given] if isinstance(given, Mapping) else given
    required = [entry for entry in terms if "weight" not in entry]
    preferred = [entry for entry in terms if "weight" in entry]
    return {key: entries for key, entries in ((REQUIRED, required), (PREFERRED, preferred)) if entries}


def _selector(expressions: Sequence[str]) -> dict[str, Any]:
    return {"matchExpressions": [_expression(entry) for entry in expressions]} if expressions else {}


def _expression(text: str) -> dict[str, Any]:
    if text.startswith("!"):
        return {"key": text[1:], "operator": "DoesNotExist"}
    key, operator, values = (*text.split(" "), "", "")[:3]
    if not operator:
        return {"key": key, "operator": "Exists"}
    return {"key": key, "operator": {"in": "In", "notin": "NotIn"}[operator], "values": values.split(",")}
