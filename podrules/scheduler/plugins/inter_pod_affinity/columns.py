"""Bound pods in columns: alike in namespace and labels, and alike in affinity, each judged once.

Source: pkg/scheduler/framework/types.go (NodeInfo.PodsWithAffinity, PodsWithRequiredAntiAffinity) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from podrules.model.affinity import Affinity
from podrules.model.selectors import Requirement
from podrules.scheduler.framework.node_table import ABSENT, LabelColumn, NodeTable
from podrules.scheduler.plugins.inter_pod_affinity.terms import AffinityTerm, PodTerms, parse_terms

__all__ = ["AffinityHolders", "PodGroups", "TermHolder", "affinity_holders", "pod_groups", "rows_matching"]

Rows = NDArray[np.int32]


class PodGroups:
    """Bound pods, grouped by namespace and labels."""

    def __init__(self, table: NodeTable) -> None:
        """Number the groups in the order in which pods first have them."""
        found: dict[tuple[object, ...], int] = {}
        codes: list[int] = []
        self.labels: list[Mapping[str, str]] = []
        namespaces: dict[str, int] = {}
        self.namespaces: list[int] = []
        for pod in table.pods:
            metadata = pod.metadata
            code = found.setdefault((metadata.namespace, *metadata.labels.items()), len(found))
            codes.append(code)
            if code == len(self.labels):
                self.labels.append(metadata.labels)
                self.namespaces.append(namespaces.setdefault(metadata.namespace, len(namespaces)))
        self.codes = np.array(codes, np.int32)
        """For each pod its group."""
        self._namespace_values = tuple(namespaces)
        self._namespace_codes = np.array(self.namespaces, np.int32)
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self.labels)

    def matching(self, term: AffinityTerm) -> NDArray[np.bool_]:
        """For each group whether a term of the pod to place selects it; its namespaces are merged."""
        if term.selector is None:
            return np.zeros(len(self), np.bool_)
        everywhere = term.matches_namespace({})
        wanted = [everywhere or name in term.namespaces for name in self._namespace_values]
        matched = np.array(wanted, np.bool_)[self._namespace_codes]
        for requirement in term.selector.requirements:
            matched &= self._satisfying(requirement)
        return matched

    def _satisfying(self, requirement: Requirement) -> NDArray[np.bool_]:
        column = self._column(requirement.key)
        answers = [requirement.matches({requirement.key: value}) for value in column.values]
        answers.append(requirement.matches({}))
        return np.array(answers, np.bool_)[column.codes]

    def _column(self, key: str) -> LabelColumn:
        if key not in self._columns:
            values: dict[str, int] = {}
            codes = np.full(len(self), ABSENT, np.int32)
            for group, labels in enumerate(self.labels):
                value = labels.get(key)
                if value is not None:
                    codes[group] = values.setdefault(value, len(values))
            self._columns[key] = LabelColumn(codes, tuple(values))
        return self._columns[key]


def pod_groups(table: NodeTable) -> PodGroups:
    """The groups of a table: ask by `NodeTable.derived`."""
    return PodGroups(table)


def rows_matching(table: NodeTable, terms: Iterable[AffinityTerm]) -> Rows:
    """The row of each bound pod that every term selects; a row comes once for each such pod."""
    groups = table.derived(pod_groups)
    matched = np.ones(len(groups), np.bool_)
    for term in terms:
        matched &= groups.matching(term)
    return table.pod_rows[matched[groups.codes]] if matched.any() else np.zeros(0, np.int32)


class TermHolder(NamedTuple):
    """A term of bound pods, and the row of each pod that has it."""

    term: AffinityTerm
    rows: Rows


class TermIndex:
    """Terms by the namespaces of the pods that they may select."""

    def __init__(self, holders: Iterable[TermHolder]) -> None:
        """File each under the namespaces that it lists, or under none when it also selects namespaces by label."""
        self.by_namespace: dict[str, list[TermHolder]] = {}
        self.by_label: list[TermHolder] = []
        for holder in holders:
            if holder.term.namespace_selector is not None:
                self.by_label.append(holder)
                continue
            for namespace in holder.term.namespaces:
                self.by_namespace.setdefault(namespace, []).append(holder)

    def matching(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> Iterator[TermHolder]:
        """Those that select a pod."""
        for holders in (self.by_namespace.get(namespace, ()), self.by_label):
            for holder in holders:
                if holder.term.matches(namespace, labels, namespace_labels):
                    yield holder


class AffinityHolders(Struct, frozen=True):
    """The terms of bound pods."""

    required_affinity: TermIndex
    required_anti_affinity: TermIndex
    preferred_affinity: TermIndex
    preferred_anti_affinity: TermIndex


def affinity_holders(table: NodeTable) -> AffinityHolders:
    """The terms of the pods of a table, each distinct affinity parsed once: ask by `NodeTable.derived`."""
    codes: dict[tuple[str, bytes], int] = {}
    parsed: list[PodTerms] = []
    rows: list[list[int]] = []
    encode = msgspec.msgpack.Encoder().encode
    for pod, row in zip(table.pods, table.pod_rows.tolist(), strict=True):
        affinity = pod.spec.affinity
        if affinity is None or not _is_about_pods(affinity):
            continue
        key = (pod.metadata.namespace, encode((affinity.pod_affinity, affinity.pod_anti_affinity)))
        code = codes.setdefault(key, len(codes))
        if code == len(parsed):
            parsed.append(parse_terms(affinity, pod.metadata.namespace))
            rows.append([])
        rows[code].append(row)
    return _indexed(parsed, [np.array(entry, np.int32) for entry in rows])


def _is_about_pods(affinity: Affinity) -> bool:
    return affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None


def _indexed(parsed: Sequence[PodTerms], rows: Sequence[Rows]) -> AffinityHolders:
    def index(field: str) -> TermIndex:
        pairs = zip(parsed, rows, strict=True)
        return TermIndex(TermHolder(term, held) for terms, held in pairs for term in getattr(terms, field))

    return AffinityHolders(*(index(field) for field in AffinityHolders.__struct_fields__))
