"""The pods that a workload already has: the pods to place are added to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podrules.api.model.base import ObjectMeta
from podrules.api.model.pod import Pod
from podrules.api.model.selectors import LabelSelector, Selector, SelectorError

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
