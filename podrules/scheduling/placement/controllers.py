"""The controller of a pod to come, as the scheduler will find it, and the pods that the controller already has.

Default spreading uses the selector of the controller.


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

from podrules.api.controllers import HASH_LABEL, INDEX_LABEL
from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError
from podrules.api.model.snapshot import ClusterSnapshot, merged
from podrules.api.model.workload import ReplicationController, Workload, WorkloadSpec
from podrules.workload.made_pod import planned_word


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
    """A workload's pod, as it will be stored and named as the workload, owned by what will make it.

    Args:
        pod: The pod.
        kind: Of the workload, in the singular: ``deployment``.
        entry: The workload.
        revision: A Deployment's that is there already and makes the pod; None: there will be a new one.
    """
    name, namespace, labels = pod.metadata.name, pod.metadata.namespace, pod.metadata.labels
    spec: Any = entry.spec
    meta = ObjectMeta(name=name, namespace=namespace)
    match kind:
        case "deployment":
            made = revision or Revision(f"{name}-{planned_word(name)}", planned_word(name))
            owners = tuple(
                replace(owner, name=made.replica_set) if owner.controller else owner
                for owner in pod.metadata.owner_references
            )
            labels = labels | {HASH_LABEL: made.hash}
            pod = replace(pod, metadata=replace(pod.metadata, labels=labels, owner_references=owners))
            if revision is not None:
                return ControlledPod(pod)
            chosen = spec.selector or LabelSelector()
            own = replace(chosen, match_labels=chosen.match_labels | {HASH_LABEL: made.hash})
            meta = ObjectMeta(name=made.replica_set, namespace=namespace)
            return ControlledPod(pod, "replica_sets", Workload(meta, WorkloadSpec(selector=own)))
        case "replicaset" | "statefulset":
            field = "replica_sets" if kind == "replicaset" else "stateful_sets"
            return ControlledPod(pod, field, Workload(meta, WorkloadSpec(selector=spec.selector)))
        case "replicationcontroller":
            spec = replace(spec, selector=spec.selector or labels, template=None)
            return ControlledPod(pod, "replication_controllers", ReplicationController(meta, spec))
        case "job" | "cronjob":
            job = spec if kind == "job" else spec.job_template.spec
            if job.completion_mode == "Indexed":
                # `replica` writes the number of each pod.
                pod = replace(pod, metadata=replace(pod.metadata, labels=labels | {INDEX_LABEL: "0"}))
    return ControlledPod(pod)


def with_controllers(snapshot: ClusterSnapshot, pods: Iterable[ControlledPod]) -> ClusterSnapshot:
    """The cluster with the controllers of pods to come, each in place of one of its name."""
    for entry in pods:
        if entry.controller is not None:
            there = getattr(snapshot, entry.field)
            snapshot = replace(snapshot, **{entry.field: merged(there, [entry.controller])})
    return snapshot


_OWNERS: Final = {
    "deployment": "ReplicaSet",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "replicationcontroller": "ReplicationController",
    "job": "Job",
    "daemonset": "DaemonSet",
}


class OwnPods(Struct, frozen=True):
    """Finds the pods that a workload already has: the pods to place are added to them."""

    kind: str
    """In the singular: ``deployment``; ``pod``: the pod itself."""
    meta: ObjectMeta
    """Name and namespace."""
    selector: LabelSelector | None = None
    """A Deployment's; the pods belong to its ReplicaSets."""

    def every(self, pods: Iterable[Pod]) -> list[Pod]:
        """All of them, including finished pods and pods that are being deleted."""
        kind, name = self.kind, self.meta.name
        near = [pod for pod in pods if pod.metadata.namespace == self.meta.namespace]
        if kind == "pod":
            return [pod for pod in near if pod.metadata.name == name]
        owned = [
            (pod, owner.name) for pod in near if (owner := pod.metadata.controller) and owner.kind == _OWNERS.get(kind)
        ]
        if kind != "deployment":
            return [pod for pod, owner_name in owned if owner_name == name]
        try:
            selector = None if self.selector is None else Selector.from_label_selector(self.selector)
        except SelectorError:
            selector = None
        # The name of its ReplicaSet ends in a hash. Another Deployment may have the same selector.
        return [
            pod
            for pod, owner_name in owned
            if owner_name.rpartition("-")[0] == name and selector is not None and selector.matches(pod.metadata.labels)
        ]

    def unfinished(self, pods: Iterable[Pod]) -> list[Pod]:
        """Those that have not finished, including pods that are being deleted."""
        return [pod for pod in self.every(pods) if not pod.finished]

    def staying(self, pods: Iterable[Pod]) -> list[Pod]:
        """Those that have not finished and are not being deleted."""
        return [pod for pod in self.unfinished(pods) if pod.metadata.deletion_timestamp is None]


def is_waiting(pod: Pod) -> bool:
    """Whether a pod waits for the scheduler, which passes over pods with scheduling gates."""
    return not (
        pod.spec.node_name or pod.spec.scheduling_gates or pod.finished or pod.metadata.deletion_timestamp is not None
    )
