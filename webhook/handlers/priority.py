"""The priority of new pods: class, priority and preemptionPolicy together.

The API server's own Priority plugin runs before webhooks and does the same, and again after a mutation, when it refuses
a class and a priority that do not go together: so either all three are patched or none. Where that plugin is off, this
is what resolves a class, and what refuses an unknown one. A refusal is never made from a cache alone: a class may have
been created a moment ago.
"""

from __future__ import annotations

import logging
from typing import Final

from podrules.cluster.errors import ClusterError
from podrules.cluster.kinds import PRIORITY_CLASSES
from podrules.model.pod import Pod
from podrules.priority import ResolvedPriority, UnknownPriorityClass, admit_pod_create, resolve_priority
from webhook.cluster import Cluster
from webhook.handlers.near import did_you_mean
from webhook.patch import PatchOperation, add
from webhook.response import ALLOWED, Answer, denied

__all__ = ["default_priority", "refuse_unknown_class"]

_LOG: Final = logging.getLogger(__name__)


def default_priority(pod: Pod, cluster: Cluster) -> Answer:
    """A patch with what a new pod's class means, as far as the pod does not say so already."""
    resolved = admit_pod_create(pod, cluster.priority_classes())
    # What cannot be resolved is left as it is: the validating half looks again, and refuses it or not.
    return ALLOWED if isinstance(resolved, str) else Answer(patch=_patch(pod, resolved))


def refuse_unknown_class(pod: Pod, cluster: Cluster) -> Answer:
    """A refusal in upstream's words, with near names, of a class that does not exist or does not fit the priority."""
    if not isinstance(admit_pod_create(pod, cluster.priority_classes()), str):
        return ALLOWED
    try:
        classes = {entry.metadata.name: entry for entry in cluster.live().list(PRIORITY_CLASSES)}
    except ClusterError as error:
        _LOG.warning("a pod in %s is let through, PriorityClasses cannot be read: %s", pod.metadata.namespace, error)
        return ALLOWED
    refusal = admit_pod_create(pod, classes)
    if not isinstance(refusal, str):
        return ALLOWED
    unknown = isinstance(resolve_priority(pod.spec.priority_class_name, classes), UnknownPriorityClass)
    return denied(refusal + did_you_mean(pod.spec.priority_class_name, classes) if unknown else refusal)


def _patch(pod: Pod, resolved: ResolvedPriority) -> tuple[PatchOperation, ...]:
    """What is missing. A pod that has a priority and no class was resolved without one: it keeps that."""
    if pod.spec.priority is not None and pod.spec.priority_class_name != resolved.priority_class_name:
        return ()
    wanted = (
        ("priorityClassName", pod.spec.priority_class_name, resolved.priority_class_name),
        ("priority", pod.spec.priority, resolved.priority),
        ("preemptionPolicy", pod.spec.preemption_policy, resolved.preemption_policy),
    )
    return tuple(add(f"/spec/{name}", value) for name, given, value in wanted if given != value)
