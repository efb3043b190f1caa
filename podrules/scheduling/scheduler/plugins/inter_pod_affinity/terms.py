"""Affinity terms as the scheduler reads them: which pods each one selects.

    namespaces   those listed and those that the namespaceSelector matches by label; with neither, the owner's own
    pods         those the labelSelector matches; without one none, with an empty one all

A term of the pod that is being placed is matched against namespaces first (`merge_namespaces`). Its namespaceSelector
is then still asked with no labels at all, as upstream does, because its merge clears it in a copy only: one that also
matches nothing-at-all (NotIn, DoesNotExist) selects every namespace.

Source: k8s.io/kube-scheduler/framework/types.go (AffinityTerm, GetAffinityTerms) at v0.36.3;
pkg/scheduler/framework/types.go (PodInfo.Update), plugins/interpodaffinity/plugin.go
(mergeAffinityTermNamespacesIfNotEmpty) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from podrules.api.model.base import KubeObject
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import (
    Affinity,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    Selector,
    SelectorError,
    WeightedPodAffinityTerm,
)
from podrules.scheduling.scheduler.framework.node_table import BoundPods, BoundPodsChange
from podrules.scheduling.scheduler.framework.pod_kinds import CountPods, PodKinds


class AffinityTerm(Struct, frozen=True):
    """One term, parsed."""

    topology_key: str
    namespaces: frozenset[str]
    selector: Selector | None
    """None selects no pod."""
    namespace_selector: Selector | None
    """None selects no namespace."""
    weight: int = 0
    """The weight of a preferred term."""

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether it selects a pod (AffinityTerm.Matches)."""
        if self.selector is None or not (namespace in self.namespaces or self.matches_namespace(namespace_labels)):
            return False
        return self.selector.matches(labels)

    def matches_namespace(self, labels: Mapping[str, str]) -> bool:
        """Whether the namespaceSelector selects a namespace with these labels."""
        return self.namespace_selector is not None and self.namespace_selector.matches(labels)


