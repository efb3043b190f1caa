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

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.model.affinity import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from podrules.api.model.base import KubeObject
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError


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
