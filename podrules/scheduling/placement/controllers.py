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

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from podrules.api.controller_labels import HASH_LABEL, INDEX_LABEL
from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector
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
