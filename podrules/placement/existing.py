"""Pods that a workload, or a pod, of a manifest has already: those that are asked for come besides them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podrules.model.base import ObjectMeta
from podrules.model.pod import Pod
from podrules.model.selectors import LabelSelector, Selector, SelectorError

__all__ = ["pods_there"]

_OWNERS: Final = {
    "deployment": "ReplicaSet",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "replicationcontroller": "ReplicationController",
    "job": "Job",
}


def pods_there(kind: str, meta: ObjectMeta, selector: LabelSelector | None, pods: Iterable[Pod]) -> int:
    """How many pods there are that have not finished and are not being deleted.

    Args:
        kind: In the singular: ``deployment``; ``pod``: the pod itself.
        meta: Name and namespace.
        selector: A Deployment's, whose pods belong to ReplicaSets of it.
        pods: Of the cluster.
    """
    living = (
        pod
        for pod in pods
        if pod.metadata.namespace == meta.namespace and not pod.finished and pod.metadata.deletion_timestamp is None
    )
    if kind == "pod":
        return sum(pod.metadata.name == meta.name for pod in living)
    owned = [pod for pod in living if (owner := pod.metadata.controller) and owner.kind == _OWNERS.get(kind)]
    if kind == "deployment":
        return sum(_selected(selector, pod) for pod in owned)
    return sum(pod.metadata.controller is not None and pod.metadata.controller.name == meta.name for pod in owned)


def _selected(selector: LabelSelector | None, pod: Pod) -> bool:
    if selector is None:
        return False
    try:
        return Selector.from_label_selector(selector).matches(pod.metadata.labels)
    except SelectorError:
        return False
