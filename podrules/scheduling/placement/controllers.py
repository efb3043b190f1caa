"""The controller of a pod to come, as the scheduler will find it: default spreading uses its selector.

    Deployment             its ReplicaSet: selector and label pod-template-hash of the revision. Pods of the revision
                           count, those of an earlier one do not
    ReplicaSet, StatefulSet, ReplicationController
                           the manifest's own; the latter selects by its template's labels where it names no selector
    Job, CronJob, DaemonSet, Pod
                           none: the scheduler looks for no such controllers. An indexed Job numbers its pods

An existing revision has its ReplicaSet's name and hash. Those of a new revision are unknown: they are made of a word
that cannot be a hash.

Source, at v1.36.3: pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector),
pkg/controller/deployment/sync.go (getNewReplicaSet), pkg/apis/core/v1/defaults.go (SetDefaults_ReplicationController).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.controller_labels import HASH_LABEL, INDEX_LABEL, controllers_labels
from podrules.api.model.affinity import PodAffinity, PodAffinityTerm
from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector, LabelSelectorRequirement, Selector, SelectorError
from podrules.api.model.snapshot import ClusterSnapshot, merged
from podrules.api.model.workload import ReplicationController, Workload, WorkloadSpec

_MOST: Final = 63
"""Characters of a label's value."""


class Revision(Struct, frozen=True):
    """What a Deployment's pods of one template have in common."""

    replica_set: str
    """Its name."""
    hash: str
    """Value of the label pod-template-hash."""


class ControlledPod(Struct, frozen=True):
    """A pod to come, and the controller that it will belong to."""

    pod: Pod
    field: str = ""
    """The snapshot's field that holds the controller. Empty: there is none that counts, or it is in the cluster."""
    controller: Workload | ReplicationController | None = None


def controlled(pod: Pod, kind: str, entry: Any, revision: Revision | None = None) -> ControlledPod:
    """A workload's pod, owned by what will make it.

    Args:
        pod: As it will be stored, named as the workload.
        kind: Of the workload, in the singular: ``deployment``.
        entry: The workload.
        revision: A Deployment's that is there already and makes the pod; None: there will be a new one.
    """
    meta = ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace)
    match kind:
        case "deployment":
            return _of_deployment(pod, entry.spec.selector, revision)
        case "replicaset":
            return ControlledPod(pod, "replica_sets", Workload(meta, WorkloadSpec(selector=entry.spec.selector)))
        case "statefulset":
            return ControlledPod(pod, "stateful_sets", Workload(meta, WorkloadSpec(selector=entry.spec.selector)))
        case "replicationcontroller":
            selector = entry.spec.selector or pod.metadata.labels
            spec = replace(entry.spec, selector=selector, template=None)
            return ControlledPod(pod, "replication_controllers", ReplicationController(meta, spec))
        case "job":
            return ControlledPod(_numbered(pod, entry.spec))
        case "cronjob":
            return ControlledPod(_numbered(pod, entry.spec.job_template.spec))
        case _:
            return ControlledPod(pod)


def with_controllers(snapshot: ClusterSnapshot, pods: Iterable[ControlledPod]) -> ClusterSnapshot:
    """The cluster with the controllers of pods to come, each in place of one of its name."""
    for entry in pods:
        if entry.controller is not None:
            there = getattr(snapshot, entry.field)
            snapshot = replace(snapshot, **{entry.field: merged(there, [entry.controller])})
    return snapshot


def planned_word(name: str) -> str:
    """A label's value in place of a hash or uid that is not known yet; hashes have no dash."""
    return f"planned-{name}"[:_MOST].rstrip("-.")


