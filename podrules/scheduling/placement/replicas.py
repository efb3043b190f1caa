"""The pods of a spec, one after the other, as their controller creates and the API server stores them.

They have the labels of their controller (`podrules.api.controller_labels`). Of podAffinity and podAntiAffinity, keys of
matchLabelKeys and mismatchLabelKeys are merged into the labelSelector with the values that the pod's own labels have.
PodTopologySpread does so by itself.

A hash is unknown until the controller's object exists: here it is a word, specific to the spec, that cannot be a hash.
The number in the name is made up too, except for a StatefulSet's.

Source: pkg/registry/core/pod/strategy.go (mutatePodAffinity) at v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from msgspec.structs import replace

from podrules.api.controller_labels import INDEX_LABEL, controllers_labels
from podrules.api.model.affinity import PodAffinity, PodAffinityTerm
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelectorRequirement
from podrules.scheduling.placement.controllers import planned_word


def new_numbers(pod: Pod, kind: str, first: int, pods: Iterable[Pod]) -> Iterator[int]:
    """Numbers of pods that do not exist yet, without end: a StatefulSet's pods keep theirs.

    Args:
        pod: As for `replica`.
        kind: Likewise.
        first: ``ordinals.start`` of a StatefulSet.
        pods: That are there.
    """
    name, namespace = pod.metadata.name, pod.metadata.namespace
    there: frozenset[str] = frozenset()
    if kind == "statefulset":
        there = frozenset(entry.metadata.name for entry in pods if entry.metadata.namespace == namespace)
    return (number for number in count(first) if f"{name}-{number}" not in there)


def replica(pod: Pod, kind: str, number: int, *, uid: str) -> Pod:
    """One of the pods of a spec.

    Args:
        pod: As the spec has it; named as the workload.
        kind: Of the controller, in the singular: ``deployment``; ``pod``: no controller makes it, or it exists already.
        number: From 0.
        uid: A unique one.
    """
    name = pod.metadata.name
    named = name if kind == "pod" and number == 0 else f"{name}-{number}"
    # What the author or an earlier controller has written stays.
    labels = controllers_labels(kind, name, number, planned_word(name)) | pod.metadata.labels
    if INDEX_LABEL in labels and kind in {"job", "cronjob"}:
        labels[INDEX_LABEL] = str(number)
    metadata = replace(pod.metadata, name=named, uid=uid, labels=labels)
    return _with_label_keys(replace(pod, metadata=metadata))


def _with_label_keys(pod: Pod) -> Pod:
    affinity = pod.spec.affinity
    if affinity is None:
        return pod
    labels = pod.metadata.labels
    near, apart = _merged(affinity.pod_affinity, labels), _merged(affinity.pod_anti_affinity, labels)
    if near is affinity.pod_affinity and apart is affinity.pod_anti_affinity:
        return pod
    return replace(pod, spec=replace(pod.spec, affinity=replace(affinity, pod_affinity=near, pod_anti_affinity=apart)))


def _merged(affinity: PodAffinity | None, labels: Mapping[str, str]) -> PodAffinity | None:
    """The same object where there is nothing to merge."""
    if affinity is None:
        return None
    required = affinity.required_during_scheduling_ignored_during_execution
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    terms = (*required, *(entry.pod_affinity_term for entry in preferred))
    if not any(term.match_label_keys or term.mismatch_label_keys for term in terms):
        return affinity
    return replace(
        affinity,
        required_during_scheduling_ignored_during_execution=tuple(_merge(term, labels) for term in required),
        preferred_during_scheduling_ignored_during_execution=tuple(
            replace(entry, pod_affinity_term=_merge(entry.pod_affinity_term, labels)) for entry in preferred
        ),
    )


def _merge(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    """A term without a labelSelector matches nothing, whatever its keys (applyMatchLabelKeysAndMismatchLabelKeys)."""
    selector = term.label_selector
    if selector is None:
        return term
    more = (*_required(term.match_label_keys, "In", labels), *_required(term.mismatch_label_keys, "NotIn", labels))
    return replace(term, label_selector=replace(selector, match_expressions=(*selector.match_expressions, *more)))


def _required(keys: Sequence[str], operator: str, labels: Mapping[str, str]) -> Sequence[LabelSelectorRequirement]:
    """Keys that the pod itself lacks are left out (applyLabelKeysToLabelSelector)."""
    return [LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys if key in labels]
