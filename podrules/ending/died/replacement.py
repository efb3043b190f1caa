"""The pod that a controller created, or may have created, in place of one that ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from podrules.api.model.base import OwnerReference
from podrules.api.model.instant import instant
from podrules.api.model.pod import Pod
from podrules.pod.health import health


class Replacement(Struct, frozen=True, rename="camel"):
    """A pod of the same controller that was created later."""

    name: str
    node: str
    created: str | None
    phase: str
    ready: bool
    status: str = ""
    """What `kubectl get pods` prints under STATUS."""

    @staticmethod
    def of(pod: Pod) -> Replacement:
        """The fields of a pod that are shown."""
        meta = pod.metadata
        node, phase, status = pod.spec.node_name, pod.status.phase, health(pod).kubectl_status
        return Replacement(meta.name, node, meta.creation_timestamp, phase, pod.is_ready, status)


def successors(name: str, uid: str, controller: OwnerReference, node: str, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of a controller that have not ended and can replace one that ended, the oldest first.

    A StatefulSet reuses the name, an Indexed Job the index, and a DaemonSet the node.

    Args:
        name: The name of the one that ended.
        uid: Its uid; empty: the pod no longer exists.
        controller: The controller; without a uid, its kind and name are compared.
        node: The node of the pod that ended; empty: not known.
        pods: The pods that the controller may have created.
    """
    found = []
    for pod in pods:
        owner, meta = pod.metadata.controller, pod.metadata
        if owner is None or meta.uid == uid or pod.finished or meta.deletion_timestamp is not None:
            continue
        by_name = (owner.kind, owner.name) == (controller.kind, controller.name)
        own = owner.uid == controller.uid if controller.uid else by_name
        same = name == meta.name if owner.kind == "StatefulSet" else stem(name) == stem(meta.name)
        if own and same and (owner.kind != "DaemonSet" or not node or node in _nodes(pod)):
            found.append(pod)
    return sorted(found, key=lambda one: one.metadata.creation_timestamp or "")


def stem(name: str) -> str:
    """The common prefix of the names of one controller's pods, or of the pods of one index of a Job."""
    return name.rpartition("-")[0]


def _nodes(pod: Pod) -> set[str]:
    """The node of a pod; an unscheduled pod names it in its affinity."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    terms = required.node_selector_terms if required is not None and not pod.spec.node_name else ()
    return {pod.spec.node_name, *(value for term in terms for field in term.match_fields for value in field.values)}


def replacement_of(found: Iterable[Pod], since: datetime) -> Replacement | None:
    """The first of a pod's `successors` that was created after its end; None: none exists."""
    made = (one for one in found if (when := instant(one.metadata.creation_timestamp)) is not None and when >= since)
    return next(map(Replacement.of, made), None)
