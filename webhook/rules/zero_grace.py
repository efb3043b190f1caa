"""Warnings about pods with terminationGracePeriodSeconds 0: every deletion of such a pod is a force deletion.

For the pods of a workload, the client that writes the workload gets the warning: a controller ignores warnings.
"""

from __future__ import annotations

from typing import Final

from podrules.api.model.pod import Pod
from webhook.cluster.view import Cluster
from webhook.reviews.partial_objects import PartialObject
from webhook.reviews.response import ALLOWED, Answer
from webhook.rules.pod_template import WORKLOADS_WITH_TEMPLATES, TemplateReview

_FIELD: Final = "terminationGracePeriodSeconds"
_WARNED_GROUPS: Final = frozenset(group for group, _ in WORKLOADS_WITH_TEMPLATES)
_MEANING: Final = (
    "0, so every deletion is a force deletion: the object is removed at once, and its processes may run on "
    "next to a replacement; 1 or more waits for them"
)


def warn_of_zero_grace(seen: PartialObject[Pod], _cluster: Cluster) -> Answer:
    """Warn the client that creates the pod."""
    pod, owner = seen.object, seen.object.metadata.controller
    if pod.spec.termination_grace_period_seconds != 0 or (owner is not None and owner.group in _WARNED_GROUPS):
        return ALLOWED
    return _warning("spec")


def warn_of_zero_grace_in_template(review: TemplateReview, _cluster: Cluster) -> Answer:
    """Warn the client that creates or changes a workload."""
    if review.is_controlled or review.template.spec.termination_grace_period_seconds != 0:
        return ALLOWED
    return _warning(f"{review.path}.spec")


def _warning(path: str) -> Answer:
    return Answer(warnings=(f"{path}.{_FIELD}: {_MEANING}",))