def _of_deployment(pod: Pod, selector: LabelSelector | None, revision: Revision | None) -> ControlledPod:
    name = pod.metadata.name
    made = revision or Revision(f"{name}-{planned_word(name)}", planned_word(name))
    labels = pod.metadata.labels | {HASH_LABEL: made.hash}
    owners = tuple(
        replace(owner, name=made.replica_set) if owner.controller else owner for owner in pod.metadata.owner_references
    )
    owned = replace(pod, metadata=replace(pod.metadata, labels=labels, owner_references=owners))
    if revision is not None:
        return ControlledPod(owned)
    chosen = selector or LabelSelector()
    own = replace(chosen, match_labels=chosen.match_labels | {HASH_LABEL: made.hash})
    meta = ObjectMeta(name=made.replica_set, namespace=pod.metadata.namespace)
    return ControlledPod(owned, "replica_sets", Workload(meta, WorkloadSpec(selector=own)))


def _numbered(pod: Pod, job: WorkloadSpec) -> Pod:
    """A Job's pod; for an indexed Job, with the label that holds each pod's number."""
    if job.completion_mode != "Indexed":
        return pod
    return replace(pod, metadata=replace(pod.metadata, labels=pod.metadata.labels | {INDEX_LABEL: "0"}))


# The pods of a spec, one after the other, as their controller creates and the API server stores them.
#
# They have the labels of their controller (`podrules.api.controller_labels`). Of podAffinity and podAntiAffinity, keys of
# matchLabelKeys and mismatchLabelKeys are merged into the labelSelector with the values that the pod's own labels have.
# PodTopologySpread does so by itself.
#
# A hash is unknown until the controller's object exists: here it is a word, specific to the spec, that cannot be a hash.
# The number in the name is made up too, except for a StatefulSet's.
#
# Source: pkg/registry/core/pod/strategy.go (mutatePodAffinity) at v1.36.3.


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


# The pods that a workload already has: the pods to place are added to them.

_OWNERS: Final = {
    "deployment": "ReplicaSet",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "replicationcontroller": "ReplicationController",
    "job": "Job",
    "daemonset": "DaemonSet",
}


def pods_there(kind: str, meta: ObjectMeta, selector: LabelSelector | None, pods: Iterable[Pod]) -> list[Pod]:
    """The pods there that have not finished and are not being deleted.

    Args:
        kind: In the singular: ``deployment``; ``pod``: the pod itself.
        meta: Name and namespace.
        selector: A Deployment's; the pods belong to its ReplicaSets.
        pods: Of the cluster.
    """
    own = own_pods(kind, meta, selector, pods)
    return [pod for pod in own if not pod.finished and pod.metadata.deletion_timestamp is None]


def own_pods(kind: str, meta: ObjectMeta, selector: LabelSelector | None, pods: Iterable[Pod]) -> list[Pod]:
    """All of its pods that are there; the arguments are those of `pods_there`."""
    near = [pod for pod in pods if pod.metadata.namespace == meta.namespace]
    if kind == "pod":
        return [pod for pod in near if pod.metadata.name == meta.name]
    owned = [
        (pod, owner.name) for pod in near if (owner := pod.metadata.controller) and owner.kind == _OWNERS.get(kind)
    ]
    if kind == "deployment":
        # The name of its ReplicaSet ends in a hash. Another Deployment may have the same selector.
        return [pod for pod, name in owned if name.rpartition("-")[0] == meta.name and _selected(selector, pod)]
    return [pod for pod, name in owned if name == meta.name]


def daemon_pods(meta: ObjectMeta, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The pods of a DaemonSet that have not finished, with those that are being deleted.

    Args:
        meta: Its name and namespace.
        pods: Of the cluster.
    """
    return tuple(pod for pod in own_pods("daemonset", meta, None, pods) if not pod.finished)


def is_waiting(pod: Pod) -> bool:
    """Whether a pod waits for the scheduler, which passes over pods with scheduling gates."""
    return not (
        pod.spec.node_name or pod.spec.scheduling_gates or pod.finished or pod.metadata.deletion_timestamp is not None
    )


def _selected(selector: LabelSelector | None, pod: Pod) -> bool:
    if selector is None:
        return False
    try:
        return Selector.from_label_selector(selector).matches(pod.metadata.labels)
    except SelectorError:
        return False
