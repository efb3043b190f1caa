"""Builders for plugins that judge a pod against nodes: short forms of specs, and a cycle over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podrules.api.features import REFERENCE, Features
from podrules.api.model.base import Model
from podrules.api.model.decode import from_object
from podrules.api.model.node import Node, Taint
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import NodeSelector, NodeSelectorTerm, Toleration
from podrules.api.model.snapshot import ClusterSnapshot
from podrules.scheduling.scheduler.framework.answers import SUCCESS, Code, Status
from podrules.scheduling.scheduler.framework.interface import (
    CycleContext,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    PreScoreResult,
    ScorePlugin,
)
from podrules.scheduling.scheduler.framework.node_table import NodeTable
from tests.objects import raw_node, raw_pod

Json = dict[str, Any]


def pod_of(spec: Json | None = None, *, name: str = "pod", uid: str = "") -> Pod:
    """A pod with this spec."""
    return from_object(raw_pod(name, "default", uid=uid, **(spec or {})), Pod)


def node_of(
    name: str = "node", labels: Mapping[str, str] | None = None, *, spec: Json | None = None, status: Json | None = None
) -> Node:
    """A node with these labels, spec and status."""
    return from_object(raw_node(name, labels, status=status, **(spec or {})), Node)


def make_requirement(key: str, operator: str, *values: str) -> Json:
    """``matchExpressions[]`` or ``matchFields[]``."""
    return {"key": key, "operator": operator, "values": list(values)}


def node_terms(*terms: Sequence[Json] | Json) -> Json:
    """A node selector; a list is a term's matchExpressions, anything else the whole term."""
    return {"nodeSelectorTerms": [_term(term) for term in terms]}


def make_term(term: Sequence[Json] | Json) -> NodeSelectorTerm:
    """One term."""
    return from_object(_term(term), NodeSelectorTerm)


def make_selector(*terms: Sequence[Json] | Json) -> NodeSelector:
    """A node selector."""
    return from_object(node_terms(*terms), NodeSelector)


def requiring(*terms: Sequence[Json] | Json) -> Json:
    """``spec`` of a pod that requires one of these terms."""
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node_terms(*terms)}}}


def preferring(*weighted: tuple[int, Sequence[Json] | Json]) -> Json:
    """``nodeAffinity`` that prefers these terms."""
    terms = [{"weight": weight, "preference": _term(term)} for weight, term in weighted]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def make_toleration(text: str) -> Toleration:
    """``key operator value effect``, with ``-`` for an empty one."""
    key, operator, value, effect = _words(text)
    return Toleration(key, operator, value, effect)


def make_taint(text: str) -> Taint:
    """``key value effect``, with ``-`` for an empty one."""
    key, value, effect = _words(text)
    return Taint(key, value, effect)


def make_cycle(
    pod: Pod,
    nodes: Sequence[Node],
    pods: Sequence[Pod] = (),
    *,
    args: Mapping[str, Model] | None = None,
    features: Features = REFERENCE,
) -> CycleContext:
    """A cycle over these nodes and bound pods."""
    return CycleContext(pod, NodeTable(nodes, pods), ClusterSnapshot(), features, args or {}, {})


def filter_status(plugin: FilterPlugin, context: CycleContext, row: int = 0) -> Status:
    """PreFilter and then Filter of one row, as a status; PreFilter's own if it is not Success."""
    found = plugin.pre_filter(context) if isinstance(plugin, PreFilterPlugin) else PreFilterResult()
    if not found.status.ok:
        return found.status
    verdicts = plugin.filter(context, found.state)
    code = Code(int(verdicts.codes[row]))
    return SUCCESS if code is Code.SUCCESS else Status(code, verdicts.reasons(row))


def scores_of(plugin: ScorePlugin, context: CycleContext, feasible: Sequence[int] | None = None) -> list[int]:
    """PreScore and then Score of the feasible rows; of all without ``feasible``."""
    rows = np.array(range(len(context.table)) if feasible is None else feasible, np.int32)
    found = plugin.pre_score(context, rows) if isinstance(plugin, PreScorePlugin) else PreScoreResult()
    assert found.status.ok
    return [int(score) for score in plugin.score(context, found.state, rows)]


def _term(term: Sequence[Json] | Json) -> Json:
    return dict(term) if isinstance(term, Mapping) else {"matchExpressions": list(term)}


def _words(text: str) -> list[str]:
    return ["" if word == "-" else word for word in text.split()]