class PodTerms(Struct, frozen=True):
    """All terms of a pod."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[AffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[AffinityTerm, ...] = ()
    problems: tuple[str, ...] = ()
    """Selectors that cannot be read; the list that holds one counts as empty."""


_NONE: Final = PodAffinity()


def parse_terms(affinity: Affinity | None, namespace: str) -> PodTerms:
    """The terms of a pod of a namespace (PodInfo.Update)."""
    if affinity is None:
        return PodTerms()
    near, away = affinity.pod_affinity or _NONE, affinity.pod_anti_affinity or _NONE
    lists: dict[str, Sequence[PodAffinityTerm | WeightedPodAffinityTerm]] = {
        "required_affinity": near.required_during_scheduling_ignored_during_execution,
        "required_anti_affinity": away.required_during_scheduling_ignored_during_execution,
        "preferred_affinity": near.preferred_during_scheduling_ignored_during_execution,
        "preferred_anti_affinity": away.preferred_during_scheduling_ignored_during_execution,
    }
    terms: dict[str, tuple[AffinityTerm, ...]] = {}
    problems: list[str] = []
    for name, entries in lists.items():
        try:
            terms[name] = tuple(_parse(entry, namespace) for entry in entries)
        except SelectorError as error:
            problems.append(f"{_UPSTREAM_NAMES[name]}: {error}")
    return PodTerms(**terms, problems=tuple(problems))


_UPSTREAM_NAMES: Final = {
    "required_affinity": "requiredAffinityTerms",
    "required_anti_affinity": "requiredAntiAffinityTerms",
    "preferred_affinity": "preferredAffinityTerms",
    "preferred_anti_affinity": "preferredAntiAffinityTerms",
}


def merge_namespaces(terms: Iterable[AffinityTerm], namespaces: Iterable[KubeObject]) -> tuple[AffinityTerm, ...]:
    """The same terms, each with the names of the namespaces that its namespaceSelector matches now."""
    labelled = tuple((namespace.metadata.name, namespace.metadata.labels) for namespace in namespaces)
    return tuple(
        replace(
            term,
            namespaces=term.namespaces.union(name for name, labels in labelled if term.matches_namespace(labels)),
        )
        for term in terms
    )


def _parse(entry: PodAffinityTerm | WeightedPodAffinityTerm, namespace: str) -> AffinityTerm:
    """A term of a pod of that namespace (newAffinityTerm)."""
    weight, term = (entry.weight, entry.pod_affinity_term) if isinstance(entry, WeightedPodAffinityTerm) else (0, entry)
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        topology_key=term.topology_key,
        namespaces=frozenset((namespace,) if own else term.namespaces),
        selector=_selector(term.label_selector),
        namespace_selector=_selector(term.namespace_selector),
        weight=weight,
    )


def _selector(selector: LabelSelector | None) -> Selector | None:
    return None if selector is None else Selector.from_label_selector(selector)


# Affinity terms of bound pods, each distinct affinity parsed once, and the pods that a term selects.
#
# Source: pkg/scheduler/framework/types.go (NodeInfo.PodsWithAffinity, PodsWithRequiredAntiAffinity) at v1.36.3.

Rows = NDArray[np.int32]
TermList = Literal["required_affinity", "required_anti_affinity", "preferred_affinity", "preferred_anti_affinity"]
"""A list of `PodTerms`."""
Key = tuple[str, bytes]
"""Namespace and written affinity."""


def count_selected(pods: BoundPods, terms: tuple[AffinityTerm, ...]) -> NDArray[np.int64]:
    """For each row how many of its pods all terms select; the terms are those of a pod to place, namespaces merged."""
    return pods.derived(CountPods(_SelectedByAll(terms))).counts


class _SelectedByAll(Struct, frozen=True):
    terms: tuple[AffinityTerm, ...]

    def among(self, kinds: PodKinds) -> NDArray[np.bool_]:
        found = np.ones(len(kinds), np.bool_)
        for term in self.terms:
            if term.selector is None:
                return np.zeros(len(kinds), np.bool_)
            namespaces, everywhere = term.namespaces, term.matches_namespace({})
            found &= np.full(len(kinds), everywhere) | kinds.in_namespaces(namespaces.__contains__)
            found &= kinds.matching(term.selector)
        return found


class TermHolder(NamedTuple):
    """A term of bound pods, and the row of each pod that has it."""

    term: AffinityTerm
    rows: Rows


class AffinityHolders(Struct, frozen=True):
    """The terms of bound pods."""

    affinities: _Affinities
    rows: tuple[Rows, ...]
    """For each distinct affinity the rows of the pods that have it, in no order."""

    def matching(
        self, terms: TermList, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> Iterator[TermHolder]:
        """Terms that select a pod, in no order."""
        for term, code in self.affinities.index(terms).matching(namespace, labels, namespace_labels):
            yield TermHolder(term, self.rows[code])

    def after(self, change: BoundPodsChange) -> AffinityHolders:
        """With the pods that came, or without those that went."""
        if change.sign > 0:
            return self.adding(change.pods, change.rows)
        _, codes = self.affinities.numbering(change.pods)
        found = list(self.rows)
        for code, row in zip(codes, change.rows.tolist(), strict=True):
            # One of the pods of that node; which of them makes no difference.
            found[code] = np.delete(found[code], np.flatnonzero(found[code] == row)[0])
        return AffinityHolders(self.affinities, tuple(found))

    def adding(self, pods: Iterable[Pod], rows: Rows) -> AffinityHolders:
        """With more pods."""
        affinities, codes = self.affinities.numbering(pods)
        found = list(self.rows) + [_NO_ROWS] * (len(affinities) - len(self.rows))
        more: dict[int, list[int]] = {}
        for code, row in zip(codes, rows.tolist(), strict=True):
            more.setdefault(code, []).append(row)
        for code, added in more.items():
            found[code] = np.append(found[code], np.array(added, np.int32))
        return AffinityHolders(affinities, tuple(found))


_NO_ROWS: Final = np.zeros(0, np.int32)


def affinity_holders(pods: BoundPods) -> AffinityHolders:
    """The terms of bound pods."""
    return pods.only(_is_about_pods).derived(_holders)


def _is_about_pods(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and not (affinity.pod_affinity is None and affinity.pod_anti_affinity is None)


def _holders(pods: BoundPods) -> AffinityHolders:
    return AffinityHolders(_Affinities({}), ()).adding(pods, pods.rows)


class _Affinities:
    """Distinct affinities, numbered: the part that does not depend on the pod."""

    def __init__(self, parsed: Mapping[Key, PodTerms]) -> None:
        self._parsed = parsed
        self._codes = {key: code for code, key in enumerate(parsed)}
        self._indexes: dict[TermList, _TermIndex] = {}

    def __len__(self) -> int:
        return len(self._parsed)

    def index(self, terms: TermList) -> _TermIndex:
        """The terms of one list of all affinities."""
        if terms not in self._indexes:
            lists = enumerate(getattr(entry, terms) for entry in self._parsed.values())
            self._indexes[terms] = _TermIndex((term, code) for code, entries in lists for term in entries)
        return self._indexes[terms]

    def numbering(self, pods: Iterable[Pod]) -> tuple[_Affinities, list[int]]:
        """The affinities with those of some pods, and the number of each of these pods' own."""
        encode = msgspec.msgpack.Encoder().encode
        keys: list[Key] = []
        new: dict[Key, PodTerms] = {}
        for pod in pods:
            namespace, affinity = pod.metadata.namespace, pod.spec.affinity or _NO_AFFINITY
            key = (namespace, encode((affinity.pod_affinity, affinity.pod_anti_affinity)))
            keys.append(key)
            if key not in self._codes and key not in new:
                new[key] = parse_terms(affinity, namespace)
        known = _Affinities({**self._parsed, **new}) if new else self
        return known, [known._codes[key] for key in keys]  # noqa: SLF001 - its own


_NO_AFFINITY: Final = Affinity()


class _TermIndex:
    """Terms by the namespaces of the pods that they may select, each with the number of its affinity."""

    def __init__(self, terms: Iterable[tuple[AffinityTerm, int]]) -> None:
        """File each under the namespaces that it lists, or under none when it also selects namespaces by label."""
        self._by_namespace: dict[str, list[tuple[AffinityTerm, int]]] = {}
        self._by_label: list[tuple[AffinityTerm, int]] = []
        for term, code in terms:
            if term.namespace_selector is not None:
                self._by_label.append((term, code))
                continue
            for namespace in term.namespaces:
                self._by_namespace.setdefault(namespace, []).append((term, code))

    def matching(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> Iterator[tuple[AffinityTerm, int]]:
        """Those that select a pod."""
        for terms in (self._by_namespace.get(namespace, ()), self._by_label):
            for term, code in terms:
                if term.matches(namespace, labels, namespace_labels):
                    yield term, code
